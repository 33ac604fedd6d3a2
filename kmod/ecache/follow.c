// SPDX-License-Identifier: GPL-2.0-only
/*
 * Following pages through the page cache: what the kernel tells on its own (trace
 * points, one function's calls) is turned into puts and into forgetting.
 *
 *	enters the page cache	forget: the page is somebody new
 *	is dirtied		forget: it no longer equals its block; its write-back
 *				will name it again
 *	moves (migration)	the entry moves along
 *	leaves it		put, if it was reclaimed and is what its tag says; forget
 *				in any case
 *
 * Reclaim freezes a folio's reference count at 0 before the folio leaves; truncation,
 * invalidation and unmounting hold a reference.
 *
 * What is not told costs hits and does no harm, since contents are compared (follow.h).
 * Not told is what khugepaged gathers into a huge page, and any move while function tracing
 * is broken; and every way in which the kernel changes a page without its dirty flag
 * (docs/design/ecache.md has the table).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/pagemap.h>
#include <linux/tracepoint.h>

#include "follow.h"
#include "moves.h"
#include "trace.h"

static noinline void trace_put(const struct volume *v, struct folio *folio,
			       unsigned long i, u64 block)
{
	const struct inode *host = folio->mapping->host;

	trace_ecache_put(v->bdev->bd_dev,
			 sb_is_blkdev_sb(host->i_sb) ? 0 : host->i_ino,
			 folio->index + i, block);
}

/* Forgets the page of an entry that was found without the lock; it may be another's. */
static void forget_entry(struct track_entry *entry, unsigned long pfn)
{
	struct volume *v = volume_by_id(track_volume(entry));
	unsigned long flags;

	if (unlikely(!v))
		return;
	flags = volume_lock_irqsave(v);
	if (track_is(entry, pfn))
		track_unlink(&v->track, entry);
	volume_unlock_irqrestore(v, flags);
}

void follow_forget(unsigned long pfn)
{
	struct track_entry *entry = track_entry(pfn);

	if (entry)
		forget_entry(entry, pfn);
}

/*
 * A frame for a page on its way out, or ECACHE_NONE, and then the page is forgotten. With
 * the volume's lock held.
 */
static u32 begin_put(struct volume *v, struct folio *folio, struct track_entry *entry)
{
	u32 frame = ECACHE_NONE;

	if (track_state(entry) == TRACK_UP && pool.active && v->enabled &&
	    (ECACHE_BROKEN_TRUNCATED ||
	     (!folio_test_dirty(folio) && folio_test_uptodate(folio))))
		frame = batch_take(&v->batch);
	if (frame == ECACHE_NONE)
		track_unlink(&v->track, entry);
	else
		track_set_state(entry, TRACK_PUTTING);
	return frame;
}

/* Whether what was copied is what the page's bio held. */
static inline bool is_content(const struct folio *folio, u64 tag, u64 hash)
{
	if (ECACHE_BROKEN_VERIFY || ECACHE_BROKEN_MIGRATION || ECACHE_BROKEN_TRUNCATED)
		return true;
	if (ECACHE_BROKEN_LISTED && S_ISREG(folio->mapping->host->i_mode) &&
	    folio->mapping->host->i_blkbits >= PAGE_SHIFT)
		return true;
	return likely(hash == tag);
}

/*
 * Ends the put of a page that was copied and has this hash, or could not be read. With the
 * volume's lock held. Else something was done to the block meanwhile.
 */
static void end_put(struct volume *v, struct folio *folio, unsigned long i,
		    struct track_entry *entry, u32 frame, bool whole, u64 hash)
{
	u64 block = track_block(entry);

	if (unlikely(!track_is(entry, folio_pfn(folio) + i) ||
		     track_state(entry) != TRACK_PUTTING)) {
		batch_spare(&v->batch, &frame, 1);
		return;
	}
	if (likely(whole && is_content(folio, entry->tag, hash))) {
		pool.tags[frame] = hash;
		batch_put(&v->batch, frame, block, track_returned(entry));
		if (trace_ecache_put_enabled())
			trace_put(v, folio, i, block);
	} else {
		v->counts.mismatched++;
		batch_spare(&v->batch, &frame, 1);
	}
	track_unlink(&v->track, entry);
}

