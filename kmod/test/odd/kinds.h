/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists of buffers that are right, but not as most exporters' are; and some that are not right. */
#ifndef FOVEA_ODD_KINDS_H
#define FOVEA_ODD_KINDS_H

#include <linux/types.h>

/* A buffer's memory: a compound piece. */
#define ODD_ORDER	4
#define ODD_ENTRIES_MAX	8

/* Bytes of that piece, which an entry of the list stands for. */
struct odd_entry {
	u32 first;
	u32 length;
};

enum odd_fault {
	ODD_RIGHT,
	/* The list has the piece's first page in each entry; addresses are right. */
	ODD_OTHER_PAGES,
	/* The list has addresses and no pages. */
	ODD_NO_PAGES,
	/* The list is shorter than the buffer. */
	ODD_SHORT,
};

struct odd_kind {
	const char *name;
	/* Whether an entry's page is that of its first byte; else the piece's, and an offset. */
	bool own_page;
	enum odd_fault fault;
	struct odd_entry entries[ODD_ENTRIES_MAX];
};

extern const struct odd_kind odd_kinds[];
extern const unsigned int odd_nr_kinds;

#endif /* FOVEA_ODD_KINDS_H */
