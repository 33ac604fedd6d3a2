// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CLOCK, or second chance (Corbato, "A paging experiment with the Multics system", MIT Project MAC report M-384, 1968), as a program
 * for fovea lab. The lab has the same policy built in (lab/src/policies/clock.rs), and a test compares the two.
 */
#include <fovea-policy.h>

/* No object. */
#define NONE UINT32_MAX

struct object {
	/* In the ring, cut open at the hand: the one that the hand passes next. */
	uint32_t next;
	uint32_t size; /* 0: not held */
	uint8_t references;
};

struct clock_cache {
	uint64_t capacity, used;
	uint8_t most;
	uint32_t hand, passed;
	struct object object[];
};

static void *init(struct fovea_setup *setup)
{
	double bits = fovea_parameter(setup, "bits", 1);
	struct clock_cache *cache;

	if (!(bits >= 1 && bits <= 7)) {
		snprintf(setup->complaint, sizeof(setup->complaint), "bits is %g; take 1 to 7", bits);
		return NULL;
	}
	cache = calloc(1, sizeof(*cache) + setup->objects * sizeof(cache->object[0]));
	if (!cache)
		return NULL;
	cache->capacity = setup->capacity;
	cache->most = (uint8_t)((1u << (unsigned int)bits) - 1);
	cache->hand = cache->passed = NONE;
	return cache;
}

/* The hand has just passed it: it comes last again. */
static void put_last(struct clock_cache *cache, uint32_t id)
{
	cache->object[id].next = NONE;
	if (cache->hand == NONE)
		cache->hand = id;
	else
		cache->object[cache->passed].next = id;
	cache->passed = id;
}

static uint32_t take_first(struct clock_cache *cache)
{
	uint32_t id = cache->hand;

	cache->hand = cache->object[id].next;
	return id;
}

static int request(void *of, const struct fovea_request *request, struct fovea_answer *answer)
{
	struct clock_cache *cache = of;
	struct object *object = &cache->object[request->object];

	if (object->size) {
		if (object->references < cache->most)
			object->references++;
		return 1;
	}
	if (request->size > cache->capacity)
		return 0;
	while (cache->used + request->size > cache->capacity) {
		uint32_t id = take_first(cache);
		struct object *first = &cache->object[id];

		if (first->references) {
			first->references--;
			put_last(cache, id);
			continue;
		}
		cache->used -= first->size;
		first->size = 0;
		fovea_evict(answer, id);
	}
	object->size = request->size;
	object->references = 0;
	put_last(cache, request->object);
	cache->used += request->size;
	fovea_take_in(answer);
	return 0;
}

static const struct fovea_policy policy = { init, request, free };

FOVEA_POLICY(policy)
