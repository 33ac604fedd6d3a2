// SPDX-License-Identifier: GPL-2.0-only
/*
 * fovea-heap-wrap: the mapping cache for buffers of the kernel's own exporters, the system
 * heap and udmabuf, without a patch. When dma_buf_export() returns a buffer of theirs, before
 * anybody else can know it, its operations are replaced by a copy in which attaching and
 * mapping are the cache's. All else stays the exporter's.
 *
 * Only for exporters whose pages never move and are ordinary memory: none that pins
 * on demand, none that is not named. docs/mapping-cache.md has the risks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../include/compat.h"
#include "buffer.h"
#include "cache.h"
#include "mapping.h"
#include "memory.h"

static char *exporters = "system,udmabuf";
module_param(exporters, charp, 0444);
MODULE_PARM_DESC(exporters, "Whose buffers, by the exporters' names, separated by commas");

struct wrap {
	/* The buffer's, which is how a buffer's wrap is found. */
	struct dma_buf_ops ops;
	const struct dma_buf_ops *stock;
	/* The exporter's module: its buffer holds this one now, which holds that. */
	struct module *owner;
	/* Mappings in use, and the pages. */
	struct mutex lock;
	/* Known from the first mapping on. */
	bool known;
	struct sg_table pages;
	struct heap_mappings mappings;
};

static struct wrap *wrap_of(struct dma_buf *dmabuf)
{
	return container_of((struct dma_buf_ops *)dmabuf->ops, struct wrap, ops);
}

/*
 * The exporter maps once, for an importer of ours, and its pages are seen. Out of line: in
 * line it would have every later mapping save the registers that it takes.
 */
static noinline int learn(struct wrap *w, struct dma_buf_attachment *at,
		 enum dma_data_direction direction)
{
	struct dma_buf_attachment own = { .dmabuf = at->dmabuf, .dev = at->dev };
	struct sg_table *table;
	int error = 0;

	lockdep_assert_held(&w->lock);
	INIT_LIST_HEAD(&own.node);
	if (w->stock->attach)
		error = w->stock->attach(at->dmabuf, &own);
	if (error)
		return error;
	table = w->stock->map_dma_buf(&own, direction);
	if (IS_ERR(table)) {
		error = PTR_ERR(table);
	} else {
		error = heap_pages_copy(&w->pages, table, 0, U64_MAX);
		w->stock->unmap_dma_buf(&own, table, direction);
	}
	if (w->stock->detach)
		w->stock->detach(at->dmabuf, &own);
	if (error)
		return error;
	heap_mappings_init(&w->mappings, at->dmabuf->exp_name, &w->pages,
			   at->dmabuf->size);
	w->known = true;
	return 0;
}

static int wrap_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *at)
{
	heap_watch_attached(at->dev);
	return 0;
}

static struct sg_table *wrap_map(struct dma_buf_attachment *at,
				 enum dma_data_direction direction)
{
	struct wrap *w = wrap_of(at->dmabuf);
	struct heap_mapping *m;
	int error;

	mutex_lock(&w->lock);
	if (unlikely(!w->known)) {
		error = learn(w, at, direction);
		if (error) {
			mutex_unlock(&w->lock);
			return ERR_PTR(error);
		}
	}
	m = heap_cache_get(&w->mappings, at->dev, direction);
	mutex_unlock(&w->lock);
	return IS_ERR(m) ? ERR_CAST(m) : &m->table;
}

static void wrap_unmap(struct dma_buf_attachment *at, struct sg_table *table,
		       enum dma_data_direction direction)
{
	struct wrap *w = wrap_of(at->dmabuf);

	mutex_lock(&w->lock);
	heap_cache_put(container_of(table, struct heap_mapping, table));
	mutex_unlock(&w->lock);
}

