// SPDX-License-Identifier: GPL-2.0-only
/* Volumes; volume.h says what for. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device-mapper.h>
#include <linux/interval_tree_generic.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "pool.h"
#include "track.h"
#include "volume.h"

static DEFINE_MUTEX(volumes_lock);
struct volume *volumes[VOLUMES_MAX];
static u32 nr_volumes;
/* One more than the highest number that a volume has had. */
static u32 volumes_end;
static u64 next_generation = 1;
/* What happened on volumes that are gone. */
static struct volume_counts gone;

static bool same(const struct volume *v, struct block_device *bdev, dev_t lower,
		 sector_t lower_start, sector_t begin, sector_t len)
{
	return v->bdev == bdev && v->lower == lower && v->begin == begin &&
	       v->lower_start == lower_start && v->len == len;
}

static bool overlaps(const struct volume *v, dev_t lower, sector_t lower_start,
		     sector_t len)
{
	return v->lower == lower && v->lower_start < lower_start + len &&
	       lower_start < v->lower_start + v->len;
}

/*
 * Another mapped device that runs, or another target of the same table, caches part of the
 * same range: neither would see the other's writes. (A table that replaces this one may. So
 * may the table of a device beside one that is suspended: volume_takes_over().)
 */
static bool in_the_way(const struct volume *v, const struct dm_table *table,
		       struct block_device *bdev)
{
	return v->bdev == bdev ? v->table == table : v->active;
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
	if (!fresh || track_init(&fresh->track, len >> BLOCK_SHIFT)) {
		*why = "No memory for the volume";
		kfree(fresh);
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
		if (in_the_way(v, table, bdev) && overlaps(v, disk, lower_start, len)) {
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
	v->batch.object = next_generation++;
	v->id = unused;
	v->track.volume = unused;
	v->users = 1;
	v->enabled = true;
	spin_lock_init(&v->lock.spinlock);
	v->writes = RB_ROOT_CACHED;
	v->table = table;
	v->bdev = bdev;
	v->lower = disk;
	v->lower_start = lower_start;
	v->begin = begin;
	v->len = len;
	/* Pairs with the dependency of whoever finds it there. */
	smp_store_release(&volumes[unused], v);
	WRITE_ONCE(volumes_end, max(volumes_end, unused + 1));
	batch_share(++nr_volumes);
out:
	mutex_unlock(&volumes_lock);
	if (fresh)
		track_exit(&fresh->track);
	kfree(fresh);
	return v;
}

static void add_cost(struct pool_cost *sum, const struct pool_cost *cost)
{
	sum->cycles += cost->cycles;
	sum->count += cost->count;
}

struct volume_counts volume_count(struct volume *v)
{
	struct volume_counts now;

	volume_lock_irq(v);
	now = v->counts;
	now.held = v->lock.held;
	now.misses = now.reads - now.hits;
	now.puts = v->batch.ended_puts + v->batch.nr_puts;
	now.batched_puts = v->batch.nr_puts;
	now.batched_spares = v->batch.nr_spares;
	volume_unlock_irq(v);
	return now;
}

static void add_counts(struct volume_counts *sum, struct volume *v)
{
	struct volume_counts now;

	now = volume_count(v);
	sum->reads += now.reads;
	sum->hits += now.hits;
	sum->misses += now.misses;
	sum->puts += now.puts;
	sum->mismatched += now.mismatched;
	sum->invalidated += now.invalidated;
	sum->damaged += now.damaged;
	add_cost(&sum->put_cost, &now.put_cost);
	add_cost(&sum->get_cost, &now.get_cost);
	sum->held.cycles += now.held.cycles;
	sum->held.count += now.held.count;
	sum->held.longest = max(sum->held.longest, now.held.longest);
	sum->batched_puts += now.batched_puts;
	sum->batched_spares += now.batched_spares;
}

struct volume_counts volumes_count(void)
{
	struct volume_counts sum;
	u32 id;

	mutex_lock(&volumes_lock);
	sum = gone;
	for (id = 0; id < VOLUMES_MAX; id++)
		if (volumes[id])
			add_counts(&sum, volumes[id]);
	mutex_unlock(&volumes_lock);
	return sum;
}

void volumes_measure_tables(u64 *pages, u64 *bytes)
{
	u32 id;

	*pages = 0;
	*bytes = track_index_bytes();
	mutex_lock(&volumes_lock);
	for (id = 0; id < VOLUMES_MAX; id++)
		if (volumes[id]) {
			*pages += track_pages(&volumes[id]->track);
			*bytes += track_bytes(&volumes[id]->track);
		}
	mutex_unlock(&volumes_lock);
}

void volumes_forget_beginnings(void)
{
	u32 id;

	mutex_lock(&volumes_lock);
	for (id = 0; id < VOLUMES_MAX; id++)
		if (volumes[id]) {
			spin_lock_irq(&volumes[id]->lock.spinlock);
			volumes[id]->lock.since = 0;
			spin_unlock_irq(&volumes[id]->lock.spinlock);
		}
	mutex_unlock(&volumes_lock);
}

static void empty_batch(struct volume *v)
{
	volume_lock_irq(v);
	batch_empty(&v->batch);
	volume_unlock_irq(v);
}

/* Not under the mutex, whose holders wait for a device's memory. */
void volumes_empty_batches(void)
{
	struct volume *v;
	u32 id;

	rcu_read_lock();
	for (id = 0; id < READ_ONCE(volumes_end); id++) {
		v = volume_by_id(id);
		if (v)
			empty_batch(v);
	}
	rcu_read_unlock();
}

void volume_make_room(struct volume *v, u32 pages)
{
	while (READ_ONCE(v->track.nr_unused) < pages) {
		struct track_chunk *chunk = track_make_chunk();
		unsigned long flags;

		if (!chunk)
			return;
		flags = volume_lock_irqsave(v);
		track_add_chunk(&v->track, chunk);
		volume_unlock_irqrestore(v, flags);
	}
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
	volume_lock_irq(v);
	v->enabled = false;
	volume_unlock_irq(v);
	pool_drop_range(v, 0, TRACK_BLOCKS_MAX);
	WRITE_ONCE(volumes[v->id], NULL);
	batch_share(--nr_volumes);
	empty_batch(v);
	add_counts(&gone, v);
	mutex_unlock(&volumes_lock);
	/* A page that was being copied then may have left its frame behind since. */
	synchronize_rcu();
	empty_batch(v);
	track_exit(&v->track);
	kfree(v);
}

void volumes_drop_all(void)
{
	u32 id;

	mutex_lock(&volumes_lock);
	for (id = 0; id < VOLUMES_MAX; id++)
		if (volumes[id])
			pool_drop_range(volumes[id], 0, TRACK_BLOCKS_MAX);
	mutex_unlock(&volumes_lock);
	volumes_empty_batches();
}

int volume_takes_over(struct volume *v)
{
	struct volume *other;
	int error = 0;
	u32 id;

	mutex_lock(&volumes_lock);
	for (id = 0; id < VOLUMES_MAX && !error; id++) {
		other = volumes[id];
		if (!other || other->bdev == v->bdev ||
		    !overlaps(other, v->lower, v->lower_start, v->len))
			continue;
		if (other->active)
			error = -EBUSY;
		else
			pool_drop_range(other, 0, TRACK_BLOCKS_MAX);
	}
	mutex_unlock(&volumes_lock);
	if (error)
		pr_err("the range is cached by another ecache target that runs: suspend it first\n");
	return error;
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
	flags = volume_lock_irqsave(v);
	writes_insert(write, &v->writes);
	WRITE_ONCE(v->nr_writes, v->nr_writes + 1);
	volume_unlock_irqrestore(v, flags);
}

void volume_write_end(struct volume *v, struct volume_write *write)
{
	unsigned long flags;

	flags = volume_lock_irqsave(v);
	writes_remove(write, &v->writes);
	WRITE_ONCE(v->nr_writes, v->nr_writes - 1);
	volume_unlock_irqrestore(v, flags);
}

bool volume_write_overlaps(struct volume *v, u64 first, u64 count,
			   const struct volume_write *own)
{
	struct volume_write *write;
	unsigned long flags;

	if (ECACHE_BROKEN_DIRECT)
		return false;
	flags = volume_lock_irqsave(v);
	write = writes_iter_first(&v->writes, first, first + count - 1);
	while (write && write == own)
		write = writes_iter_next(write, first, first + count - 1);
	volume_unlock_irqrestore(v, flags);
	return write;
}
