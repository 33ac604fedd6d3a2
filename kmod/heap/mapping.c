// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapping, and the care for caches and bounce buffers that DMA needs each time. A use's
 * begin and end see to that; so mapping and unmapping are told to leave it out. That a page
 * is mapped more than once at a time is then no mistake, and a bounce buffer that is copied
 * back long after its use would bury what the CPU has written since.
 */
#include <linux/slab.h>

#include "../include/compat.h"
#include "mapping.h"
#include "memory.h"

struct heap_mapping *heap_mapping_new(struct device *dev,
				      enum dma_data_direction direction,
				      const struct sg_table *pages)
{
	struct heap_mapping *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m || heap_pages_copy(&m->table, pages, 0, U64_MAX)) {
		kfree(m);
		return NULL;
	}
	/* A mapping outlives its use, and the device must be there to be unmapped from. */
	m->dev = get_device(dev);
	m->direction = direction;
	m->limits = heap_limits_of(dev);
	return m;
}

void heap_mapping_delete(struct heap_mapping *m)
{
	sg_free_table(&m->table);
	put_device(m->dev);
	kfree(m);
}

int heap_mapping_map(struct heap_mapping *m)
{
	int error = dma_map_sgtable(m->dev, &m->table, m->direction,
				    DMA_ATTR_SKIP_CPU_SYNC);

	if (error)
		return error;
	dma_sync_sgtable_for_device(m->dev, &m->table, m->direction);
	/*
	 * Copies are not kept. They lie in a pool that all devices share and that nobody
	 * gives back under pressure: a full one stops the system's disk. Each use copies
	 * all of the buffer anyway. And a device may write a part only:
	 * mapping anew puts the pages' content into the copy first, a sync for
	 * DMA_FROM_DEVICE does not, and what the device wrote last time would come back.
	 */
	m->bounced = heap_may_bounce(m->dev, &m->table);
	return 0;
}

void heap_mapping_unmap(struct heap_mapping *m)
{
	if (m->parts)
		heap_parts_unmap(m);
	else
		dma_unmap_sgtable(m->dev, &m->table, m->direction,
				  DMA_ATTR_SKIP_CPU_SYNC);
}

/* Whatever the CPU is about to do: if it writes a part, the rest must be the device's. */
void heap_mapping_begin_cpu(struct heap_mapping *m)
{
	dma_sync_sgtable_for_cpu(m->dev, &m->table, m->direction);
}
FOVEA_EXPORT(heap_mapping_begin_cpu, FOVEA_HEAP);

/* What was only read must not be copied over what the device has written meanwhile. */
void heap_mapping_end_cpu(struct heap_mapping *m,
			  enum dma_data_direction access)
{
	if (m->direction != DMA_BIDIRECTIONAL)
		access = m->direction;
	dma_sync_sgtable_for_device(m->dev, &m->table, access);
}
FOVEA_EXPORT(heap_mapping_end_cpu, FOVEA_HEAP);
