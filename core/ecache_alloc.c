// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * On-demand reservation (seed 000, section 3.3): the cost of regions, the choice
 * of one, lazy discard, and the way back.
 */

#include "ecache_internal.h"

/*
 * A build that sets this has the one policy that a device uses, and none of those that
 * the laboratory compares it with.
 */
#ifndef ECACHE_ONLY_AGED
#define ECACHE_ONLY_AGED 0
#endif

static u32 policy_of(const struct ecache_request *req)
{
	return ECACHE_ONLY_AGED ? ECACHE_AGED : req->policy;
}

/*
 * The least stamp, less one: every cached page's age is at least 1. Each part of the LRU
 * list is in order of stamps, so it is one of their tails'.
 */
static u64 oldest_stamp(const struct ecache *ec)
{
	u32 head = ecache_lru_head(ec);
	u32 lower = ec->frames[head].prev;
	u32 upper = ec->frames[ec->boundary].prev;
	u64 oldest;

	if (lower == head)
		return 0;
	oldest = ec->frames[lower].stamp;
	if (upper != head && ec->frames[upper].stamp < oldest)
		oldest = ec->frames[upper].stamp;
	return oldest - 1;
}

/*
 * C_i of seed 000, for one frame; a pinned one holds no page. Frames of devices cost 0 here: equation (1)'s
 * infinity is ecache_place()'s refusal of whatever meets an active device's slot.
 */
static u64 frame_cost(const struct ecache *ec, const struct ecache_request *req,
		      u32 frame)
{
	const struct ecache_frame *f = &ec->frames[frame];
	struct ecache_key page;
	u8 state = ec->states[frame];

	if (state & (FRAME_OWNED | FRAME_PINNED))
		return 0;
	if (policy_of(req) == ECACHE_LRU)
		return req->ranks[frame];
	if (!(state & FRAME_KEYED))
		return 0;
	switch (policy_of(req)) {
	case ECACHE_COUNT:
		return 1;
	case ECACHE_AGED:
		return f->stamp - oldest_stamp(ec);
	case ECACHE_CALLBACK:
		page = ecache_unpack(f->key);
		return req->cost(req->cost_context, frame, page.object, page.index);
	default:
		return 0;
	}
}

/*
 * l_i, the offset from the LRU position, for every frame by one walk over the list,
 * free frames first; tombstones are on their way out and do not count.
 */
static void rank_frames(const struct ecache *ec, u32 *ranks, u64 *cost)
{
	const struct ecache_frame *frames = ec->frames;
	u32 frame, rank = 0;

	for (frame = frames[ecache_free_head(ec)].next;
	     frame != ecache_free_head(ec); frame = frames[frame].next) {
		if (ec->states[frame] & FRAME_OWNED)
			continue;
		cost[ec->base_of[frame]] += rank;
		ranks[frame] = rank++;
	}
	for (frame = frames[ecache_lru_head(ec)].prev;
	     frame != ecache_lru_head(ec); frame = frames[frame].prev) {
		if (ec->states[frame] & FRAME_OWNED)
			continue;
		cost[ec->base_of[frame]] += rank;
		ranks[frame] = rank++;
	}
}

/*
 * C(R') of equation (2) for each base region, then summed from the left: the cost of
 * any run of base regions is a difference of two entries of base_cost.
 */
static void cost_bases(struct ecache *ec, const struct ecache_request *req)
{
	u64 *cost = ec->base_cost;
	u64 sum = 0, oldest = oldest_stamp(ec);
	u32 base, frame;

	for (base = 0; base <= ec->nr_bases; base++)
		cost[base] = 0;
	if (policy_of(req) == ECACHE_LRU)
		rank_frames(ec, req->ranks, cost);
	for (base = 0; base < ec->nr_bases; base++) {
		const struct ecache_base *b = &ec->bases[base];

		if (policy_of(req) == ECACHE_COUNT)
			cost[base] = b->cached;
		else if (policy_of(req) == ECACHE_AGED)
			cost[base] = b->stamp_sum - b->cached * oldest;
		else if (policy_of(req) == ECACHE_CALLBACK)
			for (frame = b->first;
			     frame < ecache_base_end(ec, base); frame++)
				cost[base] += frame_cost(ec, req, frame);
	}
	for (base = 0; base <= ec->nr_bases; base++) {
		u64 own = cost[base];

		cost[base] = sum;
		sum += own;
	}
}

