// SPDX-License-Identifier: GPL-2.0-only
/* The location tables; track.h says what for. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/mmzone.h>
#include <linux/slab.h>

#include "broken.h"
#include "track.h"

/* Blocks to a chain: where a sixteenth is followed, each has one entry. */
#define BLOCKS_PER_HEAD		16
#define HEADS_BITS_MIN		6
#define HEADS_BITS_MAX		28

u32 **track_leaves;
unsigned long track_first_pfn;
unsigned long track_nr_pages;
u64 *track_origin;
/* The leaf of pages that are not there: always empty. */
static u32 *no_leaf;
static unsigned long nr_leaves;
static unsigned long nr_present;

static bool any_page(unsigned long first)
{
	unsigned long pfn;

	for (pfn = first; pfn < first + TRACK_LEAF_PAGES; pfn++)
		if (pfn_valid(pfn))
			return true;
	return false;
}

int track_index_init(void)
{
	unsigned long end = 0, nr, i;
	int node;

	BUILD_BUG_ON(sizeof(struct track_entry) != 24);
	BUILD_BUG_ON(sizeof(struct track_chunk) > PAGE_SIZE);
	track_first_pfn = ULONG_MAX;
	for_each_online_node(node) {
		track_first_pfn = min(track_first_pfn, node_start_pfn(node));
		end = max(end, node_end_pfn(node));
	}
	/* What has no number is not followed. */
	track_nr_pages = min_t(u64, end - track_first_pfn, TRACK_NO_PAGE);
	/* One before: no link is 0. */
	track_origin = (u64 *)__va(PFN_PHYS(track_first_pfn)) - 1;
	nr = DIV_ROUND_UP(track_nr_pages, TRACK_LEAF_PAGES);
	no_leaf = (u32 *)get_zeroed_page(GFP_KERNEL);
	track_leaves = kvcalloc(nr, sizeof(*track_leaves), GFP_KERNEL);
	if (!no_leaf || !track_leaves)
		goto no_memory;
	for (i = 0; i < nr; i++)
		track_leaves[i] = no_leaf;
	for (i = 0; i < nr; i++) {
		u32 *leaf;

		if (!any_page(track_first_pfn + i * TRACK_LEAF_PAGES))
			continue;
		leaf = (u32 *)get_zeroed_page(GFP_KERNEL);
		if (!leaf)
			goto no_memory;
		track_leaves[i] = leaf;
		nr_present += TRACK_LEAF_PAGES;
		nr_leaves = i + 1;
	}
	return 0;

no_memory:
	track_index_exit();
	pr_err("no memory for the location table\n");
	return -ENOMEM;
}

void track_index_exit(void)
{
	unsigned long i;

	for (i = 0; i < nr_leaves; i++)
		if (track_leaves[i] != no_leaf)
			free_page((unsigned long)track_leaves[i]);
	nr_leaves = 0;
	nr_present = 0;
	kvfree(track_leaves);
	track_leaves = NULL;
	free_page((unsigned long)no_leaf);
	no_leaf = NULL;
}

u64 track_index_bytes(void)
{
	return nr_present * sizeof(u32) + nr_leaves * sizeof(*track_leaves);
}

static u64 nr_heads(const struct track *t)
{
	return 1ull << (64 - t->heads_shift);
}

int track_init(struct track *t, u64 blocks)
{
	u64 heads = min_t(u64, blocks, nr_present) / BLOCKS_PER_HEAD;

	memset(t, 0, sizeof(*t));
	t->heads_shift = 64 - clamp(ilog2(heads | 1), HEADS_BITS_MIN, HEADS_BITS_MAX);
	t->heads = kvcalloc(nr_heads(t), sizeof(*t->heads), GFP_KERNEL);
	t->last_link = &t->first_chunk;
	return t->heads ? 0 : -ENOMEM;
}

void track_exit(struct track *t)
{
	while (t->first_chunk) {
		struct track_chunk *chunk = t->first_chunk;

		t->first_chunk = chunk->next;
		free_page((unsigned long)chunk);
	}
	kvfree(t->heads);
	t->heads = NULL;
}

