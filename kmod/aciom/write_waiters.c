// SPDX-License-Identifier: GPL-2.0-only
/* Back pressure: a task that writes more than the disk takes waits before its write is queued. */
#include <linux/bio.h>
#include <linux/sched.h>

#include "broken.h"
#include "queue.h"

static wait_queue_head_t *waiters_of(struct queue *q, u32 class, bool awaited)
{
	return &q->write_waiters[awaited][class == ACIOM_BURSTY];
}

static void wake_one(struct queue *q, u32 class, bool awaited)
{
	wait_queue_head_t *waiters = waiters_of(q, class, awaited);

	/* No barrier: a task that begins to wait calls this itself afterwards, under the lock. */
	if (waitqueue_active(waiters) && !aciom_writes_full(q->core, class, awaited))
		wake_up(waiters);
}

/* Wakes one writer of each kind. It asks again, and wakes the next. */
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

	for (i = 0; i < NR_WRITE_WAITERS; i++) {
		wake_up_all(&q->write_waiters[0][i]);
		wake_up_all(&q->write_waiters[1][i]);
	}
}

/* As in wbt: all but direct writes, which are bounded by their submitter's memory. */
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
 * Waits until the queued writes of a class are below their bound. Writers go in the order in which
 * they came, as with wbt at the disk's own queue. A writer that is woken goes on whatever others
 * did meanwhile, and wakes the next, so the bound may be exceeded by one request of each. Queued
 * writes go by time alone, so the wait ends. Returns whether it had to wait.
 *
 * A writer inside a file system's transaction keeps the next transaction from beginning, and all
 * tasks that wait for it: ext4 writes 8 MiB of new data in one. Such writers wait apart.
 */
bool queue_throttle_write(struct queue *q, const struct bio *bio, u32 class,
			 const bool *active)
{
	bool awaited = current->journal_info;
	wait_queue_head_t *waiters = waiters_of(q, class, awaited);
	DEFINE_WAIT(wait);

	/* No barrier: a waiter that is not seen yet is overtaken by one write. */
	if (!is_bounded(bio) ||
	    (!waitqueue_active(waiters) && !writes_full(q, class, awaited)))
		return false;
	prepare_to_wait_exclusive(waiters, &wait, TASK_UNINTERRUPTIBLE);
	/* There may be room since before this wait could be seen: the first waiter gets it. */
	spin_lock_irq(&q->lock);
	wake_one(q, class, awaited);
	spin_unlock_irq(&q->lock);
	if (READ_ONCE(*active))
		io_schedule();
	finish_wait(waiters, &wait);
	return true;
}
