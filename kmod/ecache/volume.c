// SPDX-License-Identifier: GPL-2.0-only
/* Volumes; volume.h says what for. */
#include <linux/device-mapper.h>
#include <linux/hash.h>
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

/* Another mapped device caches part of the same range: neither would see the other's writes. */
static bool overlaps(const struct volume *v, struct block_device *bdev,
		     dev_t lower, sector_t lower_start, sector_t len)
{
	return v->bdev != bdev && v->lower == lower &&
	       v->lower_start < lower_start + len &&
	       lower_start < v->lower_start + v->len;
}

struct volume *volume_get(struct block_device *bdev, struct block_device *lower,
			  sector_t lower_start, sector_t begin, sector_t len,
			  char **why)
{
	dev_t disk = disk_devt(lower->bd_disk);
	struct volume *v;
	u32 id, unused = VOLUMES_MAX;

	/* Partitions of one disk are compared by where they lie on it. */
	lower_start += get_start_sect(lower);
	mutex_lock(&volumes_lock);
	for (id = 0; id < VOLUMES_MAX; id++) {
		v = volumes[id];
		if (!v) {
			unused = min(unused, id);
			continue;
		}
		if (overlaps(v, bdev, disk, lower_start, len)) {
			*why = "Range is cached by another ecache device";
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
	v = kvzalloc(sizeof(*v), GFP_KERNEL);
	if (!v) {
		*why = "No memory for the volume";
		v = ERR_PTR(-ENOMEM);
		goto out;
	}
	BUILD_BUG_ON(TRACK_BLOCK_BITS != ECACHE_INDEX_BITS);
	v->object = next_generation++;
	v->id = unused;
	v->users = 1;
	v->enabled = true;
	v->bdev = bdev;
	v->lower = disk;
	v->lower_start = lower_start;
	v->begin = begin;
	v->len = len;
	spin_lock_irq(&pool.lock);
	volumes[unused] = v;
	spin_unlock_irq(&pool.lock);
out:
	mutex_unlock(&volumes_lock);
	return v;
}

void volume_put(struct volume *v)
{
	mutex_lock(&volumes_lock);
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
	volumes[v->id] = NULL;
	spin_unlock_irq(&pool.lock);
	mutex_unlock(&volumes_lock);
	kvfree(v);
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

static u32 counter(u64 block)
{
	/* Neighbours fall into different ones. */
	return block & ((1 << INFLIGHT_SHIFT) - 1);
}

bool volume_busy(const struct volume *v, u64 block)
{
	if (ECACHE_BROKEN_DIRECT)
		return false;
	return v->bulk_writes || v->inflight[counter(block)];
}

void volume_write_begin(struct volume *v, u64 block, u64 count)
{
	u64 end = block + count;

	if (count > INFLIGHT_BLOCKS)
		v->bulk_writes++;
	else
		for (; block < end; block++)
			v->inflight[counter(block)]++;
}

void volume_write_end(struct volume *v, u64 block, u64 count)
{
	u64 end = block + count;

	if (count > INFLIGHT_BLOCKS)
		v->bulk_writes--;
	else
		for (; block < end; block++)
			v->inflight[counter(block)]--;
}
