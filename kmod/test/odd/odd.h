/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What programs ask of /dev/odd-exporter. */
#ifndef FOVEA_ODD_H
#define FOVEA_ODD_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct odd_request {
	/* Of the caller's memory: what is written, or where to what is read. */
	__u64 data;
	/* Of the buffer: out of ODD_EXPORT, its size. */
	__u64 size_bytes;
	__u64 offset;
	__u32 length;
	/* A kind, as kinds.c has them in their order. */
	__u32 kind;
	__s32 fd;
	/* The CPU writes the buffer; else it reads it. */
	__u32 writes;
};

/* A buffer with a list of that kind. EINVAL: there are no more kinds. */
#define ODD_EXPORT	_IOWR('O', 1, struct odd_request)
/* The CPU's access to a buffer, whatever its list says. */
#define ODD_ACCESS	_IOWR('O', 2, struct odd_request)

#endif /* FOVEA_ODD_H */
