// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Allocates a buffer of a heap, uses it twice at the same addresses, and resizes it:
 *   cc example.c $(pkg-config --cflags --libs fovea-heap) && ./a.out /dev/fovea-heap/system
 * With "test" for the heap it imports plain memory, which any machine has.
 */
#define _GNU_SOURCE
#include <fovea-heap.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fovea_buffer *memory(void)
{
	struct fovea_buffer *buffer = NULL;
	int fd = memfd_create("example", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, 1 << 20) == 0)
		buffer = fovea_buffer_import(fd);
	close(fd);
	return buffer;
}

static struct fovea_buffer *from_heap(const char *path)
{
	struct fovea_buffer *buffer;
	struct fovea_heap *heap = fovea_heap_open(path);

	if (!heap)
		return NULL;
	buffer = fovea_buffer_alloc(heap, 1 << 20);
	fovea_heap_close(heap);
	return buffer;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/dev/fovea-heap/system";
	struct fovea_buffer *buffer = strcmp(path, "test") ? from_heap(path) : memory();
	char *first, *second;

	if (!buffer || !(first = fovea_buffer_map(buffer))) {
		perror(path);
		return 1;
	}
	fovea_buffer_begin(buffer, FOVEA_WRITE);
	strcpy(first, "a frame");
	fovea_buffer_end(buffer, FOVEA_WRITE);
	fovea_buffer_unmap(buffer);
	/* Here a device has it. */
	second = fovea_buffer_map(buffer);
	printf("%s, mapped %s\n", second, first == second ? "once" : "twice");
	fovea_buffer_unmap(buffer);
	if (fovea_buffer_resize(buffer, 2 << 20, 0))
		perror("another size");
	printf("%llu bytes\n", (unsigned long long)fovea_buffer_size(buffer));
	fovea_buffer_free(buffer);
	return first != second;
}
