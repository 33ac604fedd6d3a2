// SPDX-License-Identifier: GPL-2.0-only
/* The location table; track.h says what for. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/mmzone.h>
#include <linux/slab.h>

#include "pool.h"
#include "track.h"

/* RAM's pages to a chain by page: where an eighth is followed, each has one entry. */
#define PAGES_PER_HEAD		8
/* Those by block are gone along less often. */
#define PAGES_PER_BLOCK_HEAD	16
#define BUCKET_BITS_MIN		10
#define BUCKET_BITS_MAX		28

u32 *track_heads;
u8 track_page_shift;
unsigned long track_first_pfn;
unsigned long track_nr_pages;
u64 *track_origin;
/* Chains by block. */
static u32 *block_heads;
static u8 block_shift;
/* Pages full of entries, in the order they were made; kept until the end. */
static struct track_chunk *first_chunk;
static struct track_chunk **last_link = &first_chunk;
static u64 nr_chunks;
/* Unused entries, linked by block: whoever stands at one goes on along its old chain. */
static u32 unused;
u32 track_unused_entries;

static u32 *make_heads(unsigned int bits)
{
	u32 bucket, *heads;

	heads = kvmalloc_array(1ul << bits, sizeof(*heads), GFP_KERNEL);
	for (bucket = 0; heads && bucket < 1u << bits; bucket++)
		heads[bucket] = TRACK_END | bucket;
	return heads;
}

static unsigned int page_bits(void)
{
	return 32 - track_page_shift;
}

static unsigned int block_bits(void)
{
	return 64 - block_shift;
}

static unsigned int bits_for(unsigned long buckets)
{
	return clamp(ilog2(buckets | 1), BUCKET_BITS_MIN, BUCKET_BITS_MAX);
}

int track_init(void)
{
	unsigned long end = 0, present = 0;
	int node;

	BUILD_BUG_ON(sizeof(struct track_entry) != 24);
	BUILD_BUG_ON(sizeof(struct track_chunk) > PAGE_SIZE);
	track_first_pfn = ULONG_MAX;
	for_each_online_node(node) {
		track_first_pfn = min(track_first_pfn, node_start_pfn(node));
		end = max(end, node_end_pfn(node));
		present += node_present_pages(node);
	}
	/* What has no number is not followed. */
	track_nr_pages = min_t(u64, end - track_first_pfn, TRACK_NO_PAGE);
	track_origin = __va(PFN_PHYS(track_first_pfn));
	track_page_shift = 32 - bits_for(present / PAGES_PER_HEAD);
	block_shift = 64 - bits_for(present / PAGES_PER_BLOCK_HEAD);
	track_heads = make_heads(page_bits());
	block_heads = make_heads(block_bits());
	unused = TRACK_END;
	if (!track_heads || !block_heads) {
		track_exit();
		pr_err("no memory for the location table\n");
		return -ENOMEM;
	}
	return 0;
}

void track_exit(void)
{
	while (first_chunk) {
		struct track_chunk *chunk = first_chunk;

		first_chunk = chunk->next;
		free_page((unsigned long)chunk);
	}
	last_link = &first_chunk;
	nr_chunks = 0;
	track_unused_entries = 0;
	kvfree(track_heads);
	kvfree(block_heads);
	track_heads = NULL;
	block_heads = NULL;
}

u64 track_memory_bytes(void)
{
	return (sizeof(u32) << page_bits()) + (sizeof(u32) << block_bits()) +
	       READ_ONCE(nr_chunks) * PAGE_SIZE;
}

u64 track_pages(void)
{
	return READ_ONCE(nr_chunks) * TRACK_CHUNK_ENTRIES - READ_ONCE(track_unused_entries);
}

static u64 link_to(const struct track_entry *entry)
{
	return (const u64 *)entry - track_origin;
}

/* On the way to disk: no waiting, no reserves. */
static struct track_chunk *make_chunk(gfp_t zone)
{
	struct track_chunk *chunk =
		(void *)__get_free_page(GFP_NOWAIT | __GFP_NOWARN |
					__GFP_NOMEMALLOC | zone);

	if (chunk && link_to(&chunk->entries[TRACK_CHUNK_ENTRIES]) >= TRACK_END) {
		free_page((unsigned long)chunk);
		/* The zone is below 4 GiB, and links reach 16. */
		return zone ? NULL : make_chunk(GFP_DMA32);
	}
	return chunk;
}

/* Hands out a chunk's entries. */
static void add_chunk(struct track_chunk *chunk)
{
	u32 i;

	for (i = 0; i < TRACK_CHUNK_ENTRIES; i++) {
		struct track_entry *entry = &chunk->entries[i];

		entry->page = TRACK_NO_PAGE;
		entry->next_by_page = TRACK_END;
		entry->next_by_block = unused;
		unused = link_to(entry);
	}
	track_unused_entries += i;
	chunk->next = NULL;
	*last_link = chunk;
	last_link = &chunk->next;
	WRITE_ONCE(nr_chunks, nr_chunks + 1);
}

