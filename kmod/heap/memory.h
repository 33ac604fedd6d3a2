/* SPDX-License-Identifier: GPL-2.0-only */
/* A buffer's memory, contiguous or scattered, as a list of pages. */
#ifndef FOVEA_HEAP_MEMORY_H
#define FOVEA_HEAP_MEMORY_H

#include "heap.h"

struct heap_memory {
	struct heap_range range;
	/* Contiguous memory's, which is one piece. */
	struct sg_table one;
	/* Scattered memory as the kernel sees it, while it does. */
	void *vaddr;
};

int heap_memory_init(struct heap_memory *m, const struct heap_range *range);
void heap_memory_exit(struct heap_memory *m);

const struct sg_table *heap_memory_pages(const struct heap_memory *m);
/* Whether it is the source that cleared it. */
bool heap_memory_is_clear(const struct heap_memory *m);
/* From page `first` on for `count` pages, page frames go into user space at `start`. */
vm_fault_t heap_memory_insert(const struct heap_memory *m,
			      struct vm_area_struct *vma, unsigned long start,
			      unsigned long first, unsigned long count);
void *heap_memory_vmap(struct heap_memory *m);
void heap_memory_vunmap(struct heap_memory *m);

#endif /* FOVEA_HEAP_MEMORY_H */
