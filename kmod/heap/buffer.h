/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOVEA_HEAP_BUFFER_H
#define FOVEA_HEAP_BUFFER_H

#include <linux/mutex.h>

#include "cache.h"
#include "heap.h"
#include "memory.h"

struct dma_buf;
struct heap_holder;

struct heap_buffer {
	struct heap_node *node;
	struct heap_holder *holder;
	struct heap_memory memory;
	struct heap_mappings mappings;
	/* Mappings in use, and clearing. */
	struct mutex lock;
	/* A bit for each piece that is not cleared yet, and how many are left. */
	unsigned long *stale;
	unsigned long nr_stale;
	bool salvaged;
	/* The kernel sees it whole. */
	bool vmapped;
};

/* A range as a DMA-BUF file descriptor; frees the range on failure and at release. */
int heap_buffer_export(struct heap_node *node, const struct heap_range *range,
		       u32 fd_flags);
/*
 * Another size for a buffer of this node's, in whole pages; kmod/include/fovea-heap.h has the
 * errors and the flags.
 */
int heap_buffer_resize(struct heap_node *node, int fd, u64 size_bytes, u32 flags);

/* dummy.c: a buffer for nobody, whose end does not touch `priv`; and whether it is one. */
struct dma_buf *heap_dummy_export(void *priv);
bool heap_dummy_is(const struct dma_buf *dmabuf);

/* Whether it is of any node here. */
bool heap_buffer_is(const struct dma_buf *dmabuf);

#endif /* FOVEA_HEAP_BUFFER_H */
