// SPDX-License-Identifier: GPL-2.0-only
/*
 * The location tables as a program: against a slow obvious model on random operations,
 * and with threads that look pages up without a lock while others change two tables.
 * proof/tests/location_table.rs builds and runs it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include "kernel.h"

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
	bool followed;
	u32 volume, about;
	u64 block, tag;
} model[MODEL_PAGES];

/* Far apart, and in few chains of 1024. */
static unsigned long pfns[MODEL_PAGES];

static struct track tables[MODEL_VOLUMES];

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

static void prepare(struct track *t)
{
	if (!t->nr_unused) {
		struct track_chunk *chunk = track_make_chunk();

		if (chunk)
			track_add_chunk(t, chunk);
	}
}

static u64 in_use(void)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < MODEL_VOLUMES; i++)
		sum += track_pages(&tables[i]);
	return sum;
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
		CHECK(track_state(entry) == (m->about & TRACK_STATES));
		CHECK(track_returned(entry) == !!(m->about & TRACK_RETURNED));
		CHECK(entry->tag == m->tag);
	}
	/* Besides, those whose page was noted for another volume since: one a block. */
	CHECK(in_use() >= followed && in_use() <= MODEL_VOLUMES * MODEL_BLOCKS);
}

static void forget(unsigned long pfn)
{
	struct track_entry *entry = track_entry(pfn);

	if (entry)
		track_unlink(&tables[track_volume(entry)], entry);
}

static void step(bool room)
{
	u32 page = below(MODEL_PAGES), volume = below(MODEL_VOLUMES);
	u64 block = below(MODEL_BLOCKS), tag = (u64)below(U32_MAX) << 32 | below(U32_MAX);
	struct model *m = &model[page];
	u32 about = below(8), from = about & TRACK_STATES;
	struct model made = { true, volume, about, block, tag };
	struct track *t = &tables[volume];
	struct track_chunk *chunk = NULL;
	struct track_entry *entry;
	u32 other = below(MODEL_PAGES), i, count;
	bool ok = below(4);

	prepare(t);
	switch (below(7)) {
	case 0:
	case 1:
	case 2:
		track_set(t, pfns[page], block, about, tag);
		model_forget_block(volume, block);
		*m = made;
		m->followed = room;
		break;
	case 3:
		forget(pfns[page]);
		m->followed = false;
		break;
	case 4:
		CHECK(track_forget_block(t, block) == model_has(volume, block));
		model_forget_block(volume, block);
		break;
	case 5:
		/* As moves.c does it. */
		if (page == other)
			break;
		forget(pfns[other]);
		entry = track_entry(pfns[page]);
		if (entry)
			track_move(&tables[track_volume(entry)], entry, pfns[other]);
		model[other] = *m;
		m->followed = false;
		break;
	case 6:
		if (below(2)) {
			if (ok)
				track_finish(t, pfns[page], block, from, tag);
			else
				track_fail(t, pfns[page], block, from);
			if (m->followed && m->volume == volume && m->block == block &&
			    m->about == from) {
				m->followed = ok;
				m->about = TRACK_UP;
				if (from == TRACK_LOADING)
					m->tag = tag;
			}
			break;
		}
		count = below(4);
		while (track_forget_range(t, block, count, &chunk))
			;
		for (i = 0; i < count; i++)
			model_forget_block(volume, block + i);
		break;
	}
}

static void begin(void)
{
	u32 i;

	chunks_used = 0;
	CHECK(!track_index_init());
	for (i = 0; i < MODEL_VOLUMES; i++) {
		CHECK(!track_init(&tables[i], 1000));
		tables[i].volume = i;
	}
}

/* Nothing is followed any more, and no entry in use. */
static void end(void)
{
	u32 i;

	for (i = 0; i < MODEL_VOLUMES; i++) {
		struct track_chunk *chunk = NULL;

		while (track_forget_range(&tables[i], 0, TRACK_BLOCKS_MAX, &chunk))
			;
		CHECK(!track_pages(&tables[i]));
	}
	for (i = 0; i < PAGES; i++)
		CHECK(!track_entry(FIRST_PFN + i));
	for (i = 0; i < MODEL_VOLUMES; i++)
		track_exit(&tables[i]);
	track_index_exit();
}

