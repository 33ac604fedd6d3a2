/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core (core/ecache) as volumes use it: in batches, so that CPUs at work on different
 * volumes seldom meet at the pool's lock, which is taken once for some 32 pages.
 *
 *	puts	what was put and the core does not know yet
 *	spares	pinned frames, for the next puts
 *
 * Frames that were copied from become spares, and the next puts fill them. Whoever asks
 * the core about a block of the volume settles first: then all puts are known to it. A
 * device that is given memory waits for the pins there, and makes all volumes give back
 * what they have.
 */
#ifndef FOVEA_ECACHE_CORE_H
#define FOVEA_ECACHE_CORE_H

#include <linux/types.h>

#include "pool.h"

#define BATCH_PAGES_MAX		32
/* Two runs of reads that have ended, and no put since. */
#define BATCH_SPARES_MAX	64
/* All volumes together hold no more of the frames than one in so many, but one each. */
#define BATCH_FRAMES_SHARE	64

struct batch_put {
	u64 block;
	u32 frame;
	bool returned;
};

/* Under its volume's lock. */
struct batch {
	u64 object;
	/* Handed to the core so far. */
	u64 ended_puts;
	u32 nr_puts;
	u32 nr_spares;
	struct batch_put puts[BATCH_PAGES_MAX];
	u32 spares[BATCH_SPARES_MAX];
};

/* Pages of one batch, and how many volumes share what all may hold. */
extern u32 batch_pages;
void batch_share(u32 nr_volumes);

/* Takes the pool's lock for new spares; use batch_take(). */
u32 batch_take_slowly(struct batch *b);

/* A pinned frame for a put, or ECACHE_NONE. */
static inline u32 batch_take(struct batch *b)
{
	return likely(b->nr_spares) ? b->spares[--b->nr_spares] : batch_take_slowly(b);
}

/* Takes the pool's lock, and settles. */
void batch_end(struct batch *b);

/* A page is in a frame that batch_take() gave. */
static inline void batch_put(struct batch *b, u32 frame, u64 block, bool returned)
{
	struct batch_put *put = &b->puts[b->nr_puts++];

	put->frame = frame;
	put->block = block;
	put->returned = returned;
	if (unlikely(b->nr_puts >= READ_ONCE(batch_pages)))
		batch_end(b);
}

/* Pinned frames that nothing is in, or nothing any more. */
void batch_spare(struct batch *b, const u32 *frames, u32 count);

/* A pinned frame whose memory is broken: nothing is put there any more. */
void batch_retire(u32 frame);

/*
 * With the pool's lock held: the core learns what was put, and gets back what is more than
 * a batch of spares.
 */
void batch_settle_slowly(struct batch *b);

static inline void batch_settle(struct batch *b)
{
	if ((b->nr_puts || b->nr_spares > READ_ONCE(batch_pages)) && !ECACHE_BROKEN_BATCH)
		batch_settle_slowly(b);
}

/*
 * With the pool's lock held: takes the frames of blocks up to the first that is not
 * cached, pinned; returns how many.
 */
u32 batch_get(struct batch *b, u64 block, u32 count, u32 *frames);

/* Gives all frames back. */
void batch_empty(struct batch *b);

#endif /* FOVEA_ECACHE_CORE_H */
