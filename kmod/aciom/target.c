// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-aciom: the device-mapper target that orders and holds requests to a disk by what
 * their apps are doing (Aciom11). docs/design/aciom.md says what it promises.
 *
 * Table line:	START LEN aciom LOWER_DEVICE [cmax=BYTES_PER_S] [hold=REQUESTS]
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../include/contract.h"
#include "broken.h"
#include "classes.h"
#include "queue.h"

#define HOLD_MAX	65536
/*
 * A request of more is passed in pieces: what is dispatched cannot be overtaken, and a
 * write-back of 4 MiB is 0.4 s of a slow disk's time. The disk's own queue puts neighbours
 * together again.
 */
#define PIECE_SECTORS	256

struct target {
	/* The disk's, which other volumes may share. */
	struct queue *queue;
	struct dm_dev *dev;
	/* As the table and messages say. */
	u64 cmax;
	u32 hold;
	bool has_hold;
	/* Between resume and suspend: else all passes by. */
	bool active;
};

/*
 * Reads and writes are the core's. All else goes as it comes: a flush has nothing to wait for,
 * since it is about writes that have completed, and those are below; discards move no data.
 */
static bool is_ordered(const struct bio *bio)
{
	return bio_sectors(bio) &&
	       (bio_op(bio) == REQ_OP_READ || bio_op(bio) == REQ_OP_WRITE);
}

/*
 * Whether others than the app that dirtied it wait for a write: jbd2 writes an ordered file's
 * data before it commits, and whoever calls fsync of anything waits for the commit.
 */
static bool is_awaited(const struct bio *bio)
{
	return bio_op(bio) == REQ_OP_WRITE && bio->bi_opf & REQ_SYNC &&
	       (current->flags & (PF_KTHREAD | PF_WQ_WORKER)) == PF_KTHREAD;
}

static int target_map(struct dm_target *ti, struct bio *bio)
{
	struct io *io = dm_per_bio_data(bio, sizeof(*io));
	struct target *t = ti->private;
	u32 app = ACIOM_NOBODY, class = ACIOM_PLAIN;

	io->way = IO_PASSED;
	bio_set_dev(bio, t->dev->bdev);
	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	if (ACIOM_BROKEN_FLUSH) {
		bio->bi_opf &= ~REQ_FUA;
		if (!bio_sectors(bio)) {
			bio_endio(bio);
			return DM_MAPIO_SUBMITTED;
		}
	}
	if (!is_ordered(bio))
		return DM_MAPIO_REMAPPED;
	if (READ_ONCE(classes_sensitive))
		app = classes_find(bio, &class);
	if (!READ_ONCE(t->active) || !queue_orders(t->queue, class)) {
		queue_pass(t->queue, bio, io);
		return DM_MAPIO_REMAPPED;
	}
	if (class == ACIOM_BURSTY && is_awaited(bio)) {
		app = ACIOM_NOBODY;
		class = ACIOM_PLAIN;
	}
	return queue_enter(t->queue, bio, io, app, class, &t->active) ?
	       DM_MAPIO_REMAPPED : DM_MAPIO_SUBMITTED;
}

static int target_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct io *io = dm_per_bio_data(bio, sizeof(*io));
	struct target *t = ti->private;

	queue_leave(t->queue, io);
	if (ACIOM_BROKEN_ERROR)
		*error = BLK_STS_OK;
	return DM_ENDIO_DONE;
}

/* NAME=NUMBER of the table line. */
static int parse_option(struct target *t, const char *text, char **error)
{
	size_t length;

	length = str_has_prefix(text, "cmax=");
	if (length) {
		if (!kstrtou64(text + length, 10, &t->cmax) && t->cmax <= ACIOM_MAX_RATE)
			return 0;
		*error = "cmax is no number of bytes a second up to 2^40";
		return -EINVAL;
	}
	length = str_has_prefix(text, "hold=");
	if (length) {
		t->has_hold = true;
		if (!kstrtou32(text + length, 10, &t->hold) && t->hold <= HOLD_MAX)
			return 0;
		*error = "hold is no number of requests up to 65536";
		return -EINVAL;
	}
	*error = "An option is none of: cmax=BYTES_PER_S, hold=REQUESTS";
	return -EINVAL;
}

static int open_lower(struct dm_target *ti, struct target *t, const char *path)
{
	int error = dm_get_device(ti, path, dm_table_get_mode(ti->table), &t->dev);

	if (error) {
		ti->error = "LOWER_DEVICE cannot be opened";
		return error;
	}
	if (ti->len > bdev_nr_sectors(t->dev->bdev))
		ti->error = "LOWER_DEVICE is smaller than LEN asks for";
	else if (bdev_is_zoned(t->dev->bdev))
		ti->error = "LOWER_DEVICE is zoned, and its writes must not be reordered";
	else
		return 0;
	dm_put_device(ti, t->dev);
	return -EINVAL;
}

static int target_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct target *t;
	unsigned int i;
	int error = 0;

	if (!argc) {
		ti->error = "A device is wanted: LOWER_DEVICE [cmax=BYTES_PER_S] [hold=REQUESTS]";
		return -EINVAL;
	}
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t) {
		ti->error = "No memory for the target";
		return -ENOMEM;
	}
	t->hold = HOLD_DEFAULT;
	for (i = 1; i < argc && !error; i++)
		error = parse_option(t, argv[i], &ti->error);
	if (error)
		goto no_option;
	error = dm_set_target_max_io_len(ti, PIECE_SECTORS);
	if (error)
		goto no_option;
	error = open_lower(ti, t, argv[0]);
	if (error)
		goto no_option;
	t->queue = queue_get(bdev_get_queue(t->dev->bdev));
	if (!t->queue) {
		ti->error = "No memory for the queue";
		error = -ENOMEM;
		goto no_queue;
	}
	ti->private = t;
	ti->accounts_remapped_io = true;
	ti->limit_swap_bios = true;
	ti->per_io_data_size = sizeof(struct io);
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_secure_erase_bios = 1;
	ti->num_write_zeroes_bios = 1;
	return 0;

