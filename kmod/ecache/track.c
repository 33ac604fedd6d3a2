// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The location table; track.h says what for. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mmzone.h>
#include <linux/slab.h>

#include "track.h"

#define CHUNK_SHIFT	8
#define CHUNK_PAGES	(1ul << CHUNK_SHIFT)
#define NO_PAGE		U32_MAX

/* Chunks by page number; made at need, kept until the end. */
static struct track_entry **chunks;
static unsigned long nr_chunks;
static unsigned long first_pfn;
/* Heads of chains by block: page numbers counted from first_pfn. */
static u32 *buckets;
static unsigned int bucket_bits;
static atomic_long_t chunks_made;
static u64 followed;

int track_init(void)
{
	unsigned long end = 0, present = 0;
	int node;

	BUILD_BUG_ON(sizeof(struct track_entry) != 16);
	first_pfn = ULONG_MAX;
	for_each_online_node(node) {
		first_pfn = min(first_pfn, node_start_pfn(node));
		end = max(end, node_end_pfn(node));
		present += node_present_pages(node);
	}
	first_pfn = round_down(first_pfn, CHUNK_PAGES);
	/* Pages are counted in 32 bits: 16 TiB. What is beyond is not followed. */
	end = min_t(u64, end, (u64)first_pfn + NO_PAGE);
	nr_chunks = DIV_ROUND_UP(end - first_pfn, CHUNK_PAGES);
	bucket_bits = max(ilog2(present), 10);
	chunks = kvcalloc(nr_chunks, sizeof(*chunks), GFP_KERNEL);
	buckets = kvmalloc_array(1ul << bucket_bits, sizeof(*buckets),
				 GFP_KERNEL);
	if (!chunks || !buckets) {
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

	for (i = 0; chunks && i < nr_chunks; i++)
		free_page((unsigned long)chunks[i]);
	kvfree(chunks);
	kvfree(buckets);
	chunks = NULL;
	buckets = NULL;
	atomic_long_set(&chunks_made, 0);
	followed = 0;
}

u64 track_memory_bytes(void)
{
	return nr_chunks * sizeof(*chunks) + (sizeof(*buckets) << bucket_bits) +
	       (u64)atomic_long_read(&chunks_made) * PAGE_SIZE;
}

u64 track_pages(void)
{
	return READ_ONCE(followed);
}

bool track_prepare(unsigned long pfn)
{
	unsigned long i = (pfn - first_pfn) >> CHUNK_SHIFT;
	struct track_entry *chunk;

	BUILD_BUG_ON(CHUNK_PAGES * sizeof(*chunk) > PAGE_SIZE);
	if (pfn < first_pfn || i >= nr_chunks)
		return false;
	if (READ_ONCE(chunks[i]))
		return true;
	/* On the way to disk: no waiting, no reserves. */
	chunk = (void *)__get_free_page(GFP_NOWAIT | __GFP_NOWARN |
					__GFP_NOMEMALLOC | __GFP_ZERO);
	if (!chunk)
		return false;
	if (cmpxchg_release(&chunks[i], NULL, chunk))
		free_page((unsigned long)chunk);
	else
		atomic_long_inc(&chunks_made);
	return true;
}

static struct track_entry *slot(unsigned long pfn)
{
	unsigned long i = pfn - first_pfn;
	struct track_entry *chunk;

	if (unlikely(pfn < first_pfn || i >> CHUNK_SHIFT >= nr_chunks))
		return NULL;
	chunk = smp_load_acquire(&chunks[i >> CHUNK_SHIFT]);
	return chunk ? &chunk[i & (CHUNK_PAGES - 1)] : NULL;
}

enum track_state track_peek(unsigned long pfn)
{
	const struct track_entry *entry = slot(pfn);

	return entry ? entry->state : TRACK_NONE;
}

struct track_entry *track_entry(unsigned long pfn)
{
	struct track_entry *entry = slot(pfn);

	return entry && entry->state != TRACK_NONE ? entry : NULL;
}

static u64 make_key(u32 volume, u64 block)
{
	return (u64)volume << TRACK_BLOCK_BITS | block;
}

static u32 *bucket_of(u64 key)
{
	return &buckets[hash_64(key, bucket_bits)];
}

/* Takes an entry out of its chain. */
static void unlink_entry(struct track_entry *entry, u32 number)
{
	u32 *link = bucket_of(entry->key);

	while (*link != number)
		link = &slot(first_pfn + *link)->next;
	*link = entry->next;
	entry->state = TRACK_NONE;
	followed--;
}

void track_forget(unsigned long pfn)
{
	struct track_entry *entry = track_entry(pfn);

	if (entry)
		unlink_entry(entry, pfn - first_pfn);
}

bool track_forget_block(u32 volume, u64 block)
{
	u64 key = make_key(volume, block);
	u32 *link = bucket_of(key);

	while (*link != NO_PAGE) {
		struct track_entry *entry = slot(first_pfn + *link);

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

void track_set(unsigned long pfn, u32 volume, u64 block, enum track_state state,
	       u32 sum)
{
	struct track_entry *entry = slot(pfn);
	u32 *bucket;

	track_forget_block(volume, block);
	if (!entry)
		return;
	if (entry->state != TRACK_NONE)
		unlink_entry(entry, pfn - first_pfn);
	entry->key = make_key(volume, block);
	entry->sum = sum;
	entry->state = state;
	bucket = bucket_of(entry->key);
	entry->next = *bucket;
	*bucket = pfn - first_pfn;
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
		unlink_entry(entry, pfn - first_pfn);
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
		  old.sum);
}

bool track_forget_range(u32 volume, u64 first, u64 count, unsigned long chunk)
{
	unsigned long i;

	if (chunk >= nr_chunks)
		return false;
	if (!chunks[chunk])
		return true;
	for (i = 0; i < CHUNK_PAGES; i++) {
		struct track_entry *entry = &chunks[chunk][i];

		if (entry->state != TRACK_NONE && track_volume(entry) == volume &&
		    track_block(entry) - first < count)
			unlink_entry(entry, (chunk << CHUNK_SHIFT) + i);
	}
	return true;
}
