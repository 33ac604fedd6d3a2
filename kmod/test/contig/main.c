// SPDX-License-Identifier: GPL-2.0-only
/*
 * contig-heap: what the contiguous memory allocator (CMA) does, to compare dm-ecache
 * with: the memory is Linux's while devices are idle, and each allocation moves
 * whatever movable pages lie in the device's region out of the way. The stock kernel is
 * built without CMA but exports the call that CMA rests on, alloc_contig_range().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../../heap/heap.h"
#include "../../include/compat.h"

#define DEVICES_MAX 64

static char *region = "auto";
module_param(region, charp, 0444);
MODULE_PARM_DESC(region, "Memory: SIZE@ADDRESS, or auto for the end of ZONE_MOVABLE");

static char *devices = "";
module_param(devices, charp, 0444);
MODULE_PARM_DESC(devices, "Devices: NAME:SIZE, separated by commas");

static int tries = 5;
module_param(tries, int, 0644);
MODULE_PARM_DESC(tries, "How often a region is tried: a page may be in use for a moment");

/* A device's fixed part of the region. */
struct place {
	struct heap_node node;
	unsigned long first_pfn;
	struct mutex lock;
	bool held;
};

static struct heap_device *list;
static struct place *places;
static int nr_places;

static int place_alloc(struct heap_node *node, struct heap_range *range)
{
	struct place *p = container_of(node, struct place, node);
	unsigned long pages = range->size_bytes >> PAGE_SHIFT;
	int error = -EBUSY, try;

	mutex_lock(&p->lock);
	for (try = 0; !p->held && try < tries && error == -EBUSY; try++)
		error = alloc_contig_range(p->first_pfn, p->first_pfn + pages,
					   FOVEA_CONTIG_ORDINARY,
					   GFP_KERNEL | __GFP_NOWARN);
	if (!error)
		p->held = true;
	mutex_unlock(&p->lock);
	if (error)
		return error;
	range->phys = PFN_PHYS(p->first_pfn);
	range->vaddr = phys_to_virt(range->phys);
	return 0;
}

static void place_free(struct heap_node *node, const struct heap_range *range)
{
	struct place *p = container_of(node, struct place, node);

	free_contig_range(PHYS_PFN(range->phys), range->size_bytes >> PAGE_SHIFT);
	mutex_lock(&p->lock);
	p->held = false;
	mutex_unlock(&p->lock);
}

static u64 place_held_bytes(struct heap_node *node)
{
	struct place *p = container_of(node, struct place, node);

	return READ_ONCE(p->held) ? node->size_bytes : 0;
}

static bool zero_at_alloc(void)
{
	return false;
}

static const struct heap_source source = {
	.owner = THIS_MODULE,
	.alloc = place_alloc,
	.free = place_free,
	.held_bytes = place_held_bytes,
	.zero_at_alloc = zero_at_alloc,
};

/* The last `bytes` of ZONE_MOVABLE. */
static int find_movable(u64 bytes, phys_addr_t *start)
{
	unsigned long pages = bytes >> PAGE_SHIFT;
	int node;

	for_each_online_node(node) {
		struct zone *z = &NODE_DATA(node)->node_zones[ZONE_MOVABLE];

		if (populated_zone(z) && z->spanned_pages >= pages) {
			*start = PFN_PHYS(zone_end_pfn(z) - pages);
			return 0;
		}
	}
	pr_err("region: no ZONE_MOVABLE of %llu bytes: boot with movablecore=\n",
	       bytes);
	return -ENOMEM;
}

static int find_region(u64 needed, phys_addr_t *start)
{
	char *rest;
	u64 size;

	if (!strcmp(region, "auto"))
		return find_movable(needed, start);
	size = memparse(region, &rest);
	if (*rest != '@' || rest == region)
		goto bad;
	*start = memparse(rest + 1, &rest);
	if (*rest)
		goto bad;
	if (size < needed || !IS_ALIGNED(*start, PAGE_SIZE)) {
		pr_err("region: %s is too small for the devices or not aligned to pages\n",
		       region);
		return -EINVAL;
	}
	if (!pfn_valid(PHYS_PFN(*start)) ||
	    !pfn_valid(PHYS_PFN(*start + needed - 1))) {
		pr_err("region: %s is no memory of this machine\n", region);
		return -EINVAL;
	}
	return 0;
bad:
	pr_err("region: \"%s\" is neither SIZE@ADDRESS nor auto\n", region);
	return -EINVAL;
}

static void remove_places(void)
{
	while (nr_places)
		heap_node_remove(&places[--nr_places].node);
	kfree(places);
	kfree(list);
}

static int __init contig_init(void)
{
	int count, i, error;
	phys_addr_t at;
	u64 needed = 0;

	count = heap_devices_parse(THIS_MODULE, devices, DEVICES_MAX, &list);
	if (count < 0)
		return count;
	for (i = 0; i < count; i++)
		needed += list[i].size_bytes;
	error = find_region(needed, &at);
	if (error) {
		kfree(list);
		return error;
	}
	places = kcalloc(count, sizeof(*places), GFP_KERNEL);
	if (!places) {
		kfree(list);
		return -ENOMEM;
	}
	for (nr_places = 0; nr_places < count; nr_places++) {
		struct place *p = &places[nr_places];

		mutex_init(&p->lock);
		p->first_pfn = PHYS_PFN(at);
		at += list[nr_places].size_bytes;
		p->node.name = list[nr_places].name;
		p->node.size_bytes = list[nr_places].size_bytes;
		p->node.source = &source;
		error = heap_node_add(&p->node);
		if (error) {
			remove_places();
			return error;
		}
	}
	/* Nothing can fail any more: buffers may be had. */
	for (i = 0; i < count; i++)
		heap_node_open(&places[i].node);
	return 0;
}

static void __exit contig_exit(void)
{
	remove_places();
}

module_init(contig_init);
module_exit(contig_exit);
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("Device buffers by migration, to compare with");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(FOVEA_HEAP);
