// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The eCache's configuration, memory and first state. */

#include "internal.h"

/*
 * The pieces lie side by side in one block, where AddressSanitizer sees no borders:
 * a build with it gets poisoned gaps between them.
 */
#if defined(__SANITIZE_ADDRESS__) && !defined(__KERNEL__)
#define REDZONE		32u
void __asan_poison_memory_region(void const volatile *addr, size_t size);
#define poison(addr)	__asan_poison_memory_region(addr, REDZONE)
#else
#define REDZONE		0u
#define poison(addr)	((void)(addr))
#endif

/* Hands out pieces of the caller's memory; without a base it only measures. */
struct arena {
	u8 *base;
	u64 used;
};

static void *take(struct arena *arena, u64 count, u64 each)
{
	void *piece = arena->base ? arena->base + arena->used : NULL;

	arena->used += (count * each + 7) & ~7ull;
	if (REDZONE && arena->base)
		poison(arena->base + arena->used);
	arena->used += REDZONE;
	return piece;
}

/* Candidates kept per carve-out: all 2^(m-1) subset sums if they are few enough. */
static u32 sums_capacity(const struct ecache *ec)
{
	u32 quota = ec->max_candidates / ec->nr_carveouts;
	u32 others = ec->nr_devices ? ec->nr_devices - 1 : 0;

	if (others < 16 && 1u << others < quota)
		return 1u << others;
	return quota;
}

/* Checks the configuration and fills in all sizes that follow from it. */
static int measure(struct ecache *ec, const struct ecache_config *config)
{
	u64 frames = 0, reserved = 0, bases;
	u32 i;

	if (!config->nr_carveouts || !config->carveout_frames)
		return ECACHE_EINVAL;
	if (config->nr_devices > ECACHE_MAX_DEVICES ||
	    (config->nr_devices && !config->devices))
		return ECACHE_EINVAL;
	for (i = 0; i < config->nr_carveouts; i++) {
		if (!config->carveout_frames[i])
			return ECACHE_EINVAL;
		frames += config->carveout_frames[i];
		if (frames > ECACHE_MAX_FRAMES)
			return ECACHE_EINVAL;
	}
	for (i = 0; i < config->nr_devices; i++) {
		if (!config->devices[i].size_frames)
			return ECACHE_EINVAL;
		reserved += config->devices[i].size_frames;
	}
	if (config->protect_percent > 100)
		return ECACHE_EINVAL;
	if (reserved > frames)
		return ECACHE_ENOSPC;

	memset(ec, 0, sizeof(*ec));
	ec->nr_frames = (u32)frames;
	ec->nr_devices = config->nr_devices;
	ec->nr_carveouts = config->nr_carveouts;
	ec->put_work_limit = config->put_work_limit;
	ec->protect_percent = config->protect_percent;
	ec->search_steps = config->search_steps ? config->search_steps :
			   ECACHE_DEFAULT_SEARCH_STEPS;
	ec->max_candidates = config->max_candidates ? config->max_candidates :
			     ECACHE_DEFAULT_CANDIDATES;
	if (ec->max_candidates > ECACHE_MAX_CANDIDATES ||
	    ec->max_candidates < ec->nr_carveouts)
		return ECACHE_EINVAL;
	ec->candidate_capacity = sums_capacity(ec) * ec->nr_carveouts + 1;

	bases = 2ull * ec->nr_devices * ec->candidate_capacity +
		ec->nr_carveouts;
	if (bases > frames)
		bases = frames;
	if (bases > ECACHE_MAX_BASES)
		return ECACHE_EINVAL;
	ec->base_capacity = (u32)bases;

	/* One to two frames a bucket, as long as there are two buckets. */
	ec->bucket_shift = 63;
	while (2ull * ecache_nr_buckets(ec) <= frames)
		ec->bucket_shift--;
	return ECACHE_OK;
}

/* Lays the arrays out; returns how many bytes they and the struct take. */
static u64 carve(struct ecache *ec, u8 *memory)
{
	struct arena arena = { memory, 0 };
	u32 devices = ec->nr_devices;
	u32 i;

	(void)take(&arena, 1, sizeof(*ec));
	ec->frames = take(&arena, ec->nr_frames + 2ull, sizeof(*ec->frames));
	ec->buckets = take(&arena, ecache_nr_buckets(ec), sizeof(*ec->buckets));
	ec->states = take(&arena, ec->nr_frames, sizeof(*ec->states));
	ec->base_of = take(&arena, ec->nr_frames, sizeof(*ec->base_of));
	ec->bases = take(&arena, ec->base_capacity + 1ull, sizeof(*ec->bases));
	ec->base_cost = take(&arena, ec->base_capacity + 1ull,
			     sizeof(*ec->base_cost));
	ec->devices = take(&arena, devices, sizeof(*ec->devices));
	ec->carveout_end = take(&arena, ec->nr_carveouts,
				sizeof(*ec->carveout_end));
	ec->by_size = take(&arena, devices, sizeof(*ec->by_size));
	ec->choices = take(&arena, ec->candidate_capacity + 1ull,
			   sizeof(*ec->choices));
	ec->sums = take(&arena, 2ull * ec->candidate_capacity,
			sizeof(*ec->sums));
	ec->items = take(&arena, devices, sizeof(*ec->items));
	ec->item_gap = take(&arena, devices, sizeof(*ec->item_gap));
	ec->item_first = take(&arena, devices, sizeof(*ec->item_first));
	ec->fixed = take(&arena, devices, sizeof(*ec->fixed));
	ec->gaps = take(&arena, (u64)devices + ec->nr_carveouts,
			sizeof(*ec->gaps));
	for (i = 0; i < devices; i++) {
		u32 *candidates = take(&arena, ec->candidate_capacity,
				       sizeof(*candidates));

		if (memory)
			ec->devices[i].candidates = candidates;
	}
	return arena.used;
}

