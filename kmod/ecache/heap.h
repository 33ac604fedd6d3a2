/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device node per reservation, /dev/ecache/NAME, that speaks the DMA-BUF heaps' UAPI
 * (DMA_HEAP_IOCTL_ALLOC) and returns one contiguous DMA-BUF. The heaps' own registry is
 * not open to modules, hence misc devices. Where the memory comes from is the owner's.
 */
#ifndef FOVEA_ECACHE_HEAP_H
#define FOVEA_ECACHE_HEAP_H

#include <linux/miscdevice.h>
#include <linux/types.h>

#include "pool.h"

/* Contiguous memory of a device. */
struct heap_range {
	phys_addr_t phys;
	void *vaddr;
	u64 size_bytes;
};

struct heap_node;

/* Where a node's memory comes from. */
struct heap_source {
	/* Gives `range->size_bytes`, at most the reservation; content is not cleared. */
	int (*alloc)(struct heap_node *node, struct heap_range *range);
	/* Called once a buffer, before anything is written to it; may be NULL. */
	void (*salvage)(struct heap_node *node);
	void (*free)(struct heap_node *node, const struct heap_range *range);
	u64 (*held_bytes)(struct heap_node *node);
	/* Whether buffers are cleared before the allocation returns. */
	bool (*zero_at_alloc)(void);
};

struct heap_node {
	struct miscdevice misc;
	char node_name[POOL_NAME_BYTES + 8];
	const char *name;
	const struct heap_source *source;
	u64 size_bytes;
	/* The device's number in its owner's list. */
	u32 device;
	/* Set once by the owner, when buffers may be asked for. */
	bool open;
};

/* Makes and removes a node; name, source, size_bytes and device are set by the caller. */
int heap_node_add(struct heap_node *node);
void heap_node_remove(struct heap_node *node);

/* A range as a DMA-BUF file descriptor; frees the range on failure and at release. */
int heap_buffer_export(struct heap_node *node, const struct heap_range *range,
		       u32 fd_flags);

/* Reads "NAME:SIZE,NAME:SIZE" into a new list; its length or a negative errno. */
int heap_devices_parse(const char *text, struct pool_device **list);

#endif /* FOVEA_ECACHE_HEAP_H */
