/* SPDX-License-Identifier: GPL-2.0-only */
/* Bios on their way, and runs of their blocks; what the target does to them. */
#ifndef FOVEA_ECACHE_IO_H
#define FOVEA_ECACHE_IO_H

#include <linux/bio.h>
#include <linux/device-mapper.h>

#include "follow.h"
#include "volume.h"

/* A target. */
struct target {
	struct dm_dev *dev;
	sector_t start;
	struct volume *volume;
};

/* Pages of a bio dealt with at once; what is noted of each is on the stack. */
#define RUN_PAGES	32

/*
 * Pages of one bio that are hashed when it ends with interrupts off: 100,000 instructions.
 * Read-ahead is a quarter of it, and longer reads are seldom read twice.
 */
#define END_HASHED_MAX	128

/* A bio on its way through the lower device. */
struct io {
	enum {
		IO_PLAIN,
		IO_READ,
		IO_WRITE,
	} kind;
	/* It is made of whole blocks, as they are on disk. */
	bool whole;
	/* Blocks it touches. */
	u64 block;
	u64 count;
	/* Where its data was before the lower device moved through it. */
	struct bvec_iter iter;
	/* Of a write. */
	struct volume_write write;
};

/* The next blocks of a bio. */
struct run {
	u64 block;
	u32 count;
	/* Of the first so many the pages are followed. */
	u32 followed;
	/* NULL: one that cannot be. */
	struct page *pages[RUN_PAGES];
	u32 frames[RUN_PAGES];
	/* The hashes of what is to be written, or of what the frames should hold. */
	u64 tags[RUN_PAGES];
};

/* Moves `iter` on by a block. */
static inline void skip_block(struct bio *bio, struct bvec_iter *iter)
{
	bio_advance_iter(bio, iter, PAGE_SIZE);
}

/*
 * Which pages the next blocks of a bio belong to; `iter` moves past them. Under RCU: a
 * page of a read past the page cache may be another file's, and leave it.
 */
void run_find_pages(struct volume *v, struct bio *bio, struct bvec_iter *iter,
		    struct run *run, bool write);

/* Forgets what was noted of a run: a write is in flight there. */
void run_forget(struct volume *v, const struct run *run);

/* Serves a bio from the cache or notes its pages (DM_MAPIO_...). */
int map_read(struct target *t, struct bio *bio, struct io *io);
/* From here until the write ends nothing of these blocks is served or followed. */
void map_write(struct target *t, struct bio *bio, struct io *io);

/* The target's calls (struct target_type). */
int io_map(struct dm_target *ti, struct bio *bio);
int io_end(struct dm_target *ti, struct bio *bio, blk_status_t *error);

#endif /* FOVEA_ECACHE_IO_H */