u64 track_bytes(const struct track *t)
{
	return sizeof(*t->heads) * nr_heads(t) + READ_ONCE(t->nr_chunks) * PAGE_SIZE;
}

u64 track_pages(const struct track *t)
{
	return READ_ONCE(t->nr_chunks) * TRACK_CHUNK_ENTRIES - READ_ONCE(t->nr_unused);
}

/* Whether links reach all of a page's entries. */
static bool in_reach(const struct track_chunk *chunk)
{
	return (u64)((const u64 *)(chunk + 1) - track_origin) <= U32_MAX;
}

/* On the way to disk: no waiting, no reserves. */
static struct track_chunk *chunk_from(gfp_t zone)
{
	return (void *)__get_free_page(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC | zone);
}

struct track_chunk *track_make_chunk(void)
{
	struct track_chunk *chunk = chunk_from(0);

	if (chunk && !in_reach(chunk)) {
		free_page((unsigned long)chunk);
		/* The zone is below 4 GiB, and links reach 32. */
		chunk = chunk_from(GFP_DMA32);
		if (chunk && !in_reach(chunk)) {
			free_page((unsigned long)chunk);
			chunk = NULL;
		}
	}
	return chunk;
}

void track_add_chunk(struct track *t, struct track_chunk *chunk)
{
	u32 i;

	for (i = 0; i < TRACK_CHUNK_ENTRIES; i++) {
		struct track_entry *entry = &chunk->entries[i];

		entry->key = (u64)t->volume << TRACK_BLOCK_BITS;
		entry->page = TRACK_NO_PAGE;
		entry->next = t->unused;
		t->unused = track_link(entry);
	}
	WRITE_ONCE(t->nr_unused, t->nr_unused + i);
	chunk->next = NULL;
	*t->last_link = chunk;
	t->last_link = &chunk->next;
	WRITE_ONCE(t->nr_chunks, t->nr_chunks + 1);
}

static u64 make_key(const struct track *t, u64 block)
{
	return (u64)t->volume << TRACK_BLOCK_BITS | block;
}

static u32 *block_head(const struct track *t, u64 key)
{
	return &t->heads[key * GOLDEN_RATIO_64 >> t->heads_shift];
}

/* A page's word in the index, or NULL if it has none. */
static u32 *find_slot(unsigned long pfn)
{
	unsigned long number = pfn - track_first_pfn;
	u32 *leaf;

	if (unlikely(number >= track_nr_pages))
		return NULL;
	leaf = track_leaves[number / TRACK_LEAF_PAGES];
	return likely(leaf != no_leaf) ? &leaf[number % TRACK_LEAF_PAGES] : NULL;
}

/* Takes an entry out of the index; whether it was there. */
static bool leave_index(const struct track_entry *entry)
{
	u32 link = track_link(entry), *slot = track_slot(entry->page);

	/* Another volume may note the page just now. */
	if (TRACK_BROKEN_INDEX) {
		WRITE_ONCE(*slot, 0);
		return true;
	}
	return cmpxchg(slot, link, 0) == link;
}

/* Where an entry hangs on its chain. */
static void take_off(struct track *t, u32 *link, struct track_entry *entry)
{
	*link = entry->next;
	entry->page = TRACK_NO_PAGE;
	entry->next = t->unused;
	t->unused = track_link(entry);
	WRITE_ONCE(t->nr_unused, t->nr_unused + 1);
}

void track_unlink(struct track *t, struct track_entry *entry)
{
	u32 *link = block_head(t, entry->key & TRACK_KEY), own = track_link(entry);

	while (*link != own)
		link = &track_linked(*link)->next;
	leave_index(entry);
	take_off(t, link, entry);
}

/* Where the entry of a key hangs, or the end of its chain. */
static u32 *find_key(u32 *link, u64 key)
{
	while (*link && (track_linked(*link)->key & TRACK_KEY) != key)
		link = &track_linked(*link)->next;
	return link;
}

