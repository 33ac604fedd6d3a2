// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * On-demand reservation (eCache12, section 3.3): the choice of a region, lazy discard,
 * and the way back. What regions cost is in cost.c.
 */

#include "internal.h"

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
	if (ecache_policy_of(req) == ECACHE_STATIC || ecache_policy_of(req) == ECACHE_RANDOM)
		return;
	choice->cost = ecache_range_cost(ec, req, slot, slot + size);
	if (!rest)
		return;
	cost = ecache_range_cost(ec, req, slot + rest, slot + rest + size);
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

	if (ecache_policy_of(req) == ECACHE_STATIC) {
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
	if (ecache_policy_of(req) >= ECACHE_COUNT)
		ecache_cost_bases(ec, req);
	count = list_choices(ec, req);

	while (count) {
		struct ecache_choice choice;

		if (ecache_policy_of(req) == ECACHE_STATIC)
			i = 0;
		else if (ecache_policy_of(req) == ECACHE_RANDOM)
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

/* How many of eight states have the flag whose shift is given. */
static u32 count_flag(u64 word, u32 shift)
{
	const u64 each = 0x0101010101010101ull;

	/* The uppermost byte of the product is the sum of all bytes. */
	return (u32)(((word >> shift & each) * each) >> 56);
}

/*
 * Sets FRAME_OWNED, eight frames at a time; returns how many of them are pinned, and how many
 * retired. Some are pinned nearly always: each volume keeps a few to spare.
 */
static u32 mark_owned(u8 *states, u32 count, u32 *retired)
{
	const u64 each = 0x0101010101010101ull;
	u32 i, pinned = 0;

	*retired = 0;
	for (i = 0; count - i >= 8; i += 8) {
		u64 word;

		memcpy(&word, states + i, 8);
		if (word & each * (FRAME_PINNED | FRAME_RETIRED)) {
			pinned += count_flag(word, FRAME_PINNED_SHIFT);
			*retired += count_flag(word, FRAME_RETIRED_SHIFT);
		}
		word |= each * FRAME_OWNED;
		memcpy(states + i, &word, 8);
	}
	for (; i < count; i++) {
		pinned += !!(states[i] & FRAME_PINNED);
		*retired += !!(states[i] & FRAME_RETIRED);
		states[i] |= FRAME_OWNED;
	}
	return pinned;
}

int ecache_alloc_region(struct ecache *ec, const struct ecache_request *req,
			struct ecache_region *region)
{
	struct ecache_device *d;
	u32 first, discarded, pinned, retired, size = req->size_frames;

	region->first = ECACHE_NONE;
	region->count = 0;
	if (req->device >= ec->nr_devices || ecache_policy_of(req) > ECACHE_CALLBACK ||
	    (ecache_policy_of(req) == ECACHE_LRU && !req->ranks) ||
	    (ecache_policy_of(req) == ECACHE_CALLBACK && !req->cost))
		return ECACHE_EINVAL;
	d = &ec->devices[req->device];
	if (!size || size > d->size)
		return ECACHE_EINVAL;
	if (d->count)
		return ECACHE_EBUSY;

	first = choose(ec, req);
	if (first == ECACHE_NONE)
		return ECACHE_ENOSPC;

	/* None of these frames is a device's: each is on a list, pinned, or retired. */
	discarded = discount(ec, first, first + size);
	pinned = mark_owned(ec->states + first, size, &retired);
	ec->counters.allocs++;
	ec->counters.discarded += discarded;
	ec->counters.cached_frames -= discarded;
	ec->counters.free_frames -= size - discarded - pinned - retired;
	ec->counters.tombstone_frames += size - pinned - retired;
	ec->counters.device_frames += retired;
	ec->counters.retired_frames -= retired;
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
		if (ec->states[frame] & FRAME_RETIRED && !ECACHE_BROKEN_RETIRE) {
			ec->states[frame] = FRAME_RETIRED;
			ec->counters.device_frames--;
			ec->counters.retired_frames++;
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
