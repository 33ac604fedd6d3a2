// SPDX-License-Identifier: GPL-2.0-only
/* cache.h says what this is. */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/iommu.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "../include/compat.h"
#include "broken.h"
#include "cache.h"
#include "mapping.h"

struct heap_cache heap_cache = {
	.lock = __SPIN_LOCK_UNLOCKED(heap_cache.lock),
	.on = true,
	.device_cap_bytes = 256ull << 20,
	.devices = LIST_HEAD_INIT(heap_cache.devices),
	.buffers = LIST_HEAD_INIT(heap_cache.buffers),
};

/* Somebody's unmapping has ended. */
DECLARE_WAIT_QUEUE_HEAD(heap_cache_dropped);

/*
 * A flush queue gives addresses back when its timer fires, after 10 ms; later on a CPU that
 * is busy, or that a hypervisor stops.
 */
#define FLUSH_QUEUE_MS	20
#define FLUSH_QUEUE_WAITS	10

/*
 * A quarter of what the device can address at most: exporters that know nothing of this
 * cache need addresses, too, and cannot evict.
 */
static u64 cap_bytes(const struct heap_limits *limits)
{
	if (HEAP_BROKEN_CAP)
		return U64_MAX;
	return min(READ_ONCE(heap_cache.device_cap_bytes),
		   (limits->dma_mask >> 2) + 1);
}

/* From here on nobody finds it; the caller ends it. */
static void take_idle(struct heap_mapping *m)
{
	lockdep_assert_held(&heap_cache.lock);
	list_del(&m->of_device);
	list_move(&m->of_buffer, &m->buffer->dropping);
	m->owner->nr_dropping++;
	heap_cache.totals.idle--;
}

static void drop(struct heap_mapping *m)
{
	struct cache_device *d = m->owner;

	heap_mapping_unmap(m);
	spin_lock(&heap_cache.lock);
	list_del(&m->of_buffer);
	d->nr_dropping--;
	d->mapped_bytes -= m->buffer->size_bytes;
	heap_cache.totals.mappings--;
	heap_cache.totals.mapped_bytes -= m->buffer->size_bytes;
	/* Under the lock: who waits may free what it waits for when it has had it. */
	wake_up_all(&heap_cache_dropped);
	spin_unlock(&heap_cache.lock);
	heap_mapping_delete(m);
	cache_device_put(d);
}

/* The lock is given up meanwhile. */
void heap_cache_end(struct heap_mapping *m)
{
	take_idle(m);
	spin_unlock(&heap_cache.lock);
	drop(m);
	cond_resched();
	spin_lock(&heap_cache.lock);
}

/* Ends idle mappings of a device until `size_bytes` more fit under `cap`. */
static void evict(struct cache_device *d, u64 size_bytes, u64 cap)
{
	lockdep_assert_held(&heap_cache.lock);
	while (!list_empty(&d->idle) && d->mapped_bytes + size_bytes > cap) {
		d->evicted++;
		heap_cache.totals.evicted++;
		heap_cache_end(list_first_entry(&d->idle,
						struct heap_mapping, of_device));
	}
}

static bool evict_all(struct cache_device *d)
{
	bool any;

	spin_lock(&heap_cache.lock);
	any = !list_empty(&d->idle);
	evict(d, U64_MAX - d->mapped_bytes, 0);
	spin_unlock(&heap_cache.lock);
	return any;
}

static bool frees_late(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type == IOMMU_DOMAIN_DMA_FQ;
}

/*
 * Addresses run out: those of idle mappings are given up before the importer hears of it.
 * Where they come back late, so do those that were given up a moment ago, by whomever.
 */
static int map(struct heap_mapping *m)
{
	int error = heap_mapping_map(m);
	unsigned int waits;
	bool late;

	if (!error || !m->owner)
		return error;
	late = error == -ENOMEM && frees_late(m->dev) && !HEAP_BROKEN_FLUSH;
	if (evict_all(m->owner) && !late)
		return heap_mapping_map(m);
	for (waits = 0; late && error == -ENOMEM && waits < FLUSH_QUEUE_WAITS; waits++) {
		msleep(FLUSH_QUEUE_MS);
		error = heap_mapping_map(m);
	}
	return error;
}

