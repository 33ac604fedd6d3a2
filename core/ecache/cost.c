// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a device's region would cost the cache (eCache12, section 3.3). */

#include "internal.h"

/*
 * The least stamp of all cached pages, less one, so that every page's age is at least 1.
 * Each part of the LRU list is in the order of stamps, so one of the two tails has it.
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
 * C_i of eCache12, for one frame; a pinned or retired one holds no page. Frames of devices cost 0
 * here: equation (1)'s infinity is ecache_place()'s refusal of whatever meets an active device's slot.
 */
static u64 frame_cost(const struct ecache *ec, const struct ecache_request *req,
		      u32 frame)
{
	const struct ecache_frame *f = &ec->frames[frame];
	struct ecache_key page;
	u8 state = ec->states[frame];

	if (state & (FRAME_OWNED | FRAME_PINNED | FRAME_RETIRED))
		return 0;
	if (ecache_policy_of(req) == ECACHE_LRU)
		return req->ranks[frame];
	if (!(state & FRAME_KEYED))
		return 0;
	switch (ecache_policy_of(req)) {
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
void ecache_cost_bases(struct ecache *ec, const struct ecache_request *req)
{
	u64 *cost = ec->base_cost;
	u64 sum = 0, oldest = oldest_stamp(ec);
	u32 base, frame;

	for (base = 0; base <= ec->nr_bases; base++)
		cost[base] = 0;
	if (ecache_policy_of(req) == ECACHE_LRU)
		rank_frames(ec, req->ranks, cost);
	for (base = 0; base < ec->nr_bases; base++) {
		const struct ecache_base *b = &ec->bases[base];

		if (ecache_policy_of(req) == ECACHE_COUNT)
			cost[base] = b->cached;
		else if (ecache_policy_of(req) == ECACHE_AGED)
			cost[base] = b->stamp_sum - b->cached * oldest;
		else if (ecache_policy_of(req) == ECACHE_CALLBACK)
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

/*
 * Equation (1) for frames [first, end): whole base regions by the sums of
 * ecache_cost_bases(), the cut ones at both ends frame by frame.
 */
u64 ecache_range_cost(const struct ecache *ec, const struct ecache_request *req,
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
