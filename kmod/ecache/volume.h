/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Volumes: the block ranges that are cached. A volume belongs to one mapped device and
 * one range of one lower device; it outlives a reload of the same table, and with it
 * what is cached.
 */
#ifndef FOVEA_ECACHE_VOLUME_H
#define FOVEA_ECACHE_VOLUME_H

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/list.h>

#define VOLUMES_MAX	1024
/* Blocks are the page cache's pages. */
#define BLOCK_SHIFT	(PAGE_SHIFT - SECTOR_SHIFT)
#define BLOCK_SECTORS	(1u << BLOCK_SHIFT)
/* Counters of writes in flight; blocks share them. */
#define INFLIGHT_SHIFT	10
/* Ranges longer than this count as writes of the whole volume. */
#define INFLIGHT_BLOCKS	512u

struct volume {
	/* What the core knows it by; never used again for another. */
	u64 object;
	u32 id;
	u32 users;
	/* Targets that are not suspended; a reload may share only an active volume. */
	u32 active;
	struct block_device *bdev;
	/* The disk below, and where on it. */
	dev_t lower;
	sector_t lower_start;
	/* Within the mapped device. */
	sector_t begin;
	sector_t len;

	/* Under the pool's lock. */
	bool enabled;
	u32 bulk_writes;
	u32 inflight[1 << INFLIGHT_SHIFT];
	u64 reads;
	u64 hits;
	/* Cached, and read from disk all the same, between missing ones. */
	u64 passed;
	u64 puts;
	u64 invalidated;
};

/*
 * Finds or makes the volume of a new target. Returns an error pointer and sets *why.
 */
struct volume *volume_get(struct block_device *bdev, struct block_device *lower,
			  sector_t lower_start, sector_t begin, sector_t len,
			  char **why);
void volume_put(struct volume *volume);
void volume_resume(struct volume *volume);
void volume_suspend(struct volume *volume);

/* Changes under both a mutex and the pool's lock; read under either. */
extern struct volume *volumes[VOLUMES_MAX];

/* By number, with the pool's lock held; NULL if it is gone. */
static inline struct volume *volume_by_id(u32 id)
{
	return id < VOLUMES_MAX ? volumes[id] : NULL;
}

/* All below: with the pool's lock held. A range with a write in flight. */
bool volume_busy(const struct volume *volume, u64 block);
void volume_write_begin(struct volume *volume, u64 block, u64 count);
void volume_write_end(struct volume *volume, u64 block, u64 count);

#endif /* FOVEA_ECACHE_VOLUME_H */
