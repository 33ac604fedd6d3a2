// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is ready: reads before writes, and writes not too late; and how much may wait to be
 * written.
 */

#include "internal.h"

ACIOM_SHARED void aciom_push_ready(struct aciom *a, struct aciom_request *r)
{
	if (!has_ready(a))
		a->ready_since_ns = a->now_ns;
	if (r->write && !a->ready_writes.head)
		a->writes_since_ns = a->now_ns;
	fifo_push(r->write ? &a->ready_writes : &a->ready_reads, r);
}

/* Which of the two goes next of what is ready. */
static bool is_writes_turn(const struct aciom *a)
{
	u64 unit;

	if (!a->ready_reads.head || !a->ready_writes.head)
		return a->ready_writes.head;
	if (ACIOM_BROKEN_READS || ACIOM_BROKEN_WRITES)
		return ACIOM_BROKEN_READS;
	unit = most(a->cmax >> WRITE_TURN_SHIFT, 1);
	return a->write_turn || a->reads_ahead >= WRITES_STARVED * (a->writes_ahead + unit) ||
	       a->now_ns - a->writes_since_ns >= PATIENCE_NS;
}

/* What that one went ahead of has its part the sooner. */
static void count_ahead(struct aciom *a, const struct aciom_request *r)
{
	if (r->write && a->ready_reads.head) {
		a->writes_ahead += most(r->size_bytes, 1);
		a->write_turn = a->reads_ahead > WRITES_STARVED * a->writes_ahead;
		a->counters.write_turns++;
	} else if (!r->write && a->ready_writes.head) {
		a->reads_ahead += most(r->size_bytes, 1);
	}
	if (!a->ready_reads.head || !a->ready_writes.head) {
		a->reads_ahead = 0;
		a->writes_ahead = 0;
		a->write_turn = false;
	}
}

ACIOM_SHARED struct aciom_request *aciom_pop_ready(struct aciom *a)
{
	struct aciom_request *r = fifo_pop(is_writes_turn(a) ? &a->ready_writes :
							       &a->ready_reads);

	a->ready_since_ns = a->now_ns;
	if (r->write)
		a->writes_since_ns = a->now_ns;
	count_ahead(a, r);
	if (!has_ready(a))
		a->turn_bytes = 0;
	return r;
}

ACIOM_SHARED u64 *aciom_write_bytes(struct aciom *a, u32 class)
{
	return class == ACIOM_BURSTY ? &a->bursty_write_bytes : &a->plain_write_bytes;
}

bool aciom_is_limited(const struct aciom *a)
{
	return aciom_limited(a);
}

/*
 * The two have bounds of their own: what is held for its budget's sake is not to keep
 * anybody else's writes out.
 */
bool aciom_writes_full(const struct aciom *a, u32 class, bool awaited)
{
	u64 bytes = class == ACIOM_BURSTY ? a->bursty_write_bytes : a->plain_write_bytes;

	if (!aciom_limited(a) || class == ACIOM_TIME_SENSITIVE)
		return false;
	return bytes >= a->write_bound << (awaited ? AWAITED_SHIFT : 0);
}
