/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk's queue: requests under the core's decisions. All volumes on a disk share one, for
 * there is one rate to share out. Who submits what was decided: a request that goes as it
 * arrives, its submitter; all others, a workqueue, since a completion or a timer may not
 * sleep and submitting may.
 *
 * While no time-sensitive app is active on the disk, requests pass by: no lock is taken and
 * no line of memory shared between CPUs is written, but once in ACIOM_EPOCH_NS.
 *
 * Memory. A request is held in its bio's own data, so holding allocates nothing. What is
 * held keeps a bio of device-mapper's pool, and that has its reserve; progress never waits
 * for it, for whatever is held goes by time alone, a second after it arrived at the latest.
 * Whoever frees memory by writing (swap, or PF_MEMALLOC) is not held at all, and never waits
 * for room.
 */
#ifndef FOVEA_ACIOM_QUEUE_H
#define FOVEA_ACIOM_QUEUE_H

#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../../core/aciom/aciom.h"

/* Requests of one bursty app that are held at most, if nobody says otherwise. */
#define HOLD_DEFAULT	1024

enum io_way {
	/* Nobody needs to know of it. */
	IO_PASSED,
	/* It passed by; its bytes count for the disk's rate. */
	IO_OBSERVED,
	/* The core knows it. */
	IO_COUNTED,
};

/* A bio's own data. */
struct io {
	struct aciom_request request;
	/* Of one that is observed: when it went, if its latency is to be known. */
	u64 start_ns;
	u32 bytes;
	bool urgent;
	enum io_way way;
};

/* What passed by on one CPU. */
struct observed {
	unsigned long bytes;
	/* Of these, those that the core knows of. */
	unsigned long folded;
	u64 latency_ns;
	unsigned int seen;
};

/* Whose writes wait for room apart. */
#define NR_ROOMS	2

struct queue {
	spinlock_t lock;
	/* Under the lock: */
	struct aciom *core;
	struct bio_list decided;	/* to be submitted by the work */
	u64 in_order;			/* with the disk, or decided; not urgent */
	u64 urgent;			/* with the disk, urgent */
	bool urgent_done;		/* one ended since the last that is not */
	u64 armed_ns;			/* when the timer comes; ACIOM_NEVER: not */
	unsigned int active;		/* volumes that are not suspended */

	/* Read without the lock: */
	bool limited;			/* a time-sensitive app is active */
	bool measures;			/* the disk's rate is to be found */
	unsigned long fold_at;		/* jiffies */

	struct observed __percpu *observed;
	/*
	 * Who waits to bring a write: of plain apps, and of bursty ones; in the second row those
	 * for whom others wait.
	 */
	wait_queue_head_t rooms[2][NR_ROOMS];
	const struct request_queue *disk;
	unsigned int volumes;		/* under queue.c's mutex */
	struct work_struct work;
	struct hrtimer timer;
	struct list_head link;		/* classes.c's */
	struct list_head disks;		/* queue.c's */
};

/* The disk's queue, which is made if there is none; NULL: no memory. */
struct queue *queue_get(const struct request_queue *disk);

/* Nothing of the volume's is under way any more. */
void queue_put(struct queue *q);

/* Whether a request of this class must come by queue_enter(). */
static inline bool queue_orders(const struct queue *q, u32 class)
{
	return READ_ONCE(q->limited) || class == ACIOM_TIME_SENSITIVE;
}

/* A request passes by. */
void queue_pass(struct queue *q, struct bio *bio, struct io *io);

/*
 * Whether the bio is to be submitted now, by the caller; else it will be. `active`: the
 * volume's, while which is true a write may have to wait for room.
 */
bool queue_enter(struct queue *q, struct bio *bio, struct io *io, u32 app, u32 class,
		 const bool *active);

/* It has ended. */
void queue_leave(struct queue *q, struct io *io);

/* A volume begins, or is about to be suspended: all that is held goes now. */
void queue_begin(struct queue *q);
void queue_end(struct queue *q);

int queue_set_cmax(struct queue *q, u64 cmax);
void queue_set_hold(struct queue *q, u32 hold);

/* Its numbers at this moment. */
void queue_read(struct queue *q, struct aciom_counters *counters);

/* Apps by their numbers, as classes.c gives them. */
void queue_app_add(struct queue *q, u32 app, u32 class);
void queue_app_class(struct queue *q, u32 app, u32 class);
void queue_app_remove(struct queue *q, u32 app);

/* Between queue.c, room.c and pass.c; the first two under the lock. */
void queue_decide(struct queue *q, u64 now_ns);
void queue_wake_writers(struct queue *q);
void queue_wake_all_writers(struct queue *q);
bool queue_wait_for_room(struct queue *q, const struct bio *bio, u32 class,
			 const bool *active);
void queue_passed(struct queue *q, const struct io *io);

int queues_init(void);
void queues_exit(void);

#endif /* FOVEA_ACIOM_QUEUE_H */
