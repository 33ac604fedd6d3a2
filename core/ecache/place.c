// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where devices may be, so that none is ever shut out.
 *
 * Seed 000, section 3.3, restricts each device to its candidates and says that
 * this rules fragmentation out. It does not: with its own example, sizes 6, 4
 * and 3 in 13 frames, mfc (6) may go to 3..8 and then jpeg (3) to 10..12, which
 * leaves 0..2 and 9 for fimc (4), whose candidates 0, 3, 6 and 9 are all cut.
 * So a slot is kept for every device, active or idle, and a candidate counts
 * only if slots for all the others can still be found.
 *
 * Guarantee: ecache_alloc_region() within a reservation never fails.
 *
 * Invariant: all slots have the full size of their device's reservation, are
 * pairwise disjoint, and lie each in one carve-out; what a device holds lies in
 * its slot.
 *  - init establishes it, or fails (ecache_place_initial).
 *  - ecache_place(d, c) changes slots only when it knows a complete set of new
 *    ones, with active devices where they were and d at c; otherwise it returns
 *    false and changes nothing.
 *  - free, put, get, flush, sweep and salvage change no slot.
 * alloc(d) tries candidates until ecache_place() accepts one, and d's own slot is
 * among them. That one is accepted always: it meets no other slot, so the present
 * slots are a complete set. Its frames are held by nobody, since others hold frames
 * of their own slots only. So alloc succeeds, at the latest there; neither the
 * bound on candidates nor the bound on the search can change that, they only cost
 * choices. A device that asks for less holds part of its slot and the slot stays
 * reserved in full, so it cannot fragment the others either; the rest of the slot
 * goes on caching.
 */

#include "internal.h"

static bool overlaps(u32 first, u32 size, u32 other_first, u32 other_size)
{
	return first < other_first + other_size && other_first < first + size;
}

/* Inserts a device into `fixed`, which is ordered by first frame. */
static u32 add_fixed(struct ecache *ec, u32 count, u32 device)
{
	u32 at = count;

	while (at > 0 && ec->devices[ec->fixed[at - 1]].slot >
			 ec->devices[device].slot) {
		ec->fixed[at] = ec->fixed[at - 1];
		at--;
	}
	ec->fixed[at] = device;
	return count + 1;
}

static void add_gap(struct ecache *ec, u32 first, u32 end)
{
	struct ecache_gap *gap = &ec->gaps[ec->nr_gaps];

	if (first == end)
		return;
	gap->first = first;
	gap->count = end - first;
	gap->room = end - first;
	ec->nr_gaps++;
}

/* Lists the gaps between the `count` fixed slots, in frame order. */
static void list_gaps(struct ecache *ec, u32 count)
{
	u32 carveout, i = 0, at = 0;

	ec->nr_gaps = 0;
	for (carveout = 0; carveout < ec->nr_carveouts; carveout++) {
		u32 end = ec->carveout_end[carveout];

		while (i < count && ec->devices[ec->fixed[i]].slot < end) {
			const struct ecache_device *d =
				&ec->devices[ec->fixed[i]];

			add_gap(ec, at, d->slot);
			at = d->slot + d->size;
			i++;
		}
		add_gap(ec, at, end);
		at = end;
	}
}

/* The first gap from `from` on that is worth a try for an item. */
static u32 next_gap(const struct ecache *ec, u32 from, u32 size)
{
	u32 gap, earlier;

	for (gap = from; gap < ec->nr_gaps; gap++) {
		if (ec->gaps[gap].room < size)
			continue;
		/* With the same room as an earlier gap, the same would follow. */
		for (earlier = 0; earlier < gap; earlier++)
			if (ec->gaps[earlier].room == ec->gaps[gap].room)
				break;
		if (earlier == gap)
			break;
	}
	return gap;
}

/*
 * Packs the items into the gaps: a search in depth over gaps for the items, the
 * largest first, each laid against the left of what is left of its gap. Of all
 * ways it finds the lexicographically first, if steps allow.
 */
