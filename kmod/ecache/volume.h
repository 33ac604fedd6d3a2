/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Volumes: the block ranges that are cached. A volume belongs to one mapped device and
 * one range of one lower device; it outlives a reload of the same table, and with it
 * what is cached.
 *
 * Overlapping I/O. Each write is in its volume's tree of writes in flight, from before it
 * drops what is cached of its blocks until it has ended. Whoever follows pages of a bio
 * notes them first and then looks for a write in the same blocks; if there is one, what
 * was noted is forgotten. So of a write and any other bio in its blocks one sees the
 * other: either the write drops what the bio noted, or the bio finds the write.
 */
#ifndef FOVEA_ECACHE_VOLUME_H
#define FOVEA_ECACHE_VOLUME_H

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/rbtree.h>

#include "core.h"
#include "timed_lock.h"
#include "track.h"

#define VOLUMES_MAX	1024
/* Blocks are the page cache's pages. */
#define BLOCK_SHIFT	(PAGE_SHIFT - SECTOR_SHIFT)
#define BLOCK_SECTORS	(1u << BLOCK_SHIFT)

struct dm_table;

/* Blocks first to last, while a write to them is in flight. */
struct volume_write {
	struct rb_node node;
	u64 first;
	u64 last;
	u64 subtree_last;
};

/* What happened on a volume. */
struct volume_counts {
	/* Reads that asked, and that were served. */
	u64 reads;
	u64 hits;
	u64 mismatched;
	u64 invalidated;
	/* Frames that did not hold any more what was put, or could not be read. */
	u64 damaged;
	struct pool_cost put_cost;
	struct pool_cost get_cost;
	/* What is below is filled in when somebody asks, from gate and batch. */
	u64 misses;
	u64 puts;
	struct timed_lock_held held;
	u64 batched_puts;
	u64 batched_spares;
};

struct volume {
	u32 id;
	u32 users;
	/* Targets that are not suspended; a reload may share only an active volume. */
	u32 active;
	struct block_device *bdev;
	/* The table that asked for it last; for comparison alone. */
	const struct dm_table *table;
	/* The disk below, and where on it. */
	dev_t lower;
	sector_t lower_start;
	/* Within the mapped device. */
	sector_t begin;
	sector_t len;

	/* What is below changes under it. */
	struct timed_lock lock;
	/* Writes in flight. */
	struct rb_root_cached writes;
	u32 nr_writes;
	bool enabled;
	struct track track;
	/* It knows what the core knows the volume by; never used again for another. */
	struct batch batch;
	struct volume_counts counts;
};

static inline void volume_lock_irq(struct volume *v)
{
	timed_lock_irq(&v->lock);
}

static inline void volume_unlock_irq(struct volume *v)
{
	timed_unlock_irq(&v->lock);
}

static inline unsigned long volume_lock_irqsave(struct volume *v)
{
	return timed_lock_irqsave(&v->lock);
}

static inline void volume_unlock_irqrestore(struct volume *v, unsigned long flags)
{
	timed_unlock_irqrestore(&v->lock, flags);
}

/*
 * Finds or makes the volume of a new target. Returns an error pointer and sets *why.
 */
struct volume *volume_get(const struct dm_table *table, struct block_device *bdev,
			  struct block_device *lower, sector_t lower_start,
			  sector_t begin, sector_t len, char **why);
void volume_put(struct volume *volume, const struct dm_table *table);
/*
 * Before its target runs: -EBUSY if another device's target that runs caches part of the same
 * range. One that is suspended loses what it has of it, since the range changes hands.
 */
int volume_takes_over(struct volume *volume);
void volume_resume(struct volume *volume);
void volume_suspend(struct volume *volume);

/* Drops all that is cached of all volumes. */
void volumes_drop_all(void);

/* Makes all volumes give back the frames that they hold to spare. */
void volumes_empty_batches(void);

struct volume_counts volume_count(struct volume *volume);
/* Of all volumes, those that are gone included. May sleep. */
struct volume_counts volumes_count(void);
/* Pages followed now, and bytes of their tables. */
void volumes_measure_tables(u64 *pages, u64 *bytes);
/* Whoever holds a lock now has no beginning to count its cycles from. */
void volumes_forget_beginnings(void);

/* Makes room for the entries of so many pages more, if there is memory. */
void volume_make_room(struct volume *volume, u32 pages);

static inline void volume_prepare(struct volume *volume, u64 pages)
{
	pages = min_t(u64, pages, TRACK_PREPARED_MAX);
	if (unlikely(READ_ONCE(volume->track.nr_unused) < pages))
		volume_make_room(volume, pages);
}

/* Changes under a mutex; read under that, or under RCU. */
extern struct volume *volumes[VOLUMES_MAX];

/* By a number below VOLUMES_MAX; NULL if it is gone. */
static inline struct volume *volume_by_id(u32 id)
{
	return READ_ONCE(volumes[id]);
}

/* Before anything is dropped or noted for the write; any context. */
void volume_write_begin(struct volume *volume, struct volume_write *write,
			u64 first, u64 count);
void volume_write_end(struct volume *volume, struct volume_write *write);

/* Whether a write other than `own` is in flight in these blocks. */
bool volume_write_overlaps(struct volume *volume, u64 first, u64 count,
			   const struct volume_write *own);

/*
 * The same, to be asked after a critical section of the volume's lock in which the blocks'
 * pages were noted: a write that began before is seen, and any other sees those notes.
 */
static inline bool volume_busy(struct volume *volume, u64 first, u64 count,
			       const struct volume_write *own)
{
	return READ_ONCE(volume->nr_writes) > !!own &&
	       volume_write_overlaps(volume, first, count, own);
}

#endif /* FOVEA_ECACHE_VOLUME_H */
