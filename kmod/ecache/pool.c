// SPDX-License-Identifier: GPL-2.0-only
/* The pool; pool.h says what it is. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "../heap/heap.h"
#include "nh.h"
#include "pool.h"
#include "trace.h"
#include "track.h"
#include "volume.h"

/* Tombstones a put may meet: bounds the time that it keeps interrupts off. */
#define PUT_WORK_LIMIT	32
/*
 * An allocation is part of an app's start: what it left undone waits for its end. Until
 * then, whoever writes to the region first can have pages salvaged.
 */
#define SWEEP_DELAY	HZ

struct pool pool = {
	.lock = { .spinlock = __SPIN_LOCK_UNLOCKED(pool.lock.spinlock) },
	.salvage_lock = __MUTEX_INITIALIZER(pool.salvage_lock),
	.active = true,
	.caching = true,
	.salvage_pages = POOL_SALVAGE_PAGES,
	.protect_percent = 75,
};

DEFINE_STATIC_KEY_FALSE(pool_measure);
DEFINE_STATIC_KEY_FALSE(timed_lock_measure);

void timed_lock_count(struct timed_lock *lock)
{
	u64 cycles = get_cycles() - lock->since;

	/* The first time after counting began has no beginning. */
	if (!lock->since)
		return;
	lock->held.cycles += cycles;
	lock->held.count++;
	lock->held.longest = max(lock->held.longest, cycles);
	lock->since = 0;
}

void pool_set(bool *which, bool value)
{
	pool_lock_irq();
	*which = value;
	WRITE_ONCE(pool.active, pool.caching && !pool.asleep);
	pool_unlock_irq();
}

phys_addr_t pool_frame_phys(u32 frame)
{
	int c = 0;

	while (frame >= pool.first_frame[c + 1])
		c++;
	return pool.carveouts[c].start +
	       ((u64)(frame - pool.first_frame[c]) << PAGE_SHIFT);
}

void pool_tell_damaged(u32 frame, struct block_device *volume)
{
	phys_addr_t at = pool_frame_phys(frame);

	pr_warn_once("the page of memory at %pa does not hold what was put there for %pg: it was read from disk; a device that still writes after its buffer was freed, or broken memory (pool/damaged counts)\n",
		     &at, volume);
}

/* Forgets pages and drops frames of a range, block by block. */
static void drop_blocks(struct volume *volume, u64 first, u64 count)
{
	u64 end;

	while (count) {
		u64 part = min_t(u64, count, POOL_BATCH_PAGES);

		volume_lock_irq(volume);
		pool_lock();
		batch_settle(&volume->batch);
		for (end = first + part; first < end; first++) {
			volume->counts.invalidated += ecache_flush_page(
				pool.core, volume->batch.object, first);
			track_forget_block(&volume->track, first);
		}
		pool_unlock();
		volume_unlock_irq(volume);
		count -= part;
		cond_resched();
	}
}

/* Drops what a volume has of a range by looking at all frames. */
static void flush_scan(struct volume *volume, u64 first, u64 count)
{
	u32 frame = 0, frames = ecache_frames(pool.core), end, flushed;
	struct ecache_key key;

	volume_lock_irq(volume);
	pool_lock();
	batch_settle(&volume->batch);
	pool_unlock();
	volume_unlock_irq(volume);
	while (frame < frames) {
		end = min(frames, frame + POOL_BATCH_FRAMES);
		flushed = 0;
		volume_lock_irq(volume);
		pool_lock();
		for (; frame < end && flushed < POOL_BATCH_PAGES; frame++)
			if (ecache_frame_key(pool.core, frame, &key) &&
			    key.object == volume->batch.object &&
			    key.index - first < count)
				flushed += ecache_flush_page(
					pool.core, key.object, key.index);
		volume->counts.invalidated += flushed;
		pool_unlock();
		volume_unlock_irq(volume);
		cond_resched();
	}
}

