// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Every invariant of the eCache, verified the slow way. For tests. */

#include "internal.h"

struct tally {
	u64 listed;
	u64 keyed;
	u64 by_state[6];
	u64 owned_pins;
};

/* Walks one list; returns what is wrong with it. */
static const char *check_list(const struct ecache *ec, u32 head, u8 wanted,
			      struct tally *tally)
{
	const struct ecache_frame *frames = ec->frames;
	u32 at = head, next;
	u64 steps = 0;

	for (;;) {
		next = frames[at].next;
		if (next > ecache_lru_head(ec) || frames[next].prev != at)
			return "list: next and prev disagree";
		if (next == head)
			return NULL;
		if (next >= ec->nr_frames)
			return "list: runs into another list's head";
		if (steps++ == ec->nr_frames)
			return "list: has a loop";
		if ((ec->states[next] & (FRAME_LISTED | FRAME_KEYED)) != wanted)
			return "list: holds a frame of another state";
		if (at != head && wanted & FRAME_KEYED && next != ec->boundary &&
		    frames[next].stamp > frames[at].stamp)
			return "LRU list: stamps ascend";
		tally->listed++;
		at = next;
	}
}

/* Whether a page's stamp is that of a put before the next one; none is 0. */
static bool stamp_in_range(const struct ecache *ec, u32 frame, u32 lead)
{
	u32 stamp = ec->frames[frame].stamp;

	return stamp > lead && stamp - lead < ec->next_stamp;
}

/* The LRU list's upper part is what is protected, and ends at the boundary. */
static const char *check_parts(const struct ecache *ec)
{
	u32 head = ecache_lru_head(ec), at, upper = 0;

	for (at = ec->frames[head].next; at != head && at != ec->boundary;
	     at = ec->frames[at].next, upper++) {
		if (!(ec->states[at] & FRAME_PROTECTED))
			return "LRU list: an unprotected frame in the upper part";
		if (!stamp_in_range(ec, at, ecache_lead(ec)))
			return "LRU list: a protected frame's stamp is out of range";
	}
	if (at != ec->boundary)
		return "LRU list: the boundary is not on it";
	for (; at != head; at = ec->frames[at].next) {
		if (ec->states[at] & FRAME_PROTECTED)
			return "LRU list: a protected frame in the lower part";
		if (!stamp_in_range(ec, at, 0))
			return "LRU list: a frame's stamp is out of range";
	}
	return upper == ec->nr_protected ? NULL :
	       "LRU list: the number of protected frames is wrong";
}

/* Whether the page of a frame occurs again further down its (finite) chain. */
static bool hashed_twice(const struct ecache *ec, u32 frame)
{
	const struct ecache_frame *f = &ec->frames[frame];
	u32 other;

	for (other = f->hash_next; other != ECACHE_NONE;
	     other = ec->frames[other].hash_next)
		if (ec->frames[other].key == f->key)
			return true;
	return false;
}

static const char *check_hash(const struct ecache *ec, struct tally *tally)
{
	u32 bucket, frame;

	for (bucket = 0; bucket < ecache_nr_buckets(ec); bucket++) {
		u64 steps = 0;

		for (frame = ec->buckets[bucket]; frame != ECACHE_NONE;
		     frame = ec->frames[frame].hash_next) {
			const struct ecache_frame *f;

			if (frame >= ec->nr_frames)
				return "hash: names no frame";
			if (steps++ == ec->nr_frames)
				return "hash: chain has a loop";
			f = &ec->frames[frame];
			if (!(ec->states[frame] & FRAME_KEYED))
				return "hash: holds a frame without a page";
			if (ecache_bucket(ec, f->key) != bucket)
				return "hash: frame in another key's bucket";
		}
		for (frame = ec->buckets[bucket]; frame != ECACHE_NONE;
		     frame = ec->frames[frame].hash_next)
			if (hashed_twice(ec, frame))
				return "hash: a page has two frames";
		tally->keyed += steps;
	}
	return NULL;
}

static const char *check_states(const struct ecache *ec, struct tally *tally)
{
	const struct ecache_counters *c = &ec->counters;
	u64 listed = 0, keyed = 0;
	u32 frame;

	for (frame = 0; frame < ec->nr_frames; frame++) {
		u8 state = ec->states[frame];

		switch (state) {
		case FRAME_LISTED:
		case FRAME_LISTED | FRAME_KEYED:
		case FRAME_OWNED:
		case FRAME_OWNED | FRAME_LISTED:
		case FRAME_OWNED | FRAME_LISTED | FRAME_KEYED:
		case FRAME_PROTECTED | FRAME_LISTED | FRAME_KEYED:
		case FRAME_PROTECTED | FRAME_OWNED | FRAME_LISTED | FRAME_KEYED:
		case FRAME_PINNED:
		case FRAME_PINNED | FRAME_OWNED:
		case FRAME_RETIRED:
		case FRAME_RETIRED | FRAME_OWNED:
			break;
		default:
			return "state: no such combination";
		}
		listed += !!(state & FRAME_LISTED);
		keyed += !!(state & FRAME_KEYED);
		tally->by_state[ecache_state(ec, frame)]++;
		tally->owned_pins += state == (FRAME_PINNED | FRAME_OWNED);
	}
	if (listed != tally->listed)
		return "state: a frame is marked as listed and is on no list";
	if (keyed != tally->keyed)
		return "state: a frame is marked as hashed and is in no chain";
	if (c->free_frames != tally->by_state[ECACHE_FREE] ||
	    c->cached_frames != tally->by_state[ECACHE_CACHED] ||
	    c->device_frames != tally->by_state[ECACHE_DEVICE] ||
	    c->tombstone_frames != tally->by_state[ECACHE_TOMBSTONE] ||
	    c->retired_frames != tally->by_state[ECACHE_RETIRED])
		return "counters: frames by state disagree with the frames";
	if (ec->owned_pins != tally->owned_pins)
		return "counters: pinned frames of devices disagree with the frames";
	return NULL;
}

