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

/* A bio on its way through the lower device. */
struct io {
	enum {
		IO_PLAIN,
		IO_READ,
		IO_WRITE,
	} kind;
	/* Blocks it touches. */
	u64 block;
	u64 count;
	/* Where its data was before the lower device moved through it. */
	struct bvec_iter iter;
	/* It is made of whole blocks. */
	bool whole;
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

/* `page` may be NULL: then nobody follows it. */
static void trace_get(const struct volume *v, struct page *page,
		      const struct inode *host, u64 block, bool hit)
{
	struct folio *folio;

	if (!trace_ecache_get_enabled() || !page)
		return;
	folio = page_folio(page);
	trace_ecache_get(v->bdev->bd_dev,
			 sb_is_blkdev_sb(host->i_sb) ? 0 : host->i_ino,
			 folio->index + folio_page_idx(folio, page), block, hit);
}

/* A file's page may be put, and its block be read as the device's own. */
static u32 frame_sum(u32 frame)
{
	u32 sum = pool_sum(frame);

	return likely(sum != POOL_NO_SUM) ? sum : follow_sum(pool_frame(frame));
}

/*
 * Serves blocks from the start of a bio until one is missing; returns how many. A page
 * of the page cache takes its frame's place: the frame is freed. Other readers get a
 * copy, and the frame stays.
 */
static u32 serve(struct volume *v, struct bio *bio, u64 block, u32 count)
{
	struct bvec_iter iter = bio->bi_iter;
	u64 start = pool_cycles(), copying = 0, before;
	u32 done;

	for (done = 0; done < count; done++, block++) {
		struct bio_vec bv = bio_iter_iovec(bio, iter);
		struct inode *host;
		struct page *page = follow_bvec(v, &bv, block, false, &host);
		u32 frame = page ? ecache_get(pool.core, v->object, block) :
				   ecache_peek(pool.core, v->object, block);

		if (frame == ECACHE_NONE)
			break;
		trace_get(v, page, host, block, true);
		before = pool_cycles();
		copy_out(bio, &iter, pool_frame(frame));
		if (unlikely(before))
			copying += get_cycles() - before;
		/* Who is followed for a block is put, and forgotten, before the block is here. */
		if (page)
			track_add(page_to_pfn(page), v->id, block, true,
				  follow_needs_sum(host) ? frame_sum(frame) : 0);
	}
	if (done)
		pool_cost_add(&pool.get_cost, start, copying, done);
	return done;
}

/*
 * How many blocks to read at once, of which the first is missing: up to the last that
 * is missing with no more than `gap_pages` cached ones in a row before it. A request
 * more costs a disk more than a few pages that it reads on its way.
 */
static u32 run_of_missing(const struct volume *v, u64 block, u32 count)
{
	u32 gap = READ_ONCE(pool.gap_pages);
	u32 end = 1, i;

	for (i = 1; i < count && i - end <= gap; i++)
		if (ecache_peek(pool.core, v->object, block + i) == ECACHE_NONE)
			end = i + 1;
	return end;
}

/* Notes the pages of a run that is to be read; returns its length. */
static u32 note_loading(struct volume *v, struct bio *bio, u64 block, u32 count)
{
	struct bvec_iter iter = bio->bi_iter;
	u32 done;

	count = run_of_missing(v, block, count);
	for (done = 0; done < count; done++, block++, skip_block(bio, &iter)) {
		struct bio_vec bv = bio_iter_iovec(bio, iter);
		struct inode *host;
		bool passed = false;
		struct page *page;

		page = follow_bvec(v, &bv, block, false, &host);
		/* The page cache has it from now on. */
		if (page)
			passed = ecache_flush_page(pool.core, v->object, block);
		v->passed += passed;
		trace_get(v, page, host, block, false);
		if (page && !volume_busy(v, block))
			track_set(page_to_pfn(page), v->id, block,
				  TRACK_LOADING, passed, 0);
	}
	return done;
}

static int map_read(struct target *t, struct bio *bio, struct io *io)
{
	struct volume *v = t->volume;
	u32 count, done;
	bool hit;

	if (!io->whole || !READ_ONCE(pool.caching) || !READ_ONCE(v->enabled))
		return DM_MAPIO_REMAPPED;
	track_prepare(io->count);
	count = min_t(u64, io->count, POOL_BATCH_PAGES);
	spin_lock_irq(&pool.lock);
	done = serve(v, bio, io->block, count);
	hit = done;
	if (!hit)
		done = note_loading(v, bio, io->block,
				    min_t(u64, io->count, POOL_BATCH_FRAMES));
	v->reads += done;
	pool.gets += done;
	if (hit) {
		v->hits += done;
		pool.hits += done;
	}
	spin_unlock_irq(&pool.lock);

	if (done < io->count) {
		dm_accept_partial_bio(bio, done << BLOCK_SHIFT);
		io->count = done;
	}
	if (hit) {
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	}
	io->kind = IO_READ;
	io->iter = bio->bi_iter;
	return DM_MAPIO_REMAPPED;
}

/* From here until the write ends nothing is read into the cache from these blocks. */
static void map_write(struct target *t, struct bio *bio, struct io *io)
{
	struct volume *v = t->volume;
	bool data = bio_op(bio) == REQ_OP_WRITE && io->whole;
	struct bvec_iter iter = bio->bi_iter;
	u64 i;

	io->kind = IO_WRITE;
	io->iter = iter;
	if (data)
		track_prepare(io->count);
	spin_lock_irq(&pool.lock);
	if (data)
		for (i = 0; i < io->count; i++, skip_block(bio, &iter)) {
			u64 block = io->block + i;
			struct bio_vec bv = bio_iter_iovec(bio, iter);
			struct inode *host;
			struct page *page =
				follow_bvec(v, &bv, block, true, &host);
			u32 sum = 0;

			if (!ECACHE_BROKEN_WRITE) {
				v->invalidated += ecache_flush_page(
					pool.core, v->object, block);
				track_forget_block(v->id, block);
			}
			if (!page || volume_busy(v, block) || !v->enabled)
				continue;
			if (follow_needs_sum(host)) {
				void *content = kmap_local_page(page);

				sum = follow_sum(content);
				kunmap_local(content);
			}
			track_set(page_to_pfn(page), v->id, block,
				  TRACK_WRITING, false, sum);
		}
	volume_write_begin(v, io->block, io->count);
	spin_unlock_irq(&pool.lock);
}

/* Writes without pages: discards, zeroes, and data in pieces of blocks. */
static void drop_blocks(struct volume *v, u64 block, u64 count)
{
	u64 i;

	if (ECACHE_BROKEN_WRITE)
		return;
	if (count <= INFLIGHT_BLOCKS) {
		spin_lock_irq(&pool.lock);
		for (i = 0; i < count; i++) {
			v->invalidated += ecache_flush_page(
				pool.core, v->object, block + i);
			track_forget_block(v->id, block + i);
		}
		spin_unlock_irq(&pool.lock);
		return;
	}
	pool_drop_range(v, block, count);
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
		if (bio_op(bio) != REQ_OP_WRITE || !io->whole)
			drop_blocks(t->volume, io->block, io->count);
		break;
	default:
		break;
	}
	if (result == DM_MAPIO_REMAPPED)
		bio->bi_iter.bi_sector = t->start + at;
	return result;
}

