// SPDX-License-Identifier: GPL-2.0-only
/*
 * Following pages through the page cache: what the kernel tells on its own (trace
 * points, one probe) is turned into puts and into forgetting.
 *
 *	enters the page cache	forget: the page is somebody new
 *	is dirtied		forget: it no longer equals its block; its write-back
 *				will name it again
 *	moves (migration)	the entry moves along
 *	leaves it		put, if it was reclaimed; forget in any case
 *
 * Reclaim freezes a folio's reference count at 0 before the folio leaves; truncation,
 * invalidation and unmounting hold a reference.
 *
 * Metadata that a journal manages (jbd2) is changed in memory without the page's
 * dirty flag, until the transaction commits; if the journal aborts, the page becomes
 * clean again with content that never was on disk. So pages of anything but regular
 * files, directories and links carry a checksum of what was read or written, and are put
 * only if it holds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/kprobes.h>
#include <linux/pagemap.h>
#include <linux/tracepoint.h>
#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#endif

#include "follow.h"
#include "pool.h"
#include "trace.h"
#include "track.h"

#define SUM_ODD		0x9e3779b185ebca87ull

/* All bits of both into the upper ones. */
static u32 sum_of(u64 sum)
{
	sum = (sum ^ sum >> 32) * SUM_ODD;
	return sum >> (64 - TRACK_SUM_BITS);
}

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
	return sum_of((even << 32 | odd) * SUM_ODD);
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
	return sum_of(sum);
}

static noinline void trace_put(const struct volume *v, struct folio *folio,
			       unsigned long i, u64 block)
{
	const struct inode *host = folio->mapping->host;

	trace_ecache_put(v->bdev->bd_dev,
			 sb_is_blkdev_sb(host->i_sb) ? 0 : host->i_ino,
			 folio->index + i, block);
}

/*
 * Whether a page on its way out still equals its block. It is in a page cache, so its
 * owner is there. Encrypted files' pages are never followed.
 */
static bool still_equal(const struct volume *v, struct folio *folio,
			const struct track_entry *entry, const void *content,
			bool needs_sum)
{
	if (ECACHE_BROKEN_TRUNCATED)
		return true;
	if (folio_test_dirty(folio))
		return false;
	if (likely(!needs_sum))
		return folio->mapping->host->i_sb->s_bdev == v->bdev &&
		       folio_test_uptodate(folio);
	return follow_owner(v, folio) && entry->sum == follow_sum(content);
}

/* One page leaves by reclaim; with the pool's lock held. */
static void put_page_of(struct folio *folio, unsigned long i,
			const struct track_entry *entry, u64 *copying)
{
	struct volume *v = volume_by_id(track_volume(entry));
	bool needs_sum;
	void *content;

	if (entry->state != TRACK_UP || !pool.caching || !v || !v->enabled)
		return;
	needs_sum = follow_needs_sum(folio->mapping->host);
	content = kmap_local_page(folio_page(folio, i));
	if (still_equal(v, folio, entry, content, needs_sum) &&
	    pool_put(v->object, track_block(entry), entry->returned, content,
		     needs_sum ? entry->sum : POOL_NO_SUM, copying)) {
		v->puts++;
		if (trace_ecache_put_enabled())
			trace_put(v, folio, i, track_block(entry));
	}
	kunmap_local(content);
}

static void on_delete(void *unused, struct folio *folio)
{
	bool reclaimed = !folio_ref_count(folio) || ECACHE_BROKEN_TRUNCATED;
	unsigned long pfn = folio_pfn(folio), end = pfn + folio_nr_pages(folio);
	struct track_entry *entry;
	u64 start, copying;
	u32 chain;

	lockdep_assert_irqs_disabled();
	for (; pfn < end; pfn++) {
		start = pool_cycles();
		/* Nobody can begin to follow a page that is on its way out. */
		entry = track_find(pfn, &chain);
		if (!entry)
			continue;
		copying = 0;
		/* Interrupts are off: the page cache's own lock is held (xa_lock_irq). */
		spin_lock(&pool.lock);
		if (track_is(entry, pfn)) {
			if (reclaimed)
				put_page_of(folio, pfn - folio_pfn(folio), entry,
					    &copying);
			track_unlink(entry, chain);
		}
		if (copying)
			pool_cost_add(&pool.put_cost, start, copying, 1);
		spin_unlock(&pool.lock);
	}
}

static void forget_folio(struct folio *folio)
{
	unsigned long i, count = folio_nr_pages(folio);
	unsigned long flags;

	for (i = 0; i < count; i++) {
		if (!track_entry(folio_pfn(folio) + i))
			continue;
		spin_lock_irqsave(&pool.lock, flags);
		track_forget(folio_pfn(folio) + i);
		spin_unlock_irqrestore(&pool.lock, flags);
	}
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

/* folio_migrate_flags(new, old): content and index are the new folio's by now. */
static int on_migrate(struct kprobe *probe, struct pt_regs *regs)
{
	struct folio *to = (void *)regs_get_kernel_argument(regs, 0);
	struct folio *from = (void *)regs_get_kernel_argument(regs, 1);
	unsigned long i, count = folio_nr_pages(from);
	unsigned long flags;

	if (ECACHE_BROKEN_MIGRATION)
		return 0;
	for (i = 0; i < count; i++) {
		if (!track_entry(folio_pfn(from) + i) &&
		    !track_entry(folio_pfn(to) + i))
			continue;
		spin_lock_irqsave(&pool.lock, flags);
		/* Nothing can be made here: what cannot be followed is forgotten. */
		track_move(folio_pfn(to) + i, folio_pfn(from) + i);
		spin_unlock_irqrestore(&pool.lock, flags);
	}
	return 0;
}
NOKPROBE_SYMBOL(on_migrate);

static struct kprobe migrate_probe = {
	.symbol_name = "folio_migrate_flags",
	.pre_handler = on_migrate,
};

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

	error = register_kprobe(&migrate_probe);
	if (error) {
		pr_err("cannot follow page migration: probing %s: error %d: is CONFIG_KPROBES set?\n",
		       migrate_probe.symbol_name, error);
		return error;
	}
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
	unregister_kprobe(&migrate_probe);
}
