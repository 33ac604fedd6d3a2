// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-ecache: memory reserved for devices as the page cache's second level while it is
 * idle (eCache12). Parameters, state in /sys/module/dm_ecache, and the order of things.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "../include/contract.h"
#include "devices.h"
#include "follow.h"
#include "moves.h"
#include "nh.h"
#include "pool.h"
#include "power.h"
#include "target.h"
#include "track.h"
#include "volume.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static char *carveouts = "";
module_param(carveouts, charp, 0444);
MODULE_PARM_DESC(carveouts, "Memory: SIZE@ADDRESS, of:NODE or contig:SIZE, separated by commas");

static char *devices = "";
module_param(devices, charp, 0444);
MODULE_PARM_DESC(devices, "Reservations: NAME:SIZE, separated by commas");

#define NAME(id, name)								\
	[POOL_ZERO_##id] = #name,
static const char *const zero_names[] = { ECACHE_ZERO(NAME) };
#undef NAME

static int zero_set(const char *text, const struct kernel_param *param)
{
	int found = sysfs_match_string(zero_names, text);

	if (found < 0)
		pr_err("zero: neither lazy nor alloc\n");
	else
		WRITE_ONCE(pool.zero, found);
	return min(found, 0);
}

static int zero_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", zero_names[READ_ONCE(pool.zero)]);
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

static int caching_set(const char *text, const struct kernel_param *param)
{
	bool value;
	int error = kstrtobool(text, &value);

	if (!error)
		pool_set(&pool.caching, value);
	return error;
}

static const struct kernel_param_ops caching_ops = {
	.set = caching_set,
	.get = param_get_bool,
};
module_param_cb(caching, &caching_ops, &pool.caching, 0644);
MODULE_PARM_DESC(caching, "Whether anything is cached");

static bool measure;
static bool measure_held;

static void measure_with(struct static_key_false *key, bool on)
{
	if (on)
		static_branch_enable(key);
	else
		static_branch_disable(key);
}

static int measure_set(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	if (error)
		return error;
	/* Whoever holds the lock meanwhile has no beginning to count from. */
	spin_lock_irq(&pool.lock.spinlock);
	pool.lock.since = 0;
	spin_unlock_irq(&pool.lock.spinlock);
	volumes_forget_beginnings();
	measure_with(&pool_measure, measure);
	measure_with(&timed_lock_measure, measure_held);
	return pool_calibrate();
}

static const struct kernel_param_ops measure_ops = {
	.set = measure_set,
	.get = param_get_bool,
};
/* What a put and a get cost over their copies cannot be seen from outside. */
module_param_cb(measure, &measure_ops, &measure, 0644);
MODULE_PARM_DESC(measure, "Whether the cycles of put and get are counted");
/* Apart: it adds to what the other counts. */
module_param_cb(measure_held, &measure_ops, &measure_held, 0644);
MODULE_PARM_DESC(measure_held, "Whether the cycles under the lock, and of the longest put, are counted");

static struct kobject *pool_kobject;

/* What the pool's files are made from, all of one time or nearly. */
struct state {
	struct ecache_counters core;
	struct volume_counts volumes;
	struct timed_lock_held held;
	u64 tracked;
	u64 track_bytes;
};

static void read_state(struct state *now)
{
	now->volumes = volumes_count();
	volumes_measure_tables(&now->tracked, &now->track_bytes);
	pool_lock_irq();
	ecache_counters_read(pool.core, &now->core);
	now->held = pool.lock.held;
	pool_unlock_irq();
}

#define POOL_ATTRIBUTE(_name, _expression)					\
static ssize_t _name##_show(struct kobject *kobj,				\
			    struct kobj_attribute *attr, char *buf)		\
{										\
	struct state now;							\
										\
	read_state(&now);							\
	return sysfs_emit(buf, "%llu\n", (u64)(_expression));			\
}										\
										\
static struct kobj_attribute _name##_attribute = __ATTR_RO(_name)

