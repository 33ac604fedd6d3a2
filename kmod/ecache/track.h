/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The location table: which block of which volume a page of the page cache holds.
 *
 * The kernel tells that a page leaves the page cache, and not where on disk its
 * content is. So the target notes it when the page passes by in a bio. An entry says
 * that the page's content equals the block on disk (UP), or will once its I/O has
 * ended well (LOADING, WRITING). It goes when either side may change: at a write to the
 * block from elsewhere, when the page is dirtied, leaves the page cache or enters it
 * anew. What is not followed is only not cached; so every doubt ends in forgetting.
 *
 * Memory: 16 bytes for each page of RAM, in chunks for 256 of them that are made when
 * the first of them is followed, and 4 to 8 bytes a page of RAM for the hash by block.
 */
#ifndef FOVEA_ECACHE_TRACK_H
#define FOVEA_ECACHE_TRACK_H

#include <asm/barrier.h>
#include <linux/types.h>

enum track_state {
	TRACK_NONE = 0,
	/* A read into the page is in flight. */
	TRACK_LOADING = 1,
	/* A write from the page is in flight. */
	TRACK_WRITING = 2,
	/* The page equals the block. */
	TRACK_UP = 3,
};

#define TRACK_BLOCK_BITS	48
#define TRACK_BLOCKS_MAX	(1ull << TRACK_BLOCK_BITS)
#define TRACK_SUM_BITS		29

/* One page. */
struct track_entry {
	/* Volume above the block's 48 bits. */
	u64 key;
	/* Page after it in its chain. */
	u32 next;
	/* Checksum for pages that change without being dirtied; see probes.c. */
	u32 sum : TRACK_SUM_BITS;
	/* The content was in the cache before, and came from there or could have. */
	u32 returned : 1;
	u32 state : 2;
};

int track_init(void);
void track_exit(void);

/* Bytes allocated, and pages followed now. */
u64 track_memory_bytes(void);
u64 track_pages(void);

/* Makes room for a page's entry; false if it cannot be followed. Takes no lock. */
bool track_prepare(unsigned long pfn);

#define TRACK_CHUNK_SHIFT	8
#define TRACK_CHUNK_PAGES	(1ul << TRACK_CHUNK_SHIFT)

/* Entries by page number, and the first page; for track_slot() alone. */
extern struct track_entry **track_chunks;
extern unsigned long track_nr_chunks;
extern unsigned long track_first_pfn;

/* Where a page's entry is, followed or not; NULL where nothing near it ever was. */
static inline struct track_entry *track_slot(unsigned long pfn)
{
	unsigned long i = pfn - track_first_pfn;
	struct track_entry *chunk;

	if (unlikely(i >> TRACK_CHUNK_SHIFT >= track_nr_chunks))
		return NULL;
	/* Pairs with the cmpxchg of track_prepare(): a chunk is zeroed before it shows. */
	chunk = smp_load_acquire(&track_chunks[i >> TRACK_CHUNK_SHIFT]);
	return chunk ? &chunk[i & (TRACK_CHUNK_PAGES - 1)] : NULL;
}

/*
 * A page's entry if it is followed, else NULL. Without the pool's lock this is a hint,
 * good for a page that nobody can begin to follow meanwhile.
 */
static inline struct track_entry *track_entry(unsigned long pfn)
{
	struct track_entry *entry = track_slot(pfn);

	return entry && entry->state != TRACK_NONE ? entry : NULL;
}

/* All below are called with the pool's lock held. */

static inline u32 track_volume(const struct track_entry *entry)
{
	return entry->key >> TRACK_BLOCK_BITS;
}

static inline u64 track_block(const struct track_entry *entry)
{
	return entry->key & (TRACK_BLOCKS_MAX - 1);
}

/* Follows a page, and no other page for this block; needs track_prepare() before. */
void track_set(unsigned long pfn, u32 volume, u64 block, enum track_state state,
	       bool returned, u32 sum);

/* Ends I/O: the page is UP if it is still in `from` for this block and all went well. */
void track_finish(unsigned long pfn, u32 volume, u64 block,
		  enum track_state from, bool ok, u32 sum);

/* Forgets a followed page by its entry; any page; the page of a block, if any. */
void track_unlink(struct track_entry *entry, unsigned long pfn);
void track_forget(unsigned long pfn);
bool track_forget_block(u32 volume, u64 block);

/* A page's content and role move to another page. */
void track_move(unsigned long to, unsigned long from);

/*
 * Forgets pages with a block in [first, first + count) of a volume, looking at one
 * chunk: `chunk` counts from 0, false when there is no such chunk any more.
 */
bool track_forget_range(u32 volume, u64 first, u64 count, unsigned long chunk);

#endif /* FOVEA_ECACHE_TRACK_H */
