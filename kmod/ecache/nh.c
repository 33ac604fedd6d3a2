// SPDX-License-Identifier: GPL-2.0-only
/* NH in its implementations; nh.h says what it is and what it promises. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#ifdef CONFIG_X86_64
#include <asm/asm.h>
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#endif

#include "broken.h"
#include "nh.h"

#define WORDS	(PAGE_SIZE / sizeof(u64))

/* Two words of 32 bits each. */
static u64 nh_key[WORDS] __aligned(64);
u32 nh_batch_pages;

static inline u64 nh_term(u64 word, u64 key)
{
	u32 low = (u32)word + (u32)key, high = (u32)(word >> 32) + (u32)(key >> 32);

	return (u64)low * high;
}

/* A word of 64 bits as two in the order that all CPUs hash them in. */
static inline u64 nh_word(const u64 *word)
{
	return le64_to_cpu(*(const __le64 *)word);
}

static u64 plain_hash(const u64 *page)
{
	u64 sum = 0;
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < WORDS; i++)
		sum += nh_term(nh_word(&page[i]), nh_key[i]);
	return sum;
}

/* A copy that ends where memory fails; whether there is all of it. */
static bool plain_copy(void *to, const void *from)
{
#ifdef CONFIG_ARCH_HAS_COPY_MC
	return !copy_mc_to_kernel(to, from, PAGE_SIZE);
#else
	memcpy(to, from, PAGE_SIZE);
	return true;
#endif
}

#ifdef CONFIG_X86_64
enum vectors {
	VECTORS_NONE,
	VECTORS_SSE2,
	VECTORS_AVX2,
};

static enum vectors nh_vectors;

/*
 * The assembler's loops count `at` up from -PAGE_SIZE to 0. A load that faults, be it by a
 * machine check, ends the loop there (EX_TYPE_DEFAULT_MCE_SAFE): then `at` is not 0.
 */
#ifdef __KERNEL__
#define NH_LOAD(label)	_ASM_EXTABLE_TYPE(label, 9b, EX_TYPE_DEFAULT_MCE_SAFE)
#define NH_CLOBBERS	"cc", "memory"
#else
#define NH_LOAD(label)
#define NH_CLOBBERS	"cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5"
#endif

#define AVX2_LOAD(label, offset)						\
	#label ": vmovdqu " #offset "(%[from],%[at]), %%ymm0\n"
#define AVX2_STORE(offset)							\
	"vmovdqu %%ymm0, " #offset "(%[to],%[at])\n"
#define AVX2_TERM(offset, sum)							\
	"vpaddd " #offset "(%[key],%[at]), %%ymm0, %%ymm0\n"			\
	"vpsrlq $32, %%ymm0, %%ymm1\n"						\
	"vpmuludq %%ymm1, %%ymm0, %%ymm0\n"					\
	"vpaddq %%ymm0, %%ymm" #sum ", %%ymm" #sum "\n"
#define AVX2_BEGIN								\
	"vpxor %%xmm2, %%xmm2, %%xmm2\n"					\
	"vpxor %%xmm3, %%xmm3, %%xmm3\n"					\
	".balign 16\n"								\
	"8:\n"
#define AVX2_END								\
	"add $256, %[at]\n"							\
	"jnz 8b\n"								\
	"9: vpaddq %%ymm3, %%ymm2, %%ymm2\n"					\
	"vextracti128 $1, %%ymm2, %%xmm0\n"					\
	"vpaddq %%xmm0, %%xmm2, %%xmm2\n"					\
	"vpsrldq $8, %%xmm2, %%xmm0\n"						\
	"vpaddq %%xmm0, %%xmm2, %%xmm2\n"					\
	"vmovq %%xmm2, %[sum]\n"						\
	"vzeroupper\n"

