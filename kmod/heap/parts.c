// SPDX-License-Identifier: GPL-2.0-only
/*
 * What stays mapped while its buffer changes its size. Only the entries change that are new or
 * go: a mapping then consists of parts, each of which was mapped by one call and has to be
 * unmapped by one, and the importer is given a table of all of them.
 *
 * Only where an IOMMU translates: elsewhere there is nothing to save.
 */
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mapping.h"
#include "memory.h"

/* Null where a device has no addresses of its own, or is given copies of pages. */
static struct iommu_domain *domain_of(const struct heap_mapping *m)
{
	return m->bounced ? NULL : heap_domain_of(m->dev);
}

static bool divide(struct heap_mapping *m)
{
	if (m->parts)
		return true;
	m->parts = kcalloc(HEAP_PARTS_MAX, sizeof(*m->parts), GFP_KERNEL);
	if (!m->parts)
		return false;
	m->parts[0].table = m->table;
	m->parts[0].nr_allocated = m->table.orig_nents;
	m->nr_parts = 1;
	m->table = (struct sg_table){};
	return true;
}

static void part_free(struct heap_part *p)
{
	p->table.orig_nents = p->nr_allocated;
	sg_free_table(&p->table);
}

static void part_unmap(struct heap_mapping *m, struct heap_part *p)
{
	dma_unmap_sgtable(m->dev, &p->table, m->direction, DMA_ATTR_SKIP_CPU_SYNC);
	part_free(p);
}

static u64 part_bytes(const struct heap_part *p)
{
	struct scatterlist *sg;
	u64 sum = 0;
	int i;

	for_each_sgtable_sg(&p->table, sg, i)
		sum += sg->length;
	return sum;
}

/* The importer's table: pages and pieces of all parts, one after the other. */
static bool compose(struct heap_mapping *m)
{
	struct scatterlist *from, *to, *piece;
	unsigned int count = 0, pieces = 0, n;
	int i;

	sg_free_table(&m->table);
	for (n = 0; n < m->nr_parts; n++)
		count += m->parts[n].table.orig_nents;
	if (sg_alloc_table(&m->table, count, GFP_KERNEL))
		return false;
	to = piece = m->table.sgl;
	for (n = 0; n < m->nr_parts; n++) {
		for_each_sgtable_sg(&m->parts[n].table, from, i) {
			sg_set_page(to, sg_page(from), from->length, from->offset);
			to = sg_next(to);
		}
		for_each_sgtable_dma_sg(&m->parts[n].table, from, i) {
			sg_dma_address(piece) = sg_dma_address(from);
			sg_dma_len(piece) = sg_dma_len(from);
			piece = sg_next(piece);
			pieces++;
		}
	}
	m->table.nents = pieces;
	return true;
}

/*
 * The first of the part's pages that go, or null if they cannot go without others: what the
 * IOMMU has as one entry, it may not divide. One entry can hold what one call has mapped, and
 * that is at most pages that are neighbours.
 */
static struct scatterlist *first_beyond(const struct heap_part *p, u64 bytes,
					unsigned int *count)
{
	struct scatterlist *sg, *last = NULL;
	int i;

	for_each_sgtable_sg(&p->table, sg, i) {
		if (!bytes)
			break;
		if (sg->length > bytes)
			return NULL;
		bytes -= sg->length;
		last = sg;
	}
	if (!last || sg_phys(last) + last->length == sg_phys(sg))
		return NULL;
	*count = i;
	return last;
}

/* Leaves the first `bytes` of a part; false if that cannot be, and all of it is as it was. */
static bool part_cut(struct iommu_domain *domain, struct heap_part *p, u64 bytes)
{
	unsigned int count, pieces = 0;
	struct scatterlist *last, *sg;
	int i;

	last = first_beyond(p, bytes, &count);
	if (!last || (PAGE_SIZE & (BIT(__ffs(domain->pgsize_bitmap)) - 1)))
		return false;
	for_each_sgtable_dma_sg(&p->table, sg, i) {
		u64 stays = min_t(u64, bytes, sg_dma_len(sg));
		size_t goes = sg_dma_len(sg) - stays;

		/* The device cannot reach it any more when this returns, whatever is lazy. */
		if (goes && iommu_unmap(domain, sg_dma_address(sg) + stays, goes) != goes)
			return false;
		bytes -= stays;
		sg_dma_len(sg) = stays;
		pieces += stays > 0;
	}
	sg_mark_end(last);
	p->table.orig_nents = count;
	p->table.nents = pieces;
	return true;
}

bool heap_mapping_cut(struct heap_mapping *m, u64 size_bytes)
{
	struct iommu_domain *domain = domain_of(m);
	unsigned int n, kept = 0;
	bool whole = true;

	if (!domain || !divide(m))
		return false;
	for (n = 0; n < m->nr_parts; n++) {
		struct heap_part *p = &m->parts[n];
		u64 bytes = part_bytes(p);

		if (!size_bytes) {
			part_unmap(m, p);
			continue;
		}
		kept++;
		if (bytes > size_bytes)
			whole = part_cut(domain, p, size_bytes);
		size_bytes -= min(bytes, size_bytes);
	}
	m->nr_parts = kept;
	return whole && compose(m);
}

bool heap_mapping_extend(struct heap_mapping *m, const struct sg_table *pages,
			 u64 from_bytes, bool pieces)
{
	struct heap_part *p;

	/* Whoever has it in one piece may be able to take it in one only. */
	if (!domain_of(m) || (!pieces && m->table.nents == 1))
		return false;
	if (m->nr_parts == HEAP_PARTS_MAX || !divide(m))
		return false;
	p = &m->parts[m->nr_parts];
	if (heap_pages_copy(&p->table, pages, from_bytes, U64_MAX))
		return false;
	p->nr_allocated = p->table.orig_nents;
	if (dma_map_sgtable(m->dev, &p->table, m->direction,
			    DMA_ATTR_SKIP_CPU_SYNC)) {
		part_free(p);
		return false;
	}
	dma_sync_sgtable_for_device(m->dev, &p->table, m->direction);
	m->nr_parts++;
	return compose(m);
}

void heap_parts_unmap(struct heap_mapping *m)
{
	while (m->nr_parts)
		part_unmap(m, &m->parts[--m->nr_parts]);
	kfree(m->parts);
	m->parts = NULL;
}
