// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* fovea-heap.h says what this is. */
#define _GNU_SOURCE
/* Buffers larger than the address space can be made and resized on 32 bits; only mapping them fails. */
#define _FILE_OFFSET_BITS 64
#include "fovea-heap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the module is asked. */
#include "../../kmod/include/fovea-heap.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE	0x100000
#endif

/* Of what map() has mapped, which therefore fits. */
static void unmap(unsigned char *start, uint64_t size_bytes)
{
	munmap(start, (size_t)size_bytes);
}

struct fovea_heap {
	int fd;
	bool is_udmabuf;
	/* Knows the call. */
	bool resizes;
	/* The program's, and its buffers', which resize by it. */
	unsigned long refs;
};

struct fovea_buffer {
	/* The list's lock protects these. */
	struct fovea_buffer *next;
	unsigned long refs;

	int fd;
	dev_t device;
	ino_t inode;
	/* Null if imported. */
	struct fovea_heap *heap;

	pthread_mutex_t lock;
	uint64_t size_bytes;
	/* Null if it is not mapped. */
	unsigned char *start;
	unsigned long users;
};

/* Buffers by what they are, and all references. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fovea_buffer *list;

/* A call that is asked for again when a signal came in between. */
static int call(int fd, unsigned long request, void *argument)
{
	int result;

	do
		result = ioctl(fd, request, argument);
	while (result < 0 && (errno == EINTR || errno == EAGAIN));
	return result;
}

/* In whole pages; 0 if there is no such number. */
static uint64_t in_pages(uint64_t size_bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (size_bytes > SIZE_MAX - (page - 1))
		return 0;
	return (size_bytes + page - 1) / page * page;
}

struct fovea_heap *fovea_heap_open(const char *path)
{
	const char *name = strrchr(path, '/');
	struct fovea_heap *heap = calloc(1, sizeof(*heap));
	struct fovea_heap_resize probe = { .len = 1, .fd = UINT32_MAX };

	if (!heap)
		return NULL;
	heap->refs = 1;
	heap->is_udmabuf = strcmp(name ? name + 1 : path, "udmabuf") == 0;
	heap->fd = open(path, O_RDWR | O_CLOEXEC);
	/* A heap's node may be there for reading only; the call needs no more. */
	if (heap->fd < 0 && errno == EACCES)
		heap->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (heap->fd < 0) {
		free(heap);
		return NULL;
	}
	/* The kernel's heaps say of a call that they do not know what ours say of a wrong one. */
	heap->resizes = call(heap->fd, FOVEA_HEAP_IOCTL_RESIZE, &probe) < 0 && errno == EBADF;
	return heap;
}

/* With the list's lock. */
static void heap_put(struct fovea_heap *heap)
{
	if (!heap || --heap->refs)
		return;
	close(heap->fd);
	free(heap);
}

void fovea_heap_close(struct fovea_heap *heap)
{
	pthread_mutex_lock(&list_lock);
	heap_put(heap);
	pthread_mutex_unlock(&list_lock);
}

/* From /dev/udmabuf: it wants memory that cannot shrink. */
static int udmabuf_alloc(int node, uint64_t size_bytes)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size_bytes };
	int memory = memfd_create("fovea-heap", MFD_ALLOW_SEALING | MFD_CLOEXEC), fd = -1, error;

	if (memory < 0)
		return -1;
	create.memfd = (uint32_t)memory;
	if (ftruncate(memory, (off_t)size_bytes) == 0 && fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
		fd = call(node, UDMABUF_CREATE, &create);
	error = errno;
	close(memory);
	errno = error;
	return fd;
}

static int heap_alloc(int node, uint64_t size_bytes)
{
	struct dma_heap_allocation_data data = { .len = size_bytes, .fd_flags = O_RDWR | O_CLOEXEC };

	return call(node, DMA_HEAP_IOCTL_ALLOC, &data) < 0 ? -1 : (int)data.fd;
}

