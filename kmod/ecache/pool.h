/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pool: the frames of all carve-outs, the core that decides about them, and the
 * core's lock.
 *
 * The lock is taken in the page cache's own critical sections, with interrupts off, and
 * below volumes' locks. So nothing below it sleeps, and it is held for what is done to
 * POOL_BATCH_PAGES pages at most, and for one allocation. Pages are copied without it:
 * their frames are pinned meanwhile (core/ecache/ecache.h). Salvage and reads past the page
 * cache copy one page under it.
 */
#ifndef FOVEA_ECACHE_POOL_H
#define FOVEA_ECACHE_POOL_H

#include <linux/delay.h>
#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/timex.h>
#include <linux/workqueue.h>

#include "../../core/ecache/ecache.h"
#include "../include/contract.h"
#include "broken.h"
#include "carveout.h"
#include "timed_lock.h"

struct block_device;
struct heap_device;
struct volume;

/* Pages, frames or blocks dealt with under the lock at once. */
#define POOL_BATCH_PAGES	64
/* Frames that are only looked at. */
#define POOL_BATCH_FRAMES	512
/*
 * Pages salvaged at most, unless set otherwise: 64 MiB, some 25 ms of copying at 1 GHz. In
 * the phone of eCache12 there are never so many frames to salvage to.
 */
#define POOL_SALVAGE_PAGES	16384

enum pool_zero {
#define POOL_ZERO(id, name) POOL_ZERO_##id,
	ECACHE_ZERO(POOL_ZERO)
#undef POOL_ZERO
};

/* What one kind of call cost without its copies; see the parameter `measure`. */
struct pool_cost {
	u64 cycles;
	u64 count;
};

struct pool {
	struct timed_lock lock;
	struct ecache *core;
	/*
	 * The hash of what was put in each frame (nh.h). Whoever has pinned a frame writes its
	 * own; salvage moves it with the page, under the lock.
	 */
	u64 *tags;
	/* First frame of each carve-out; one more at the end. */
	u32 first_frame[CARVEOUTS_MAX + 1];
	struct carveout carveouts[CARVEOUTS_MAX];
	int nr_carveouts;

	/* Whether anything is put and served: unless set off, or the machine hibernates. */
	bool active;
	/* Settings, changed at any time. */
	bool caching;
	bool asleep;
	u32 salvage_pages;
	u32 protect_percent;
	enum pool_zero zero;

	/* The longest that a folio's way out took, with all its copies. */
	u64 longest_put;
	/* What copying a page takes, and nothing else. */
	u64 copy_cycles;

	u64 memory_bytes;
	/* The core salvages from one region at a time. */
	struct mutex salvage_lock;
	struct delayed_work sweep;
};

extern struct pool pool;
DECLARE_STATIC_KEY_FALSE(pool_measure);

int pool_init(const char *carveouts, const struct heap_device *devices,
	      u32 nr_devices);
void pool_exit(void);

/* Sets one of the two that make the pool active, and the sum of both. */
void pool_set(bool *which, bool value);

/* A frame's content. */
static inline void *pool_frame(u32 frame)
{
	int c = 0;

	while (frame >= pool.first_frame[c + 1])
		c++;
	return pool.carveouts[c].vaddr +
	       ((u64)(frame - pool.first_frame[c]) << PAGE_SHIFT);
}

phys_addr_t pool_frame_phys(u32 frame);

/* The kernel was told that this frame's memory is broken: it is never read. */
static inline bool pool_frame_poisoned(u32 frame)
{
	return IS_ENABLED(CONFIG_MEMORY_FAILURE) &&
	       PageHWPoison(pfn_to_page(PHYS_PFN(pool_frame_phys(frame))));
}

/* Names the first frame in the log that did not hold what was put there. */
void pool_tell_damaged(u32 frame, struct block_device *volume);

/* Where a frame is read from: nowhere at times, where loads are to fault. */
static inline const void *pool_frame_read(u32 frame)
{
	if (ECACHE_BROKEN_FAULT && !get_random_u32_below(256))
		return (const void *)(1ull << 63 | 1ull << 46);
	return pool_frame(frame);
}

/* Comes before a copy to or from a pinned frame. */
static inline void pool_copy_begins(void)
{
	if (ECACHE_BROKEN_SLOW && !get_random_u32_below(32))
		mdelay(3);
}

/* Cycles now while they are being counted, else 0. */
static inline u64 pool_cycles(void)
{
	return static_branch_unlikely(&pool_measure) ? get_cycles() : 0;
}

/* Finds copy_cycles; -ENOMEM if it cannot. */
int pool_calibrate(void);

static inline void pool_lock(void)
{
	timed_lock(&pool.lock);
}

static inline void pool_unlock(void)
{
	timed_unlock(&pool.lock);
}

static inline void pool_lock_irq(void)
{
	timed_lock_irq(&pool.lock);
}

static inline void pool_unlock_irq(void)
{
	timed_unlock_irq(&pool.lock);
}

/*
 * Adds so many pages to a cost: from `start` to now, less what their plain copies would have
 * taken. What is hashed while it is copied counts.
 */
static inline void pool_cost_add(struct pool_cost *cost, u64 start, u32 count)
{
	u64 now = pool_cycles(), spent = now - start, copies;

	if (likely(!start || !now))
		return;
	copies = count * pool.copy_cycles;
	cost->cycles += spent > copies ? spent - copies : 0;
	cost->count += count;
}

/*
 * Forgets the pages and drops the frames that a volume has of [first, first + count), in
 * batches, taking the lock for each. Any context that may sleep.
 */
void pool_drop_range(struct volume *volume, u64 first, u64 count);

/*
 * Gives contiguous frames to a device: 0, -EINVAL or -EBUSY. When it returns nobody else
 * uses them. May sleep.
 */
int pool_alloc(u32 device, u32 size_frames, struct ecache_region *region,
	       u64 *discarded);
/*
 * Moves the most valuable of the pages that a device's frames still hold to frames
 * elsewhere; how many. Once, before anything is written to the region. May sleep.
 */
u32 pool_salvage(u32 device);
void pool_free(u32 device);
u32 pool_held(u32 device);

/* Clears frames that hold nothing and are nobody's. May sleep. */
void pool_wipe_free(void);

#endif /* FOVEA_ECACHE_POOL_H */
