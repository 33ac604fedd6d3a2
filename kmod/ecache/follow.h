/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pages of a bio can be followed into and out of the page cache. */
#ifndef FOVEA_ECACHE_FOLLOW_H
#define FOVEA_ECACHE_FOLLOW_H

#include <linux/blkdev.h>
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "compat.h"
#include "volume.h"

/* The page's owner if its folio is a page cache's and on this volume, else NULL. */
static inline struct inode *follow_owner(const struct volume *v,
					 struct folio *folio)
{
	struct address_space *mapping = READ_ONCE(folio->mapping);
	struct inode *host;

	if (!mapping || (unsigned long)mapping & PAGE_MAPPING_FLAGS ||
	    folio_test_slab(folio) || folio_test_swapcache(folio))
		return NULL;
	host = mapping->host;
	if (!host || !host->i_sb)
		return NULL;
	if (sb_is_blkdev_sb(host->i_sb))
		return I_BDEV(host) == v->bdev ? host : NULL;
	if (host->i_sb->s_bdev != v->bdev || IS_ENCRYPTED(host))
		return NULL;
	return host;
}

/*
 * The page of a bio's next whole block, if its content stands for that block: a page
 * being read that nobody sees yet, or one being written. Else NULL. `owner` is set to
 * the page's owner. Inline: it is called for each page that is read.
 */
static inline struct page *follow_bvec(const struct volume *v,
				       const struct bio_vec *bv, u64 block,
				       bool write, struct inode **owner)
{
	struct folio *folio;
	struct inode *host;

	if (bv->bv_offset || bv->bv_len != PAGE_SIZE)
		return NULL;
	folio = page_folio(bv->bv_page);
	host = follow_owner(v, folio);
	*owner = host;
	if (!host)
		return NULL;
	if (sb_is_blkdev_sb(host->i_sb)) {
		/*
		 * A journal writes such pages to places that are not theirs; and their
		 * buffers are locked for I/O one by one, not the page.
		 */
		if (folio->index + folio_page_idx(folio, bv->bv_page) !=
		    (v->begin >> BLOCK_SHIFT) + block)
			return NULL;
		return write || !folio_test_dirty(folio) ? bv->bv_page : NULL;
	}
	if (write)
		return folio_test_writeback(folio) ? bv->bv_page : NULL;
	/* Direct reads into a mapping of a file: that page is up to date. */
	return folio_test_locked(folio) && !folio_test_uptodate(folio) ?
		       bv->bv_page : NULL;
}

/* Whether a page's content may change without being marked dirty: metadata's may. */
static inline bool follow_needs_sum(const struct inode *host)
{
	return !S_ISREG(host->i_mode) && !S_ISDIR(host->i_mode) &&
	       !S_ISLNK(host->i_mode);
}

/* Checksum of such a page. */
u32 follow_sum(const void *content);

/* Probes in the page cache. */
int follow_init(void);
void follow_exit(void);

#endif /* FOVEA_ECACHE_FOLLOW_H */
