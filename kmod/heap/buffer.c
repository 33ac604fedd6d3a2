// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA-BUFs. Contiguous memory held file pages a moment ago, and nobody may see those: a
 * buffer is cleared piece by piece when user space first touches it, and what is left of
 * it when a device or the kernel gets to see it whole. Until the first piece is cleared,
 * its owner can still save what was there.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../include/compat.h"
#include "../include/fovea-heap.h"
#include "broken.h"
#include "buffer.h"
#include "cache.h"
#include "holder.h"
#include "mapping.h"
#include "memory.h"

/* What one fault clears and maps. */
#define PIECE_SHIFT	(PAGE_SHIFT + 6)
#define PIECE_BYTES	(1ul << PIECE_SHIFT)

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

/* Whether a process has mapped what lies beyond `pages`. */
static bool is_mapped_beyond(struct dma_buf *dmabuf, unsigned long pages)
{
	struct address_space *mapping = dmabuf->file->f_mapping;
	struct rb_node *node;
	bool found = false;

	i_mmap_lock_read(mapping);
	for (node = rb_first_cached(&mapping->i_mmap); node && !found;
	     node = rb_next(node)) {
		struct vm_area_struct *vma =
			rb_entry(node, struct vm_area_struct, shared.rb);

		found = vma->vm_pgoff + vma_pages(vma) > pages;
	}
	i_mmap_unlock_read(mapping);
	return found;
}

static int grow(struct heap_buffer *b, u64 size_bytes, u32 flags)
{
	u64 more = size_bytes - b->memory.range.size_bytes;
	u64 slack = min(heap_memory_slack(&b->memory), more);
	struct heap_range extra = { .size_bytes = more - slack };
	int error;

	if (size_bytes >> PAGE_SHIFT > totalram_pages() / 2)
		return -ENOMEM;
	error = extra.size_bytes ? b->node->source->alloc(b->node, &extra) : 0;
	if (error)
		return error;
	error = heap_memory_grow(&b->memory, &extra, slack);
	if (error) {
		if (extra.size_bytes)
			b->node->source->free(b->node, &extra);
		return error;
	}
	heap_mappings_resize(&b->mappings, size_bytes,
			     flags & FOVEA_HEAP_RESIZE_PIECES);
	return 0;
}

static int shrink(struct heap_buffer *b, struct dma_buf *dmabuf, u64 size_bytes)
{
	struct heap_range rest = {};
	int error;

	/* What is mapped from here on finds the new end: faults take the same lock. */
	if (is_mapped_beyond(dmabuf, size_bytes >> PAGE_SHIFT))
		return -EBUSY;
	error = heap_memory_cut(&b->memory, size_bytes, &rest);
	if (error)
		return error;
	heap_mappings_resize(&b->mappings, size_bytes, false);
	if (rest.size_bytes)
		b->node->source->free(b->node, &rest);
	return 0;
}

static int resize(struct heap_buffer *b, struct dma_buf *dmabuf, u64 size_bytes,
		  u32 flags)
{
	u64 old_bytes = b->memory.range.size_bytes;
	int error = 0;

	lockdep_assert_held(&b->lock);
	/*
	 * To who is attached, or sees it through the kernel, the size is invariant
	 * (linux/dma-buf.h). The list is the reservation lock's, which attaching waits for.
	 */
	dma_resv_assert_held(dmabuf->resv);
	if ((!list_empty(&dmabuf->attachments) && !HEAP_BROKEN_ATTACHED) ||
	    !list_empty(&b->mappings.busy) || b->vmapped)
		return -EBUSY;
	if (size_bytes > old_bytes)
		error = grow(b, size_bytes, flags);
	else if (size_bytes < old_bytes)
		error = shrink(b, dmabuf, size_bytes);
	if (error)
		return error;
	heap_holder_resize(b->holder, old_bytes, size_bytes);
	/* What mmap, lseek and importers go by, and what stat and fdinfo show. */
	WRITE_ONCE(dmabuf->size, size_bytes);
	inode_set_bytes(file_inode(dmabuf->file), size_bytes);
	return 0;
}

int heap_buffer_resize(struct heap_node *node, int fd, u64 size_bytes, u32 flags)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	struct heap_buffer *b;
	int error;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	b = heap_buffer_is(dmabuf) ? dmabuf->priv : NULL;
	if (!b || b->node != node) {
		error = -EINVAL;
	} else if (!(dmabuf->file->f_mode & FMODE_WRITE)) {
		error = -EACCES;
	} else if (!node->source->resizable) {
		error = -EOPNOTSUPP;
	} else {
		/* In the order in which importers' calls take them. */
		dma_resv_lock(dmabuf->resv, NULL);
		mutex_lock(&b->lock);
		error = resize(b, dmabuf, size_bytes, flags);
		mutex_unlock(&b->lock);
		dma_resv_unlock(dmabuf->resv);
	}
	dma_buf_put(dmabuf);
	return error;
}

bool heap_buffer_is(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &buffer_ops;
}
FOVEA_EXPORT(heap_buffer_is, FOVEA_HEAP);