static void unfollowed(unsigned long pfn)
{
	struct track_entry *entry;

	CHECK(!track_entry(pfn));
	track_set(&tables[1], pfn, 1000, TRACK_UP, 0);
	CHECK(!track_entry(pfn) && !track_forget_block(&tables[1], 1000));
	track_set(&tables[1], pfns[0], 1000, TRACK_UP, 0);
	entry = track_entry(pfns[0]);
	CHECK(entry);
	track_move(&tables[1], entry, pfn);
	CHECK(!track_entry(pfn) && !track_entry(pfns[0]));
	CHECK(!track_forget_block(&tables[1], 1000));
}

static void against_the_model(void)
{
	u32 i;

	begin();
	/* Neighbours in the index, and not. */
	for (i = 0; i < MODEL_PAGES; i++)
		pfns[i] = FIRST_PFN + i / 4 * 1000 + i % 4 + (i > 32 ? 8192 : 0);
	/* No entry could be made: nobody is followed, and nothing else goes wrong. */
	chunks_allowed = 0;
	for (i = 0; i < 1000; i++) {
		step(false);
		compare();
	}
	CHECK(track_index_bytes() > 0 && track_bytes(&tables[0]) > 0 && in_use() == 0);
	chunks_allowed = CHUNK_PAGES;
	for (i = 0; i < 300000; i++) {
		step(true);
		compare();
	}
	/* Pages without a number, and such as are not there. */
	unfollowed(FIRST_PFN - 1);
	unfollowed(FIRST_PFN + PAGES);
	unfollowed(HOLE_PFN + 2048);
	end();
}

/* Every eighth is followed from the first to the last, and all by two tables in turn. */
#define SHARED		2048
#define STAYS(i)	((i) % 8 == 0)
#define CHANGES		3000000
static bool over;

static void *look(void *missed)
{
	u32 i;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		for (i = 0; i < SHARED; i += 8) {
			const struct track_entry *entry = track_entry(FIRST_PFN + i);

			if (!entry || !track_is(entry, FIRST_PFN + i))
				++*(u64 *)missed;
		}
	return NULL;
}

static void *change(void *table)
{
	struct track *t = table;
	u64 random = 88172645463325252ull + t->volume;
	u32 i;

	for (i = 0; i < CHANGES; i++) {
		struct track_entry *entry;
		u32 page;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		page = (u32)(random >> 20) % SHARED;
		if (STAYS(page))
			continue;
		prepare(t);
		if (random >> 60 & 1) {
			track_set(t, FIRST_PFN + page, page, TRACK_UP, 0);
			continue;
		}
		entry = track_entry(FIRST_PFN + page);
		if (entry && track_volume(entry) == t->volume &&
		    track_is(entry, FIRST_PFN + page))
			track_unlink(t, entry);
		else
			track_forget_block(t, page);
	}
	return NULL;
}

static void without_each_others_lock(void)
{
	u64 missed[2] = { 0 };
	pthread_t lookers[2], changer;
	u32 i;

	begin();
	for (i = 0; i < SHARED; i += 8) {
		prepare(&tables[2]);
		track_set(&tables[2], FIRST_PFN + i, i, TRACK_UP, 0);
	}
	for (i = 0; i < 2; i++) {
		struct track_chunk *chunk = track_make_chunk();
		u32 more;

		/* Enough from the first: memory is given by no lock here. */
		for (more = 0; more < 2 * SHARED / TRACK_CHUNK_ENTRIES; more++) {
			track_add_chunk(&tables[i], chunk);
			chunk = track_make_chunk();
		}
	}
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&lookers[i], NULL, look, &missed[i]));
	CHECK(!pthread_create(&changer, NULL, change, &tables[1]));
	change(&tables[0]);
	CHECK(!pthread_join(changer, NULL));
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(lookers[i], NULL));
	printf("missed %llu\n", (unsigned long long)(missed[0] + missed[1]));
	CHECK(!missed[0] && !missed[1]);
	for (i = 0; i < SHARED; i++) {
		const struct track_entry *entry = track_entry(FIRST_PFN + i);

		CHECK(!entry || entry->page == i);
	}
	end();
}

int main(void)
{
	/* As much as pages need, were they there; only entries' are touched. */
	ram = aligned_alloc(PAGE_SIZE, CHUNK_PAGES * PAGE_SIZE);
	CHECK(ram);
	against_the_model();
	without_each_others_lock();
	puts("done");
	return 0;
}
