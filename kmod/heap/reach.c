// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a device is given the memory that a mapped table names. Its addresses show that: those
 * of an IOMMU are translated back, others are compared with the memory's bus address. So no list
 * of kernels, exporters or devices is needed, and what is not shown is not relied on.
 */
#include <linux/dma-direct.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>

#include "../include/compat.h"
#include "broken.h"
#include "mapping.h"

struct iommu_domain *heap_domain_of(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type & __IOMMU_DOMAIN_DMA_API ? domain : NULL;
}

static bool has_parts_of_pages(const struct sg_table *table)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_sg(table, sg, i)
		if (!PAGE_ALIGNED(sg->offset) || !PAGE_ALIGNED(sg->length))
			return true;
	return false;
}

/*
 * Behind an IOMMU a device gets copies of parts of pages if it is not trusted with the rest
 * (iommu_dma_map_page()), or if a cache line may be shared with others (dma_kmalloc_safe()).
 */
static bool may_copy_parts(struct device *dev, const struct sg_table *table)
{
	if (dev_is_pci(dev) && to_pci_dev(dev)->untrusted)
		return true;
	return !dev_is_dma_coherent(dev) && has_parts_of_pages(table);
}

/* Where the device's address leads; a step of a walk never crosses a page behind an IOMMU. */
static bool leads_to(struct device *dev, struct iommu_domain *domain, dma_addr_t address,
		     phys_addr_t phys)
{
	if (domain)
		return iommu_iova_to_phys(domain, address) == phys;
	return phys_to_dma(dev, phys) == address;
}

static bool is_whole(struct scatterlist *memory, struct scatterlist *piece)
{
	return sg_page(memory) && memory->length && sg_dma_len(piece);
}

/* Both lists of the table, memory and device's pieces, are walked side by side. */
static bool is_own(struct device *dev, struct iommu_domain *domain,
		   const struct sg_table *table)
{
	struct scatterlist *memory = table->sgl, *piece = table->sgl;
	unsigned int memories = table->orig_nents, pieces = table->nents;
	u64 memory_at = 0, piece_at = 0;

	while (memories && pieces) {
		dma_addr_t address = sg_dma_address(piece) + piece_at;
		u64 step;

		if (!is_whole(memory, piece) ||
		    !leads_to(dev, domain, address, sg_phys(memory) + memory_at))
			return false;
		step = min_t(u64, memory->length - memory_at, sg_dma_len(piece) - piece_at);
		if (domain)
			step = min_t(u64, step, PAGE_SIZE - offset_in_page(address));
		memory_at += step;
		piece_at += step;
		if (memory_at == memory->length) {
			memory = sg_next(memory);
			memories--;
			memory_at = 0;
		}
		if (piece_at == sg_dma_len(piece)) {
			piece = sg_next(piece);
			pieces--;
			piece_at = 0;
		}
	}
	return !memories && !pieces;
}

/* Of a device without translation: whether any address is one of the bounce pool's. */
static bool has_copies(struct device *dev, const struct sg_table *table)
{
	struct scatterlist *sg;
	int i;

	/* Caches that need care hide it: then it cannot be told. */
	for_each_sgtable_dma_sg(table, sg, i)
		if (dma_need_sync(dev, sg_dma_address(sg)))
			return true;
	return false;
}

enum heap_reach heap_reach(struct device *dev, const struct sg_table *table)
{
	struct iommu_domain *domain = heap_domain_of(dev);

	if (!table->orig_nents || !table->nents)
		return HEAP_REACH_OTHER;
	if (is_own(dev, domain, table))
		return HEAP_REACH_OWN;
	if (domain ? may_copy_parts(dev, table) : has_copies(dev, table))
		return HEAP_REACH_COPIES;
	return HEAP_REACH_OTHER;
}
FOVEA_EXPORT(heap_reach, FOVEA_HEAP);

bool heap_may_bounce(struct device *dev, const struct sg_table *table)
{
	struct iommu_domain *domain = heap_domain_of(dev);

	if (HEAP_BROKEN_POOL)
		return false;
	/* What the kernel's DMA layer has put into the IOMMU itself needs no look. */
	return domain ? may_copy_parts(dev, table) : !is_own(dev, NULL, table);
}
