// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The frame table's lists: free frames, and pages from the most recently put on.
 *
 * The paper has one LRU list with free frames at its LRU end. Here its free part is
 * a list of its own, a stack: the paper's list, read from the LRU position, is the
 * free list from its top and then the LRU list from its tail.
 *
 * And the LRU list has two parts, as in segmented LRU. Pages that were got from here
 * before (returned) enter at the MRU end, the others at `boundary`, below all those. So
 * pages that are read once, a film's or an update's, go before those that come back,
 * though they were put later. When the upper part exceeds its share of the frames that
 * no device holds, its tail passes to the lower part: what is new always has a chance.
 */

#include "internal.h"

/* Adds a frame between two neighbours. */
static void list_link(struct ecache_frame *frames, u32 prev, u32 frame, u32 next)
{
	frames[frame].prev = prev;
	frames[frame].next = next;
	frames[next].prev = frame;
	frames[prev].next = frame;
}

/* Adds a frame after `after`, which may be a list's head: then it is top or MRU. */
ECACHE_SHARED void ecache_list_add(struct ecache *ec, u32 after, u32 frame)
{
	list_link(ec->frames, after, frame, ec->frames[after].next);
}

ECACHE_SHARED void ecache_list_del(struct ecache *ec, u32 frame)
{
	struct ecache_frame *frames = ec->frames;
	u32 prev = frames[frame].prev;
	u32 next = frames[frame].next;

	frames[prev].next = next;
	frames[next].prev = prev;
	/* Salvage walks the list between calls. */
	if (frame == ec->salvage_cursor)
		ec->salvage_cursor = next;
	if (frame == ec->boundary)
		ec->boundary = next;
}

/* Takes a frame that was in this state off the LRU list. */
ECACHE_SHARED void ecache_lru_del(struct ecache *ec, u32 frame, u32 state)
{
	if (!ECACHE_BROKEN_PROTECT)
		ec->nr_protected -= state >> FRAME_PROTECTED_SHIFT;
	ecache_list_del(ec, frame);
}

/* Sets the upper part's bound from the frames that no device holds. */
void ecache_limit_protected(struct ecache *ec)
{
	u32 frames = ec->nr_frames - (u32)(ec->counters.device_frames +
					   ec->counters.tombstone_frames +
					   ec->counters.retired_frames) -
		     ec->owned_pins;

	/* No product exceeds 32 bits, and a kernel need not divide 64. */
	ec->protect_limit = frames / 100 * ec->protect_percent +
			    frames % 100 * ec->protect_percent / 100;
}

/* The tail of the upper part becomes the first of the lower one. */
static void demote(struct ecache *ec)
{
	struct ecache_frame *frames = ec->frames;
	u32 frame = frames[ec->boundary].prev;
	u32 stamp = frames[frame].stamp - ecache_lead(ec);

	/* Stamps may not ascend: it counts as put when the page that it goes after was. */
	if (ec->boundary != ecache_lru_head(ec) &&
	    stamp < frames[ec->boundary].stamp)
		stamp = frames[ec->boundary].stamp;
	if (!(ec->states[frame] & FRAME_OWNED))
		ec->bases[ec->base_of[frame]].stamp_sum +=
			(u64)stamp - frames[frame].stamp;
	frames[frame].stamp = stamp;
	ec->states[frame] &= (u8)~FRAME_PROTECTED;
	ec->nr_protected--;
	ec->boundary = frame;
}

/*
 * Stamps matter by their differences alone. Moves all of them, and next_stamp, down
 * together so that the oldest page's is 1, a protected one's without its lead: then
 * demote() finds a lead to take off. A page that is STAMP_SPREAD puts old ages no more,
 * which keeps each part of the list in order. O(listed pages).
 */
ECACHE_COLD void ecache_renumber(struct ecache *ec)
{
	struct ecache_frame *frames = ec->frames;
	u32 head = ecache_lru_head(ec);
	u32 lower = frames[head].prev;
	u32 upper = frames[ec->boundary].prev;
	u32 oldest = ec->next_stamp, floor, base, frame;

	if (ec->boundary != head)
		oldest = frames[lower].stamp;
	if (upper != head && frames[upper].stamp - ecache_lead(ec) < oldest)
		oldest = frames[upper].stamp - ecache_lead(ec);
	if (ec->next_stamp - oldest > STAMP_SPREAD)
		oldest = ec->next_stamp - STAMP_SPREAD;
	floor = oldest - 1;

	for (base = 0; base < ec->nr_bases && !ECACHE_BROKEN_RENUMBER; base++)
		ec->bases[base].stamp_sum = 0;
	for (frame = frames[head].next; frame != head; frame = frames[frame].next) {
		u32 state = ec->states[frame];
		u32 least = oldest;

		if (state & FRAME_PROTECTED)
			least += ecache_lead(ec);
		if (frames[frame].stamp < least)
			frames[frame].stamp = least;
		frames[frame].stamp -= floor;
		if (!(state & FRAME_OWNED) && !ECACHE_BROKEN_RENUMBER)
			ec->bases[ec->base_of[frame]].stamp_sum +=
				frames[frame].stamp;
	}
	ec->next_stamp -= floor;
}

/* Adds a page's frame to the LRU list at the place that it deserves, with its stamp. */
ECACHE_SHARED void ecache_list_page(struct ecache *ec, u32 frame, bool returned)
{
	struct ecache_frame *frames = ec->frames;

	if (returned && ec->protect_limit) {
		ec->states[frame] = FRAME_LISTED | FRAME_KEYED | FRAME_PROTECTED;
		ec->nr_protected++;
		frames[frame].stamp = ec->next_stamp++ + ecache_lead(ec);
		ecache_list_add(ec, ecache_lru_head(ec), frame);
	} else {
		ec->states[frame] = FRAME_LISTED | FRAME_KEYED;
		frames[frame].stamp = ec->next_stamp++;
		list_link(frames, frames[ec->boundary].prev, frame, ec->boundary);
		ec->boundary = frame;
	}
	/* An allocation may have lowered the limit by much: a put does its share. */
	if (ec->nr_protected > ec->protect_limit) {
		demote(ec);
		if (ec->nr_protected > ec->protect_limit)
			demote(ec);
	}
}
