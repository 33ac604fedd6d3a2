/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the eCache's files share; nothing here is for callers. */
#ifndef FOVEA_CORE_ECACHE_INTERNAL_H
#define FOVEA_CORE_ECACHE_INTERNAL_H

#include "ecache.h"

/*
 * Negative controls: a build that sets one of these to 1 is broken on purpose, and
 * the tests must notice (crates/core/negative-controls.sh).
 */
#ifndef ECACHE_BROKEN_GET	/* get leaves its page hashed */
#define ECACHE_BROKEN_GET 0
#endif
#ifndef ECACHE_BROKEN_ALLOC	/* alloc ignores other active devices */
#define ECACHE_BROKEN_ALLOC 0
#endif
#ifndef ECACHE_BROKEN_FREE	/* free forgets a frame */
#define ECACHE_BROKEN_FREE 0
#endif
#ifndef ECACHE_BROKEN_PLACE	/* eCache12's rule alone: no slots for idle devices */
#define ECACHE_BROKEN_PLACE 0
#endif
#ifndef ECACHE_BROKEN_TOMBSTONE	/* get hands out tombstones */
#define ECACHE_BROKEN_TOMBSTONE 0
#endif
#ifndef ECACHE_BROKEN_SUM	/* get leaves its page in the sum of ages */
#define ECACHE_BROKEN_SUM 0
#endif
#ifndef ECACHE_BROKEN_PROTECT	/* a protected page that leaves is still counted */
#define ECACHE_BROKEN_PROTECT 0
#endif
#ifndef ECACHE_BROKEN_SALVAGE	/* salvage leaves the page's entry on the old frame */
#define ECACHE_BROKEN_SALVAGE 0
#endif
#ifndef ECACHE_BROKEN_RENUMBER	/* renumbering leaves the sums of ages as they were */
#define ECACHE_BROKEN_RENUMBER 0
#endif
#ifndef ECACHE_BROKEN_RETIRE	/* a retired frame is free after its device gave it back */
#define ECACHE_BROKEN_RETIRE 0
#endif
#ifndef ECACHE_BROKEN_PIN	/* a pinned frame that a device took is free after the pin */
#define ECACHE_BROKEN_PIN 0
#endif

/*
 * Small functions that several files share. A build that takes all files as one unit
 * (kmod/ecache/core.c) makes them static and inline: a put is a few calls shorter.
 */
#ifndef ECACHE_SHARED
#define ECACHE_SHARED
#endif

/* Seldom called: callers that are short stay so. */
#define ECACHE_COLD	__attribute__((__cold__, __noinline__))

/*
 * A frame's state is the combination of these, one byte a frame, apart from the
 * rest, so that alloc marks eight frames with one store:
 * FREE = LISTED, CACHED = LISTED|KEYED, DEVICE = OWNED, TOMBSTONE = OWNED|LISTED
 * with KEYED (a page was in it) or without (it was free). PROTECTED comes with
 * LISTED|KEYED: the frame is in the upper part of the LRU list.
 */
#define FRAME_LISTED	1u	/* on the free or the LRU list */
#define FRAME_KEYED	2u	/* in the hash table */
#define FRAME_OWNED	4u	/* a device's */
#define FRAME_PROTECTED_SHIFT	3
#define FRAME_PROTECTED	(1u << FRAME_PROTECTED_SHIFT)
#define FRAME_PINNED_SHIFT	4	/* being copied to or from: on no list, alone or OWNED */
#define FRAME_PINNED	(1u << FRAME_PINNED_SHIFT)
#define FRAME_RETIRED_SHIFT	5	/* broken: on no list, alone or OWNED */
#define FRAME_RETIRED	(1u << FRAME_RETIRED_SHIFT)

struct ecache_frame {
	/* Its page: ecache_pack(). */
	u64 key;
	/*
	 * Number of the put that filled it, a protected one's greater by ecache_lead():
	 * never ascending along either part of the LRU list. Numbers count from some put
	 * in the past, which moves on: see ecache_renumber().
	 */
	u32 stamp;
	u32 prev;
	u32 next;
	u32 hash_next;
};

/*
 * Puts renumber when they reach this: the greatest stamp is a protected page's, at most
 * four times ECACHE_MAX_FRAMES greater, and must have 32 bits.
 */
#define STAMP_LIMIT	(0xffffffffu - 4 * ECACHE_MAX_FRAMES)
/* Puts before the next one beyond which all pages are equally old. */
#define STAMP_SPREAD	(1u << 31)

/* A piece of BR: no candidate region begins or ends inside it. */
struct ecache_base {
	/* Sum of stamps of its cached frames (modulo 2^64), and their number. */
	u64 stamp_sum;
	u32 cached;
	u32 first;
};

struct ecache_device {
	u32 *candidates;
	u32 nr_candidates;
	u32 size;
	u32 home;
	/* First frame of the slot kept for it: see place.c. */
	u32 slot;
	/* Frames held; within the slot while count > 0. */
	u32 first;
	u32 count;
	/* Frames of the region already swept. */
	u32 swept;
	u32 reserved;
};

/* Candidates of the allocation under way. */
struct ecache_choice {
	u64 cost;
	u32 slot;
	/* First frame of the window of the slot that the device would get. */
	u32 window;
};

/* A gap between fixed slots, in the placement search. */
struct ecache_gap {
	u32 first;
	u32 count;
	u32 room;
};

