// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who holds buffers. Memory of a buffer is in no process's address space, so whoever looks for
 * the process whose end gives memory back does not find it there. /proc/fovea-heap-holders has
 * a line for each cgroup and user that has allocated some, as long as they live.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "../include/contract.h"
#include "holder.h"

struct heap_holder {
	struct list_head list;
	u64 cgroup;
	kuid_t uid;
	u64 nr_buffers;
	u64 size_bytes;
};

static LIST_HEAD(holders);
static DEFINE_MUTEX(holders_lock);

/* In the unified hierarchy; 0 without one. */
static u64 current_cgroup(void)
{
	u64 id = 0;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	id = cgroup_id(task_dfl_cgroup(current));
	rcu_read_unlock();
#endif
	return id;
}

static struct heap_holder *find(u64 cgroup, kuid_t uid)
{
	struct heap_holder *h;

	lockdep_assert_held(&holders_lock);
	list_for_each_entry(h, &holders, list)
		if (h->cgroup == cgroup && uid_eq(h->uid, uid))
			return h;
	return NULL;
}

struct heap_holder *heap_holder_add(u64 size_bytes)
{
	u64 cgroup = current_cgroup();
	struct heap_holder *h;

	mutex_lock(&holders_lock);
	h = find(cgroup, current_uid());
	if (!h) {
		h = kzalloc(sizeof(*h), GFP_KERNEL);
		if (h) {
			h->cgroup = cgroup;
			h->uid = current_uid();
			list_add_tail(&h->list, &holders);
		}
	}
	if (h) {
		h->nr_buffers++;
		h->size_bytes += size_bytes;
	}
	mutex_unlock(&holders_lock);
	return h;
}

void heap_holder_resize(struct heap_holder *h, u64 old_bytes, u64 size_bytes)
{
	mutex_lock(&holders_lock);
	h->size_bytes += size_bytes - old_bytes;
	mutex_unlock(&holders_lock);
}

void heap_holder_remove(struct heap_holder *h, u64 size_bytes)
{
	mutex_lock(&holders_lock);
	h->size_bytes -= size_bytes;
	if (!--h->nr_buffers) {
		list_del(&h->list);
		kfree(h);
	}
	mutex_unlock(&holders_lock);
}

static void *holders_start(struct seq_file *file, loff_t *at)
{
	mutex_lock(&holders_lock);
	return seq_list_start(&holders, *at);
}

static void *holders_next(struct seq_file *file, void *entry, loff_t *at)
{
	return seq_list_next(entry, &holders, at);
}

static void holders_stop(struct seq_file *file, void *entry)
{
	mutex_unlock(&holders_lock);
}

static int holders_show(struct seq_file *file, void *entry)
{
	struct heap_holder *h = list_entry(entry, struct heap_holder, list);

	seq_printf(file, "cgroup=%llu uid=%u buffers=%llu bytes=%llu\n", h->cgroup,
		   from_kuid_munged(seq_user_ns(file), h->uid), h->nr_buffers,
		   h->size_bytes);
	return 0;
}

static const struct seq_operations holders_ops = {
	.start = holders_start,
	.next = holders_next,
	.stop = holders_stop,
	.show = holders_show,
};

int heap_holders_init(void)
{
	return proc_create_seq(HEAP_HOLDERS_FILE, 0400, NULL, &holders_ops) ? 0 : -ENOMEM;
}

void heap_holders_exit(void)
{
	remove_proc_entry(HEAP_HOLDERS_FILE, NULL);
}
