/* SPDX-License-Identifier: GPL-2.0-only */
/* Who holds buffers: a cgroup and a user, with what its processes have allocated. */
#ifndef FOVEA_HEAP_HOLDER_H
#define FOVEA_HEAP_HOLDER_H

#include <linux/types.h>

struct heap_holder;

/* The calling process's, with a buffer of so many bytes more; null if memory is short. */
struct heap_holder *heap_holder_add(u64 size_bytes);
/* A buffer of the holder's has another size. */
void heap_holder_resize(struct heap_holder *h, u64 old_bytes, u64 size_bytes);
/* It is gone. */
void heap_holder_remove(struct heap_holder *h, u64 size_bytes);

int heap_holders_init(void);
void heap_holders_exit(void);

#endif /* FOVEA_HEAP_HOLDER_H */
