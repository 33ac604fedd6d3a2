// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device-mapper target: made, asked and told. What it does to bios is in io.c.
 *
 * Table line:	START LEN ecache LOWER_DEVICE OFFSET_SECTORS
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device-mapper.h>
#include <linux/module.h>

#include "../include/contract.h"
#include "io.h"
#include "pool.h"
#include "target.h"

static int target_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct block_device *bdev =
		dm_disk(dm_table_get_md(ti->table))->part0;
	unsigned long long start;
	struct target *t;
	char dummy;
	int error;

	if (!pool.core) {
		ti->error = "No pool: load dm_ecache with carveouts= and devices=";
		return -ENODEV;
	}
	if (argc != 2) {
		ti->error = "Two arguments are wanted: LOWER_DEVICE OFFSET_SECTORS";
		return -EINVAL;
	}
	if (sscanf(argv[1], "%llu%c", &start, &dummy) != 1 ||
	    start != (sector_t)start) {
		ti->error = "OFFSET_SECTORS is no number of sectors";
		return -EINVAL;
	}
	if (ti->begin & (BLOCK_SECTORS - 1)) {
		ti->error = "START must be a multiple of the page size";
		return -EINVAL;
	}
	if (ti->len >> BLOCK_SHIFT >= TRACK_BLOCKS_MAX) {
		ti->error = "Range is larger than 4 PiB";
		return -EINVAL;
	}
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t) {
		ti->error = "No memory for the target";
		return -ENOMEM;
	}
	t->start = start;
	error = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table),
			      &t->dev);
	if (error) {
		ti->error = "LOWER_DEVICE cannot be opened";
		goto no_device;
	}
	if (start > bdev_nr_sectors(t->dev->bdev) ||
	    ti->len > bdev_nr_sectors(t->dev->bdev) - start) {
		ti->error = "LOWER_DEVICE is smaller than OFFSET_SECTORS and LEN ask for";
		error = -EINVAL;
		goto no_volume;
	}
	t->volume = volume_get(ti->table, bdev, t->dev->bdev, start, ti->begin,
			       ti->len, &ti->error);
	if (IS_ERR(t->volume)) {
		error = PTR_ERR(t->volume);
		goto no_volume;
	}
	ti->private = t;
	ti->per_io_data_size = sizeof(struct io);
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_secure_erase_bios = 1;
	ti->num_write_zeroes_bios = 1;
	return 0;

no_volume:
	dm_put_device(ti, t->dev);
no_device:
	kfree(t);
	return error;
}

static void target_dtr(struct dm_target *ti)
{
	struct target *t = ti->private;

	volume_put(t->volume, ti->table);
	dm_put_device(ti, t->dev);
	kfree(t);
}

static int target_preresume(struct dm_target *ti)
{
	struct target *t = ti->private;

	return volume_takes_over(t->volume);
}

static void target_resume(struct dm_target *ti)
{
	struct target *t = ti->private;

	volume_resume(t->volume);
}

static void target_postsuspend(struct dm_target *ti)
{
	struct target *t = ti->private;

	volume_suspend(t->volume);
}

/* A number of the status line, and where it is. */
struct status_word {
	const char *name;
	size_t offset;
};

#define STATUS_WORD(_name)	{ #_name, offsetof(struct volume_counts, _name) },
static const struct status_word status_words[] = { ECACHE_STATUS(STATUS_WORD) };
#undef STATUS_WORD

static u64 status_number(const struct volume_counts *counts, const struct status_word *word)
{
	return *(const u64 *)((const char *)counts + word->offset);
}

static void target_status(struct dm_target *ti, status_type_t type,
			  unsigned int flags, char *result, unsigned int maxlen)
{
	struct target *t = ti->private;
	struct volume_counts now;
	unsigned int sz = 0, i;

	switch (type) {
	case STATUSTYPE_INFO:
		now = volume_count(t->volume);
		for (i = 0; i < ARRAY_SIZE(status_words); i++)
			DMEMIT("%s %llu ", status_words[i].name,
			       status_number(&now, &status_words[i]));
		DMEMIT(ECACHE_CACHE " %s",
		       READ_ONCE(t->volume->enabled) ? ECACHE_ON : ECACHE_OFF);
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s %llu", t->dev->name, (unsigned long long)t->start);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",device_name=%s,start=%llu;", t->dev->name,
		       (unsigned long long)t->start);
		break;
	}
}

static int target_message(struct dm_target *ti, unsigned int argc, char **argv,
			  char *result, unsigned int maxlen)
{
	struct target *t = ti->private;
	bool on;

	if (argc == 1 && !strcmp(argv[0], ECACHE_DROP)) {
		pool_drop_range(t->volume, 0, TRACK_BLOCKS_MAX);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[0], ECACHE_CACHE) &&
	    (!strcmp(argv[1], ECACHE_ON) || !strcmp(argv[1], ECACHE_OFF))) {
		on = !strcmp(argv[1], ECACHE_ON);
		volume_lock_irq(t->volume);
		t->volume->enabled = on;
		volume_unlock_irq(t->volume);
		if (!on)
			pool_drop_range(t->volume, 0, TRACK_BLOCKS_MAX);
		return 0;
	}
	pr_err("message: none of: " ECACHE_DROP ", " ECACHE_CACHE " "
	       ECACHE_ON "|" ECACHE_OFF "\n");
	return -EINVAL;
}

static int target_iterate_devices(struct dm_target *ti,
				  iterate_devices_callout_fn fn, void *data)
{
	struct target *t = ti->private;

	return fn(ti, t->dev, t->start, ti->len, data);
}

/* Since 6.15: a write is passed on as it came, in one. */
#ifndef DM_TARGET_ATOMIC_WRITES
#define DM_TARGET_ATOMIC_WRITES 0
#endif

static struct target_type ecache_target = {
	.name = ECACHE_TARGET,
	.version = { 2, 1, 0 },
	/*
	 * Nobody waits in map(): memory is asked for without waiting, and locks spin. What is
	 * encrypted on its way down is neither followed nor served.
	 */
	.features = DM_TARGET_NOWAIT | DM_TARGET_PASSES_CRYPTO | DM_TARGET_ATOMIC_WRITES,
	.module = THIS_MODULE,
	.ctr = target_ctr,
	.dtr = target_dtr,
	.map = io_map,
	.end_io = io_end,
	.preresume = target_preresume,
	.resume = target_resume,
	.postsuspend = target_postsuspend,
	.status = target_status,
	.message = target_message,
	.iterate_devices = target_iterate_devices,
};

int target_init(void)
{
	return dm_register_target(&ecache_target);
}

void target_exit(void)
{
	dm_unregister_target(&ecache_target);
}
