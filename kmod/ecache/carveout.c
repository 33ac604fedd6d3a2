// SPDX-License-Identifier: GPL-2.0-only
/*
 * Carve-outs: which memory is the pool's, and how it is come by. Three kinds:
 *
 *	SIZE@ADDRESS	kept from Linux at boot (memmap=SIZE$ADDRESS, or a
 *			reserved-memory node)
 *	of:NODE		a reserved-memory node by its path or its compatible string
 *	contig:SIZE	taken from the running system, for machines that reserve nothing
 *
 * All end with struct pages, which device mappings (scatterlists) need.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/of.h>
#include <linux/of_reserved_mem.h>
#include <linux/slab.h>

#ifdef CONFIG_X86
#include <asm/e820/api.h>
#endif

#include "carveout.h"
#include "../include/compat.h"

/* struct pages are made in units of this. */
#define CARVEOUT_ALIGN ((u64)PAGES_PER_SUBSECTION << PAGE_SHIFT)

/*
 * Memory that was kept for devices, on x86: firmware says that it is RAM, and the kernel's
 * own map, changed by memmap=SIZE$ADDRESS, that it is reserved. What firmware reserved is
 * firmware's, or a device's registers; what is on neither map is a hole. (/proc/iomem does
 * not tell: machines without PCI do not list such entries there.)
 *
 * With a device tree: a reserved-memory node holds it.
 */
#ifdef CONFIG_X86
/* Where it cannot be asked, only the kernel's map is. */
static bool firmware_says_ram(u64 start, u64 end)
{
#ifdef CARVEOUT_ASKS_FIRMWARE
	return e820__mapped_raw_any(start, end, E820_TYPE_RAM);
#else
	return true;
#endif
}

static bool is_reserved(const struct carveout *c)
{
	u64 at, end = c->start + c->size_bytes;

	for (at = c->start; at < end; at += PAGE_SIZE)
		if (!firmware_says_ram(at, at + PAGE_SIZE) ||
		    !e820__mapped_any(at, at + PAGE_SIZE, E820_TYPE_RESERVED) ||
		    e820__mapped_any(at, at + PAGE_SIZE, E820_TYPE_RAM))
			return false;
	return true;
}
#elif defined(CONFIG_OF_RESERVED_MEM)
static bool is_reserved(const struct carveout *c)
{
	struct device_node *all = of_find_node_by_path("/reserved-memory"), *node;
	bool found = false;

	for_each_available_child_of_node(all, node) {
		struct reserved_mem *rmem = of_reserved_mem_lookup(node);

		found |= rmem && c->start >= rmem->base &&
			 c->start + c->size_bytes <= rmem->base + rmem->size;
	}
	of_node_put(all);
	return found;
}
#else
static bool is_reserved(const struct carveout *c)
{
	return false;
}
#endif

static bool all_reserved(unsigned long pfn, unsigned long count)
{
	for (; count; pfn++, count--)
		if (!pfn_valid(pfn) || !PageReserved(pfn_to_page(pfn)) ||
		    PageHighMem(pfn_to_page(pfn)))
			return false;
	return true;
}

/*
 * In the linear mapping: a reserved-memory node without no-map. Its pages are reserved,
 * but so are the kernel's own, of which no node tells; x86 has none of this kind.
 */
static int take_linear(struct carveout *c)
{
	if (IS_ENABLED(CONFIG_X86) || !is_reserved(c) ||
	    !all_reserved(PHYS_PFN(c->start), c->size_bytes >> PAGE_SHIFT)) {
		pr_err("carveouts: %#llx bytes at %pa are Linux's own memory: reserve them at boot (memmap=%#llx$%pa)\n",
		       c->size_bytes, &c->start, c->size_bytes, &c->start);
		return -EBUSY;
	}
	c->vaddr = phys_to_virt(c->start);
	c->source = CARVEOUT_LINEAR;
	return 0;
}

