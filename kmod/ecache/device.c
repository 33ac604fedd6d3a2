// SPDX-License-Identifier: GPL-2.0-only
/* The devices that have memory reserved: for drivers by name, for programs by nodes. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>

#include "device.h"
#include "devices.h"
#include "pool.h"
#include "trace.h"

struct reservation {
	struct heap_node heap;
	/* Its number in the core. */
	u32 device;
};

static struct heap_device *devices;
static struct reservation *reservations;
static u32 nr_devices;
/*
 * Buffers are numbered, so that one given back twice is not somebody else's. Each device has
 * its lock, which salvage holds while it copies: no other device's driver waits for it.
 */
static struct mutex serial_locks[ECACHE_MAX_DEVICES];
static u64 serials[ECACHE_MAX_DEVICES];
static atomic64_t last_serial;

static int take(u32 device, u64 size_bytes, struct heap_range *range)
{
	struct ecache_region region;
	u64 discarded;
	int error;

	error = pool_alloc(device, size_bytes >> PAGE_SHIFT, &region,
			   &discarded);
	if (error)
		return error;
	range->phys = pool_frame_phys(region.first);
	range->vaddr = pool_frame(region.first);
	range->size_bytes = size_bytes;
	trace_ecache_alloc(devices[device].name, region.first, region.count,
			   discarded);
	return 0;
}

static void give_back(u32 device)
{
	trace_ecache_free(devices[device].name);
	pool_free(device);
}

static u32 device_of(struct heap_node *node)
{
	return container_of(node, struct reservation, heap)->device;
}

static int node_alloc(struct heap_node *node, struct heap_range *range)
{
	return take(device_of(node), range->size_bytes, range);
}

static void salvage(u32 device)
{
	u32 pages = pool_salvage(device);

	trace_ecache_salvage(devices[device].name, pages);
}

static void node_salvage(struct heap_node *node, const struct heap_range *range)
{
	salvage(device_of(node));
}

static void node_free(struct heap_node *node, const struct heap_range *range)
{
	give_back(device_of(node));
}

static u64 node_held_bytes(struct heap_node *node)
{
	return (u64)pool_held(device_of(node)) << PAGE_SHIFT;
}

static bool zero_at_alloc(void)
{
	return READ_ONCE(pool.zero) == POOL_ZERO_ALLOC;
}

static const struct heap_source source = {
	.owner = THIS_MODULE,
	.alloc = node_alloc,
	.salvage = node_salvage,
	.free = node_free,
	.held_bytes = node_held_bytes,
	.zero_at_alloc = zero_at_alloc,
};

static int find(const char *name)
{
	u32 d;

	for (d = 0; d < nr_devices; d++)
		if (!strcmp(devices[d].name, name))
			return d;
	return -ENODEV;
}

int ecache_alloc(const char *name, size_t size_bytes,
		 struct ecache_buffer *buffer)
{
	int device = find(name), error;
	struct heap_range range;

	if (device < 0)
		return device;
	if (!size_bytes || size_bytes > devices[device].size_bytes)
		return -EINVAL;
	error = take(device, PAGE_ALIGN(size_bytes), &range);
	if (error)
		return error;
	buffer->phys = range.phys;
	buffer->vaddr = range.vaddr;
	buffer->size_bytes = range.size_bytes;
	buffer->device = device;
	mutex_lock(&serial_locks[device]);
	buffer->serial = atomic64_inc_return(&last_serial);
	serials[device] = buffer->serial;
	mutex_unlock(&serial_locks[device]);
	return 0;
}
EXPORT_SYMBOL_GPL(ecache_alloc);

static bool is_held(const struct ecache_buffer *buffer)
{
	lockdep_assert_held(&serial_locks[buffer->device]);
	return buffer->serial && serials[buffer->device] == buffer->serial;
}

void ecache_salvage(const struct ecache_buffer *buffer)
{
	if (WARN_ON_ONCE(buffer->device >= nr_devices))
		return;
	mutex_lock(&serial_locks[buffer->device]);
	if (!WARN_ON_ONCE(!is_held(buffer)))
		salvage(buffer->device);
	mutex_unlock(&serial_locks[buffer->device]);
}
EXPORT_SYMBOL_GPL(ecache_salvage);

void ecache_free(const struct ecache_buffer *buffer)
{
	bool held;

	if (WARN_ON_ONCE(buffer->device >= nr_devices))
		return;
	mutex_lock(&serial_locks[buffer->device]);
	held = is_held(buffer);
	if (held)
		serials[buffer->device] = 0;
	mutex_unlock(&serial_locks[buffer->device]);
	if (!WARN_ON_ONCE(!held))
		give_back(buffer->device);
}
EXPORT_SYMBOL_GPL(ecache_free);

int devices_add(struct heap_device *list, u32 count)
{
	int error;

	reservations = kcalloc(count, sizeof(*reservations), GFP_KERNEL);
	if (!reservations)
		return -ENOMEM;
	devices = list;
	for (nr_devices = 0; nr_devices < count; nr_devices++) {
		struct reservation *r = &reservations[nr_devices];

		r->heap.name = list[nr_devices].name;
		r->heap.source = &source;
		r->heap.size_bytes = list[nr_devices].size_bytes;
		r->device = nr_devices;
		mutex_init(&serial_locks[nr_devices]);
		error = heap_node_add(&r->heap);
		if (error) {
			devices_remove();
			return error;
		}
	}
	return 0;
}

void devices_open(void)
{
	u32 d;

	for (d = 0; d < nr_devices; d++)
		heap_node_open(&reservations[d].heap);
}

void devices_remove(void)
{
	while (nr_devices)
		heap_node_remove(&reservations[--nr_devices].heap);
	kfree(reservations);
}
