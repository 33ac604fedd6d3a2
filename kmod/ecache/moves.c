// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a page moves, its entry in the location table moves along. There is no trace
 * point for that, so calls of folio_migrate_flags() are traced, which every move of a
 * page of the page cache makes once content and index are the new page's.
 *
 * Function tracing can be switched off (kernel.ftrace_enabled=0) or break. We ask for a
 * permanent one: it is refused while tracing is off, and tracing cannot be switched off
 * while it is there. If calls are not seen all the same (a compiler that put the function
 * into its callers, tracing that disabled itself), the kernel's own count of moves tells.
 * What is not seen costs hits, and does no harm: follow.h. A kernel that cannot trace
 * functions at all is served so from the beginning (follow_moves=N on others).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ftrace.h>
#include <linux/migrate.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "../include/compat.h"
#include "follow.h"
#include "moves.h"
#include "volume.h"

/* Without CONFIG_MIGRATION no page moves, and there is nothing to trace. */
#define MOVES_TRACED	(FOVEA_FTRACE && IS_ENABLED(CONFIG_MIGRATION))
#define MOVES_MISSED	(!FOVEA_FTRACE && IS_ENABLED(CONFIG_MIGRATION))

static bool follow_moves = true;
module_param(follow_moves, bool, 0444);
MODULE_PARM_DESC(follow_moves, "Whether pages that the kernel moves are followed, by tracing folio_migrate_flags()");

/* Moves that the kernel must have counted before a silence means anything. */
#define MOVES_ENOUGH	256
#define LOOK_EVERY	(30 * HZ)

static DEFINE_PER_CPU(unsigned long, moves_seen);
static DEFINE_MUTEX(look_lock);
/* Both counts when somebody looked last and there was something to tell. */
static unsigned long counted_then, seen_then;
static bool unseen;
static void look(struct work_struct *work);
/* Does not wake a CPU that sleeps. */
static DECLARE_DEFERRABLE_WORK(look_work, look);

#if MOVES_TRACED
static void move_page(unsigned long to, unsigned long from)
{
	struct track_entry *entry = track_entry(from);
	struct volume *v = entry ? volume_by_id(track_volume(entry)) : NULL;
	unsigned long flags;

	follow_forget(to);
	if (!v)
		return;
	flags = volume_lock_irqsave(v);
	if (track_is(entry, from))
		track_move(&v->track, entry, to);
	volume_unlock_irqrestore(v, flags);
}

/* folio_migrate_flags(new, old): content and index are the new folio's by now. */
static void on_migrate(unsigned long ip, unsigned long parent_ip,
		       struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	struct folio *to = (void *)fovea_ftrace_argument(regs, 0);
	struct folio *from = (void *)fovea_ftrace_argument(regs, 1);
	unsigned long i, count = folio_nr_pages(from);

	if (ECACHE_BROKEN_MIGRATION || ECACHE_BROKEN_BLIND)
		return;
	this_cpu_inc(moves_seen);
	rcu_read_lock();
	for (i = 0; i < count; i++)
		move_page(folio_pfn(to) + i, folio_pfn(from) + i);
	rcu_read_unlock();
}

static struct ftrace_ops moves_ops = {
	.func = on_migrate,
	.flags = FTRACE_OPS_FL_PERMANENT | FTRACE_OPS_FL_RECURSION |
		 FOVEA_FTRACE_FLAGS,
};

static int trace_moves(void)
{
	int error = ftrace_set_filter_ip(&moves_ops, (unsigned long)folio_migrate_flags,
					 0, 0);

	if (!error)
		error = register_ftrace_function(&moves_ops);
	if (error) {
		/* What was to be traced is kept by the kernel until it is told. */
		ftrace_free_filter(&moves_ops);
		pr_err("cannot follow page migration: tracing folio_migrate_flags(): error %d: write 1 to kernel.ftrace_enabled, or load with follow_moves=N\n",
		       error);
	}
	return error;
}

static void untrace_moves(void)
{
	unregister_ftrace_function(&moves_ops);
	ftrace_free_filter(&moves_ops);
}
#else
static int trace_moves(void)
{
	return 0;
}

static void untrace_moves(void)
{
}
#endif

static unsigned long seen(void)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(&moves_seen, cpu));
	return sum;
}

/* Pages that the kernel has moved since it started; 0 if it does not count. */
static unsigned long counted(void)
{
	unsigned long moved = 0;

#if defined(CONFIG_MIGRATION) && defined(CONFIG_VM_EVENT_COUNTERS)
	unsigned long *events =
		kcalloc(NR_VM_EVENT_ITEMS, sizeof(*events), GFP_KERNEL);

	if (events) {
		all_vm_events(events);
		moved = events[PGMIGRATE_SUCCESS];
	}
	kfree(events);
#endif
	return moved;
}

bool moves_are_unseen(void)
{
	unsigned long now_counted = counted(), now_seen = seen();
	bool were;

	mutex_lock(&look_lock);
	were = unseen;
	if (now_seen != seen_then)
		unseen = false;
	else if (now_counted - counted_then >= MOVES_ENOUGH && now_counted)
		unseen = true;
	else
		goto out;
	counted_then = now_counted;
	seen_then = now_seen;
	/* Who loaded the module was told already that none is followed. */
	if (unseen && !were && follow_moves)
		pr_warn("pages move and nothing tells: those are not cached; is function tracing off (dmesg), or folio_migrate_flags() inlined?\n");
out:
	were = unseen;
	mutex_unlock(&look_lock);
	return were;
}

static void look(struct work_struct *work)
{
	moves_are_unseen();
	schedule_delayed_work(&look_work, LOOK_EVERY);
}

int moves_init(void)
{
	int error;

	if (MOVES_MISSED)
		follow_moves = false;
	if (!follow_moves)
		pr_notice("pages that the kernel moves are not followed, and lost to the cache: %s\n",
			  MOVES_MISSED ? "this kernel has no CONFIG_FUNCTION_TRACER" :
					 "follow_moves=N");
	error = follow_moves ? trace_moves() : 0;
	if (error)
		return error;
	counted_then = counted();
	seen_then = seen();
	schedule_delayed_work(&look_work, LOOK_EVERY);
	return 0;
}

void moves_exit(void)
{
	cancel_delayed_work_sync(&look_work);
	if (follow_moves)
		untrace_moves();
}
