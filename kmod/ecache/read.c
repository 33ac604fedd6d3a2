// SPDX-License-Identifier: GPL-2.0-only
/* Reads: served from the cache, or noted on their way up. */
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/highmem.h>

#include "io.h"
#include "pool.h"
#include "trace.h"
#include "track.h"

/* Copies a block into the bio at `iter`, which moves on. */
static void copy_out(struct bio *bio, struct bvec_iter *iter, const void *from)
{
	u32 left = PAGE_SIZE;

	while (left) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);
		u32 part = min(bv.bv_len, left);
		void *to;

		bv.bv_len = part;
		to = bvec_kmap_local(&bv);
		memcpy(to, from, part);
		kunmap_local(to);
		flush_dcache_page(bv.bv_page);
		from += part;
		left -= part;
		bio_advance_iter_single(bio, iter, part);
	}
}

/* Under RCU. Pages that nobody follows are left out. */
static noinline void trace_run(const struct volume *v, const struct run *run, u32 count,
			       bool hit)
{
	struct address_space *mapping;
	struct folio *folio;
	struct page *page;
	u32 i;

	for (i = 0; i < count; i++) {
		page = run->pages[i];
		folio = page ? page_folio(page) : NULL;
		mapping = folio ? READ_ONCE(folio->mapping) : NULL;
		if (mapping)
			trace_ecache_get(v->bdev->bd_dev,
					 S_ISBLK(mapping->host->i_mode) ? 0 :
						mapping->host->i_ino,
					 folio->index + folio_page_idx(folio, page),
					 run->block + i, hit);
	}
}

/*
 * Takes the frames of a run's first blocks, as far as they are cached and pages of the
 * page cache take their place, and notes those pages; returns how many. Their frames are
 * pinned.
 */
static u32 take_cached(struct volume *v, struct run *run)
{
	u32 i, count;

	pool_lock();
	count = batch_get(&v->batch, run->block, run->followed, run->frames);
	pool_unlock();
	for (i = 0; i < count; i++) {
		run->tags[i] = pool.tags[run->frames[i]];
		/* It is locked: nobody puts it before it is filled. */
		track_set(&v->track, page_to_pfn(run->pages[i]), run->block + i,
			  TRACK_UP | TRACK_RETURNED, run->tags[i]);
	}
	return count;
}

/* Notes the pages of a run that are to be read, up to one that is cached. */
static u32 note_loading(struct volume *v, struct run *run)
{
	u64 object = v->batch.object;
	u32 i;

	pool_lock();
	batch_settle(&v->batch);
	for (i = 0; i < run->count; i++) {
		struct page *page = run->pages[i];
		u64 block = run->block + i;

		if (ecache_peek(pool.core, object, block) != ECACHE_NONE)
			break;
		if (!page)
			continue;
		/* Salvage finds it no more in a device's region. */
		ecache_flush_page(pool.core, object, block);
		track_set(&v->track, page_to_pfn(page), block, TRACK_LOADING, 0);
	}
	pool_unlock();
	return i;
}

/*
 * What a get finds is not compared with what was put. The check catches what
 * these safeties prevent, so that without it alone their controls show it.
 */
#define ECACHE_UNCHECKED_GET \
	(ECACHE_BROKEN_DAMAGED || ECACHE_BROKEN_POWER || ECACHE_BROKEN_LATE || ECACHE_BROKEN_PINNED)

/* Whether a frame can be read, and holds what was put there. */
static bool is_intact(bool readable, u64 hash, u64 tag)
{
	return likely(readable && (hash == tag || ECACHE_UNCHECKED_GET));
}

/*
 * Copies a run's frames to its pages, up to the first that is damaged; returns how many.
 * *readable: whether its memory can be read.
 */
static u32 copy_run(struct run *run, bool *readable)
{
	bool vectors = nh_begin();
	u64 hash = 0;
	void *to;
	u32 i;

	for (i = 0; i < run->count; i++) {
		u32 frame = run->frames[i];

		*readable = !pool_frame_poisoned(frame);
		if (unlikely(!*readable))
			break;
		to = kmap_local_page(run->pages[i]);
		pool_copy_begins();
		*readable = nh_copy(vectors, to, pool_frame_read(frame), &hash);
		kunmap_local(to);
		if (!is_intact(*readable, hash, run->tags[i]))
			break;
		flush_dcache_page(run->pages[i]);
	}
	nh_end(vectors);
	return i;
}

/*
 * Drops what is damaged, and what was to be served after it. A frame that cannot be read is
 * not used again; its place in the run goes to the last.
 */
static noinline u32 drop_damaged(struct volume *v, struct run *run, u32 first, bool readable)
{
	u32 i, damaged = run->frames[first], count = run->count;

	volume_lock_irq(v);
	v->counts.damaged++;
	for (i = first; i < count; i++)
		track_forget_block(&v->track, run->block + i);
	if (!readable) {
		batch_retire(damaged);
		run->frames[first] = run->frames[--count];
	}
	volume_unlock_irq(v);
	pool_tell_damaged(damaged, v->bdev);
	return count;
}

static void count_hits(struct volume *v, u32 count)
{
	v->counts.reads += count;
	v->counts.hits += count;
}

