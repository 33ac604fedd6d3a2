// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device-mapper target: reads are served from the cache or noted on their way up,
 * writes are noted on their way down and drop what is cached of their blocks. Every
 * write to the device passes here; therefore a cached frame always equals its block.
 *
 * Table line:	START LEN ecache LOWER_DEVICE OFFSET_SECTORS
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/highmem.h>
#include <linux/module.h>

#include "follow.h"
#include "pool.h"
#include "target.h"
#include "trace.h"
#include "track.h"
#include "volume.h"

struct target {
	struct dm_dev *dev;
	sector_t start;
	struct volume *volume;
};

/* Pages of a bio dealt with at once; what is noted of each is on the stack. */
#define RUN_PAGES	32

/* A bio on its way through the lower device. */
struct io {
	enum {
		IO_PLAIN,
		IO_READ,
		IO_WRITE,
	} kind;
	/* It is made of whole blocks. */
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
	struct follow_page pages[RUN_PAGES];
	u32 frames[RUN_PAGES];
};

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

/* Moves `iter` on by a block. */
static void skip_block(struct bio *bio, struct bvec_iter *iter)
{
	bio_advance_iter(bio, iter, PAGE_SIZE);
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
 * Which pages the next blocks of a bio belong to; `iter` moves past them. Under RCU: a
 * page of a read past the page cache may be another file's, and leave it. Pages of one
 * file follow each other: it is looked at once.
 */
static void find_pages(struct volume *v, struct bio *bio, struct bvec_iter *iter,
		       struct run *run, bool write)
{
	struct follow_page *at = run->pages, *end = at + run->count;
	const struct address_space *mapping, *last = NULL;
	struct inode *host = NULL;
	u64 block = run->block;
	bool summed = false;
	struct folio *folio;
	pgoff_t index;

	run->followed = 0;

	for (; at < end; at++, block++) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);

		at->page = NULL;
		if (unlikely(bv.bv_len != PAGE_SIZE)) {
			skip_block(bio, iter);
			continue;
		}
		bio_advance_iter_single(bio, iter, PAGE_SIZE);
		folio = page_folio(bv.bv_page);
		mapping = READ_ONCE(folio->mapping);
		if (mapping != last) {
			last = mapping;
			host = follow_owner(v, folio, mapping);
			if (host) {
				follow_learn(v, host);
				summed = follow_summed(v, host);
			}
		}
		if (!host)
			continue;
		index = folio->index + folio_page_idx(folio, bv.bv_page);
		if (!follow_stands(v, folio, host, index, block, write))
			continue;
		at->page = bv.bv_page;
		at->tag = follow_place(mapping, index);
		at->summed = summed;
		if (run->followed == at - run->pages)
			run->followed++;
	}
}

/* Forgets what was noted of a run: a write is in flight there. */
static void forget_run(struct volume *v, const struct run *run)
{
	u32 i;

	volume_lock_irq(v);
	for (i = 0; i < run->count; i++)
		track_forget_block(&v->track, run->block + i);
	volume_unlock_irq(v);
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
	batch_settle(&v->batch);
	count = core_get_run(pool.core, v->batch.object, run->block, run->followed,
			     run->frames);
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
		forget_run(v, run);
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
			forget_run(v, run);
		done += noted;
		if (noted < run->count || done == io->count)
			return done;
		run->block += run->count;
		run->count = min_t(u64, io->count - done, RUN_PAGES);
		find_pages(v, bio, &iter, run, false);
		volume_lock_irq(v);
	}
}

static int map_read(struct target *t, struct bio *bio, struct io *io)
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
	find_pages(v, bio, &iter, &run, false);
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
		const struct follow_page *p = &run->pages[i];
		struct track_about about = { .state = TRACK_WRITING, .summed = p->summed };
		u64 block = run->block + i;

		if (!ECACHE_BROKEN_WRITE)
			track_forget_block(&v->track, block);
		if (p->page && v->enabled)
			track_set(&v->track, page_to_pfn(p->page), block, about, p->tag);
	}
	volume_unlock_irq(v);
}

/* A write of whole blocks, whose pages hold what will be on disk. */
static void map_data(struct volume *v, struct bio *bio, struct io *io)
{
	struct bvec_iter iter = bio->bi_iter;
	u64 done = 0;
	struct run run;
	u32 i;

	volume_prepare(v, io->count);
	while (done < io->count) {
		run.block = io->block + done;
		run.count = min_t(u64, io->count - done, RUN_PAGES);
		rcu_read_lock();
		find_pages(v, bio, &iter, &run, true);
		rcu_read_unlock();
		for (i = 0; i < run.count; i++)
			if (run.pages[i].page && run.pages[i].summed)
				run.pages[i].tag ^= follow_page_sum(run.pages[i].page);
		note_writing(v, &run);
		if (unlikely(volume_busy(v, run.block, run.count, &io->write)))
			forget_run(v, &run);
		done += run.count;
	}
}

