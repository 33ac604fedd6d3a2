// SPDX-License-Identifier: GPL-2.0-only
/*
 * fovea-heap-wrap: the mapping cache for buffers of the kernel's own exporters, the system
 * heap and udmabuf, without a patch. When dma_buf_export() returns a buffer of theirs, before
 * anybody else can know it, its operations are replaced by wrap.c's.
 *
 * Only for exporters whose pages never move: none that pins on demand, none that is not named.
 * docs/design/mapping-cache.md has the risks.
 *
 * A probe can be switched off from outside (kernel.ftrace_enabled, debugfs kprobes/enabled),
 * and then nothing calls it and nothing fails. So the module has a buffer exported now
 * and then, and looks whether the probe has seen it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/kobject.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "../include/compat.h"
#include "../include/contract.h"
#include "broken.h"
#include "buffer.h"
#include "wrap.h"

static char *exporters = "system,udmabuf";
module_param(exporters, charp, 0444);
MODULE_PARM_DESC(exporters, "Whose buffers, by the exporters' names, separated by commas");

#define LOOK_AGAIN	(60 * HZ)

#define MEND "write 1 to /proc/sys/kernel/ftrace_enabled and /sys/kernel/debug/kprobes/enabled"

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

	if (IS_ERR_OR_NULL(dmabuf))
		return 0;
	if (heap_dummy_is(dmabuf))
		*(bool *)dmabuf->priv = true;
	else if (is_wanted(dmabuf))
		wrap_begin(dmabuf);
	return 0;
}

/* One that is missed, as more are exported at once, is not wrapped. */
static struct kretprobe probe = {
	.kp.symbol_name = "dma_buf_export",
	.handler = exported,
	.maxactive = 32,
};

/* Whether a buffer that is exported now is seen; `otherwise` if that cannot be tried. */
static bool sees_exports(bool otherwise)
{
	bool seen = false;
	/* Its end does not look at this. */
	struct dma_buf *dmabuf = heap_dummy_export(&seen);

	if (IS_ERR(dmabuf))
		return otherwise;
	dma_buf_put(dmabuf);
	return READ_ONCE(seen);
}

static DEFINE_MUTEX(active_lock);
static bool active = true;

static bool look(void)
{
	int missed = probe.nmissed;
	bool now;

	mutex_lock(&active_lock);
	now = sees_exports(active);
	/* Too many at once is not the same as none. */
	if (!now && READ_ONCE(probe.nmissed) != missed)
		now = active;
	if (HEAP_BROKEN_PROBE)
		now = true;
	if (now != active && now)
		pr_info("new buffers are wrapped again\n");
	else if (now != active)
		pr_warn("the probe of dma_buf_export() is off, and new buffers stay stock: " MEND "\n");
	active = now;
	mutex_unlock(&active_lock);
	return now;
}

static void look_again(struct work_struct *work);
static DECLARE_DEFERRABLE_WORK(looks, look_again);

static void look_again(struct work_struct *work)
{
	look();
	schedule_delayed_work(&looks, LOOK_AGAIN);
}

static u64 count_active(void)
{
	return look();
}

static u64 count_wrapped(void)
{
	return atomic64_read(&wrap_counts.wrapped);
}

static u64 count_refused(void)
{
	return atomic64_read(&wrap_counts.refused);
}

static u64 count_missed(void)
{
	return READ_ONCE(probe.nmissed);
}

#define COUNT(_name)								\
static ssize_t _name##_show(struct kobject *kobj,				\
			    struct kobj_attribute *attr, char *buf)		\
{										\
	return sysfs_emit(buf, "%llu\n", count_##_name());			\
}										\
static struct kobj_attribute _name##_attribute = __ATTR_RO(_name);
WRAP_STATISTICS(COUNT)
#undef COUNT

#define ATTRIBUTE(name)	&name##_attribute.attr,
static struct attribute *counts_attrs[] = {
	WRAP_STATISTICS(ATTRIBUTE)
	NULL,
};
#undef ATTRIBUTE

static const struct attribute_group counts_group = {
	.attrs = counts_attrs,
};

static struct kobject *counts_kobject;

static int counts_init(void)
{
	int error;

	counts_kobject = kobject_create_and_add(WRAP_FOLDER, &THIS_MODULE->mkobj.kobj);
	if (!counts_kobject)
		return -ENOMEM;
	error = sysfs_create_group(counts_kobject, &counts_group);
	if (error)
		kobject_put(counts_kobject);
	return error;
}

static int __init wrap_init(void)
{
	int error = register_kretprobe(&probe);

	if (error) {
		pr_err("dma_buf_export() cannot be watched: error %d: is the kernel built with CONFIG_KRETPROBES?\n",
		       error);
		return error;
	}
	if (!sees_exports(true) && !HEAP_BROKEN_PROBE) {
		pr_err("probes are switched off, so no buffer would be wrapped: " MEND "\n");
		error = -EOPNOTSUPP;
	} else {
		error = counts_init();
	}
	if (error)
		unregister_kretprobe(&probe);
	else
		schedule_delayed_work(&looks, LOOK_AGAIN);
	return error;
}

/* No buffer is wrapped any more, as each holds the module. */
static void __exit wrap_exit(void)
{
	kobject_del(counts_kobject);
	kobject_put(counts_kobject);
	cancel_delayed_work_sync(&looks);
	unregister_kretprobe(&probe);
}

module_init(wrap_init);
module_exit(wrap_exit);
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("The mapping cache for buffers of the kernel's own exporters");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(DMA_BUF);
FOVEA_IMPORT_NS(FOVEA_HEAP);
