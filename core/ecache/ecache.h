/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * eCache: device-reserved memory as an eviction-based, exclusive file cache
 * (eCache12). These are its decisions only: which frame holds which page, which
 * page goes, which contiguous region a device gets. No page content is touched.
 *
 * The core allocates nothing, reads no clock and takes no lock: the caller gives
 * one block of memory to ecache_init() and serialises all calls on one cache. The
 * same files build into a kernel module and into the laboratory.
 *
 * Frames are numbered from 0 over all carve-outs, one after the other. No device
 * region ever crosses the border between two carve-outs.
 *
 * Memory. With N frames, B = N rounded down to a power of two, m devices, k = the
 * most candidates one device can have (the smaller of max_candidates and
 * carve-outs * 2^(m-1), plus 1), R = the smaller of N and 2mk + carve-outs base
 * regions, and C carve-outs, ecache_memory_size() is at most
 *
 *	27 N + 4 B + 24 R + 4 m k + 24 k + 76 m + 16 C + 512	bytes,
 *
 * at most 31 bytes a frame and a part that does not grow with N once the base
 * regions are fewer than the frames: 0.76 % of what is managed with 4 KiB frames.
 * ECACHE_LRU takes 4 bytes a frame more, of the caller's.
 */
#ifndef FOVEA_CORE_ECACHE_H
#define FOVEA_CORE_ECACHE_H

#include "../types.h"

/* "No frame": also the home of a device that has none of its own. */
#define ECACHE_NONE		0xffffffffu
/*
 * Most frames in all (512 GiB of 4 KiB frames): ages have 32 bits, of which a
 * protected page's head start of four times as many takes its share.
 */
#define ECACHE_MAX_FRAMES	(1u << 27)
/*
 * A page's object and index are kept in one word: these are the greatest. Pages beyond
 * are never cached.
 */
#define ECACHE_OBJECT_BITS	24
#define ECACHE_INDEX_BITS	40
#define ECACHE_MAX_OBJECT	((1ull << ECACHE_OBJECT_BITS) - 1)
#define ECACHE_MAX_INDEX	((1ull << ECACHE_INDEX_BITS) - 1)
/* Most devices. */
#define ECACHE_MAX_DEVICES	256u
/* Most base regions: a frame names its own in 16 bits. */
#define ECACHE_MAX_BASES	0xffffu
/* Most candidates a device may be given. */
#define ECACHE_MAX_CANDIDATES	0x4000u
/* Used where the configuration says 0. */
#define ECACHE_DEFAULT_CANDIDATES	64u
#define ECACHE_DEFAULT_SEARCH_STEPS	4096u

/* What calls return; the negative values are Linux's errno. */
enum ecache_status {
	ECACHE_OK = 0,
	/* Key, device number, size, policy or configuration out of range. */
	ECACHE_EINVAL = -22,
	/* The device already has its region, or has not given all of it back. */
	ECACHE_EBUSY = -16,
	/*
	 * init: the devices' reservations were not found to fit the carve-outs.
	 * put: every frame is a device's, or the work limit was reached.
	 */
	ECACHE_ENOSPC = -28,
};

/*
 * A frame's states. A tombstone is a frame that a device took while it was still
 * in the cache's lists (eCache12, section 4, lazy discard): it is never handed
 * out, and whoever comes across it withdraws it, which makes it DEVICE.
 *
 *	FREE -put-> CACHED -get/flush/evict-> FREE
 *	FREE, CACHED -alloc-> TOMBSTONE -found, swept-> DEVICE
 *	TOMBSTONE, DEVICE -free-> FREE
 *	TOMBSTONE -salvaged: its page goes to another frame-> DEVICE
 *	FREE, CACHED -put_begin-> PINNED -put_end-> CACHED
 *	CACHED -get_begin-> PINNED -unpin-> FREE
 *	PINNED -retire-> RETIRED -alloc-> DEVICE -free-> RETIRED
 *
 * A PINNED frame is being copied to or from: it is on no list and no key finds it. A
 * device may take its region all the same; then the end of the pin makes it DEVICE.
 *
 * A RETIRED frame's memory is broken: no page is stored there any more. It stays part of
 * the regions that devices get, as it was before: nowhere else is room for certain.
 */