/* From here until the write ends nothing of these blocks is served or followed. */
static void map_write(struct target *t, struct bio *bio, struct io *io)
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

static int target_map(struct dm_target *ti, struct bio *bio)
{
	struct target *t = ti->private;
	struct io *io = dm_per_bio_data(bio, sizeof(*io));
	sector_t at = dm_target_offset(ti, bio->bi_iter.bi_sector);
	unsigned int sectors = bio_sectors(bio);
	int result = DM_MAPIO_REMAPPED;

	io->kind = IO_PLAIN;
	bio_set_dev(bio, t->dev->bdev);
	if (ECACHE_BROKEN_FLUSH)
		bio->bi_opf &= ~REQ_FUA;
	if (!sectors && ECACHE_BROKEN_FLUSH) {
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	}
	if (!sectors)
		return DM_MAPIO_REMAPPED;
	io->whole = !((at | sectors) & (BLOCK_SECTORS - 1));
	io->block = at >> BLOCK_SHIFT;
	io->count = ((at + sectors - 1) >> BLOCK_SHIFT) - io->block + 1;

	switch (bio_op(bio)) {
	case REQ_OP_READ:
		result = map_read(t, bio, io);
		break;
	case REQ_OP_WRITE:
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES:
		map_write(t, bio, io);
		break;
	default:
		break;
	}
	if (result == DM_MAPIO_REMAPPED)
		bio->bi_iter.bi_sector = t->start + at;
	return result;
}

/*
 * Ends the note of each page that this bio read or wrote. An entry that says so is of a
 * page that the bio's sender has locked, or is writing back: it stays in its file.
 */
static void finish(struct volume *v, struct bio *bio, const struct io *io, bool ok)
{
	enum track_state state = io->kind == IO_WRITE ? TRACK_WRITING : TRACK_LOADING;
	struct bvec_iter iter = io->iter;
	struct track_entry *entry;
	unsigned long flags;
	u64 i;

	for (i = 0; i < io->count; i++, skip_block(bio, &iter)) {
		struct bio_vec bv = bio_iter_iovec(bio, iter);
		unsigned long pfn = page_to_pfn(bv.bv_page);
		bool good = ok, summed = false;
		u32 tag = 0;

		entry = track_entry(pfn);
		if (!entry || !track_is_io(&v->track, entry, io->block + i, state))
			continue;
		if (ok && state == TRACK_LOADING) {
			struct folio *folio = page_folio(bv.bv_page);
			struct address_space *mapping = folio_mapping(folio);

			if (mapping) {
				tag = follow_place(mapping, folio->index +
						   folio_page_idx(folio, bv.bv_page));
				summed = follow_summed(v, mapping->host);
				if (summed)
					tag ^= follow_page_sum(bv.bv_page);
			}
			good = mapping;
		}
		flags = volume_lock_irqsave(v);
		if (good)
			track_finish(&v->track, pfn, io->block + i, state, summed, tag);
		else
			track_fail(&v->track, pfn, io->block + i, state);
		volume_unlock_irqrestore(v, flags);
	}
}

static int target_end_io(struct dm_target *ti, struct bio *bio,
			 blk_status_t *error)
{
	struct target *t = ti->private;
	struct io *io = dm_per_bio_data(bio, sizeof(*io));

	if (io->kind == IO_PLAIN)
		return DM_ENDIO_DONE;
	if (io->kind == IO_READ ||
	    (bio_op(bio) == REQ_OP_WRITE && io->whole))
		finish(t->volume, bio, io, *error == BLK_STS_OK);
	if (io->kind == IO_WRITE)
		volume_write_end(t->volume, &io->write);
	return DM_ENDIO_DONE;
}

