// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* How long requests took from arrival to completion: a histogram of each class. */

#include "internal.h"

static u32 bucket_of(u64 ns)
{
	u64 value = ns >> LATENCY_SHIFT;
	u32 shift;

	if (value < LATENCY_SUBS)
		return (u32)value;
	if (value >> LATENCY_MAX_SHIFT)
		return LATENCY_BUCKETS - 1;
	shift = 63 - (u32)__builtin_clzll(value) - LATENCY_SUB_SHIFT;
	return shift * LATENCY_SUBS + (u32)(value >> shift);
}

/* What no latency of a bucket reaches; of the last there is no such time. */
static u64 end_of(u32 bucket)
{
	u32 shift = bucket < LATENCY_SUBS ? 0 : bucket / LATENCY_SUBS - 1;

	if (bucket == LATENCY_BUCKETS - 1)
		return ACIOM_NEVER;
	return (u64)(bucket - shift * LATENCY_SUBS + 1) << (shift + LATENCY_SHIFT);
}

ACIOM_SHARED void aciom_record(struct aciom *a, const struct aciom_request *r)
{
	u64 taken_ns = a->now_ns - r->arrival_ns;

	a->latencies[r->class][bucket_of(taken_ns)]++;
	a->worst_ns[r->class] = most(a->worst_ns[r->class], taken_ns);
	if (r->class != ACIOM_TIME_SENSITIVE)
		a->counters.longest_wait_ns = most(a->counters.longest_wait_ns, taken_ns);
}

/* In so many of a hundred it took no longer. */
static u64 percentile(const struct aciom *a, u32 class, u64 percent)
{
	const u64 *buckets = a->latencies[class];
	u64 total = 0, seen = 0, wanted;
	u32 i;

	for (i = 0; i < LATENCY_BUCKETS; i++)
		total += buckets[i];
	wanted = aciom_divide(total * percent + 99, 100);
	for (i = 0; i < LATENCY_BUCKETS - 1; i++) {
		seen += buckets[i];
		if (seen >= wanted)
			break;
	}
	return least(end_of(i), a->worst_ns[class]);
}

void aciom_latency_read(const struct aciom *a, struct aciom_counters *c)
{
	c->plain_p50_ns = percentile(a, ACIOM_PLAIN, 50);
	c->plain_p99_ns = percentile(a, ACIOM_PLAIN, 99);
	c->plain_worst_ns = a->worst_ns[ACIOM_PLAIN];
	c->time_sensitive_p50_ns = percentile(a, ACIOM_TIME_SENSITIVE, 50);
	c->time_sensitive_p99_ns = percentile(a, ACIOM_TIME_SENSITIVE, 99);
	c->time_sensitive_worst_ns = a->worst_ns[ACIOM_TIME_SENSITIVE];
	c->bursty_p50_ns = percentile(a, ACIOM_BURSTY, 50);
	c->bursty_p99_ns = percentile(a, ACIOM_BURSTY, 99);
	c->bursty_worst_ns = a->worst_ns[ACIOM_BURSTY];
}
