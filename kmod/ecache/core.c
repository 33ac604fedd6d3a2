// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decisions: core/, the same files that the laboratory builds, as one unit so that
 * the compiler sees through their small functions.
 */
#include <linux/compiler.h>

#define ECACHE_SHARED static __always_inline
#include "../../core/ecache_init.c"
#include "../../core/ecache_layout.c"
#include "../../core/ecache_place.c"
#include "../../core/ecache.c"
#include "../../core/ecache_alloc.c"
#include "../../core/ecache_salvage.c"
#include "../../core/ecache_check.c"

#include "pool.h"

/* Volumes' numbers and blocks are in range: volume_get(), the target's constructor. */
u32 core_put(struct ecache *core, u64 object, u64 block, bool returned)
{
	return ecache_put_page(core, object, block, returned, NULL);
}
