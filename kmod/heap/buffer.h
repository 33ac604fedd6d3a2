/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOVEA_HEAP_BUFFER_H
#define FOVEA_HEAP_BUFFER_H

#include "heap.h"

struct dma_buf;

/* A range as a DMA-BUF file descriptor; frees the range on failure and at release. */
int heap_buffer_export(struct heap_node *node, const struct heap_range *range,
		       u32 fd_flags);
/*
 * Another size for a buffer of this node's, in whole pages; kmod/include/fovea-heap.h has the
 * errors and the flags.
 */
int heap_buffer_resize(struct heap_node *node, int fd, u64 size_bytes, u32 flags);

/* Whether it is of any node here. */
bool heap_buffer_is(const struct dma_buf *dmabuf);

#endif /* FOVEA_HEAP_BUFFER_H */
