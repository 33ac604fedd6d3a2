/* SPDX-License-Identifier: GPL-2.0-only */
/* One buffer as one device sees it in one direction. */
#ifndef FOVEA_HEAP_MAPPING_H
#define FOVEA_HEAP_MAPPING_H

#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#include "broken.h"

struct cache_device;
struct heap_mappings;
struct iommu_domain;

/*
 * What a device has said of itself that shapes the mapping: addresses it reaches, and the
 * pieces it takes. A mapping made for other answers is not used again.
 */
struct heap_limits {
	u64 dma_mask;
	u64 boundary_mask;
	unsigned int segment_bytes;
};

/* What was mapped by one call. */
struct heap_part {
	struct sg_table table;
	/* Of its list: a part of a buffer that has shrunk has a list that is too long. */
	unsigned int nr_allocated;
};

/* One that would have more is mapped anew. */
#define HEAP_PARTS_MAX	8

struct heap_mapping {
	struct list_head of_buffer;
	struct list_head of_device;
	struct heap_mappings *buffer;
	/* Null: not kept, it ends with its use. */
	struct cache_device *owner;
	struct device *dev;
	enum dma_data_direction direction;
	struct heap_limits limits;
	struct sg_table table;
	/* Null until the buffer's size changes: then these are what is mapped. */
	struct heap_part *parts;
	unsigned int nr_parts;
	/*
	 * The device is not shown to be given the buffer's own pages: it may have copies in
	 * the bounce pool. Never kept (mapping.c).
	 */
	bool bounced;
};

static inline struct heap_limits heap_limits_of(struct device *dev)
{
	struct heap_limits limits = {
		.dma_mask = min_not_zero(dma_get_mask(dev), dev->bus_dma_limit),
		.boundary_mask = dma_get_seg_boundary(dev),
		.segment_bytes = dma_get_max_seg_size(dev),
	};

	return limits;
}

static inline bool heap_limits_same(const struct heap_limits *a,
				    const struct heap_limits *b)
{
	return a->dma_mask == b->dma_mask &&
	       a->boundary_mask == b->boundary_mask &&
	       a->segment_bytes == b->segment_bytes;
}

/* Not mapped yet. */
struct heap_mapping *heap_mapping_new(struct device *dev,
				      enum dma_data_direction direction,
				      const struct sg_table *pages);
/* reach.c: what a device is given by a mapped table. */
enum heap_reach {
	/* The memory that the table names, byte for byte. */
	HEAP_REACH_OWN,
	/* Copies, or it cannot be told. */
	HEAP_REACH_COPIES,
	/* Something else: the table does not mean what such tables mean. */
	HEAP_REACH_OTHER,
};
enum heap_reach heap_reach(struct device *dev, const struct sg_table *table);
/* Null where the device's addresses are not translated by the kernel's DMA layer. */
struct iommu_domain *heap_domain_of(struct device *dev);
/* The same without a look at each page: false only if it is the table's own memory. */
bool heap_may_bounce(struct device *dev, const struct sg_table *table);

/* The device may use it when this returns 0. */
int heap_mapping_map(struct heap_mapping *m);
/* Of one that nobody uses; the CPU has seen by then what the device wrote. */
void heap_mapping_unmap(struct heap_mapping *m);
void heap_mapping_delete(struct heap_mapping *m);

/*
 * parts.c: of one that nobody uses, whose buffer is about to be `size_bytes` long, or has
 * become so. False if it has to be unmapped, and mapped anew for its next use.
 */
bool heap_mapping_cut(struct heap_mapping *m, u64 size_bytes);
bool heap_mapping_extend(struct heap_mapping *m, const struct sg_table *pages,
			 u64 from_bytes, bool pieces);
void heap_parts_unmap(struct heap_mapping *m);

/* The device is about to use it again, or has used it. */
static inline void heap_mapping_to_device(struct heap_mapping *m)
{
	if (!HEAP_BROKEN_SYNC)
		dma_sync_sgtable_for_device(m->dev, &m->table, m->direction);
}

static inline void heap_mapping_to_cpu(struct heap_mapping *m)
{
	if (!HEAP_BROKEN_SYNC)
		dma_sync_sgtable_for_cpu(m->dev, &m->table, m->direction);
}

/* The CPU is about to look, or has looked, while the device has it. */
void heap_mapping_begin_cpu(struct heap_mapping *m);
void heap_mapping_end_cpu(struct heap_mapping *m,
			  enum dma_data_direction access);

#endif /* FOVEA_HEAP_MAPPING_H */
