// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What is known of each app: who is active, at what pace, and when its next is due. */

#include "internal.h"

static u64 weigh(u64 past, u64 sample)
{
	return (past * WEIGHT_PAST + sample * WEIGHT_NEW) >> WEIGHT_SHIFT;
}

static void stay_active(struct aciom *a, struct aciom_app *app, u64 for_ns)
{
	app->active_until_ns = a->now_ns + for_ns;
	a->next_expiry_ns = least(a->next_expiry_ns, app->active_until_ns);
}

/* Mean size over mean period: the paper prints the product. */
static void reserve(struct aciom *a, struct aciom_app *app)
{
	u64 bandwidth = aciom_divide(app->mean_size * SECOND, app->period_ns) >> SIZE_SHIFT;

	bandwidth = least(bandwidth, ACIOM_MAX_RATE);
	a->reserved = a->reserved - app->bandwidth + bandwidth;
	app->bandwidth = bandwidth;
	a->pace_stale = true;
	a->room_stale = true;
}

/*
 * D_k = D_{k-1} + T, with D_0 = A_1. An app that reads more slowly than its period, or
 * has paused, has no claim to be served the sooner for it: D_k is at least A_k + T. One
 * that reads faster pushes its deadlines ahead of it, and an eighth of that is forgiven at
 * each request: what was ahead while the period was still unknown would be so for ever, and
 * the deadline say nothing. A steady app's D_k is A_k + T either way.
 */
ACIOM_SHARED void aciom_arrive_sensitive(struct aciom *a, u32 number,
					 struct aciom_request *r)
{
	struct aciom_app *app = &a->apps[number];
	bool active = set_has(&a->sensitive, number);
	u64 size = (u64)r->size_bytes << SIZE_SHIFT, due;

	if (active)
		a->needed -= app->mean_size;
	if (!app->begun) {
		app->begun = true;
		app->period_ns = DEFAULT_PERIOD_NS;
		app->mean_size = size;
		app->last_due_ns = a->now_ns;
	} else {
		/* A pause is no period. */
		if (active)
			app->period_ns = most(weigh(app->period_ns,
						    a->now_ns - app->last_arrival_ns),
					      MIN_PERIOD_NS);
		app->mean_size = weigh(app->mean_size, size);
	}
	if (!active) {
		set_add(&a->sensitive, number);
		a->nr_sensitive++;
	}
	a->needed += app->mean_size;
	due = app->last_due_ns;
	if (due > a->now_ns)
		due -= (due - a->now_ns) / FORGIVEN;
	else if (!ACIOM_BROKEN_CREDIT)
		due = a->now_ns;
	due += app->period_ns;
	r->due_ns = due;
	app->last_due_ns = due;
	app->last_arrival_ns = a->now_ns;
	stay_active(a, app, most(least(ACTIVE_PERIODS * app->period_ns, ACTIVE_MAX_NS),
				 ACTIVE_MIN_NS));
	reserve(a, app);
}

/*
 * L_k = L_{k-1} + size / RB, the first at once. No credit for idle time: not before it
 * arrives. No debt for ever: not later than LATEST_NS after. The paper smooths the
 * size here too; the size itself is as cheap and keeps the sum exact.
 */
ACIOM_SHARED void aciom_arrive_bursty(struct aciom *a, u32 number,
				      struct aciom_request *r)
{
	struct aciom_app *app = &a->apps[number];
	u64 due = a->now_ns;

	if (!set_has(&a->bursty, number)) {
		set_add(&a->bursty, number);
		a->nr_bursty++;
		a->pace_stale = true;
	}
	stay_active(a, app, BURSTY_ACTIVE_NS);
	if ((aciom_limited(a) || ACIOM_BROKEN_LIMIT) && a->cmax) {
		if (a->pace_stale)
			aciom_refresh_pace(a);
		if (app->begun)
			due = app->last_due_ns + (r->size_bytes * a->pace >> PACE_SHIFT);
		if (!ACIOM_BROKEN_CREDIT)
			due = most(due, a->now_ns);
		if (!ACIOM_BROKEN_FLOOR)
			due = least(due, a->now_ns + LATEST_NS);
	}
	/* Not ahead of its own, though the rate may have risen since. */
	if (app->queued)
		due = most(due, due_in_queue(app, app->queue.tail));
	app->begun = true;
	r->due_ns = due;
	app->last_due_ns = due;
	app->last_arrival_ns = a->now_ns;
}

static void leave(struct aciom *a, u32 number)
{
	struct aciom_app *app = &a->apps[number];

	if (set_has(&a->sensitive, number)) {
		set_remove(&a->sensitive, number);
		a->nr_sensitive--;
		a->reserved -= app->bandwidth;
		a->needed -= app->mean_size;
		app->bandwidth = 0;
		a->pace_stale = true;
		a->room_stale = true;
	}
	if (set_has(&a->bursty, number)) {
		set_remove(&a->bursty, number);
		a->nr_bursty--;
		a->pace_stale = true;
	}
	if (!aciom_limited(a))
		aciom_open_gates(a);
}

/* Whoever has something queued or under way stays: one that waits for long does not pause. */
static void expire(struct aciom *a, const struct aciom_set *active, u64 stay_ns)
{
	u32 number;
	u64 word;

	FOR_EACH_APP(number, word, active) {
		struct aciom_app *app = &a->apps[number];

		if (app->active_until_ns <= a->now_ns) {
			if (!app->queued && !app->in_flight) {
				leave(a, number);
				continue;
			}
			app->active_until_ns = a->now_ns + stay_ns;
		}
		a->next_expiry_ns = least(a->next_expiry_ns, app->active_until_ns);
	}
}

void aciom_expire(struct aciom *a)
{
	a->next_expiry_ns = ACIOM_NEVER;
	expire(a, &a->sensitive, ACTIVE_MIN_NS);
	expire(a, &a->bursty, BURSTY_ACTIVE_NS);
}

/* Its number is a stranger's again. */
static void forget(struct aciom *a, u32 number)
{
	struct aciom_app *app = &a->apps[number];
	u32 incarnation = app->incarnation + 1;

	aciom_make_ready(a, number);
	leave(a, number);
	memset(app, 0, sizeof(*app));
	app->incarnation = incarnation;
}

int aciom_app_add(struct aciom *a, u32 app, u32 class, u64 now_ns)
{
	if (app >= a->max_apps || class > ACIOM_BURSTY)
		return ACIOM_EINVAL;
	if (a->apps[app].known)
		return ACIOM_EEXIST;
	aciom_tick(a, now_ns);
	a->apps[app].known = true;
	a->apps[app].class = (u8)class;
	return ACIOM_OK;
}

int aciom_app_class(struct aciom *a, u32 app, u32 class, u64 now_ns)
{
	if (app >= a->max_apps || class > ACIOM_BURSTY || !a->apps[app].known)
		return ACIOM_EINVAL;
	aciom_tick(a, now_ns);
	if (a->apps[app].class != class) {
		forget(a, app);
		a->apps[app].known = true;
		a->apps[app].class = (u8)class;
	}
	return ACIOM_OK;
}

int aciom_app_remove(struct aciom *a, u32 app, u64 now_ns)
{
	if (app >= a->max_apps || !a->apps[app].known)
		return ACIOM_EINVAL;
	aciom_tick(a, now_ns);
	forget(a, app);
	return ACIOM_OK;
}
