// SPDX-License-Identifier: GPL-2.0-only
/*
 * A wrapped buffer: a copy of its exporter's operations in which attaching and mapping are the
 * cache's. All else stays the exporter's.
 *
 * The cache maps the memory that the exporter's own table names, so it must be known that the
 * table means memory. At the first use the exporter maps, and what its device was given is
 * compared with what the table names (reach.c), address for address. If they differ the buffer
 * stays its exporter's for good. While they cannot be compared, because the device is given
 * copies, each attachment is the exporter's until another one shows it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "../include/compat.h"
#include "broken.h"
#include "cache.h"
#include "mapping.h"
#include "memory.h"
#include "wrap.h"

struct wrap {
	/* The buffer's, which is how a buffer's wrap is found. */
	struct dma_buf_ops ops;
	const struct dma_buf_ops *stock;
	/* The exporter's module: its buffer holds this one now, which holds that. */
	struct module *owner;
	/* What follows, and mappings in use. */
	struct mutex lock;
	/* Whether a mapping is not simply the cache's: not known yet, or some are stock. */
	bool slow;
	bool known;
	bool refused;
	struct sg_table pages;
	struct heap_mappings mappings;
	/* Attachments that the exporter knows. */
	struct list_head stock_attachments;
	/* Where the kernel sees the buffer, if it ever has. */
	struct iosys_map kept;
};

struct stock_attachment {
	struct list_head list;
	struct dma_buf_attachment *at;
};

struct wrap_counts wrap_counts;

static struct wrap *wrap_of(struct dma_buf *dmabuf)
{
	return container_of((struct dma_buf_ops *)dmabuf->ops, struct wrap, ops);
}

static struct stock_attachment *find_stock(struct wrap *w, struct dma_buf_attachment *at)
{
	struct stock_attachment *s;

	lockdep_assert_held(&w->lock);
	list_for_each_entry(s, &w->stock_attachments, list)
		if (s->at == at)
			return s;
	return NULL;
}

static void update_slow(struct wrap *w)
{
	w->slow = !w->known || !list_empty(&w->stock_attachments);
}

static void stock_detach(struct wrap *w, struct stock_attachment *s)
{
	lockdep_assert_held(&w->lock);
	if (w->stock->detach)
		w->stock->detach(s->at->dmabuf, s->at);
	list_del(&s->list);
	kfree(s);
	update_slow(w);
}

static void wrap_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *at)
{
	struct wrap *w = wrap_of(dmabuf);
	struct stock_attachment *s;

	mutex_lock(&w->lock);
	s = find_stock(w, at);
	if (s)
		stock_detach(w, s);
	mutex_unlock(&w->lock);
}

/* The exporter hears of the attachment, which is its own from here on. */
static struct stock_attachment *stock_attach(struct wrap *w, struct dma_buf_attachment *at)
{
	struct stock_attachment *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int error;

	lockdep_assert_held(&w->lock);
	if (!s)
		return ERR_PTR(-ENOMEM);
	error = w->stock->attach ? w->stock->attach(at->dmabuf, at) : 0;
	if (error) {
		kfree(s);
		return ERR_PTR(error);
	}
	s->at = at;
	list_add(&s->list, &w->stock_attachments);
	update_slow(w);
	/* Before that there is nothing to detach, and no use pays for it. */
	w->ops.detach = wrap_detach;
	return s;
}

static void refuse(struct wrap *w, const struct dma_buf *dmabuf)
{
	w->refused = true;
	atomic64_inc(&wrap_counts.refused);
	pr_warn_once("%s: a device was given other memory than the exporter's list names, so its buffers of this kind stay as they are: leave it out of the parameter exporters\n",
		     dmabuf->exp_name);
}

static u64 bytes_of(const struct sg_table *table)
{
	struct scatterlist *sg;
	u64 sum = 0;
	int i;

	for_each_sgtable_sg(table, sg, i)
		sum += sg->length;
	return sum;
}

/* Whether the buffer's memory is known now, from a table that its exporter has mapped. */
static bool learn(struct wrap *w, struct dma_buf_attachment *at, const struct sg_table *table)
{
	enum heap_reach reach = HEAP_REACH_OWN;

	lockdep_assert_held(&w->lock);
	if (!HEAP_BROKEN_OFFSET) {
		reach = heap_reach(at->dev, table);
		/* A part of the buffer is not the buffer. */
		if (reach == HEAP_REACH_OWN && bytes_of(table) < at->dmabuf->size)
			reach = HEAP_REACH_OTHER;
	}
	if (reach == HEAP_REACH_OTHER)
		refuse(w, at->dmabuf);
	if (reach != HEAP_REACH_OWN || heap_pages_copy(&w->pages, table, 0, U64_MAX))
		return false;
	heap_mappings_init(&w->mappings, at->dmabuf->exp_name, &w->pages, at->dmabuf->size);
	w->known = true;
	return true;
}