enum ecache_frame_state {
	ECACHE_FREE = 0,
	ECACHE_CACHED = 1,
	ECACHE_DEVICE = 2,
	ECACHE_TOMBSTONE = 3,
	ECACHE_PINNED = 4,
	ECACHE_RETIRED = 5,
};

/*
 * How alloc chooses among a device's candidate regions; identifier, name, number. Rust
 * reads this list (crates/contract).
 */
#define ECACHE_POLICIES(X) \
	/* The device's home, always (eCache12, section 5.4, Static). */ \
	X(STATIC, static, 0) \
	/* Any candidate, evenly, by the generator seeded in the configuration. */ \
	X(RANDOM, random, 1) \
	/* Fewest cached pages (eCache12, section 5.4, Count). */ \
	X(COUNT, count, 2) \
	/* \
	 * Least sum of LRU distances, by one walk (eCache12, section 3.3). Needs the \
	 * request's `ranks`. \
	 */ \
	X(LRU, lru, 3) \
	/* \
	 * Least sum of ages, kept up to date per base region: an allocation walks \
	 * base regions and not frames. A page's age is the number of puts between \
	 * the oldest page's put and its own, 1 for the oldest: the LRU distance with \
	 * the pages counted in that have left since. \
	 */ \
	X(AGED, aged, 4) \
	/* Least sum of what the request's callback says, for policies that know more. */ \
	X(CALLBACK, callback, 5)

enum ecache_policy {
#define ECACHE_POLICY(id, name, number) ECACHE_##id = number,
	ECACHE_POLICIES(ECACHE_POLICY)
#undef ECACHE_POLICY
};

/* Names a page: a file or block device, and a page in it. */
struct ecache_key {
	u64 object;
	u64 index;
};

/* A device that has memory reserved. */
struct ecache_device_config {
	/* Its reservation: the most it may ask for, at least 1. */
	u32 size_frames;
	/* First frame of its static place, or ECACHE_NONE to have one found. */
	u32 home;
};

struct ecache_config {
	/* Frames of each carve-out, in frame order; each at least 1. */
	const u32 *carveout_frames;
	const struct ecache_device_config *devices;
	u32 nr_carveouts;
	u32 nr_devices;
	/*
	 * Most candidate regions kept per device, 0 for the default, at least one per
	 * carve-out. Subset sums double with each device; beyond this bound every
	 * carve-out keeps an evenly spread selection. The guarantee of
	 * ecache_alloc_region() does not depend on which are kept.
	 */
	u32 max_candidates;
	/* Most tombstones one put withdraws before it gives up; 0 for no limit. */
	u32 put_work_limit;
	/* Most steps of the placement search per allocation; 0 for the default. */
	u32 search_steps;
	/*
	 * Most of the cache's frames that pages put as returned may keep from being the
	 * next to go, percent; at most 100. 0: one LRU list, as in the paper.
	 */
	u32 protect_percent;
	/* Seeds the hash and the random policy. */
	u64 seed;
};

/* Result of ecache_put(): fill this frame now. */
struct ecache_put_result {
	/* The page that had to go; set only if evicted. */
	struct ecache_key evicted_key;
	u32 frame;
	u8 evicted;
	/* The page was cached already: its frame is to be filled again. */
	u8 replaced;
	u8 reserved[2];
};

/* Contiguous frames within one carve-out. */
struct ecache_region {
	u32 first;
	u32 count;
};

/* Cost of losing a cached page, for ECACHE_CALLBACK. Must not call the cache. */
typedef u32 (*ecache_cost_fn)(void *context, u32 frame, u64 object, u64 index);