void track_make_room(u32 pages)
{
	while (READ_ONCE(track_unused_entries) < pages) {
		struct track_chunk *chunk = make_chunk(0);
		unsigned long flags;

		if (!chunk)
			return;
		spin_lock_irqsave(&pool.lock, flags);
		add_chunk(chunk);
		spin_unlock_irqrestore(&pool.lock, flags);
	}
}

static u64 make_key(u32 volume, u64 block)
{
	return (u64)volume << TRACK_BLOCK_BITS | block;
}

static u32 *block_head(u64 key)
{
	return &block_heads[key * GOLDEN_RATIO_64 >> block_shift];
}

/* Takes an entry off its chain by page. */
static void unlink_page(const struct track_entry *entry, u32 chain)
{
	u32 *link = &track_heads[chain];

	while (track_linked(*link) != entry)
		link = &track_linked(*link)->next_by_page;
	WRITE_ONCE(*link, entry->next_by_page);
}

/* Puts an entry that has everything else on its page's chain, for all to see. */
static void link_page(struct track_entry *entry, u32 page, u32 chain)
{
	u32 *head = &track_heads[chain];

	WRITE_ONCE(entry->page, page);
	WRITE_ONCE(entry->next_by_page, *head);
	/* Pairs with track_find()'s loads through the link, which depend on it. */
	smp_store_release(head, link_to(entry));
}

void track_unlink(struct track_entry *entry, u32 chain)
{
	u32 *link = block_head(entry->key);

	unlink_page(entry, chain);
	while (track_linked(*link) != entry)
		link = &track_linked(*link)->next_by_block;
	*link = entry->next_by_block;
	WRITE_ONCE(entry->page, TRACK_NO_PAGE);
	entry->next_by_block = unused;
	unused = link_to(entry);
	track_unused_entries++;
}

void track_forget(unsigned long pfn)
{
	u32 chain;
	struct track_entry *entry = track_find(pfn, &chain);

	if (entry)
		track_unlink(entry, chain);
}

/* The entry with a key on this chain, or NULL. */
static struct track_entry *find_key(u32 link, u64 key)
{
	struct track_entry *entry;

	for (; !(link & TRACK_END); link = entry->next_by_block) {
		entry = track_linked(link);
		if (entry->key == key)
			return entry;
	}
	return NULL;
}

bool track_forget_block(u32 volume, u64 block)
{
	u64 key = make_key(volume, block);
	struct track_entry *entry = find_key(*block_head(key), key);

	if (entry)
		track_unlink(entry, track_bucket(entry->page));
	return entry;
}

/* Seldom: apart, so that whoever need not forget anything saves no registers for it. */
static noinline void forget_and_set(unsigned long pfn, u32 volume, u64 block,
				    enum track_state state, bool returned, u32 tag)
{
	track_forget_block(volume, block);
	track_forget(pfn);
	track_set(pfn, volume, block, state, returned, tag);
}

void track_set(unsigned long pfn, u32 volume, u64 block, enum track_state state,
	       bool returned, u32 tag)
{
	u64 key = make_key(volume, block);
	u32 *head = block_head(key);
	struct track_entry *entry;
	u32 link, chain = 0;

	entry = find_key(*head, key);
	if (likely(!entry))
		entry = track_find(pfn, &chain);
	if (unlikely(entry)) {
		forget_and_set(pfn, volume, block, state, returned, tag);
		return;
	}
	link = unused;
	if (link & TRACK_END || unlikely(pfn - track_first_pfn >= track_nr_pages))
		return;
	entry = track_linked(link);
	unused = entry->next_by_block;
	track_unused_entries--;
	WRITE_ONCE(entry->key, key);
	entry->tag = tag;
	entry->returned = returned;
	entry->state = state;
	entry->next_by_block = *head;
	*head = link;
	link_page(entry, pfn - track_first_pfn, chain);
}

void track_finish(unsigned long pfn, u32 volume, u64 block,
		  enum track_state from, bool ok, u32 tag)
{
	u32 chain;
	struct track_entry *entry = track_find(pfn, &chain);

	if (!entry || !track_is_io(entry, volume, block, from))
		return;
	if (!ok) {
		track_unlink(entry, chain);
		return;
	}
	entry->state = TRACK_UP;
	if (from == TRACK_LOADING)
		entry->tag = tag;
}

void track_move(unsigned long to, unsigned long from)
{
	struct track_entry *entry;
	u32 page = to - track_first_pfn, chain;

	track_forget(to);
	entry = track_find(from, &chain);
	if (!entry)
		return;
	if (to - track_first_pfn >= track_nr_pages) {
		track_unlink(entry, chain);
		return;
	}
	/* The entry stays where it is: track_forget_range() comes by there once. */
	unlink_page(entry, chain);
	link_page(entry, page, track_bucket(page));
}

bool track_forget_range(u32 volume, u64 first, u64 count,
			struct track_chunk **chunk)
{
	unsigned long i;

	*chunk = *chunk ? (*chunk)->next : first_chunk;
	if (!*chunk)
		return false;
	for (i = 0; i < TRACK_CHUNK_ENTRIES; i++) {
		struct track_entry *entry = &(*chunk)->entries[i];

		if (entry->page != TRACK_NO_PAGE && track_volume(entry) == volume &&
		    track_block(entry) - first < count)
			track_unlink(entry, track_bucket(entry->page));
	}
	return true;
}
