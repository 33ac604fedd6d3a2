/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Negative controls: `make BROKEN=name` builds a module without one of its safeties,
 * and the tests must notice (docs/design/torture.md). Those of buffers: ../heap/broken.h.
 */
#ifndef FOVEA_ECACHE_BROKEN_H
#define FOVEA_ECACHE_BROKEN_H

/* A write leaves the cache and the location table as they are. */
#ifndef ECACHE_BROKEN_WRITE
#define ECACHE_BROKEN_WRITE 0
#endif
/* Pages are put without a look at what is in them. */
#ifndef ECACHE_BROKEN_VERIFY
#define ECACHE_BROKEN_VERIFY 0
#endif
/*
 * The same for regular files whose blocks are no smaller than a page: file systems were
 * once listed as changing such pages only where they mark them dirty.
 */
#ifndef ECACHE_BROKEN_LISTED
#define ECACHE_BROKEN_LISTED 0
#endif
/* What comes from a frame is served without a look at whether it is what was put there. */
#ifndef ECACHE_BROKEN_DAMAGED
#define ECACHE_BROKEN_DAMAGED 0
#endif
/*
 * Some loads of a frame fault, as from memory that fails. That must do no harm but retire
 * frames.
 */
#ifndef ECACHE_BROKEN_FAULT
#define ECACHE_BROKEN_FAULT 0
#endif
/* Pages whose memory the kernel was told is broken are copied like any other. */
#ifndef ECACHE_BROKEN_POISON
#define ECACHE_BROKEN_POISON 0
#endif
/*
 * A page's move to another frame of memory goes unnoticed. That alone costs hits and
 * must do no harm: the control is this one with the one above.
 */
#ifndef ECACHE_BROKEN_BLIND
#define ECACHE_BROKEN_BLIND 0
#endif
#ifndef ECACHE_BROKEN_MIGRATION
#define ECACHE_BROKEN_MIGRATION 0
#endif
/* Pages that were dirtied are still followed, and truncated ones are put. */
#ifndef ECACHE_BROKEN_TRUNCATED
#define ECACHE_BROKEN_TRUNCATED 0
#endif
/* A read is served and followed even if a write to its blocks is in flight. */
#ifndef ECACHE_BROKEN_DIRECT
#define ECACHE_BROKEN_DIRECT 0
#endif
/* Whoever wants to know that data is permanent is told so, and the disk is not asked. */
#ifndef ECACHE_BROKEN_FLUSH
#define ECACHE_BROKEN_FLUSH 0
#endif
/* A device writes to its memory while pages are still copied to or from there. */
#ifndef ECACHE_BROKEN_PINNED
#define ECACHE_BROKEN_PINNED 0
#endif
/*
 * Some copies take long, as on a virtual CPU that its host stops. That must do no harm;
 * the control above has it too, for it is then that a device's memory is copied to.
 */
#ifndef ECACHE_BROKEN_SLOW
#define ECACHE_BROKEN_SLOW ECACHE_BROKEN_PINNED
#endif
/* Whoever forgets a page takes whatever the index names for it (tests/track_model.c). */
#ifndef TRACK_BROKEN_INDEX
#define TRACK_BROKEN_INDEX 0
#endif
/* What a volume put and did not hand to the core yet is not looked at. */
#ifndef ECACHE_BROKEN_BATCH
#define ECACHE_BROKEN_BATCH 0
#endif
/* Hibernation goes unnoticed. */
#ifndef ECACHE_BROKEN_POWER
#define ECACHE_BROKEN_POWER 0
#endif
/* The heap has pages moved after their memory was given away: heap/broken.h. */
#ifndef ECACHE_BROKEN_LATE
#define ECACHE_BROKEN_LATE 0
#endif

#endif /* FOVEA_ECACHE_BROKEN_H */
