// SPDX-License-Identifier: GPL-2.0-only
/* Records of the devices that buffers are mapped for. */
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "cache.h"
#include "mapping.h"

static void device_release(struct kref *refs)
{
	struct cache_device *d = container_of(refs, struct cache_device, refs);

	put_device(d->dev);
	kfree(d);
}

void cache_device_put(struct cache_device *d)
{
	kref_put(&d->refs, device_release);
}

static struct cache_device *device_find(struct device *dev)
{
	struct cache_device *d;

	lockdep_assert_held(&heap_cache.lock);
	list_for_each_entry(d, &heap_cache.devices, of_all)
		if (d->dev == dev)
			return d;
	return NULL;
}

/*
 * Without a driver there is none: nobody tells when such a device's address space is
 * exchanged.
 */
struct cache_device *cache_device_get(struct device *dev)
{
	struct cache_device *made = NULL, *d;

	spin_lock(&heap_cache.lock);
	d = device_find(dev);
	if (!d) {
		spin_unlock(&heap_cache.lock);
		made = kzalloc(sizeof(*made), GFP_KERNEL);
		if (!made)
			return NULL;
		kref_init(&made->refs);
		INIT_LIST_HEAD(&made->idle);
		made->dev = get_device(dev);
		spin_lock(&heap_cache.lock);
		d = device_find(dev);
	}
	/* A driver that is gone is forgotten under the lock after that, and never again. */
	if (!d && READ_ONCE(dev->driver)) {
		d = made;
		made = NULL;
		list_add_tail(&d->of_all, &heap_cache.devices);
	}
	if (d)
		kref_get(&d->refs);
	spin_unlock(&heap_cache.lock);
	if (made)
		cache_device_put(made);
	return d;
}

static bool settled(struct cache_device *d)
{
	bool all;

	spin_lock(&heap_cache.lock);
	all = !d->nr_dropping;
	spin_unlock(&heap_cache.lock);
	return all;
}

/* `d` is held by the caller. What is in use ends with its use: see may_stay(). */
static void leave(struct cache_device *d)
{
	spin_lock(&heap_cache.lock);
	d->going = true;
	while (!list_empty(&d->idle))
		heap_cache_end(list_first_entry(&d->idle,
						struct heap_mapping, of_device));
	spin_unlock(&heap_cache.lock);
	wait_event(heap_cache_dropped, settled(d));
}

void heap_cache_leave(struct device *dev)
{
	/*
	 * Made even where nothing was mapped: until its driver is gone the device may still
	 * map, and that must not stay.
	 */
	struct cache_device *d = cache_device_get(dev);

	if (!d)
		return;
	leave(d);
	cache_device_put(d);
}

void heap_cache_forget(struct device *dev)
{
	struct cache_device *d;

	spin_lock(&heap_cache.lock);
	d = device_find(dev);
	if (d)
		list_del(&d->of_all);
	spin_unlock(&heap_cache.lock);
	if (!d)
		return;
	/* Only what was mapped since leave(), had there been no memory for its record. */
	leave(d);
	cache_device_put(d);
}

void heap_cache_forget_all(void)
{
	struct cache_device *d;

	while ((d = list_first_entry_or_null(&heap_cache.devices,
					     struct cache_device, of_all)))
		heap_cache_forget(d->dev);
}
