// SPDX-License-Identifier: GPL-2.0-only
/* Idle mappings hold page tables and lists of pages: they are given up when memory is short. */
#include "../include/compat.h"
#include "cache.h"
#include "mapping.h"

static unsigned long count(struct shrinker *shrinker, struct shrink_control *how)
{
	unsigned long idle = READ_ONCE(heap_cache.totals.idle);

	return idle ?: SHRINK_EMPTY;
}

/* A device with idle mappings; the next call begins behind it. */
static struct cache_device *next_idle(void)
{
	struct cache_device *d;

	list_for_each_entry(d, &heap_cache.devices, of_all)
		if (!list_empty(&d->idle)) {
			list_move_tail(&d->of_all, &heap_cache.devices);
			return d;
		}
	return NULL;
}

/* Ends idle mappings, each device's oldest in turn. */
static unsigned long scan(struct shrinker *shrinker, struct shrink_control *how)
{
	struct cache_device *d;
	unsigned long done;

	spin_lock(&heap_cache.lock);
	for (done = 0; done < how->nr_to_scan; done++) {
		d = next_idle();
		if (!d)
			break;
		heap_cache.totals.shrunk++;
		heap_cache_end(list_first_entry(&d->idle, struct heap_mapping, of_device));
	}
	spin_unlock(&heap_cache.lock);
	return done ?: SHRINK_STOP;
}

static struct fovea_shrinker shrinker;

int heap_shrink_init(void)
{
	return fovea_shrinker_add(&shrinker, count, scan, "fovea-mapcache");
}

void heap_shrink_exit(void)
{
	fovea_shrinker_remove(&shrinker);
}
