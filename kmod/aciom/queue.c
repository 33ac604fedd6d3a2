// SPDX-License-Identifier: GPL-2.0-only
/* A disk's queue: the core under its lock, the timer, and who submits. queue.h says more. */
#include <linux/blkdev.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../include/compat.h"
#include "broken.h"
#include "classes.h"
#include "queue.h"

/* All queues, and who shares in each. */
static DEFINE_MUTEX(disks_mutex);
static LIST_HEAD(disks);

static struct bio *bio_of(struct aciom_request *r)
{
	return dm_bio_from_per_bio_data(container_of(r, struct io, request),
					sizeof(struct io));
}

static bool is_urgent(const struct aciom_request *r)
{
	return container_of(r, struct io, request)->urgent;
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

/* What the core said last is seen by those who do not take the lock. */
static void settle(struct queue *q)
{
	bool limited = aciom_is_limited(q->core);

	if (limited != q->limited)
		WRITE_ONCE(q->limited, limited);
	queue_wake_writers(q);
}

/*
 * Whether the disk may have one more. One that has as many requests as it takes has whoever
 * brings another wait, and wakes those in no order that could be relied on: one that comes
 * again and again overtakes the others for seconds. So while there is an order to be kept,
 * nothing is decided before the disk can take it, and the order is the core's. What may not
 * wait goes to the disk all the same. Where it takes all tags, it and the others take turns:
 * one of these for one of it, so that neither keeps the other from the disk.
 */
static bool has_tag(const struct queue *q)
{
	u64 tags = READ_ONCE(q->disk->nr_requests);

	return q->in_order + q->urgent < tags || (q->in_order < tags && q->urgent_done) ||
	       !aciom_is_limited(q->core);
}

static void count(struct queue *q, const struct aciom_request *r)
{
	if (is_urgent(r)) {
		q->urgent++;
	} else {
		q->in_order++;
		q->urgent_done = false;
	}
}

/*
 * All that may go now, under the lock; whether `mine` is among it, which is the caller's. The
 * work submits the rest.
 */
static bool decide(struct queue *q, u64 now_ns, struct aciom_request *mine, bool urgent)
{
	struct aciom_request *r;
	bool found = false;

	/* What is due is ready also while the disk has no room: or the timer came for nothing. */
	aciom_advance(q->core, now_ns);
	while ((urgent || has_tag(q)) && (r = aciom_dispatch(q->core, now_ns))) {
		if (r == mine)
			found = true;
		else
			bio_list_add(&q->decided, bio_of(r));
		count(q, r);
		urgent = false;
	}
	if (!bio_list_empty(&q->decided))
		queue_work(q->submitter, &q->work);
	arm(q);
	settle(q);
	return found;
}

void queue_decide(struct queue *q, u64 now_ns)
{
	decide(q, now_ns, NULL, false);
}

static struct bio *next_decided(struct queue *q)
{
	struct bio *bio;

	spin_lock_irq(&q->lock);
	bio = bio_list_pop(&q->decided);
	spin_unlock_irq(&q->lock);
	return bio;
}

static void submit(struct work_struct *work)
{
	struct queue *q = container_of(work, struct queue, work);
	struct blk_plug plug;
	struct bio *bio;

	blk_start_plug(&plug);
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
	u64 now_ns = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->armed_ns = ACIOM_NEVER;
	decide(q, now_ns, NULL, false);
	spin_unlock_irqrestore(&q->lock, flags);
	return HRTIMER_NORESTART;
}

/*
 * A page of anonymous memory that is read from swap: nothing of the bio says so, but its page
 * is in the swap cache and has no content yet. Whoever waits for it holds its locks meanwhile.
 */
static bool is_swap_in(struct bio *bio)
{
	struct folio *folio;

	if (ACIOM_BROKEN_SWAP || bio_op(bio) != REQ_OP_READ || !bio_has_data(bio))
		return false;
	folio = page_folio(bio_iter_page(bio, bio->bi_iter));
	return folio_test_swapcache(folio) && !folio_test_uptodate(folio);
}

/*
 * Who may not wait for others, whatever its class: what a file system's order hangs on
 * (metadata, the journal: others of every class wait for it), swap, and whoever frees memory.
 */
static bool must_not_wait(struct bio *bio)
{
	return bio->bi_opf & (REQ_META | REQ_PRIO | REQ_SWAP) ||
	       current->flags & PF_MEMALLOC || is_swap_in(bio);
}

bool queue_enter(struct queue *q, struct bio *bio, struct io *io, u32 app, u32 class,
		 const bool *active)
{
	bool urgent = must_not_wait(bio), now;
	u32 flags = urgent ? ACIOM_URGENT : 0;
	unsigned long irq;
	u64 now_ns;

	if (op_is_write(bio_op(bio)))
		flags |= ACIOM_WRITE;
	if (!urgent && class != ACIOM_TIME_SENSITIVE && queue_throttle_write(q, bio, class, active))
		flags |= ACIOM_THROTTLED;
	io->way = IO_COUNTED;
	io->urgent = urgent;
	now_ns = ktime_get_ns();
	spin_lock_irqsave(&q->lock, irq);
	aciom_enqueue(q->core, &io->request, app, bio->bi_iter.bi_size, flags, now_ns);
	now = decide(q, now_ns, &io->request, urgent);
	spin_unlock_irqrestore(&q->lock, irq);
	return now;
}

void queue_leave(struct queue *q, struct io *io)
{
	unsigned long irq;
	u64 now_ns;

	if (io->way == IO_OBSERVED)
		queue_passed(q, io);
	if (io->way != IO_COUNTED)
		return;
	now_ns = ktime_get_ns();
	spin_lock_irqsave(&q->lock, irq);
	if (io->urgent)
		q->urgent--;
	else
		q->in_order--;
	q->urgent_done |= io->urgent;
	aciom_complete(q->core, &io->request, now_ns);
	decide(q, now_ns, NULL, false);
	spin_unlock_irqrestore(&q->lock, irq);
}

void queue_begin(struct queue *q)
{
	spin_lock_irq(&q->lock);
	if (!q->active++)
		aciom_set_open(q->core, false, ktime_get_ns());
	settle(q);
	spin_unlock_irq(&q->lock);
}

/*
 * All that is held of any volume goes. While another is active the gates close again behind
 * it: a volume that stays suspended is not to leave the other's apps without protection.
 */
void queue_end(struct queue *q)
{
	struct bio_list lost = BIO_EMPTY_LIST;
	struct aciom_request *r;
	struct bio *bio;
	u64 now_ns = ktime_get_ns();

	spin_lock_irq(&q->lock);
	aciom_set_open(q->core, true, now_ns);
	while (ACIOM_BROKEN_LOST && (r = aciom_dispatch(q->core, now_ns))) {
		bio_list_add(&lost, bio_of(r));
		count(q, r);
	}
	decide(q, now_ns, NULL, false);
	if (--q->active)
		aciom_set_open(q->core, false, now_ns);
	settle(q);
	spin_unlock_irq(&q->lock);
	/* Those of the volume that ends ask no more for room. */
	queue_wake_all_writers(q);
	while ((bio = bio_list_pop(&lost)))
		bio_endio(bio);
}

int queue_set_cmax(struct queue *q, u64 cmax)
{
	u64 now_ns = ktime_get_ns();
	int error;

	spin_lock_irq(&q->lock);
	error = aciom_set_cmax(q->core, cmax, now_ns);
	if (!error)
		WRITE_ONCE(q->measures, !cmax);
	decide(q, now_ns, NULL, false);
	spin_unlock_irq(&q->lock);
	return error;
}

void queue_set_hold(struct queue *q, u32 hold)
{
	u64 now_ns = ktime_get_ns();

	spin_lock_irq(&q->lock);
	aciom_set_hold(q->core, hold, now_ns);
	decide(q, now_ns, NULL, false);
	spin_unlock_irq(&q->lock);
}

void queue_read(struct queue *q, struct aciom_counters *counters)
{
	spin_lock_irq(&q->lock);
	aciom_counters_read(q->core, counters);
	spin_unlock_irq(&q->lock);
}

void queue_app_add(struct queue *q, u32 app, u32 class)
{
	spin_lock_irq(&q->lock);
	WARN_ON_ONCE(aciom_app_add(q->core, app, class, ktime_get_ns()));
	settle(q);
	spin_unlock_irq(&q->lock);
}

void queue_app_class(struct queue *q, u32 app, u32 class)
{
	u64 now_ns = ktime_get_ns();

	spin_lock_irq(&q->lock);
	WARN_ON_ONCE(aciom_app_class(q->core, app, class, now_ns));
	decide(q, now_ns, NULL, false);
	spin_unlock_irq(&q->lock);
}

void queue_app_remove(struct queue *q, u32 app)
{
	u64 now_ns = ktime_get_ns();

	spin_lock_irq(&q->lock);
	WARN_ON_ONCE(aciom_app_remove(q->core, app, now_ns));
	decide(q, now_ns, NULL, false);
	spin_unlock_irq(&q->lock);
}

static void free_queue(struct queue *q)
{
	if (q->submitter)
		destroy_workqueue(q->submitter);
	free_percpu(q->observed);
	kvfree(q->core);
	kfree(q);
}

static struct queue *make_queue(const struct request_queue *disk)
{
	const struct aciom_config config = {
		.max_apps = ACIOM_MAX_APPS, .hold_limit = HOLD_DEFAULT,
	};
	u64 size = aciom_memory_size(&config);
	struct queue *q = kzalloc(sizeof(*q), GFP_KERNEL);
	void *memory;
	int i;

	if (!q)
		return NULL;
	memory = kvzalloc(size, GFP_KERNEL);
	q->observed = alloc_percpu(struct observed);
	/*
	 * Others' memory may hang on what is submitted here, and their deadlines. Each disk has its
	 * own: a volume may lie on a loop device on another volume, and one that waits there for a
	 * tag must not have the only thread that is left when memory is short.
	 */
	q->submitter = alloc_workqueue("dm-aciom", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_HIGHPRI, 1);
	if (!memory || !q->observed || !q->submitter) {
		kvfree(memory);
		free_queue(q);
		return NULL;
	}
	aciom_init(memory, size, &config, &q->core);
	q->measures = true;
	q->fold_at = jiffies;
	q->armed_ns = ACIOM_NEVER;
	spin_lock_init(&q->lock);
	bio_list_init(&q->decided);
	for (i = 0; i < NR_WRITE_WAITERS; i++) {
		init_waitqueue_head(&q->write_waiters[0][i]);
		init_waitqueue_head(&q->write_waiters[1][i]);
	}
	q->disk = disk;
	INIT_WORK(&q->work, submit);
	INIT_LIST_HEAD(&q->link);
	fovea_hrtimer_setup(&q->timer, timer_comes, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	classes_attach(q);
	return q;
}

struct queue *queue_get(const struct request_queue *disk)
{
	struct queue *q;

	mutex_lock(&disks_mutex);
	list_for_each_entry(q, &disks, disks)
		if (q->disk == disk)
			goto found;
	q = make_queue(disk);
	if (q)
		list_add(&q->disks, &disks);
found:
	if (q)
		q->volumes++;
	mutex_unlock(&disks_mutex);
	return q;
}

void queue_put(struct queue *q)
{
	mutex_lock(&disks_mutex);
	if (!--q->volumes) {
		list_del(&q->disks);
		classes_detach(q);
		hrtimer_cancel(&q->timer);
		flush_work(&q->work);
		free_queue(q);
	}
	mutex_unlock(&disks_mutex);
}
