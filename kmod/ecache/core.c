// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decisions: core/, the same files that the laboratory builds, and the batches in
 * which volumes speak with them (core.h), as one unit so that the compiler sees through
 * the core's small functions.
 */
#include <linux/compiler.h>

#define ECACHE_ONLY_AGED 1
#include "../../core/ecache/init.c"
#include "../../core/ecache/layout.c"
#include "../../core/ecache/place.c"
#include "../../core/ecache/list.c"
#include "../../core/ecache/ecache.c"
#include "../../core/ecache/cost.c"
#include "../../core/ecache/alloc.c"
#include "../../core/ecache/salvage.c"

#include "core.h"

u32 batch_pages = 1;

void batch_share(u32 nr_volumes)
{
	u32 frames = ecache_frames(pool.core) / BATCH_FRAMES_SHARE / max(nr_volumes, 1u);

	WRITE_ONCE(batch_pages, clamp(frames, 1u, (u32)BATCH_PAGES_MAX));
}

/* Volumes' numbers and blocks are in range: volume_get(), the target's constructor. */
u32 batch_get(struct batch *b, u64 block, u32 count, u32 *frames)
{
	u64 key = ecache_pack(b->object, block);
	struct ecache *core = pool.core;
	u32 i;

	batch_settle(b);
	for (i = 0; i < count; i++) {
		frames[i] = get_key(core, key + i);
		if (frames[i] == ECACHE_NONE)
			break;
	}
	return i;
}

/* Pins frames for the next puts; fewer where much else has to be done for it. */
static u32 pin_spares(struct ecache *core, u32 *frames, u32 count)
{
	u64 enough = core->counters.withdrawn + core->put_work_limit;
	u32 i;

	/* Each may withdraw as many tombstones, too: not one after the other. */
	for (i = 0; i < count; i++) {
		frames[i] = pin_frame(core, NULL);
		if (frames[i] == ECACHE_NONE)
			break;
		if (core->counters.withdrawn >= enough)
			return i + 1;
	}
	return i;
}

static void unpin(const u32 *frames, u32 count)
{
	struct ecache *core = pool.core;

	while (count--)
		ecache_unpin(core, *frames++);
}

u32 batch_take_slowly(struct batch *b)
{
	pool_lock();
	b->nr_spares = pin_spares(pool.core, b->spares, READ_ONCE(batch_pages));
	pool_unlock();
	return b->nr_spares ? b->spares[--b->nr_spares] : ECACHE_NONE;
}

void batch_end(struct batch *b)
{
	pool_lock();
	batch_settle_slowly(b);
	pool_unlock();
}

void batch_spare(struct batch *b, const u32 *frames, u32 count)
{
	u32 room = min(count, BATCH_SPARES_MAX - b->nr_spares);

	memcpy(&b->spares[b->nr_spares], frames, room * sizeof(*frames));
	b->nr_spares += room;
	if (unlikely(room < count)) {
		pool_lock();
		unpin(frames + room, count - room);
		pool_unlock();
	}
}

void batch_retire(u32 frame)
{
	pool_lock();
	ecache_retire(pool.core, frame);
	pool_unlock();
}

void batch_settle_slowly(struct batch *b)
{
	const struct batch_put *put = b->puts, *end = put + b->nr_puts;
	u32 pages = READ_ONCE(batch_pages);
	struct ecache *core = pool.core;

	for (; put < end; put++)
		put_end(core, put->frame, ecache_pack(b->object, put->block),
			put->returned);
	b->ended_puts += b->nr_puts;
	b->nr_puts = 0;
	if (b->nr_spares > pages) {
		unpin(b->spares + pages, b->nr_spares - pages);
		b->nr_spares = pages;
	}
}

void batch_empty(struct batch *b)
{
	pool_lock();
	batch_settle_slowly(b);
	unpin(b->spares, b->nr_spares);
	b->nr_spares = 0;
	pool_unlock();
}
