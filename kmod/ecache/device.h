/* SPDX-License-Identifier: GPL-2.0-only */
/* For drivers of devices with reserved memory: include this, depend on dm_ecache. */
#ifndef FOVEA_ECACHE_DEVICE_H
#define FOVEA_ECACHE_DEVICE_H

#include <linux/types.h>

/* A device's contiguous memory. */
struct ecache_buffer {
	phys_addr_t phys;
	void *vaddr;
	size_t size_bytes;
	/* Not for drivers. */
	u32 device;
	u64 serial;
};

/*
 * Gives the device that the parameter `devices` names `device` so many contiguous bytes,
 * rounded up to pages, in microseconds. Never fails within its reservation: -ENODEV for
 * an unknown name, -EINVAL for 0 or more than the reservation, -EBUSY if it holds a
 * buffer already. The content is what was there before: clear it before anybody else sees
 * it. May sleep.
 *
 * The CPU wrote there a moment ago. A device that does not see the CPU's caches (most of
 * arm64's) gets the memory by dma_map_single() or a scatterlist as any other memory: that
 * writes the caches back. After hibernation memory reserved with memmap= holds anything.
 */
int ecache_alloc(const char *device, size_t size_bytes,
		 struct ecache_buffer *buffer);

/*
 * Saves the most valuable file pages that a buffer still holds, by moving them to
 * what is left of the cache: some microseconds each. To be called, if at all, after
 * ecache_alloc() and before anything is written to the buffer. May sleep.
 */
void ecache_salvage(const struct ecache_buffer *buffer);

/*
 * Gives a buffer back; no access to it from here on. One that is not held, because it was
 * given back before, is left alone with a warning. May sleep.
 */
void ecache_free(const struct ecache_buffer *buffer);

#endif /* FOVEA_ECACHE_DEVICE_H */