/* Equation (1) for frames [first, end): whole base regions, and what is cut. */
static u64 range_cost(const struct ecache *ec, const struct ecache_request *req,
		      u32 first, u32 end)
{
	u32 base = ec->base_of[first], last;
	u64 cost = 0;

	if (first != ec->bases[base].first) {
		for (; first < end && first < ecache_base_end(ec, base); first++)
			cost += frame_cost(ec, req, first);
		if (first == end)
			return cost;
		base++;
	}
	last = ec->base_of[end - 1];
	if (end == ecache_base_end(ec, last)) {
		last++;
	} else {
		for (first = ec->bases[last].first; first < end; first++)
			cost += frame_cost(ec, req, first);
	}
	return cost + ec->base_cost[last] - ec->base_cost[base];
}

/*
 * A device that asks for less than its slot gets the slot's first or last frames,
 * whichever are cheaper.
 */
static void add_choice(struct ecache *ec, const struct ecache_request *req,
		       u32 slot, u32 *count)
{
	struct ecache_choice *choice = &ec->choices[(*count)++];
	u32 size = req->size_frames;
	u32 rest = ec->devices[req->device].size - size;
	u64 cost;

	choice->slot = slot;
	choice->window = slot;
	choice->cost = 0;
	if (policy_of(req) == ECACHE_STATIC || policy_of(req) == ECACHE_RANDOM)
		return;
	choice->cost = range_cost(ec, req, slot, slot + size);
	if (!rest)
		return;
	cost = range_cost(ec, req, slot + rest, slot + rest + size);
	if (cost < choice->cost) {
		choice->cost = cost;
		choice->window = slot + rest;
	}
}

/* Lists the device's candidates: PR(d) with its home, and its slot. */
static u32 list_choices(struct ecache *ec, const struct ecache_request *req)
{
	const struct ecache_device *d = &ec->devices[req->device];
	bool slot_listed = false;
	u32 i, count = 0;

	if (policy_of(req) == ECACHE_STATIC) {
		add_choice(ec, req, d->home, &count);
		slot_listed = d->slot == d->home;
	} else {
		for (i = 0; i < d->nr_candidates; i++) {
			add_choice(ec, req, d->candidates[i], &count);
			slot_listed |= d->slot == d->candidates[i];
		}
	}
	if (!slot_listed)
		add_choice(ec, req, d->slot, &count);
	return count;
}

/* xorshift64*, its upper half (Vigna 2016). */
static u32 random_below(struct ecache *ec, u32 bound)
{
	u64 x = ec->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	ec->random = x;
	x = (x * 0x2545f4914f6cdd1dull) >> 32;
	return (u32)((x * bound) >> 32);
}

static u32 cheapest(const struct ecache *ec, u32 count)
{
	const struct ecache_choice *choices = ec->choices;
	u32 i, best = 0;

	for (i = 1; i < count; i++)
		if (choices[i].cost < choices[best].cost ||
		    (choices[i].cost == choices[best].cost &&
		     choices[i].slot < choices[best].slot))
			best = i;
	return best;
}

/* Chooses a slot and a window of it; returns the window's first frame. */
static u32 choose(struct ecache *ec, const struct ecache_request *req)
{
	u32 count, i;

	ec->steps_left = ec->search_steps;
	if (policy_of(req) >= ECACHE_COUNT)
		cost_bases(ec, req);
	count = list_choices(ec, req);

	while (count) {
		struct ecache_choice choice;

		if (policy_of(req) == ECACHE_STATIC)
			i = 0;
		else if (policy_of(req) == ECACHE_RANDOM)
			i = random_below(ec, count);
		else
			i = cheapest(ec, count);
		choice = ec->choices[i];
		if (ecache_place(ec, req->device, choice.slot))
			return choice.window;
		for (count--; i < count; i++)
			ec->choices[i] = ec->choices[i + 1];
	}
	/* Not reached: the device's own slot is always accepted. */
	return ECACHE_NONE;
}

/* Takes the cached pages of [first, end) out of the sums; returns how many. */
static u32 discount(struct ecache *ec, u32 first, u32 end)
{
	u32 discarded = 0;

	while (first < end) {
		u32 index = ec->base_of[first];
		struct ecache_base *base = &ec->bases[index];
		u32 stop = ecache_base_end(ec, index);

		if (first == base->first && stop <= end) {
			discarded += base->cached;
			base->cached = 0;
			base->stamp_sum = 0;
			first = stop;
			continue;
		}
		for (; first < stop && first < end; first++) {
			if (!(ec->states[first] & FRAME_KEYED))
				continue;
			base->stamp_sum -= ec->frames[first].stamp;
			base->cached--;
			discarded++;
		}
	}
	return discarded;
}

