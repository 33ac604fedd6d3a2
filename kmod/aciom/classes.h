/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which cgroup has which class: one table for all targets, so that it outlives a table
 * of device-mapper's that is replaced. A cgroup that nobody named has its nearest named
 * ancestor's class, or is plain.
 */
#ifndef FOVEA_ACIOM_CLASSES_H
#define FOVEA_ACIOM_CLASSES_H

#include "queue.h"

/* Most cgroups that are named, the plain ones among them. */
#define CLASSES_MAX	4096

/* Whether there is anybody to protect: read without a lock. */
extern int classes_sensitive;

/* The number of the app that the bio is charged to, and its class. */
u32 classes_find(struct bio *bio, u32 *class);

/*
 * Cgroups by the inodes of their folders, as stat(1) prints them: where long has 32 bits that
 * is not the whole of the kernel's own id. -ENOSPC: there are CLASSES_MAX, or ACIOM_MAX_APPS
 * that are not plain.
 */
int classes_set(u64 cgroup, u32 class);

/* -ENOENT: it was not named. */
int classes_forget(u64 cgroup);
void classes_forget_all(void);

/* The queue knows all apps from now on, or learns of none any more. */
void classes_attach(struct queue *q);
void classes_detach(struct queue *q);

#endif /* FOVEA_ACIOM_CLASSES_H */
