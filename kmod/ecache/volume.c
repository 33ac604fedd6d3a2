// SPDX-License-Identifier: GPL-2.0-only
/* Volumes; volume.h says what for. */
#include <linux/device-mapper.h>
#include <linux/interval_tree_generic.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "pool.h"
#include "track.h"
#include "volume.h"

static DEFINE_MUTEX(volumes_lock);
struct volume *volumes[VOLUMES_MAX];
static u64 next_generation = 1;

static bool same(const struct volume *v, struct block_device *bdev, dev_t lower,
		 sector_t lower_start, sector_t begin, sector_t len)
{
	return v->bdev == bdev && v->lower == lower && v->begin == begin &&
	       v->lower_start == lower_start && v->len == len;
}

/*
 * Another mapped device, or another target of the same table, caches part of the same
 * range: neither would see the other's writes. (A table that replaces this one may.)
 */
static bool overlaps(const struct volume *v, const struct dm_table *table,
		     struct block_device *bdev, dev_t lower, sector_t lower_start,
		     sector_t len)
{
	return (v->bdev != bdev || v->table == table) && v->lower == lower &&
	       v->lower_start < lower_start + len &&
	       lower_start < v->lower_start + v->len;
}

struct volume *volume_get(const struct dm_table *table, struct block_device *bdev,
			  struct block_device *lower, sector_t lower_start,
			  sector_t begin, sector_t len, char **why)
{
	dev_t disk = disk_devt(lower->bd_disk);
	struct volume *v, *fresh;
	u32 id, unused = VOLUMES_MAX;

	/*
	 * Before the mutex, which resume takes: the memory may only be had by writing to a
	 * device that waits for its resume.
	 */
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);
	if (!fresh) {
		*why = "No memory for the volume";
		return ERR_PTR(-ENOMEM);
	}
	/* Partitions of one disk are compared by where they lie on it. */
	lower_start += get_start_sect(lower);
	mutex_lock(&volumes_lock);
	for (id = 0; id < VOLUMES_MAX; id++) {
		v = volumes[id];
		if (!v) {
			unused = min(unused, id);
			continue;
		}
		if (overlaps(v, table, bdev, disk, lower_start, len)) {
			*why = "Range is cached by another ecache target";
			v = ERR_PTR(-EBUSY);
			goto out;
		}
		/*
		 * While its target runs, nothing but that target or the one being made
		 * can come next, so nothing can have been written behind its back.
		 */
		if (v->active &&
		    same(v, bdev, disk, lower_start, begin, len)) {
			v->users++;
			v->table = table;
			goto out;
		}
	}
	if (unused == VOLUMES_MAX) {
		*why = "Too many ecache targets";
		v = ERR_PTR(-ENOSPC);
		goto out;
	}
	if (next_generation > ECACHE_MAX_OBJECT) {
		*why = "All numbers of volumes have been used: load the module anew";
		v = ERR_PTR(-ENOSPC);
		goto out;
	}
	v = fresh;
	fresh = NULL;
	BUILD_BUG_ON(TRACK_BLOCK_BITS != ECACHE_INDEX_BITS);
	v->object = next_generation++;
	v->id = unused;
	v->users = 1;
	v->enabled = true;
	spin_lock_init(&v->lock);
	v->writes = RB_ROOT_CACHED;
	v->table = table;
	v->bdev = bdev;
	v->lower = disk;
	v->lower_start = lower_start;
	v->begin = begin;
	v->len = len;
	spin_lock_irq(&pool.lock);
	WRITE_ONCE(volumes[unused], v);
	spin_unlock_irq(&pool.lock);
out:
	mutex_unlock(&volumes_lock);
	kfree(fresh);
	return v;
}

void volume_put(struct volume *v, const struct dm_table *table)
{
	mutex_lock(&volumes_lock);
	if (v->table == table)
		v->table = NULL;
	if (--v->users) {
		mutex_unlock(&volumes_lock);
		return;
	}
	/* Nothing is put from here on; the number is not given away before the end. */
	spin_lock_irq(&pool.lock);
	v->enabled = false;
	spin_unlock_irq(&pool.lock);
	pool_drop_range(v, 0, TRACK_BLOCKS_MAX);
	spin_lock_irq(&pool.lock);
	WRITE_ONCE(volumes[v->id], NULL);
	spin_unlock_irq(&pool.lock);
	mutex_unlock(&volumes_lock);
	kfree_rcu(v, rcu);
}

void volumes_drop_all(void)
{
	u32 id;

	mutex_lock(&volumes_lock);
	for (id = 0; id < VOLUMES_MAX; id++)
		if (volumes[id])
			pool_drop_range(volumes[id], 0, TRACK_BLOCKS_MAX);
	mutex_unlock(&volumes_lock);
}

void volume_resume(struct volume *v)
{
	mutex_lock(&volumes_lock);
	v->active++;
	mutex_unlock(&volumes_lock);
}

void volume_suspend(struct volume *v)
{
	mutex_lock(&volumes_lock);
	v->active--;
	mutex_unlock(&volumes_lock);
}

#define START(write)	((write)->first)
#define LAST(write)	((write)->last)

INTERVAL_TREE_DEFINE(struct volume_write, node, u64, subtree_last, START, LAST,
		     static inline, writes)

void volume_write_begin(struct volume *v, struct volume_write *write, u64 first,
			u64 count)
{
	unsigned long flags;

	write->first = first;
	write->last = first + count - 1;
	spin_lock_irqsave(&v->lock, flags);
	writes_insert(write, &v->writes);
	WRITE_ONCE(v->nr_writes, v->nr_writes + 1);
	spin_unlock_irqrestore(&v->lock, flags);
}

void volume_write_end(struct volume *v, struct volume_write *write)
{
	unsigned long flags;

	spin_lock_irqsave(&v->lock, flags);
	writes_remove(write, &v->writes);
	WRITE_ONCE(v->nr_writes, v->nr_writes - 1);
	spin_unlock_irqrestore(&v->lock, flags);
}

bool volume_write_overlaps(struct volume *v, u64 first, u64 count,
			   const struct volume_write *own)
{
	struct volume_write *write;
	unsigned long flags;

	if (ECACHE_BROKEN_DIRECT)
		return false;
	spin_lock_irqsave(&v->lock, flags);
	write = writes_iter_first(&v->writes, first, first + count - 1);
	while (write && write == own)
		write = writes_iter_next(write, first, first + count - 1);
	spin_unlock_irqrestore(&v->lock, flags);
	return write;
}
