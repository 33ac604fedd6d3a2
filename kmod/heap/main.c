// SPDX-License-Identifier: GPL-2.0-only
/* fovea-heap as a module: its parameters, which are the mapping cache's. */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "../include/compat.h"
#include "cache.h"
#include "holder.h"

static int mapcache_set(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	if (!error)
		heap_cache_trim();
	return error;
}

static const struct kernel_param_ops mapcache_ops = {
	.set = mapcache_set,
	.get = param_get_bool,
};
module_param_cb(mapcache, &mapcache_ops, &heap_cache.on, 0644);
MODULE_PARM_DESC(mapcache, "Whether buffers stay mapped for devices that have let go of them");

static int device_cap_bytes_set(const char *text, const struct kernel_param *param)
{
	int error = param_set_ullong(text, param);

	if (!error)
		heap_cache_trim();
	return error;
}

static const struct kernel_param_ops device_cap_bytes_ops = {
	.set = device_cap_bytes_set,
	.get = param_get_ullong,
};
module_param_cb(device_cap_bytes, &device_cap_bytes_ops, &heap_cache.device_cap_bytes, 0644);
MODULE_PARM_DESC(device_cap_bytes, "What one device's kept mappings may take of its addresses; never more than a quarter of them");

static int __init heap_init(void)
{
	int error = heap_shrink_init();

	if (error)
		return error;
	error = heap_statistics_init();
	if (error)
		goto shrink;
	error = heap_holders_init();
	if (!error)
		return 0;
	heap_statistics_exit();
shrink:
	heap_shrink_exit();
	return error;
}

/* No source is left, and so no buffer and no mapping; only records of devices. */
static void __exit heap_exit(void)
{
	heap_holders_exit();
	heap_statistics_exit();
	heap_watch_exit();
	heap_shrink_exit();
	heap_cache_forget_all();
}

module_init(heap_init);
module_exit(heap_exit);
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("Device buffers: nodes, DMA-BUFs, the mapping cache");
MODULE_LICENSE("GPL");
FOVEA_IMPORT_NS(DMA_BUF);