no_queue:
	dm_put_device(ti, t->dev);
no_option:
	kfree(t);
	return error;
}

static void target_dtr(struct dm_target *ti)
{
	struct target *t = ti->private;

	queue_put(t->queue);
	dm_put_device(ti, t->dev);
	kfree(t);
}

/* Device-mapper waits for what is under way: nothing may be held meanwhile. */
static void target_presuspend(struct dm_target *ti)
{
	struct target *t = ti->private;

	if (!t->active)
		return;
	WRITE_ONCE(t->active, false);
	queue_end(t->queue);
}

/*
 * Also where a suspend was given up. What the table says counts from now on: one that was
 * loaded and never used says nothing.
 */
static void target_resume(struct dm_target *ti)
{
	struct target *t = ti->private;

	if (t->active)
		return;
	/* A table without one does not forget what is known of the disk. */
	if (t->cmax)
		queue_set_cmax(t->queue, t->cmax);
	if (t->has_hold)
		queue_set_hold(t->queue, t->hold);
	queue_begin(t->queue);
	WRITE_ONCE(t->active, true);
}

#define STATUS_WORD(_name)	#_name " %llu "
#define STATUS_NUMBER(_name)	, now._name

static void target_status(struct dm_target *ti, status_type_t type,
			  unsigned int flags, char *result, unsigned int maxlen)
{
	struct target *t = ti->private;
	struct aciom_counters now;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		queue_read(t->queue, &now);
		DMEMIT(ACIOM_STATUS(STATUS_WORD) "%s" ACIOM_STATUS(STATUS_NUMBER), "");
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s cmax=%llu hold=%u", t->dev->name, t->cmax, t->hold);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",device_name=%s,cmax=%llu,hold=%u;", t->dev->name, t->cmax,
		       t->hold);
		break;
	}
}

#define CLASS_NAME(id, name, number)	[number] = #name,
static const char *const class_names[] = { ACIOM_CLASSES(CLASS_NAME) };
#undef CLASS_NAME

static int message_class(const char *cgroup, const char *class)
{
	int found = match_string(class_names, ARRAY_SIZE(class_names), class), error;
	u64 id;

	if (found < 0) {
		pr_err("class: %s is none of: plain, time-sensitive, bursty\n", class);
		return -EINVAL;
	}
	if (kstrtou64(cgroup, 10, &id) || !id) {
		pr_err("class: %s is no cgroup's id\n", cgroup);
		return -EINVAL;
	}
	error = classes_set(id, found);
	if (error == -ENOSPC)
		pr_err("class: no room for cgroup %llu: forget one\n", id);
	return error;
}

static int message_forget(const char *cgroup)
{
	u64 id;

	if (!strcmp(cgroup, ACIOM_ALL)) {
		classes_forget_all();
		return 0;
	}
	if (kstrtou64(cgroup, 10, &id)) {
		pr_err("forget: %s is no cgroup's id, nor " ACIOM_ALL "\n", cgroup);
		return -EINVAL;
	}
	return classes_forget(id);
}

static int message_cmax(struct target *t, const char *text)
{
	u64 cmax;

	if (kstrtou64(text, 10, &cmax) || queue_set_cmax(t->queue, cmax)) {
		pr_err("cmax: %s is no number of bytes a second up to 2^40\n", text);
		return -EINVAL;
	}
	t->cmax = cmax;
	return 0;
}

static int target_message(struct dm_target *ti, unsigned int argc, char **argv,
			  char *result, unsigned int maxlen)
{
	if (argc == 3 && !strcmp(argv[0], ACIOM_SET_CLASS))
		return message_class(argv[1], argv[2]);
	if (argc == 2 && !strcmp(argv[0], ACIOM_FORGET))
		return message_forget(argv[1]);
	if (argc == 2 && !strcmp(argv[0], ACIOM_SET_CMAX))
		return message_cmax(ti->private, argv[1]);
	pr_err("message: none of: class CGROUP-ID CLASS, forget CGROUP-ID|all, cmax BYTES\n");
	return -EINVAL;
}

static int target_iterate_devices(struct dm_target *ti,
				  iterate_devices_callout_fn fn, void *data)
{
	struct target *t = ti->private;

	return fn(ti, t->dev, 0, ti->len, data);
}

static struct target_type aciom_target = {
	.name = ACIOM_TARGET,
	.version = { 1, 1, 0 },
	.features = DM_TARGET_PASSES_INTEGRITY | DM_TARGET_PASSES_CRYPTO |
		    DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = target_ctr,
	.dtr = target_dtr,
	.map = target_map,
	.end_io = target_end_io,
	.presuspend = target_presuspend,
	.presuspend_undo = target_resume,
	.resume = target_resume,
	.status = target_status,
	.message = target_message,
	.iterate_devices = target_iterate_devices,
};

static int __init aciom_module_init(void)
{
	return dm_register_target(&aciom_target);
}

/* Targets hold the module: there are none by now. */
static void __exit aciom_module_exit(void)
{
	dm_unregister_target(&aciom_target);
	classes_forget_all();
	/* Entries that are still on their way out. */
	rcu_barrier();
}

module_init(aciom_module_init);
module_exit(aciom_module_exit);
MODULE_ALIAS("dm-aciom");
MODULE_AUTHOR("The Fovea authors");
MODULE_DESCRIPTION("Disk requests ordered and held by what their apps are doing");
MODULE_LICENSE("GPL");
