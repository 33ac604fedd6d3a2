// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The exclusive frame table (eCache12, section 3.2): hash table, put, get and flush. Its
 * lists are in list.c.
 */

#include "internal.h"

/*
 * Fibonacci hashing: multiples of the golden ratio, so that runs of an object's pages,
 * and pages at any stride that disks know, fall evenly over the buckets. The object is
 * the key's upper end: multiples of the multiplier's low bits, which are odd, set
 * objects apart. The seed moves the buckets' borders, so that chains differ from run to
 * run. It is no defence against somebody who knows the seed.
 */
ECACHE_SHARED u32 ecache_bucket(const struct ecache *ec, u64 key)
{
	return (u32)((key * 0x9e3779b97f4a7c15ull + ec->hash_start) >>
		     ec->bucket_shift);
}

/* Follows a chain from `link` to the link that names the key's frame, or to the end. */
static u32 *chain_find(const struct ecache *ec, u32 *link, u64 key)
{
	while (*link != ECACHE_NONE) {
		struct ecache_frame *frame = &ec->frames[*link];

		if (frame->key == key)
			break;
		link = &frame->hash_next;
	}
	return link;
}

/* Where a key's frame number is stored, or would be: a bucket or a chain link. */
ECACHE_SHARED u32 *ecache_hash_link(const struct ecache *ec, u64 key)
{
	return chain_find(ec, &ec->buckets[ecache_bucket(ec, key)], key);
}

ECACHE_SHARED void ecache_unhash(struct ecache *ec, u32 frame)
{
	const struct ecache_frame *f = &ec->frames[frame];
	u32 *link = &ec->buckets[ecache_bucket(ec, f->key)];

	while (*link != frame)
		link = &ec->frames[*link].hash_next;
	*link = f->hash_next;
}

/* Makes a tombstone DEVICE: the discard that alloc put off (eCache12, section 4). */
ECACHE_SHARED void ecache_withdraw(struct ecache *ec, u32 frame)
{
	u32 state = ec->states[frame];

	if (state & FRAME_KEYED)
		ecache_unhash(ec, frame);
	ecache_lru_del(ec, frame, state);
	ec->states[frame] = FRAME_OWNED;
	ec->counters.tombstone_frames--;
	ec->counters.device_frames++;
	ec->counters.withdrawn++;
}

/* Takes a CACHED frame's page out of its base region's sums. */
static void uncount(struct ecache *ec, u32 frame)
{
	struct ecache_base *base = &ec->bases[ec->base_of[frame]];

	base->stamp_sum -= ec->frames[frame].stamp;
	base->cached--;
}

/*
 * Takes a CACHED frame off its list, its chain and its base region's sums; `link` is the
 * chain link that names it. Always inlined: this is most of a get's work.
 */
static inline __attribute__((__always_inline__)) void remove_page(struct ecache *ec, u32 frame, u32 *link)
{
	*link = ec->frames[frame].hash_next;
	uncount(ec, frame);
	ec->counters.cached_frames--;
	ecache_lru_del(ec, frame, ec->states[frame]);
}

/* Makes a frame that is on no list FREE. Always inlined, as remove_page() is. */
static inline __attribute__((__always_inline__)) void free_frame(struct ecache *ec, u32 frame)
{
	ec->states[frame] = FRAME_LISTED;
	ecache_list_add(ec, ecache_free_head(ec), frame);
	ec->counters.free_frames++;
}

/* Makes a CACHED frame FREE. */
static void release(struct ecache *ec, u32 frame, u32 *link)
{
	remove_page(ec, frame, link);
	free_frame(ec, frame);
}

/*
 * Takes the frame at the LRU end off its list, whatever page it holds, and
 * withdraws the tombstones before it, at most `work_limit` of them (0: all). Stops
 * at frame `keep`. Returns ECACHE_NONE if it finds none. A page that has to go is
 * counted in `evictions`, and named in `evicted`, which may be NULL.
 */
ECACHE_SHARED u32 ecache_take_frame(struct ecache *ec, u32 work_limit, u32 keep,
		      u64 *evictions, struct ecache_key *evicted)
{
	u32 frame, state, work = 0;

	for (;;) {
		frame = ec->frames[ecache_free_head(ec)].next;
		if (frame == ecache_free_head(ec))
			frame = ec->frames[ecache_lru_head(ec)].prev;
		if (frame == ecache_lru_head(ec) || frame == keep)
			return ECACHE_NONE;
		state = ec->states[frame];
		if (!(state & FRAME_OWNED))
			break;
		if (work_limit && work == work_limit)
			return ECACHE_NONE;
		ecache_withdraw(ec, frame);
		work++;
	}

	if (state & FRAME_KEYED) {
		if (evicted)
			*evicted = ecache_unpack(ec->frames[frame].key);
		++*evictions;
		ecache_unhash(ec, frame);
		uncount(ec, frame);
		ec->counters.cached_frames--;
	} else {
		ec->counters.free_frames--;
	}
	ecache_lru_del(ec, frame, state);
	return frame;
}

