/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Negative controls: `make BROKEN=name` builds a module without one of its safeties,
 * and the tests must notice (docs/design/aciom.md). Those of the core: core/aciom/internal.h.
 */
#ifndef FOVEA_ACIOM_BROKEN_H
#define FOVEA_ACIOM_BROKEN_H

/* Whoever wants to know that data is permanent is told so, and the disk is not asked. */
#ifndef ACIOM_BROKEN_FLUSH
#define ACIOM_BROKEN_FLUSH 0
#endif
/* What is held when the table is replaced ends as if it had been done. */
#ifndef ACIOM_BROKEN_LOST
#define ACIOM_BROKEN_LOST 0
#endif
/* Errors of the disk end in the target. */
#ifndef ACIOM_BROKEN_ERROR
#define ACIOM_BROKEN_ERROR 0
#endif

/* A page that is read from swap is held like any other read. */
#ifndef ACIOM_BROKEN_SWAP
#define ACIOM_BROKEN_SWAP 0
#endif
/* Whoever writes back never waits for room. */
#ifndef ACIOM_BROKEN_PRESSURE
#define ACIOM_BROKEN_PRESSURE 0
#endif
/* All requests take the queue's lock, also while no time-sensitive app is active. */
#ifndef ACIOM_BROKEN_LOCK
#define ACIOM_BROKEN_LOCK 0
#endif

#endif /* FOVEA_ACIOM_BROKEN_H */
