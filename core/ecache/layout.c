// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Candidate regions PR(d) and base regions BR (eCache12, section 3.3), computed
 * once at init.
 *
 * PR(d): a device may begin where any subset of the others would end if they were
 * laid from the start of a carve-out: base + subset sum, where its whole
 * reservation fits. Its home belongs to PR(d) too.
 *
 * BR: the paper divides PR(d) for each device. Here one division serves all
 * devices. It is cut where any candidate begins or ends, and where carve-outs meet.
 */

#include "internal.h"

/*
 * Merges the ascending sets {s} and {s + size} into scratch, without repeats or
 * sums beyond the limit; returns how many.
 */
static u32 merge_sums(const u32 *sums, u32 count, u32 size, u32 limit,
		      u32 *scratch)
{
	u32 i = 0, j = 0, merged = 0;

	for (;;) {
		bool more = j < count && size <= limit &&
			    sums[j] <= limit - size;

		if (i < count && (!more || sums[i] <= sums[j] + size)) {
			if (more && sums[i] == sums[j] + size)
				j++;
			scratch[merged++] = sums[i++];
		} else if (more) {
			scratch[merged++] = sums[j++] + size;
		} else {
			return merged;
		}
	}
}

/* Keeps `capacity` of the sums, evenly spread by rank, with the first and last. */
static u32 thin(const u32 *from, u32 count, u32 capacity, u32 *to)
{
	u32 i;

	for (i = 0; i < count && i < capacity; i++) {
		if (count <= capacity)
			to[i] = from[i];
		else if (capacity == 1)
			to[i] = from[0];
		else /* below 2^30: ECACHE_MAX_CANDIDATES is 2^14 */
			to[i] = from[i * (count - 1) / (capacity - 1)];
	}
	return i;
}

/* Subset sums of the other devices' sizes, ascending, at most `limit` each. */
static u32 subset_sums(struct ecache *ec, u32 device, u32 limit, u32 capacity,
		       u32 *sums)
{
	u32 other, count = 1;

	sums[0] = 0;
	for (other = 0; other < ec->nr_devices; other++) {
		u32 merged;

		if (other == device)
			continue;
		merged = merge_sums(sums, count, ec->devices[other].size,
				    limit, ec->sums);
		count = thin(ec->sums, merged, capacity, sums);
	}
	return count;
}

static void add_home(struct ecache_device *d)
{
	u32 i, at = 0;

	while (at < d->nr_candidates && d->candidates[at] < d->home)
		at++;
	if (at < d->nr_candidates && d->candidates[at] == d->home)
		return;
	for (i = d->nr_candidates; i > at; i--)
		d->candidates[i] = d->candidates[i - 1];
	d->candidates[at] = d->home;
	d->nr_candidates++;
}

void ecache_layout_candidates(struct ecache *ec)
{
	u32 capacity = (ec->candidate_capacity - 1) / ec->nr_carveouts;
	u32 device;

	for (device = 0; device < ec->nr_devices; device++) {
		struct ecache_device *d = &ec->devices[device];
		u32 carveout, i, base = 0;

		for (carveout = 0; carveout < ec->nr_carveouts; carveout++) {
			u32 length = ec->carveout_end[carveout] - base;
			u32 *sums = d->candidates + d->nr_candidates;
			u32 count = 0;

			if (d->size <= length)
				count = subset_sums(ec, device,
						    length - d->size, capacity,
						    sums);
			for (i = 0; i < count; i++)
				sums[i] += base;
			d->nr_candidates += count;
			base += length;
		}
		add_home(d);
	}
}

void ecache_layout_bases(struct ecache *ec)
{
	u32 device, i, frame;

	/* The states are not in use yet: they hold the cuts, which sorts them. */
	ec->states[0] = 1;
	for (i = 0; i + 1 < ec->nr_carveouts; i++)
		ec->states[ec->carveout_end[i]] = 1;
	for (device = 0; device < ec->nr_devices; device++) {
		const struct ecache_device *d = &ec->devices[device];

		for (i = 0; i < d->nr_candidates; i++) {
			u32 end = d->candidates[i] + d->size;

			ec->states[d->candidates[i]] = 1;
			if (end < ec->nr_frames)
				ec->states[end] = 1;
		}
	}

	for (frame = 0; frame < ec->nr_frames; frame++) {
		if (ec->states[frame])
			ec->bases[ec->nr_bases++].first = frame;
		ec->base_of[frame] = (u16)(ec->nr_bases - 1);
	}
	ec->bases[ec->nr_bases].first = ec->nr_frames;
}
