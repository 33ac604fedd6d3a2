/* SPDX-License-Identifier: GPL-2.0-only */
/* What is followed when the kernel moves pages (compaction, NUMA, hot-unplug). */
#ifndef FOVEA_ECACHE_MOVES_H
#define FOVEA_ECACHE_MOVES_H

#include <linux/types.h>

/* Fails where functions cannot be traced. */
int moves_init(void);
void moves_exit(void);

/* Whether the kernel has moved pages and did not tell; looks anew. May sleep. */
bool moves_are_unseen(void);

#endif /* FOVEA_ECACHE_MOVES_H */
