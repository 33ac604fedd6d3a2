// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hibernation. The image holds Linux's memory: the tables that say what is cached, and
 * not the frames of a memmap= carve-out. So before the image is made the cache is
 * emptied, and it stays so until the machine is back: what hibernation itself reclaims
 * would be put again. That the pages of a carve-out taken with contig: are in the image
 * does not matter then.
 *
 * What a device's buffer in a memmap= carve-out held is lost, too, as it is in all memory
 * that Linux does not manage: its driver starts anew.
 *
 * Suspend to RAM keeps all memory, and a kernel that kexec starts knows nothing of ours.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/notifier.h>
#include <linux/suspend.h>

#include "pool.h"
#include "power.h"
#include "volume.h"

static int on_power(struct notifier_block *block, unsigned long event, void *unused)
{
	if (ECACHE_BROKEN_POWER)
		return NOTIFY_DONE;
	switch (event) {
	case PM_HIBERNATION_PREPARE:
		pool_set(&pool.asleep, true);
		volumes_drop_all();
		break;
	case PM_RESTORE_PREPARE:
		pool_set(&pool.asleep, true);
		volumes_drop_all();
		/* The kernel that comes back may have a program's buffer there. */
		pool_wipe_free();
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		pool_set(&pool.asleep, false);
		break;
	default:
		return NOTIFY_DONE;
	}
	return NOTIFY_OK;
}

static struct notifier_block power_block = {
	.notifier_call = on_power,
};

int power_init(void)
{
	return register_pm_notifier(&power_block);
}

void power_exit(void)
{
	unregister_pm_notifier(&power_block);
}