/* Sets FRAME_OWNED, eight frames at a time; returns how many of them are pinned. */
static u32 mark_owned(u8 *states, u32 count)
{
	const u64 each = 0x0101010101010101ull;
	u32 i, pinned = 0;
	u64 all = 0;

	for (i = 0; count - i >= 8; i += 8) {
		u64 word;

		memcpy(&word, states + i, 8);
		all |= word;
		word |= each * FRAME_OWNED;
		memcpy(states + i, &word, 8);
	}
	for (; i < count; i++) {
		all |= states[i];
		states[i] |= FRAME_OWNED;
	}
	/* Seldom: a page is being copied on another CPU this very moment. */
	if (all & each * FRAME_PINNED)
		for (i = 0; i < count; i++)
			pinned += !!(states[i] & FRAME_PINNED);
	return pinned;
}

int ecache_alloc_region(struct ecache *ec, const struct ecache_request *req,
			struct ecache_region *region)
{
	struct ecache_device *d;
	u32 first, discarded, pinned, size = req->size_frames;

	region->first = ECACHE_NONE;
	region->count = 0;
	if (req->device >= ec->nr_devices || policy_of(req) > ECACHE_CALLBACK ||
	    (policy_of(req) == ECACHE_LRU && !req->ranks) ||
	    (policy_of(req) == ECACHE_CALLBACK && !req->cost))
		return ECACHE_EINVAL;
	d = &ec->devices[req->device];
	if (!size || size > d->size)
		return ECACHE_EINVAL;
	if (d->count)
		return ECACHE_EBUSY;

	first = choose(ec, req);
	if (first == ECACHE_NONE)
		return ECACHE_ENOSPC;

	/* None of these frames is a device's, so each is on a list, a tombstone, or pinned. */
	discarded = discount(ec, first, first + size);
	pinned = mark_owned(ec->states + first, size);
	ec->counters.allocs++;
	ec->counters.discarded += discarded;
	ec->counters.cached_frames -= discarded;
	ec->counters.free_frames -= size - discarded - pinned;
	ec->counters.tombstone_frames += size - pinned;
	ec->owned_pins += pinned;
	ecache_limit_protected(ec);
	d->first = first;
	d->count = size;
	d->swept = 0;
	if (req->salvage_budget_pages)
		ecache_salvage_begin(ec, req->device, req->salvage_budget_pages);
	region->first = first;
	region->count = size;
	return ECACHE_OK;
}

u32 ecache_free_some(struct ecache *ec, u32 device, u32 budget)
{
	struct ecache_device *d;

	if (device >= ec->nr_devices)
		return 0;
	d = &ec->devices[device];
	if (ec->salvage_device == device)
		ecache_salvage_end(ec);
	while (d->count && budget--) {
		u32 frame = d->first + --d->count;

		if (ECACHE_BROKEN_FREE && d->count == 1)
			continue;
		if (ec->states[frame] & FRAME_PINNED) {
			ec->states[frame] = FRAME_PINNED;
			ec->owned_pins--;
			continue;
		}
		if (ec->states[frame] & FRAME_LISTED)
			ecache_withdraw(ec, frame);
		ec->states[frame] = FRAME_LISTED;
		ecache_list_add(ec, ecache_free_head(ec), frame);
		ec->counters.device_frames--;
		ec->counters.free_frames++;
	}
	if (d->swept > d->count)
		d->swept = d->count;
	ecache_limit_protected(ec);
	return d->count;
}

void ecache_free_region(struct ecache *ec, u32 device)
{
	(void)ecache_free_some(ec, device, 0xffffffffu);
}

u32 ecache_sweep(struct ecache *ec, u32 budget)
{
	u32 device;

	for (device = 0; device < ec->nr_devices; device++) {
		struct ecache_device *d = &ec->devices[device];

		/* What is being salvaged is still wanted. */
		if (device == ec->salvage_device)
			continue;
		while (d->swept < d->count) {
			u32 frame = d->first + d->swept;

			if (!ec->counters.tombstone_frames || !budget)
				return (u32)ec->counters.tombstone_frames;
			if (ec->states[frame] & FRAME_LISTED)
				ecache_withdraw(ec, frame);
			d->swept++;
			budget--;
		}
	}
	return (u32)ec->counters.tombstone_frames;
}

const u32 *ecache_candidates(const struct ecache *ec, u32 device, u32 *count)
{
	*count = 0;
	if (device >= ec->nr_devices)
		return NULL;
	*count = ec->devices[device].nr_candidates;
	return ec->devices[device].candidates;
}

struct ecache_region ecache_held(const struct ecache *ec, u32 device)
{
	struct ecache_region region = { ECACHE_NONE, 0 };

	if (device < ec->nr_devices && ec->devices[device].count) {
		region.first = ec->devices[device].first;
		region.count = ec->devices[device].count;
	}
	return region;
}

struct ecache_region ecache_slot(const struct ecache *ec, u32 device)
{
	struct ecache_region region = { ECACHE_NONE, 0 };

	if (device < ec->nr_devices) {
		region.first = ec->devices[device].slot;
		region.count = ec->devices[device].size;
	}
	return region;
}
