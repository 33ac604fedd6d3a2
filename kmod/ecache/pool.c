// SPDX-License-Identifier: GPL-2.0-only
/* The pool; pool.h says what it is. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>

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
	.lock = __SPIN_LOCK_UNLOCKED(pool.lock),
	.salvage_lock = __MUTEX_INITIALIZER(pool.salvage_lock),
	.caching = true,
	.policy = ECACHE_AGED,
	.salvage_pages = POOL_SALVAGE_PAGES,
	.protect_percent = 75,
};

static const char * const policy_names[] = {
	[ECACHE_STATIC] = "static",
	[ECACHE_RANDOM] = "random",
	[ECACHE_COUNT] = "count",
	[ECACHE_LRU] = "lru",
	[ECACHE_AGED] = "aged",
};

/* Few pages have a checksum: about two of a hundred, and one that is lost is made anew. */
#define FRAMES_PER_SUM		16

static int make_ranks(void)
{
	u32 frames = ecache_frames(pool.core);
	u32 *ranks;

	if (READ_ONCE(pool.ranks))
		return 0;
	ranks = kvmalloc_array(frames, sizeof(*ranks), GFP_KERNEL);
	if (!ranks) {
		pr_err("policy: no memory for lru: 4 bytes a page of the pool\n");
		return -ENOMEM;
	}
	/* The parameter and a target's message may both be here. */
	spin_lock_irq(&pool.lock);
	if (!pool.ranks) {
		swap(pool.ranks, ranks);
		pool.memory_bytes += (u64)frames * sizeof(*ranks);
	}
	spin_unlock_irq(&pool.lock);
	kvfree(ranks);
	return 0;
}

int pool_set_policy(const char *name)
{
	u32 policy;
	int error;

	for (policy = 0; policy < ARRAY_SIZE(policy_names); policy++)
		if (sysfs_streq(name, policy_names[policy]))
			break;
	if (policy == ARRAY_SIZE(policy_names))
		return -EINVAL;
	/* At load there is no pool yet: pool_init() sees to it. */
	if (policy == ECACHE_LRU && pool.core) {
		error = make_ranks();
		if (error)
			return error;
	}
	WRITE_ONCE(pool.policy, policy);
	return 0;
}

const char *pool_policy_name(u32 policy)
{
	return policy_names[policy];
}

phys_addr_t pool_frame_phys(u32 frame)
{
	int c = 0;

	while (frame >= pool.first_frame[c + 1])
		c++;
	return pool.carveouts[c].start +
	       ((u64)(frame - pool.first_frame[c]) << PAGE_SHIFT);
}

/* Drops what a volume has of a range by looking at all frames. */
static void flush_scan(struct volume *volume, u64 first, u64 count)
{
	u32 frame = 0, frames = ecache_frames(pool.core), end;
	struct ecache_key key;

	while (frame < frames) {
		end = min(frames, frame + POOL_BATCH_FRAMES);
		spin_lock_irq(&pool.lock);
		for (; frame < end; frame++)
			if (ecache_frame_key(pool.core, frame, &key) &&
			    key.object == volume->object &&
			    key.index - first < count)
				volume->invalidated += ecache_flush_page(
					pool.core, key.object, key.index);
		spin_unlock_irq(&pool.lock);
		cond_resched();
	}
}

/* Drops a volume's frames of a range. */
static void flush_range(struct volume *volume, u64 first, u64 count)
{
	u32 part;

	if (count > 4ull * ecache_frames(pool.core)) {
		flush_scan(volume, first, count);
		return;
	}
	for (; count; first += part, count -= part) {
		part = min_t(u64, count, POOL_BATCH_FRAMES);
		spin_lock_irq(&pool.lock);
		volume->invalidated += ecache_flush_range(
			pool.core, volume->object, first, part);
		spin_unlock_irq(&pool.lock);
		cond_resched();
	}
}

void pool_drop_range(struct volume *volume, u64 first, u64 count)
{
	struct track_chunk *chunk = NULL;
	bool more;

	/* Pages first: one that is still followed could be put after the frames went. */
	do {
		spin_lock_irq(&pool.lock);
		more = track_forget_range(volume->id, first, count, &chunk);
		spin_unlock_irq(&pool.lock);
		cond_resched();
	} while (more);
	flush_range(volume, first, count);
}

