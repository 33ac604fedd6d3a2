// SPDX-License-Identifier: GPL-2.0-only
/* Back pressure: whoever writes more than the disk takes waits before it is queued. */
#include <linux/bio.h>
#include <linux/sched.h>

#include "broken.h"
#include "queue.h"

static wait_queue_head_t *room_of(struct queue *q, u32 class, bool awaited)
{
	return &q->rooms[awaited][class == ACIOM_BURSTY];
}

static void wake_one(struct queue *q, u32 class, bool awaited)
{
	wait_queue_head_t *room = room_of(q, class, awaited);

	/* No barrier: whoever begins to wait calls this itself afterwards, under the lock. */
	if (waitqueue_active(room) && !aciom_writes_full(q->core, class, awaited))
		wake_up(room);
}

/* One at a time: whoever comes in asks again, and wakes the next. */
void queue_wake_writers(struct queue *q)
{
	wake_one(q, ACIOM_PLAIN, false);
	wake_one(q, ACIOM_PLAIN, true);
	wake_one(q, ACIOM_BURSTY, false);
	wake_one(q, ACIOM_BURSTY, true);
}

void queue_wake_all_writers(struct queue *q)
{
	int i;

	for (i = 0; i < NR_ROOMS; i++) {
		wake_up_all(&q->rooms[0][i]);
		wake_up_all(&q->rooms[1][i]);
	}
}

/* As wbt has it: all but direct writes, which are as many as their submitter has memory for. */
static bool is_bounded(const struct bio *bio)
{
	return !ACIOM_BROKEN_PRESSURE && bio_op(bio) == REQ_OP_WRITE &&
	       !(bio->bi_opf & REQ_NOWAIT) &&
	       (bio->bi_opf & (REQ_SYNC | REQ_IDLE)) != (REQ_SYNC | REQ_IDLE);
}

static bool writes_full(struct queue *q, u32 class, bool awaited)
{
	unsigned long irq;
	bool full;

	spin_lock_irqsave(&q->lock, irq);
	full = aciom_writes_full(q->core, class, awaited);
	spin_unlock_irqrestore(&q->lock, irq);
	return full;
}

/*
 * Until what waits of a class leaves room for another write; in the order in which they came,
 * as wbt does it at the disk's own queue. Whoever is woken comes in, whatever others did
 * meanwhile, and wakes the next: the bound may be passed by a request of each. Room is made by
 * time alone: what waits goes whether or not anybody comes. Returns whether it had to wait.
 *
 * Whoever is in the middle of a file system's transaction keeps the next one from beginning,
 * and everybody who waits for that: ext4 writes 8 MiB of new data in one.
 */
bool queue_wait_for_room(struct queue *q, const struct bio *bio, u32 class,
			 const bool *active)
{
	bool awaited = current->journal_info;
	wait_queue_head_t *room = room_of(q, class, awaited);
	DEFINE_WAIT(wait);

	/* No barrier: a waiter that is not seen yet is overtaken by one write. */
	if (!is_bounded(bio) ||
	    (!waitqueue_active(room) && !writes_full(q, class, awaited)))
		return false;
	prepare_to_wait_exclusive(room, &wait, TASK_UNINTERRUPTIBLE);
	/* Room that was made before this one was seen to wait: the first has it. */
	spin_lock_irq(&q->lock);
	wake_one(q, class, awaited);
	spin_unlock_irq(&q->lock);
	if (READ_ONCE(*active))
		io_schedule();
	finish_wait(room, &wait);
	return true;
}
