/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mapping cache: a buffer stays mapped for a device after the device has let go of
 * it, so that the next use of the same buffer by the same device in the same direction
 * maps nothing.
 *
 * A mapping has one user at a time: two users at once get one each, as each may have
 * bounce buffers with content of its own. It ends with its buffer, with its device's
 * driver, when memory is short, and when its device has more than its cap.
 */
#ifndef FOVEA_HEAP_CACHE_H
#define FOVEA_HEAP_CACHE_H

#include <linux/device.h>
#include <linux/dma-direction.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "../include/contract.h"

struct heap_mapping;
struct sg_table;
struct seq_file;

/* A buffer's. */
struct heap_mappings {
	const char *name;
	const struct sg_table *pages;
	u64 size_bytes;
	/* In use. The buffer's lock, which is held in get, put and for_each, protects it. */
	struct list_head busy;
	/* The cache's lock protects the rest. */
	struct list_head idle;
	struct list_head dropping;
	struct list_head of_all;
	u64 hits;
	u64 misses;
};

/* A device with a driver, from its first mapping on until it loses the driver. */
struct cache_device {
	struct kref refs;
	struct list_head of_all;
	struct device *dev;
	/* The one not used for longest first. */
	struct list_head idle;
	u32 nr_busy;
	u32 nr_dropping;
	/* Of its mappings, in use or not: what they take of its addresses. */
	u64 mapped_bytes;
	u64 hits;
	u64 misses;
	u64 evicted;
	/* Its driver is leaving: nothing is kept any more. */
	bool going;
};

struct heap_cache_totals {
#define FIELD(name) u64 name;
	HEAP_MAPCACHE_STATISTICS(FIELD)
#undef FIELD
};

/* Never held while anything is mapped or unmapped, so reclaim may take it anywhere. */
struct heap_cache {
	spinlock_t lock;
	bool on;
	u64 device_cap_bytes;
	struct list_head devices;
	struct list_head buffers;
	struct heap_cache_totals totals;
};
extern struct heap_cache heap_cache;

void heap_mappings_init(struct heap_mappings *b, const char *name,
			const struct sg_table *pages, u64 size_bytes);
/* At the buffer's end: nothing of it is mapped when this returns, and nobody uses it. */
void heap_mappings_drop(struct heap_mappings *b);

/*
 * What is mapped follows the buffer to its new size: before what it loses goes back, after
 * what it gains is among its pages. With the buffer's lock, and nothing in use.
 */
void heap_mappings_resize(struct heap_mappings *b, u64 size_bytes, bool pieces);

struct heap_mapping *heap_cache_get(struct heap_mappings *b, struct device *dev,
				    enum dma_data_direction direction);
void heap_cache_put(struct heap_mapping *m);

/* Ends what is idle and may not be any more, after a setting was changed. */
void heap_cache_trim(void);

/* The driver is going: when this returns, nothing idle of the device is mapped. */
void heap_cache_leave(struct device *dev);
/* It is gone. */
void heap_cache_forget(struct device *dev);
void heap_cache_forget_all(void);

/*
 * statistics.c: importers without DMA see a buffer through the kernel, and ask for that with
 * each frame, as displays without scan-out memory do (drm_gem_begin_shadow_fb_access()). That
 * mapping is kept until the buffer's end where kernel addresses are not scarce; vunmap() would
 * not give its page tables back.
 */
bool heap_keeps_vmaps(void);
void heap_vmap_count(bool hit);

/* owner.c: a device's record, made if there is none, held for the caller. */
struct cache_device *cache_device_get(struct device *dev);
void cache_device_put(struct cache_device *d);
/* Ends an idle mapping. Called with the lock, which is given up meanwhile. */
void heap_cache_end(struct heap_mapping *m);
/* Somebody's unmapping has ended. */
extern wait_queue_head_t heap_cache_dropped;

/* watch.c: has the end of the device's driver told, and says whether it will be. */
bool heap_watch(struct device *dev);
/* A bus that is watched. Importers are on one or two, and each attachment asks. */
extern typeof_member(struct device, bus) heap_last_watched;

static inline void heap_watch_attached(struct device *dev)
{
	if (READ_ONCE(heap_last_watched) != dev->bus)
		heap_watch(dev);
}

bool heap_is_watched(struct device *dev);
void heap_watch_exit(void);

/* shrink.c */
int heap_shrink_init(void);
void heap_shrink_exit(void);

/* statistics.c */
int heap_statistics_init(void);
void heap_statistics_exit(void);

#endif /* FOVEA_HEAP_CACHE_H */
