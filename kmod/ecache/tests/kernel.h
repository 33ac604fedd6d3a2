/* SPDX-License-Identifier: GPL-2.0-only */
/* What of the kernel track.c uses, for programs: names, and RAM (include/linux is this). */
#ifndef FOVEA_ECACHE_TESTS_KERNEL_H
#define FOVEA_ECACHE_TESTS_KERNEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned int gfp_t;
#define PAGE_SIZE		4096ul
#define PFN_PHYS(pfn)		((u64)(pfn) * PAGE_SIZE)
#define BIT(n)			(1u << (n))
#define U32_MAX			UINT32_MAX
#define ULONG_MAX		(~0ul)
#define GOLDEN_RATIO_32		0x61C88647u
#define GOLDEN_RATIO_64		0x61C8864680B583EBull
#define GFP_KERNEL		0
#define GFP_NOWAIT		0
#define __GFP_NOWARN		0
#define __GFP_NOMEMALLOC	0
#define GFP_DMA32		1
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define noinline		__attribute__((__noinline__))
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), (value), __ATOMIC_RELAXED)
#define cmpxchg(p, old, new)							\
	({									\
		__typeof__(*(p)) was_ = (old);					\
		__atomic_compare_exchange_n((p), &was_, (new), 0,		\
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
		was_;								\
	})
#define smp_store_release(p, value)	__atomic_store_n((p), (value), __ATOMIC_RELEASE)
#define BUILD_BUG_ON(x)		_Static_assert(!(x), #x)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define clamp(x, lo, hi)	min(max((x), (lo)), (hi))
#define ilog2(x)		(63 - __builtin_clzl(x))
#define pr_err(...)		fprintf(stderr, __VA_ARGS__)
#define kvcalloc(n, size, gfp)	calloc((n), (size))
#define kvfree(p)		free(p)
#define for_each_online_node(node)	for ((node) = 0; (node) < 1; (node)++)

/* What nh.c uses: vector registers are always had, and the key is what a test says. */
#ifdef __x86_64__
#define CONFIG_X86_64		1
#endif
#define KBUILD_MODNAME		"test"
#define __aligned(n)		__attribute__((__aligned__(n)))
#define le64_to_cpu(x)		(x)
#define cpu_to_le64(x)		(x)
#define kmalloc(size, gfp)	malloc(size)
#define kfree(p)		free(p)
#define preempt_disable()	((void)0)
#define preempt_enable()	((void)0)
#define X86_FEATURE_AVX2	0
#define XFEATURE_MASK_SSE	2
#define XFEATURE_MASK_YMM	4
#define boot_cpu_has(feature)	__builtin_cpu_supports("avx2")
#define cpu_has_xfeatures(needed, names)	1
#define irq_fpu_usable()	1
#define kernel_fpu_begin()	((void)0)
#define kernel_fpu_end()	((void)0)
typedef u64 __le64;
void get_random_bytes(void *to, size_t bytes);

/*
 * RAM begins at some page that is not 0, and has a hole. A page in sixteen of it exists,
 * for entries.
 */
#define FIRST_PFN		77ul
#define PAGES			(1ul << 20)
#define CHUNK_PAGES		(PAGES / 16)
static char *ram;
static unsigned long chunks_used;
static unsigned long chunks_allowed = CHUNK_PAGES;

#define node_start_pfn(node)	FIRST_PFN
#define node_end_pfn(node)	(FIRST_PFN + PAGES)
#define HOLE_PFN		(FIRST_PFN + 8 * 1024)
#define pfn_valid(pfn)		((pfn) - HOLE_PFN >= 4 * 1024)
#define __va(phys)		((void *)(ram + ((phys) - PFN_PHYS(FIRST_PFN))))

static inline unsigned long __get_free_page(gfp_t gfp)
{
	(void)gfp;
	return chunks_used < chunks_allowed ? (unsigned long)ram + chunks_used++ * PAGE_SIZE : 0;
}

static inline unsigned long get_zeroed_page(gfp_t gfp)
{
	void *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE);

	(void)gfp;
	return (unsigned long)(page ? memset(page, 0, PAGE_SIZE) : NULL);
}

/* Of RAM's pages nothing is given back before the end. */
static inline void free_page(unsigned long page)
{
	if (page - (unsigned long)ram >= CHUNK_PAGES * PAGE_SIZE)
		free((void *)page);
}

#endif /* FOVEA_ECACHE_TESTS_KERNEL_H */
