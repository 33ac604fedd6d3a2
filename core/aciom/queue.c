// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests from arrival to completion. In this order:
 *
 * 1. urgent ones, at once;
 * 2. one that is ready, if time-sensitive apps alone have been served for PATIENCE_NS:
 *    1/128 s of the disk's work, so that a time-sensitive app that takes all leaves 1/16;
 * 3. the time-sensitive one with the earliest deadline, of equal ones the lower number's;
 * 4. what is ready, plain and bursty alike in the order in which it became ready, if the
 *    window has room: reads before writes, of which these get a third;
 * 5. what is held, whoever's release time is first, if the window has room and no
 *    deadline needs it (rate.c): what somebody leaves of his budget is others'.
 *
 * While no time-sensitive app is active all that arrives goes at once.
 */

#include "internal.h"

static struct aciom_request *pop_app(struct aciom *a, struct aciom_set *queued, u32 app)
{
	struct aciom_request *r = fifo_pop(&a->apps[app].queue);

	a->apps[app].queued--;
	if (!a->apps[app].queue.head)
		set_remove(queued, app);
	return r;
}

/* Of these apps, the one whose first request is due first. */
static u32 earliest(const struct aciom *a, const struct aciom_set *queued)
{
	u64 due_ns = ACIOM_NEVER, word;
	u32 app, found = ACIOM_NOBODY;

	FOR_EACH_APP(app, word, queued) {
		const struct aciom_request *r = a->apps[app].queue.head;
		u64 at = ACIOM_BROKEN_EDF && r->class == ACIOM_TIME_SENSITIVE ?
			 r->arrival_ns : due_in_queue(&a->apps[app], r);

		if (at < due_ns) {
			due_ns = at;
			found = app;
		}
	}
	return found;
}

static void find_release(struct aciom *a)
{
	u32 app = earliest(a, &a->bursty_queued);

	a->next_release_ns = app == ACIOM_NOBODY ? ACIOM_NEVER :
			     due_in_queue(&a->apps[app], a->apps[app].queue.head);
}

static void release(struct aciom *a)
{
	while (a->next_release_ns <= a->now_ns) {
		aciom_push_ready(a, pop_app(a, &a->bursty_queued,
				      earliest(a, &a->bursty_queued)));
		find_release(a);
	}
}

/* All of an app's queue at once. */
void aciom_make_ready(struct aciom *a, u32 number)
{
	struct aciom_app *app = &a->apps[number];

	if (!app->queue.head)
		return;
	if (ACIOM_BROKEN_DROP) {
		a->counters.queued -= app->queued;
		app->queue.head = NULL;
	}
	while (app->queue.head)
		aciom_push_ready(a, fifo_pop(&app->queue));
	app->queued = 0;
	set_remove(&a->sensitive_queued, number);
	set_remove(&a->bursty_queued, number);
	find_release(a);
}

/* Nobody is left to hold anything for. */
void aciom_open_gates(struct aciom *a)
{
	u32 app;
	u64 word;

	if (ACIOM_BROKEN_LIMIT)
		return;
	FOR_EACH_APP(app, word, &a->bursty_queued)
		aciom_make_ready(a, app);
}

ACIOM_SHARED void aciom_tick(struct aciom *a, u64 now_ns)
{
	a->now_ns = most(a->now_ns, now_ns);
	if (a->now_ns >= a->next_expiry_ns)
		aciom_expire(a);
	release(a);
}

static void hold(struct aciom *a, u32 number, struct aciom_request *r)
{
	struct aciom_app *app = &a->apps[number];

	fifo_push(&app->queue, r);
	app->queued++;
	set_add(&a->bursty_queued, number);
	a->counters.held++;
	a->next_release_ns = least(a->next_release_ns, r->due_ns);
	if (app->queued > a->hold_limit) {
		aciom_push_ready(a, pop_app(a, &a->bursty_queued, number));
		find_release(a);
	}
}

