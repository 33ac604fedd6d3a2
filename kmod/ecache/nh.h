/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NH: the keyed hash by which a page's content is recognised.
 *
 *	NH(M) = sum of (m[2i] + k[2i] mod 2^32) * (m[2i+1] + k[2i+1] mod 2^32), mod 2^64
 *
 * over the page's words of 32 bits. The key k is as long as a page, random, of this load of
 * the module, and leaves it by no interface. Any two different pages that are chosen without
 * the key have equal hashes with probability at most 2^-32: NH[n, w] is 2^-w-almost-universal
 * on strings of equal length (Black, Halevi, Krawczyk, Krovetz and Rogaway, "UMAC: Fast and
 * Secure Message Authentication", CRYPTO 1999, section 4), here with w = 32. The bound is
 * met: pages that differ in one word have equal hashes where the neighbour of that word and
 * its key sum up to 0. So all 64 bits are kept and compared.
 *
 * Terms may be added in any order: every implementation has the same result. They are
 * tested by one vector at load, and as a program beside a slow model
 * (tests/nh_model.c).
 *
 * Folded into the copy where a page is copied: each word is loaded once. The loops take, in
 * instructions for 4 KiB, with AVX2 800 for a copy and 672 without, with SSE2 1,664 and
 * 1,408; a plain copy by `rep movsq` counts as 512. A copy survives memory that fails (a
 * machine check on a load); such a page has no hash.
 */
#ifndef FOVEA_ECACHE_NH_H
#define FOVEA_ECACHE_NH_H

#include <linux/types.h>

/*
 * Pages that may be hashed with interrupts off: 100,000 instructions, with what else is
 * done to each and their copies.
 */
extern u32 nh_batch_pages;

/* A new key, and the fastest implementation that this CPU has; an error if it is wrong. */
int nh_init(void);

/*
 * Around a run of calls below: the CPU's vector registers are had, if that is allowed
 * here. Nobody sleeps between the two. Any context.
 */
bool nh_begin(void);
void nh_end(bool vectors);

/* The hash of a page; false if its memory cannot be read. */
bool nh_page(bool vectors, const void *page, u64 *hash);

/* Copies a page, and hashes what was copied. */
bool nh_copy(bool vectors, void *to, const void *from, u64 *hash);

#endif /* FOVEA_ECACHE_NH_H */
