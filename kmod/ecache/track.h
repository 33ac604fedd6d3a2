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
 * Memory: 24 bytes for each page that is followed, 170 of them in a page that is made
 * when those before are in use, and at most 0.75 bytes for each page of RAM, by which
 * entries are found by page and by block.
 */
#ifndef FOVEA_ECACHE_TRACK_H
#define FOVEA_ECACHE_TRACK_H

#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/types.h>

enum track_state {
	/* The page is being copied to a frame on its way out. */
	TRACK_PUTTING = 0,
	/* A read into the page is in flight. */
	TRACK_LOADING = 1,
	/* A write from the page is in flight. */
	TRACK_WRITING = 2,
	/* The page equals the block. */
	TRACK_UP = 3,
};

/* As many as the core's. */
#define TRACK_BLOCK_BITS	40
#define TRACK_BLOCKS_MAX	(1ull << TRACK_BLOCK_BITS)
#define TRACK_TAG_BITS		29

/* A page's number: counted from track_first_pfn, 32 bits, so up to 16 TiB. */
#define TRACK_NO_PAGE		U32_MAX
/* In a link: here ends a chain, that of the bucket in the other bits. */
#define TRACK_END		BIT(31)

/* One page. */
struct track_entry {
	/* Volume above the block's 40 bits. */
	u64 key;
	/* Its number; TRACK_NO_PAGE while the entry is unused. */
	u32 page;
	/* Links: entries after it in its chains by page and by block. */
	u32 next_by_page;
	u32 next_by_block;
	/* What the page must be to be put: its owner and place, its content; follow.h. */
	u32 tag : TRACK_TAG_BITS;
	/* The content was in the cache before, and came from there or could have. */
	u32 returned : 1;
	u32 state : 2;
};

#define TRACK_CHUNK_ENTRIES	((PAGE_SIZE - sizeof(void *)) / sizeof(struct track_entry))

/* What entries are made in: a page. */
struct track_chunk {
	struct track_entry entries[TRACK_CHUNK_ENTRIES];
	struct track_chunk *next;
};

int track_init(void);
void track_exit(void);

/* Bytes allocated, and pages followed now. */
u64 track_memory_bytes(void);
u64 track_pages(void);

/* Entries made at once at most: those of a large bio; more would only lie idle. */
#define TRACK_PREPARED_MAX	256
extern u32 track_unused_entries;
void track_make_room(u32 pages);

/* Makes room for the entries of so many pages more, if there is memory. Takes the lock. */
static inline void track_prepare(u64 pages)
{
	pages = min_t(u64, pages, TRACK_PREPARED_MAX);
	if (unlikely(READ_ONCE(track_unused_entries) < pages))
		track_make_room(pages);
}

/* Chains by page, and which pages may be followed; for the functions here alone. */
extern u32 *track_heads;
/* Upper bits of a hash that number the chains: 32 less this. */
extern u8 track_page_shift;
extern unsigned long track_first_pfn;
extern unsigned long track_nr_pages;
/* What links are counted from. */
extern u64 *track_origin;

/* Negative control: who strays onto another chain takes its end for the right one. */
#ifndef TRACK_BROKEN_STRAY
#define TRACK_BROKEN_STRAY 0
#endif

/* A link names an entry by its place in the kernel's map of RAM, in 8 bytes: 16 GiB. */
static inline struct track_entry *track_linked(u32 link)
{
	return (struct track_entry *)(track_origin + link);
}

static inline u32 track_bucket(u32 page)
{
	return page * GOLDEN_RATIO_32 >> track_page_shift;
}

/*
 * A page's entry, and which chain it is on, if it is followed, else NULL. Without the
 * pool's lock this is a hint, good for a page that nobody can begin to follow meanwhile;
 * and once the lock is had the entry may turn out to be another page's: track_is().
 *
 * An entry that is taken off its chain may be put on another one while somebody is at
 * it who holds no lock. That one then ends at another chain's end, and begins again.
 */
static inline struct track_entry *track_find(unsigned long pfn, u32 *chain)
{
	unsigned long number = pfn - track_first_pfn;
	struct track_entry *entry;
	u32 bucket, link;

	if (unlikely(number >= track_nr_pages))
		return NULL;
	bucket = track_bucket(number);
	*chain = bucket;
	do {
		link = READ_ONCE(track_heads[bucket]);
		while (!(link & TRACK_END)) {
			entry = track_linked(link);
			if (READ_ONCE(entry->page) == number)
				return entry;
			link = READ_ONCE(entry->next_by_page);
		}
	} while (unlikely(link != (TRACK_END | bucket)) && !TRACK_BROKEN_STRAY);
	return NULL;
}

static inline struct track_entry *track_entry(unsigned long pfn)
{
	u32 chain;

	return track_find(pfn, &chain);
}

/* All below are called with the pool's lock held. */

/* Whether an entry found without the lock still is that page's. */
static inline bool track_is(const struct track_entry *entry, unsigned long pfn)
{
	return entry->page == (u32)(pfn - track_first_pfn);
}

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
	       bool returned, u32 tag);

/* Whether an entry is that of a page in this state for this block. */
static inline bool track_is_io(const struct track_entry *entry, u32 volume, u64 block,
			       enum track_state state)
{
	return READ_ONCE(entry->key) == ((u64)volume << TRACK_BLOCK_BITS | block) &&
	       entry->state == state;
}

/* Ends I/O: the page is UP if it is still in `from` for this block and all went well. */
void track_finish(unsigned long pfn, u32 volume, u64 block,
		  enum track_state from, bool ok, u32 tag);

/* Forgets a followed page by its entry; any page; the page of a block, if any. */
void track_unlink(struct track_entry *entry, u32 chain);
void track_forget(unsigned long pfn);
bool track_forget_block(u32 volume, u64 block);

/* A page's content and role move to another page. */
void track_move(unsigned long to, unsigned long from);

/*
 * Forgets pages with a block in [first, first + count) of a volume, looking at one
 * chunk: the one after *chunk, which becomes that one, or the first if it is NULL. False
 * if there is none.
 */
bool track_forget_range(u32 volume, u64 first, u64 count,
			struct track_chunk **chunk);

#endif /* FOVEA_ECACHE_TRACK_H */
