// SPDX-License-Identifier: GPL-2.0-only
/* What passes by while nobody is time-sensitive, and what it says of the disk. */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "queue.h"

/* One of so many has its latency looked at: the least of them is wanted. */
#define SAMPLE	16

void queue_pass(struct queue *q, struct bio *bio, struct io *io)
{
	io->way = IO_PASSED;
	if (!READ_ONCE(q->measures))
		return;
	io->way = IO_OBSERVED;
	io->bytes = bio->bi_iter.bi_size;
	io->start_ns = 0;
	if (!(this_cpu_inc_return(q->observed->seen) % SAMPLE))
		io->start_ns = ktime_get_ns();
}

/*
 * Each CPU's bytes only grow, and what is known of them is kept beside them: nothing is lost
 * to a completion that comes meanwhile. Of latencies one may be.
 */
static void fold(struct queue *q)
{
	u64 bytes = 0, latency_ns = ACIOM_NEVER, now_ns;
	unsigned long irq;
	int cpu;

	if (!spin_trylock_irqsave(&q->lock, irq))
		return;
	if (time_before(jiffies, q->fold_at))
		goto out;
	/* One tick more, so that the epoch is over. */
	WRITE_ONCE(q->fold_at, jiffies + nsecs_to_jiffies(ACIOM_EPOCH_NS) + 2);
	for_each_possible_cpu(cpu) {
		struct observed *o = per_cpu_ptr(q->observed, cpu);
		unsigned long now = READ_ONCE(o->bytes);

		bytes += now - o->folded;
		o->folded = now;
		latency_ns = min(latency_ns, READ_ONCE(o->latency_ns));
		WRITE_ONCE(o->latency_ns, ACIOM_NEVER);
	}
	now_ns = ktime_get_ns();
	aciom_observe(q->core, bytes, latency_ns, now_ns);
	queue_decide(q, now_ns);
out:
	spin_unlock_irqrestore(&q->lock, irq);
}

void queue_passed(struct queue *q, const struct io *io)
{
	u64 latency_ns;

	this_cpu_add(q->observed->bytes, io->bytes);
	if (io->start_ns) {
		latency_ns = ktime_get_ns() - io->start_ns;
		if (latency_ns < this_cpu_read(q->observed->latency_ns))
			this_cpu_write(q->observed->latency_ns, latency_ns);
	}
	if (time_after_eq(jiffies, READ_ONCE(q->fold_at)))
		fold(q);
}