/* Takes `fd` over, in any case. With the list's lock. */
static struct fovea_buffer *add(int fd, struct fovea_heap *heap)
{
	struct fovea_buffer *buffer = NULL;
	struct stat status;
	off_t end;
	int error;

	/* What a DMA-BUF has by its end, stat does not show. */
	end = lseek(fd, 0, SEEK_END);
	if (end > 0 && fstat(fd, &status) == 0)
		buffer = calloc(1, sizeof(*buffer));
	else if (end == 0 || errno == ESPIPE)
		errno = EINVAL;
	if (!buffer) {
		error = errno;
		close(fd);
		errno = error;
		return NULL;
	}
	buffer->fd = fd;
	buffer->device = status.st_dev;
	buffer->inode = status.st_ino;
	buffer->size_bytes = (uint64_t)end;
	buffer->heap = heap;
	buffer->refs = 1;
	pthread_mutex_init(&buffer->lock, NULL);
	buffer->next = list;
	list = buffer;
	if (heap)
		heap->refs++;
	return buffer;
}

struct fovea_buffer *fovea_buffer_alloc(struct fovea_heap *heap, uint64_t size_bytes)
{
	struct fovea_buffer *buffer;
	int fd;

	/* None is the heap's to refuse. */
	if (size_bytes && !in_pages(size_bytes)) {
		errno = EINVAL;
		return NULL;
	}
	fd = heap->is_udmabuf ? udmabuf_alloc(heap->fd, in_pages(size_bytes)) : heap_alloc(heap->fd, size_bytes);
	if (fd < 0)
		return NULL;
	pthread_mutex_lock(&list_lock);
	buffer = add(fd, heap);
	pthread_mutex_unlock(&list_lock);
	return buffer;
}

struct fovea_buffer *fovea_buffer_import(int fd)
{
	struct fovea_buffer *buffer = NULL;
	struct stat status;
	int own;

	if (fstat(fd, &status) < 0)
		return NULL;
	pthread_mutex_lock(&list_lock);
	for (buffer = list; buffer; buffer = buffer->next)
		if (buffer->device == status.st_dev && buffer->inode == status.st_ino)
			break;
	if (buffer) {
		buffer->refs++;
	} else {
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		buffer = own < 0 ? NULL : add(own, NULL);
	}
	pthread_mutex_unlock(&list_lock);
	return buffer;
}

struct fovea_buffer *fovea_buffer_hold(struct fovea_buffer *buffer)
{
	pthread_mutex_lock(&list_lock);
	buffer->refs++;
	pthread_mutex_unlock(&list_lock);
	return buffer;
}

void fovea_buffer_free(struct fovea_buffer *buffer)
{
	struct fovea_buffer **link = &list;
	bool last;

	if (!buffer)
		return;
	pthread_mutex_lock(&list_lock);
	last = --buffer->refs == 0;
	if (last) {
		while (*link != buffer)
			link = &(*link)->next;
		*link = buffer->next;
		heap_put(buffer->heap);
	}
	pthread_mutex_unlock(&list_lock);
	if (!last)
		return;
	if (buffer->start)
		unmap(buffer->start, buffer->size_bytes);
	close(buffer->fd);
	pthread_mutex_destroy(&buffer->lock);
	free(buffer);
}

int fovea_buffer_fd(const struct fovea_buffer *buffer)
{
	return buffer->fd;
}

uint64_t fovea_buffer_size(struct fovea_buffer *buffer)
{
	uint64_t size_bytes;

	pthread_mutex_lock(&buffer->lock);
	size_bytes = buffer->size_bytes;
	pthread_mutex_unlock(&buffer->lock);
	return size_bytes;
}

