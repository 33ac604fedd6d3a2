// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Shows frames of videotestsrc on several V4L2 outputs at once. Each frame is in one buffer of a
 * heap, which all outputs' queues import:
 *   share /dev/fovea-heap/system FRAMES WIDTH HEIGHT /dev/videoN…
 */
#define _GNU_SOURCE
#include "../fovea-heap.h"

#include <gst/allocators/gstdmabuf.h>
#include <stdio.h>
#include <unistd.h>

/* GStreamer's allocator of DMA-BUFs, which has none of its own to allocate from. */
typedef struct {
	GstDmaBufAllocator parent;
	struct fovea_heap *heap;
	guint allocated;
} HeapAllocator;
typedef GstDmaBufAllocatorClass HeapAllocatorClass;

G_DEFINE_TYPE(HeapAllocator, heap_allocator, GST_TYPE_DMABUF_ALLOCATOR)

static GstMemory *allocate(GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
	HeapAllocator *self = (HeapAllocator *)allocator;
	struct fovea_buffer *buffer = fovea_buffer_alloc(self->heap, size + params->prefix + params->padding);
	int fd;

	if (!buffer)
		return NULL;
	/* The memory closes its own descriptor. */
	fd = dup(fovea_buffer_fd(buffer));
	fovea_buffer_free(buffer);
	if (fd < 0)
		return NULL;
	self->allocated++;
	return gst_dmabuf_allocator_alloc(allocator, fd, size);
}

static void heap_allocator_class_init(HeapAllocatorClass *class)
{
	GST_ALLOCATOR_CLASS(class)->alloc = allocate;
}

static void heap_allocator_init(HeapAllocator *self)
{
	(void)self;
}

/* The source asks what to allocate of; no output is asked, since each would offer memory of its own. */
static GstPadProbeReturn propose(GstPad *pad, GstPadProbeInfo *info, gpointer allocator)
{
	GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);

	(void)pad;
	if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
		return GST_PAD_PROBE_OK;
	gst_query_add_allocation_param(query, allocator, NULL);
	return GST_PAD_PROBE_HANDLED;
}

static gboolean play(GString *text, GstAllocator *allocator)
{
	g_autoptr(GError) error = NULL;
	GstElement *pipeline = gst_parse_launch(text->str, &error), *tee;
	gboolean done = FALSE;
	GstMessage *message;
	GstPad *pad;

	if (!pipeline) {
		g_printerr("%s\n", error->message);
		return FALSE;
	}
	tee = gst_bin_get_by_name(GST_BIN(pipeline), "tee");
	pad = gst_element_get_static_pad(tee, "sink");
	gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, propose, allocator, NULL);
	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	message = gst_bus_timed_pop_filtered(GST_ELEMENT_BUS(pipeline), 120 * GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
	if (!message) {
		g_printerr("the pipeline does not end\n");
	} else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS) {
		done = TRUE;
	} else {
		g_autofree gchar *more = NULL;

		gst_message_parse_error(message, &error, &more);
		g_printerr("%s: %s\n", error->message, more);
	}
	g_clear_pointer(&message, gst_message_unref);
	gst_element_set_state(pipeline, GST_STATE_NULL);
	gst_object_unref(pad);
	gst_object_unref(tee);
	gst_object_unref(pipeline);
	return done;
}

int main(int argc, char **argv)
{
	g_autoptr(GString) text = g_string_new(NULL);
	HeapAllocator *allocator;
	gboolean played;
	int i;

	gst_init(NULL, NULL);
	if (argc < 6) {
		g_printerr("usage: share HEAP FRAMES WIDTH HEIGHT OUTPUT…\n");
		return 2;
	}
	if (!gst_element_factory_find("v4l2sink") || !gst_element_factory_find("videotestsrc")) {
		g_printerr("no element v4l2sink or videotestsrc: install gstreamer1.0-plugins-good and gstreamer1.0-plugins-base\n");
		return 3;
	}
	allocator = gst_object_ref_sink(g_object_new(heap_allocator_get_type(), NULL));
	allocator->heap = fovea_heap_open(argv[1]);
	if (!allocator->heap) {
		perror(argv[1]);
		return 3;
	}
	g_string_printf(text, "videotestsrc pattern=solid-color num-buffers=%s ! "
			"video/x-raw,format=YUY2,width=%s,height=%s ! tee name=tee", argv[2], argv[3], argv[4]);
	for (i = 5; i < argc; i++)
		g_string_append_printf(text, " tee. ! queue ! v4l2sink device=%s io-mode=dmabuf-import sync=false", argv[i]);
	played = play(text, GST_ALLOCATOR_CAST(allocator));
	g_print("%s frames on %d outputs in %u buffers\n", argv[2], argc - 5, allocator->allocated);
	fovea_heap_close(allocator->heap);
	gst_object_unref(allocator);
	return played ? 0 : 1;
}
