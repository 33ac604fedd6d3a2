// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the disk can do, what is left of it for bursty apps, and how much may be under
 * way at once.
 *
 * The window. What has been dispatched can no longer be overtaken: a time-sensitive
 * request waits for all that is in flight before it. So of the other classes' requests
 * only as many bytes go as keep the disk busy, which is what it moves while one request
 * takes its way (rate times least latency, a quarter more for unevenness: `pipe_bytes`).
 * Below that the window grows by what completes, which doubles it each time round;
 * beyond, up to twice the pipe or 1/128 s of work, by an eighth of it, and only while the
 * time-sensitive requests have at least half of their time left when they complete: the
 * least latency is that of a request that met nobody, and a disk that serves many at once
 * may want more. If one used more than three quarters, the window is halved, at most once
 * for what was dispatched under one window; down to one request at a time, for deadlines
 * matter more than a busy disk. One request may always go.
 *
 * Going early. The disk has nothing else to do, but what goes to it stays, and a
 * time-sensitive request may come at any moment after. Whenever that is, its deadline is a
 * period later at least. So a held request goes before its time only if all that is then
 * with the disk, and after it one request of every time-sensitive app at once, are done in
 * three quarters of the shortest period: the same that the window goes by. Where one
 * bursty request alone takes longer than that leaves, nothing goes early.
 *
 * Time-sensitive requests are bounded too, by their own bytes: what is beyond 1/64 s of
 * the disk's work, and twice the pipe, waits in the order of deadlines.
 */

#include "internal.h"

static u64 pipe(const struct aciom *a)
{
	u64 base_ns = least(a->base_ns, a->base_now_ns), bytes;

	if (base_ns == ACIOM_NEVER)
		return 0;
	/* 2^30 for 10^9: less by 7 %, which the quarter covers. */
	bytes = (a->cmax >> 8) * least(base_ns, BASE_MAX_NS) >> 22;
	return bytes + bytes / 4;
}

/* After the rate or the latency changed. */
void aciom_refresh_rate(struct aciom *a)
{
	a->pipe_bytes = pipe(a);
	a->pace_stale = true;
	a->room_stale = true;
	a->window_cap = WINDOW_START;
	a->sensitive_cap = ACIOM_NEVER;
	if (a->cmax) {
		a->window_cap = most(most(a->cmax >> WINDOW_CAP_SHIFT, 2 * a->pipe_bytes),
				     WINDOW_MIN);
		a->sensitive_cap = most(a->cmax >> SENSITIVE_CAP_SHIFT, 2 * a->pipe_bytes);
	}
	a->window_bytes = least(a->window_bytes, a->window_cap);
	a->write_bound = most(a->cmax >> WRITES_SHIFT, WRITES_MIN);
}

/* RB = (Cmax - (sum of B + headroom)) / number of bursty apps, and its reciprocal. */
void aciom_refresh_pace(struct aciom *a)
{
	u64 taken = a->reserved + aciom_divide(a->cmax, 10);
	u64 left = a->cmax > taken ? a->cmax - taken : 0;
	u64 floor = ACIOM_BROKEN_FLOOR ? 1 : FLOOR_BYTES_PER_S;

	if (!ACIOM_BROKEN_FLOOR)
		left = most(left, a->cmax >> FLOOR_SHIFT);
	a->budget = most(aciom_divide(left, most(a->nr_bursty, 1)), floor);
	a->pace = aciom_divide(SECOND << PACE_SHIFT, a->budget);
	a->pace_stale = false;
}

/*
 * Whether so many bytes with the disk, and then a request of each time-sensitive app, are
 * done in time. 2^30 for 10^9: less by 7 %.
 */
ACIOM_SHARED bool aciom_has_room(struct aciom *a, u64 bytes)
{
	u64 period_ns = ACTIVE_MAX_NS, worked, word;
	u32 app;

	if (a->room_stale) {
		FOR_EACH_APP(app, word, &a->sensitive)
			period_ns = least(period_ns, a->apps[app].period_ns);
		worked = a->cmax * (period_ns >> 8);
		a->room = (worked - worked / 4) >> (22 - SIZE_SHIFT);
		a->room_stale = false;
	}
	return (bytes << SIZE_SHIFT) + a->needed <= a->room;
}

