/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Following pages into and out of the page cache.
 *
 * That a page holds what its bio carried is verified when it is put. Its entry in the
 * location table has a tag, 32 bits made of
 *
 *	whose the page is	its mapping and its index there, always. A page that moved
 *				unseen, or whose frame of memory is another's by now, has
 *				another tag.
 *	what is in it		a checksum taken when its bio ended, but for files of the
 *				kinds listed in follow.c. A page that was changed without
 *				being marked dirty has another tag.
 *
 * One page in 2^32 of those that differ passes.
 */
#ifndef FOVEA_ECACHE_FOLLOW_H
#define FOVEA_ECACHE_FOLLOW_H

#include <linux/blkdev.h>
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "../include/compat.h"
#include "pool.h"
#include "track.h"
#include "volume.h"

/* A page of a bio that can be followed. */
struct follow_page {
	/* NULL if it cannot be. */
	struct page *page;
	/* Its tag, as far as it does not depend on the content. */
	u32 tag;
	/* Whether its content is compared, too. */
	bool summed;
};

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

/* Learns what kind of file this is, if it is new to the volume. Process context. */
void follow_learn(struct volume *v, const struct inode *host);

/* Whether the contents of a file's pages are compared; what is not known yet is. */
static inline bool follow_summed(const struct volume *v, const struct inode *host)
{
	const struct address_space_operations *ops = host->i_mapping->a_ops;
	u32 i;

	if (unlikely(READ_ONCE(pool.verify) == POOL_VERIFY_ALWAYS))
		return true;
	if (!S_ISREG(host->i_mode) || host->i_blkbits < PAGE_SHIFT)
		return true;
	/* Pairs with follow_learn()'s store. */
	for (i = 0; i < smp_load_acquire(&v->nr_kinds); i++)
		if (v->kinds[i].ops == ops &&
		    v->kinds[i].type == host->i_sb->s_type)
			return !v->kinds[i].listed;
	return true;
}

static inline u32 follow_mix(u64 bits)
{
	bits = (bits ^ bits >> 32) * GOLDEN_RATIO_64;
	return bits >> 32;
}

/* The part of a tag that says whose a page is. */
static inline u32 follow_place(const struct address_space *mapping, pgoff_t index)
{
	return follow_mix((unsigned long)mapping + index * 0x9e3779b185ebca87ull);
}

/* The part that says what is in it. */
u32 follow_sum(const void *content);

/* The same of a page. */
static inline u32 follow_page_sum(struct page *page)
{
	void *content = kmap_local_page(page);
	u32 sum = follow_sum(content);

	kunmap_local(content);
	return sum;
}

/* Forgets a page. Under RCU. */
void follow_forget(unsigned long pfn);

/* Probes in the page cache. */
int follow_init(void);
void follow_exit(void);

#endif /* FOVEA_ECACHE_FOLLOW_H */