/*
 * Serves the first blocks of a run that are cached, and returns how many; the volume's lock
 * is held, and given up. None beside a write, or if the first frame is damaged: then
 * nothing is noted.
 */
static u32 serve_run(struct volume *v, struct run *run, u32 count, u64 start)
{
	u32 served = 0, frames = count;
	bool busy, readable;

	run->count = count;
	volume_unlock_irq(v);
	busy = volume_busy(v, run->block, count, NULL);
	if (likely(!busy)) {
		served = copy_run(run, &readable);
		if (unlikely(served < count))
			frames = drop_damaged(v, run, served, readable);
	}
	volume_lock_irq(v);
	count_hits(v, served);
	batch_spare(&v->batch, run->frames, frames);
	if (served)
		pool_cost_add(&v->counts.get_cost, start, served);
	volume_unlock_irq(v);
	if (unlikely(busy))
		run_forget(v, run);
	if (trace_ecache_get_enabled())
		trace_run(v, run, served, true);
	return served;
}

/*
 * Serves a reader past the page cache: the frame is looked at and copied under the lock,
 * and stays.
 */
static u32 serve_copies(struct volume *v, struct bio *bio, u64 block, u32 count)
{
	struct bvec_iter iter = bio->bi_iter;
	bool vectors, readable, intact;
	u32 done, frame;
	u64 hash = 0;

	for (done = 0; done < count; done++, block++) {
		intact = true;
		volume_lock_irq(v);
		pool_lock();
		batch_settle(&v->batch);
		frame = ecache_peek(pool.core, v->batch.object, block);
		if (frame != ECACHE_NONE) {
			vectors = nh_begin();
			readable = !pool_frame_poisoned(frame) &&
				   nh_page(vectors, pool_frame_read(frame), &hash);
			nh_end(vectors);
			intact = is_intact(readable, hash, pool.tags[frame]);
			if (likely(intact)) {
				copy_out(bio, &iter, pool_frame(frame));
				count_hits(v, 1);
			} else {
				v->counts.damaged++;
				ecache_get_begin(pool.core, v->batch.object, block);
				if (readable)
					ecache_unpin(pool.core, frame);
				else
					ecache_retire(pool.core, frame);
			}
		}
		pool_unlock();
		volume_unlock_irq(v);
		if (unlikely(!intact))
			pool_tell_damaged(frame, v->bdev);
		if (frame == ECACHE_NONE || !intact)
			break;
	}
	return done;
}

/* Takes the first `count` blocks of a bio; the rest comes back as another one. */
static void keep_first(struct bio *bio, struct io *io, u32 count)
{
	if (count == io->count)
		return;
	dm_accept_partial_bio(bio, count << BLOCK_SHIFT);
	io->count = count;
}

/* Notes all pages of a bio up to the first that is cached; returns how many. */
static u32 read_through(struct volume *v, struct bio *bio, struct bvec_iter iter,
			struct run *run, const struct io *io)
{
	u32 done = 0, noted;

	for (;;) {
		noted = note_loading(v, run);
		v->counts.reads += noted;
		volume_unlock_irq(v);
		if (trace_ecache_get_enabled())
			trace_run(v, run, noted, false);
		if (unlikely(volume_busy(v, run->block, run->count, NULL)))
			run_forget(v, run);
		done += noted;
		if (noted < run->count || done == io->count)
			return done;
		run->block += run->count;
		run->count = min_t(u64, io->count - done, RUN_PAGES);
		run_find_pages(v, bio, &iter, run, false);
		volume_lock_irq(v);
	}
}

int map_read(struct target *t, struct bio *bio, struct io *io)
{
	struct volume *v = t->volume;
	struct bvec_iter iter = bio->bi_iter;
	u64 start = pool_cycles();
	struct run run;
	u32 done;

	if (!io->whole || !READ_ONCE(pool.active) || !READ_ONCE(v->enabled))
		return DM_MAPIO_REMAPPED;
	volume_prepare(v, io->count);
	run.block = io->block;
	run.count = min_t(u64, io->count, RUN_PAGES);
	/*
	 * An RCU reader, for the pages' owners; and a device may wait for the frames that
	 * are pinned here, so nothing else comes in between.
	 */
	preempt_disable();
	run_find_pages(v, bio, &iter, &run, false);
	if (!run.followed) {
		done = serve_copies(v, bio, io->block, run.count);
		if (done)
			goto served;
	}
	volume_lock_irq(v);
	done = take_cached(v, &run);
	if (done) {
		done = serve_run(v, &run, done, start);
		if (done)
			goto served;
		/* It is read as it comes, and nothing is noted. */
		preempt_enable();
		return DM_MAPIO_REMAPPED;
	}
	done = read_through(v, bio, iter, &run, io);
	preempt_enable();
	io->kind = IO_READ;
	if (!done) {
		/* A reader past the page cache, and it came just now: not from here. */
		io->kind = IO_PLAIN;
		return DM_MAPIO_REMAPPED;
	}
	io->iter = bio->bi_iter;
	keep_first(bio, io, done);
	return DM_MAPIO_REMAPPED;

served:
	preempt_enable();
	keep_first(bio, io, done);
	bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}