static bool avx2_hash(const void *from, u64 *hash)
{
	long at = -(long)PAGE_SIZE;

	asm volatile(AVX2_BEGIN
		     AVX2_LOAD(11, 0) AVX2_TERM(0, 2)
		     AVX2_LOAD(12, 32) AVX2_TERM(32, 3)
		     AVX2_LOAD(13, 64) AVX2_TERM(64, 2)
		     AVX2_LOAD(14, 96) AVX2_TERM(96, 3)
		     AVX2_LOAD(15, 128) AVX2_TERM(128, 2)
		     AVX2_LOAD(16, 160) AVX2_TERM(160, 3)
		     AVX2_LOAD(17, 192) AVX2_TERM(192, 2)
		     AVX2_LOAD(18, 224) AVX2_TERM(224, 3)
		     AVX2_END
		     NH_LOAD(11b) NH_LOAD(12b) NH_LOAD(13b) NH_LOAD(14b)
		     NH_LOAD(15b) NH_LOAD(16b) NH_LOAD(17b) NH_LOAD(18b)
		     : [at] "+&r"(at), [sum] "=&r"(*hash)
		     : [from] "r"(from + PAGE_SIZE), [key] "r"(nh_key + WORDS)
		     : NH_CLOBBERS);
	return !at;
}

static bool avx2_copy(void *to, const void *from, u64 *hash)
{
	long at = -(long)PAGE_SIZE;

	asm volatile(AVX2_BEGIN
		     AVX2_LOAD(11, 0) AVX2_STORE(0) AVX2_TERM(0, 2)
		     AVX2_LOAD(12, 32) AVX2_STORE(32) AVX2_TERM(32, 3)
		     AVX2_LOAD(13, 64) AVX2_STORE(64) AVX2_TERM(64, 2)
		     AVX2_LOAD(14, 96) AVX2_STORE(96) AVX2_TERM(96, 3)
		     AVX2_LOAD(15, 128) AVX2_STORE(128) AVX2_TERM(128, 2)
		     AVX2_LOAD(16, 160) AVX2_STORE(160) AVX2_TERM(160, 3)
		     AVX2_LOAD(17, 192) AVX2_STORE(192) AVX2_TERM(192, 2)
		     AVX2_LOAD(18, 224) AVX2_STORE(224) AVX2_TERM(224, 3)
		     AVX2_END
		     NH_LOAD(11b) NH_LOAD(12b) NH_LOAD(13b) NH_LOAD(14b)
		     NH_LOAD(15b) NH_LOAD(16b) NH_LOAD(17b) NH_LOAD(18b)
		     : [at] "+&r"(at), [sum] "=&r"(*hash)
		     : [from] "r"(from + PAGE_SIZE), [to] "r"(to + PAGE_SIZE),
		       [key] "r"(nh_key + WORDS)
		     : NH_CLOBBERS);
	return !at;
}

#define SSE2_LOAD(label, offset)						\
	#label ": movdqu " #offset "(%[from],%[at]), %%xmm0\n"
#define SSE2_STORE(offset)							\
	"movdqu %%xmm0, " #offset "(%[to],%[at])\n"
/* The key is aligned, as paddd wants it. */
#define SSE2_TERM(offset, sum)							\
	"paddd " #offset "(%[key],%[at]), %%xmm0\n"				\
	"pshufd $0xf5, %%xmm0, %%xmm1\n"					\
	"pmuludq %%xmm1, %%xmm0\n"						\
	"paddq %%xmm0, %%xmm" #sum "\n"
#define SSE2_BEGIN								\
	"pxor %%xmm2, %%xmm2\n"							\
	"pxor %%xmm3, %%xmm3\n"							\
	".balign 16\n"								\
	"8:\n"
#define SSE2_END								\
	"add $64, %[at]\n"							\
	"jnz 8b\n"								\
	"9: paddq %%xmm3, %%xmm2\n"						\
	"pshufd $0xee, %%xmm2, %%xmm0\n"					\
	"paddq %%xmm0, %%xmm2\n"						\
	"movq %%xmm2, %[sum]\n"

static bool sse2_hash(const void *from, u64 *hash)
{
	long at = -(long)PAGE_SIZE;

	asm volatile(SSE2_BEGIN
		     SSE2_LOAD(1, 0) SSE2_TERM(0, 2) SSE2_LOAD(2, 16) SSE2_TERM(16, 3)
		     SSE2_LOAD(3, 32) SSE2_TERM(32, 2) SSE2_LOAD(4, 48) SSE2_TERM(48, 3)
		     SSE2_END
		     NH_LOAD(1b) NH_LOAD(2b) NH_LOAD(3b) NH_LOAD(4b)
		     : [at] "+&r"(at), [sum] "=&r"(*hash)
		     : [from] "r"(from + PAGE_SIZE), [key] "r"(nh_key + WORDS)
		     : NH_CLOBBERS);
	return !at;
}

