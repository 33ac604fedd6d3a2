// SPDX-License-Identifier: GPL-2.0-only
/* Another size for a buffer of scattered memory; docs/design/mapping-cache.md says what of it stays. */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/mm.h>

#include "../include/compat.h"
#include "../include/fovea-heap.h"
#include "broken.h"
#include "buffer.h"
#include "holder.h"

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
	/* One that was kept shows the old size. */
	heap_memory_vunmap(&b->memory);
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