void heap_mappings_init(struct heap_mappings *b, const char *name,
			const struct sg_table *pages, u64 size_bytes)
{
	b->name = name;
	b->pages = pages;
	b->size_bytes = size_bytes;
	INIT_LIST_HEAD(&b->busy);
	INIT_LIST_HEAD(&b->idle);
	INIT_LIST_HEAD(&b->dropping);
	spin_lock(&heap_cache.lock);
	list_add_tail(&b->of_all, &heap_cache.buffers);
	spin_unlock(&heap_cache.lock);
}
FOVEA_EXPORT(heap_mappings_init, FOVEA_HEAP);

void heap_mappings_drop(struct heap_mappings *b)
{
	bool none;

	do {
		spin_lock(&heap_cache.lock);
		while (!list_empty(&b->idle))
			heap_cache_end(list_first_entry(&b->idle,
							struct heap_mapping,
							of_buffer));
		none = list_empty(&b->dropping);
		if (none)
			list_del(&b->of_all);
		spin_unlock(&heap_cache.lock);
		/* Reclaim, or a driver's end, has begun to unmap some of it. */
		wait_event(heap_cache_dropped, list_empty_careful(&b->dropping));
	} while (!none);
}
FOVEA_EXPORT(heap_mappings_drop, FOVEA_HEAP);

/* One that fits, which then is the caller's; those that fit no more are ended on the way. */
static struct heap_mapping *find(struct heap_mappings *b, struct device *dev,
				 enum dma_data_direction direction)
{
	struct heap_limits limits;
	struct heap_mapping *m;

again:
	list_for_each_entry(m, &b->idle, of_buffer) {
		if (m->dev != dev || m->direction != direction)
			continue;
		limits = heap_limits_of(dev);
		if (!heap_limits_same(&limits, &m->limits)) {
			heap_cache_end(m);
			goto again;
		}
		/* Each is put on another list before anybody looks at it. */
		__list_del_entry(&m->of_device);
		__list_del_entry(&m->of_buffer);
		return m;
	}
	return NULL;
}

/* Apart, so that a hit saves no registers for it. */
static noinline struct heap_mapping *make(struct heap_mappings *b, struct device *dev,
					  enum dma_data_direction direction)
{
	struct heap_mapping *m = heap_mapping_new(dev, direction, b->pages);
	int error;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->buffer = b;
	if (READ_ONCE(heap_cache.on) && heap_is_watched(dev))
		m->owner = cache_device_get(dev);
	spin_lock(&heap_cache.lock);
	b->misses++;
	heap_cache.totals.misses++;
	if (m->owner) {
		evict(m->owner, b->size_bytes, cap_bytes(&m->limits));
		m->owner->misses++;
		m->owner->mapped_bytes += b->size_bytes;
		m->owner->nr_busy++;
		heap_cache.totals.mappings++;
		heap_cache.totals.mapped_bytes += b->size_bytes;
	}
	spin_unlock(&heap_cache.lock);
	error = map(m);
	if (!error)
		return m;
	if (m->owner) {
		spin_lock(&heap_cache.lock);
		m->owner->mapped_bytes -= b->size_bytes;
		m->owner->nr_busy--;
		heap_cache.totals.mappings--;
		heap_cache.totals.mapped_bytes -= b->size_bytes;
		heap_cache.totals.failures++;
		spin_unlock(&heap_cache.lock);
		cache_device_put(m->owner);
	}
	heap_mapping_delete(m);
	return ERR_PTR(error);
}

struct heap_mapping *heap_cache_get(struct heap_mappings *b, struct device *dev,
				    enum dma_data_direction direction)
{
	struct heap_mapping *m;

	spin_lock(&heap_cache.lock);
	m = find(b, dev, direction);
	if (m) {
		b->hits++;
		m->owner->hits++;
		m->owner->nr_busy++;
		heap_cache.totals.hits++;
		heap_cache.totals.idle--;
	}
	spin_unlock(&heap_cache.lock);
	if (m) {
		heap_mapping_to_device(m);
	} else {
		m = make(b, dev, direction);
		if (IS_ERR(m))
			return m;
	}
	list_add(&m->of_buffer, &b->busy);
	return m;
}
FOVEA_EXPORT(heap_cache_get, FOVEA_HEAP);