static bool sse2_copy(void *to, const void *from, u64 *hash)
{
	long at = -(long)PAGE_SIZE;

	asm volatile(SSE2_BEGIN
		     SSE2_LOAD(1, 0) SSE2_STORE(0) SSE2_TERM(0, 2)
		     SSE2_LOAD(2, 16) SSE2_STORE(16) SSE2_TERM(16, 3)
		     SSE2_LOAD(3, 32) SSE2_STORE(32) SSE2_TERM(32, 2)
		     SSE2_LOAD(4, 48) SSE2_STORE(48) SSE2_TERM(48, 3)
		     SSE2_END
		     NH_LOAD(1b) NH_LOAD(2b) NH_LOAD(3b) NH_LOAD(4b)
		     : [at] "+&r"(at), [sum] "=&r"(*hash)
		     : [from] "r"(from + PAGE_SIZE), [to] "r"(to + PAGE_SIZE),
		       [key] "r"(nh_key + WORDS)
		     : NH_CLOBBERS);
	return !at;
}

bool nh_begin(void)
{
	if (unlikely(nh_vectors == VECTORS_NONE || !irq_fpu_usable()))
		return false;
	kernel_fpu_begin();
	return true;
}

void nh_end(bool vectors)
{
	if (likely(vectors))
		kernel_fpu_end();
}

bool nh_page(bool vectors, const void *page, u64 *hash)
{
	if (likely(vectors))
		return nh_vectors == VECTORS_AVX2 ? avx2_hash(page, hash) :
						    sse2_hash(page, hash);
	*hash = plain_hash(page);
	return true;
}

bool nh_copy(bool vectors, void *to, const void *from, u64 *hash)
{
	if (likely(vectors))
		return nh_vectors == VECTORS_AVX2 ? avx2_copy(to, from, hash) :
						    sse2_copy(to, from, hash);
	if (!plain_copy(to, from))
		return false;
	*hash = plain_hash(to);
	return true;
}

static void choose(void)
{
	/* XMM2: SSE2, which every such CPU has. */
	nh_vectors = boot_cpu_has(X86_FEATURE_AVX2) &&
		     cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL) ?
			     VECTORS_AVX2 : VECTORS_SSE2;
	nh_batch_pages = nh_vectors == VECTORS_AVX2 ? 64 : 48;
}
#else
bool nh_begin(void)
{
	/* Vector registers are not to be had with interrupts off on most machines. */
	return false;
}

void nh_end(bool vectors)
{
}

bool nh_page(bool vectors, const void *page, u64 *hash)
{
	*hash = plain_hash(page);
	return true;
}

bool nh_copy(bool vectors, void *to, const void *from, u64 *hash)
{
	if (!plain_copy(to, from))
		return false;
	*hash = plain_hash(to);
	return true;
}

static void choose(void)
{
	nh_batch_pages = 20;
}
#endif

/* The vector: key and page count up, and differ in every byte. */
#define VECTOR_HASH	0xb5acf6426dea42b8ull

static bool same_everywhere(u64 *page, u64 *copy)
{
	u64 hash = 0, copied = 0, plain;
	bool vectors, whole;
	u32 i;

	for (i = 0; i < WORDS; i++) {
		page[i] = cpu_to_le64((i + 1) * 0x9e3779b97f4a7c15ull);
		nh_key[i] = (i + 1) * 0xc2b2ae3d27d4eb4full;
	}
	plain = plain_hash(page);
	preempt_disable();
	vectors = nh_begin();
	whole = nh_page(vectors, page, &hash) && nh_copy(vectors, copy, page, &copied);
	nh_end(vectors);
	preempt_enable();
	return whole && hash == plain && copied == plain && !memcmp(page, copy, PAGE_SIZE) &&
	       (PAGE_SIZE != 4096 || plain == VECTOR_HASH);
}

int nh_init(void)
{
	u64 *pages = kmalloc(2 * PAGE_SIZE, GFP_KERNEL);
	bool right;

	if (!pages)
		return -ENOMEM;
	choose();
	right = same_everywhere(pages, pages + WORDS);
	kfree(pages);
	if (!right) {
		pr_err("this CPU's vector instructions give another hash than its others: not loaded\n");
		return -ENODEV;
	}
	get_random_bytes(nh_key, sizeof(nh_key));
	return 0;
}
