// SPDX-License-Identifier: GPL-2.0-only
/* Batches; batch.h says what for. */
#include "batch.h"

u32 batch_pages = 1;

void batch_share(u32 nr_volumes)
{
	u32 frames = ecache_frames(pool.core) / BATCH_FRAMES_SHARE / max(nr_volumes, 1u);

	WRITE_ONCE(batch_pages, clamp(frames, 1u, (u32)BATCH_PAGES_MAX));
}

u32 batch_take_slowly(struct batch *b)
{
	pool_lock();
	b->nr_spares = core_begin_puts(pool.core, b->spares, READ_ONCE(batch_pages));
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
		core_unpin(pool.core, frames + room, count - room);
		pool_unlock();
	}
}

void batch_settle_slowly(struct batch *b)
{
	u32 pages = READ_ONCE(batch_pages);

	core_end_puts(pool.core, b->object, b->puts, b->nr_puts);
	b->ended_puts += b->nr_puts;
	b->nr_puts = 0;
	if (b->nr_spares > pages) {
		core_unpin(pool.core, b->spares + pages, b->nr_spares - pages);
		b->nr_spares = pages;
	}
}

void batch_empty(struct batch *b)
{
	pool_lock();
	batch_settle_slowly(b);
	core_unpin(pool.core, b->spares, b->nr_spares);
	b->nr_spares = 0;
	pool_unlock();
}
