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
		page = run->pages[i].page;
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
		const struct follow_page *p = &run->pages[i];
		/* It is locked: nobody puts it before it is filled. */
		struct track_about about = {
			.state = p->summed ? TRACK_LOADING : TRACK_UP,
			.returned = true,
		};

		track_set(&v->track, page_to_pfn(p->page), run->block + i, about, p->tag);
	}
	return count;
}

/* Notes the pages of a run that are to be read, up to one that is cached. */
static u32 note_loading(struct volume *v, struct run *run)
{
	const struct track_about loading = { .state = TRACK_LOADING };
	u64 object = v->batch.object;
	u32 i;

	pool_lock();
	batch_settle(&v->batch);
	for (i = 0; i < run->count; i++) {
		const struct follow_page *p = &run->pages[i];
		u64 block = run->block + i;

		if (ecache_peek(pool.core, object, block) != ECACHE_NONE)
			break;
		if (!p->page)
			continue;
		/* Salvage finds it no more in a device's region. */
		ecache_flush_page(pool.core, object, block);
		track_set(&v->track, page_to_pfn(p->page), block, loading, p->tag);
	}
	pool_unlock();
	return i;
}

/* Copies a run's frames to its pages; whether the content of any is compared later. */
static bool copy_run(struct volume *v, struct bio *bio, struct run *run, u32 count,
		     u64 *copying)
{
	struct bvec_iter iter = bio->bi_iter;
	bool summed = false;
	u64 before;
	u32 i;

	for (i = 0; i < count; i++) {
		struct follow_page *p = &run->pages[i];
		const void *frame = pool_frame(run->frames[i]);

		if (unlikely(p->summed)) {
			p->tag ^= follow_sum(frame);
			summed = true;
		}
		pool_copy_begins();
		before = pool_cycles();
		copy_out(bio, &iter, frame);
		if (unlikely(before))
			*copying += get_cycles() - before;
	}
	return summed;
}

/* Pages whose content is compared wait for their tags. */
static void finish_run(struct volume *v, const struct run *run)
{
	const struct follow_page *p;
	u32 i;

	for (i = 0; i < run->count; i++) {
		p = &run->pages[i];
		if (p->summed)
			track_finish(&v->track, page_to_pfn(p->page), run->block + i,
				     TRACK_LOADING, true, p->tag);
	}
}

static void count_hits(struct volume *v, u32 count)
{
	v->counts.reads += count;
	v->counts.hits += count;
}

/*
 * Serves the first blocks of a run that are cached; the volume's lock is held, and given
 * up.
 */
static bool serve_run(struct volume *v, struct bio *bio, struct run *run, u32 count,
		      u64 start)
{
	u64 copying = 0;
	bool summed;

	run->count = count;
	volume_unlock_irq(v);
	if (unlikely(volume_busy(v, run->block, count, NULL))) {
		volume_lock_irq(v);
		batch_spare(&v->batch, run->frames, count);
		volume_unlock_irq(v);
		run_forget(v, run);
		return false;
	}
	summed = copy_run(v, bio, run, count, &copying);
	volume_lock_irq(v);
	count_hits(v, count);
	batch_spare(&v->batch, run->frames, count);
	if (unlikely(summed))
		finish_run(v, run);
	pool_cost_add(&v->counts.get_cost, start, copying, count);
	volume_unlock_irq(v);
	if (trace_ecache_get_enabled())
		trace_run(v, run, count, true);
	return true;
}

/* Serves a reader past the page cache: a copy under the lock, and the frame stays. */
static u32 serve_copies(struct volume *v, struct bio *bio, u64 block, u32 count)
{
	struct bvec_iter iter = bio->bi_iter;
	u32 done, frame;

	for (done = 0; done < count; done++, block++) {
		volume_lock_irq(v);
		pool_lock();
		batch_settle(&v->batch);
		frame = ecache_peek(pool.core, v->batch.object, block);
		if (frame != ECACHE_NONE) {
			copy_out(bio, &iter, pool_frame(frame));
			count_hits(v, 1);
		}
		pool_unlock();
		volume_unlock_irq(v);
		if (frame == ECACHE_NONE)
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
		if (serve_run(v, bio, &run, done, start))
			goto served;
		/* Beside a write: it is read as it comes, and nothing is noted. */
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