struct ecache_request {
	ecache_cost_fn cost;
	void *cost_context;
	/* ECACHE_LRU: ecache_frames() entries that the call may overwrite. */
	u32 *ranks;
	u32 device;
	/* 1 to the device's reservation. */
	u32 size_frames;
	/* enum ecache_policy */
	u32 policy;
	/* Most pages to salvage; 0: salvage does not begin with the allocation. */
	u32 salvage_budget_pages;
};

/* One step of salvage: copy frame `from` to frame `to`. */
struct ecache_move {
	struct ecache_key key;
	/* The page that `to` held until now, if evicted. */
	struct ecache_key evicted_key;
	u32 from;
	u32 to;
	u8 evicted;
	u8 reserved[7];
};

/* Totals since init, then the present state. */
struct ecache_counters {
	/* Calls of put; those that got no frame; those whose page was cached already. */
	u64 puts;
	u64 puts_refused;
	u64 puts_replaced;
	/* Pages that left for another page: by put, and by salvage. */
	u64 evictions;
	u64 salvage_evictions;
	/* Calls of get, and those that found their page. */
	u64 gets;
	u64 hits;
	/* Pages removed by flush. */
	u64 flushed;
	/* Allocations, and those that had to move an idle device's reserved slot. */
	u64 allocs;
	u64 repacks;
	/* Cached pages that allocations took away; of them, pages salvaged. */
	u64 discarded;
	u64 salvaged;
	/* Tombstones withdrawn. */
	u64 withdrawn;
	/* Steps of the placement search. */
	u64 search_steps;
	/* Frames by state now; with those pinned they sum up to all frames. */
	u64 free_frames;
	u64 cached_frames;
	u64 device_frames;
	u64 tombstone_frames;
	u64 retired_frames;
};

struct ecache;

/* Bytes that ecache_init() needs for this configuration; 0 if it is invalid. */
u64 ecache_memory_size(const struct ecache_config *config);

/*
 * Makes an empty cache in `memory` (8-byte aligned, `size` bytes). The
 * configuration is copied. Returns ECACHE_OK, ECACHE_EINVAL or ECACHE_ENOSPC.
 * Takes O(frames + devices^2 * candidates) steps.
 */
int ecache_init(void *memory, u64 size, const struct ecache_config *config,
		struct ecache **out);

/*
 * Makes a second cache in `memory` (8-byte aligned, `size` bytes, at least those that
 * init was given) that is in the same state, and from then on independent.
 * ECACHE_EINVAL if the memory does not do.
 */
int ecache_copy(void *memory, u64 size, const struct ecache *from,
		struct ecache **out);

/*
 * Stores a page: names the frame to fill, a free one or else the one at the LRU end.
 * ECACHE_ENOSPC if there is none; ECACHE_EINVAL, with nothing changed or counted, if the
 * key is out of range. O(1), but for tombstones found on the way, each of which is
 * withdrawn once, and for one put in 2^30, and an early one, that renumbers all frames.
 *
 * `returned`: the page was got from here before and has not been read from disk since.
 * Such a page goes to the MRU end, and any other below those (protect_percent): a film
 * that is read once cannot drive out what is used again and again.
 */
int ecache_put(struct ecache *ec, u64 object, u64 index, bool returned,
	       struct ecache_put_result *result);

/*
 * Takes a page out: returns the frame that holds it, or ECACHE_NONE. The frame is
 * free from then on, first in line for the next put: copy out before that. A key out of
 * range does not count as a get.
 */
u32 ecache_get(struct ecache *ec, u64 object, u64 index);

/*
 * put and get in two steps, for a caller that copies the page between them and holds no
 * lock meanwhile. Each begin names a frame that is PINNED, or ECACHE_NONE, and each such
 * frame is given back once: by ecache_put_end(), which stores the page (its key must be in
 * range), or by ecache_unpin(), which stores nothing.
 */
u32 ecache_put_begin(struct ecache *ec);
void ecache_put_end(struct ecache *ec, u32 frame, u64 object, u64 index,
		    bool returned);
u32 ecache_get_begin(struct ecache *ec, u64 object, u64 index);
void ecache_unpin(struct ecache *ec, u32 frame);

