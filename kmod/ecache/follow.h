/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Following pages into and out of the page cache.
 *
 * That a page holds what its bio carried is verified when it is put, whatever its file
 * system is: the hash of the content (nh.h) is taken when its read ended, or before its
 * write began, and compared with that of what was copied to the frame. So it does no harm
 * if a page moves unseen, is another's by now, or is changed without being marked dirty.
 * Of pages that differ one in 2^32 passes.
 */
#ifndef FOVEA_ECACHE_FOLLOW_H
#define FOVEA_ECACHE_FOLLOW_H

#include <linux/blkdev.h>
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "../include/compat.h"
#include "nh.h"
#include "pool.h"
#include "track.h"
#include "volume.h"

/*
 * The owner of a folio with this mapping if it is a page cache's and on this volume, else
 * NULL. Under RCU, for a page that may leave its file meanwhile: then the owner's memory is
 * still there, and what is read of it decides nothing, since such a page is not locked by
 * us.
 */
static inline struct inode *follow_owner(const struct volume *v,
					 struct folio *folio,
					 const struct address_space *mapping)
{
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
 * Whether the content of a page stands for this block of its owner's volume: a page being
 * read that nobody sees yet, or one being written. `index` is its place in the owner.
 */
static inline bool follow_stands(const struct volume *v, struct folio *folio,
				 const struct inode *host, pgoff_t index, u64 block,
				 bool write)
{
	/*
	 * A journal writes such pages to places that are not theirs; and their buffers are
	 * locked for I/O one by one, not the page.
	 */
	if (unlikely(S_ISBLK(host->i_mode)))
		return index == (v->begin >> BLOCK_SHIFT) + block &&
		       (write || !folio_test_dirty(folio));
	if (write)
		return folio_test_writeback(folio);
	/* Direct reads into a mapping of a file: that page is up to date. */
	return folio_test_locked(folio) && !folio_test_uptodate(folio);
}

/* Whether the kernel was told that a page's memory is broken: it is never read. */
static inline bool follow_poisoned(struct page *page)
{
	return IS_ENABLED(CONFIG_MEMORY_FAILURE) && !ECACHE_BROKEN_POISON &&
	       PageHWPoison(page);
}

/* The hash of what is in a page; false if it cannot be read. */
static inline bool follow_hash(bool vectors, struct page *page, u64 *hash)
{
	const void *content;
	bool whole;

	if (unlikely(follow_poisoned(page)))
		return false;
	content = kmap_local_page(page);
	whole = nh_page(vectors, content, hash);
	kunmap_local(content);
	return whole;
}

/* Forgets a page. Under RCU. */
void follow_forget(unsigned long pfn);

/* Probes in the page cache. */
int follow_init(void);
void follow_exit(void);

#endif /* FOVEA_ECACHE_FOLLOW_H */
