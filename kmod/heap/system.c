// SPDX-License-Identifier: GPL-2.0-only
/*
 * fovea-system-heap: buffers of the system's own pages, in as few pieces as memory allows,
 * at /dev/fovea-heap/system. What fragmented memory does to a buffer can be had on request:
 * no large pieces (max_order), or no two neighbouring pages (scatter).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

#include "../include/compat.h"
#include "../include/contract.h"
#include "broken.h"
#include "heap.h"

/* 1 MiB, 64 KiB, a page: what translating hardware has entries for, or can do with fewer. */
static const unsigned int orders[] = { 8, 4, 0 };

static uint max_order = 8;
module_param(max_order, uint, 0644);
MODULE_PARM_DESC(max_order, "Largest pieces: 2 to the power of this pages; 0 for single pages");

static bool scatter;
module_param(scatter, bool, 0644);
MODULE_PARM_DESC(scatter, "Whether no two pages of a buffer are neighbours");

static atomic64_t held_bytes;

/*
 * Charged to the allocating process's cgroup, as no process's memory shows it. And nobody is
 * killed for a buffer, neither in the cgroup nor in the system: it is refused.
 */
static gfp_t gfp_of(gfp_t gfp)
{
	return gfp | __GFP_ZERO | __GFP_NOWARN | (HEAP_BROKEN_CHARGE ? 0 : __GFP_ACCOUNT);
}

/* A page whose neighbour is left to others. */
static struct page *alloc_apart(void)
{
	struct page *pair = alloc_pages(gfp_of(GFP_KERNEL | __GFP_RETRY_MAYFAIL), 1);

	if (!pair)
		return NULL;
	split_page(pair, 1);
	__free_page(pair + 1);
	return pair;
}

/* The largest piece there is of at most `*order` and `pages`; `*order` becomes its own. */
static struct page *alloc_piece(unsigned long pages, unsigned int *order)
{
	int i;

	if (READ_ONCE(scatter)) {
		*order = 0;
		return alloc_apart();
	}
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		/* Nobody is moved, written back or killed for a large piece. */
		gfp_t gfp = orders[i] ? (GFP_KERNEL & ~__GFP_RECLAIM) |
					__GFP_NORETRY | __GFP_COMP :
					GFP_KERNEL | __GFP_RETRY_MAYFAIL;
		struct page *piece;

		if (orders[i] > *order || pages >> orders[i] == 0)
			continue;
		piece = alloc_pages(gfp_of(gfp), orders[i]);
		if (piece) {
			*order = orders[i];
			return piece;
		}
	}
	return NULL;
}

static void free_pieces(struct list_head *pieces)
{
	struct page *piece, *next;

	list_for_each_entry_safe(piece, next, pieces, lru) {
		list_del(&piece->lru);
		__free_pages(piece, compound_order(piece));
	}
}

/* Of all buffers together: what one may have alone. */
static bool reserve(u64 size_bytes)
{
	u64 most = (u64)(totalram_pages() / 2) << PAGE_SHIFT;

	if (size_bytes > most)
		return false;
	/* Two at once may refuse each other, but never take more together. */
	if (atomic64_add_return(size_bytes, &held_bytes) <= most)
		return true;
	atomic64_sub(size_bytes, &held_bytes);
	return false;
}

static int alloc_list(struct heap_range *range)
{
	unsigned long left = range->size_bytes >> PAGE_SHIFT;
	unsigned int order = READ_ONCE(max_order), count = 0;
	struct page *piece, *next;
	struct scatterlist *sg;
	LIST_HEAD(pieces);

	for (; left; left -= 1ul << order, count++) {
		if (fatal_signal_pending(current)) {
			free_pieces(&pieces);
			return -EINTR;
		}
		piece = alloc_piece(left, &order);
		if (!piece) {
			free_pieces(&pieces);
			return -ENOMEM;
		}
		list_add_tail(&piece->lru, &pieces);
	}
	if (sg_alloc_table(&range->pages, count, GFP_KERNEL)) {
		free_pieces(&pieces);
		return -ENOMEM;
	}
	sg = range->pages.sgl;
	list_for_each_entry_safe(piece, next, &pieces, lru) {
		list_del(&piece->lru);
		sg_set_page(sg, piece, page_size(piece), 0);
		sg = sg_next(sg);
	}
	return 0;
}

static int system_alloc(struct heap_node *node, struct heap_range *range)
{
	int error;

	if (!reserve(range->size_bytes))
		return -ENOMEM;
	error = alloc_list(range);
	if (error)
		atomic64_sub(range->size_bytes, &held_bytes);
	return error;
}

static void system_free(struct heap_node *node, const struct heap_range *range)
{
	struct sg_table pages = range->pages;
	struct scatterlist *sg;
	u64 bytes = 0;
	int i;

	/* Of the last one the buffer may have had a part only. */
	for_each_sgtable_sg(&pages, sg, i) {
		bytes += page_size(sg_page(sg));
		__free_pages(sg_page(sg), compound_order(sg_page(sg)));
	}
	sg_free_table(&pages);
	atomic64_sub(bytes, &held_bytes);
}

static u64 system_held_bytes(struct heap_node *node)
{
	return atomic64_read(&held_bytes);
}

/* It is cleared as it is allocated. */
static bool zero_at_alloc(void)
{
	return true;
}

static const struct heap_source source = {
	.owner = THIS_MODULE,
	.resizable = true,
	.alloc = system_alloc,
	.free = system_free,
	.held_bytes = system_held_bytes,
	.zero_at_alloc = zero_at_alloc,
};

static struct heap_node node = {
	.name = SYSTEM_NODE,
	.folder = HEAP_SHARED_FOLDER,
	.source = &source,
};

static int __init system_init(void)
{
	int error = heap_node_add(&node);

	if (!error)
		heap_node_open(&node);
	return error;
}

static void __exit system_exit(void)
{
	heap_node_remove(&node);
}

module_init(system_init);
module_exit(system_exit);
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("Device buffers of the system's pages");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(FOVEA_HEAP);
