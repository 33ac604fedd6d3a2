/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What programs ask of /dev/edu-N, N being the device's slot on its PCI bus. */
#ifndef FOVEA_EDU_H
#define FOVEA_EDU_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The device's own memory is larger, but its DMA counts to less than all of it. */
#define EDU_BYTES_MAX	2048

struct edu_request {
	/* Where the device sees byte `offset` of the buffer. */
	__u64 dma_address;
	__u64 offset;
	/* Of the caller's memory: load, store. */
	__u64 data;
	/* What `count` rounds of attach, map, unmap and detach took. */
	__u64 elapsed_ns;
	__s32 fd;
	/* enum dma_data_direction of the mapping. */
	__u32 direction;
	/* DMA: so many bytes; 0 for none. */
	__u32 length;
	/* The device writes the buffer; else it reads it. */
	__u32 writes;
	__u32 count;
	/* Of the mapping: the device's pieces. */
	__u32 pieces;
};

/* A use of a buffer: attach, map, DMA, unmap, detach; `count` times. */
#define EDU_USE		_IOWR('E', 1, struct edu_request)
/* Attach and map only, until EDU_RELEASE or the file's end; one a file. */
#define EDU_HOLD	_IOWR('E', 2, struct edu_request)
#define EDU_RELEASE	_IO('E', 3)
/* DMA at `dma_address`, whatever is there. */
#define EDU_RAW		_IOWR('E', 4, struct edu_request)
/* Between the device's memory and the caller's. */
#define EDU_LOAD	_IOWR('E', 5, struct edu_request)
#define EDU_STORE	_IOWR('E', 6, struct edu_request)
/* Pieces of `length` bytes at most are what the device takes from now on. */
#define EDU_SEGMENT	_IOWR('E', 7, struct edu_request)

/* Attach only, until EDU_RELEASE or the file's end; one a file. */
#define EDU_ATTACH	_IOWR('E', 8, struct edu_request)

#endif /* FOVEA_EDU_H */
