// SPDX-License-Identifier: GPL-2.0-only
/* The nodes; heap.h says what they are. */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>
#include <uapi/linux/dma-heap.h>

#include "../include/compat.h"
#include "../include/contract.h"
#include "../include/fovea-heap.h"
#include "broken.h"
#include "buffer.h"
#include "heap.h"

/* Of all sources: a folder below /dev is one for all. */
static LIST_HEAD(nodes);
static DEFINE_MUTEX(nodes_lock);

static long allocate(struct heap_node *node, void __user *argument)
{
	struct dma_heap_allocation_data data;
	struct heap_range range = {};
	int fd;

	if (copy_from_user(&data, argument, sizeof(data)))
		return -EFAULT;
	if (data.fd || data.heap_flags & ~DMA_HEAP_VALID_HEAP_FLAGS ||
	    data.fd_flags & ~DMA_HEAP_VALID_FD_FLAGS)
		return -EINVAL;
	if (node->size_bytes && data.len > node->size_bytes)
		return -EINVAL;
	/* Rounding up makes nothing of the largest numbers. */
	range.size_bytes = PAGE_ALIGN(data.len);
	if (!range.size_bytes)
		return -EINVAL;
	fd = node->source->alloc(node, &range);
	if (fd)
		return fd;
	fd = heap_buffer_export(node, &range, data.fd_flags);
	if (fd < 0)
		return fd;
	data.fd = fd;
	/* As in the kernel's heaps: the descriptor exists, and is the caller's. */
	if (copy_to_user(argument, &data, sizeof(data)))
		return -EFAULT;
	return 0;
}

static long resize(struct heap_node *node, const void __user *argument)
{
	struct fovea_heap_resize data;
	u64 size_bytes;

	if (copy_from_user(&data, argument, sizeof(data)))
		return -EFAULT;
	size_bytes = PAGE_ALIGN(data.len);
	if (!size_bytes || data.flags & ~FOVEA_HEAP_RESIZE_FLAGS)
		return -EINVAL;
	return heap_buffer_resize(node, data.fd, size_bytes, data.flags);
}

static long node_ioctl(struct file *file, unsigned int command,
		       unsigned long argument)
{
	/* misc_open() left the device here. */
	struct heap_node *node =
		container_of(file->private_data, struct heap_node, misc);

	switch (command) {
	case DMA_HEAP_IOCTL_ALLOC:
		return allocate(node, (void __user *)argument);
	case FOVEA_HEAP_IOCTL_RESIZE:
		return resize(node, (void __user *)argument);
	}
	return -ENOTTY;
}

/*
 * misc_open() calls with the lock held that misc_deregister() waits for: the node is
 * there. Its module may be on its way out, and then is not had.
 */
static int node_open(struct inode *inode, struct file *file)
{
	struct heap_node *node =
		container_of(file->private_data, struct heap_node, misc);

	/* Pairs with heap_node_open(). */
	if (!smp_load_acquire(&node->open))
		return -EAGAIN;
	if (!HEAP_BROKEN_UNHELD && !try_module_get(node->source->owner))
		return -ENODEV;
	return nonseekable_open(inode, file);
}

static int node_release(struct inode *inode, struct file *file)
{
	struct heap_node *node =
		container_of(file->private_data, struct heap_node, misc);

	/* The node may be gone when this returns. */
	if (!HEAP_BROKEN_UNHELD)
		module_put(node->source->owner);
	return 0;
}

/* The files themselves are this module's. */
static const struct file_operations node_fops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.release = node_release,
	.unlocked_ioctl = node_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct heap_node *node_of(struct device *dev)
{
	struct miscdevice *misc = dev_get_drvdata(dev);

	return container_of(misc, struct heap_node, misc);
}

static ssize_t size_bytes_show(struct device *dev, struct device_attribute *attr,
			       char *buf)
{
	return sysfs_emit(buf, "%llu\n", node_of(dev)->size_bytes);
}
static DEVICE_ATTR_RO(size_bytes);

static ssize_t held_bytes_show(struct device *dev, struct device_attribute *attr,
			       char *buf)
{
	struct heap_node *node = node_of(dev);

	return sysfs_emit(buf, "%llu\n", node->source->held_bytes(node));
}
static DEVICE_ATTR_RO(held_bytes);

#define ATTRIBUTE(name)	&dev_attr_##name.attr,
static struct attribute *node_attrs[] = {
	HEAP_ATTRIBUTES(ATTRIBUTE)
	NULL,
};
#undef ATTRIBUTE
ATTRIBUTE_GROUPS(node);

static bool path_taken(const char *path)
{
	struct heap_node *other;

	lockdep_assert_held(&nodes_lock);
	list_for_each_entry(other, &nodes, list)
		if (!strcmp(other->path, path))
			return true;
	return false;
}

int heap_node_add(struct heap_node *node)
{
	int error;

	snprintf(node->path, sizeof(node->path), "%s/%s",
		 node->folder ?: HEAP_FOLDER, node->name);
	node->misc.minor = MISC_DYNAMIC_MINOR;
	node->misc.name = node->path;
	node->misc.fops = &node_fops;
	node->misc.groups = node_groups;
	node->misc.mode = 0660;
	mutex_lock(&nodes_lock);
	if (path_taken(node->path)) {
		pr_err("%s: devices: /dev/%s is there already: give this device another name\n",
		       module_name(node->source->owner), node->path);
		error = -EEXIST;
		goto out;
	}
	error = misc_register(&node->misc);
	if (error)
		pr_err("%s: devices: node /dev/%s cannot be made: error %d\n",
		       module_name(node->source->owner), node->path, error);
	else
		list_add(&node->list, &nodes);
out:
	mutex_unlock(&nodes_lock);
	return error;
}
FOVEA_EXPORT(heap_node_add, FOVEA_HEAP);

void heap_node_open(struct heap_node *node)
{
	/* Pairs with node_open(). */
	smp_store_release(&node->open, true);
}
FOVEA_EXPORT(heap_node_open, FOVEA_HEAP);

void heap_node_remove(struct heap_node *node)
{
	mutex_lock(&nodes_lock);
	list_del(&node->list);
	misc_deregister(&node->misc);
	mutex_unlock(&nodes_lock);
}
FOVEA_EXPORT(heap_node_remove, FOVEA_HEAP);
