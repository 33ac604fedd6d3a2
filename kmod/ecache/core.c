// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decisions: core/, the same files that the laboratory builds, as one unit so that
 * the compiler sees through their small functions.
 */
#include <linux/compiler.h>

#define ECACHE_SHARED static __always_inline
#define ECACHE_ONLY_AGED 1
#include "../../core/ecache/init.c"
#include "../../core/ecache/layout.c"
#include "../../core/ecache/place.c"
#include "../../core/ecache/list.c"
#include "../../core/ecache/ecache.c"
#include "../../core/ecache/cost.c"
#include "../../core/ecache/alloc.c"
#include "../../core/ecache/salvage.c"

#include "batch.h"
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

u32 core_begin_puts(struct ecache *core, u32 *frames, u32 count)
{
	u64 enough = core->counters.withdrawn + core->put_work_limit;
	u32 i;

	/* Each may withdraw as many tombstones, too: not one after the other. */
	for (i = 0; i < count; i++) {
		frames[i] = pin_frame(core, NULL);
		if (frames[i] == ECACHE_NONE)
			break;
		if (core->counters.withdrawn >= enough)
			return i + 1;
	}
	return i;
}

void core_end_puts(struct ecache *core, u64 object, const struct batch_put *puts,
		   u32 count)
{
	for (; count; count--, puts++)
		put_end(core, puts->frame, ecache_pack(object, puts->block), puts->returned);
}

void core_unpin(struct ecache *core, const u32 *frames, u32 count)
{
	while (count--)
		ecache_unpin(core, *frames++);
}