void pool_drop_range(struct volume *volume, u64 first, u64 count)
{
	struct track_chunk *chunk = NULL;
	bool more;

	/* As long as it is less work than to look at everything. */
	if (count <= ecache_frames(pool.core)) {
		drop_blocks(volume, first, count);
		return;
	}
	/* Pages first: one that is still followed could be put after the frames went. */
	do {
		volume_lock_irq(volume);
		more = track_forget_range(&volume->track, first, count, &chunk);
		volume_unlock_irq(volume);
		cond_resched();
	} while (more);
	flush_scan(volume, first, count);
}

/* Withdraws tombstones, so that no put has to (eCache12, section 4: lazy discard). */
static void sweep(struct work_struct *work)
{
	u32 left;

	do {
		pool_lock_irq();
		left = ecache_sweep(pool.core, POOL_BATCH_PAGES);
		pool_unlock_irq();
		cond_resched();
	} while (left);
}

int pool_alloc(u32 device, u32 size_frames, struct ecache_region *region,
	       u64 *discarded)
{
	struct ecache_counters before, after;
	struct ecache_request request = {
		.device = device,
		.size_frames = size_frames,
		.policy = ECACHE_AGED,
	};
	u32 pins;
	int error;

	pool_lock_irq();
	ecache_counters_read(pool.core, &before);
	error = ecache_alloc_region(pool.core, &request, region);
	ecache_counters_read(pool.core, &after);
	pins = ecache_owned_pins(pool.core);
	pool_unlock_irq();
	/*
	 * Whoever copies a page there does nothing else, and will be done with it; then the
	 * frame may be its volume's to spare.
	 */
	while (pins && !ECACHE_BROKEN_PINNED) {
		volumes_empty_batches();
		cond_resched();
		pool_lock_irq();
		pins = ecache_owned_pins(pool.core);
		pool_unlock_irq();
	}
	if (!error) {
		*discarded = after.discarded - before.discarded;
		mod_delayed_work(system_unbound_wq, &pool.sweep,
				 SWEEP_DELAY);
	}
	return error;
}

/*
 * The hash moves with the page: whoever gets it compares it. A page that cannot be read
 * stays behind.
 */
static void move_frame(const struct ecache_move *move)
{
	bool vectors = nh_begin(), whole;
	u64 hash;

	whole = !pool_frame_poisoned(move->from) &&
		nh_copy(vectors, pool_frame(move->to), pool_frame(move->from), &hash);
	nh_end(vectors);
	pool.tags[move->to] = pool.tags[move->from];
	if (!whole)
		ecache_flush_page(pool.core, move->key.object, move->key.index);
}

u32 pool_salvage(u32 device)
{
	u32 budget = READ_ONCE(pool.salvage_pages);
	enum ecache_salvage found;
	struct ecache_move move;
	u32 moved = 0;

	if (!budget)
		return 0;
	mutex_lock(&pool.salvage_lock);
	pool_lock_irq();
	ecache_salvage_begin(pool.core, device, budget);
	pool_unlock_irq();
	do {
		pool_lock_irq();
		found = ecache_salvage_next(pool.core, POOL_BATCH_PAGES, &move);
		/* Under the lock: both frames can change hands as soon as it is free. */
		if (found == ECACHE_SALVAGE_MOVE)
			move_frame(&move);
		pool_unlock_irq();
		moved += found == ECACHE_SALVAGE_MOVE;
		cond_resched();
	} while (found != ECACHE_SALVAGE_DONE);
	mutex_unlock(&pool.salvage_lock);
	return moved;
}

void pool_free(u32 device)
{
	u32 left;

	do {
		pool_lock_irq();
		left = ecache_free_some(pool.core, device, POOL_BATCH_PAGES);
		pool_unlock_irq();
		cond_resched();
	} while (left);
}

u32 pool_held(u32 device)
{
	u32 held;

	pool_lock_irq();
	held = ecache_held(pool.core, device).count;
	pool_unlock_irq();
	return held;
}

void pool_wipe_free(void)
{
	u32 frame, frames = ecache_frames(pool.core);

	for (frame = 0; frame < frames; frame++) {
		pool_lock_irq();
		if (ecache_state(pool.core, frame) == ECACHE_FREE)
			memset(pool_frame(frame), 0, PAGE_SIZE);
		pool_unlock_irq();
		cond_resched();
	}
}

