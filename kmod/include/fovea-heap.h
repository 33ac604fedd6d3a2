/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/* What programs ask of a node of fovea-heap beside DMA_HEAP_IOCTL_ALLOC (linux/dma-heap.h). */
#ifndef FOVEA_HEAP_UAPI_H
#define FOVEA_HEAP_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Devices take the buffer in several pieces: what stays mapped for a device in one piece is
 * extended by another one when the buffer grows. Without it such a mapping is given up then,
 * and the next use maps the buffer anew, in one piece.
 */
#define FOVEA_HEAP_RESIZE_PIECES	(1u << 0)
#define FOVEA_HEAP_RESIZE_FLAGS		FOVEA_HEAP_RESIZE_PIECES

/* To `len` bytes, rounded up to pages; all of what is new is zero. */
struct fovea_heap_resize {
	__u64 len;
	/* A buffer of this node's, open for writing. */
	__u32 fd;
	__u32 flags;
};

/*
 * EBUSY	a device is attached, the kernel has mapped it, or a process has what would go
 * EINVAL	no length, unknown flags, not a buffer of this node's
 * EBADF	no open file
 * EACCES	the file is not open for writing
 * EOPNOTSUPP	buffers of this node have one size
 * ENOMEM	more than half of memory, or more than there is; the buffer is as it was
 */
#define FOVEA_HEAP_IOCTL_RESIZE	_IOW('H', 0x46, struct fovea_heap_resize)

#endif /* FOVEA_HEAP_UAPI_H */
