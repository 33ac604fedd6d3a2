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
 * What is not told does no harm, but costs hits: see follow.h on tags. Not told is what
 * khugepaged gathers into a huge page, and any move while function tracing is broken.
 *
 * Which contents are compared. Some pages hold something else than the bio brought, or
 * are changed without being marked dirty: a compressed EROFS decompresses over them; a
 * truncation clears the rest of a page of several blocks; a journal (jbd2) changes
 * metadata, and on older kernels file data, and marks it dirty when it commits; if it
 * aborts, the page becomes clean again with content that never was on disk. So contents
 * are compared, but for regular files with blocks no smaller than a page of the file
 * systems that are listed here and in the torture test.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/kallsyms.h>
#include <linux/pagemap.h>
#include <linux/tracepoint.h>
#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#endif

#include "follow.h"
#include "moves.h"
#include "trace.h"

/*
 * Files whose pages change only where they are marked dirty, and which hold what was read
 * into them: by the file system's name and by the function that dirties their pages. (The
 * files of ext4 with data=journal have another one.)
 */
static const struct {
	const char *type;
	const char *dirty_folio;
} listed_kinds[] = {
	/* ext4's code serves the older two as well. */
	{ "ext4", "ext4_dirty_folio" },
	{ "ext3", "ext4_dirty_folio" },
	{ "ext2", "ext4_dirty_folio" },
	{ "xfs", "iomap_dirty_folio" },
	{ "xfs", "filemap_dirty_folio" },
};

static bool is_listed(const struct file_system_type *type,
		      const struct address_space_operations *ops)
{
	char name[KSYM_SYMBOL_LEN];
	int i;

	sprint_symbol_no_offset(name, (unsigned long)ops->dirty_folio);
	/* "NAME [MODULE]" */
	name[strcspn(name, " ")] = '\0';
	for (i = 0; i < ARRAY_SIZE(listed_kinds); i++)
		if (!strcmp(type->name, listed_kinds[i].type) &&
		    !strcmp(name, listed_kinds[i].dirty_folio))
			return true;
	return false;
}

void follow_learn(struct volume *v, const struct inode *host)
{
	const struct address_space_operations *ops = host->i_mapping->a_ops;
	const struct file_system_type *type = host->i_sb->s_type;
	struct volume_kind *kind;
	unsigned long flags;
	bool listed;
	u32 i;

	if (!S_ISREG(host->i_mode))
		return;
	/* Pairs with the store below: kinds that are counted are filled in. */
	for (i = 0; i < smp_load_acquire(&v->nr_kinds); i++)
		if (v->kinds[i].ops == ops && v->kinds[i].type == type)
			return;
	/* Beyond so many kinds all are compared. */
	if (i == VOLUME_KINDS)
		return;
	listed = is_listed(type, ops);
	flags = volume_lock_irqsave(v);
	if (v->nr_kinds < VOLUME_KINDS) {
		kind = &v->kinds[v->nr_kinds];
		kind->ops = ops;
		kind->type = type;
		kind->listed = listed;
		/* Pairs with the loads above and in follow_summed(). */
		smp_store_release(&v->nr_kinds, v->nr_kinds + 1);
	}
	volume_unlock_irqrestore(v, flags);
}

#define SUM_ODD		0x9e3779b185ebca87ull

#ifdef CONFIG_X86_64
static inline u64 crc_step(u64 crc, const u64 *word)
{
	asm("crc32q %1, %0" : "+r"(crc) : "rm"(*word));
	return crc;
}

/*
 * One instruction for 8 bytes: a CRC-32C of every other word each. Not one of the whole
 * block: ext4's blocks hold their own, so that one stays the same whatever changes. With
 * half of the words between a change and the checksum that follows from it, the change
 * is multiplied by x^64m + x^128m instead of 0, which the polynomial divides for no m
 * that a page has.
 */
static u32 crc_sum(const u64 *word)
{
	u64 even = 0, odd = 0;
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < PAGE_SIZE / sizeof(*word); i += 2) {
		even = crc_step(even, &word[i]);
		odd = crc_step(odd, &word[i + 1]);
	}
	return follow_mix((even << 32 | odd) * SUM_ODD);
}
#endif

/*
 * Elsewhere three instructions for 8 bytes, where xxh64() takes six. Each step is
 * one-to-one in what came before, and the rotation brings high bits where the product
 * spreads them.
 */