/* The most that ever completed in an epoch: what lies idle between makes none less. */
static bool measure_rate(struct aciom *a, struct aciom_rate *epoch, u64 bytes)
{
	u64 passed_ns = a->now_ns - epoch->epoch_ns, rate;
	bool more = false;

	epoch->bytes = least(epoch->bytes + bytes, ACIOM_MAX_RATE);
	if (passed_ns < ACIOM_EPOCH_NS)
		return false;
	if (passed_ns < 2 * ACIOM_EPOCH_NS) {
		rate = aciom_divide(epoch->bytes * (SECOND >> 8), passed_ns >> 8);
		more = rate > a->cmax;
		a->cmax = most(a->cmax, least(rate, ACIOM_MAX_RATE));
	}
	epoch->bytes = 0;
	epoch->epoch_ns = a->now_ns;
	return more;
}

static void measure(struct aciom *a, struct aciom_rate *epoch, u64 bytes, u64 latency_ns)
{
	bool changed = !a->cmax_given && measure_rate(a, epoch, bytes);

	latency_ns = most(latency_ns, 1);
	if (latency_ns == ACIOM_NEVER) {
		/* Of what did not come here it may be unknown. */
	} else if (a->now_ns - a->base_epoch_ns >= BASE_EPOCH_NS) {
		a->base_ns = a->base_now_ns;
		a->base_now_ns = latency_ns;
		a->base_epoch_ns = a->now_ns;
		changed = true;
	} else if (latency_ns < a->base_now_ns) {
		a->base_now_ns = latency_ns;
		changed = true;
	}
	if (changed)
		aciom_refresh_rate(a);
}

ACIOM_SHARED void aciom_measure(struct aciom *a, const struct aciom_request *r)
{
	if (r->size_bytes)
		measure(a, &a->rate, r->size_bytes, a->now_ns - r->dispatched_ns);
}

void aciom_observe(struct aciom *a, u64 bytes, u64 latency_ns, u64 now_ns)
{
	aciom_tick(a, now_ns);
	measure(a, &a->observed, least(bytes, ACIOM_MAX_RATE), latency_ns);
}

/* What completed before says nothing of what is measured from now on. */
void aciom_restart_rate(struct aciom *a)
{
	a->rate.bytes = 0;
	a->rate.epoch_ns = a->now_ns;
	a->observed = a->rate;
}

ACIOM_SHARED void aciom_adapt(struct aciom *a, const struct aciom_request *r)
{
	u64 allowed_ns = r->due_ns - r->arrival_ns;
	u64 taken_ns = a->now_ns - r->arrival_ns;

	if (r->state == STATE_FLYING_SENSITIVE) {
		a->slack = 2 * taken_ns <= allowed_ns;
		if (4 * taken_ns > 3 * allowed_ns && r->dispatched_ns >= a->cut_ns) {
			a->window_bytes = most(a->window_bytes / 2, WINDOW_MIN);
			a->cut_ns = a->now_ns;
			a->counters.cuts++;
		}
		return;
	}
	if (!aciom_limited(a) || (!has_ready(a) && set_is_empty(&a->bursty_queued)))
		return;
	if (a->window_bytes < a->pipe_bytes)
		a->window_bytes += r->size_bytes;
	else if (a->slack)
		a->window_bytes += r->size_bytes / 8;
	a->window_bytes = least(a->window_bytes, a->window_cap);
}

int aciom_set_cmax(struct aciom *a, u64 cmax, u64 now_ns)
{
	if (cmax > ACIOM_MAX_RATE)
		return ACIOM_EINVAL;
	aciom_tick(a, now_ns);
	a->cmax_given = cmax;
	a->cmax = cmax;
	aciom_restart_rate(a);
	aciom_refresh_rate(a);
	return ACIOM_OK;
}
