// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Salvage: before a device gets its region, the most valuable pages in it move to
 * frames elsewhere that are free or hold less valuable pages. The most valuable is
 * nearest to the MRU position. Sources run from the MRU position down, targets from the
 * LRU position up, until they meet, the budget is spent, or the caller stops: then
 * what is lost is what would have gone next, as if the cache were smaller.
 *
 * alloc has made the region's frames tombstones already, but their content is
 * intact until the device gets it; a move gives a tombstone's entry a new frame. So
 * salvage need not be part of the allocation: it may begin whenever somebody is about
 * to write to the region for the first time, and save what is still there.
 */

#include "internal.h"

void ecache_salvage_end(struct ecache *ec)
{
	ec->salvage_device = ECACHE_NONE;
	ec->salvage_left = 0;
	ec->salvage_cursor = ecache_lru_head(ec);
}

void ecache_salvage_begin(struct ecache *ec, u32 device, u32 budget_pages)
{
	ecache_salvage_end(ec);
	if (device >= ec->nr_devices || !ec->devices[device].count || !budget_pages)
		return;
	ec->salvage_device = device;
	ec->salvage_left = budget_pages;
	ec->salvage_cursor = ec->frames[ecache_lru_head(ec)].next;
}

/* Gives the entry of `from`, a tombstone, to the frame `to`, at its place in the list. */
static void move_entry(struct ecache *ec, u32 from, u32 to)
{
	struct ecache_frame *f = &ec->frames[from];
	struct ecache_frame *t = &ec->frames[to];
	struct ecache_base *base = &ec->bases[ec->base_of[to]];

	t->key = f->key;
	t->stamp = f->stamp;
	if (!ECACHE_BROKEN_SALVAGE) {
		*ecache_hash_link(ec, f->key) = to;
		t->hash_next = f->hash_next;
	}
	ec->states[to] = ec->states[from] & (u8)~FRAME_OWNED;
	ec->nr_protected += ec->states[to] >> FRAME_PROTECTED_SHIFT;
	ecache_list_add(ec, from, to);
	ecache_lru_del(ec, from, ec->states[from]);
	ec->states[from] = FRAME_OWNED;
	base->stamp_sum += t->stamp;
	base->cached++;
	ec->counters.tombstone_frames--;
	ec->counters.device_frames++;
	ec->counters.cached_frames++;
}

/* Whether the frame that would be used next is a tombstone, before frame `keep`. */
static bool tombstone_is_next(const struct ecache *ec, u32 keep)
{
	u32 frame = ec->frames[ecache_free_head(ec)].next;

	if (frame == ecache_free_head(ec))
		frame = ec->frames[ecache_lru_head(ec)].prev;
	return frame != ecache_lru_head(ec) && frame != keep &&
	       ec->states[frame] & FRAME_OWNED;
}

enum ecache_salvage ecache_salvage_next(struct ecache *ec, u32 step_limit,
					struct ecache_move *move)
{
	const struct ecache_device *d;
	u32 from, to, steps = 0;
	u64 evictions;

	memset(move, 0, sizeof(*move));
	if (ec->salvage_device == ECACHE_NONE)
		return ECACHE_SALVAGE_DONE;
	d = &ec->devices[ec->salvage_device];

	from = ec->salvage_cursor;
	while (from != ecache_lru_head(ec) &&
	       (!(ec->states[from] & FRAME_OWNED) || from < d->first ||
		from - d->first >= d->count)) {
		from = ec->frames[from].next;
		if (++steps == step_limit) {
			ec->salvage_cursor = from;
			return ECACHE_SALVAGE_AGAIN;
		}
	}
	ec->salvage_cursor = from;
	if (from == ecache_lru_head(ec) || !ec->salvage_left) {
		ecache_salvage_end(ec);
		return ECACHE_SALVAGE_DONE;
	}

	/* All frames further down the LRU list hold less valuable pages than `from` does. */
	evictions = ec->counters.salvage_evictions;
	to = ecache_take_frame(ec, step_limit, from,
			       &ec->counters.salvage_evictions,
			       &move->evicted_key);
	if (to == ECACHE_NONE) {
		if (step_limit && tombstone_is_next(ec, from))
			return ECACHE_SALVAGE_AGAIN;
		ecache_salvage_end(ec);
		return ECACHE_SALVAGE_DONE;
	}
	move->evicted = ec->counters.salvage_evictions != evictions;
	move->key = ecache_unpack(ec->frames[from].key);
	move->from = from;
	move->to = to;
	/* Past `from`, and past `to`, which takes its place. */
	ec->salvage_cursor = ec->frames[from].next;
	move_entry(ec, from, to);
	ec->salvage_left--;
	ec->counters.salvaged++;
	return ECACHE_SALVAGE_MOVE;
}
