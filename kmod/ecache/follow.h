/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pages of a bio can be followed into and out of the page cache. */
#ifndef FOVEA_ECACHE_FOLLOW_H
#define FOVEA_ECACHE_FOLLOW_H

#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/mm.h>

#include "volume.h"

/* The page's owner if its folio is a page cache's and on this volume, else NULL. */
struct inode *follow_owner(const struct volume *volume, struct folio *folio);

/*
 * The page of a bio's next whole block, if its content stands for that block: a page
 * being read that nobody sees yet, or one being written. Else NULL. `owner` is set to
 * the page's owner.
 */
struct page *follow_bvec(const struct volume *volume, const struct bio_vec *bv,
			 u64 block, bool write, struct inode **owner);

/* Whether a page's content may change without being marked dirty. */
static inline bool follow_needs_sum(const struct inode *host)
{
	return !S_ISREG(host->i_mode);
}

/* Checksum of such a page. */
u32 follow_sum(const void *content);

/* Probes in the page cache. */
int follow_init(void);
void follow_exit(void);

#endif /* FOVEA_ECACHE_FOLLOW_H */
