/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A spinlock that is held with interrupts off. With the parameter measure_held, it measures for
 * how long. Order: a volume's lock is taken before the pool's; no two volumes' at once.
 */
#ifndef FOVEA_ECACHE_TIMED_LOCK_H
#define FOVEA_ECACHE_TIMED_LOCK_H

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
struct timed_lock_held {
	u64 cycles;
	u64 count;
	u64 longest;
};

struct timed_lock {
	spinlock_t spinlock;
	/* get_cycles() when it was taken; 0 if it was not measured then. */
	u64 since;
	struct timed_lock_held held;
};

DECLARE_STATIC_KEY_FALSE(timed_lock_measure);

void timed_lock_count(struct timed_lock *lock);

static inline void timed_lock_taken(struct timed_lock *lock)
{
	if (static_branch_unlikely(&timed_lock_measure))
		lock->since = get_cycles();
}

static inline void timed_lock_leaves(struct timed_lock *lock)
{
	if (static_branch_unlikely(&timed_lock_measure))
		timed_lock_count(lock);
}

/* For callers with interrupts off; _irq: with interrupts on; _irqsave: with either. */
static inline void timed_lock(struct timed_lock *lock)
{
	spin_lock(&lock->spinlock);
	timed_lock_taken(lock);
}

static inline void timed_unlock(struct timed_lock *lock)
{
	timed_lock_leaves(lock);
	spin_unlock(&lock->spinlock);
}

static inline void timed_lock_irq(struct timed_lock *lock)
{
	spin_lock_irq(&lock->spinlock);
	timed_lock_taken(lock);
}

static inline void timed_unlock_irq(struct timed_lock *lock)
{
	timed_lock_leaves(lock);
	spin_unlock_irq(&lock->spinlock);
}

static inline unsigned long timed_lock_irqsave(struct timed_lock *lock)
{
	unsigned long flags;

	spin_lock_irqsave(&lock->spinlock, flags);
	timed_lock_taken(lock);
	return flags;
}

static inline void timed_unlock_irqrestore(struct timed_lock *lock, unsigned long flags)
{
	timed_lock_leaves(lock);
	spin_unlock_irqrestore(&lock->spinlock, flags);
}

#endif /* FOVEA_ECACHE_TIMED_LOCK_H */
