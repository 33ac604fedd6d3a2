/* SPDX-License-Identifier: GPL-2.0-only */
/* Negative controls, as those of ../ecache/broken.h. */
#ifndef FOVEA_HEAP_BROKEN_H
#define FOVEA_HEAP_BROKEN_H

/* Pages are salvaged too late, when a buffer is being written to. */
#ifndef HEAP_BROKEN_LATE
#define HEAP_BROKEN_LATE 0
#endif
/* Nodes and buffers do not hold the module that their memory is from. */
#ifndef HEAP_BROKEN_UNHELD
#define HEAP_BROKEN_UNHELD 0
#endif

/* Cached mappings outlive their device's driver. */
#ifndef HEAP_BROKEN_NOTIFIER
#define HEAP_BROKEN_NOTIFIER 0
#endif
/* Nobody sees to caches and bounce buffers when a cached mapping is used again. */
#ifndef HEAP_BROKEN_SYNC
#define HEAP_BROKEN_SYNC 0
#endif
/* A device may keep all of its addresses mapped. */
#ifndef HEAP_BROKEN_CAP
#define HEAP_BROKEN_CAP 0
#endif
/* Nobody waits for addresses that come back late. */
#ifndef HEAP_BROKEN_FLUSH
#define HEAP_BROKEN_FLUSH 0
#endif
/* What a buffer has lost stays mapped for devices. */
#ifndef HEAP_BROKEN_RESIZE
#define HEAP_BROKEN_RESIZE 0
#endif

/* Entries of an exporter's list are taken to begin with their page, unchecked. */
#ifndef HEAP_BROKEN_OFFSET
#define HEAP_BROKEN_OFFSET 0
#endif
/* Bounced mappings are kept, and with them slots of the pool that all devices share. */
#ifndef HEAP_BROKEN_POOL
#define HEAP_BROKEN_POOL 0
#endif
/* Buffers change their size below attached importers. */
#ifndef HEAP_BROKEN_ATTACHED
#define HEAP_BROKEN_ATTACHED 0
#endif
/* Buffers are charged to nobody. */
#ifndef HEAP_BROKEN_CHARGE
#define HEAP_BROKEN_CHARGE 0
#endif
/* Nobody notices that the probe of fovea-heap-wrap is dead. */
#ifndef HEAP_BROKEN_PROBE
#define HEAP_BROKEN_PROBE 0
#endif

#endif /* FOVEA_HEAP_BROKEN_H */
