// SPDX-License-Identifier: GPL-2.0-only
/*
 * The location table as a program: against a slow obvious model on random operations,
 * and with threads that go along its chains without the lock while others change them.
 * crates/linux/tests/location_table.rs builds and runs it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include "kernel.h"

#define FOVEA_ECACHE_POOL_H
static struct {
	pthread_mutex_t lock;
} pool = { PTHREAD_MUTEX_INITIALIZER };
#define spin_lock_irqsave(lock, flags)		((flags) = pthread_mutex_lock(lock))
#define spin_unlock_irqrestore(lock, flags)	((void)(flags), pthread_mutex_unlock(lock))

#include "../track.c"

#define CHECK(truth)							\
	do {								\
		if (!(truth)) {						\
			printf("line %d: not so: %s\n", __LINE__, #truth);	\
			exit(1);					\
		}							\
	} while (0)

static u64 state = 88172645463325252ull;

static u32 below(u32 bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (u32)(state >> 20) % bound;
}

/* The model: what each of a few pages is followed for. */
#define MODEL_PAGES	48
#define MODEL_VOLUMES	3
#define MODEL_BLOCKS	24
static struct model {
	bool followed, returned;
	u32 volume, tag;
	u64 block;
	enum track_state state;
} model[MODEL_PAGES];

/* Far apart, and in few chains of 1024. */
static unsigned long pfns[MODEL_PAGES];

static void model_forget_block(u32 volume, u64 block)
{
	int i;

	for (i = 0; i < MODEL_PAGES; i++)
		if (model[i].volume == volume && model[i].block == block)
			model[i].followed = false;
}

static bool model_has(u32 volume, u64 block)
{
	int i;

	for (i = 0; i < MODEL_PAGES; i++)
		if (model[i].followed && model[i].volume == volume &&
		    model[i].block == block)
			return true;
	return false;
}

static void compare(void)
{
	u64 followed = 0;
	int i;

	for (i = 0; i < MODEL_PAGES; i++) {
		const struct track_entry *entry = track_entry(pfns[i]);
		const struct model *m = &model[i];

		CHECK(!entry == !m->followed);
		if (!entry)
			continue;
		followed++;
		CHECK(track_is(entry, pfns[i]));
		CHECK(track_volume(entry) == m->volume && track_block(entry) == m->block);
		CHECK(entry->state == m->state && entry->returned == m->returned);
		CHECK(entry->tag == m->tag);
	}
	CHECK(track_pages() == followed);
}

static void step(bool room)
{
	u32 page = below(MODEL_PAGES), volume = below(MODEL_VOLUMES);
	u32 block = below(MODEL_BLOCKS), tag = below(1u << TRACK_TAG_BITS);
	struct model *m = &model[page];
	struct model made = { true, below(2), volume, tag, block, below(4) };
	struct track_chunk *chunk = NULL;
	u32 other = below(MODEL_PAGES), i, count;
	bool ok = below(4);

	switch (below(7)) {
	case 0:
	case 1:
	case 2:
		track_set(pfns[page], volume, block, made.state, made.returned, tag);
		model_forget_block(volume, block);
		*m = made;
		m->followed = room;
		break;
	case 3:
		track_forget(pfns[page]);
		m->followed = false;
		break;
	case 4:
		CHECK(track_forget_block(volume, block) == model_has(volume, block));
		model_forget_block(volume, block);
		break;
	case 5:
		if (page == other)
			break;
		track_move(pfns[other], pfns[page]);
		model[other] = *m;
		m->followed = false;
		break;
	case 6:
		if (below(2)) {
			track_finish(pfns[page], volume, block, made.state, ok, tag);
			if (m->followed && m->volume == volume &&
			    m->block == block && m->state == made.state) {
				m->followed = ok;
				m->state = TRACK_UP;
				if (made.state == TRACK_LOADING)
					m->tag = tag;
			}
			break;
		}
		count = below(4);
		while (track_forget_range(volume, block, count, &chunk))
			;
		for (i = 0; i < count; i++)
			model_forget_block(volume, block + i);
		break;
	}
}

static void against_the_model(void)
{
	unsigned long pfn = FIRST_PFN;
	u32 i;

	for (i = 0; i < MODEL_PAGES; pfn++)
		if (track_bucket(pfn - FIRST_PFN) < 3)
			pfns[i++] = pfn;
	/* No entry could be made: nobody is followed, and nothing else goes wrong. */
	chunks_allowed = 0;
	for (i = 0; i < 1000; i++) {
		track_prepare(1);
		step(false);
		compare();
	}
	CHECK(track_memory_bytes() > 0 && track_pages() == 0);
	chunks_allowed = CHUNK_PAGES;
	for (i = 0; i < 300000; i++) {
		track_prepare(1);
		step(true);
		compare();
	}
	/* Pages without a number. */
	CHECK(!track_entry(FIRST_PFN - 1) && !track_entry(FIRST_PFN + PAGES));
	track_set(FIRST_PFN + PAGES, 1, 1000, TRACK_UP, false, 0);
	CHECK(!track_forget_block(1, 1000));
	track_set(pfns[0], 1, 1000, TRACK_UP, false, 0);
	track_move(FIRST_PFN + PAGES, pfns[0]);
	CHECK(!track_forget_block(1, 1000) && !track_entry(pfns[0]));
}

/* Pages in four chains of hundreds; every eighth is followed from the first to the last. */
#define CHAINED		2048
#define STAYS(i)	((i) % 8 == 0)
#define CHANGES		3000000
static unsigned long chained[CHAINED];
static bool over;

static void *look(void *missed)
{
	u32 i;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		for (i = 0; i < CHAINED; i += 8) {
			const struct track_entry *entry = track_entry(chained[i]);

			if (!entry || !track_is(entry, chained[i]))
				++*(u64 *)missed;
		}
	return NULL;
}

static void without_the_lock(void)
{
	u64 missed[2] = { 0 };
	pthread_t lookers[2];
	unsigned long pfn = FIRST_PFN;
	u32 i;

	for (i = 0; i < CHAINED; pfn++)
		if (track_bucket(pfn - FIRST_PFN) < 4)
			chained[i++] = pfn;
	for (i = 0; i < CHAINED; i++) {
		track_prepare(1);
		track_set(chained[i], 0, i, TRACK_UP, false, 0);
	}
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&lookers[i], NULL, look, &missed[i]));
	for (i = 0; i < CHANGES; i++) {
		u32 one = below(CHAINED), two = below(CHAINED);

		/* What one leaves is the next to be used, most often on another chain. */
		if (STAYS(one) || STAYS(two))
			continue;
		track_forget(chained[one]);
		track_set(chained[two], 0, two, TRACK_UP, false, 0);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(lookers[i], NULL));
	printf("missed %llu\n", (unsigned long long)(missed[0] + missed[1]));
	CHECK(!missed[0] && !missed[1]);
}

int main(void)
{
	/* As much as pages need, were they there; only entries' are touched. */
	ram = aligned_alloc(PAGE_SIZE, CHUNK_PAGES * PAGE_SIZE);
	CHECK(ram);
	CHECK(!track_init());
	against_the_model();
	track_exit();
	chunks_used = 0;
	CHECK(!track_init());
	without_the_lock();
	track_exit();
	puts("done");
	return 0;
}
