/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Memory for GStreamer that devices can share: a GstAllocator of libfovea-heap's buffers. A
 * pool that recycles its memory, as all of GStreamer's do, maps each buffer once.
 */
#ifndef FOVEA_ALLOCATOR_H
#define FOVEA_ALLOCATOR_H

#include <fovea-heap.h>
#include <gst/gst.h>

G_BEGIN_DECLS

#define FOVEA_TYPE_ALLOCATOR (fovea_allocator_get_type())
G_DECLARE_FINAL_TYPE(FoveaAllocator, fovea_allocator, FOVEA, ALLOCATOR, GstAllocator)

/* A new buffer of at least so many bytes, or null. */
typedef struct fovea_buffer *(*FoveaAllocate)(gpointer data, guint64 size_bytes);

/* Of a heap, which the allocator closes at its end. */
GstAllocator *fovea_allocator_new(struct fovea_heap *heap);
/* Of whatever `allocate` returns. */
GstAllocator *fovea_allocator_new_with(FoveaAllocate allocate, gpointer data, GDestroyNotify free_data);

/* The buffer behind a memory of such an allocator, whose descriptor a device's driver takes; or null. */
struct fovea_buffer *fovea_memory_buffer(GstMemory *memory);

G_END_DECLS

#endif /* FOVEA_ALLOCATOR_H */
