// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA-BUFs of contiguous memory. The memory held file pages a moment ago, and nobody
 * may see those: a buffer is cleared piece by piece when user space first touches it,
 * and what is left of it when a device or the kernel gets to see it whole. Until the
 * first piece is cleared, its owner can still save what was there.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "../include/compat.h"
#include "broken.h"
#include "buffer.h"

/* What one fault clears and maps. */
#define PIECE_SHIFT	(PAGE_SHIFT + 6)
#define PIECE_BYTES	(1ul << PIECE_SHIFT)

struct heap_buffer {
	struct heap_node *node;
	struct heap_range range;
	/* Attachments and clearing. */
	struct mutex lock;
	struct list_head attachments;
	/* A bit for each piece that is not cleared yet, and how many are left. */
	unsigned long *stale;
	unsigned long nr_stale;
	bool salvaged;
};

struct heap_attachment {
	struct list_head list;
	struct device *dev;
	struct sg_table table;
	bool mapped;
	enum dma_data_direction direction;
};

static void salvage(struct heap_buffer *b)
{
	if (!b->salvaged && b->node->source->salvage)
		b->node->source->salvage(b->node, &b->range);
	b->salvaged = true;
}

static void clear_piece(struct heap_buffer *b, unsigned long piece)
{
	u64 at = (u64)piece << PIECE_SHIFT;

	lockdep_assert_held(&b->lock);
	if (!test_bit(piece, b->stale))
		return;
	if (!HEAP_BROKEN_LATE)
		salvage(b);
	memset(b->range.vaddr + at, 0,
	       min_t(u64, PIECE_BYTES, b->range.size_bytes - at));
	clear_bit(piece, b->stale);
	b->nr_stale--;
	if (HEAP_BROKEN_LATE)
		salvage(b);
}

static void clear_all(struct heap_buffer *b)
{
	unsigned long piece;

	mutex_lock(&b->lock);
	for (piece = 0; b->nr_stale; piece++) {
		clear_piece(b, piece);
		cond_resched();
	}
	mutex_unlock(&b->lock);
}

static int buffer_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *at)
{
	struct heap_buffer *b = dmabuf->priv;
	struct heap_attachment *a = kzalloc(sizeof(*a), GFP_KERNEL);
	int error;

	if (!a)
		return -ENOMEM;
	error = sg_alloc_table(&a->table, 1, GFP_KERNEL);
	if (error) {
		kfree(a);
		return error;
	}
	sg_set_page(a->table.sgl, pfn_to_page(PHYS_PFN(b->range.phys)),
		    b->range.size_bytes, 0);
	a->dev = at->dev;
	at->priv = a;
	mutex_lock(&b->lock);
	list_add(&a->list, &b->attachments);
	mutex_unlock(&b->lock);
	return 0;
}

static void buffer_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *at)
{
	struct heap_buffer *b = dmabuf->priv;
	struct heap_attachment *a = at->priv;

	mutex_lock(&b->lock);
	list_del(&a->list);
	mutex_unlock(&b->lock);
	sg_free_table(&a->table);
	kfree(a);
}

static struct sg_table *buffer_map(struct dma_buf_attachment *at,
				   enum dma_data_direction direction)
{
	struct heap_buffer *b = at->dmabuf->priv;
	struct heap_attachment *a = at->priv;
	int error;

	clear_all(b);
	error = dma_map_sgtable(a->dev, &a->table, direction, 0);
	if (error)
		return ERR_PTR(error);
	mutex_lock(&b->lock);
	a->mapped = true;
	a->direction = direction;
	mutex_unlock(&b->lock);
	return &a->table;
}

static void buffer_unmap(struct dma_buf_attachment *at, struct sg_table *table,
			 enum dma_data_direction direction)
{
	struct heap_buffer *b = at->dmabuf->priv;
	struct heap_attachment *a = at->priv;

	mutex_lock(&b->lock);
	a->mapped = false;
	mutex_unlock(&b->lock);
	dma_unmap_sgtable(a->dev, table, direction, 0);
}

static int buffer_begin_cpu(struct dma_buf *dmabuf,
			    enum dma_data_direction direction)
{
	struct heap_buffer *b = dmabuf->priv;
	struct heap_attachment *a;

	mutex_lock(&b->lock);
	list_for_each_entry(a, &b->attachments, list)
		if (a->mapped)
			dma_sync_sgtable_for_cpu(a->dev, &a->table, direction);
	mutex_unlock(&b->lock);
	return 0;
}