/* Null if it cannot be had, or not at `at` where that is asked for. */
static unsigned char *map(const struct fovea_buffer *buffer, unsigned char *at, uint64_t from_bytes, uint64_t end_bytes)
{
	int flags = MAP_SHARED | (at ? MAP_FIXED_NOREPLACE : 0);
	uint64_t size_bytes = end_bytes - from_bytes;
	void *start;

	if (size_bytes > SIZE_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	start = mmap(at, (size_t)size_bytes, PROT_READ | PROT_WRITE, flags, buffer->fd, (off_t)from_bytes);
	if (start == MAP_FAILED)
		return NULL;
	/* Kernels before 4.17 take the address for a wish. */
	if (at && start != at) {
		unmap(start, size_bytes);
		return NULL;
	}
	return start;
}

void *fovea_buffer_map(struct fovea_buffer *buffer)
{
	unsigned char *start;

	pthread_mutex_lock(&buffer->lock);
	if (!buffer->start)
		buffer->start = map(buffer, NULL, 0, buffer->size_bytes);
	start = buffer->start;
	if (start)
		buffer->users++;
	pthread_mutex_unlock(&buffer->lock);
	return start;
}

void fovea_buffer_unmap(struct fovea_buffer *buffer)
{
	pthread_mutex_lock(&buffer->lock);
	buffer->users--;
	pthread_mutex_unlock(&buffer->lock);
}

/* With the buffer's lock. */
static void drop_mapping(struct fovea_buffer *buffer, uint64_t size_bytes)
{
	if (buffer->start)
		unmap(buffer->start, size_bytes);
	buffer->start = NULL;
}

int fovea_buffer_trim(struct fovea_buffer *buffer)
{
	int result = -1;

	pthread_mutex_lock(&buffer->lock);
	if (buffer->users) {
		errno = EBUSY;
	} else {
		drop_mapping(buffer, buffer->size_bytes);
		result = 0;
	}
	pthread_mutex_unlock(&buffer->lock);
	return result;
}

static int sync_access(const struct fovea_buffer *buffer, unsigned int access, uint64_t end)
{
	struct dma_buf_sync sync = { .flags = access | end };

	if (!access || access & ~(FOVEA_READ | FOVEA_WRITE)) {
		errno = EINVAL;
		return -1;
	}
	/* Memory that is no DMA-BUF has no device to be told. */
	return call(buffer->fd, DMA_BUF_IOCTL_SYNC, &sync) == 0 || errno == ENOTTY ? 0 : -1;
}

int fovea_buffer_begin(struct fovea_buffer *buffer, unsigned int access)
{
	return sync_access(buffer, access, DMA_BUF_SYNC_START);
}

int fovea_buffer_end(struct fovea_buffer *buffer, unsigned int access)
{
	return sync_access(buffer, access, DMA_BUF_SYNC_END);
}

/* With the buffer's lock; nobody uses it. */
static int resize(struct fovea_buffer *buffer, uint64_t size_bytes, unsigned int flags)
{
	struct fovea_heap_resize argument = { .len = size_bytes, .fd = (uint32_t)buffer->fd, .flags = flags };
	uint64_t old_bytes = buffer->size_bytes, mapped_bytes = old_bytes;
	unsigned char *start = buffer->start;
	int result, error;

	if (start && size_bytes < old_bytes) {
		unmap(start + size_bytes, old_bytes - size_bytes);
		mapped_bytes = size_bytes;
	}
	result = call(buffer->heap->fd, FOVEA_HEAP_IOCTL_RESIZE, &argument);
	error = errno;
	if (result == 0)
		buffer->size_bytes = size_bytes;
	/* What is missing, if somebody has those addresses, will be mapped elsewhere, with the rest. */
	if (start && mapped_bytes < buffer->size_bytes &&
	    !map(buffer, start + mapped_bytes, mapped_bytes, buffer->size_bytes))
		drop_mapping(buffer, mapped_bytes);
	errno = error;
	return result;
}

int fovea_buffer_resize(struct fovea_buffer *buffer, uint64_t size_bytes, unsigned int flags)
{
	int result = -1;

	pthread_mutex_lock(&buffer->lock);
	if (!buffer->heap || !buffer->heap->resizes)
		errno = EOPNOTSUPP;
	else if (!in_pages(size_bytes))
		errno = EINVAL;
	else if (buffer->users)
		errno = EBUSY;
	else
		result = resize(buffer, in_pages(size_bytes), flags);
	pthread_mutex_unlock(&buffer->lock);
	return result;
}
