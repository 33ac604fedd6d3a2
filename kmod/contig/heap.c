// SPDX-License-Identifier: GPL-2.0-only
/* The nodes and buffers of dm-ecache, with another source of memory. */
#include "../ecache/heap_node.c"
#include "../ecache/heap_buffer.c"