static bool pack(struct ecache *ec)
{
	u32 item = 0, from = 0;

	while (item < ec->nr_items) {
		u32 size = ec->devices[ec->items[item]].size;
		u32 gap;

		if (!ec->steps_left)
			return false;
		ec->steps_left--;
		ec->counters.search_steps++;

		gap = next_gap(ec, from, size);
		if (gap < ec->nr_gaps) {
			struct ecache_gap *g = &ec->gaps[gap];

			ec->item_gap[item] = gap;
			ec->item_first[item] = g->first + g->count - g->room;
			g->room -= size;
			item++;
			/* Of two equal items the second never goes before the first. */
			from = item < ec->nr_items &&
			       ec->devices[ec->items[item]].size == size ?
			       gap : 0;
			continue;
		}
		if (!item)
			return false;
		item--;
		ec->gaps[ec->item_gap[item]].room +=
			ec->devices[ec->items[item]].size;
		from = ec->item_gap[item] + 1;
	}
	return true;
}

static void move_slots(struct ecache *ec)
{
	u32 i;

	for (i = 0; i < ec->nr_items; i++)
		ec->devices[ec->items[i]].slot = ec->item_first[i];
}

/* Whether a region lies in one carve-out. */
static bool in_carveout(const struct ecache *ec, u32 first, u32 size)
{
	u32 carveout = 0;

	if (first >= ec->nr_frames)
		return false;
	while (ec->carveout_end[carveout] <= first)
		carveout++;
	return size <= ec->carveout_end[carveout] - first;
}

/* Finds a slot for every device: its home, or else one between the homes. */
bool ecache_place_initial(struct ecache *ec)
{
	u32 i, j, fixed = 0;

	for (i = 0; i < ec->nr_devices; i++) {
		struct ecache_device *d = &ec->devices[i];

		if (d->home == ECACHE_NONE)
			continue;
		if (!in_carveout(ec, d->home, d->size))
			return false;
		for (j = 0; j < i; j++) {
			const struct ecache_device *other = &ec->devices[j];

			if (other->home != ECACHE_NONE &&
			    overlaps(d->home, d->size, other->home,
				     other->size))
				return false;
		}
		d->slot = d->home;
		fixed = add_fixed(ec, fixed, i);
	}

	ec->nr_items = 0;
	for (i = 0; i < ec->nr_devices; i++)
		if (ec->devices[ec->by_size[i]].home == ECACHE_NONE)
			ec->items[ec->nr_items++] = ec->by_size[i];
	list_gaps(ec, fixed);
	/* Once, and not in a hurry: a thousand times an allocation's budget. */
	ec->steps_left = ec->search_steps < 0xffffffffu / 1000 ?
			 ec->search_steps * 1000 : 0xffffffffu;
	if (!pack(ec))
		return false;
	ec->counters.search_steps = 0;
	move_slots(ec);
	for (i = 0; i < ec->nr_devices; i++)
		ec->devices[i].home = ec->devices[i].slot;
	return true;
}

/*
 * Moves an idle device's slot to `first`, and those of other idle devices out of
 * its way; returns false, with nothing changed, if no way was found.
 */
bool ecache_place(struct ecache *ec, u32 device, u32 first)
{
	struct ecache_device *d = &ec->devices[device];
	u32 old = d->slot, fixed = 0, i;
	bool in_the_way = false;

	for (i = 0; i < ec->nr_devices; i++) {
		const struct ecache_device *other = &ec->devices[i];

		if (i == device ||
		    !overlaps(first, d->size, other->slot, other->size))
			continue;
		if (other->count && !ECACHE_BROKEN_ALLOC)
			return false;
		in_the_way = true;
	}
	d->slot = first;
	if (!in_the_way || ECACHE_BROKEN_PLACE || ECACHE_BROKEN_ALLOC)
		return true;

	ec->nr_items = 0;
	for (i = 0; i < ec->nr_devices; i++) {
		u32 other = ec->by_size[i];

		if (other == device || ec->devices[other].count)
			fixed = add_fixed(ec, fixed, other);
		else
			ec->items[ec->nr_items++] = other;
	}
	list_gaps(ec, fixed);
	if (!pack(ec)) {
		d->slot = old;
		return false;
	}
	move_slots(ec);
	ec->counters.repacks++;
	return true;
}