POOL_ATTRIBUTE(frames, ecache_frames(pool.core));
/* What is in batches has been cached, or is free, for all but the core. */
POOL_ATTRIBUTE(cached, now.core.cached_frames + now.volumes.batched_puts);
POOL_ATTRIBUTE(free, now.core.free_frames + now.volumes.batched_spares);
POOL_ATTRIBUTE(device, now.core.device_frames);
POOL_ATTRIBUTE(tombstones, now.core.tombstone_frames);
POOL_ATTRIBUTE(puts, now.volumes.puts);
POOL_ATTRIBUTE(puts_refused, now.core.puts_refused);
POOL_ATTRIBUTE(gets, now.volumes.reads);
POOL_ATTRIBUTE(hits, now.volumes.hits);
POOL_ATTRIBUTE(evictions, now.core.evictions);
POOL_ATTRIBUTE(flushed, now.core.flushed);
POOL_ATTRIBUTE(allocs, now.core.allocs);
POOL_ATTRIBUTE(discarded, now.core.discarded);
POOL_ATTRIBUTE(salvaged, now.core.salvaged);
POOL_ATTRIBUTE(mismatched, now.volumes.mismatched);
POOL_ATTRIBUTE(damaged, now.volumes.damaged);
POOL_ATTRIBUTE(retired, now.core.retired_frames);
POOL_ATTRIBUTE(tracked, now.tracked);
POOL_ATTRIBUTE(memory_bytes, pool.memory_bytes + now.track_bytes);
POOL_ATTRIBUTE(put_insns, now.volumes.put_cost.cycles);
POOL_ATTRIBUTE(put_count, now.volumes.put_cost.count);
POOL_ATTRIBUTE(get_insns, now.volumes.get_cost.cycles);
POOL_ATTRIBUTE(get_count, now.volumes.get_cost.count);
/* The pool's lock, for all volumes; and each volume's own, under which that is taken. */
POOL_ATTRIBUTE(held_insns, now.held.cycles);
POOL_ATTRIBUTE(held_count, now.held.count);
POOL_ATTRIBUTE(volume_held_insns, now.volumes.held.cycles);
POOL_ATTRIBUTE(volume_held_count, now.volumes.held.count);
POOL_ATTRIBUTE(longest_held_insns, max(now.held.longest, now.volumes.held.longest));
POOL_ATTRIBUTE(longest_put_insns, pool.longest_put);

/* 1 while the kernel moves pages and does not tell: those are not cached. */
static ssize_t moves_unseen_show(struct kobject *kobj, struct kobj_attribute *attr,
				 char *buf)
{
	return sysfs_emit(buf, "%d\n", moves_are_unseen());
}

static struct kobj_attribute moves_unseen_attribute = __ATTR_RO(moves_unseen);

#define NUMBER(name)	POOL_##name,
enum pool_number { ECACHE_STATISTICS(NUMBER) POOL_NUMBERS };
#undef NUMBER

/* A number without its file is unused, a file without its number undeclared. */
#define ATTRIBUTE(name)								\
	[POOL_##name] = &name##_attribute.attr,
static struct attribute *pool_attrs[POOL_NUMBERS + 1] = { ECACHE_STATISTICS(ATTRIBUTE) };
#undef ATTRIBUTE

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
	if (error) {
		kobject_del(pool_kobject);
		kobject_put(pool_kobject);
	}
	return error;
}

/* Waits for whoever reads the files: what they read is about to go. */
static void state_exit(void)
{
	sysfs_remove_file(&THIS_MODULE->mkobj.kobj, &carveouts_attribute.attr);
	kobject_del(pool_kobject);
	kobject_put(pool_kobject);
}

static struct heap_device *device_list;

static int __init ecache_module_init(void)
{
	int error, count;

	if (!*carveouts) {
		pr_err("carveouts: none: give carveouts=SIZE@ADDRESS or carveouts=contig:SIZE\n");
		return -EINVAL;
	}
	count = heap_devices_parse(THIS_MODULE, devices, ECACHE_MAX_DEVICES,
				   &device_list);
	if (count < 0)
		return count;
	error = nh_init();
	if (!error)
		error = pool_init(carveouts, device_list, count);
	if (error)
		goto no_pool;
	error = track_index_init();
	if (error)
		goto no_table;
	error = state_init();
	if (error)
		goto no_sysfs;
	error = power_init();
	if (error)
		goto no_power;
	error = devices_add(device_list, count);
	if (error)
		goto no_devices;
	error = follow_init();
	if (error)
		goto no_probes;
	/* Last of what can fail: from here on there are targets, and then buffers. */
	error = target_init();
	if (error)
		goto no_target;
	devices_open();
	pr_info("%u pages, %d devices\n", ecache_frames(pool.core), count);
	return 0;

no_target:
	follow_exit();
no_probes:
	devices_remove();
no_devices:
	power_exit();
no_power:
	state_exit();
no_sysfs:
	track_index_exit();
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
	power_exit();
	state_exit();
	track_index_exit();
	pool_exit();
	kfree(device_list);
}

module_init(ecache_module_init);
module_exit(ecache_module_exit);
MODULE_ALIAS("dm-ecache");
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("Device-reserved memory as an eviction-based file cache");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(FOVEA_HEAP);
