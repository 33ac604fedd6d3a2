/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOVEA_ECACHE_DEVICES_H
#define FOVEA_ECACHE_DEVICES_H

#include "../heap/heap.h"

/*
 * Makes the nodes of all devices; the list is kept until devices_remove(). Nobody can
 * open them before devices_open().
 */
int devices_add(struct heap_device *list, u32 count);
void devices_open(void);
void devices_remove(void);

#endif /* FOVEA_ECACHE_DEVICES_H */
