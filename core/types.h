/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The few names that the decision cores take from their surroundings: fixed
 * width types, memset() and memcpy(). In the kernel they are the kernel's, in
 * the laboratory those of a freestanding C11 compiler.
 */
#ifndef FOVEA_CORE_TYPES_H
#define FOVEA_CORE_TYPES_H

#ifdef __KERNEL__

#include <linux/string.h>
#include <linux/types.h>

#else

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/*
 * -ffreestanding makes plain calls of these; by their built-in names the compiler
 * still sees what they do, and needs a library for long copies only.
 */
#define memset(s, c, n)		__builtin_memset(s, c, n)
#define memcpy(dst, src, n)	__builtin_memcpy(dst, src, n)

#endif /* __KERNEL__ */

#endif /* FOVEA_CORE_TYPES_H */