/* Gives a pinned frame back whose memory is broken. */
void ecache_retire(struct ecache *ec, u32 frame);

/*
 * Pinned frames of all devices' regions: after an allocation nobody may write to the
 * region before this is 0. Only allocations make it grow.
 */
u32 ecache_owned_pins(const struct ecache *ec);

/* The frame that holds a page, or ECACHE_NONE. Changes nothing. */
u32 ecache_peek(const struct ecache *ec, u64 object, u64 index);

/* Drops one page; returns whether it was cached. */
bool ecache_flush_page(struct ecache *ec, u64 object, u64 index);

/*
 * Drops pages [first, first + count) of an object; returns how many were cached. A range
 * ends at the last index.
 */
u32 ecache_flush_range(struct ecache *ec, u64 object, u64 first, u64 count);

/* Drops all pages of an object; returns how many were cached. O(frames). */
u32 ecache_flush_object(struct ecache *ec, u64 object);

/*
 * Gives a device contiguous frames, which it may write to as soon as any salvage has
 * ended. Within a device's reservation this never fails, whatever the other devices
 * hold (the argument is in place.c). ECACHE_EINVAL or ECACHE_EBUSY for a wrong
 * request.
 */
int ecache_alloc_region(struct ecache *ec, const struct ecache_request *request,
			struct ecache_region *region);

/*
 * Begins salvage of at most `budget_pages` pages from what a device holds, instead of any
 * under way. Only while nobody has written to its region. 0, or a device that holds
 * nothing: there is then nothing to save.
 */
void ecache_salvage_begin(struct ecache *ec, u32 device, u32 budget_pages);

/* What ecache_salvage_next() found. */
enum ecache_salvage {
	/* No page is worth it, or the budget is spent: salvage has ended. */
	ECACHE_SALVAGE_DONE = 0,
	/* A page to move. */
	ECACHE_SALVAGE_MOVE = 1,
	/* Nothing within `step_limit` frames: call again. */
	ECACHE_SALVAGE_AGAIN = 2,
};

/*
 * Next page to save from the region whose salvage began last, by an allocation with a
 * budget or by ecache_salvage_begin(), most recently put first: copy `from` to `to`
 * before any other use of the page. Looks at `step_limit` frames at most (0: no limit),
 * each in O(1).
 */
enum ecache_salvage ecache_salvage_next(struct ecache *ec, u32 step_limit,
					struct ecache_move *move);

/* Ends salvage: to be called before the device writes to its memory. */
void ecache_salvage_end(struct ecache *ec);

/*
 * Takes back up to `budget` frames, from the end of the device's region, and
 * returns how many it still holds. It may allocate again after 0.
 */
u32 ecache_free_some(struct ecache *ec, u32 device, u32 budget);

/* Takes back all frames of a device. */
void ecache_free_region(struct ecache *ec, u32 device);

/*
 * Looks at up to `budget` device frames and withdraws tombstones, so that puts do
 * not have to; returns how many tombstones are left.
 */
u32 ecache_sweep(struct ecache *ec, u32 budget);

/* The counters at this moment. */
void ecache_counters_read(const struct ecache *ec,
			  struct ecache_counters *counters);

/* Number of frames; state of a frame; key of a cached frame (else false). */
u32 ecache_frames(const struct ecache *ec);
enum ecache_frame_state ecache_state(const struct ecache *ec, u32 frame);
bool ecache_frame_key(const struct ecache *ec, u32 frame,
		      struct ecache_key *key);

/* First frames of PR(device), ascending; sets *count. NULL for a wrong device. */
const u32 *ecache_candidates(const struct ecache *ec, u32 device, u32 *count);

/* What a device holds (count 0: nothing), and the slot kept for it. */
struct ecache_region ecache_held(const struct ecache *ec, u32 device);
struct ecache_region ecache_slot(const struct ecache *ec, u32 device);

/* Verifies every invariant: NULL, or what is broken. O(frames + devices^2). */
const char *ecache_check(const struct ecache *ec);

#endif /* FOVEA_CORE_ECACHE_H */