#ifdef CONFIG_ZONE_DEVICE
/* Outside of Linux's memory: gets struct pages and a mapping. */
static int take_reserved(struct carveout *c)
{
	void *vaddr;

	if (!is_reserved(c)) {
		pr_err("carveouts: %#llx bytes at %pa are not reserved memory: reserve them at boot (memmap=%#llx$%pa)\n",
		       c->size_bytes, &c->start, c->size_bytes, &c->start);
		return -EINVAL;
	}
	if (!request_mem_region(c->start, c->size_bytes, KBUILD_MODNAME)) {
		pr_err("carveouts: %#llx bytes at %pa are in use by another driver: see /proc/iomem\n",
		       c->size_bytes, &c->start);
		return -EBUSY;
	}
	c->pgmap.type = MEMORY_DEVICE_GENERIC;
	c->pgmap.range.start = c->start;
	c->pgmap.range.end = c->start + c->size_bytes - 1;
	c->pgmap.nr_range = 1;
	vaddr = memremap_pages(&c->pgmap, NUMA_NO_NODE);
	if (IS_ERR(vaddr)) {
		release_mem_region(c->start, c->size_bytes);
		/*
		 * Its struct pages exist, but the linear mapping has a hole there, which
		 * devices that do not see the caches could not be given.
		 */
		if (PTR_ERR(vaddr) == -EEXIST) {
			pr_err("carveouts: %#llx bytes at %pa are not mapped: take no-map out of their reserved-memory node\n",
			       c->size_bytes, &c->start);
			return -EINVAL;
		}
		pr_err("carveouts: %#llx bytes at %pa cannot be mapped: error %ld\n",
		       c->size_bytes, &c->start, PTR_ERR(vaddr));
		return PTR_ERR(vaddr);
	}
	c->vaddr = vaddr;
	c->source = CARVEOUT_RESERVED;
	return 0;
}

static void leave_reserved(struct carveout *c)
{
	memunmap_pages(&c->pgmap);
	release_mem_region(c->start, c->size_bytes);
}
#else
static int take_reserved(struct carveout *c)
{
	pr_err("carveouts: %#llx bytes at %pa have no struct pages, and this kernel cannot make them (CONFIG_ZONE_DEVICE): take no-map out of their reserved-memory node\n",
	       c->size_bytes, &c->start);
	return -EOPNOTSUPP;
}

static void leave_reserved(struct carveout *c)
{
}
#endif

static int take_range(struct carveout *c, const struct carveout *list)
{
	const struct carveout *other;
	u64 end;

	if (!c->size_bytes || !IS_ALIGNED(c->size_bytes, CARVEOUT_ALIGN) ||
	    !IS_ALIGNED(c->start, CARVEOUT_ALIGN)) {
		pr_err("carveouts: %#llx bytes at %pa: size and address must be multiples of %#llx\n",
		       c->size_bytes, &c->start, CARVEOUT_ALIGN);
		return -EINVAL;
	}
	if (check_add_overflow((u64)c->start, c->size_bytes - 1, &end) ||
	    end > FOVEA_PHYS_MAX) {
		pr_err("carveouts: %#llx bytes at %pa: beyond what this machine can address\n",
		       c->size_bytes, &c->start);
		return -EINVAL;
	}
	for (other = list; other < c; other++)
		if (c->start < other->start + other->size_bytes &&
		    other->start < c->start + c->size_bytes) {
			pr_err("carveouts: %#llx bytes at %pa overlap %#llx bytes at %pa\n",
			       c->size_bytes, &c->start, other->size_bytes,
			       &other->start);
			return -EINVAL;
		}
	if (region_intersects(c->start, c->size_bytes, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) == REGION_DISJOINT)
		return take_reserved(c);
	return take_linear(c);
}

/* One piece of contiguous memory out of a zone; tried from its end, by halves of it. */
static bool take_from_zone(struct carveout *c, struct zone *zone)
{
	unsigned long count = c->size_bytes >> PAGE_SHIFT;
	unsigned long step = CARVEOUT_ALIGN >> PAGE_SHIFT;
	unsigned long first = zone->zone_start_pfn;
	unsigned long pfn = ALIGN_DOWN(zone_end_pfn(zone) - count, step);
	unsigned long i;

	if (zone->spanned_pages < count)
		return false;
	for (; pfn >= first && pfn < zone_end_pfn(zone); pfn -= step) {
		for (i = 0; i < count; i += step)
			if (!pfn_valid(pfn + i) ||
			    page_zone(pfn_to_page(pfn + i)) != zone)
				break;
		if (i >= count &&
		    !alloc_contig_range(pfn, pfn + count, FOVEA_CONTIG_ORDINARY,
					GFP_KERNEL | __GFP_NOWARN)) {
			c->start = PFN_PHYS(pfn);
			c->vaddr = phys_to_virt(c->start);
			c->source = CARVEOUT_CONTIG;
			return true;
		}
		cond_resched();
		if (pfn < first + step)
			break;
	}
	return false;
}

