// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Plays frames of videotestsrc through buffers of a heap and compares each with the same
 * frame in GStreamer's own memory:
 *   play /dev/fovea-heap/system [FRAMES]
 * With "memory" for the heap the buffers are plain memory, which any machine has.
 */
#define _GNU_SOURCE
#include "foveaallocator.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES_MAX	1000

/* What came out of one pipeline. */
struct seen {
	GstAllocator *allocator;
	guint frames;
	guint64 sums[FRAMES_MAX];
	/* Of memory that is not the allocator's, or that could not be read. */
	guint foreign;
	/* Buffers by their descriptor, and where each is mapped. */
	GHashTable *places;
	guint moved;
};

static void look_at(GstElement *sink, GstBuffer *frame, GstPad *pad, gpointer data)
{
	struct seen *seen = data;
	GstMemory *memory = gst_buffer_peek_memory(frame, 0);
	struct fovea_buffer *buffer = fovea_memory_buffer(memory);
	guint64 sum = 14695981039346656037u;
	GstMapInfo info;
	gpointer before;
	gsize i;

	(void)sink;
	(void)pad;
	if (seen->frames == FRAMES_MAX)
		return;
	if ((seen->allocator && memory->allocator != seen->allocator) || !gst_buffer_map(frame, &info, GST_MAP_READ)) {
		seen->foreign++;
		return;
	}
	for (i = 0; i < info.size; i++)
		sum = (sum ^ info.data[i]) * 1099511628211u;
	if (buffer) {
		before = g_hash_table_lookup(seen->places, GINT_TO_POINTER(fovea_buffer_fd(buffer)));
		seen->moved += before && before != info.data;
		g_hash_table_insert(seen->places, GINT_TO_POINTER(fovea_buffer_fd(buffer)), info.data);
	}
	gst_buffer_unmap(frame, &info);
	seen->sums[seen->frames++] = sum;
}

/* The source asks what to allocate of. */
static GstPadProbeReturn propose(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
	GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);

	(void)pad;
	if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
		return GST_PAD_PROBE_OK;
	gst_query_add_allocation_param(query, data, NULL);
	return GST_PAD_PROBE_HANDLED;
}

static gboolean play(guint frames, struct seen *seen)
{
	g_autofree gchar *text = g_strdup_printf(
		"videotestsrc pattern=ball num-buffers=%u ! video/x-raw,format=NV12,width=640,height=360,framerate=30/1 ! "
		"fakesink name=sink signal-handoffs=true sync=false", frames);
	GstElement *pipeline = gst_parse_launch(text, NULL), *sink;
	GstMessage *message;
	gboolean done = FALSE;
	GstPad *pad;

	if (!pipeline)
		return FALSE;
	sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
	pad = gst_element_get_static_pad(sink, "sink");
	g_signal_connect(sink, "handoff", G_CALLBACK(look_at), seen);
	if (seen->allocator)
		gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, propose, seen->allocator, NULL);
	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	message = gst_bus_timed_pop_filtered(GST_ELEMENT_BUS(pipeline), 60 * GST_SECOND, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
	if (message) {
		done = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
		gst_message_unref(message);
	}
	gst_element_set_state(pipeline, GST_STATE_NULL);
	gst_object_unref(pad);
	gst_object_unref(sink);
	gst_object_unref(pipeline);
	return done && seen->frames == frames;
}

/* Plain memory in a buffer's place. */
static struct fovea_buffer *memory(gpointer data, guint64 size_bytes)
{
	struct fovea_buffer *buffer = NULL;
	int fd = memfd_create("frame", MFD_CLOEXEC);

	(void)data;
	if (fd >= 0 && ftruncate(fd, (off_t)size_bytes) == 0)
		buffer = fovea_buffer_import(fd);
	close(fd);
	return buffer;
}

/* A part of a memory, which shares its buffer, shows the part's bytes. */
static gboolean parts(GstAllocator *allocator)
{
	GstMemory *whole = gst_allocator_alloc(allocator, 10000, NULL), *part;
	GstMapInfo info;
	gboolean right;

	if (!whole || !gst_memory_map(whole, &info, GST_MAP_WRITE))
		return FALSE;
	info.data[5000] = 77;
	gst_memory_unmap(whole, &info);
	part = gst_memory_share(whole, 4990, 20);
	right = gst_memory_map(part, &info, GST_MAP_READ) && info.size == 20 && info.data[10] == 77;
	gst_memory_unmap(part, &info);
	gst_memory_unref(whole);
	gst_memory_unref(part);
	return right;
}

int main(int argc, char **argv)
{
	static struct seen own, ours;
	guint frames = argc > 2 ? (guint)g_ascii_strtoull(argv[2], NULL, 10) : 60;
	struct fovea_heap *heap;
	gboolean played, same;

	gst_init(NULL, NULL);
	if (argc < 2 || frames == 0 || frames > FRAMES_MAX) {
		g_printerr("usage: play HEAP|memory [FRAMES]\n");
		return 2;
	}
	if (!gst_element_factory_find("videotestsrc")) {
		g_printerr("no element videotestsrc: install gstreamer1.0-plugins-base\n");
		return 3;
	}
	if (g_str_equal(argv[1], "memory")) {
		ours.allocator = fovea_allocator_new_with(memory, NULL, NULL);
	} else {
		heap = fovea_heap_open(argv[1]);
		if (!heap) {
			perror(argv[1]);
			return 3;
		}
		ours.allocator = fovea_allocator_new(heap);
	}
	ours.places = g_hash_table_new(NULL, NULL);
	played = play(frames, &own) && play(frames, &ours);
	same = played && memcmp(own.sums, ours.sums, sizeof(own.sums[0]) * frames) == 0;
	g_print("%u frames of GStreamer's, %u of %u buffers of ours: %s, %u foreign, %u mapped again\n", own.frames,
		ours.frames, g_hash_table_size(ours.places), same ? "the same content" : "WRONG CONTENT", ours.foreign, ours.moved);
	same = same && !ours.foreign && !ours.moved && g_hash_table_size(ours.places) > 0 && parts(ours.allocator);
	/* Nobody holds it any more. */
	same = same && GST_OBJECT_REFCOUNT_VALUE(ours.allocator) == 1;
	g_hash_table_destroy(ours.places);
	gst_object_unref(ours.allocator);
	return same ? 0 : 1;
}
