/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device buffers, for modules that have memory for them: a source. For each device of
 * its own a source makes a node, /dev/ecache/NAME, that speaks the DMA-BUF heaps' UAPI
 * (DMA_HEAP_IOCTL_ALLOC) and returns a DMA-BUF. The heaps' own registry is
 * not open to modules, hence misc devices.
 *
 * An open node and a buffer hold the source's module: it cannot be unloaded under either.
 * Nor can fovea-heap before the last module that uses it.
 */
#ifndef FOVEA_HEAP_H
#define FOVEA_HEAP_H

#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#define HEAP_NAME_BYTES	32

/* Memory of a device. */
struct heap_range {
	u64 size_bytes;
	/* Contiguous. */
	phys_addr_t phys;
	void *vaddr;
	/* Or scattered, in whole pages: a source that fills this leaves the two alone. */
	struct sg_table pages;
};

struct heap_node;

/* Where a node's memory comes from. All may sleep. */
struct heap_source {
	/* Whose code and memory this is. */
	struct module *owner;
	/*
	 * Gives `range->size_bytes`, at most the reservation. Contiguous memory is cleared
	 * for the source, when somebody first can see it; scattered memory comes cleared.
	 */
	int (*alloc)(struct heap_node *node, struct heap_range *range);
	/* Called once a buffer, before anything is written to it; may be NULL. */
	void (*salvage)(struct heap_node *node, const struct heap_range *range);
	void (*free)(struct heap_node *node, const struct heap_range *range);
	u64 (*held_bytes)(struct heap_node *node);
	/* Scattered memory whose pieces, compound pages, may come and go one by one. */
	bool resizable;
	/* Whether buffers are cleared before the allocation returns. */
	bool (*zero_at_alloc)(void);
};

/* The source's, which sets the first four; part of what it keeps of a device. */
struct heap_node {
	const char *name;
	/* Below /dev; HEAP_FOLDER if null. */
	const char *folder;
	const struct heap_source *source;
	/* The device's reservation; 0 if there is none and `alloc` says what is too much. */
	u64 size_bytes;

	/* Not for sources. */
	struct miscdevice misc;
	char path[HEAP_NAME_BYTES + 16];
	struct list_head list;
	bool open;
};

/*
 * Makes a node, which nobody can open before heap_node_open(): a source that fails to
 * load after this one has no file and no buffer out. -EEXIST if another source, or this
 * one, has a device of that name.
 */
int heap_node_add(struct heap_node *node);
/* When nothing can fail any more. */
void heap_node_open(struct heap_node *node);
/* In the source's exit, or in an init that fails: no file and no buffer is left. */
void heap_node_remove(struct heap_node *node);

/* A device's name and reservation, as a source's parameter `devices` gives them. */
struct heap_device {
	char name[HEAP_NAME_BYTES];
	u64 size_bytes;
};

/*
 * Reads "NAME:SIZE,NAME:SIZE" into a new list, which the caller frees; its length or a
 * negative errno. What is wrong is said in the name of `owner`, whose parameter it is.
 */
int heap_devices_parse(struct module *owner, const char *text, int max,
		       struct heap_device **list);

#endif /* FOVEA_HEAP_H */
