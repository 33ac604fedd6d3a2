// SPDX-License-Identifier: GPL-2.0-only
/* A disk's queue: the core under its lock, the timer, and who submits. queue.h says more. */
#include <linux/blkdev.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "../include/compat.h"
#include "broken.h"
#include "queue.h"

static struct workqueue_struct *submitters;

static struct bio *bio_of(struct aciom_request *r)
{
	return dm_bio_from_per_bio_data(container_of(r, struct io, request),
					sizeof(struct io));
}

static bool goes_first(const struct aciom_request *r)
{
	return r->class == ACIOM_TIME_SENSITIVE ||
	       container_of(r, struct io, request)->urgent;
}

/* Sets the timer for when the core wants to be asked, if that is sooner than it comes. */
static void arm(struct queue *q)
{
	u64 wake_ns = aciom_wake_ns(q->core);

	if (wake_ns >= q->armed_ns)
		return;
	q->armed_ns = wake_ns;
	hrtimer_start(&q->timer, ns_to_ktime(wake_ns), HRTIMER_MODE_ABS);
}

/*
 * All that may go now, under the lock; whether `mine` is among it, which is the caller's. A
 * disk that has as many requests as it takes has whoever brings another one wait, and
 * wakes those in no order that could be relied on: one that comes again and again
 * overtakes the others for seconds. So then only the work waits.
 */
static bool decide(struct queue *q, u64 now_ns, struct aciom_request *mine)
{
	struct aciom_request *r;
	bool found = false;

	while ((r = aciom_dispatch(q->core, now_ns))) {
		if (r == mine && q->in_flight < READ_ONCE(q->disk->nr_requests))
			found = true;
		else
			bio_list_add(goes_first(r) ? &q->first : &q->decided, bio_of(r));
		q->in_flight++;
	}
	arm(q);
	return found;
}

static struct bio *next_decided(struct queue *q)
{
	struct bio *bio;

	spin_lock_irq(&q->lock);
	bio = bio_list_pop(&q->first);
	if (!bio)
		bio = bio_list_pop(&q->decided);
	spin_unlock_irq(&q->lock);
	return bio;
}

/* The same where nobody may sleep: the work submits. */
static bool decide_and_kick(struct queue *q, u64 now_ns, struct aciom_request *mine)
{
	bool found = decide(q, now_ns, mine);

	if (!bio_list_empty(&q->first) || !bio_list_empty(&q->decided))
		queue_work(submitters, &q->work);
	return found;
}

static void submit(struct work_struct *work)
{
	struct queue *q = container_of(work, struct queue, work);
	struct blk_plug plug;
	struct bio *bio;

	spin_lock_irq(&q->lock);
	decide(q, ktime_get_ns(), NULL);
	spin_unlock_irq(&q->lock);

	blk_start_plug(&plug);
	/* One by one: each may have to wait for the disk, and what comes meanwhile go first. */
	while ((bio = next_decided(q))) {
		/* Nobody waits here who must not sleep, or who would poll for it. */
		bio->bi_opf &= ~(REQ_NOWAIT | REQ_POLLED);
		dm_submit_bio_remap(bio, NULL);
	}
	blk_finish_plug(&plug);
}

static enum hrtimer_restart timer_comes(struct hrtimer *timer)
{
	struct queue *q = container_of(timer, struct queue, timer);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->armed_ns = ACIOM_NEVER;
	spin_unlock_irqrestore(&q->lock, flags);
	queue_work(submitters, &q->work);
	return HRTIMER_NORESTART;
}

/*
 * Who may not wait for others, whatever its class: what a file system's order hangs on
 * (metadata, the journal: others of every class wait for it), and whoever frees memory.
 */
static bool is_urgent(const struct bio *bio)
{
	return bio->bi_opf & (REQ_META | REQ_PRIO | REQ_SWAP) ||
	       current->flags & PF_MEMALLOC;
}

