// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios on their way: reads are served from the cache or noted on their way up (read.c),
 * writes are noted on their way down and drop what is cached of their blocks (write.c).
 * Every write to the device passes here; therefore a cached frame always equals its
 * block.
 */
#include <linux/bio.h>
#include <linux/blk-crypto.h>
#include <linux/device-mapper.h>
#include <linux/mm.h>

#include "io.h"
#include "pool.h"
#include "track.h"

/* Pages of one file follow each other: it is looked at once. */
void run_find_pages(struct volume *v, struct bio *bio, struct bvec_iter *iter,
		    struct run *run, bool write)
{
	struct page **at = run->pages, **end = at + run->count;
	const struct address_space *mapping, *last = NULL;
	struct inode *host = NULL;
	u64 block = run->block;
	struct folio *folio;
	pgoff_t index;

	run->followed = 0;

	for (; at < end; at++, block++) {
		struct bio_vec bv = bio_iter_iovec(bio, *iter);

		*at = NULL;
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
		}
		if (!host)
			continue;
		index = folio->index + folio_page_idx(folio, bv.bv_page);
		if (!follow_stands(v, folio, host, index, block, write))
			continue;
		*at = bv.bv_page;
		if (run->followed == at - run->pages)
			run->followed++;
	}
}

void run_forget(struct volume *v, const struct run *run)
{
	u32 i;

	volume_lock_irq(v);
	for (i = 0; i < run->count; i++)
		track_forget_block(&v->track, run->block + i);
	volume_unlock_irq(v);
}

/*
 * Ends the note of each page that this bio read or wrote. An entry that says so is of a
 * page that the bio's sender has locked, or is writing back: it stays in its file. What
 * was read is hashed before anybody else sees it: with interrupts off, of so many pages.
 */
static void finish(struct volume *v, struct bio *bio, const struct io *io, bool ok)
{
	enum track_state state = io->kind == IO_WRITE ? TRACK_WRITING : TRACK_LOADING;
	bool vectors = false, hashing = ok && state == TRACK_LOADING;
	u64 i, left = irqs_disabled() ? END_HASHED_MAX : io->count;
	struct bvec_iter iter = io->iter;
	struct track_entry *entry;
	unsigned long flags;

	if (hashing)
		vectors = nh_begin();
	for (i = 0; i < io->count; i++, skip_block(bio, &iter)) {
		struct bio_vec bv = bio_iter_iovec(bio, iter);
		unsigned long pfn = page_to_pfn(bv.bv_page);
		bool good = ok;
		u64 tag = 0;

		entry = track_entry(pfn);
		if (!entry || !track_is_io(&v->track, entry, io->block + i, state))
			continue;
		if (hashing) {
			good = left && follow_hash(vectors, bv.bv_page, &tag);
			left -= good;
		}
		flags = volume_lock_irqsave(v);
		if (good)
			track_finish(&v->track, pfn, io->block + i, state, tag);
		else
			track_fail(&v->track, pfn, io->block + i, state);
		volume_unlock_irqrestore(v, flags);
	}
	nh_end(vectors);
}

int io_map(struct dm_target *ti, struct bio *bio)
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
	/* What the lower device encrypts is not on disk as it is in memory. */
	io->whole = !((at | sectors) & (BLOCK_SECTORS - 1)) && !bio_has_crypt_ctx(bio);
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

int io_end(struct dm_target *ti, struct bio *bio, blk_status_t *error)
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
