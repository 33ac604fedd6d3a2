// SPDX-License-Identifier: GPL-2.0-only
/* What the cache holds and has done: numbers in sysfs, devices and buffers in debugfs. */
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "../include/compat.h"
#include "cache.h"
#include "mapping.h"

#define TOTAL(_name)								\
static ssize_t _name##_show(struct kobject *kobj,				\
			    struct kobj_attribute *attr, char *buf)		\
{										\
	u64 value;								\
										\
	spin_lock(&heap_cache.lock);						\
	value = heap_cache.totals._name;					\
	spin_unlock(&heap_cache.lock);						\
	return sysfs_emit(buf, "%llu\n", value);				\
}										\
static struct kobj_attribute _name##_attribute = __ATTR_RO(_name);
HEAP_MAPCACHE_STATISTICS(TOTAL)

#define ATTRIBUTE(name)	&name##_attribute.attr,
static struct attribute *totals_attrs[] = {
	HEAP_MAPCACHE_STATISTICS(ATTRIBUTE)
	NULL,
};
#undef ATTRIBUTE

static const struct attribute_group totals_group = {
	.attrs = totals_attrs,
};

static int length(struct list_head *list)
{
	struct list_head *at;
	int count = 0;

	list_for_each(at, list)
		count++;
	return count;
}

static int devices_show(struct seq_file *file, void *unused)
{
	struct cache_device *d;

	spin_lock(&heap_cache.lock);
	list_for_each_entry(d, &heap_cache.devices, of_all)
		seq_printf(file, "%s busy=%u idle=%d mapped_bytes=%llu hits=%llu misses=%llu evicted=%llu\n",
			   dev_name(d->dev), d->nr_busy, length(&d->idle),
			   d->mapped_bytes, d->hits, d->misses, d->evicted);
	spin_unlock(&heap_cache.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(devices);

static int buffers_show(struct seq_file *file, void *unused)
{
	struct heap_mappings *b;

	spin_lock(&heap_cache.lock);
	list_for_each_entry(b, &heap_cache.buffers, of_all)
		seq_printf(file, "%s size_bytes=%llu pieces=%u idle=%d hits=%llu misses=%llu\n",
			   b->name, b->size_bytes, b->pages->orig_nents,
			   length(&b->idle), b->hits, b->misses);
	spin_unlock(&heap_cache.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(buffers);

bool heap_keeps_vmaps(void)
{
	return IS_ENABLED(CONFIG_64BIT) && READ_ONCE(heap_cache.on);
}
FOVEA_EXPORT(heap_keeps_vmaps, FOVEA_HEAP);

void heap_vmap_count(bool hit)
{
	spin_lock(&heap_cache.lock);
	if (hit)
		heap_cache.totals.vmap_hits++;
	else
		heap_cache.totals.vmap_misses++;
	spin_unlock(&heap_cache.lock);
}
FOVEA_EXPORT(heap_vmap_count, FOVEA_HEAP);

static struct kobject *totals_kobject;
static struct dentry *folder;

int heap_statistics_init(void)
{
	int error;

	totals_kobject = kobject_create_and_add(HEAP_MAPCACHE_FOLDER,
						&THIS_MODULE->mkobj.kobj);
	if (!totals_kobject)
		return -ENOMEM;
	error = sysfs_create_group(totals_kobject, &totals_group);
	if (error) {
		kobject_del(totals_kobject);
		kobject_put(totals_kobject);
		return error;
	}
	/* Nothing depends on debugfs, which a kernel may lack. */
	folder = debugfs_create_dir(HEAP_DEBUGFS_FOLDER, NULL);
	debugfs_create_file(HEAP_DEBUGFS_DEVICES, 0400, folder, NULL,
			    &devices_fops);
	debugfs_create_file(HEAP_DEBUGFS_BUFFERS, 0400, folder, NULL,
			    &buffers_fops);
	return 0;
}

/* Waits for whoever reads the files: what they read is about to go. */
void heap_statistics_exit(void)
{
	debugfs_remove(folder);
	kobject_del(totals_kobject);
	kobject_put(totals_kobject);
}
