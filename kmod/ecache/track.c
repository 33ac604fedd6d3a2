// SPDX-License-Identifier: GPL-2.0-only
/* The location table; track.h says what for. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mmzone.h>
#include <linux/slab.h>

#include "track.h"

#define NO_PAGE		U32_MAX

/* Chunks by page number; made at need, kept until the end. */
struct track_entry **track_chunks;
unsigned long track_nr_chunks;
unsigned long track_first_pfn;
/* Heads of chains by block: page numbers counted from track_first_pfn. */
static u32 *buckets;
static unsigned int bucket_bits;
static atomic_long_t chunks_made;
static u64 followed;

int track_init(void)
{
	unsigned long end = 0, present = 0;
	int node;

	BUILD_BUG_ON(sizeof(struct track_entry) != 16);
	track_first_pfn = ULONG_MAX;
	for_each_online_node(node) {
		track_first_pfn = min(track_first_pfn, node_start_pfn(node));
		end = max(end, node_end_pfn(node));
		present += node_present_pages(node);
	}
	track_first_pfn = round_down(track_first_pfn, TRACK_CHUNK_PAGES);
	/* Pages are counted in 32 bits: 16 TiB. What is beyond is not followed. */
	end = min_t(u64, end, (u64)track_first_pfn + NO_PAGE);
	track_nr_chunks = DIV_ROUND_UP(end - track_first_pfn, TRACK_CHUNK_PAGES);
	bucket_bits = max(ilog2(present), 10);
	track_chunks = kvcalloc(track_nr_chunks, sizeof(*track_chunks), GFP_KERNEL);
	buckets = kvmalloc_array(1ul << bucket_bits, sizeof(*buckets),
				 GFP_KERNEL);
	if (!track_chunks || !buckets) {
		track_exit();
		pr_err("no memory for the location table\n");
		return -ENOMEM;
	}
	memset(buckets, 0xff, sizeof(*buckets) << bucket_bits);
	return 0;
}

void track_exit(void)
{
	unsigned long i;

	for (i = 0; track_chunks && i < track_nr_chunks; i++)
		free_page((unsigned long)track_chunks[i]);
	kvfree(track_chunks);
	kvfree(buckets);
	track_chunks = NULL;
	buckets = NULL;
	atomic_long_set(&chunks_made, 0);
	followed = 0;
}

u64 track_memory_bytes(void)
{
	return track_nr_chunks * sizeof(*track_chunks) + (sizeof(*buckets) << bucket_bits) +
	       (u64)atomic_long_read(&chunks_made) * PAGE_SIZE;
}

u64 track_pages(void)
{
	return READ_ONCE(followed);
}

bool track_prepare(unsigned long pfn)
{
	unsigned long i = (pfn - track_first_pfn) >> TRACK_CHUNK_SHIFT;
	struct track_entry *chunk;

	BUILD_BUG_ON(TRACK_CHUNK_PAGES * sizeof(*chunk) > PAGE_SIZE);
	if (pfn < track_first_pfn || i >= track_nr_chunks)
		return false;
	if (READ_ONCE(track_chunks[i]))
		return true;
	/* On the way to disk: no waiting, no reserves. */
	chunk = (void *)__get_free_page(GFP_NOWAIT | __GFP_NOWARN |
					__GFP_NOMEMALLOC | __GFP_ZERO);
	if (!chunk)
		return false;
	if (cmpxchg_release(&track_chunks[i], NULL, chunk))
		free_page((unsigned long)chunk);
	else
		atomic_long_inc(&chunks_made);
	return true;
}

static u64 make_key(u32 volume, u64 block)
{
	return (u64)volume << TRACK_BLOCK_BITS | block;
}

static u32 *bucket_of(u64 key)
{
	return &buckets[hash_64(key, bucket_bits)];
}

/* An entry by its number in a chain: it is there. */
static struct track_entry *linked(u32 number)
{
	return &track_chunks[number >> TRACK_CHUNK_SHIFT]
			    [number & (TRACK_CHUNK_PAGES - 1)];
}

void track_unlink(struct track_entry *entry, unsigned long pfn)
{
	u32 *link = bucket_of(entry->key);
	u32 number = pfn - track_first_pfn;

	while (*link != number)
		link = &linked(*link)->next;
	*link = entry->next;
	entry->state = TRACK_NONE;
	followed--;
}

void track_forget(unsigned long pfn)
{
	struct track_entry *entry = track_entry(pfn);

	if (entry)
		track_unlink(entry, pfn);
}

/* Takes the entry with a key out of a chain. */
static bool forget_key(u32 *link, u64 key)
{
	while (*link != NO_PAGE) {
		struct track_entry *entry = linked(*link);

		if (entry->key == key) {
			*link = entry->next;
			entry->state = TRACK_NONE;
			followed--;
			return true;
		}
		link = &entry->next;
	}
	return false;
}

bool track_forget_block(u32 volume, u64 block)
{
	u64 key = make_key(volume, block);

	return forget_key(bucket_of(key), key);
}

void track_set(unsigned long pfn, u32 volume, u64 block, enum track_state state,
	       bool returned, u32 sum)
{
	struct track_entry *entry = track_slot(pfn);
	u64 key = make_key(volume, block);
	u32 *bucket = bucket_of(key);

	forget_key(bucket, key);
	if (!entry)
		return;
	if (entry->state != TRACK_NONE)
		track_unlink(entry, pfn);
	entry->key = key;
	entry->sum = sum;
	entry->returned = returned;
	entry->state = state;
	entry->next = *bucket;
	*bucket = pfn - track_first_pfn;
	followed++;
}

void track_finish(unsigned long pfn, u32 volume, u64 block,
		  enum track_state from, bool ok, u32 sum)
{
	struct track_entry *entry = track_entry(pfn);

	if (!entry || entry->state != from ||
	    entry->key != make_key(volume, block))
		return;
	if (!ok) {
		track_unlink(entry, pfn);
		return;
	}
	entry->state = TRACK_UP;
	if (from == TRACK_LOADING)
		entry->sum = sum;
}

void track_move(unsigned long to, unsigned long from)
{
	const struct track_entry *entry = track_entry(from);
	struct track_entry old;

	track_forget(to);
	if (!entry)
		return;
	old = *entry;
	track_forget(from);
	track_set(to, track_volume(&old), track_block(&old), old.state,
		  old.returned, old.sum);
}

bool track_forget_range(u32 volume, u64 first, u64 count, unsigned long chunk)
{
	unsigned long i;

	if (chunk >= track_nr_chunks)
		return false;
	if (!track_chunks[chunk])
		return true;
	for (i = 0; i < TRACK_CHUNK_PAGES; i++) {
		struct track_entry *entry = &track_chunks[chunk][i];

		if (entry->state != TRACK_NONE && track_volume(entry) == volume &&
		    track_block(entry) - first < count)
			track_unlink(entry, track_first_pfn +
				     (chunk << TRACK_CHUNK_SHIFT) + i);
	}
	return true;
}
