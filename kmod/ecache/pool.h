/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pool: the frames of all carve-outs, the core that decides about them, and the
 * lock under which both that and the location table change. The lock is taken in the
 * page cache's own critical sections, with interrupts off: nothing below it sleeps.
 */
#ifndef FOVEA_ECACHE_POOL_H
#define FOVEA_ECACHE_POOL_H

#include <linux/spinlock.h>
#include <linux/timex.h>
#include <linux/workqueue.h>

#include "../../core/ecache.h"
#include "broken.h"
#include "carveout.h"

struct volume;

/* Pages copied in one go with interrupts off. */
#define POOL_BATCH_PAGES	64
/* Frames or blocks looked at in one go with interrupts off. */
#define POOL_BATCH_FRAMES	1024
#define POOL_NAME_BYTES		32
/*
 * Pages salvaged at most, unless set otherwise: 64 MiB, some 25 ms of copying at 1 GHz. In
 * the phone of seed 000 there are never so many frames to salvage to.
 */
#define POOL_SALVAGE_PAGES	16384

enum pool_zero {
	/* A buffer's pages are zeroed when somebody first can see them. */
	POOL_ZERO_LAZY,
	/* ... all of them before the allocation returns. */
	POOL_ZERO_ALLOC,
};

/* What one kind of call cost without its copies; see the parameter `measure`. */
struct pool_cost {
	u64 cycles;
	u64 count;
};

/* The frame is ECACHE_NONE where there is none. */
struct pool_sum {
	u32 frame;
	u32 sum;
};

struct pool {
	spinlock_t lock;
	struct ecache *core;
	/* Checksums of frames that were put with one, each at its frame's low bits. */
	struct pool_sum *sums;
	u32 sums_mask;
	/* Scratch for policy lru, from its first use on; an entry a frame. */
	u32 *ranks;
	/* First frame of each carve-out; one more at the end. */
	u32 first_frame[CARVEOUTS_MAX + 1];
	struct carveout carveouts[CARVEOUTS_MAX];
	int nr_carveouts;

	/* Settings, changed at any time. */
	bool caching;
	bool measure;
	u32 policy;
	u32 salvage_pages;
	u32 protect_percent;
	u32 gap_pages;
	enum pool_zero zero;

	/* Reads that asked, and that were served; under the lock. */
	u64 gets;
	u64 hits;
	struct pool_cost put_cost;
	struct pool_cost get_cost;
	/* What reading the cycles around one copy costs, which no one else pays. */
	u64 measuring_cycles;

	u64 memory_bytes;
	/* The core salvages from one region at a time. */
	struct mutex salvage_lock;
	struct delayed_work sweep;
};

extern struct pool pool;

/* No checksum: they have fewer bits (TRACK_SUM_BITS). */
#define POOL_NO_SUM	U32_MAX

/* A device's name and reservation, as the parameter `devices` gives them. */
struct pool_device {
	char name[POOL_NAME_BYTES];
	u64 size_bytes;
};

int pool_init(const char *carveouts, const struct pool_device *devices,
	      u32 nr_devices);
void pool_exit(void);

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

/* Cycles now while they are being counted, else 0. */
static inline u64 pool_cycles(void)
{
	return unlikely(READ_ONCE(pool.measure)) ? get_cycles() : 0;
}

/* Finds measuring_cycles. */
void pool_calibrate(void);

/* Adds one call to a cost: from `start` to now, less what copying took. */
static inline void pool_cost_add(struct pool_cost *cost, u64 start, u64 copying,
				 u32 count)
{
	if (likely(!start))
		return;
	cost->cycles += get_cycles() - start - copying -
			count * pool.measuring_cycles;
	cost->count += count;
}

/* ecache_put() without what nobody here asks for; core.c. The frame, or ECACHE_NONE. */
u32 core_put(struct ecache *core, u64 object, u64 block, bool returned);

/* A frame's checksum, or POOL_NO_SUM if it has none or another's came to its place. */
static inline u32 pool_sum(u32 frame)
{
	const struct pool_sum *place = &pool.sums[frame & pool.sums_mask];

	return place->frame == frame ? place->sum : POOL_NO_SUM;
}

static inline void pool_keep_sum(u32 frame, u32 sum)
{
	struct pool_sum *place = &pool.sums[frame & pool.sums_mask];

	if (unlikely(sum != POOL_NO_SUM)) {
		place->frame = frame;
		place->sum = sum;
	} else if (unlikely(place->frame == frame)) {
		place->frame = ECACHE_NONE;
	}
}

/*
 * Keeps a page's content, of which `sum` is the checksum or POOL_NO_SUM. With the lock
 * held. Cycles of the copy are added up.
 */
static inline bool pool_put(u64 object, u64 block, bool returned,
			    const void *content, u32 sum, u64 *copying)
{
	u32 frame = core_put(pool.core, object, block, returned);
	u64 start;

	if (frame == ECACHE_NONE)
		return false;
	pool_keep_sum(frame, sum);
	start = pool_cycles();
	memcpy(pool_frame(frame), content, PAGE_SIZE);
	if (unlikely(start))
		*copying += get_cycles() - start;
	return true;
}

/*
 * Forgets the pages and drops the frames that a volume has of [first, first + count), in
 * batches, taking the lock for each.
 */
void pool_drop_range(struct volume *volume, u64 first, u64 count);

/* Gives contiguous frames to a device: 0, -EINVAL or -EBUSY. */
int pool_alloc(u32 device, u32 size_frames, struct ecache_region *region,
	       u64 *discarded);
/*
 * Moves the most valuable of the pages that a device's frames still hold to frames
 * elsewhere; how many. Once, before anything is written to the region. May sleep.
 */
u32 pool_salvage(u32 device);
void pool_free(u32 device);
u32 pool_held(u32 device);

/*
 * Sets the policy by its name, once all is there that allocations under it need: or
 * -EINVAL for a wrong name, or -ENOMEM with a line in the log.
 */
int pool_set_policy(const char *name);
const char *pool_policy_name(u32 policy);

#endif /* FOVEA_ECACHE_POOL_H */
