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
#define SYSTEM_MODULE		"fovea_system_heap"
#define WRAP_MODULE		"fovea_heap_wrap"
#define CONTIG_MODULE		"contig_heap"
#define EDU_MODULE		"edu_importer"
#define ODD_MODULE		"odd_exporter"
#define SELFTEST_MODULE		"ecache_selftest"

/* Below /dev: nodes of devices with reservations, and those of memory that is anybody's. */
#define HEAP_FOLDER		"ecache"
#define HEAP_SHARED_FOLDER	"fovea-heap"

/* In the latter: the system's pages. */
#define SYSTEM_NODE		"system"

/* In /sys/class/misc/FOLDER!NAME: of each node. A size of 0: no reservation. */
#define HEAP_ATTRIBUTES(X) \
	X(size_bytes) \
	X(held_bytes)

/* fovea-heap's, in /sys/module/fovea_heap/parameters. */
#define HEAP_PARAMETERS(X) \
	/* Whether mappings are kept. */ \
	X(mapcache) \
	/* What one device's mappings may take of its addresses. */ \
	X(device_cap_bytes)

/* fovea-system-heap's, in /sys/module/fovea_system_heap/parameters. */
#define SYSTEM_PARAMETERS(X) \
	/* The largest pieces that are tried, as a power of two of pages. */ \
	X(max_order) \
	/* No two neighbouring pages in a buffer. */ \
	X(scatter)

/* fovea-heap-wrap's, in /sys/module/fovea_heap_wrap/parameters. */
#define WRAP_PARAMETERS(X) \
	/* Names of the exporters whose buffers it wraps. */ \
	X(exporters)

/* Numbers in /sys/module/fovea_heap_wrap/wrap; reading `active` tries the probe, 1 or 0. */
#define WRAP_FOLDER		"wrap"
#define WRAP_STATISTICS(X) \
	X(active) \
	X(wrapped) \
	X(refused) \
	X(missed)

/* Numbers in /sys/module/fovea_heap/mapcache (docs/guide/board.md says what of). */
#define HEAP_MAPCACHE_FOLDER	"mapcache"
#define HEAP_MAPCACHE_STATISTICS(X) \
	X(mappings) \
	X(idle) \
	X(mapped_bytes) \
	X(hits) \
	X(misses) \
	X(evicted) \
	X(shrunk) \
	X(failures) \
	/* The kernel's own mappings, for importers without DMA. */ \
	X(vmap_hits) \
	X(vmap_misses)

/* In /proc: a line for each cgroup and user that holds buffers, each word and a number. */
#define HEAP_HOLDERS_FILE	"fovea-heap-holders"
#define HEAP_HOLDER_WORDS(X) \
	X(cgroup) \
	X(uid) \
	X(buffers) \
	X(bytes)

/* In debugfs: a line for each device, and for each buffer. */
#define HEAP_DEBUGFS_FOLDER	"fovea-heap"
#define HEAP_DEBUGFS_DEVICES	"devices"
#define HEAP_DEBUGFS_BUFFERS	"buffers"

/* dm-ecache's, in /sys/module/dm_ecache/parameters. */
#define ECACHE_PARAMETERS(X) \
	X(carveouts) \
	X(devices) \
	X(zero) \
	X(salvage_pages) \
	X(protect_percent) \
	X(caching) \
	X(follow_moves) \
	X(measure) \
	X(measure_held)

/* Values of zero: when a buffer's pages are cleared. */
#define ECACHE_ZERO(X) \
	/* When somebody first can see them. */ \
	X(LAZY, lazy) \
	/* All of them before the allocation returns. */ \
	X(ALLOC, alloc)

/* Numbers in /sys/module/dm_ecache/pool, a file each (fovea-ecache(4) says what of). */
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
	X(damaged) \
	X(retired) \
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

/* dm-ecache's target in a table of device-mapper's. */
#define ECACHE_TARGET		"ecache"

/* What its status begins with: each word and a number of pages. */
#define ECACHE_STATUS(X) \
	X(reads) \
	X(hits) \
	X(misses) \
	X(puts) \
	X(mismatched) \
	X(invalidated) \
	X(damaged)

/* With one of the two behind it a message; and what the status ends with. */
#define ECACHE_CACHE		"cache"
#define ECACHE_ON		"on"
#define ECACHE_OFF		"off"

/* A message: forget what is cached of the target. */
#define ECACHE_DROP		"drop"

/* In tracefs: events/ecache. */
#define ECACHE_EVENTS_FOLDER	"ecache"

/* The events there, and of each its fields. */
#define ECACHE_EVENTS(X) \
	X(GET, ecache_get) \
	X(PUT, ecache_put) \
	X(ALLOC, ecache_alloc) \
	X(SALVAGE, ecache_salvage) \
	X(FREE, ecache_free)

#define ECACHE_GET_FIELDS(X) \
	X(dev) \
	X(ino) \
	X(index) \
	X(block) \
	X(hit)

#define ECACHE_PUT_FIELDS(X) \
	X(dev) \
	X(ino) \
	X(index) \
	X(block)

#define ECACHE_ALLOC_FIELDS(X) \
	X(name) \
	X(first) \
	X(count) \
	X(discarded)

#define ECACHE_SALVAGE_FIELDS(X) \
	X(name) \
	X(pages)

#define ECACHE_FREE_FIELDS(X) \
	X(name)

/* contig-heap's, in /sys/module/contig_heap/parameters. */
#define CONTIG_PARAMETERS(X) \
	X(region) \
	X(devices) \
	X(tries)

/* dm-aciom's target in a table of device-mapper's. */
#define ACIOM_MODULE		"dm_aciom"
#define ACIOM_TARGET		"aciom"

/* Options behind the device in its table line, each NAME=NUMBER. */
#define ACIOM_OPTIONS(X) \
	/* What the disk can do, bytes a second; 0: as much as it is seen to do. */ \
	X(CMAX, cmax) \
	/* Requests of one bursty app that are held at most. */ \
	X(HOLD, hold)

/*
 * Messages. Classes (core/aciom/aciom.h) are the module's, the same for all its targets,
 * and stay when a table is replaced: `class CGROUP-ID CLASS`, `forget CGROUP-ID|all`.
 * `cmax BYTES` is the target's.
 */
#define ACIOM_SET_CLASS		"class"
#define ACIOM_FORGET		"forget"
#define ACIOM_ALL		"all"
#define ACIOM_SET_CMAX		"cmax"

/* Its status: each word and a number (docs/design/aciom.md says what of). */
#define ACIOM_STATUS(X) \
	X(arrived) \
	X(time_sensitive) \
	X(bursty) \
	X(plain) \
	X(urgent) \
	X(held) \
	X(early) \
	X(completed) \
	X(late) \
	X(turns) \
	X(write_turns) \
	X(throttled) \
	X(cuts) \
	X(longest_wait_ns) \
	X(plain_p50_ns) \
	X(plain_p99_ns) \
	X(plain_worst_ns) \
	X(time_sensitive_p50_ns) \
	X(time_sensitive_p99_ns) \
	X(time_sensitive_worst_ns) \
	X(bursty_p50_ns) \
	X(bursty_p99_ns) \
	X(bursty_worst_ns) \
	X(queued) \
	X(queued_write_bytes) \
	X(in_flight) \
	X(in_flight_bytes) \
	X(window_bytes) \
	X(cmax) \
	X(reserved) \
	X(budget) \
	X(active_time_sensitive) \
	X(active_bursty)

#endif /* FOVEA_CONTRACT_H */
