// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decisions: core/, the same files that the laboratory builds, as one unit so that
 * the compiler sees through their small functions.
 */
#include <linux/compiler.h>

#define ECACHE_SHARED static __always_inline
#define ECACHE_ONLY_AGED 1
#include "../../core/ecache_init.c"
#include "../../core/ecache_layout.c"
#include "../../core/ecache_place.c"
#include "../../core/ecache.c"
#include "../../core/ecache_alloc.c"
#include "../../core/ecache_salvage.c"

#include "pool.h"

/* Volumes' numbers and blocks are in range: volume_get(), the target's constructor. */
u32 core_get_run(struct ecache *core, u64 object, u64 block, u32 count, u32 *frames)
{
	u64 key = ecache_pack(object, block);
	u32 i;

	for (i = 0; i < count; i++) {
		frames[i] = get_key(core, key + i);
		if (frames[i] == ECACHE_NONE)
			break;
	}
	return i;
}

void core_unpin(struct ecache *core, const u32 *frames, u32 count)
{
	while (count--)
		ecache_unpin(core, *frames++);
}
