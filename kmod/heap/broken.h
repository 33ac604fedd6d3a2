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

#endif /* FOVEA_HEAP_BROKEN_H */
