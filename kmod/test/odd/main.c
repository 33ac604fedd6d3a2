// SPDX-License-Identifier: GPL-2.0-only
/*
 * odd-exporter: DMA-BUFs with lists that are allowed and unusual, and with some that mean
 * something else than they say, for fovea-heap-wrap to honour or refuse.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../include/compat.h"
#include "kinds.h"
#include "odd.h"

struct odd {
	const struct odd_kind *kind;
	struct page *memory;
	u64 size_bytes;
};

static unsigned int nr_entries(const struct odd_kind *kind)
{
	unsigned int count = 0;

	while (count < ODD_ENTRIES_MAX && kind->entries[count].length)
		count++;
	return count;
}

static void fill(const struct odd *odd, struct sg_table *table, bool lies)
{
	const struct odd_entry *e = odd->kind->entries;
	struct scatterlist *sg;
	int i;

	for_each_sgtable_sg(table, sg, i) {
		u32 skip = odd->kind->own_page ? e[i].first >> PAGE_SHIFT : 0;

		if (lies)
			sg_set_page(sg, odd->memory, e[i].length, 0);
		else
			sg_set_page(sg, odd->memory + skip, e[i].length,
				    e[i].first - (skip << PAGE_SHIFT));
	}
}

static struct sg_table *odd_map(struct dma_buf_attachment *at,
				enum dma_data_direction direction)
{
	struct odd *odd = at->dmabuf->priv;
	unsigned int count = nr_entries(odd->kind) - (odd->kind->fault == ODD_SHORT);
	struct sg_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	struct scatterlist *sg;
	int error = -ENOMEM, i;

	if (!table || sg_alloc_table(table, count, GFP_KERNEL))
		goto none;
	fill(odd, table, false);
	error = dma_map_sgtable(at->dev, table, direction, 0);
	if (error) {
		sg_free_table(table);
		goto none;
	}
	/* Devices go by the addresses. */
	if (odd->kind->fault == ODD_OTHER_PAGES)
		fill(odd, table, true);
	if (odd->kind->fault == ODD_NO_PAGES)
		for_each_sgtable_sg(table, sg, i)
			sg_assign_page(sg, NULL);
	return table;
none:
	kfree(table);
	return ERR_PTR(error);
}

static void odd_unmap(struct dma_buf_attachment *at, struct sg_table *table,
		      enum dma_data_direction direction)
{
	fill(at->dmabuf->priv, table, false);
	dma_unmap_sgtable(at->dev, table, direction, 0);
	sg_free_table(table);
	kfree(table);
}

static void odd_release(struct dma_buf *dmabuf)
{
	struct odd *odd = dmabuf->priv;

	__free_pages(odd->memory, ODD_ORDER);
	kfree(odd);
}

static const struct dma_buf_ops odd_ops = {
	.map_dma_buf = odd_map,
	.unmap_dma_buf = odd_unmap,
	.release = odd_release,
};

static int export(struct odd_request *r)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;
	struct odd *odd;
	unsigned int i;

	if (r->kind >= odd_nr_kinds)
		return -EINVAL;
	odd = kzalloc(sizeof(*odd), GFP_KERNEL);
	if (!odd)
		return -ENOMEM;
	odd->kind = &odd_kinds[r->kind];
	odd->memory = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO, ODD_ORDER);
	if (!odd->memory) {
		kfree(odd);
		return -ENOMEM;
	}
	for (i = 0; i < nr_entries(odd->kind); i++)
		odd->size_bytes += odd->kind->entries[i].length;
	info.exp_name = "odd";
	info.ops = &odd_ops;
	info.size = odd->size_bytes;
	info.flags = O_RDWR;
	info.priv = odd;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		__free_pages(odd->memory, ODD_ORDER);
		kfree(odd);
		return PTR_ERR(dmabuf);
	}
	r->size_bytes = odd->size_bytes;
	r->fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (r->fd < 0) {
		dma_buf_put(dmabuf);
		return r->fd;
	}
	return odd->kind->fault;
}

static int copy(const struct odd *odd, struct odd_request *r)
{
	u8 *memory = page_address(odd->memory);
	u64 at = r->offset, left = r->length, data = r->data;
	unsigned int i;

	for (i = 0; i < nr_entries(odd->kind) && left; i++) {
		const struct odd_entry *e = &odd->kind->entries[i];
		u64 length;

		if (at >= e->length) {
			at -= e->length;
			continue;
		}
		length = min(left, e->length - at);
		if (r->writes ?
		    copy_from_user(memory + e->first + at, u64_to_user_ptr(data), length) :
		    copy_to_user(u64_to_user_ptr(data), memory + e->first + at, length))
			return -EFAULT;
		data += length;
		left -= length;
		at = 0;
	}
	return left ? -EINVAL : 0;
}

static int access(struct odd_request *r)
{
	struct dma_buf *dmabuf = dma_buf_get(r->fd);
	int error = -EINVAL;

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	/* Its operations may be another module's by now, its name is ours. */
	if (dmabuf->exp_name && !strcmp(dmabuf->exp_name, "odd"))
		error = copy(dmabuf->priv, r);
	dma_buf_put(dmabuf);
	return error;
}

static long odd_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	void __user *user = (void __user *)argument;
	struct odd_request r;
	int done;

	if (copy_from_user(&r, user, sizeof(r)))
		return -EFAULT;
	switch (command) {
	case ODD_EXPORT:
		done = export(&r);
		break;
	case ODD_ACCESS:
		done = access(&r);
		break;
	default:
		return -ENOTTY;
	}
	if (done >= 0 && copy_to_user(user, &r, sizeof(r)))
		return -EFAULT;
	return done;
}

static const struct file_operations odd_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = odd_ioctl,
};

static struct miscdevice odd_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "odd-exporter",
	.fops = &odd_fops,
	.mode = 0600,
};
module_misc_device(odd_device);

MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("DMA-BUFs with unusual lists, for tests");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(DMA_BUF);