static int target_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct block_device *bdev =
		dm_disk(dm_table_get_md(ti->table))->part0;
	unsigned long long start;
	struct target *t;
	char dummy;
	int error;

	if (!pool.core) {
		ti->error = "No pool: load dm_ecache with carveouts= and devices=";
		return -ENODEV;
	}
	if (argc != 2) {
		ti->error = "Two arguments are wanted: LOWER_DEVICE OFFSET_SECTORS";
		return -EINVAL;
	}
	if (sscanf(argv[1], "%llu%c", &start, &dummy) != 1 ||
	    start != (sector_t)start) {
		ti->error = "OFFSET_SECTORS is no number of sectors";
		return -EINVAL;
	}
	if (ti->begin & (BLOCK_SECTORS - 1)) {
		ti->error = "START must be a multiple of the page size";
		return -EINVAL;
	}
	if (ti->len >> BLOCK_SHIFT >= TRACK_BLOCKS_MAX) {
		ti->error = "Range is larger than 4 PiB";
		return -EINVAL;
	}
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t) {
		ti->error = "No memory for the target";
		return -ENOMEM;
	}
	t->start = start;
	error = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table),
			      &t->dev);
	if (error) {
		ti->error = "LOWER_DEVICE cannot be opened";
		goto no_device;
	}
	if (start > bdev_nr_sectors(t->dev->bdev) ||
	    ti->len > bdev_nr_sectors(t->dev->bdev) - start) {
		ti->error = "LOWER_DEVICE is smaller than OFFSET_SECTORS and LEN ask for";
		error = -EINVAL;
		goto no_volume;
	}
	t->volume = volume_get(ti->table, bdev, t->dev->bdev, start, ti->begin,
			       ti->len, &ti->error);
	if (IS_ERR(t->volume)) {
		error = PTR_ERR(t->volume);
		goto no_volume;
	}
	ti->private = t;
	ti->per_io_data_size = sizeof(struct io);
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_secure_erase_bios = 1;
	ti->num_write_zeroes_bios = 1;
	return 0;

no_volume:
	dm_put_device(ti, t->dev);
no_device:
	kfree(t);
	return error;
}

static void target_dtr(struct dm_target *ti)
{
	struct target *t = ti->private;

	volume_put(t->volume, ti->table);
	dm_put_device(ti, t->dev);
	kfree(t);
}

static void target_resume(struct dm_target *ti)
{
	struct target *t = ti->private;

	volume_resume(t->volume);
}

static void target_postsuspend(struct dm_target *ti)
{
	struct target *t = ti->private;

	volume_suspend(t->volume);
}

static void target_status(struct dm_target *ti, status_type_t type,
			  unsigned int flags, char *result, unsigned int maxlen)
{
	struct target *t = ti->private;
	struct volume_counts now;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		now = volume_count(t->volume);
		DMEMIT("reads %llu hits %llu misses %llu puts %llu mismatched %llu invalidated %llu cache %s",
		       now.reads, now.hits, now.reads - now.hits, now.puts,
		       now.mismatched, now.invalidated,
		       READ_ONCE(t->volume->enabled) ? "on" : "off");
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s %llu", t->dev->name, (unsigned long long)t->start);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",device_name=%s,start=%llu;", t->dev->name,
		       (unsigned long long)t->start);
		break;
	}
}

static int target_message(struct dm_target *ti, unsigned int argc, char **argv,
			  char *result, unsigned int maxlen)
{
	struct target *t = ti->private;

	if (argc == 1 && !strcmp(argv[0], "drop")) {
		pool_drop_range(t->volume, 0, TRACK_BLOCKS_MAX);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[0], "cache") &&
	    (!strcmp(argv[1], "on") || !strcmp(argv[1], "off"))) {
		volume_lock_irq(t->volume);
		t->volume->enabled = argv[1][1] == 'n';
		volume_unlock_irq(t->volume);
		if (argv[1][1] == 'f')
			pool_drop_range(t->volume, 0, TRACK_BLOCKS_MAX);
		return 0;
	}
	pr_err("message: none of: drop, cache on|off\n");
	return -EINVAL;
}

static int target_iterate_devices(struct dm_target *ti,
				  iterate_devices_callout_fn fn, void *data)
{
	struct target *t = ti->private;

	return fn(ti, t->dev, t->start, ti->len, data);
}

static struct target_type ecache_target = {
	.name = "ecache",
	.version = { 2, 0, 0 },
	.module = THIS_MODULE,
	.ctr = target_ctr,
	.dtr = target_dtr,
	.map = target_map,
	.end_io = target_end_io,
	.resume = target_resume,
	.postsuspend = target_postsuspend,
	.status = target_status,
	.message = target_message,
	.iterate_devices = target_iterate_devices,
};

int target_init(void)
{
	return dm_register_target(&ecache_target);
}

void target_exit(void)
{
	dm_unregister_target(&ecache_target);
}
