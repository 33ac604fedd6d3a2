// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ecache: memory reserved for devices as the page cache's second level while it is
 * idle (seed 000). Parameters, state in /sys/module/dm_ecache, and the order of things.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "devices.h"
#include "follow.h"
#include "heap.h"
#include "pool.h"
#include "target.h"
#include "track.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static char *carveouts = "";
module_param(carveouts, charp, 0444);
MODULE_PARM_DESC(carveouts, "Memory: SIZE@ADDRESS, of:NODE or contig:SIZE, separated by commas");

static char *devices = "";
module_param(devices, charp, 0444);
MODULE_PARM_DESC(devices, "Reservations: NAME:SIZE, separated by commas");

static int policy_set(const char *text, const struct kernel_param *param)
{
	int error = pool_set_policy(text);

	if (error == -EINVAL)
		pr_err("policy: none of static, random, count, lru, aged\n");
	return error;
}

static int policy_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n",
			  pool_policy_name(READ_ONCE(pool.policy)));
}

static const struct kernel_param_ops policy_ops = {
	.set = policy_set,
	.get = policy_get,
};
module_param_cb(policy, &policy_ops, NULL, 0644);
MODULE_PARM_DESC(policy, "How a device's region is chosen: static, random, count, lru, aged");

static int zero_set(const char *text, const struct kernel_param *param)
{
	if (sysfs_streq(text, "lazy"))
		WRITE_ONCE(pool.zero, POOL_ZERO_LAZY);
	else if (sysfs_streq(text, "alloc"))
		WRITE_ONCE(pool.zero, POOL_ZERO_ALLOC);
	else {
		pr_err("zero: neither lazy nor alloc\n");
		return -EINVAL;
	}
	return 0;
}

static int zero_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", READ_ONCE(pool.zero) == POOL_ZERO_LAZY ?
						  "lazy" : "alloc");
}

static const struct kernel_param_ops zero_ops = {
	.set = zero_set,
	.get = zero_get,
};
module_param_cb(zero, &zero_ops, NULL, 0644);
MODULE_PARM_DESC(zero, "When a buffer's memory is cleared: lazy (at first sight) or alloc");

module_param_named(salvage_pages, pool.salvage_pages, uint, 0644);
MODULE_PARM_DESC(salvage_pages, "Pages that are saved from a device's region before it is first written to, at most");
module_param_named(protect_percent, pool.protect_percent, uint, 0444);
MODULE_PARM_DESC(protect_percent, "Share of the cache that pages which came back may keep from those read once; 0: plain LRU");
module_param_named(gap_pages, pool.gap_pages, uint, 0644);
MODULE_PARM_DESC(gap_pages, "Cached pages between missing ones that are read along with them");
module_param_named(caching, pool.caching, bool, 0644);
MODULE_PARM_DESC(caching, "Whether anything is cached");

static int measure_set(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	if (!error && pool.measure)
		pool_calibrate();
	return error;
}

static const struct kernel_param_ops measure_ops = {
	.set = measure_set,
	.get = param_get_bool,
};
module_param_cb(measure, &measure_ops, &pool.measure, 0644);
MODULE_PARM_DESC(measure, "Whether cycles are counted");

static struct kobject *pool_kobject;

#define POOL_ATTRIBUTE(_name, _expression)					\
static ssize_t _name##_show(struct kobject *kobj,				\
			    struct kobj_attribute *attr, char *buf)		\
{										\
	struct ecache_counters now;						\
	u64 value;								\
										\
	spin_lock_irq(&pool.lock);						\
	ecache_counters_read(pool.core, &now);					\
	value = (_expression);							\
	spin_unlock_irq(&pool.lock);						\
	return sysfs_emit(buf, "%llu\n", value);				\
}										\
static struct kobj_attribute _name##_attribute = __ATTR_RO(_name)

POOL_ATTRIBUTE(frames, now.free_frames + now.cached_frames +
		       now.device_frames + now.tombstone_frames);
