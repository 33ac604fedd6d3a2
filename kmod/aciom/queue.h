/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk's queue: requests under the core's decisions. Who submits what was decided: a
 * request that goes as it arrives to a disk with room, its submitter; all others, a
 * workqueue, since a completion or a timer may not sleep and submitting may.
 *
 * Memory. A request is held in its bio's own data, so holding allocates nothing. What is
 * held keeps a bio of device-mapper's pool, and that has its reserve; progress never waits
 * for it, for whatever is held goes by time alone, a second after it arrived at the latest.
 * Whoever frees memory by writing (swap, or PF_MEMALLOC) is not held at all.
 */
#ifndef FOVEA_ACIOM_QUEUE_H
#define FOVEA_ACIOM_QUEUE_H

#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../../core/aciom/aciom.h"

/* A bio's own data. */
struct io {
	struct aciom_request request;
	/* The core knows it. */
	bool counted;
	bool urgent;
};

struct queue {
	spinlock_t lock;
	/* Under the lock: */
	struct aciom *core;
	struct bio_list first;		/* to be submitted by the work, */
	struct bio_list decided;	/* and after these */
	u64 in_flight;			/* with the disk, or decided */
	u64 armed_ns;			/* when the timer comes; ACIOM_NEVER: not */

	const struct request_queue *disk;
	struct work_struct work;
	struct hrtimer timer;
	struct list_head link;		/* classes.c's */
	/* Every request counts, for the disk's rate is to be found. */
	bool measures;
};

int queue_init(struct queue *q, const struct aciom_config *config,
	       const struct request_queue *disk);

/* Nothing is under way any more. */
void queue_exit(struct queue *q);

/* Whether the bio is to be submitted now, by the caller; else it will be. */
bool queue_enter(struct queue *q, struct bio *bio, struct io *io, u32 app);

/* It has ended. */
void queue_leave(struct queue *q, struct io *io);

/* While open nothing is held: all that was goes now. */
void queue_set_open(struct queue *q, bool open);

/* Waits until the timer and the work are at rest. */
void queue_settle(struct queue *q);

int queue_set_cmax(struct queue *q, u64 cmax);

/* Apps by their numbers, as classes.c gives them. */
void queue_app_add(struct queue *q, u32 app, u32 class);
void queue_app_class(struct queue *q, u32 app, u32 class);
void queue_app_remove(struct queue *q, u32 app);

int queues_init(void);
void queues_exit(void);

#endif /* FOVEA_ACIOM_QUEUE_H */