/* Movable memory comes last: what is taken of it cannot be moved, or unplugged, any more. */
static int take_contig(struct carveout *c)
{
	static const enum zone_type movable_last[] = {
		ZONE_NORMAL,
#ifdef CONFIG_ZONE_DMA32
		ZONE_DMA32,
#endif
#ifdef CONFIG_ZONE_DMA
		ZONE_DMA,
#endif
		ZONE_MOVABLE,
	};
	int node, i;

	if (!c->size_bytes || !IS_ALIGNED(c->size_bytes, CARVEOUT_ALIGN)) {
		pr_err("carveouts: contig:%#llx: the size must be a multiple of %#llx\n",
		       c->size_bytes, CARVEOUT_ALIGN);
		return -EINVAL;
	}
	for_each_online_node(node)
		for (i = 0; i < ARRAY_SIZE(movable_last); i++) {
			struct zone *z = &NODE_DATA(node)->node_zones[movable_last[i]];

			if (populated_zone(z) && !is_highmem(z) &&
			    take_from_zone(c, z))
				return 0;
		}
	pr_err("carveouts: contig:%#llx: no contiguous memory of this size can be freed: load the module earlier, or reserve memory at boot\n",
	       c->size_bytes);
	return -ENOMEM;
}

#ifdef CONFIG_OF_RESERVED_MEM
static int take_of_node(struct carveout *c, const struct carveout *list,
			const char *name)
{
	struct device_node *np = name[0] == '/' ?
		of_find_node_by_path(name) :
		of_find_compatible_node(NULL, NULL, name);
	struct reserved_mem *rmem = np ? of_reserved_mem_lookup(np) : NULL;

	of_node_put(np);
	if (!rmem) {
		pr_err("carveouts: of:%s: no such reserved-memory node: give its path or compatible string\n",
		       name);
		return -ENODEV;
	}
	c->start = rmem->base;
	c->size_bytes = rmem->size;
	return take_range(c, list);
}
#else
static int take_of_node(struct carveout *c, const struct carveout *list,
			const char *name)
{
	pr_err("carveouts: of:%s: this kernel has no device tree: use SIZE@ADDRESS\n",
	       name);
	return -ENODEV;
}
#endif

static int take_one(struct carveout *c, const struct carveout *list,
		    const char *text)
{
	const char *at = text;
	char *rest;

	if (!strncmp(text, "of:", 3))
		return take_of_node(c, list, text + 3);
	if (!strncmp(text, "contig:", 7)) {
		c->size_bytes = memparse(text + 7, &rest);
		if (!*rest && rest != text + 7)
			return take_contig(c);
	} else {
		c->size_bytes = memparse(text, &rest);
		if (*rest == '@' && rest != text) {
			at = rest + 1;
			c->start = memparse(at, &rest);
			if (!*rest && rest != at)
				return take_range(c, list);
		}
	}
	pr_err("carveouts: \"%s\" is none of SIZE@ADDRESS, of:NODE, contig:SIZE\n",
	       text);
	return -EINVAL;
}

/* Whether a carve-out begins here, and not the rest of a compatible string. */
static bool begins_carveout(const char *text)
{
	return !strncmp(text, "of:", 3) || !strncmp(text, "contig:", 7) ||
	       (isdigit(*text) && strcspn(text, "@") < strcspn(text, ","));
}

/* Cuts the first of a list off: a compatible string has commas of its own ("vendor,name"). */
static char *next_carveout(char **left)
{
	char *word = *left, *end;

	if (!word)
		return NULL;
	end = strchr(word, ',');
	while (end && !strncmp(word, "of:", 3) && !begins_carveout(end + 1))
		end = strchr(end + 1, ',');
	if (end)
		*end++ = 0;
	*left = end;
	return word;
}

int carveouts_take(const char *text, struct carveout *list)
{
	char *copy, *left, *word;
	int count = 0, error = 0;

	copy = kstrdup(text, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	left = copy;
	while (!error && (word = next_carveout(&left)) != NULL) {
		if (count == CARVEOUTS_MAX) {
			pr_err("carveouts: at most %d\n", CARVEOUTS_MAX);
			error = -E2BIG;
			break;
		}
		memset(&list[count], 0, sizeof(list[count]));
		error = take_one(&list[count], list, word);
		count += !error;
	}
	kfree(copy);
	if (!error)
		return count;
	carveouts_give_back(list, count);
	return error;
}

void carveouts_give_back(struct carveout *list, int count)
{
	while (count--) {
		struct carveout *c = &list[count];

		switch (c->source) {
		case CARVEOUT_RESERVED:
			leave_reserved(c);
			break;
		case CARVEOUT_CONTIG:
			free_contig_range(PHYS_PFN(c->start),
					  c->size_bytes >> PAGE_SHIFT);
			break;
		default:
			break;
		}
		c->source = CARVEOUT_NONE;
	}
}