POOL_ATTRIBUTE(cached, now.cached_frames);
POOL_ATTRIBUTE(free, now.free_frames);
POOL_ATTRIBUTE(device, now.device_frames);
POOL_ATTRIBUTE(tombstones, now.tombstone_frames);
POOL_ATTRIBUTE(puts, now.puts);
POOL_ATTRIBUTE(puts_refused, now.puts_refused);
POOL_ATTRIBUTE(gets, pool.gets);
POOL_ATTRIBUTE(hits, pool.hits);
POOL_ATTRIBUTE(evictions, now.evictions);
POOL_ATTRIBUTE(flushed, now.flushed);
POOL_ATTRIBUTE(allocs, now.allocs);
POOL_ATTRIBUTE(discarded, now.discarded);
POOL_ATTRIBUTE(salvaged, now.salvaged);
POOL_ATTRIBUTE(tracked, track_pages());
POOL_ATTRIBUTE(memory_bytes, pool.memory_bytes + track_memory_bytes());
POOL_ATTRIBUTE(put_insns, pool.put_cost.cycles);
POOL_ATTRIBUTE(put_count, pool.put_cost.count);
POOL_ATTRIBUTE(get_insns, pool.get_cost.cycles);
POOL_ATTRIBUTE(get_count, pool.get_cost.count);

static struct attribute *pool_attrs[] = {
	&frames_attribute.attr,
	&cached_attribute.attr,
	&free_attribute.attr,
	&device_attribute.attr,
	&tombstones_attribute.attr,
	&puts_attribute.attr,
	&puts_refused_attribute.attr,
	&gets_attribute.attr,
	&hits_attribute.attr,
	&evictions_attribute.attr,
	&flushed_attribute.attr,
	&allocs_attribute.attr,
	&discarded_attribute.attr,
	&salvaged_attribute.attr,
	&tracked_attribute.attr,
	&memory_bytes_attribute.attr,
	&put_insns_attribute.attr,
	&put_count_attribute.attr,
	&get_insns_attribute.attr,
	&get_count_attribute.attr,
	NULL,
};

static const struct attribute_group pool_group = {
	.attrs = pool_attrs,
};

/* Where the frames are, a line per carve-out, in the order of their numbers. */
static ssize_t carveouts_show(fovea_module_attribute *attr,
			      struct module_kobject *kobj, char *buf)
{
	int c, length = 0;

	for (c = 0; c < pool.nr_carveouts; c++)
		length += sysfs_emit_at(buf, length, "%llu@%pa\n",
					pool.carveouts[c].size_bytes,
					&pool.carveouts[c].start);
	return length;
}

/* Physical addresses are root's, as in /proc/iomem. */
static struct module_attribute carveouts_attribute = __ATTR_RO_MODE(carveouts, 0400);

static int state_init(void)
{
	struct kobject *module_kobject = &THIS_MODULE->mkobj.kobj;
	int error;

	pool_kobject = kobject_create_and_add("pool", module_kobject);
	if (!pool_kobject)
		return -ENOMEM;
	error = sysfs_create_group(pool_kobject, &pool_group);
	if (!error)
		error = sysfs_create_file(module_kobject, &carveouts_attribute.attr);
	if (error)
		kobject_put(pool_kobject);
	return error;
}

static void state_exit(void)
{
	sysfs_remove_file(&THIS_MODULE->mkobj.kobj, &carveouts_attribute.attr);
	kobject_put(pool_kobject);
}

static struct pool_device *device_list;

static int __init ecache_module_init(void)
{
	int error, count;

	if (!*carveouts) {
		pr_err("carveouts: none: give carveouts=SIZE@ADDRESS or carveouts=contig:SIZE\n");
		return -EINVAL;
	}
	count = heap_devices_parse(devices, &device_list);
	if (count < 0)
		return count;
	error = pool_init(carveouts, device_list, count);
	if (error)
		goto no_pool;
	error = track_init();
	if (error)
		goto no_table;
	error = state_init();
	if (error)
		goto no_sysfs;
	error = devices_add(device_list, count);
	if (error)
		goto no_devices;
	error = follow_init();
	if (error)
		goto no_probes;
	error = target_init();
	if (error)
		goto no_target;
	pr_info("%u pages, %d devices, policy %s\n", ecache_frames(pool.core),
		count, pool_policy_name(pool.policy));
	return 0;

no_target:
	follow_exit();
no_probes:
	devices_remove();
no_devices:
	state_exit();
no_sysfs:
	track_exit();
no_table:
	pool_exit();
no_pool:
	kfree(device_list);
	return error;
}

/* Targets and buffers hold the module: there are none by now. */
static void __exit ecache_module_exit(void)
{
	target_exit();
	follow_exit();
	devices_remove();
	state_exit();
	track_exit();
	pool_exit();
	kfree(device_list);
}

module_init(ecache_module_init);
module_exit(ecache_module_exit);
MODULE_ALIAS("dm-ecache");
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("Device-reserved memory as an eviction-based file cache");
MODULE_LICENSE("GPL");
