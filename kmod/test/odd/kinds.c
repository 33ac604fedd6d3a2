// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/mm.h>

#include "kinds.h"

#define P	PAGE_SIZE

const struct odd_kind odd_kinds[] = {
	/* As udmabuf's since 6.11. */
	{ .name = "offsets", .entries = { { 3 * P, P }, { 4 * P, P }, { 9 * P, P } } },
	{ .name = "several pages an entry", .entries = { { P, 2 * P }, { 5 * P, P } } },
	{ .name = "out of order", .own_page = true,
	  .entries = { { 8 * P, P }, { 2 * P, P }, { 5 * P, P } } },
	{ .name = "out of order behind one page", .entries = { { 8 * P, P }, { 2 * P, P } } },
	{ .name = "parts of pages", .own_page = true,
	  .entries = { { 256, P - 256 }, { 2 * P, 1024 }, { 4 * P + 2048, 2048 } } },
	{ .name = "parts across pages", .entries = { { P + 512, P }, { 6 * P + 64, 960 } } },
	{ .name = "other pages", .fault = ODD_OTHER_PAGES, .entries = { { 7 * P, P }, { 3 * P, P } } },
	{ .name = "no pages", .fault = ODD_NO_PAGES, .entries = { { 6 * P, P } } },
	{ .name = "a part of the buffer", .fault = ODD_SHORT, .entries = { { 2 * P, P }, { 6 * P, P } } },
};
const unsigned int odd_nr_kinds = ARRAY_SIZE(odd_kinds);
