// SPDX-License-Identifier: GPL-2.0-only
/* Writes: noted on their way down, and what is cached of their blocks is dropped. */
#include <linux/bio.h>

#include "io.h"
#include "pool.h"
#include "track.h"

static void flush_run(struct volume *v, const struct run *run)
{
	u32 i;

	pool_lock();
	batch_settle(&v->batch);
	for (i = 0; i < run->count; i++)
		v->counts.invalidated += ecache_flush_page(pool.core, v->batch.object,
							   run->block + i);
	pool_unlock();
}

/* Drops what is cached of a run's blocks, and notes the pages that are written to them. */
static void note_writing(struct volume *v, struct run *run)
{
	u32 i;

	volume_lock_irq(v);
	if (!ECACHE_BROKEN_WRITE)
		flush_run(v, run);
	for (i = 0; i < run->count; i++) {
		struct page *page = run->pages[i];
		u64 block = run->block + i;

		if (!ECACHE_BROKEN_WRITE)
			track_forget_block(&v->track, block);
		if (page && v->enabled)
			track_set(&v->track, page_to_pfn(page), block, TRACK_WRITING,
				  run->tags[i]);
	}
	volume_unlock_irq(v);
}

/*
 * Hashes what is about to be written. A page that changes while it is written is dirtied
 * again, and then forgotten.
 */
static void hash_run(struct run *run)
{
	bool vectors = nh_begin();
	u32 i;

	for (i = 0; i < run->count; i++)
		if (run->pages[i] && !follow_hash(vectors, run->pages[i], &run->tags[i]))
			run->pages[i] = NULL;
	nh_end(vectors);
}

/* A write of whole blocks, whose pages hold what will be on disk. */
static void map_data(struct volume *v, struct bio *bio, struct io *io)
{
	struct bvec_iter iter = bio->bi_iter;
	u64 done = 0;
	struct run run;

	volume_prepare(v, io->count);
	while (done < io->count) {
		run.block = io->block + done;
		run.count = min_t(u64, io->count - done, RUN_PAGES);
		rcu_read_lock();
		run_find_pages(v, bio, &iter, &run, true);
		rcu_read_unlock();
		hash_run(&run);
		note_writing(v, &run);
		if (unlikely(volume_busy(v, run.block, run.count, &io->write)))
			run_forget(v, &run);
		done += run.count;
	}
}

void map_write(struct target *t, struct bio *bio, struct io *io)
{
	struct volume *v = t->volume;

	io->kind = IO_WRITE;
	io->iter = bio->bi_iter;
	volume_write_begin(v, &io->write, io->block, io->count);
	if (bio_op(bio) == REQ_OP_WRITE && io->whole)
		map_data(v, bio, io);
	else if (!ECACHE_BROKEN_WRITE)
		pool_drop_range(v, io->block, io->count);
}
