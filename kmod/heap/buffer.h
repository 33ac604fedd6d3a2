/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOVEA_HEAP_BUFFER_H
#define FOVEA_HEAP_BUFFER_H

#include "heap.h"

/* A range as a DMA-BUF file descriptor; frees the range on failure and at release. */
int heap_buffer_export(struct heap_node *node, const struct heap_range *range,
		       u32 fd_flags);
/*
 * Another size for a buffer of this node's, in whole pages; kmod/include/fovea-heap.h has the
 * errors and the flags.
 */
int heap_buffer_resize(struct heap_node *node, int fd, u64 size_bytes, u32 flags);

#endif /* FOVEA_HEAP_BUFFER_H */