static bool may_stay(const struct heap_mapping *m)
{
	return heap_cache.on && !m->bounced && !m->owner->going &&
	       m->owner->mapped_bytes <= cap_bytes(&m->limits);
}

void heap_cache_put(struct heap_mapping *m)
{
	struct cache_device *d = m->owner;
	bool stays;

	heap_mapping_to_cpu(m);
	__list_del_entry(&m->of_buffer);
	if (!d) {
		heap_mapping_unmap(m);
		heap_mapping_delete(m);
		return;
	}
	spin_lock(&heap_cache.lock);
	stays = may_stay(m);
	d->nr_busy--;
	if (stays) {
		list_add(&m->of_buffer, &m->buffer->idle);
		list_add_tail(&m->of_device, &d->idle);
		heap_cache.totals.idle++;
	} else {
		list_add(&m->of_buffer, &m->buffer->dropping);
		d->nr_dropping++;
	}
	spin_unlock(&heap_cache.lock);
	if (!stays)
		drop(m);
}
FOVEA_EXPORT(heap_cache_put, FOVEA_HEAP);

/* From here on nobody finds or ends them, and a driver that leaves waits for them. */
static void take_all(struct heap_mappings *b, struct list_head *taken)
{
	struct heap_mapping *m;

	spin_lock(&heap_cache.lock);
	list_for_each_entry(m, &b->idle, of_buffer) {
		list_del(&m->of_device);
		m->owner->nr_dropping++;
		heap_cache.totals.idle--;
	}
	list_splice_init(&b->idle, taken);
	spin_unlock(&heap_cache.lock);
	/* Reclaim, or a driver's end, has begun to unmap others. */
	wait_event(heap_cache_dropped, list_empty_careful(&b->dropping));
}

static void put_back(struct heap_mapping *m, bool fits)
{
	struct cache_device *d = m->owner;

	list_del(&m->of_buffer);
	spin_lock(&heap_cache.lock);
	fits = fits && may_stay(m);
	if (fits) {
		list_add(&m->of_buffer, &m->buffer->idle);
		list_add_tail(&m->of_device, &d->idle);
		heap_cache.totals.idle++;
		d->nr_dropping--;
		wake_up_all(&heap_cache_dropped);
	} else {
		list_add(&m->of_buffer, &m->buffer->dropping);
	}
	spin_unlock(&heap_cache.lock);
	if (!fits)
		drop(m);
}

void heap_mappings_resize(struct heap_mappings *b, u64 size_bytes, bool pieces)
{
	u64 old_bytes = b->size_bytes;
	struct heap_mapping *m, *next;
	LIST_HEAD(taken);

	take_all(b, &taken);
	spin_lock(&heap_cache.lock);
	b->size_bytes = size_bytes;
	list_for_each_entry(m, &taken, of_buffer) {
		m->owner->mapped_bytes += size_bytes - old_bytes;
		heap_cache.totals.mapped_bytes += size_bytes - old_bytes;
	}
	spin_unlock(&heap_cache.lock);
	list_for_each_entry_safe(m, next, &taken, of_buffer) {
		bool fits;

		if (size_bytes > old_bytes)
			fits = heap_mapping_extend(m, b->pages, old_bytes, pieces);
		else
			fits = HEAP_BROKEN_RESIZE || heap_mapping_cut(m, size_bytes);
		put_back(m, fits);
	}
}

void heap_cache_trim(void)
{
	struct cache_device *d;
	struct heap_mapping *m;

	spin_lock(&heap_cache.lock);
again:
	list_for_each_entry(d, &heap_cache.devices, of_all) {
		if (list_empty(&d->idle))
			continue;
		m = list_first_entry(&d->idle, struct heap_mapping, of_device);
		if (heap_cache.on && d->mapped_bytes <= cap_bytes(&m->limits))
			continue;
		/* The list may be another one after this. */
		heap_cache_end(m);
		goto again;
	}
	spin_unlock(&heap_cache.lock);
}
