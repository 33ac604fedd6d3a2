/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Negative controls: `make BROKEN=name` builds a module without one of its safeties,
 * and the torture test must notice (docs/ecache.md, "Proof").
 */
#ifndef FOVEA_ECACHE_BROKEN_H
#define FOVEA_ECACHE_BROKEN_H

/* A write leaves the cache and the location table as they are. */
#ifndef ECACHE_BROKEN_WRITE
#define ECACHE_BROKEN_WRITE 0
#endif
/* A page's move to another frame of memory goes unnoticed. */
#ifndef ECACHE_BROKEN_MIGRATION
#define ECACHE_BROKEN_MIGRATION 0
#endif
/* Pages that were dirtied are still followed, and truncated ones are put. */
#ifndef ECACHE_BROKEN_TRUNCATED
#define ECACHE_BROKEN_TRUNCATED 0
#endif
/* A read is followed even if a write to its block is in flight. */
#ifndef ECACHE_BROKEN_DIRECT
#define ECACHE_BROKEN_DIRECT 0
#endif

/* Pages are salvaged too late, when a buffer is being written to. */
#ifndef ECACHE_BROKEN_LATE
#define ECACHE_BROKEN_LATE 0
#endif

#endif /* FOVEA_ECACHE_BROKEN_H */