static const char *check_bases(const struct ecache *ec)
{
	u32 base, frame;

	if (!ec->nr_bases || ec->nr_bases > ec->base_capacity ||
	    ec->bases[0].first || ecache_base_end(ec, ec->nr_bases - 1) !=
					  ec->nr_frames)
		return "base regions: do not cover the frames";
	for (base = 0; base < ec->nr_bases; base++) {
		u64 sum = 0;
		u32 cached = 0;

		for (frame = ec->bases[base].first;
		     frame < ecache_base_end(ec, base); frame++) {
			if (ec->base_of[frame] != base)
				return "base regions: frame names another";
			if (ecache_state(ec, frame) != ECACHE_CACHED)
				continue;
			sum += ec->frames[frame].stamp;
			cached++;
		}
		if (sum != ec->bases[base].stamp_sum)
			return "base regions: sum of stamps is wrong";
		if (cached != ec->bases[base].cached)
			return "base regions: count of pages is wrong";
	}
	return NULL;
}

static bool crosses_border(const struct ecache *ec, u32 first, u32 size)
{
	u32 carveout;

	for (carveout = 0; carveout < ec->nr_carveouts; carveout++)
		if (first < ec->carveout_end[carveout])
			return size > ec->carveout_end[carveout] - first;
	return true;
}

static const char *check_devices(const struct ecache *ec,
				 const struct tally *tally)
{
	u64 held = 0;
	u32 i, j, frame;

	for (i = 0; i < ec->nr_devices; i++) {
		const struct ecache_device *d = &ec->devices[i];

		if (crosses_border(ec, d->slot, d->size))
			return "slot: not within one carve-out";
		for (j = 0; j < i; j++) {
			const struct ecache_device *other = &ec->devices[j];

			if (d->slot < other->slot + other->size &&
			    other->slot < d->slot + d->size)
				return "slot: meets another device's slot";
		}
		for (j = 0; j < d->nr_candidates; j++) {
			if (crosses_border(ec, d->candidates[j], d->size))
				return "candidate: not within one carve-out";
			if (j && d->candidates[j] <= d->candidates[j - 1])
				return "candidates: do not ascend";
		}
		if (d->count && (d->first < d->slot ||
				 d->first - d->slot + d->count > d->size))
			return "device: holds frames outside its slot";
		if (d->swept > d->count)
			return "device: swept more than it holds";
		held += d->count;
		for (frame = d->first; frame < d->first + d->count; frame++) {
			if (!(ec->states[frame] & FRAME_OWNED))
				return "device: holds a frame that is not its own";
			if (ec->states[frame] & FRAME_LISTED &&
			    frame < d->first + d->swept &&
			    i != ec->salvage_device)
				return "device: a swept frame is a tombstone";
		}
	}
	if (held != tally->by_state[ECACHE_DEVICE] +
			    tally->by_state[ECACHE_TOMBSTONE] + tally->owned_pins)
		return "device: a frame is a device's and no device holds it";
	return NULL;
}

const char *ecache_check(const struct ecache *ec)
{
	struct tally tally;
	const char *wrong;

	memset(&tally, 0, sizeof(tally));
	wrong = check_list(ec, ecache_free_head(ec), FRAME_LISTED, &tally);
	if (!wrong)
		wrong = check_list(ec, ecache_lru_head(ec),
				   FRAME_LISTED | FRAME_KEYED, &tally);
	if (!wrong)
		wrong = check_parts(ec);
	if (!wrong)
		wrong = check_hash(ec, &tally);
	if (!wrong)
		wrong = check_states(ec, &tally);
	if (!wrong)
		wrong = check_bases(ec);
	if (!wrong)
		wrong = check_devices(ec, &tally);
	if (!wrong && ec->salvage_cursor != ecache_lru_head(ec) &&
	    (ec->salvage_cursor >= ec->nr_frames ||
	     !(ec->states[ec->salvage_cursor] & FRAME_KEYED)))
		wrong = "salvage: cursor is not on the LRU list";
	return wrong;
}