bool track_forget_block(struct track *t, u64 block)
{
	u64 key = make_key(t, block);
	u32 *link = find_key(block_head(t, key), key);
	struct track_entry *entry;
	bool was;

	if (!*link)
		return false;
	entry = track_linked(*link);
	was = leave_index(entry);
	take_off(t, link, entry);
	return was;
}

/* Seldom: apart, so that whoever need not forget anything saves no registers for it. */
static noinline void forget_and_set(struct track *t, unsigned long pfn, u64 block,
				    u32 about, u64 tag)
{
	struct track_entry *entry;

	track_forget_block(t, block);
	entry = track_entry(pfn);
	if (entry && track_volume(entry) == t->volume)
		track_unlink(t, entry);
	track_set(t, pfn, block, about, tag);
}

void track_set(struct track *t, unsigned long pfn, u64 block, u32 about, u64 tag)
{
	u64 key = make_key(t, block);
	u32 *head = block_head(t, key), *slot = find_slot(pfn), link;
	struct track_entry *entry;

	if (unlikely(!slot)) {
		track_forget_block(t, block);
		return;
	}
	link = READ_ONCE(*slot);
	if (unlikely(*find_key(head, key) ||
		     (link && track_volume(track_linked(link)) == t->volume))) {
		forget_and_set(t, pfn, block, about, tag);
		return;
	}
	if (unlikely(!t->unused)) {
		/* It may be followed for another volume: no more. */
		WRITE_ONCE(*slot, 0);
		return;
	}
	link = t->unused;
	entry = track_linked(link);
	t->unused = entry->next;
	WRITE_ONCE(t->nr_unused, t->nr_unused - 1);
	WRITE_ONCE(entry->key, (u64)about << TRACK_ABOUT_SHIFT | key);
	entry->page = pfn - track_first_pfn;
	entry->tag = tag;
	entry->next = *head;
	*head = link;
	/* For all to see: loads through the link depend on it. */
	smp_store_release(slot, link);
}

/* The entry of I/O that ends, or NULL if it is no longer followed. */
static struct track_entry *find_io(const struct track *t, unsigned long pfn, u64 block,
				   enum track_state from)
{
	struct track_entry *entry = track_entry(pfn);

	return entry && track_is_io(t, entry, block, from) ? entry : NULL;
}

void track_fail(struct track *t, unsigned long pfn, u64 block, enum track_state from)
{
	struct track_entry *entry = find_io(t, pfn, block, from);

	if (entry)
		track_unlink(t, entry);
}

void track_finish(struct track *t, unsigned long pfn, u64 block, enum track_state from,
		  u64 tag)
{
	struct track_entry *entry = find_io(t, pfn, block, from);

	if (!entry)
		return;
	track_set_state(entry, TRACK_UP);
	if (from == TRACK_LOADING)
		entry->tag = tag;
}

void track_move(struct track *t, struct track_entry *entry, unsigned long to)
{
	struct track_entry *old = track_entry(to);
	u32 *slot = find_slot(to);

	if (old && track_volume(old) == t->volume)
		track_unlink(t, old);
	if (!slot) {
		track_unlink(t, entry);
		return;
	}
	/* The entry stays where it is: track_forget_range() comes by there once. */
	leave_index(entry);
	entry->page = to - track_first_pfn;
	/* As in track_set(). */
	smp_store_release(slot, track_link(entry));
}

bool track_forget_range(struct track *t, u64 first, u64 count,
			struct track_chunk **chunk)
{
	unsigned long i;

	*chunk = *chunk ? (*chunk)->next : t->first_chunk;
	if (!*chunk)
		return false;
	for (i = 0; i < TRACK_CHUNK_ENTRIES; i++) {
		struct track_entry *entry = &(*chunk)->entries[i];

		if (entry->page != TRACK_NO_PAGE && track_block(entry) - first < count)
			track_unlink(t, entry);
	}
	return true;
}
