// SPDX-License-Identifier: GPL-2.0-only
/*
 * NH as a program: each implementation this CPU has beside a slow model that is written
 * from the definition, and what the hash is for: pages that differ in the ways in which
 * pages of file systems do have different hashes, with any key. `nh_model pairs N` does
 * that with 2^N pairs. proof/tests/page_hash.rs builds and runs it, and controls that must fail:
 * without a key, with half of the sum, and with two CRC-32C, as the module once had them.
 */
#include <stdbool.h>
#include <errno.h>

#include "kernel.h"

#include "../nh.c"

/* Controls. */
#ifndef MODEL_BROKEN_CRC
#define MODEL_BROKEN_CRC 0
#endif
#ifndef MODEL_BROKEN_HALF
#define MODEL_BROKEN_HALF 0
#endif
#ifndef MODEL_BROKEN_KEY
#define MODEL_BROKEN_KEY 0
#endif

#define CHECK(truth)							\
	do {								\
		if (!(truth)) {						\
			printf("line %d: not so: %s\n", __LINE__, #truth);	\
			exit(1);					\
		}							\
	} while (0)

static u64 state = 88172645463325252ull;

static u64 random_word(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static u32 below(u32 bound)
{
	return (random_word() >> 32) % bound;
}

void get_random_bytes(void *to, size_t bytes)
{
	u64 *words = to;
	size_t i;

	for (i = 0; i < bytes / sizeof(*words); i++)
		words[i] = random_word();
}

/* The definition, byte by byte. */
static u64 model(const u8 *page)
{
	const u8 *key = (const u8 *)nh_key;
	u64 sum = 0;
	u32 i, j;

	for (i = 0; i < PAGE_SIZE; i += 8) {
		u32 word[2] = { 0 };

		for (j = 0; j < 8; j++) {
			word[j / 4] += (u32)page[i + j] << j % 4 * 8;
			word[j / 4] += (u32)key[i + j] << j % 4 * 8;
		}
		sum += (u64)word[0] * word[1];
	}
	return sum;
}

/* One more, so that pages lie at every address: kernels map them at multiples. */
static u8 pages[4][PAGE_SIZE + 64] __aligned(4096);

#ifdef CONFIG_X86_64
static const enum vectors all[] = { VECTORS_NONE, VECTORS_SSE2, VECTORS_AVX2 };
#define NR_ALL	(__builtin_cpu_supports("avx2") ? 3 : 2)
#define USE(i)	(nh_vectors = all[i])
#else
#define NR_ALL	1
#define USE(i)	((void)(i))
#endif

/* Every implementation's hash of a page, which is the same, and its copy. */
static u64 hash_of(const u8 *page)
{
	u64 expected = model(page), hash;
	int i;

	for (i = 0; i < NR_ALL; i++) {
		u8 *copy = pages[3];
		bool vectors;

		USE(i);
		vectors = nh_begin();
		hash = 0;
		CHECK(nh_page(vectors, page, &hash) && hash == expected);
		memset(copy, 0x5a, sizeof(pages[3]));
		hash = 0;
		CHECK(nh_copy(vectors, copy, page, &hash) && hash == expected);
		CHECK(!memcmp(copy, page, PAGE_SIZE) && copy[PAGE_SIZE] == 0x5a);
		nh_end(vectors);
	}
	return expected;
}

/* CRC-32C, bit by bit, without what file systems invert. */
static u32 crc32c(u32 crc, const u8 *data, u32 bytes)
{
	u32 bit;

	while (bytes--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static u64 two_crcs(const u8 *page)
{
	u32 even = 0, odd = 0, i;

	for (i = 0; i < PAGE_SIZE; i += 16) {
		even = crc32c(even, page + i, 8);
		odd = crc32c(odd, page + i + 8, 8);
	}
	return (u64)even << 32 | odd;
}

static u64 fast_hash(const u8 *page)
{
	bool vectors;
	u64 hash = 0;

	if (MODEL_BROKEN_CRC)
		return two_crcs(page);
	vectors = nh_begin();
	CHECK(nh_page(vectors, page, &hash));
	nh_end(vectors);
	return MODEL_BROKEN_HALF ? (u32)hash : hash;
}

/* Ways in which a page becomes another; `from` has any content. */
static void zeroed_tail(u8 *page)
{
	u32 from = below(PAGE_SIZE);

	memset(page + from, 0, PAGE_SIZE - from);
}

static void zeroed_middle(u8 *page)
{
	u32 from = below(PAGE_SIZE), bytes = 1 + below(PAGE_SIZE - from);

	memset(page + from, 0, bytes);
}

static void one_bit(u8 *page)
{
	u32 bit = below(PAGE_SIZE * 8);

	page[bit / 8] ^= 1 << bit % 8;
}

static void swapped_words(u8 *page)
{
	u32 size = 1u << (2 + below(7)), a = below(PAGE_SIZE / size) * size;
	u32 b = below(PAGE_SIZE / size) * size;
	u8 word[256];

	memcpy(word, page + a, size);
	memcpy(page + a, page + b, size);
	memcpy(page + b, word, size);
}

/* A word changes, and a checksum of the block in it: what defeats one CRC of the whole. */
static void with_its_checksum(u8 *page)
{
	u32 end = 4 * (1 + below(PAGE_SIZE / 4 - 1)), crc;

	page[below(end)] += 1 + below(255);
	crc = ~crc32c(~0u, page, end);
	memcpy(page + end, &crc, 4);
}

/* A change, and in the same lane of two or more its CRC: what defeats as many CRCs. */
static void with_its_crc_in_its_lane(u8 *page)
{
	u32 stride = 8u << below(3), at = below((PAGE_SIZE - stride) / 8) * 8, crc, i;
	u8 change[8];

	get_random_bytes(change, 8);
	for (i = 0; i < 8; i++)
		page[at + i] ^= change[i];
	crc = crc32c(0, change, 8);
	for (i = 0; i < 4; i++)
		page[at + stride + i] ^= crc >> 8 * i;
}

/* Words at some distance, of which sum, difference or parity stays. */
static void cancelling_words(u8 *page)
{
	u32 lanes = 1u << below(5), word = below(256), far = word + lanes * (1 + below(7));
	u64 change = random_word(), here, there;

	if (far >= PAGE_SIZE / 8)
		return;
	memcpy(&here, page + word * 8, 8);
	memcpy(&there, page + far * 8, 8);
	here ^= change;
	there = below(2) ? there ^ change : there - change;
	memcpy(page + word * 8, &here, 8);
	memcpy(page + far * 8, &there, 8);
}

/* The polynomial itself, at any place: a CRC from 0 does not see it. */
static void added_polynomial(u8 *page)
{
	u64 times = 1 + below(1u << 30), product = 0, word;
	u32 place = below(PAGE_SIZE / 8), bit;

	for (bit = 0; bit < 31; bit++)
		if (times >> bit & 1)
			product ^= 0x105ec76f1ull << bit;
	memcpy(&word, page + place * 8, 8);
	word ^= product;
	memcpy(page + place * 8, &word, 8);
}

static void shifted(u8 *page)
{
	u32 by = 1 + below(PAGE_SIZE - 1);

	memmove(page + by, page, PAGE_SIZE - by);
}

static void of_another_kind(u8 *page)
{
	memset(page, below(256), PAGE_SIZE);
}

static void (*const ways[])(u8 *page) = {
	zeroed_tail, zeroed_middle, one_bit, swapped_words, with_its_checksum,
	with_its_crc_in_its_lane, cancelling_words, added_polynomial, shifted, of_another_kind,
};
#define NR_WAYS	(sizeof(ways) / sizeof(*ways))

static void fill(u8 *page)
{
	u32 kind = below(5), i;
	u64 word;

	for (i = 0; i < PAGE_SIZE; i += 8) {
		word = kind == 0 ? random_word() : kind == 1 ? 0 : kind == 2 ? i :
		       kind == 3 ? 0x4141414141414141ull : 7ull << 40 | (i + 1);
		memcpy(page + i, &word, 8);
	}
}

/* A key of its own for every 256 pairs. */
static void pairs(u32 bits)
{
	u32 i, equal, differing = 0, way;
	u64 hash;

	for (i = 0; i < 1u << bits; i++) {
		if (!(i % 256))
			get_random_bytes(nh_key, sizeof(nh_key));
		if (MODEL_BROKEN_KEY)
			memset(nh_key, 0, sizeof(nh_key));
		fill(pages[0]);
		memcpy(pages[1], pages[0], PAGE_SIZE);
		way = i % NR_WAYS;
		ways[way](pages[1]);
		equal = !memcmp(pages[0], pages[1], PAGE_SIZE);
		hash = fast_hash(pages[1]);
		if ((fast_hash(pages[0]) == hash) != equal) {
			printf("pair %u, way %u: pages differ, and their hashes do not\n", i, way);
			exit(1);
		}
		differing += !equal;
	}
	CHECK(differing > (1u << bits) / 2);
	printf("pairs that differ: %u\n", differing);
}

/* Who knows the key finds two pages; who knows half of the bits of a word's needs luck. */
static void the_bound_is_met(void)
{
	u32 i, hits = 0, small;

	memset(pages[0], 7, PAGE_SIZE);
	memcpy(pages[1], pages[0], PAGE_SIZE);
	for (i = 0; i < 64; i++) {
		u32 word = below(PAGE_SIZE / 8);
		u32 high = -(u32)(nh_key[word] >> 32);

		memcpy(pages[0] + word * 8 + 4, &high, 4);
		memcpy(pages[1] + word * 8 + 4, &high, 4);
		pages[1][word * 8 + below(4)] ^= 1 + below(255);
		CHECK(hash_of(pages[0]) == hash_of(pages[1]));
	}
	/* All but 8 bits known: one in 256, which is 2^-32 for who knows none of the 32. */
	for (i = 0; i < 1u << 16; i++) {
		u32 high = -(u32)(nh_key[5] >> 32) ^ below(256);

		memcpy(pages[0], pages[1], PAGE_SIZE);
		memcpy(pages[0] + 44, &high, 4);
		memcpy(pages[1] + 44, &high, 4);
		small = 1 + below(255);
		memcpy(pages[0] + 40, &small, 4);
		small = 0;
		memcpy(pages[1] + 40, &small, 4);
		hits += fast_hash(pages[0]) == fast_hash(pages[1]);
	}
	CHECK(hits > 128 && hits < 512);
	printf("with all but 8 bits of the key: %u of 65536\n", hits);
}

int main(int argc, char **argv)
{
	u32 i;

	CHECK(!nh_init());
	for (i = 0; i < 2000; i++) {
		get_random_bytes(nh_key, sizeof(nh_key));
		get_random_bytes(pages[0], PAGE_SIZE);
		if (i % 3)
			ways[i % NR_WAYS](pages[0]);
		hash_of(pages[0]);
		/* Past the page's border nothing is read into the hash. */
		memcpy(pages[1] + 32, pages[0], PAGE_SIZE);
		CHECK(hash_of(pages[1] + 32) == model(pages[0]));
	}
	if (!MODEL_BROKEN_CRC)
		the_bound_is_met();
	pairs(argc > 2 && !strcmp(argv[1], "pairs") ? atoi(argv[2]) : 16);
	printf("done\n");
	return 0;
}
