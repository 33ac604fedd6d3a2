/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk's queue: requests under the core's decisions. All volumes on a disk share one queue,
 * because there is one rate to share out. A request that goes as it arrives is submitted by its
 * submitter. All others are submitted by a workqueue, because submitting may sleep, and a
 * completion or a timer may not.
 *
 * While no time-sensitive app is active on the disk, requests pass by: no lock is taken, and no
 * cache line that CPUs share is written, except once in ACIOM_EPOCH_NS.
 *
 * Memory. A request is held in its bio's own data, so holding allocates nothing. A held request
 * keeps a bio of device-mapper's pool, which has a reserve. Progress never waits for that reserve:
 * held requests go by time alone, a second after they arrived at the latest. Writes that free
 * memory (swap, or PF_MEMALLOC) are neither held nor throttled.
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
#include "broken.h"

/* Most held requests of one bursty app, by default. */
#define HOLD_DEFAULT	1024

enum io_way {
	/* It passed by and is not counted. */
	IO_PASSED,
	/* It passed by; its bytes count for the disk's rate. */
	IO_OBSERVED,
	/* The core knows it. */
	IO_COUNTED,
};

/* A bio's own data. */
struct io {
	struct aciom_request request;
	/* Of an observed request: when it was submitted, if its latency is sampled. */
	u64 start_ns;
	u32 bytes;
	bool urgent;
	enum io_way way;
};

/* Requests that passed by on one CPU. */
struct observed {
	unsigned long bytes;
	/* Of these, the bytes that the core was given. */
	unsigned long folded;
	u64 latency_ns;
	unsigned int seen;
};

/* Plain and bursty writes are throttled apart. */
#define NR_WRITE_WAITERS	2

struct queue {
	spinlock_t lock;
	/* Under the lock: */
	struct aciom *core;
	struct bio_list decided;	/* to be submitted by the work */
	u64 in_order;			/* with the disk, or decided; not urgent */
	u64 urgent;			/* with the disk, urgent */
	bool urgent_done;		/* an urgent one ended since the last other one */
	u64 armed_ns;			/* when the timer fires; ACIOM_NEVER: not armed */
	unsigned int active;		/* volumes that are not suspended */

	/* Read without the lock: */
	bool limited;			/* a time-sensitive app is active */
	bool measures;			/* cmax is to be found */
	unsigned long fold_at;		/* jiffies */

	struct observed __percpu *observed;
	/*
	 * Throttled writers: [0] ordinary ones, [1] those inside a transaction, which others wait
	 * for; in each, of plain and of bursty apps.
	 */
	wait_queue_head_t write_waiters[2][NR_WRITE_WAITERS];
	const struct request_queue *disk;
	unsigned int volumes;		/* under queue.c's mutex */
	struct work_struct work;
	struct workqueue_struct *submitter;
	struct hrtimer timer;
	struct list_head link;		/* classes.c's */
	struct list_head disks;		/* queue.c's */
};

/* The disk's queue; it is made if there is none. NULL: no memory. */
struct queue *queue_get(const struct request_queue *disk);

/* Drops a volume's reference; none of its requests is under way any more. */
void queue_put(struct queue *q);

/* Whether a request of this class must come by queue_enter(). */
static inline bool queue_orders(const struct queue *q, u32 class)
{
	return READ_ONCE(q->limited) || class == ACIOM_TIME_SENSITIVE || ACIOM_BROKEN_LOCK;
}

/* A request passes by. */
void queue_pass(struct queue *q, struct bio *bio, struct io *io);

/*
 * True: the caller submits the bio now. False: the queue submits it later. While *active, the
 * volume's, is true, a write may be throttled.
 */
bool queue_enter(struct queue *q, struct bio *bio, struct io *io, u32 app, u32 class,
		 const bool *active);

/* The request has ended. */
void queue_leave(struct queue *q, struct io *io);

/* A volume resumes; a volume is about to be suspended, and all that is held goes now. */
void queue_begin(struct queue *q);
void queue_end(struct queue *q);

int queue_set_cmax(struct queue *q, u64 cmax);
void queue_set_hold(struct queue *q, u32 hold);

/* The queue's counters at this moment. */
void queue_read(struct queue *q, struct aciom_counters *counters);

/* Apps by their numbers, as classes.c gives them. */
void queue_app_add(struct queue *q, u32 app, u32 class);
void queue_app_class(struct queue *q, u32 app, u32 class);
void queue_app_remove(struct queue *q, u32 app);

/* Between queue.c, write_waiters.c and pass.c; the first two under the lock. */
void queue_decide(struct queue *q, u64 now_ns);
void queue_wake_writers(struct queue *q);
void queue_wake_all_writers(struct queue *q);
bool queue_throttle_write(struct queue *q, const struct bio *bio, u32 class,
			 const bool *active);
void queue_passed(struct queue *q, const struct io *io);

#endif /* FOVEA_ACIOM_QUEUE_H */
