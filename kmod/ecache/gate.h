/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A spinlock that is held with interrupts off. With the parameter measure_held, it measures for
 * how long. Order: a volume's lock is taken before the pool's; no two volumes' at once.
 */
#ifndef FOVEA_ECACHE_GATE_H
#define FOVEA_ECACHE_GATE_H

#include <linux/jump_label.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/timex.h>

/*
 * The page cache calls with its own spinlock held. On PREEMPT_RT a spinlock taken below that would
 * sleep.
 */
#ifdef CONFIG_PREEMPT_RT
#error "dm-ecache does not work on PREEMPT_RT kernels: use one without"
#endif

/* For how many cycles the lock was held, how many times, and the longest. */
struct gate_held {
	u64 cycles;
	u64 count;
	u64 longest;
};

struct gate {
	spinlock_t lock;
	/* get_cycles() when it was taken; 0 if it was not measured then. */
	u64 since;
	struct gate_held held;
};

DECLARE_STATIC_KEY_FALSE(gate_measure);

void gate_count(struct gate *gate);

static inline void gate_taken(struct gate *gate)
{
	if (static_branch_unlikely(&gate_measure))
		gate->since = get_cycles();
}

static inline void gate_leaves(struct gate *gate)
{
	if (static_branch_unlikely(&gate_measure))
		gate_count(gate);
}

/* For callers with interrupts off; _irq: with interrupts on; _irqsave: with either. */
static inline void gate_lock(struct gate *gate)
{
	spin_lock(&gate->lock);
	gate_taken(gate);
}

static inline void gate_unlock(struct gate *gate)
{
	gate_leaves(gate);
	spin_unlock(&gate->lock);
}

static inline void gate_lock_irq(struct gate *gate)
{
	spin_lock_irq(&gate->lock);
	gate_taken(gate);
}

static inline void gate_unlock_irq(struct gate *gate)
{
	gate_leaves(gate);
	spin_unlock_irq(&gate->lock);
}

static inline unsigned long gate_lock_irqsave(struct gate *gate)
{
	unsigned long flags;

	spin_lock_irqsave(&gate->lock, flags);
	gate_taken(gate);
	return flags;
}

static inline void gate_unlock_irqrestore(struct gate *gate, unsigned long flags)
{
	gate_leaves(gate);
	spin_unlock_irqrestore(&gate->lock, flags);
}

#endif /* FOVEA_ECACHE_GATE_H */