/* Ends the note of each page that this bio read or wrote. */
static void finish(struct volume *v, struct bio *bio, const struct io *io,
		   bool ok)
{
	bool write = io->kind == IO_WRITE;
	struct bvec_iter iter = io->iter;
	unsigned long flags;
	u64 i;

	for (i = 0; i < io->count; i++, skip_block(bio, &iter)) {
		struct bio_vec bv = bio_iter_iovec(bio, iter);
		unsigned long pfn = page_to_pfn(bv.bv_page);
		struct inode *host;
		u32 sum = 0;

		if (!track_entry(pfn))
			continue;
		host = follow_owner(v, page_folio(bv.bv_page));
		if (ok && host && !write && follow_needs_sum(host)) {
			void *content = kmap_local_page(bv.bv_page);

			sum = follow_sum(content);
			kunmap_local(content);
		}
		spin_lock_irqsave(&pool.lock, flags);
		track_finish(pfn, v->id, io->block + i,
			     write ? TRACK_WRITING : TRACK_LOADING, ok && host,
			     sum);
		spin_unlock_irqrestore(&pool.lock, flags);
	}
}

static int target_end_io(struct dm_target *ti, struct bio *bio,
			 blk_status_t *error)
{
	struct target *t = ti->private;
	struct io *io = dm_per_bio_data(bio, sizeof(*io));
	unsigned long flags;

	if (io->kind == IO_PLAIN)
		return DM_ENDIO_DONE;
	if (io->kind == IO_READ ||
	    (bio_op(bio) == REQ_OP_WRITE && io->whole))
		finish(t->volume, bio, io, *error == BLK_STS_OK);
	if (io->kind == IO_WRITE) {
		spin_lock_irqsave(&pool.lock, flags);
		volume_write_end(t->volume, io->block, io->count);
		spin_unlock_irqrestore(&pool.lock, flags);
	}
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
	t->volume = volume_get(bdev, t->dev->bdev, start, ti->begin, ti->len,
			       &ti->error);
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

	volume_put(t->volume);
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
	struct volume *v = t->volume;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		spin_lock_irq(&pool.lock);
		DMEMIT("reads %llu hits %llu misses %llu passed %llu puts %llu invalidated %llu cache %s",
		       v->reads, v->hits, v->reads - v->hits, v->passed,
		       v->puts, v->invalidated, v->enabled ? "on" : "off");
		spin_unlock_irq(&pool.lock);
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
	int error;
	u32 pages;

	if (argc == 1 && !strcmp(argv[0], "drop")) {
		pool_drop_range(t->volume, 0, TRACK_BLOCKS_MAX);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[0], "cache") &&
	    (!strcmp(argv[1], "on") || !strcmp(argv[1], "off"))) {
		spin_lock_irq(&pool.lock);
		t->volume->enabled = argv[1][1] == 'n';
		spin_unlock_irq(&pool.lock);
		if (argv[1][1] == 'f')
			pool_drop_range(t->volume, 0, TRACK_BLOCKS_MAX);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[0], "policy")) {
		error = pool_set_policy(argv[1]);
		/* Of anything else than a wrong name it has told. */
		if (error != -EINVAL)
			return error;
	}
	if (argc == 2 && !strcmp(argv[0], "salvage_pages") &&
	    !kstrtou32(argv[1], 10, &pages)) {
		WRITE_ONCE(pool.salvage_pages, pages);
		return 0;
	}
	pr_err("message: none of: drop, cache on|off, policy static|random|count|lru|aged, salvage_pages N\n");
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
	.version = { 1, 0, 0 },
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
