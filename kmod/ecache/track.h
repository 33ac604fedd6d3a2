/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The location tables: which block of which volume a page of the page cache holds.
 *
 * The kernel tells that a page leaves the page cache, and not where on disk its
 * content is. So the target notes it when the page passes by in a bio. An entry says
 * that the page's content equals the block on disk (UP), or will once its I/O has
 * ended well (LOADING, WRITING). It goes when either side may change: at a write to the
 * block from elsewhere, when the page is dirtied, leaves the page cache or enters it
 * anew. What is not followed is only not cached; so every doubt ends in forgetting.
 *
 * Each volume has a table of its own, which changes under its lock. The index by page is
 * common to all: a word for each page of RAM, which names the page's entry. An entry that
 * the index does not name is nobody's: its page was noted for another volume since. It
 * goes when it is come across by its block.
 *
 * Memory: 4 bytes for each page of RAM; 24 for each page that is followed, 170 of them in
 * a page that is made when those before are in use, and goes with the volume; and for
 * each volume a quarter of a byte for each of its blocks, or of RAM's pages if these are
 * fewer.
 */
#ifndef FOVEA_ECACHE_TRACK_H
#define FOVEA_ECACHE_TRACK_H

#include <linux/compiler.h>
#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/types.h>

/* What is known of a page's content; the lower half of what an entry says about it. */
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

/* A page's number: counted from track_first_pfn, 32 bits, so up to 16 TiB. */
#define TRACK_NO_PAGE		U32_MAX

#define TRACK_STATES		3u
/* Beside the state: the content was in the cache before, and came from there. */
#define TRACK_RETURNED		4u

/* Above the block of a key: its volume, which an entry never changes, and the above. */
#define TRACK_ABOUT_SHIFT	56
#define TRACK_KEY		((1ull << TRACK_ABOUT_SHIFT) - 1)

/* One page. */
struct track_entry {
	u64 key;
	/* The hash of the content that its bio held (nh.h). */
	u64 tag;
	/* Its number; TRACK_NO_PAGE while the entry is unused. */
	u32 page;
	/* Link: the entry after it in its chain by block, or of unused ones. */
	u32 next;
};

#define TRACK_CHUNK_ENTRIES	((PAGE_SIZE - sizeof(void *)) / sizeof(struct track_entry))

/* What entries are made in: a page. */
struct track_chunk {
	struct track_entry entries[TRACK_CHUNK_ENTRIES];
	struct track_chunk *next;
};

/* A volume's table; whoever has it has its lock. */
struct track {
	/* Chains by block. */
	u32 *heads;
	u8 heads_shift;
	u32 volume;
	u32 unused;
	u32 nr_unused;
	/* Pages full of entries, in the order they were made. */
	struct track_chunk *first_chunk;
	struct track_chunk **last_link;
	u64 nr_chunks;
};

/* The index by page. */
int track_index_init(void);
void track_index_exit(void);
u64 track_index_bytes(void);

/*
 * A table for so many blocks: 0 or -ENOMEM; `volume` is set before anything is followed.
 * At its end nothing is followed, and RCU's readers have gone, too.
 */
int track_init(struct track *t, u64 blocks);
void track_exit(struct track *t);

/* Bytes allocated, and entries in use. */
u64 track_bytes(const struct track *t);
u64 track_pages(const struct track *t);

/* Entries made at once at most: those of a large bio; more would only lie idle. */
#define TRACK_PREPARED_MAX	256

/* Entries to be, or NULL if there is no memory to spare; takes no lock. */
struct track_chunk *track_make_chunk(void);
/* Hands them out. */
void track_add_chunk(struct track *t, struct track_chunk *chunk);

/* For the functions here alone: the index's leaves, and what links are counted from. */
#define TRACK_LEAF_PAGES	(PAGE_SIZE / sizeof(u32))
extern u32 **track_leaves;
extern unsigned long track_first_pfn;
extern unsigned long track_nr_pages;
extern u64 *track_origin;