static bool is_plain(struct wrap *w, struct dma_buf_attachment *at)
{
	return w->known && !find_stock(w, at);
}

/*
 * By the exporter; or null if the use is the cache's after all. Out of line: in line it would
 * have every later mapping save the registers that it takes.
 */
static noinline struct sg_table *stock_map(struct wrap *w, struct dma_buf_attachment *at,
					   enum dma_data_direction direction)
{
	struct stock_attachment *s = find_stock(w, at);
	struct sg_table *table;

	if (!s)
		s = stock_attach(w, at);
	if (IS_ERR(s))
		return ERR_CAST(s);
	table = w->stock->map_dma_buf(at, direction);
	if (IS_ERR_OR_NULL(table))
		return table ?: ERR_PTR(-ENOMEM);
	if (w->known || w->refused || !learn(w, at, table))
		return table;
	w->stock->unmap_dma_buf(at, table, direction);
	stock_detach(w, s);
	return NULL;
}

static int wrap_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *at)
{
	struct wrap *w = wrap_of(dmabuf);
	struct stock_attachment *s;

	heap_watch_attached(at->dev);
	if (likely(!READ_ONCE(w->refused)))
		return 0;
	mutex_lock(&w->lock);
	s = stock_attach(w, at);
	mutex_unlock(&w->lock);
	return PTR_ERR_OR_ZERO(s);
}

static struct sg_table *wrap_map(struct dma_buf_attachment *at,
				 enum dma_data_direction direction)
{
	struct wrap *w = wrap_of(at->dmabuf);
	struct heap_mapping *m;

	mutex_lock(&w->lock);
	if (unlikely(w->slow) && !is_plain(w, at)) {
		struct sg_table *table = stock_map(w, at, direction);

		if (table) {
			mutex_unlock(&w->lock);
			return table;
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
	if (unlikely(w->slow) && !is_plain(w, at))
		w->stock->unmap_dma_buf(at, table, direction);
	else
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

static int wrap_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct wrap *w = wrap_of(dmabuf);
	int error = 0;

	mutex_lock(&w->lock);
	heap_vmap_count(iosys_map_is_set(&w->kept));
	if (iosys_map_is_null(&w->kept))
		error = w->stock->vmap(dmabuf, &w->kept);
	*map = w->kept;
	mutex_unlock(&w->lock);
	return error;
}

static void wrap_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct wrap *w = wrap_of(dmabuf);

	if (heap_keeps_vmaps())
		return;
	mutex_lock(&w->lock);
	w->stock->vunmap(dmabuf, &w->kept);
	iosys_map_clear(&w->kept);
	mutex_unlock(&w->lock);
}

/* The caller puts this module when it is out of here: it is the buffer's owner. */
static void wrap_release(struct dma_buf *dmabuf)
{
	struct wrap *w = wrap_of(dmabuf);

	if (w->known) {
		heap_mappings_drop(&w->mappings);
		sg_free_table(&w->pages);
	}
	if (iosys_map_is_set(&w->kept)) {
		/* Nobody else has it; udmabuf wants the lock held all the same. */
		dma_resv_lock(dmabuf->resv, NULL);
		w->stock->vunmap(dmabuf, &w->kept);
		dma_resv_unlock(dmabuf->resv);
	}
	dmabuf->ops = w->stock;
	w->stock->release(dmabuf);
	module_put(w->owner);
	mutex_destroy(&w->lock);
	kfree(w);
}

bool wrap_begin(struct dma_buf *dmabuf)
{
	struct wrap *w = kzalloc(sizeof(*w), GFP_ATOMIC | __GFP_NOWARN);

	if (!w)
		return false;
	if (!try_module_get(THIS_MODULE)) {
		kfree(w);
		return false;
	}
	mutex_init(&w->lock);
	INIT_LIST_HEAD(&w->stock_attachments);
	w->stock = dmabuf->ops;
	w->owner = dmabuf->owner;
	w->slow = true;
	iosys_map_clear(&w->kept);
	w->ops = *dmabuf->ops;
	w->ops.attach = wrap_attach;
	w->ops.detach = NULL;
	w->ops.map_dma_buf = wrap_map;
	w->ops.unmap_dma_buf = wrap_unmap;
	w->ops.begin_cpu_access = wrap_begin_cpu;
	w->ops.end_cpu_access = wrap_end_cpu;
	w->ops.release = wrap_release;
	if (w->ops.vmap && w->ops.vunmap) {
		w->ops.vmap = wrap_vmap;
		w->ops.vunmap = wrap_vunmap;
	}
	/* What this leaves mapped with an attachment, it does not sync. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
	w->ops.cache_sgt_mapping = false;
#endif
	dmabuf->owner = THIS_MODULE;
	dmabuf->ops = &w->ops;
	atomic64_inc(&wrap_counts.wrapped);
	return true;
}
