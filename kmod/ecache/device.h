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
};

/*
 * Gives the device that the parameter `devices` names `device` so many contiguous bytes,
 * rounded up to pages, in microseconds. Never fails within its reservation: -ENODEV for
 * an unknown name, -EINVAL for 0 or more than the reservation, -EBUSY if it holds a
 * buffer already. The content is what was there before: clear it before anybody else sees
 * it. May sleep.
 */
int ecache_alloc(const char *device, size_t size_bytes,
		 struct ecache_buffer *buffer);

/*
 * Saves the most valuable file pages that a device's buffer still holds, by moving them to
 * what is left of the cache: some microseconds each. To be called, if at all, after
 * ecache_alloc() and before anything is written to the buffer. May sleep.
 */
void ecache_salvage(const char *device);

/* Gives a device's buffer back; no access to it from here on. May sleep. */
void ecache_free(const char *device);

#endif /* FOVEA_ECACHE_DEVICE_H */