static int buffer_end_cpu(struct dma_buf *dmabuf,
			  enum dma_data_direction direction)
{
	struct heap_buffer *b = dmabuf->priv;
	struct heap_attachment *a;

	mutex_lock(&b->lock);
	list_for_each_entry(a, &b->attachments, list)
		if (a->mapped)
			dma_sync_sgtable_for_device(a->dev, &a->table,
						    direction);
	mutex_unlock(&b->lock);
	return 0;
}

static vm_fault_t buffer_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct heap_buffer *b = vma->vm_private_data;
	unsigned long piece = vmf->pgoff >> (PIECE_SHIFT - PAGE_SHIFT);
	unsigned long pages = b->range.size_bytes >> PAGE_SHIFT;
	unsigned long pgoff = piece << (PIECE_SHIFT - PAGE_SHIFT);
	unsigned long end = min(pgoff + (PIECE_BYTES >> PAGE_SHIFT), pages);
	vm_fault_t result = VM_FAULT_NOPAGE;

	if (vmf->pgoff >= pages)
		return VM_FAULT_SIGBUS;
	mutex_lock(&b->lock);
	clear_piece(b, piece);
	mutex_unlock(&b->lock);
	/* The part of the piece that this mapping shows. */
	pgoff = max(pgoff, vma->vm_pgoff);
	end = min(end, vma->vm_pgoff + vma_pages(vma));
	for (; pgoff < end && result == VM_FAULT_NOPAGE; pgoff++)
		result = vmf_insert_pfn(vma,
					vma->vm_start +
					((pgoff - vma->vm_pgoff) << PAGE_SHIFT),
					PHYS_PFN(b->range.phys) + pgoff);
	return result;
}

static const struct vm_operations_struct buffer_vm_ops = {
	.fault = buffer_fault,
};

static int buffer_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct heap_buffer *b = dmabuf->priv;

	/* Copies of single pages on write make no sense for a device's memory. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &buffer_vm_ops;
	vma->vm_private_data = b;
	return 0;
}

static int buffer_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct heap_buffer *b = dmabuf->priv;

	clear_all(b);
	iosys_map_set_vaddr(map, b->range.vaddr);
	return 0;
}

static void buffer_release(struct dma_buf *dmabuf)
{
	struct heap_buffer *b = dmabuf->priv;

	b->node->source->free(b->node, &b->range);
	bitmap_free(b->stale);
	mutex_destroy(&b->lock);
	kfree(b);
}

static const struct dma_buf_ops buffer_ops = {
	.attach = buffer_attach,
	.detach = buffer_detach,
	.map_dma_buf = buffer_map,
	.unmap_dma_buf = buffer_unmap,
	.begin_cpu_access = buffer_begin_cpu,
	.end_cpu_access = buffer_end_cpu,
	.mmap = buffer_mmap,
	.vmap = buffer_vmap,
	.release = buffer_release,
};

int heap_buffer_export(struct heap_node *node, const struct heap_range *range,
		       u32 fd_flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	unsigned long pieces = DIV_ROUND_UP_ULL(range->size_bytes, PIECE_BYTES);
	struct heap_buffer *b = kzalloc(sizeof(*b), GFP_KERNEL);
	struct dma_buf *dmabuf;
	int fd;

	if (b)
		b->stale = bitmap_alloc(pieces, GFP_KERNEL);
	if (!b || !b->stale) {
		kfree(b);
		node->source->free(node, range);
		return -ENOMEM;
	}
	b->node = node;
	b->range = *range;
	mutex_init(&b->lock);
	INIT_LIST_HEAD(&b->attachments);
	bitmap_fill(b->stale, pieces);
	b->nr_stale = pieces;
	if (node->source->zero_at_alloc())
		clear_all(b);

	info.exp_name = node->name;
	/* Whose use of this module holds this one, too. */
	if (!HEAP_BROKEN_UNHELD)
		info.owner = node->source->owner;
	info.ops = &buffer_ops;
	info.size = range->size_bytes;
	info.flags = fd_flags;
	info.priv = b;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		node->source->free(node, range);
		bitmap_free(b->stale);
		kfree(b);
		return PTR_ERR(dmabuf);
	}
	fd = dma_buf_fd(dmabuf, fd_flags);
	if (fd < 0)
		dma_buf_put(dmabuf);
	return fd;
}
