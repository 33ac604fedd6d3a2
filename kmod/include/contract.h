/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the modules and user space call things between them. The modules expand these
 * lists; user space reads this very file when it is built (crates/contract), so keep to
 * its form: a list is `#define NAME(X) \` and one X(...) a line, a text `#define NAME "..."`.
 */
#ifndef FOVEA_CONTRACT_H
#define FOVEA_CONTRACT_H

/* As the kernel has them. */
#define ECACHE_MODULE		"dm_ecache"
#define HEAP_MODULE		"fovea_heap"
#define CONTIG_MODULE		"contig_heap"
#define SELFTEST_MODULE		"ecache_selftest"

/* Below /dev: device nodes. */
#define HEAP_FOLDER		"ecache"

/* In /sys/class/misc/ecache!NAME: of each node. */
#define HEAP_ATTRIBUTES(X) \
	X(size_bytes) \
	X(held_bytes)

/* dm-ecache's, in /sys/module/dm_ecache/parameters. */
#define ECACHE_PARAMETERS(X) \
	X(carveouts) \
	X(devices) \
	X(zero) \
	X(salvage_pages) \
	X(protect_percent) \
	X(verify) \
	X(caching) \
	X(measure) \
	X(measure_held)

/* Values of zero: when a buffer's pages are cleared. */
#define ECACHE_ZERO(X) \
	/* When somebody first can see them. */ \
	X(LAZY, lazy) \
	/* All of them before the allocation returns. */ \
	X(ALLOC, alloc)

/* Values of verify: whose pages' contents are compared before they are put. */
#define ECACHE_VERIFY(X) \
	/* All but on file systems that say when they change. */ \
	X(AUTO, auto) \
	X(ALWAYS, always)

/* Numbers in /sys/module/dm_ecache/pool, a file each (docs/ecache.md says what of). */
#define ECACHE_STATISTICS(X) \
	X(frames) \
	X(cached) \
	X(free) \
	X(device) \
	X(tombstones) \
	X(puts) \
	X(puts_refused) \
	X(gets) \
	X(hits) \
	X(evictions) \
	X(flushed) \
	X(allocs) \
	X(discarded) \
	X(salvaged) \
	X(mismatched) \
	X(tracked) \
	X(memory_bytes) \
	X(put_insns) \
	X(put_count) \
	X(get_insns) \
	X(get_count) \
	X(held_insns) \
	X(held_count) \
	X(volume_held_insns) \
	X(volume_held_count) \
	X(longest_held_insns) \
	X(longest_put_insns) \
	X(moves_unseen)

/* contig-heap's, in /sys/module/contig_heap/parameters. */
#define CONTIG_PARAMETERS(X) \
	X(region) \
	X(devices) \
	X(tries)

#endif /* FOVEA_CONTRACT_H */
