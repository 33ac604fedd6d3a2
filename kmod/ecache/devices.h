/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOVEA_ECACHE_DEVICES_H
#define FOVEA_ECACHE_DEVICES_H

#include "pool.h"

/*
 * Makes the nodes of all devices; the list is kept until devices_remove(). Nobody can
 * open them before devices_open(): a module that fails to load later has no buffers out.
 */
int devices_add(struct pool_device *list, u32 count);
void devices_open(void);
void devices_remove(void);

#endif /* FOVEA_ECACHE_DEVICES_H */
