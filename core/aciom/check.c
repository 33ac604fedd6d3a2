// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Every invariant of Aciom, verified the slow way. For tests. */

#include "internal.h"

struct tally {
	u64 queued;
	u64 reserved;
	u64 needed;
	u64 write_bytes;
	u32 sensitive;
	u32 bursty;
};

static const char *check_fifo(const struct aciom_fifo *fifo, u64 limit, u64 *length)
{
	const struct aciom_request *r;

	*length = 0;
	for (r = fifo->head; r; r = r->next) {
		if (++*length > limit)
			return "queue: has a loop, or more than arrived";
		if (r->state != STATE_WAITING)
			return "queue: holds a request that does not wait";
		if (!r->next && r != fifo->tail)
			return "queue: its tail is not its last";
	}
	return NULL;
}

static const char *check_app(const struct aciom *a, u32 number, struct tally *tally)
{
	const struct aciom_app *app = &a->apps[number];
	bool sensitive = set_has(&a->sensitive, number), bursty = set_has(&a->bursty, number);
	const struct aciom_request *r;
	const char *wrong;
	u64 length;

	wrong = check_fifo(&app->queue, a->counters.queued, &length);
	if (wrong)
		return wrong;
	if (length != app->queued)
		return "app: its number of requests is wrong";
	if (set_has(&a->sensitive_queued, number) !=
	    (length && app->class == ACIOM_TIME_SENSITIVE) ||
	    set_has(&a->bursty_queued, number) != (length && app->class == ACIOM_BURSTY))
		return "app: the set of those with requests is wrong";
	for (r = app->queue.head; r; r = r->next)
		tally->write_bytes += r->counted_write ? r->size_bytes : 0;
	for (r = app->queue.head; bursty && r && r->next; r = r->next)
		if (r->next->order_ns < r->order_ns)
			return "app: release times descend";
	if ((sensitive && app->class != ACIOM_TIME_SENSITIVE) ||
	    (bursty && app->class != ACIOM_BURSTY) || (length && !sensitive && !bursty))
		return "app: active in another class than its own";
	if (app->in_flight > a->counters.in_flight)
		return "app: more is in flight than there is";
	if (!sensitive && app->bandwidth)
		return "app: has a reservation and is not active";
	if ((sensitive || bursty) && app->active_until_ns < a->next_expiry_ns)
		return "app: stops being active unseen";
	if (app->class == ACIOM_BURSTY && length &&
	    (due_in_queue(app, app->queue.head) <= a->now_ns ||
	     due_in_queue(app, app->queue.head) < a->next_release_ns))
		return "app: what is due was not released";
	if (app->class == ACIOM_BURSTY && length > a->hold_limit)
		return "app: more is held than may be";
	if (app->class == ACIOM_BURSTY && length && !aciom_limited(a))
		return "app: held though nobody is time-sensitive";
	tally->queued += length;
	tally->reserved += app->bandwidth;
	tally->needed += sensitive ? app->mean_size : 0;
	tally->sensitive += sensitive;
	tally->bursty += bursty;
	return NULL;
}

static const char *check_ready(const struct aciom *a, const struct aciom_fifo *fifo,
			       u8 write, struct tally *tally)
{
	const struct aciom_request *r;
	const char *wrong;
	u64 length;

	wrong = check_fifo(fifo, a->counters.queued, &length);
	if (wrong)
		return wrong;
	tally->queued += length;
	for (r = fifo->head; r; r = r->next) {
		if (r->write != write)
			return "ready: a read among writes, or a write among reads";
		tally->write_bytes += r->counted_write ? r->size_bytes : 0;
	}
	return NULL;
}

const char *aciom_check(const struct aciom *a)
{
	struct tally tally = { 0 };
	const char *wrong;
	u64 length;
	u32 app;

	for (app = 0; app < a->max_apps; app++) {
		wrong = check_app(a, app, &tally);
		if (wrong)
			return wrong;
	}
	wrong = check_ready(a, &a->ready_reads, 0, &tally);
	if (wrong)
		return wrong;
	wrong = check_ready(a, &a->ready_writes, ACIOM_WRITE, &tally);
	if (wrong)
		return wrong;
	wrong = check_fifo(&a->urgent, a->counters.queued, &length);
	if (wrong)
		return wrong;
	tally.queued += length;
	if (tally.queued != a->counters.queued)
		return "counters: queued requests disagree with the queues";
	if (a->counters.arrived != a->counters.queued + a->counters.in_flight +
				   a->counters.completed)
		return "counters: requests were lost or made";
	if (tally.reserved != a->reserved || tally.needed != a->needed ||
	    tally.sensitive != a->nr_sensitive || tally.bursty != a->nr_bursty)
		return "counters: active apps disagree with the sets";
	if (!a->counters.in_flight && (a->in_flight_bytes || a->sensitive_bytes))
		return "counters: bytes are in flight and no request";
	if (a->window_bytes < WINDOW_MIN || a->window_bytes > a->window_cap)
		return "window: out of its bounds";
	if (!has_ready(a) && (a->turn_bytes || a->write_turn))
		return "turn: of nobody";
	if (tally.write_bytes != a->plain_write_bytes + a->bursty_write_bytes)
		return "counters: bytes that wait to be written disagree with the queues";
	return NULL;
}