u64 ecache_memory_size(const struct ecache_config *config)
{
	struct ecache ec;

	if (measure(&ec, config))
		return 0;
	return carve(&ec, NULL);
}

/* Copies the devices and sorts them by size, ties by number. */
static void copy_devices(struct ecache *ec, const struct ecache_config *config)
{
	u32 i, j;

	for (i = 0; i < ec->nr_devices; i++) {
		ec->devices[i].size = config->devices[i].size_frames;
		ec->devices[i].home = config->devices[i].home;
		for (j = i; j > 0; j--) {
			u32 before = ec->by_size[j - 1];

			if (ec->devices[before].size >= ec->devices[i].size)
				break;
			ec->by_size[j] = before;
		}
		ec->by_size[j] = i;
	}
}

int ecache_init(void *memory, u64 size, const struct ecache_config *config,
		struct ecache **out)
{
	struct ecache *ec = memory;
	struct ecache measured;
	u64 needed;
	u32 i, end = 0;
	int status;

	status = measure(&measured, config);
	if (status)
		return status;
	needed = carve(&measured, NULL);
	if (!memory || (uintptr_t)memory & 7 || size < needed)
		return ECACHE_EINVAL;

	/* needed fits size_t, since that much memory exists. */
	memset(memory, 0, (size_t)needed);
	*ec = measured;
	(void)carve(ec, memory);

	for (i = 0; i < ec->nr_carveouts; i++) {
		end += config->carveout_frames[i];
		ec->carveout_end[i] = end;
	}
	copy_devices(ec, config);
	if (!ecache_place_initial(ec))
		return ECACHE_ENOSPC;
	ecache_layout_candidates(ec);
	ecache_layout_bases(ec);

	/* The buckets' numbers come from the upper bits, seeds often have lower ones only. */
	ec->hash_start = config->seed * 0xbf58476d1ce4e5b9ull;
	/* xorshift has a fixed point at 0: any odd constant keeps off it. */
	ec->random = config->seed ? config->seed : 0x9e3779b97f4a7c15ull;
	/* The first renumbering comes early in every life, at different puts. */
	ec->next_stamp = STAMP_LIMIT - (u32)(config->seed % 64);
	ec->boundary = ecache_lru_head(ec);
	ec->salvage_device = ECACHE_NONE;
	ec->salvage_cursor = ecache_lru_head(ec);
	for (i = 0; i < ecache_nr_buckets(ec); i++)
		ec->buckets[i] = ECACHE_NONE;

	i = ecache_free_head(ec);
	ec->frames[i].prev = i;
	ec->frames[i].next = i;
	i = ecache_lru_head(ec);
	ec->frames[i].prev = i;
	ec->frames[i].next = i;
	/* From the last, so that frame 0 is the first to be used. */
	for (i = ec->nr_frames; i-- > 0;) {
		ec->states[i] = FRAME_LISTED;
		ecache_list_add(ec, ecache_free_head(ec), i);
	}
	ec->counters.free_frames = ec->nr_frames;
	ecache_limit_protected(ec);
	*out = ec;
	return ECACHE_OK;
}

/* memcpy() of an array: it was allocated once already, so its size fits size_t. */
static void copy(void *to, const void *from, u64 count, u64 each)
{
	memcpy(to, from, (size_t)(count * each));
}

int ecache_copy(void *memory, u64 size, const struct ecache *from,
		struct ecache **out)
{
	struct ecache *ec = memory;
	struct ecache measured = *from;
	u64 needed = carve(&measured, NULL);
	u32 i;

	if (!memory || (uintptr_t)memory & 7 || size < needed)
		return ECACHE_EINVAL;

	memset(memory, 0, (size_t)needed);
	*ec = *from;
	(void)carve(ec, memory);
	/* All state is numbers but for these arrays' places. The others are scratch. */
	copy(ec->frames, from->frames, ec->nr_frames + 2ull,
	     sizeof(*ec->frames));
	copy(ec->buckets, from->buckets, ecache_nr_buckets(ec),
	     sizeof(*ec->buckets));
	copy(ec->states, from->states, ec->nr_frames, sizeof(*ec->states));
	copy(ec->base_of, from->base_of, ec->nr_frames, sizeof(*ec->base_of));
	copy(ec->bases, from->bases, ec->base_capacity + 1ull,
	     sizeof(*ec->bases));
	copy(ec->carveout_end, from->carveout_end, ec->nr_carveouts,
	     sizeof(*ec->carveout_end));
	copy(ec->by_size, from->by_size, ec->nr_devices,
	     sizeof(*ec->by_size));
	for (i = 0; i < ec->nr_devices; i++) {
		u32 *candidates = ec->devices[i].candidates;

		copy(candidates, from->devices[i].candidates,
		     from->devices[i].nr_candidates, sizeof(*candidates));
		ec->devices[i] = from->devices[i];
		ec->devices[i].candidates = candidates;
	}
	*out = ec;
	return ECACHE_OK;
}
