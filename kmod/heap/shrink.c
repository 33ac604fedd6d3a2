// SPDX-License-Identifier: GPL-2.0-only
/* Idle mappings hold page tables and lists of pages: they are given up when memory is short. */
#include "../include/compat.h"
#include "cache.h"

static unsigned long count(struct shrinker *shrinker, struct shrink_control *how)
{
	unsigned long idle = READ_ONCE(heap_cache.totals.idle);

	return idle ?: SHRINK_EMPTY;
}

static unsigned long scan(struct shrinker *shrinker, struct shrink_control *how)
{
	return heap_cache_shrink(how->nr_to_scan) ?: SHRINK_STOP;
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