void aciom_set_hold(struct aciom *a, u32 hold_limit, u64 now_ns)
{
	u32 app;
	u64 word;

	aciom_tick(a, now_ns);
	a->hold_limit = hold_limit;
	FOR_EACH_APP(app, word, &a->bursty_queued)
		while (a->apps[app].queued > hold_limit)
			aciom_push_ready(a, pop_app(a, &a->bursty_queued, app));
	find_release(a);
}

void aciom_enqueue(struct aciom *a, struct aciom_request *r, u32 number, u32 size_bytes,
		   u32 flags, u64 now_ns)
{
	bool known = number < a->max_apps && a->apps[number].known;

	aciom_tick(a, now_ns);
	r->next = NULL;
	r->arrival_ns = a->now_ns;
	r->due_ns = a->now_ns;
	r->app = known ? number : ACIOM_NOBODY;
	r->incarnation = known ? a->apps[number].incarnation : 0;
	r->size_bytes = (u32)least(size_bytes, ACIOM_MAX_REQUEST_BYTES);
	r->class = known ? a->apps[number].class : ACIOM_PLAIN;
	r->state = STATE_WAITING;
	r->write = flags & ACIOM_WRITE;
	r->counted_write = r->write && !(flags & ACIOM_URGENT) &&
			   r->class != ACIOM_TIME_SENSITIVE;
	if (r->counted_write)
		*aciom_write_bytes(a, r->class) += r->size_bytes;
	a->counters.arrived++;
	a->counters.queued++;
	a->counters.throttled += !!(flags & ACIOM_THROTTLED);
	if (r->class == ACIOM_TIME_SENSITIVE)
		aciom_arrive_sensitive(a, number, r);
	else if (r->class == ACIOM_BURSTY)
		aciom_arrive_bursty(a, number, r);

	r->order_ns = r->due_ns;
	if (r->class == ACIOM_BURSTY)
		r->order_ns += a->apps[number].early_ns;

	if (flags & ACIOM_URGENT && !ACIOM_BROKEN_URGENT) {
		a->counters.urgent++;
		fifo_push(&a->urgent, r);
	} else if (r->class == ACIOM_TIME_SENSITIVE) {
		fifo_push(&a->apps[number].queue, r);
		a->apps[number].queued++;
		set_add(&a->sensitive_queued, number);
	} else if (r->due_ns > a->now_ns) {
		hold(a, number, r);
	} else {
		aciom_push_ready(a, r);
	}
}

/* The app of a request, if it is still the one that it was. */
static struct aciom_app *owner(struct aciom *a, const struct aciom_request *r)
{
	if (r->app == ACIOM_NOBODY || a->apps[r->app].incarnation != r->incarnation)
		return NULL;
	return &a->apps[r->app];
}

static struct aciom_request *take(struct aciom *a, struct aciom_request *r, u8 state)
{
	struct aciom_counters *c = &a->counters;
	struct aciom_app *app = owner(a, r);

	r->dispatched_ns = a->now_ns;
	r->state = state;
	if (app)
		app->in_flight++;
	c->queued--;
	c->in_flight++;
	a->in_flight_bytes += r->size_bytes;
	switch (r->class) {
	case ACIOM_TIME_SENSITIVE:
		c->time_sensitive++;
		break;
	case ACIOM_BURSTY:
		c->bursty++;
		break;
	default:
		c->plain++;
		break;
	}
	if (r->counted_write)
		*aciom_write_bytes(a, r->class) -= r->size_bytes;
	return r;
}

static struct aciom_request *take_sensitive(struct aciom *a, u32 app)
{
	struct aciom_request *r = pop_app(a, &a->sensitive_queued, app);

	a->sensitive_bytes += r->size_bytes;
	return take(a, r, STATE_FLYING_SENSITIVE);
}

static struct aciom_request *take_ready(struct aciom *a)
{
	return take(a, aciom_pop_ready(a), STATE_FLYING);
}

