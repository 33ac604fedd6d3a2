// SPDX-License-Identifier: GPL-2.0-only
/* An importer of DMA-BUFs: a driver for QEMU's `edu`, by which programs have it use theirs. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "../../include/compat.h"
#include "device.h"
#include "edu.h"

static uint mask_bits = 32;
module_param(mask_bits, uint, 0444);
MODULE_PARM_DESC(mask_bits, "Address lines of the devices");

/* A buffer attached, and mapped if there is a table. */
struct use {
	struct dma_buf *buf;
	struct dma_buf_attachment *at;
	struct sg_table *table;
	enum dma_data_direction direction;
};

struct edu_file {
	struct list_head list;
	struct edu *edu;
	struct use held;
};

static int begin(struct edu *edu, struct use *use)
{
	int error;

	use->at = dma_buf_attach(use->buf, &edu->pci->dev);
	if (IS_ERR(use->at))
		return PTR_ERR(use->at);
	use->table = dma_buf_map_attachment_unlocked(use->at, use->direction);
	if (!IS_ERR(use->table))
		return 0;
	error = PTR_ERR(use->table);
	dma_buf_detach(use->buf, use->at);
	return error;
}

static void end(struct use *use)
{
	if (use->table)
		dma_buf_unmap_attachment_unlocked(use->at, use->table, use->direction);
	dma_buf_detach(use->buf, use->at);
}

/* Where the device sees a byte, if `length` bytes from there on are in one piece. */
static int locate(const struct use *use, u64 offset, u32 length, u64 *address)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(use->table, sg, i) {
		if (offset < sg_dma_len(sg)) {
			if (length > sg_dma_len(sg) - offset)
				return -EINVAL;
			*address = sg_dma_address(sg) + offset;
			return 0;
		}
		offset -= sg_dma_len(sg);
	}
	return -EINVAL;
}

static int transfer(struct edu *edu, struct edu_request *r)
{
	int error;

	mutex_lock(&edu->lock);
	error = edu_transfer(edu, r->dma_address, r->length, r->writes);
	mutex_unlock(&edu->lock);
	return error;
}

static int use_once(struct edu *edu, struct use *use, struct edu_request *r)
{
	int error = begin(edu, use);

	if (error)
		return error;
	r->pieces = use->table->nents;
	if (r->length)
		error = locate(use, r->offset, r->length, &r->dma_address);
	if (r->length && !error)
		error = transfer(edu, r);
	end(use);
	return error;
}

static int check(struct edu_request *r, struct use *use)
{
	if (r->length > EDU_BYTES_MAX || r->direction >= DMA_NONE)
		return -EINVAL;
	use->direction = r->direction;
	use->buf = dma_buf_get(r->fd);
	return PTR_ERR_OR_ZERO(use->buf);
}

static int edu_use(struct edu *edu, struct edu_request *r)
{
	struct use use;
	int error = check(r, &use);
	u64 began;
	u32 i;

	if (error)
		return error;
	began = ktime_get_ns();
	for (i = 0; i < max(r->count, 1u) && !error; i++) {
		error = use_once(edu, &use, r);
		cond_resched();
	}
	r->elapsed_ns = ktime_get_ns() - began;
	dma_buf_put(use.buf);
	return error;
}

static void release(struct edu_file *f)
{
	lockdep_assert_held(&f->edu->lock);
	if (!f->held.buf)
		return;
	end(&f->held);
	dma_buf_put(f->held.buf);
	f->held.buf = NULL;
}

static int edu_hold(struct edu_file *f, struct edu_request *r)
{
	struct use use;
	int error = check(r, &use);

	if (error)
		return error;
	mutex_lock(&f->edu->lock);
	error = f->held.buf ? -EBUSY : begin(f->edu, &use);
	if (!error)
		f->held = use;
	mutex_unlock(&f->edu->lock);
	if (error) {
		dma_buf_put(use.buf);
		return error;
	}
	r->pieces = use.table->nents;
	return locate(&use, r->offset, r->length, &r->dma_address);
}

static int edu_attach(struct edu_file *f, struct edu_request *r)
{
	struct use use = {};
	int error = check(r, &use);

	if (error)
		return error;
	mutex_lock(&f->edu->lock);
	error = f->held.buf ? -EBUSY : 0;
	if (!error) {
		use.at = dma_buf_attach(use.buf, &f->edu->pci->dev);
		error = PTR_ERR_OR_ZERO(use.at);
	}
	if (!error)
		f->held = use;
	mutex_unlock(&f->edu->lock);
	if (error)
		dma_buf_put(use.buf);
	return error;
}

