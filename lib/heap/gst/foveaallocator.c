// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* foveaallocator.h says what this is. */
#include "foveaallocator.h"

#define FOVEA_MEMORY_TYPE	"FoveaMemory"

struct _FoveaAllocator {
	GstAllocator parent;
	FoveaAllocate allocate;
	gpointer data;
	GDestroyNotify free_data;
};

typedef struct {
	GstMemory memory;
	struct fovea_buffer *buffer;
} FoveaMemory;

G_DEFINE_FINAL_TYPE(FoveaAllocator, fovea_allocator, GST_TYPE_ALLOCATOR)

struct fovea_buffer *fovea_memory_buffer(GstMemory *memory)
{
	return gst_memory_is_type(memory, FOVEA_MEMORY_TYPE) ? ((FoveaMemory *)memory)->buffer : NULL;
}

/* Takes the hold on `buffer` over. */
static GstMemory *wrap(GstAllocator *allocator, struct fovea_buffer *buffer, GstMemory *parent, GstMemoryFlags flags,
		       gsize maxsize, gsize align, gsize offset, gsize size)
{
	FoveaMemory *memory = g_new0(FoveaMemory, 1);

	gst_memory_init(GST_MEMORY_CAST(memory), flags, allocator, parent, maxsize, align, offset, size);
	memory->buffer = buffer;
	return GST_MEMORY_CAST(memory);
}

static GstMemory *allocate(GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
	FoveaAllocator *self = FOVEA_ALLOCATOR(allocator);
	gsize maxsize = size + params->prefix + params->padding;
	struct fovea_buffer *buffer = self->allocate(self->data, maxsize);

	if (!buffer)
		return NULL;
	/* Pages, so any alignment that is asked for holds; a new buffer is zero, prefix and padding included. */
	return wrap(allocator, buffer, NULL, params->flags, maxsize, params->align, params->prefix, size);
}

static void release(GstAllocator *allocator, GstMemory *memory)
{
	(void)allocator;
	fovea_buffer_free(((FoveaMemory *)memory)->buffer);
	g_free(memory);
}

static unsigned int access_of(GstMapFlags flags)
{
	unsigned int access = (flags & GST_MAP_READ ? FOVEA_READ : 0) | (flags & GST_MAP_WRITE ? FOVEA_WRITE : 0);

	return access ? access : FOVEA_READ | FOVEA_WRITE;
}

static gpointer map_full(GstMemory *memory, GstMapInfo *info, gsize maxsize)
{
	struct fovea_buffer *buffer = ((FoveaMemory *)memory)->buffer;
	gpointer start = fovea_buffer_map(buffer);

	(void)maxsize;
	if (start && fovea_buffer_begin(buffer, access_of(info->flags))) {
		fovea_buffer_unmap(buffer);
		return NULL;
	}
	return start;
}

static void unmap_full(GstMemory *memory, GstMapInfo *info)
{
	struct fovea_buffer *buffer = ((FoveaMemory *)memory)->buffer;

	fovea_buffer_end(buffer, access_of(info->flags));
	fovea_buffer_unmap(buffer);
}

/* A part of a memory is of the same buffer. */
static GstMemory *share(GstMemory *memory, gssize offset, gssize size)
{
	GstMemory *parent = memory->parent ? memory->parent : memory;
	GstMemoryFlags flags = GST_MINI_OBJECT_FLAGS(parent) | GST_MINI_OBJECT_FLAG_LOCK_READONLY;
	gsize length = size < 0 ? memory->size - (gsize)offset : (gsize)size;

	return wrap(memory->allocator, fovea_buffer_hold(((FoveaMemory *)memory)->buffer), parent, flags, memory->maxsize,
		    memory->align, memory->offset + (gsize)offset, length);
}

static void finalize(GObject *object)
{
	FoveaAllocator *self = FOVEA_ALLOCATOR(object);

	if (self->free_data)
		self->free_data(self->data);
	G_OBJECT_CLASS(fovea_allocator_parent_class)->finalize(object);
}

static void fovea_allocator_class_init(FoveaAllocatorClass *class)
{
	GST_ALLOCATOR_CLASS(class)->alloc = allocate;
	GST_ALLOCATOR_CLASS(class)->free = release;
	G_OBJECT_CLASS(class)->finalize = finalize;
}

static void fovea_allocator_init(FoveaAllocator *self)
{
	GstAllocator *allocator = GST_ALLOCATOR_CAST(self);

	allocator->mem_type = FOVEA_MEMORY_TYPE;
	allocator->mem_map_full = map_full;
	allocator->mem_unmap_full = unmap_full;
	allocator->mem_share = share;
	/* Else elements think that any memory of any allocator will do. */
	GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

GstAllocator *fovea_allocator_new_with(FoveaAllocate allocate_buffer, gpointer data, GDestroyNotify free_data)
{
	FoveaAllocator *self = g_object_new(FOVEA_TYPE_ALLOCATOR, NULL);

	self->allocate = allocate_buffer;
	self->data = data;
	self->free_data = free_data;
	return gst_object_ref_sink(self);
}

static struct fovea_buffer *of_heap(gpointer heap, guint64 size_bytes)
{
	return fovea_buffer_alloc(heap, size_bytes);
}

static void close_heap(gpointer heap)
{
	fovea_heap_close(heap);
}

GstAllocator *fovea_allocator_new(struct fovea_heap *heap)
{
	return fovea_allocator_new_with(of_heap, heap, close_heap);
}
