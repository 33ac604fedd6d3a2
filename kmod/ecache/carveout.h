/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOVEA_ECACHE_CARVEOUT_H
#define FOVEA_ECACHE_CARVEOUT_H

#include <linux/memremap.h>
#include <linux/types.h>

/* Most carve-outs. */
#define CARVEOUTS_MAX 16

/* A range of memory that is the pool's. */
struct carveout {
	phys_addr_t start;
	u64 size_bytes;
	void *vaddr;
	/* How it was come by, and is to be given back. */
	enum carveout_source {
		CARVEOUT_NONE = 0,
		/* Kept from Linux at boot, without struct pages until now. */
		CARVEOUT_RESERVED,
		/* Kept from Linux at boot, in the linear mapping. */
		CARVEOUT_LINEAR,
		/* Taken from the running system. */
		CARVEOUT_CONTIG,
	} source;
	struct dev_pagemap pgmap;
};

/*
 * Takes what `text` lists into `list` and returns how many, or a negative errno after
 * one line in the log; then nothing is taken.
 */
int carveouts_take(const char *text, struct carveout *list);

/* Gives all back. */
void carveouts_give_back(struct carveout *list, int count);

#endif /* FOVEA_ECACHE_CARVEOUT_H */