/*
 * A link names an entry by its place in the kernel's map of RAM, in 8 bytes: 32 GiB. None
 * is 0.
 */
static inline struct track_entry *track_linked(u32 link)
{
	return (struct track_entry *)(track_origin + link);
}

static inline u32 track_link(const struct track_entry *entry)
{
	return (const u64 *)entry - track_origin;
}

/* A page's word in the index; it has a number. */
static inline u32 *track_slot(u32 page)
{
	return &track_leaves[page / TRACK_LEAF_PAGES][page % TRACK_LEAF_PAGES];
}

/*
 * A page's entry, if it is followed, else NULL. Without its volume's lock this is a hint,
 * good for a page that nobody can begin to follow meanwhile, and until RCU's readers have
 * gone; and once the lock is had the entry may turn out to be another page's: track_is().
 */
static inline struct track_entry *track_entry(unsigned long pfn)
{
	unsigned long number = pfn - track_first_pfn;
	u32 link;

	if (unlikely(number >= track_nr_pages))
		return NULL;
	link = READ_ONCE(*track_slot(number));
	return link ? track_linked(link) : NULL;
}

static inline u32 track_volume(const struct track_entry *entry)
{
	return (READ_ONCE(entry->key) & TRACK_KEY) >> TRACK_BLOCK_BITS;
}

static inline u64 track_block(const struct track_entry *entry)
{
	return entry->key & (TRACK_BLOCKS_MAX - 1);
}

/* All below are called with the volume's lock held. */

static inline enum track_state track_state(const struct track_entry *entry)
{
	return entry->key >> TRACK_ABOUT_SHIFT & TRACK_STATES;
}

static inline bool track_returned(const struct track_entry *entry)
{
	return entry->key >> TRACK_ABOUT_SHIFT & TRACK_RETURNED;
}

static inline void track_set_state(struct track_entry *entry, enum track_state state)
{
	WRITE_ONCE(entry->key, (entry->key & ~((u64)TRACK_STATES << TRACK_ABOUT_SHIFT)) |
				       (u64)state << TRACK_ABOUT_SHIFT);
}

/* Whether an entry found without the lock still is that page's. */
static inline bool track_is(const struct track_entry *entry, unsigned long pfn)
{
	return entry->page == (u32)(pfn - track_first_pfn);
}

/*
 * Follows a page, and no other page for this block; needs entries added before. `about`:
 * its state, and TRACK_RETURNED.
 */
void track_set(struct track *t, unsigned long pfn, u64 block, u32 about, u64 tag);

/* Whether an entry is that of a page whose I/O for this block is in flight. */
static inline bool track_is_io(const struct track *t, const struct track_entry *entry,
			       u64 block, enum track_state state)
{
	return READ_ONCE(entry->key) == ((u64)state << TRACK_ABOUT_SHIFT |
					 (u64)t->volume << TRACK_BLOCK_BITS | block);
}

/* Ends a read or write that did not bring what a page is followed for. */
void track_fail(struct track *t, unsigned long pfn, u64 block, enum track_state from);

/*
 * Ends I/O: the page is UP if it is still in `from` for this block. What was read has the
 * tag that is given now.
 */
void track_finish(struct track *t, unsigned long pfn, u64 block, enum track_state from,
		  u64 tag);

/* Forgets a followed page by its entry; the page of a block, and whether there was one. */
void track_unlink(struct track *t, struct track_entry *entry);
bool track_forget_block(struct track *t, u64 block);

/* The content and role of an entry's page move to another page. */
void track_move(struct track *t, struct track_entry *entry, unsigned long to);

/*
 * Forgets pages with a block in [first, first + count), looking at one chunk: the one
 * after *chunk, which becomes that one, or the first if it is NULL. False if there is none.
 */
bool track_forget_range(struct track *t, u64 first, u64 count,
			struct track_chunk **chunk);

#endif /* FOVEA_ECACHE_TRACK_H */