static int wrap_begin_cpu(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	struct wrap *w = wrap_of(dmabuf);
	struct heap_mapping *m;
	int error = 0;

	mutex_lock(&w->lock);
	if (w->known)
		list_for_each_entry(m, &w->mappings.busy, of_buffer)
			heap_mapping_begin_cpu(m);
	mutex_unlock(&w->lock);
	if (w->stock->begin_cpu_access)
		error = w->stock->begin_cpu_access(dmabuf, direction);
	return error;
}

static int wrap_end_cpu(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	struct wrap *w = wrap_of(dmabuf);
	struct heap_mapping *m;
	int error = 0;

	if (w->stock->end_cpu_access)
		error = w->stock->end_cpu_access(dmabuf, direction);
	mutex_lock(&w->lock);
	if (w->known)
		list_for_each_entry(m, &w->mappings.busy, of_buffer)
			heap_mapping_end_cpu(m, direction);
	mutex_unlock(&w->lock);
	return error;
}

/* The caller puts this module when it is out of here: it is the buffer's owner. */
static void wrap_release(struct dma_buf *dmabuf)
{
	struct wrap *w = wrap_of(dmabuf);

	if (w->known) {
		heap_mappings_drop(&w->mappings);
		sg_free_table(&w->pages);
	}
	dmabuf->ops = w->stock;
	w->stock->release(dmabuf);
	module_put(w->owner);
	mutex_destroy(&w->lock);
	kfree(w);
}

static bool is_named(const char *name)
{
	const char *at = exporters;
	size_t length = strlen(name);

	while (at && *at) {
		if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
			return true;
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return false;
}

static bool is_wanted(const struct dma_buf *dmabuf)
{
	const struct dma_buf_ops *ops = dmabuf->ops;

	if (ops->pin || ops->unpin || !ops->map_dma_buf || !ops->unmap_dma_buf)
		return false;
	return dmabuf->exp_name && is_named(dmabuf->exp_name) &&
	       !heap_buffer_is(dmabuf);
}

/* In the exporter's call, with the buffer that it is about to return; may not sleep. */
static int exported(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct dma_buf *dmabuf = (struct dma_buf *)regs_return_value(regs);
	struct wrap *w;

	if (IS_ERR_OR_NULL(dmabuf) || !is_wanted(dmabuf))
		return 0;
	w = kzalloc(sizeof(*w), GFP_ATOMIC | __GFP_NOWARN);
	if (!w)
		return 0;
	if (!try_module_get(THIS_MODULE)) {
		kfree(w);
		return 0;
	}
	mutex_init(&w->lock);
	w->stock = dmabuf->ops;
	w->owner = dmabuf->owner;
	w->ops = *dmabuf->ops;
	w->ops.attach = wrap_attach;
	w->ops.detach = NULL;
	w->ops.map_dma_buf = wrap_map;
	w->ops.unmap_dma_buf = wrap_unmap;
	w->ops.begin_cpu_access = wrap_begin_cpu;
	w->ops.end_cpu_access = wrap_end_cpu;
	w->ops.release = wrap_release;
	/* What this leaves mapped with an attachment, it does not sync. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
	w->ops.cache_sgt_mapping = false;
#endif
	dmabuf->owner = THIS_MODULE;
	dmabuf->ops = &w->ops;
	return 0;
}

/* One that is missed, as more are exported at once, is not wrapped. */
static struct kretprobe probe = {
	.kp.symbol_name = "dma_buf_export",
	.handler = exported,
	.maxactive = 32,
};

static int __init wrap_init(void)
{
	int error = register_kretprobe(&probe);

	if (error)
		pr_err("dma_buf_export() cannot be watched: error %d: is the kernel built with CONFIG_KRETPROBES?\n",
		       error);
	return error;
}

/* No buffer is wrapped any more, as each holds the module. */
static void __exit wrap_exit(void)
{
	unregister_kretprobe(&probe);
}

module_init(wrap_init);
module_exit(wrap_exit);
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("The mapping cache for buffers of the kernel's own exporters");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(DMA_BUF);
FOVEA_IMPORT_NS(FOVEA_HEAP);