int pool_calibrate(void)
{
	const u32 rounds = 64;
	char *pages = kvmalloc(2 * PAGE_SIZE, GFP_KERNEL);
	u64 start;
	u32 i;

	if (!pages)
		return -ENOMEM;
	memset(pages, 1, 2 * PAGE_SIZE);
	local_irq_disable();
	start = get_cycles();
	for (i = 0; i < rounds; i++) {
		memcpy(pages, pages + PAGE_SIZE, PAGE_SIZE);
		barrier();
	}
	pool.copy_cycles = (get_cycles() - start) / rounds;
	local_irq_enable();
	kvfree(pages);
	return 0;
}

static int make_core(const struct heap_device *devices, u32 nr_devices)
{
	struct ecache_device_config *configs;
	u32 carveout_frames[CARVEOUTS_MAX];
	struct ecache_config config = {
		.carveout_frames = carveout_frames,
		.nr_carveouts = pool.nr_carveouts,
		.nr_devices = nr_devices,
		.put_work_limit = PUT_WORK_LIMIT,
		.protect_percent = pool.protect_percent,
	};
	u64 frames = 0, size;
	void *memory;
	int c, error;
	u32 d;

	if (pool.protect_percent > 100) {
		pr_err("protect_percent: %u is above 100\n", pool.protect_percent);
		return -EINVAL;
	}
	for (c = 0; c < pool.nr_carveouts; c++) {
		carveout_frames[c] = pool.carveouts[c].size_bytes >> PAGE_SHIFT;
		pool.first_frame[c] = frames;
		frames += carveout_frames[c];
	}
	if (frames > ECACHE_MAX_FRAMES) {
		pr_err("carveouts: more than %u pages in all\n",
		       ECACHE_MAX_FRAMES);
		return -EINVAL;
	}
	pool.first_frame[c] = frames;
	configs = kcalloc(nr_devices, sizeof(*configs), GFP_KERNEL);
	if (!configs)
		return -ENOMEM;
	for (d = 0; d < nr_devices; d++) {
		configs[d].size_frames = DIV_ROUND_UP_ULL(devices[d].size_bytes,
							  PAGE_SIZE);
		configs[d].home = ECACHE_NONE;
	}
	config.devices = configs;
	config.seed = get_random_u64();
	size = ecache_memory_size(&config);
	memory = size ? kvmalloc(size, GFP_KERNEL) : NULL;
	error = -EINVAL;
	if (size && !memory)
		error = -ENOMEM;
	else if (size)
		error = ecache_init(memory, size, &config, &pool.core);
	kfree(configs);
	if (error) {
		kvfree(memory);
		if (error == -ENOMEM)
			pr_err("no memory for the table of frames\n");
		else
			pr_err("devices: the reservations do not fit the carve-outs: make these larger or those smaller\n");
		return error;
	}
	pool.tags = kvcalloc(frames, sizeof(*pool.tags), GFP_KERNEL);
	if (!pool.tags)
		return -ENOMEM;
	pool.memory_bytes = size + frames * sizeof(*pool.tags);
	return 0;
}

static void give_back(void)
{
	kvfree(pool.tags);
	pool.tags = NULL;
	kvfree(pool.core);
	pool.core = NULL;
	carveouts_give_back(pool.carveouts, pool.nr_carveouts);
}

int pool_init(const char *carveouts, const struct heap_device *devices,
	      u32 nr_devices)
{
	int error;

	INIT_DELAYED_WORK(&pool.sweep, sweep);
	pool.nr_carveouts = carveouts_take(carveouts, pool.carveouts);
	if (pool.nr_carveouts < 0)
		return pool.nr_carveouts;
	error = make_core(devices, nr_devices);
	if (error)
		give_back();
	return error;
}

void pool_exit(void)
{
	cancel_delayed_work_sync(&pool.sweep);
	give_back();
}