static int edu_move(struct edu *edu, struct edu_request *r, bool load)
{
	void __user *data = u64_to_user_ptr(r->data);
	int error;

	if (r->length > EDU_BYTES_MAX)
		return -EINVAL;
	mutex_lock(&edu->lock);
	error = load && copy_from_user(edu->page, data, r->length) ? -EFAULT : 0;
	if (!error)
		error = edu_transfer(edu, edu->page_address, r->length, !load);
	if (!error && !load && copy_to_user(data, edu->page, r->length))
		error = -EFAULT;
	mutex_unlock(&edu->lock);
	return error;
}

static int act(struct edu_file *f, unsigned int command, struct edu_request *r)
{
	struct edu *edu = f->edu;

	switch (command) {
	case EDU_USE:
		return edu_use(edu, r);
	case EDU_HOLD:
		return edu_hold(f, r);
	case EDU_RELEASE:
		mutex_lock(&edu->lock);
		release(f);
		mutex_unlock(&edu->lock);
		return 0;
	case EDU_RAW:
		return r->length > EDU_BYTES_MAX ? -EINVAL : transfer(edu, r);
	case EDU_LOAD:
		return edu_move(edu, r, true);
	case EDU_STORE:
		return edu_move(edu, r, false);
	case EDU_ATTACH:
		return edu_attach(f, r);
	case EDU_SEGMENT:
		dma_set_max_seg_size(&edu->pci->dev, r->length);
		return 0;
	}
	return -ENOTTY;
}

static long edu_ioctl(struct file *file, unsigned int command,
		      unsigned long argument)
{
	struct edu_file *f = file->private_data;
	void __user *user = (void __user *)argument;
	struct edu_request r = {};
	int error;

	if (command != EDU_RELEASE && copy_from_user(&r, user, sizeof(r)))
		return -EFAULT;
	down_read(&f->edu->use);
	error = f->edu->gone ? -ENODEV : act(f, command, &r);
	up_read(&f->edu->use);
	if (!error && command != EDU_RELEASE && copy_to_user(user, &r, sizeof(r)))
		error = -EFAULT;
	return error;
}

static void edu_free(struct kref *refs)
{
	kfree(container_of(refs, struct edu, refs));
}

static int edu_open(struct inode *inode, struct file *file)
{
	struct edu *edu = container_of(file->private_data, struct edu, misc);
	struct edu_file *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	kref_get(&edu->refs);
	f->edu = edu;
	mutex_lock(&edu->lock);
	list_add(&f->list, &edu->files);
	mutex_unlock(&edu->lock);
	file->private_data = f;
	return nonseekable_open(inode, file);
}

static int edu_close(struct inode *inode, struct file *file)
{
	struct edu_file *f = file->private_data;

	mutex_lock(&f->edu->lock);
	release(f);
	list_del(&f->list);
	mutex_unlock(&f->edu->lock);
	kref_put(&f->edu->refs, edu_free);
	kfree(f);
	return 0;
}

static const struct file_operations edu_fops = {
	.owner = THIS_MODULE,
	.open = edu_open,
	.release = edu_close,
	.unlocked_ioctl = edu_ioctl,
};

static int edu_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct edu *edu = kzalloc(sizeof(*edu), GFP_KERNEL);
	int error;

	if (!edu)
		return -ENOMEM;
	kref_init(&edu->refs);
	mutex_init(&edu->lock);
	init_rwsem(&edu->use);
	INIT_LIST_HEAD(&edu->files);
	edu->pci = pci;
	snprintf(edu->name, sizeof(edu->name), "edu-%d", PCI_SLOT(pci->devfn));
	edu->misc.minor = MISC_DYNAMIC_MINOR;
	edu->misc.name = edu->name;
	edu->misc.fops = &edu_fops;
	edu->misc.parent = &pci->dev;
	pci_set_drvdata(pci, edu);
	error = edu_start(edu, pci, mask_bits);
	if (error)
		goto none;
	error = misc_register(&edu->misc);
	if (error)
		goto stop;
	return 0;
stop:
	edu_stop(edu);
none:
	kref_put(&edu->refs, edu_free);
	return error;
}

static void edu_remove(struct pci_dev *pci)
{
	struct edu *edu = pci_get_drvdata(pci);
	struct edu_file *f;

	misc_deregister(&edu->misc);
	down_write(&edu->use);
	edu->gone = true;
	mutex_lock(&edu->lock);
	list_for_each_entry(f, &edu->files, list)
		release(f);
	mutex_unlock(&edu->lock);
	edu_stop(edu);
	up_write(&edu->use);
	kref_put(&edu->refs, edu_free);
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ },
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = "edu-importer",
	.id_table = edu_ids,
	.probe = edu_probe,
	.remove = edu_remove,
};
module_pci_driver(edu_driver);

MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("Imports DMA-BUFs for QEMU's educational device");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(DMA_BUF);
