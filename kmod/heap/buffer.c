// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA-BUFs. Contiguous memory held file pages a moment ago, and nobody may see those: a
 * buffer is cleared piece by piece when user space first touches it, and what is left of
 * it when a device or the kernel gets to see it whole. Until the first piece is cleared,
 * its owner can still save what was there.
 */
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../include/compat.h"
#include "broken.h"
#include "buffer.h"
#include "cache.h"
#include "holder.h"
#include "mapping.h"
#include "memory.h"

/* What one fault clears and maps. */
#define PIECE_SHIFT	(PAGE_SHIFT + 6)
#define PIECE_BYTES	(1ul << PIECE_SHIFT)

static void salvage(struct heap_buffer *b)
{
	if (!b->salvaged && b->node->source->salvage)
		b->node->source->salvage(b->node, &b->memory.range);
	b->salvaged = true;
}

static void clear_piece(struct heap_buffer *b, unsigned long piece)
{
	u64 at = (u64)piece << PIECE_SHIFT;

	lockdep_assert_held(&b->lock);
	/* A buffer that has grown has more pieces than bits, and was clear before. */
	if (!b->nr_stale || !test_bit(piece, b->stale))
		return;
	if (!HEAP_BROKEN_LATE)
		salvage(b);
	memset(b->memory.range.vaddr + at, 0,
	       min_t(u64, PIECE_BYTES, b->memory.range.size_bytes - at));
	clear_bit(piece, b->stale);
	b->nr_stale--;
	if (HEAP_BROKEN_LATE)
		salvage(b);
}

static void clear_all(struct heap_buffer *b)
{
	unsigned long piece;

	lockdep_assert_held(&b->lock);
	for (piece = 0; b->nr_stale; piece++) {
		clear_piece(b, piece);
		cond_resched();
	}
}

/* A bus is watched before the lock is taken that devices are mapped under. */
static int buffer_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *at)
{
	heap_watch_attached(at->dev);
	return 0;
}

static struct sg_table *buffer_map(struct dma_buf_attachment *at,
				   enum dma_data_direction direction)
{
	struct heap_buffer *b = at->dmabuf->priv;
	struct heap_mapping *m;

	mutex_lock(&b->lock);
	clear_all(b);
	m = heap_cache_get(&b->mappings, at->dev, direction);
	mutex_unlock(&b->lock);
	return IS_ERR(m) ? ERR_CAST(m) : &m->table;
}

static void buffer_unmap(struct dma_buf_attachment *at, struct sg_table *table,
			 enum dma_data_direction direction)
{
	struct heap_buffer *b = at->dmabuf->priv;

	mutex_lock(&b->lock);
	heap_cache_put(container_of(table, struct heap_mapping, table));
	mutex_unlock(&b->lock);
}

static int buffer_begin_cpu(struct dma_buf *dmabuf,
			    enum dma_data_direction direction)
{
	struct heap_buffer *b = dmabuf->priv;
	struct heap_mapping *m;

	mutex_lock(&b->lock);
	list_for_each_entry(m, &b->mappings.busy, of_buffer)
		heap_mapping_begin_cpu(m);
	mutex_unlock(&b->lock);
	return 0;
}

static int buffer_end_cpu(struct dma_buf *dmabuf,
			  enum dma_data_direction direction)
{
	struct heap_buffer *b = dmabuf->priv;
	struct heap_mapping *m;

	mutex_lock(&b->lock);
	list_for_each_entry(m, &b->mappings.busy, of_buffer)
		heap_mapping_end_cpu(m, direction);
	mutex_unlock(&b->lock);
	return 0;
}

