// SPDX-License-Identifier: GPL-2.0-only
/* The nodes; heap.h says what they are. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/dma-heap.h>

#include "heap.h"

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
	if (!data.len || data.len > node->size_bytes)
		return -EINVAL;
	range.size_bytes = PAGE_ALIGN(data.len);
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

static long node_ioctl(struct file *file, unsigned int command,
		       unsigned long argument)
{
	/* misc_open() left the device here. */
	struct heap_node *node =
		container_of(file->private_data, struct heap_node, misc);

	if (command != DMA_HEAP_IOCTL_ALLOC)
		return -ENOTTY;
	return allocate(node, (void __user *)argument);
}

static int node_open(struct inode *inode, struct file *file)
{
	struct heap_node *node =
		container_of(file->private_data, struct heap_node, misc);

	/* Pairs with the owner's store, once all that buffers need is there. */
	if (!smp_load_acquire(&node->open))
		return -EAGAIN;
	return nonseekable_open(inode, file);
}

static const struct file_operations node_fops = {
	.owner = THIS_MODULE,
	.open = node_open,
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

static struct attribute *node_attrs[] = {
	&dev_attr_size_bytes.attr,
	&dev_attr_held_bytes.attr,
	NULL,
};
ATTRIBUTE_GROUPS(node);

int heap_node_add(struct heap_node *node)
{
	int error;

	snprintf(node->node_name, sizeof(node->node_name), "ecache/%s",
		 node->name);
	node->misc.minor = MISC_DYNAMIC_MINOR;
	node->misc.name = node->node_name;
	node->misc.fops = &node_fops;
	node->misc.groups = node_groups;
	node->misc.mode = 0660;
	error = misc_register(&node->misc);
	if (error)
		pr_err("devices: node /dev/%s cannot be made: error %d\n",
		       node->node_name, error);
	return error;
}

void heap_node_remove(struct heap_node *node)
{
	misc_deregister(&node->misc);
}

static bool name_ok(const char *name)
{
	size_t i, length = strlen(name);

	if (!length || length >= POOL_NAME_BYTES)
		return false;
	for (i = 0; i < length; i++)
		if (!isalnum(name[i]) && name[i] != '-' && name[i] != '_')
			return false;
	return true;
}

static int parse_one(char *word, struct pool_device *list, u32 count)
{
	char *colon = strchr(word, ':'), *rest;
	u32 i;

	if (!colon) {
		pr_err("devices: \"%s\" is not NAME:SIZE\n", word);
		return -EINVAL;
	}
	*colon = '\0';
	if (!name_ok(word)) {
		pr_err("devices: \"%s\" is no name: up to %d letters, digits, - and _\n",
		       word, POOL_NAME_BYTES - 1);
		return -EINVAL;
	}
	for (i = 0; i < count; i++)
		if (!strcmp(list[i].name, word)) {
			pr_err("devices: %s is named twice\n", word);
			return -EINVAL;
		}
	strscpy(list[count].name, word, POOL_NAME_BYTES);
	list[count].size_bytes = memparse(colon + 1, &rest);
	if (*rest || rest == colon + 1 || !list[count].size_bytes) {
		pr_err("devices: %s: \"%s\" is no size\n", word, colon + 1);
		return -EINVAL;
	}
	list[count].size_bytes = PAGE_ALIGN(list[count].size_bytes);
	return 0;
}

int heap_devices_parse(const char *text, struct pool_device **out)
{
	struct pool_device *list;
	char *copy, *left, *word;
	int count = 0, error = 0;

	if (!text || !*text) {
		pr_err("devices: none: give devices=NAME:SIZE[,NAME:SIZE...]\n");
		return -EINVAL;
	}
	copy = kstrdup(text, GFP_KERNEL);
	list = kcalloc(ECACHE_MAX_DEVICES, sizeof(*list), GFP_KERNEL);
	if (!copy || !list)
		error = -ENOMEM;
	left = copy;
	while (!error && (word = strsep(&left, ",")) != NULL) {
		if (count == ECACHE_MAX_DEVICES) {
			pr_err("devices: at most %u\n", ECACHE_MAX_DEVICES);
			error = -E2BIG;
			break;
		}
		error = parse_one(word, list, count);
		count += !error;
	}
	kfree(copy);
	if (error) {
		kfree(list);
		return error;
	}
	*out = list;
	return count;
}