/*
 * One page leaves by reclaim: nobody else has it, interrupts are off, and so is
 * preemption, which is why a volume does not go (RCU). Whether it was copied.
 */
static bool put_page_of(struct folio *folio, unsigned long i, unsigned long pfn,
			struct track_entry *entry)
{
	struct volume *v = volume_by_id(track_volume(entry));
	u64 start = pool_cycles(), hash = 0;
	struct page *page = folio_page(folio, i);
	u32 frame = ECACHE_NONE;
	bool vectors, whole;
	void *content;

	if (unlikely(!v))
		return false;
	if (unlikely(follow_poisoned(page))) {
		forget_entry(entry, pfn);
		return false;
	}
	timed_lock(&v->lock);
	if (likely(track_is(entry, pfn)))
		frame = begin_put(v, folio, entry);
	timed_unlock(&v->lock);
	if (frame == ECACHE_NONE)
		return false;

	content = kmap_local_page(page);
	vectors = nh_begin();
	pool_copy_begins();
	whole = nh_copy(vectors, pool_frame(frame), content, &hash);
	nh_end(vectors);
	kunmap_local(content);

	timed_lock(&v->lock);
	end_put(v, folio, i, entry, frame, whole, hash);
	pool_cost_add(&v->counts.put_cost, start, 1);
	timed_unlock(&v->lock);
	return true;
}

static void on_delete(void *unused, struct folio *folio)
{
	bool reclaimed = !folio_ref_count(folio) || ECACHE_BROKEN_TRUNCATED;
	unsigned long first = folio_pfn(folio), end = first + folio_nr_pages(folio);
	/* The kernel keeps interrupts off: what is beyond is only forgotten. */
	u32 left = nh_batch_pages;
	struct track_entry *entry;
	unsigned long pfn;
	u64 start = 0;

	lockdep_assert_irqs_disabled();
	if (static_branch_unlikely(&timed_lock_measure))
		start = get_cycles();
	for (pfn = first; pfn < end; pfn++) {
		/* Nobody can begin to follow a page that is on its way out. */
		entry = track_entry(pfn);
		if (!entry)
			continue;
		if (!reclaimed || !left) {
			forget_entry(entry, pfn);
			continue;
		}
		left -= put_page_of(folio, pfn - first, pfn, entry);
	}
	if (unlikely(start))
		pool.longest_put = max(pool.longest_put, get_cycles() - start);
}

static void forget_folio(struct folio *folio)
{
	unsigned long pfn = folio_pfn(folio), end = pfn + folio_nr_pages(folio);

	for (; pfn < end; pfn++)
		follow_forget(pfn);
}

static void on_add(void *unused, struct folio *folio)
{
	forget_folio(folio);
}

static void on_dirty(void *unused, struct folio *folio,
		     struct address_space *mapping)
{
	if (!ECACHE_BROKEN_TRUNCATED)
		forget_folio(folio);
}

/* Trace points of the page cache; they are not exported by name. */
static struct watch {
	const char *name;
	void *probe;
	struct tracepoint *point;
	bool registered;
} watches[] = {
	{ "mm_filemap_delete_from_page_cache", on_delete },
	{ "mm_filemap_add_to_page_cache", on_add },
	{ "writeback_dirty_folio", on_dirty },
};

static void find(struct tracepoint *point, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(watches); i++)
		if (!strcmp(point->name, watches[i].name))
			watches[i].point = point;
}

int follow_init(void)
{
	int i, error;

	error = moves_init();
	if (error)
		return error;
	for_each_kernel_tracepoint(find, NULL);
	/* In reverse: leaving the page cache is watched last, when all else is. */
	for (i = ARRAY_SIZE(watches) - 1; i >= 0; i--) {
		error = watches[i].point ?
			tracepoint_probe_register(watches[i].point,
						  watches[i].probe, NULL) :
			-ENOENT;
		if (error) {
			pr_err("cannot watch the page cache: trace point %s: error %d\n",
			       watches[i].name, error);
			follow_exit();
			return error;
		}
		watches[i].registered = true;
	}
	return 0;
}

void follow_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(watches); i++)
		if (watches[i].registered) {
			tracepoint_probe_unregister(watches[i].point,
						    watches[i].probe, NULL);
			watches[i].registered = false;
		}
	tracepoint_synchronize_unregister();
	moves_exit();
}