bool queue_enter(struct queue *q, struct bio *bio, struct io *io, u32 app)
{
	u64 now_ns = ktime_get_ns();
	unsigned long irq;
	bool now;

	io->counted = true;
	io->urgent = is_urgent(bio);
	spin_lock_irqsave(&q->lock, irq);
	aciom_enqueue(q->core, &io->request, app, bio->bi_iter.bi_size,
		      io->urgent ? ACIOM_URGENT : 0, now_ns);
	now = decide_and_kick(q, now_ns, &io->request);
	spin_unlock_irqrestore(&q->lock, irq);
	return now;
}

void queue_leave(struct queue *q, struct io *io)
{
	u64 now_ns = ktime_get_ns();
	unsigned long irq;

	spin_lock_irqsave(&q->lock, irq);
	q->in_flight--;
	aciom_complete(q->core, &io->request, now_ns);
	decide_and_kick(q, now_ns, NULL);
	spin_unlock_irqrestore(&q->lock, irq);
}

void queue_set_open(struct queue *q, bool open)
{
	struct bio_list lost = BIO_EMPTY_LIST;
	struct aciom_request *r;
	struct bio *bio;
	u64 now_ns = ktime_get_ns();

	spin_lock_irq(&q->lock);
	aciom_set_open(q->core, open, now_ns);
	while (ACIOM_BROKEN_LOST && open && (r = aciom_dispatch(q->core, now_ns))) {
		bio_list_add(&lost, bio_of(r));
		q->in_flight++;
	}
	decide_and_kick(q, now_ns, NULL);
	spin_unlock_irq(&q->lock);
	while ((bio = bio_list_pop(&lost)))
		bio_endio(bio);
}

void queue_settle(struct queue *q)
{
	hrtimer_cancel(&q->timer);
	spin_lock_irq(&q->lock);
	q->armed_ns = ACIOM_NEVER;
	spin_unlock_irq(&q->lock);
	flush_work(&q->work);
}

int queue_set_cmax(struct queue *q, u64 cmax)
{
	int error;

	spin_lock_irq(&q->lock);
	error = aciom_set_cmax(q->core, cmax, ktime_get_ns());
	if (!error)
		WRITE_ONCE(q->measures, !cmax);
	decide_and_kick(q, ktime_get_ns(), NULL);
	spin_unlock_irq(&q->lock);
	return error;
}

void queue_app_add(struct queue *q, u32 app, u32 class)
{
	spin_lock_irq(&q->lock);
	WARN_ON_ONCE(aciom_app_add(q->core, app, class, ktime_get_ns()));
	spin_unlock_irq(&q->lock);
}

void queue_app_class(struct queue *q, u32 app, u32 class)
{
	u64 now_ns = ktime_get_ns();

	spin_lock_irq(&q->lock);
	WARN_ON_ONCE(aciom_app_class(q->core, app, class, now_ns));
	decide_and_kick(q, now_ns, NULL);
	spin_unlock_irq(&q->lock);
}

void queue_app_remove(struct queue *q, u32 app)
{
	u64 now_ns = ktime_get_ns();

	spin_lock_irq(&q->lock);
	WARN_ON_ONCE(aciom_app_remove(q->core, app, now_ns));
	decide_and_kick(q, now_ns, NULL);
	spin_unlock_irq(&q->lock);
}

int queue_init(struct queue *q, const struct aciom_config *config,
	       const struct request_queue *disk)
{
	u64 size = aciom_memory_size(config);
	void *memory = kvzalloc(size, GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	aciom_init(memory, size, config, &q->core);
	q->measures = !config->cmax;
	q->armed_ns = ACIOM_NEVER;
	spin_lock_init(&q->lock);
	bio_list_init(&q->first);
	bio_list_init(&q->decided);
	q->disk = disk;
	INIT_WORK(&q->work, submit);
	INIT_LIST_HEAD(&q->link);
	fovea_hrtimer_setup(&q->timer, timer_comes, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	return 0;
}

void queue_exit(struct queue *q)
{
	queue_settle(q);
	kvfree(q->core);
}

int queues_init(void)
{
	/* Others' memory may hang on what is submitted here, and their deadlines. */
	submitters = alloc_workqueue("dm-aciom", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_HIGHPRI,
				     0);
	return submitters ? 0 : -ENOMEM;
}

void queues_exit(void)
{
	destroy_workqueue(submitters);
}
