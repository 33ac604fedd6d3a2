// SPDX-License-Identifier: GPL-2.0-only
/*
 * A DMA-BUF for nobody: fovea-heap-wrap exports it to see whether its probe sees that. It is this
 * module's and not the other's, as the kernel ends a buffer after the call that has put it, and
 * that may be the call in which loading the other module fails.
 */
#include <linux/dma-buf.h>
#include <linux/module.h>

#include "../include/compat.h"
#include "buffer.h"

static struct sg_table *dummy_map(struct dma_buf_attachment *at,
				  enum dma_data_direction direction)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void dummy_unmap(struct dma_buf_attachment *at, struct sg_table *table,
			enum dma_data_direction direction)
{
}

static void dummy_release(struct dma_buf *dmabuf)
{
}

static const struct dma_buf_ops dummy_ops = {
	.map_dma_buf = dummy_map,
	.unmap_dma_buf = dummy_unmap,
	.release = dummy_release,
};

struct dma_buf *heap_dummy_export(void *priv)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	info.exp_name = KBUILD_MODNAME;
	info.ops = &dummy_ops;
	info.size = PAGE_SIZE;
	info.priv = priv;
	return dma_buf_export(&info);
}
FOVEA_EXPORT(heap_dummy_export, FOVEA_HEAP);

bool heap_dummy_is(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &dummy_ops;
}
FOVEA_EXPORT(heap_dummy_is, FOVEA_HEAP);