u32 follow_sum(const void *content)
{
	const u64 *word = content;
	u64 sum = 0;
	u32 i;

#ifdef CONFIG_X86_64
	if (cpu_feature_enabled(X86_FEATURE_XMM4_2))
		return crc_sum(word);
#endif
#pragma GCC unroll 16
	for (i = 0; i < PAGE_SIZE / sizeof(*word); i++)
		sum = rol64(sum ^ word[i], 31) * SUM_ODD;
	return follow_mix(sum);
}

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

/* Else it was noted when less was compared than is asked for now. */
static bool compared_enough(const struct track_entry *entry)
{
	return entry->about.summed || READ_ONCE(pool.verify) != POOL_VERIFY_ALWAYS;
}

/*
 * A frame for a page on its way out, or ECACHE_NONE, and then the page is forgotten. With
 * the volume's lock held.
 */
static u32 begin_put(struct volume *v, struct folio *folio,
		     struct track_entry *entry, u32 tag)
{
	u32 frame = ECACHE_NONE;

	if (entry->about.state == TRACK_UP && pool.active && v->enabled &&
	    (ECACHE_BROKEN_TRUNCATED ||
	     (!folio_test_dirty(folio) && folio_test_uptodate(folio)))) {
		if (likely(entry->tag == tag && compared_enough(entry)) || ECACHE_BROKEN_VERIFY ||
		    ECACHE_BROKEN_MIGRATION || ECACHE_BROKEN_TRUNCATED)
			frame = batch_take(&v->batch);
		else
			v->counts.mismatched++;
	}
	if (frame == ECACHE_NONE)
		track_unlink(&v->track, entry);
	else
		entry->about.state = TRACK_PUTTING;
	return frame;
}

/*
 * One page leaves by reclaim: nobody else has it, interrupts are off, and so is
 * preemption, which is why a volume does not go (RCU). Returns what it took, in pages
 * copied.
 */
static u32 put_page_of(struct folio *folio, unsigned long i, unsigned long pfn,
		       struct track_entry *entry)
{
	struct volume *v = volume_by_id(track_volume(entry));
	u64 start = pool_cycles(), copying = 0, block, before;
	u32 frame = ECACHE_NONE, tag;
	struct page *page = folio_page(folio, i);
	bool summed;
	void *content;

	if (unlikely(!v))
		return 0;
	content = kmap_local_page(page);
	tag = follow_place(folio->mapping, folio->index + i);
	/* If the entry is another page's by now, what is found here decides nothing. */
	summed = READ_ONCE(entry->about.summed);
	if (summed)
		tag ^= follow_sum(content);

	gate_lock(&v->gate);
	if (likely(track_is(entry, pfn)))
		frame = begin_put(v, folio, entry, tag);
	block = track_block(entry);
	gate_unlock(&v->gate);
	if (frame == ECACHE_NONE)
		goto out;

	pool_copy_begins();
	before = pool_cycles();
	memcpy(pool_frame(frame), content, PAGE_SIZE);
	if (unlikely(before))
		copying = get_cycles() - before;

	gate_lock(&v->gate);
	/* Else something was done to the block meanwhile. */
	if (likely(track_is(entry, pfn) && entry->about.state == TRACK_PUTTING)) {
		batch_put(&v->batch, frame, block, entry->about.returned);
		track_unlink(&v->track, entry);
		if (trace_ecache_put_enabled())
			trace_put(v, folio, i, block);
	} else {
		batch_spare(&v->batch, &frame, 1);
	}
	pool_cost_add(&v->counts.put_cost, start, copying, 1);
	gate_unlock(&v->gate);
out:
	kunmap_local(content);
	return frame == ECACHE_NONE ? 0 : 1 + summed;
}

static void on_delete(void *unused, struct folio *folio)
{
	bool reclaimed = !folio_ref_count(folio) || ECACHE_BROKEN_TRUNCATED;
	unsigned long first = folio_pfn(folio), end = first + folio_nr_pages(folio);
	/* The kernel keeps interrupts off: what is beyond is only forgotten. */
	u32 left = POOL_BATCH_PAGES;
	struct track_entry *entry;
	unsigned long pfn;
	u64 start = 0;
	u32 taken;

	lockdep_assert_irqs_disabled();
	if (static_branch_unlikely(&gate_measure))
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
		taken = put_page_of(folio, pfn - first, pfn, entry);
		left -= min(left, taken);
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
