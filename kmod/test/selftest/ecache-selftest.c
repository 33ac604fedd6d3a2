// SPDX-License-Identifier: GPL-2.0-only
/*
 * What drivers do with dm-ecache, tried at load time; loading fails if anything is wrong.
 *
 *	device=NAME size=BYTES	ecache_alloc(), ecache_salvage() and ecache_free(), as a camera driver would
 *	fd=N			a DMA-BUF of the loading process: attached to a device, mapped
 *				for DMA, seen by the kernel
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>

#include "../../include/compat.h"
#include "../../ecache/device.h"

static char *device = "";
module_param(device, charp, 0444);
static ulong size;
module_param(size, ulong, 0444);
static int fd = -1;
module_param(fd, int, 0444);

static bool filled(const u8 *at, size_t bytes, u8 value)
{
	return !memchr_inv(at, value, bytes);
}

/* A driver's buffer: its own, of the size asked for, and only one. */
static int try_driver(void)
{
	struct ecache_buffer buffer, second;
	int error;

	if (ecache_alloc("no-such-device", size, &buffer) != -ENODEV ||
	    ecache_alloc(device, 0, &buffer) != -EINVAL ||
	    ecache_alloc(device, SIZE_MAX, &buffer) != -EINVAL) {
		pr_err("a wrong request was not refused\n");
		return -EPROTO;
	}
	error = ecache_alloc(device, size, &buffer);
	if (error) {
		pr_err("ecache_alloc of %lu bytes: error %d\n", size, error);
		return error;
	}
	ecache_salvage(&buffer);
	memset(buffer.vaddr, 0x5a, buffer.size_bytes);
	if (buffer.size_bytes != PAGE_ALIGN(size) ||
	    !IS_ALIGNED(buffer.phys, PAGE_SIZE) ||
	    !filled(buffer.vaddr, buffer.size_bytes, 0x5a)) {
		pr_err("the buffer is not what was asked for\n");
		error = -EPROTO;
	} else if (ecache_alloc(device, size, &second) != -EBUSY) {
		pr_err("a second buffer was given to the same device\n");
		error = -EPROTO;
	}
	ecache_free(&buffer);
	return error;
}

/* One piece of memory, clear, the same for the device and for the kernel. */
static int look(struct dma_buf *buf, struct sg_table *table)
{
	struct iosys_map map;
	int error = 0;

	if (table->nents != 1 || table->orig_nents != 1 ||
	    sg_dma_len(table->sgl) != buf->size) {
		pr_err("the buffer is not one piece\n");
		return -EPROTO;
	}
	error = dma_buf_vmap_unlocked(buf, &map);
	if (error) {
		pr_err("vmap: error %d\n", error);
		return error;
	}
	if (map.vaddr != sg_virt(table->sgl)) {
		pr_err("the kernel sees other memory than the device\n");
		error = -EPROTO;
	} else if (!filled(map.vaddr, buf->size, 0)) {
		pr_err("a device sees old content\n");
		error = -EPROTO;
	}
	dma_buf_vunmap_unlocked(buf, &map);
	return error;
}

static int try_import(void)
{
	struct platform_device *pdev;
	struct dma_buf_attachment *at;
	struct sg_table *table;
	struct dma_buf *buf;
	int error;

	buf = dma_buf_get(fd);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	pdev = platform_device_register_simple("ecache-selftest",
					       PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(pdev)) {
		error = PTR_ERR(pdev);
		goto no_device;
	}
	/* A device that is silent takes pieces of 64 KiB, and a buffer is one piece. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	error = dma_coerce_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (error)
		goto no_attach;
	at = dma_buf_attach(buf, &pdev->dev);
	if (IS_ERR(at)) {
		error = PTR_ERR(at);
		goto no_attach;
	}
	table = dma_buf_map_attachment_unlocked(at, DMA_BIDIRECTIONAL);
	if (IS_ERR(table)) {
		error = PTR_ERR(table);
		goto no_map;
	}
	error = dma_buf_begin_cpu_access(buf, DMA_BIDIRECTIONAL);
	if (!error)
		error = look(buf, table);
	if (!error)
		error = dma_buf_end_cpu_access(buf, DMA_BIDIRECTIONAL);
	dma_buf_unmap_attachment_unlocked(at, table, DMA_BIDIRECTIONAL);
no_map:
	dma_buf_detach(buf, at);
no_attach:
	platform_device_unregister(pdev);
no_device:
	dma_buf_put(buf);
	return error;
}

static int __init selftest_init(void)
{
	int error = 0;

	if (*device)
		error = try_driver();
	if (!error && fd >= 0)
		error = try_import();
	return error;
}

static void __exit selftest_exit(void)
{
}

module_init(selftest_init);
module_exit(selftest_exit);
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("Tries what drivers do with dm-ecache");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(DMA_BUF);
