// SPDX-License-Identifier: GPL-2.0-only
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../include/compat.h"
#include "broken.h"
#include "memory.h"

static bool is_scattered(const struct heap_memory *m)
{
	return m->range.pages.orig_nents > 0;
}

int heap_pages_copy(struct sg_table *to, const struct sg_table *pages,
		    u64 from_bytes, u64 end_bytes)
{
	struct scatterlist *sg, *next;
	unsigned int count = 0;
	u64 at = 0;
	int error, i;

	for_each_sgtable_sg(pages, sg, i) {
		count += at < end_bytes && at + sg->length > from_bytes;
		at += sg->length;
	}
	error = sg_alloc_table(to, count, GFP_KERNEL);
	if (error)
		return error;
	next = to->sgl;
	at = 0;
	for_each_sgtable_sg(pages, sg, i) {
		u64 first = max(at, from_bytes), end = min(at + sg->length, end_bytes);

		/* An entry may begin anywhere behind its page: udmabuf's in a huge page. */
		if (first < end) {
			u64 offset = HEAP_BROKEN_OFFSET ? first - at :
							  sg->offset + first - at;

			sg_set_page(next, pfn_to_page(page_to_pfn(sg_page(sg)) +
						      (offset >> PAGE_SHIFT)),
				    end - first, offset_in_page(offset));
			next = sg_next(next);
		}
		at += sg->length;
	}
	return 0;
}
FOVEA_EXPORT(heap_pages_copy, FOVEA_HEAP);

int heap_memory_init(struct heap_memory *m, const struct heap_range *range)
{
	int error;

	m->range = *range;
	if (is_scattered(m))
		return 0;
	error = sg_alloc_table(&m->one, 1, GFP_KERNEL);
	if (!error)
		sg_set_page(m->one.sgl, pfn_to_page(PHYS_PFN(range->phys)),
			    range->size_bytes, 0);
	return error;
}

void heap_memory_exit(struct heap_memory *m)
{
	heap_memory_vunmap(m);
	if (!is_scattered(m))
		sg_free_table(&m->one);
}

const struct sg_table *heap_memory_pages(const struct heap_memory *m)
{
	return is_scattered(m) ? &m->range.pages : &m->one;
}

bool heap_memory_is_clear(const struct heap_memory *m)
{
	return is_scattered(m);
}

vm_fault_t heap_memory_insert(const struct heap_memory *m,
			      struct vm_area_struct *vma, unsigned long start,
			      unsigned long first, unsigned long count)
{
	vm_fault_t result = VM_FAULT_NOPAGE;
	struct sg_page_iter pages;

	for_each_sgtable_page(heap_memory_pages(m), &pages, first) {
		if (!count-- || result != VM_FAULT_NOPAGE)
			break;
		result = vmf_insert_pfn(vma, start,
					page_to_pfn(sg_page_iter_page(&pages)));
		start += PAGE_SIZE;
	}
	return result;
}

static struct scatterlist *last_piece(const struct sg_table *pages)
{
	return sg_last(pages->sgl, pages->orig_nents);
}

u64 heap_memory_slack(const struct heap_memory *m)
{
	struct scatterlist *last = last_piece(&m->range.pages);

	return page_size(sg_page(last)) - last->length;
}

int heap_memory_grow(struct heap_memory *m, struct heap_range *extra,
		     u64 slack_bytes)
{
	struct sg_table *old = &m->range.pages, all;
	struct scatterlist *sg, *to;
	u64 at;
	int error, i;

	error = sg_alloc_table(&all, old->orig_nents + extra->pages.orig_nents,
			       GFP_KERNEL);
	if (error)
		return error;
	to = all.sgl;
	for_each_sgtable_sg(old, sg, i) {
		sg_set_page(to, sg_page(sg), sg->length, 0);
		if (sg_is_last(sg)) {
			for (at = 0; at < slack_bytes; at += PAGE_SIZE)
				clear_highpage(sg_page(sg) +
					       ((sg->length + at) >> PAGE_SHIFT));
			to->length += slack_bytes;
		}
		to = sg_next(to);
	}
	if (extra->pages.orig_nents)
		for_each_sgtable_sg(&extra->pages, sg, i) {
			sg_set_page(to, sg_page(sg), sg->length, 0);
			to = sg_next(to);
		}
	sg_free_table(old);
	sg_free_table(&extra->pages);
	*old = all;
	m->range.size_bytes += slack_bytes + extra->size_bytes;
	return 0;
}

int heap_memory_cut(struct heap_memory *m, u64 size_bytes,
		    struct heap_range *rest)
{
	struct sg_table *old = &m->range.pages, stays;
	struct scatterlist *sg;
	u64 at = 0, cut = 0;
	int error, i;

	/* Where the first piece begins that goes whole. */
	for_each_sgtable_sg(old, sg, i) {
		at += sg->length;
		cut = at;
		if (at >= size_bytes)
			break;
	}
	error = heap_pages_copy(&stays, old, 0, size_bytes);
	if (error)
		return error;
	rest->size_bytes = m->range.size_bytes - cut;
	if (rest->size_bytes)
		error = heap_pages_copy(&rest->pages, old, cut, U64_MAX);
	if (error) {
		sg_free_table(&stays);
		return error;
	}
	sg_free_table(old);
	*old = stays;
	m->range.size_bytes = size_bytes;
	return 0;
}

void *heap_memory_vmap(struct heap_memory *m)
{
	unsigned long count = m->range.size_bytes >> PAGE_SHIFT, i = 0;
	struct sg_page_iter pages;
	struct page **list;

	if (!is_scattered(m))
		return m->range.vaddr;
	if (m->vaddr)
		return m->vaddr;
	list = kvmalloc_array(count, sizeof(*list), GFP_KERNEL);
	if (!list)
		return NULL;
	for_each_sgtable_page(&m->range.pages, &pages, 0)
		list[i++] = sg_page_iter_page(&pages);
	m->vaddr = vmap(list, count, VM_MAP, PAGE_KERNEL);
	kvfree(list);
	return m->vaddr;
}

void heap_memory_vunmap(struct heap_memory *m)
{
	if (m->vaddr)
		vunmap(m->vaddr);
	m->vaddr = NULL;
}
