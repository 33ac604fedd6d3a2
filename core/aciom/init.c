// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* How it begins, and what it tells of itself. */

#include "internal.h"

u64 aciom_memory_size(const struct aciom_config *config)
{
	if (config->max_apps > ACIOM_MAX_APPS || config->cmax > ACIOM_MAX_RATE)
		return 0;
	return sizeof(struct aciom) + (u64)config->max_apps * sizeof(struct aciom_app);
}

int aciom_init(void *memory, u64 size, const struct aciom_config *config,
	       struct aciom **out)
{
	u64 needed = aciom_memory_size(config);
	struct aciom *a = memory;

	if (!needed || size < needed)
		return ACIOM_EINVAL;
	memset(a, 0, (size_t)needed);
	a->max_apps = config->max_apps;
	a->hold_limit = config->hold_limit;
	a->cmax_given = config->cmax;
	a->cmax = config->cmax;
	a->next_expiry_ns = ACIOM_NEVER;
	a->next_release_ns = ACIOM_NEVER;
	a->base_ns = ACIOM_NEVER;
	a->base_now_ns = ACIOM_NEVER;
	a->window_bytes = WINDOW_START;
	a->slack = true;
	aciom_refresh_rate(a);
	*out = a;
	return ACIOM_OK;
}

void aciom_counters_read(const struct aciom *a, struct aciom_counters *counters)
{
	*counters = a->counters;
	aciom_latency_read(a, counters);
	counters->queued_write_bytes = a->plain_write_bytes + a->bursty_write_bytes;
	counters->in_flight_bytes = a->in_flight_bytes;
	counters->window_bytes = a->window_bytes;
	counters->cmax = a->cmax;
	counters->reserved = a->reserved;
	counters->budget = a->budget;
	counters->active_time_sensitive = a->nr_sensitive;
	counters->active_bursty = a->nr_bursty;
}