/* Withdraws tombstones, so that no put has to (seed 000, section 4: lazy discard). */
static void sweep(struct work_struct *work)
{
	u32 left;

	do {
		spin_lock_irq(&pool.lock);
		left = ecache_sweep(pool.core, POOL_BATCH_FRAMES);
		spin_unlock_irq(&pool.lock);
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
		.policy = READ_ONCE(pool.policy),
	};
	int error;

	spin_lock_irq(&pool.lock);
	ecache_counters_read(pool.core, &before);
	request.ranks = pool.ranks;
	error = ecache_alloc_region(pool.core, &request, region);
	ecache_counters_read(pool.core, &after);
	spin_unlock_irq(&pool.lock);
	if (!error) {
		*discarded = after.discarded - before.discarded;
		mod_delayed_work(system_unbound_wq, &pool.sweep,
				 SWEEP_DELAY);
	}
	return error;
}

u32 pool_salvage(u32 device)
{
	u32 budget = READ_ONCE(pool.salvage_pages);
	struct ecache_move move;
	u32 batch, moved = 0;
	bool more = true;

	if (!budget)
		return 0;
	mutex_lock(&pool.salvage_lock);
	spin_lock_irq(&pool.lock);
	ecache_salvage_begin(pool.core, device, budget);
	spin_unlock_irq(&pool.lock);
	while (more) {
		spin_lock_irq(&pool.lock);
		for (batch = 0; batch < POOL_BATCH_PAGES; batch++) {
			more = ecache_salvage_next(pool.core, &move);
			if (!more)
				break;
			memcpy(pool_frame(move.to), pool_frame(move.from),
			       PAGE_SIZE);
			pool_keep_sum(move.to, pool_sum(move.from));
			moved++;
		}
		spin_unlock_irq(&pool.lock);
		cond_resched();
	}
	mutex_unlock(&pool.salvage_lock);
	return moved;
}

void pool_free(u32 device)
{
	u32 left;

	do {
		spin_lock_irq(&pool.lock);
		left = ecache_free_some(pool.core, device, POOL_BATCH_FRAMES);
		spin_unlock_irq(&pool.lock);
		cond_resched();
	} while (left);
}

u32 pool_held(u32 device)
{
	u32 held;

	spin_lock_irq(&pool.lock);
	held = ecache_held(pool.core, device).count;
	spin_unlock_irq(&pool.lock);
	return held;
}

void pool_calibrate(void)
{
	const u32 rounds = 64;
	u64 start, before, copying = 0;
	u32 i;

	spin_lock_irq(&pool.lock);
	start = get_cycles();
	for (i = 0; i < rounds; i++) {
		before = pool_cycles();
		if (unlikely(before))
			copying += get_cycles() - before;
	}
	pool.measuring_cycles = (get_cycles() - start - copying) / rounds;
	spin_unlock_irq(&pool.lock);
}

static int make_core(const struct pool_device *devices, u32 nr_devices)
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
	size_t sums_bytes;
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
	pool.sums_mask = roundup_pow_of_two(DIV_ROUND_UP(frames, FRAMES_PER_SUM)) - 1;
	sums_bytes = (pool.sums_mask + 1ul) * sizeof(*pool.sums);
	pool.sums = kvmalloc(sums_bytes, GFP_KERNEL);
	error = -EINVAL;
	if (!pool.sums || (size && !memory))
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
	memset(pool.sums, 0xff, sums_bytes);
	pool.memory_bytes = size + sums_bytes;
	return 0;
}

static void give_back(void)
{
	kvfree(pool.core);
	kvfree(pool.sums);
	kvfree(pool.ranks);
	pool.core = NULL;
	carveouts_give_back(pool.carveouts, pool.nr_carveouts);
}

int pool_init(const char *carveouts, const struct pool_device *devices,
	      u32 nr_devices)
{
	int error;

	INIT_DELAYED_WORK(&pool.sweep, sweep);
	pool.nr_carveouts = carveouts_take(carveouts, pool.carveouts);
	if (pool.nr_carveouts < 0)
		return pool.nr_carveouts;
	/* The parameter's file is there already: no policy slips in between. */
	kernel_param_lock(THIS_MODULE);
	error = make_core(devices, nr_devices);
	if (!error && pool.policy == ECACHE_LRU)
		error = make_ranks();
	kernel_param_unlock(THIS_MODULE);
	if (error)
		give_back();
	return error;
}

void pool_exit(void)
{
	cancel_delayed_work_sync(&pool.sweep);
	give_back();
}
