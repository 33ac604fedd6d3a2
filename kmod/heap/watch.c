// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a device loses its driver, or is taken out: its bus says so. The device's address
 * space may be exchanged after that, and with it what a mapping was made in.
 */
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/notifier.h>

#include "../include/compat.h"
#include "broken.h"
#include "cache.h"

/* Buses with importers on them: platform, PCI, perhaps two more. */
#define BUSES_MAX 16

struct watched {
	struct notifier_block notifier;
	typeof_member(struct device, bus) bus;
};

static struct watched buses[BUSES_MAX];
static int nr_buses;
typeof_member(struct device, bus) heap_last_watched;
FOVEA_EXPORT(heap_last_watched, FOVEA_HEAP);
static DEFINE_MUTEX(buses_lock);

static int told(struct notifier_block *notifier, unsigned long event, void *data)
{
	struct device *dev = data;

	switch (event) {
	case BUS_NOTIFY_UNBIND_DRIVER:
	case BUS_NOTIFY_DEL_DEVICE:
		heap_cache_leave(dev);
		break;
	case BUS_NOTIFY_UNBOUND_DRIVER:
	case BUS_NOTIFY_DRIVER_NOT_BOUND:
	case BUS_NOTIFY_REMOVED_DEVICE:
		heap_cache_forget(dev);
		break;
	}
	return NOTIFY_OK;
}

bool heap_is_watched(struct device *dev)
{
	/* Pairs with heap_watch(). */
	int i, count = smp_load_acquire(&nr_buses);

	for (i = 0; i < count; i++)
		if (buses[i].bus == dev->bus)
			return true;
	return false;
}

bool heap_watch(struct device *dev)
{
	bool watched;

	if (!dev->bus)
		return false;
	if (heap_is_watched(dev)) {
		WRITE_ONCE(heap_last_watched, dev->bus);
		return true;
	}
	mutex_lock(&buses_lock);
	watched = heap_is_watched(dev);
	if (!watched && nr_buses < BUSES_MAX) {
		struct watched *w = &buses[nr_buses];

		w->bus = dev->bus;
		w->notifier.notifier_call = told;
		watched = HEAP_BROKEN_NOTIFIER ||
			  !bus_register_notifier(w->bus, &w->notifier);
		if (watched)
			/* Pairs with heap_is_watched(). */
			smp_store_release(&nr_buses, nr_buses + 1);
	}
	mutex_unlock(&buses_lock);
	return watched;
}
FOVEA_EXPORT(heap_watch, FOVEA_HEAP);

void heap_watch_exit(void)
{
	while (nr_buses--)
		if (!HEAP_BROKEN_NOTIFIER)
			bus_unregister_notifier(buses[nr_buses].bus,
						&buses[nr_buses].notifier);
}