static vm_fault_t buffer_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct heap_buffer *b = vma->vm_private_data;
	unsigned long piece = vmf->pgoff >> (PIECE_SHIFT - PAGE_SHIFT);
	unsigned long pgoff = piece << (PIECE_SHIFT - PAGE_SHIFT);
	unsigned long end = pgoff + (PIECE_BYTES >> PAGE_SHIFT), pages;
	vm_fault_t result = VM_FAULT_SIGBUS;
	unsigned long start = 0;

	/* The size, and whose the pages are, can change. */
	mutex_lock(&b->lock);
	pages = b->memory.range.size_bytes >> PAGE_SHIFT;
	if (vmf->pgoff < pages) {
		clear_piece(b, piece);
		/* The part of the piece that this mapping shows. */
		pgoff = max(pgoff, vma->vm_pgoff);
		end = min3(end, pages, vma->vm_pgoff + vma_pages(vma));
		start = vma->vm_start + ((pgoff - vma->vm_pgoff) << PAGE_SHIFT);
		if (b->node->source->resizable)
			result = heap_memory_insert(&b->memory, vma, start, pgoff,
						    end - pgoff);
	}
	mutex_unlock(&b->lock);
	/* What stays as it is needs no lock, and page tables take memory. */
	if (start && !b->node->source->resizable)
		result = heap_memory_insert(&b->memory, vma, start, pgoff,
					    end - pgoff);
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
	void *vaddr;

	mutex_lock(&b->lock);
	clear_all(b);
	heap_vmap_count(b->memory.vaddr || !heap_memory_is_clear(&b->memory));
	vaddr = heap_memory_vmap(&b->memory);
	b->vmapped = vaddr;
	mutex_unlock(&b->lock);
	if (!vaddr)
		return -ENOMEM;
	iosys_map_set_vaddr(map, vaddr);
	return 0;
}

static void buffer_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct heap_buffer *b = dmabuf->priv;

	mutex_lock(&b->lock);
	if (!heap_keeps_vmaps())
		heap_memory_vunmap(&b->memory);
	b->vmapped = false;
	mutex_unlock(&b->lock);
}

static void delete(struct heap_buffer *b)
{
	heap_holder_remove(b->holder, b->memory.range.size_bytes);
	b->node->source->free(b->node, &b->memory.range);
	heap_memory_exit(&b->memory);
	bitmap_free(b->stale);
	mutex_destroy(&b->lock);
	kfree(b);
}

static void buffer_release(struct dma_buf *dmabuf)
{
	struct heap_buffer *b = dmabuf->priv;

	/* Before the memory goes back: a device could reach what is somebody else's then. */
	heap_mappings_drop(&b->mappings);
	delete(b);
}

static const struct dma_buf_ops buffer_ops = {
	.attach = buffer_attach,
	.map_dma_buf = buffer_map,
	.unmap_dma_buf = buffer_unmap,
	.begin_cpu_access = buffer_begin_cpu,
	.end_cpu_access = buffer_end_cpu,
	.mmap = buffer_mmap,
	.vmap = buffer_vmap,
	.vunmap = buffer_vunmap,
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
		b->stale = bitmap_zalloc(pieces, GFP_KERNEL);
	if (b && b->stale)
		b->holder = heap_holder_add(range->size_bytes);
	if (!b || !b->holder || heap_memory_init(&b->memory, range)) {
		if (b && b->holder)
			heap_holder_remove(b->holder, range->size_bytes);
		if (b)
			bitmap_free(b->stale);
		kfree(b);
		node->source->free(node, range);
		return -ENOMEM;
	}
	b->node = node;
	mutex_init(&b->lock);
	if (!heap_memory_is_clear(&b->memory)) {
		bitmap_fill(b->stale, pieces);
		b->nr_stale = pieces;
	}
	if (node->source->zero_at_alloc()) {
		mutex_lock(&b->lock);
		clear_all(b);
		mutex_unlock(&b->lock);
	}
	heap_mappings_init(&b->mappings, node->name,
			   heap_memory_pages(&b->memory), range->size_bytes);

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
		heap_mappings_drop(&b->mappings);
		delete(b);
		return PTR_ERR(dmabuf);
	}
	fd = dma_buf_fd(dmabuf, fd_flags);
	if (fd < 0)
		dma_buf_put(dmabuf);
	return fd;
}

bool heap_buffer_is(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &buffer_ops;
}
FOVEA_EXPORT(heap_buffer_is, FOVEA_HEAP);
