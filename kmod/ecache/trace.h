/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events: every access to the eCache, as the laboratory replays them. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ecache

#if !defined(FOVEA_ECACHE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define FOVEA_ECACHE_TRACE_H

#include <linux/blkdev.h>
#include <linux/tracepoint.h>

#include "../include/compat.h"

/* A page of a file is read: was its block cached? ino 0: file system metadata. */
TRACE_EVENT(ecache_get,
	TP_PROTO(dev_t dev, unsigned long ino, unsigned long index, u64 block,
		 bool hit),
	TP_ARGS(dev, ino, index, block, hit),
	TP_STRUCT__entry(
		__field(u64, block)
		__field(unsigned long, ino)
		__field(unsigned long, index)
		__field(dev_t, dev)
		__field(u8, hit)
	),
	TP_fast_assign(
		__entry->block = block;
		__entry->ino = ino;
		__entry->index = index;
		__entry->dev = dev;
		__entry->hit = hit;
	),
	TP_printk("dev=%d:%d ino=%lu index=%lu block=%llu hit=%u",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->ino,
		  __entry->index, __entry->block, __entry->hit)
);

/* A clean page left the page cache and is kept. */
TRACE_EVENT(ecache_put,
	TP_PROTO(dev_t dev, unsigned long ino, unsigned long index, u64 block),
	TP_ARGS(dev, ino, index, block),
	TP_STRUCT__entry(
		__field(u64, block)
		__field(unsigned long, ino)
		__field(unsigned long, index)
		__field(dev_t, dev)
	),
	TP_fast_assign(
		__entry->block = block;
		__entry->ino = ino;
		__entry->index = index;
		__entry->dev = dev;
	),
	TP_printk("dev=%d:%d ino=%lu index=%lu block=%llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->ino,
		  __entry->index, __entry->block)
);

/* A device took frames that held so many cached pages. */
TRACE_EVENT(ecache_alloc,
	TP_PROTO(const char *name, u32 first, u32 count, u64 discarded),
	TP_ARGS(name, first, count, discarded),
	TP_STRUCT__entry(
		__field(u64, discarded)
		__field(u32, first)
		__field(u32, count)
		__string(name, name)
	),
	TP_fast_assign(
		__entry->discarded = discarded;
		__entry->first = first;
		__entry->count = count;
		fovea_assign_str(name, name);
	),
	TP_printk("name=%s first=%u count=%u discarded=%llu",
		  __get_str(name), __entry->first, __entry->count,
		  __entry->discarded)
);

/* So many of the pages in a device's frames were moved elsewhere. */
TRACE_EVENT(ecache_salvage,
	TP_PROTO(const char *name, u32 pages),
	TP_ARGS(name, pages),
	TP_STRUCT__entry(
		__field(u32, pages)
		__string(name, name)
	),
	TP_fast_assign(
		__entry->pages = pages;
		fovea_assign_str(name, name);
	),
	TP_printk("name=%s pages=%u", __get_str(name), __entry->pages)
);

/* A device gave its frames back. */
TRACE_EVENT(ecache_free,
	TP_PROTO(const char *name),
	TP_ARGS(name),
	TP_STRUCT__entry(
		__string(name, name)
	),
	TP_fast_assign(
		fovea_assign_str(name, name);
	),
	TP_printk("name=%s", __get_str(name))
);

#endif /* FOVEA_ECACHE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
