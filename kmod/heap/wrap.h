/* SPDX-License-Identifier: GPL-2.0-only */
/* Buffers of stock exporters, with the mapping cache in place of their own mapping. */
#ifndef FOVEA_HEAP_WRAP_H
#define FOVEA_HEAP_WRAP_H

#include <linux/atomic.h>
#include <linux/types.h>

struct dma_buf;

/* Since loading. */
struct wrap_counts {
	atomic64_t wrapped;
	/* Buffers that stay stock, as their list is not that of memory. */
	atomic64_t refused;
};
extern struct wrap_counts wrap_counts;

/* In the exporter's call, before anybody knows the buffer; may not sleep. */
bool wrap_begin(struct dma_buf *dmabuf);

#endif /* FOVEA_HEAP_WRAP_H */
