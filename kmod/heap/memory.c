// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "memory.h"

static bool is_scattered(const struct heap_memory *m)
{
	return m->range.pages.orig_nents > 0;
}

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

void *heap_memory_vmap(struct heap_memory *m)
{
	unsigned long count = m->range.size_bytes >> PAGE_SHIFT, i = 0;
	struct sg_page_iter pages;
	struct page **list;

	if (!is_scattered(m))
		return m->range.vaddr;
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