/*
 * Pins a frame for a page, or returns ECACHE_NONE; `evicted` gets the key of the page that
 * is evicted for it. Always inlined, as put_end() and get_key() are: batches call them in a loop.
 */
static inline __attribute__((__always_inline__)) u32 pin_frame(struct ecache *ec, struct ecache_key *evicted)
{
	u32 frame;

	ec->counters.puts++;
	frame = ecache_take_frame(ec, ec->put_work_limit, ECACHE_NONE,
				  &ec->counters.evictions, evicted);
	if (frame == ECACHE_NONE)
		ec->counters.puts_refused++;
	else
		ec->states[frame] = FRAME_PINNED;
	return frame;
}

u32 ecache_put_begin(struct ecache *ec)
{
	return pin_frame(ec, NULL);
}

/* Drops the page of the frame that `link` names; returns whether there was one, not a tombstone. */
static bool drop(struct ecache *ec, u32 *link)
{
	u32 frame = *link;

	if (frame == ECACHE_NONE)
		return false;
	if (ec->states[frame] & FRAME_OWNED) {
		ecache_withdraw(ec, frame);
		return false;
	}
	release(ec, frame, link);
	return true;
}

/* A page is about to be stored: an older one under the same key is dropped. */
static bool make_way(struct ecache *ec, u32 *link)
{
	bool replaced = drop(ec, link);

	ec->counters.puts_replaced += replaced;
	return replaced;
}

/* ecache_put_end() of a key in range. */
static inline __attribute__((__always_inline__)) void put_end(struct ecache *ec, u32 frame, u64 key, bool returned)
{
	struct ecache_frame *f = &ec->frames[frame];
	struct ecache_base *base;
	u32 *bucket, *link;

	if (ec->states[frame] & FRAME_OWNED) {
		ecache_unpin(ec, frame);
		return;
	}
	if (ec->next_stamp >= STAMP_LIMIT)
		ecache_renumber(ec);
	bucket = &ec->buckets[ecache_bucket(ec, key)];
	link = chain_find(ec, bucket, key);
	if (*link != ECACHE_NONE)
		(void)make_way(ec, link);
	f->key = key;
	f->hash_next = *bucket;
	*bucket = frame;
	ecache_list_page(ec, frame, returned);
	base = &ec->bases[ec->base_of[frame]];
	base->stamp_sum += f->stamp;
	base->cached++;
	ec->counters.cached_frames++;
}

void ecache_put_end(struct ecache *ec, u32 frame, u64 object, u64 index,
		    bool returned)
{
	put_end(ec, frame, ecache_pack(object, index), returned);
}

int ecache_put(struct ecache *ec, u64 object, u64 index, bool returned,
	       struct ecache_put_result *result)
{
	u64 evictions = ec->counters.evictions;

	result->evicted = 0;
	result->replaced = 0;
	result->frame = ECACHE_NONE;
	if (!ecache_in_range(object, index))
		return ECACHE_EINVAL;
	/* First, so that the frame of the replaced page is the one that is taken. */
	result->replaced = make_way(ec, ecache_hash_link(ec, ecache_pack(object, index)));
	result->frame = pin_frame(ec, &result->evicted_key);
	if (result->frame == ECACHE_NONE)
		return ECACHE_ENOSPC;
	result->evicted = ec->counters.evictions != evictions;
	ecache_put_end(ec, result->frame, object, index, returned);
	return ECACHE_OK;
}

/* ecache_get_begin() of a key in range. */
static inline __attribute__((__always_inline__)) u32 get_key(struct ecache *ec, u64 key)
{
	u32 *link = ecache_hash_link(ec, key);
	u32 frame = *link;

	ec->counters.gets++;
	if (frame == ECACHE_NONE)
		return ECACHE_NONE;
	if (ec->states[frame] & FRAME_OWNED) {
		if (ECACHE_BROKEN_TOMBSTONE)
			return frame;
		ecache_withdraw(ec, frame);
		return ECACHE_NONE;
	}
	ec->counters.hits++;
	if (ECACHE_BROKEN_SUM)
		ec->bases[ec->base_of[frame]].stamp_sum +=
			ec->frames[frame].stamp;
	if (ECACHE_BROKEN_GET)
		return frame;
	remove_page(ec, frame, link);
	ec->states[frame] = FRAME_PINNED;
	return frame;
}