static struct aciom_request *take_turn(struct aciom *a)
{
	struct aciom_request *r;

	if (!a->turn_bytes)
		a->turn_bytes = most(a->cmax >> (FLOOR_SHIFT + PATIENCE_PER_SECOND_SHIFT), 1);
	a->counters.turns++;
	r = take_ready(a);
	a->turn_bytes -= least(a->turn_bytes, most(r->size_bytes, 1));
	return r;
}

/*
 * The held request that is due first goes before it is. It is not charged for: all that
 * its app has yet to come moves with it. So whoever had what others left has its whole
 * part again at the moment they come back, and of what is left apps have like parts.
 */
static struct aciom_request *take_early(struct aciom *a)
{
	u32 number = earliest(a, &a->bursty_queued);
	struct aciom_app *app = &a->apps[number];
	struct aciom_request *r = app->queue.head;
	u64 ahead_ns = due_in_queue(app, r) - a->now_ns;

	if (!aciom_has_room(a, a->in_flight_bytes + r->size_bytes) && !ACIOM_BROKEN_ROOM)
		return NULL;
	pop_app(a, &a->bursty_queued, number);
	if (!ACIOM_BROKEN_CHARGE) {
		app->early_ns += ahead_ns;
		app->last_due_ns -= ahead_ns;
	}
	find_release(a);
	a->counters.early++;
	return take(a, r, STATE_FLYING);
}

/* The others' turn has come, or is not over. */
static bool is_turn(const struct aciom *a)
{
	return !ACIOM_BROKEN_FLOOR &&
	       (a->turn_bytes || a->now_ns - a->ready_since_ns >= PATIENCE_NS);
}

struct aciom_request *aciom_dispatch(struct aciom *a, u64 now_ns)
{
	bool limited;
	u32 app;

	aciom_tick(a, now_ns);
	if (a->urgent.head)
		return take(a, fifo_pop(&a->urgent), STATE_FLYING);
	limited = aciom_limited(a);
	if (limited && has_ready(a) && is_turn(a))
		return take_turn(a);
	app = earliest(a, &a->sensitive_queued);
	if (app != ACIOM_NOBODY) {
		if (limited && a->sensitive_bytes && a->sensitive_bytes >= a->sensitive_cap)
			return NULL;
		return take_sensitive(a, app);
	}
	if (limited && a->in_flight_bytes && a->in_flight_bytes >= a->window_bytes)
		return NULL;
	if (has_ready(a))
		return take_ready(a);
	if (set_is_empty(&a->bursty_queued))
		return NULL;
	return take_early(a);
}

void aciom_advance(struct aciom *a, u64 now_ns)
{
	aciom_tick(a, now_ns);
}

u64 aciom_wake_ns(const struct aciom *a)
{
	if (set_is_empty(&a->bursty_queued))
		return ACIOM_NEVER;
	return least(a->next_release_ns, a->next_expiry_ns);
}

void aciom_complete(struct aciom *a, struct aciom_request *r, u64 now_ns)
{
	struct aciom_counters *c = &a->counters;
	struct aciom_app *app;

	aciom_tick(a, now_ns);
	app = owner(a, r);
	if (app)
		app->in_flight--;
	c->in_flight--;
	c->completed++;
	if (!ACIOM_BROKEN_WINDOW)
		a->in_flight_bytes -= r->size_bytes;
	if (r->state == STATE_FLYING_SENSITIVE)
		a->sensitive_bytes -= r->size_bytes;
	if (r->class == ACIOM_TIME_SENSITIVE && a->now_ns > r->due_ns)
		c->late++;
	aciom_record(a, r);
	aciom_measure(a, r);
	aciom_adapt(a, r);
	r->state = STATE_IDLE;
}

void aciom_set_open(struct aciom *a, bool open, u64 now_ns)
{
	aciom_tick(a, now_ns);
	a->open = open;
	if (open && !ACIOM_BROKEN_OPEN)
		aciom_open_gates(a);
}
