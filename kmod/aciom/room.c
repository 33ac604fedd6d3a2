// SPDX-License-Identifier: GPL-2.0-only
/* Back pressure: whoever writes more than the disk takes waits before it is queued. */
#include <linux/bio.h>
#include <linux/sched.h>

#include "broken.h"
#include "queue.h"

static wait_queue_head_t *room_of(struct queue *q, u32 class)
{
	return &q->rooms[class == ACIOM_BURSTY];
}

/* One at a time: whoever comes in asks again, and wakes the next. */
void queue_wake_writers(struct queue *q, u32 class)
{
	if (waitqueue_active(room_of(q, class)) && !aciom_writes_full(q->core, class))
		wake_up(room_of(q, class));
}

/* As wbt has it: all but direct writes, which are as many as their submitter has memory for. */
static bool is_bounded(const struct bio *bio)
{
	return !ACIOM_BROKEN_PRESSURE && bio_op(bio) == REQ_OP_WRITE &&
	       !(bio->bi_opf & REQ_NOWAIT) &&
	       (bio->bi_opf & (REQ_SYNC | REQ_IDLE)) != (REQ_SYNC | REQ_IDLE);
}

static bool writes_full(struct queue *q, u32 class)
{
	unsigned long irq;
	bool full;

	spin_lock_irqsave(&q->lock, irq);
	full = aciom_writes_full(q->core, class);
	spin_unlock_irqrestore(&q->lock, irq);
	return full;
}

/*
 * Until what waits of a class leaves room for another write; in the order in which they came,
 * as wbt does it at the disk's own queue. Whoever is woken comes in, whatever others did
 * meanwhile, and wakes the next: the bound may be passed by a request of each. Room is made by
 * time alone: what waits goes whether or not anybody comes. Returns whether it had to wait.
 */
bool queue_wait_for_room(struct queue *q, const struct bio *bio, u32 class,
			 const bool *active)
{
	wait_queue_head_t *room = room_of(q, class);
	DEFINE_WAIT(wait);

	if (!is_bounded(bio) || (!waitqueue_active(room) && !writes_full(q, class)))
		return false;
	prepare_to_wait_exclusive(room, &wait, TASK_UNINTERRUPTIBLE);
	/* Room that was made before this one was seen to wait: the first has it. */
	spin_lock_irq(&q->lock);
	queue_wake_writers(q, class);
	spin_unlock_irq(&q->lock);
	if (READ_ONCE(*active))
		io_schedule();
	finish_wait(room, &wait);
	return true;
}