u32 ecache_get_begin(struct ecache *ec, u64 object, u64 index)
{
	return ecache_in_range(object, index) ?
		       get_key(ec, ecache_pack(object, index)) : ECACHE_NONE;
}

void ecache_unpin(struct ecache *ec, u32 frame)
{
	if (!(ec->states[frame] & FRAME_OWNED) || ECACHE_BROKEN_PIN) {
		free_frame(ec, frame);
		return;
	}
	ec->states[frame] = FRAME_OWNED;
	ec->owned_pins--;
	ec->counters.device_frames++;
}

void ecache_retire(struct ecache *ec, u32 frame)
{
	if (ec->states[frame] & FRAME_OWNED) {
		ec->states[frame] = FRAME_OWNED | FRAME_RETIRED;
		ec->owned_pins--;
		ec->counters.device_frames++;
		return;
	}
	ec->states[frame] = FRAME_RETIRED;
	ec->counters.retired_frames++;
	ecache_limit_protected(ec);
}

u32 ecache_owned_pins(const struct ecache *ec)
{
	return ec->owned_pins;
}

u32 ecache_get(struct ecache *ec, u64 object, u64 index)
{
	u32 frame = ecache_get_begin(ec, object, index);

	if (frame != ECACHE_NONE && ec->states[frame] & FRAME_PINNED)
		ecache_unpin(ec, frame);
	return frame;
}

u32 ecache_peek(const struct ecache *ec, u64 object, u64 index)
{
	u32 frame;

	if (!ecache_in_range(object, index))
		return ECACHE_NONE;
	frame = *ecache_hash_link(ec, ecache_pack(object, index));
	if (frame == ECACHE_NONE || ec->states[frame] & FRAME_OWNED)
		return ECACHE_NONE;
	return frame;
}

/* ecache_flush_page() of a key in range. */
static bool flush_key(struct ecache *ec, u64 key)
{
	bool flushed = drop(ec, ecache_hash_link(ec, key));

	ec->counters.flushed += flushed;
	return flushed;
}

bool ecache_flush_page(struct ecache *ec, u64 object, u64 index)
{
	return ecache_in_range(object, index) &&
	       flush_key(ec, ecache_pack(object, index));
}

u32 ecache_flush_range(struct ecache *ec, u64 object, u64 first, u64 count)
{
	u64 start = ecache_pack(object, first), i;
	u32 frame, flushed = 0;

	if (!ecache_in_range(object, first))
		return 0;
	if (count > ECACHE_MAX_INDEX - first)
		count = ECACHE_MAX_INDEX - first + 1;
	if (count <= ec->nr_frames) {
		for (i = 0; i < count; i++)
			flushed += flush_key(ec, start + i);
		return flushed;
	}
	for (frame = 0; frame < ec->nr_frames; frame++) {
		u64 key = ec->frames[frame].key;

		if (ec->states[frame] & FRAME_KEYED && key - start < count)
			flushed += flush_key(ec, key);
	}
	return flushed;
}

u32 ecache_flush_object(struct ecache *ec, u64 object)
{
	return ecache_flush_range(ec, object, 0, ECACHE_MAX_INDEX + 1);
}

void ecache_counters_read(const struct ecache *ec,
			  struct ecache_counters *counters)
{
	*counters = ec->counters;
}

u32 ecache_frames(const struct ecache *ec)
{
	return ec->nr_frames;
}

enum ecache_frame_state ecache_state(const struct ecache *ec, u32 frame)
{
	u8 state = frame < ec->nr_frames ? ec->states[frame] : FRAME_LISTED;

	if (state & FRAME_PINNED)
		return ECACHE_PINNED;
	if (state & FRAME_OWNED)
		return state & FRAME_LISTED ? ECACHE_TOMBSTONE : ECACHE_DEVICE;
	if (state & FRAME_RETIRED)
		return ECACHE_RETIRED;
	return state & FRAME_KEYED ? ECACHE_CACHED : ECACHE_FREE;
}

bool ecache_frame_key(const struct ecache *ec, u32 frame,
		      struct ecache_key *key)
{
	if (ecache_state(ec, frame) != ECACHE_CACHED ||
	    frame >= ec->nr_frames)
		return false;
	*key = ecache_unpack(ec->frames[frame].key);
	return true;
}