struct ecache {
	struct ecache_frame *frames;	/* nr_frames + 2 list heads */
	u32 *buckets;
	u8 *states;			/* nr_frames */
	u16 *base_of;			/* nr_frames */
	struct ecache_base *bases;	/* nr_bases + 1: the last is a sentinel */
	u64 *base_cost;			/* nr_bases + 1: prefix sums of eq. 2 */
	struct ecache_device *devices;
	u32 *carveout_end;
	u32 *by_size;			/* devices, largest reservation first */
	struct ecache_choice *choices;	/* candidates of one device, and its slot */
	u32 *sums;			/* 2 max_candidates, at init only */
	/* Placement search: */
	u32 *items;			/* nr_devices */
	u32 *item_gap;			/* nr_devices */
	u32 *item_first;		/* nr_devices */
	u32 *fixed;			/* nr_devices */
	struct ecache_gap *gaps;	/* nr_devices + nr_carveouts */

	u64 hash_start;
	u64 random;
	struct ecache_counters counters;

	u32 next_stamp;
	u32 nr_frames;
	u32 nr_bases;
	u32 nr_devices;
	u32 nr_carveouts;
	u32 nr_items;
	u32 nr_gaps;
	u32 bucket_shift;		/* 64 less the bits of a bucket's number */
	u32 max_candidates;
	u32 candidate_capacity;		/* per device, home included */
	u32 base_capacity;
	u32 put_work_limit;
	u32 search_steps;
	u32 steps_left;
	u32 salvage_device;
	u32 salvage_left;
	u32 salvage_cursor;		/* next frame to look at, or the list's head */
	u32 owned_pins;			/* frames that are PINNED and OWNED */
	/* First frame of the LRU list's lower part, or the list's head: list.c. */
	u32 boundary;
	u32 nr_protected;
	u32 protect_limit;
	u32 protect_percent;
};

static inline u32 ecache_free_head(const struct ecache *ec)
{
	return ec->nr_frames;
}

static inline u32 ecache_lru_head(const struct ecache *ec)
{
	return ec->nr_frames + 1;
}

/*
 * How much later a protected page counts as put: four cachefuls. The laboratory's
 * figure 10 of eCache12 reads least with it, of 0, 1 and 4.
 */
static inline u32 ecache_lead(const struct ecache *ec)
{
	return 4 * ec->nr_frames;
}

static inline u32 ecache_nr_buckets(const struct ecache *ec)
{
	return 1u << (64 - ec->bucket_shift);
}

/*
 * A build that sets this has the one policy that a device uses, and none of those that
 * the laboratory compares it with.
 */
#ifndef ECACHE_ONLY_AGED
#define ECACHE_ONLY_AGED 0
#endif

static inline u32 ecache_policy_of(const struct ecache_request *req)
{
	return ECACHE_ONLY_AGED ? ECACHE_AGED : req->policy;
}

/* Whether a page can be named: object and index tested as one. */
static inline bool ecache_in_range(u64 object, u64 index)
{
	return !((object | index >> (ECACHE_INDEX_BITS - ECACHE_OBJECT_BITS)) >>
		 ECACHE_OBJECT_BITS);
}

/* An object's pages are neighbours. */
static inline u64 ecache_pack(u64 object, u64 index)
{
	return object << ECACHE_INDEX_BITS | index;
}

static inline struct ecache_key ecache_unpack(u64 key)
{
	struct ecache_key page = { key >> ECACHE_INDEX_BITS, key & ECACHE_MAX_INDEX };

	return page;
}

static inline u32 ecache_base_end(const struct ecache *ec, u32 base)
{
	return ec->bases[base + 1].first;
}

/* layout.c */
void ecache_layout_candidates(struct ecache *ec);
void ecache_layout_bases(struct ecache *ec);

/* place.c */
bool ecache_place_initial(struct ecache *ec);
bool ecache_place(struct ecache *ec, u32 device, u32 first);

/* list.c */
void ecache_limit_protected(struct ecache *ec);
void ecache_renumber(struct ecache *ec);
ECACHE_SHARED void ecache_list_add(struct ecache *ec, u32 after, u32 frame);
ECACHE_SHARED void ecache_list_del(struct ecache *ec, u32 frame);
ECACHE_SHARED void ecache_lru_del(struct ecache *ec, u32 frame, u32 state);
ECACHE_SHARED void ecache_list_page(struct ecache *ec, u32 frame, bool returned);

/* cost.c */
void ecache_cost_bases(struct ecache *ec, const struct ecache_request *req);
u64 ecache_range_cost(const struct ecache *ec, const struct ecache_request *req,
		      u32 first, u32 end);

/* ecache.c */
ECACHE_SHARED u32 *ecache_hash_link(const struct ecache *ec, u64 key);
ECACHE_SHARED u32 ecache_bucket(const struct ecache *ec, u64 key);
ECACHE_SHARED void ecache_unhash(struct ecache *ec, u32 frame);
ECACHE_SHARED void ecache_withdraw(struct ecache *ec, u32 frame);
ECACHE_SHARED u32 ecache_take_frame(struct ecache *ec, u32 work_limit, u32 keep,
		      u64 *evictions, struct ecache_key *evicted);

#endif /* FOVEA_CORE_ECACHE_INTERNAL_H */
