/* SPDX-License-Identifier: GPL-2.0-only */
/* A buffer's memory, contiguous or scattered, as a list of pages. */
#ifndef FOVEA_HEAP_MEMORY_H
#define FOVEA_HEAP_MEMORY_H

#include "heap.h"

struct heap_memory {
	struct heap_range range;
	/* Contiguous memory's, which is one piece. */
	struct sg_table one;
	/* Scattered memory as the kernel sees it, while it does and maybe afterwards. */
	void *vaddr;
};

/* A list of the memory from one byte to another of `pages`, in the same order. */
int heap_pages_copy(struct sg_table *to, const struct sg_table *pages,
		    u64 from_bytes, u64 end_bytes);

int heap_memory_init(struct heap_memory *m, const struct heap_range *range);
void heap_memory_exit(struct heap_memory *m);

const struct sg_table *heap_memory_pages(const struct heap_memory *m);
/* Whether it is the source that cleared it. */
bool heap_memory_is_clear(const struct heap_memory *m);
/* From page `first` on for `count` pages, page frames go into user space at `start`. */
vm_fault_t heap_memory_insert(const struct heap_memory *m,
			      struct vm_area_struct *vma, unsigned long start,
			      unsigned long first, unsigned long count);
/*
 * Scattered memory's size. A piece that the new end cuts through stays whole, and its rest is
 * what it grows into first: heap_memory_slack() has so many bytes.
 */
u64 heap_memory_slack(const struct heap_memory *m);
/* By its slack's first bytes, which are cleared, and by `extra`, which it takes over. */
int heap_memory_grow(struct heap_memory *m, struct heap_range *extra,
		     u64 slack_bytes);
/* To `size_bytes`; what goes is put into `rest`, which may have no pages. */
int heap_memory_cut(struct heap_memory *m, u64 size_bytes,
		    struct heap_range *rest);

/* Where the kernel sees it, as before if it has. Its end, and another size, want vunmap. */
void *heap_memory_vmap(struct heap_memory *m);
void heap_memory_vunmap(struct heap_memory *m);

#endif /* FOVEA_HEAP_MEMORY_H */
