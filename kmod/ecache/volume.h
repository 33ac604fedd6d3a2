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
#include <linux/spinlock.h>

#define VOLUMES_MAX	1024
/* Blocks are the page cache's pages. */
#define BLOCK_SHIFT	(PAGE_SHIFT - SECTOR_SHIFT)
#define BLOCK_SECTORS	(1u << BLOCK_SHIFT)
/* Kinds of files whose treatment a volume remembers. */
#define VOLUME_KINDS	4

struct dm_table;

/* Blocks first to last, while a write to them is in flight. */
struct volume_write {
	struct rb_node node;
	u64 first;
	u64 last;
	u64 subtree_last;
};

/* A kind of file by the functions that its file system serves it with; see follow.c. */
struct volume_kind {
	const struct address_space_operations *ops;
	const struct file_system_type *type;
	bool listed;
};

struct volume {
	/* What the core knows it by; never used again for another. */
	u64 object;
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
	struct rcu_head rcu;

	/* Writes in flight: the tree changes under the lock. */
	spinlock_t lock;
	struct rb_root_cached writes;
	u32 nr_writes;

	/* Filled once each, from the first; read without a lock. */
	struct volume_kind kinds[VOLUME_KINDS];
	u32 nr_kinds;

	/* Under the pool's lock. */
	bool enabled;
	u64 reads;
	u64 hits;
	u64 puts;
	u64 mismatched;
	u64 invalidated;
};

/*
 * Finds or makes the volume of a new target. Returns an error pointer and sets *why.
 */
struct volume *volume_get(const struct dm_table *table, struct block_device *bdev,
			  struct block_device *lower, sector_t lower_start,
			  sector_t begin, sector_t len, char **why);
void volume_put(struct volume *volume, const struct dm_table *table);
void volume_resume(struct volume *volume);
void volume_suspend(struct volume *volume);

/* Drops all that is cached of all volumes. */
void volumes_drop_all(void);

/* Changes under both a mutex and the pool's lock; read under either, or under RCU. */
extern struct volume *volumes[VOLUMES_MAX];

/* By number; NULL if it is gone. */
static inline struct volume *volume_by_id(u32 id)
{
	return id < VOLUMES_MAX ? READ_ONCE(volumes[id]) : NULL;
}

/* Before anything is dropped or noted for the write; any context. */
void volume_write_begin(struct volume *volume, struct volume_write *write,
			u64 first, u64 count);
void volume_write_end(struct volume *volume, struct volume_write *write);

/* Whether a write other than `own` is in flight in these blocks. */
bool volume_write_overlaps(struct volume *volume, u64 first, u64 count,
			   const struct volume_write *own);

/*
 * The same, to be asked after a critical section of the pool's lock in which the blocks'
 * pages were noted: a write that began before is seen, and any other sees those notes.
 */
static inline bool volume_busy(struct volume *volume, u64 first, u64 count,
			       const struct volume_write *own)
{
	return READ_ONCE(volume->nr_writes) > !!own &&
	       volume_write_overlaps(volume, first, count, own);
}

#endif /* FOVEA_ECACHE_VOLUME_H */
