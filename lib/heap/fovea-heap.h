/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Buffers that programs share with devices: DMA-BUFs, of a heap's node (the kernel's below
 * /dev/dma_heap, Fovea's below /dev/fovea-heap and /dev/ecache), of /dev/udmabuf, or
 * somebody else's. A buffer that a program has mapped once stays mapped between uses and
 * is unmapped with its end, so that a use costs no page faults but the first.
 *
 * What returns a pointer returns null, and what returns an int returns -1, when it fails, and
 * sets errno. Any thread may call anything at any time but the last fovea_buffer_free() of a
 * buffer that another is using.
 */
#ifndef FOVEA_HEAP_H
#define FOVEA_HEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fovea_heap;
struct fovea_buffer;

/* What the CPU does with a buffer. */
#define FOVEA_READ	1u
#define FOVEA_WRITE	2u

/* Opens a node. ENOENT, EACCES: as open(2). */
struct fovea_heap *fovea_heap_open(const char *path);
/* Buffers live on. */
void fovea_heap_close(struct fovea_heap *heap);

/*
 * A buffer of at least so many bytes, in whole pages. EINVAL: none, or more than addresses;
 * ENOMEM, EBUSY: as the heap says. Of /dev/udmabuf it is a memfd's memory.
 */
struct fovea_buffer *fovea_buffer_alloc(struct fovea_heap *heap, uint64_t size_bytes);
/*
 * Somebody's buffer, of which `fd` stays the caller's. If the process has that buffer already,
 * by whatever descriptor, it is that one, with its mapping, held once more. EBADF: no file;
 * EINVAL: none that has a size.
 */
struct fovea_buffer *fovea_buffer_import(int fd);
/* Holds it once more. */
struct fovea_buffer *fovea_buffer_hold(struct fovea_buffer *buffer);
/* The last one unmaps it, and closes its descriptor: the memory goes when all have. */
void fovea_buffer_free(struct fovea_buffer *buffer);

/* The buffer's own; duplicate it to keep it. */
int fovea_buffer_fd(const struct fovea_buffer *buffer);
uint64_t fovea_buffer_size(struct fovea_buffer *buffer);

/* All of it, readable and writable, where it was the last time if it was mapped before. */
void *fovea_buffer_map(struct fovea_buffer *buffer);
/* Ends a use. It stays mapped. */
void fovea_buffer_unmap(struct fovea_buffer *buffer);
/* Gives the addresses up. EBUSY: it is in use. */
int fovea_buffer_trim(struct fovea_buffer *buffer);

/* Around the CPU's accesses of what is mapped: FOVEA_READ, FOVEA_WRITE or both. */
int fovea_buffer_begin(struct fovea_buffer *buffer, unsigned int access);
int fovea_buffer_end(struct fovea_buffer *buffer, unsigned int access);

/* Devices take the buffer in several pieces (kmod/include/fovea-heap.h). */
#define FOVEA_RESIZE_PIECES	1u
/*
 * Another size, in whole pages; what is new is zero. What stays mapped follows: of an idle
 * mapping only what goes is unmapped, and only what comes is mapped. EBUSY: it is in use, by a
 * map of this process or by a device; EOPNOTSUPP: no heap of ours, an imported buffer, or
 * one whose size is its device's; EINVAL, ENOMEM: as fovea_buffer_alloc().
 */
int fovea_buffer_resize(struct fovea_buffer *buffer, uint64_t size_bytes, unsigned int flags);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_HEAP_H */
