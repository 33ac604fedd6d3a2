/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A cache policy for `fovea lab replay --policies external:PATH[:name=value...]`, as a program of one file:
 *
 *   cc -O2 -I lib/policy -o clock lib/policy/clock.c
 *   fovea lab replay trace.parquet --policies clock,external:./clock:bits=2 --sizes 10%
 *
 * Write four functions, name them in a struct fovea_policy and put FOVEA_POLICY(that) at the end of the file. Exactly one file of a
 * program includes this. docs/guide/lab-policies.md tells what is sent, for other languages.
 */
#ifndef FOVEA_POLICY_H
#define FOVEA_POLICY_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Changes when programs have to be built anew; the lab refuses others. Tests say another. */
#ifndef FOVEA_POLICY_VERSION
#define FOVEA_POLICY_VERSION 1
#endif

/* What a cache is made for. */
struct fovea_setup {
	uint64_t capacity; /* objects, or bytes if sizes are bytes */
	uint32_t objects; /* of the trace: their numbers are below it */
	/* The rest is for the functions below. */
	int parameters;
	char **parameter;
	char *used;
	char complaint[256]; /* written by an init() that fails */
};

struct fovea_request {
	uint32_t object;
	uint32_t size; /* 1, or its bytes; the size of one that is held stays the one it came in with */
	uint64_t time_ns; /* of the trace's clock, with the parameter times=1; else 0 */
};

/* What became of a request. */
struct fovea_answer {
	uint32_t *word;
	size_t used, room;
	size_t head; /* where this request's answer begins */
};

struct fovea_policy {
	/* An empty cache; NULL, and a complaint, if it cannot be. */
	void *(*init)(struct fovea_setup *setup);
	/*
	 * Serves a request and returns 1 if the object is held, else 0. Says what it evicts by fovea_evict() and that it takes the
	 * object in by fovea_take_in(). The lab keeps books, and ends the replay if they do not agree with what is returned.
	 */
	int (*request)(void *cache, const struct fovea_request *request, struct fovea_answer *answer);
	/* The end; may be NULL. */
	void (*free)(void *cache);
};

/* The number behind a parameter's name, or `otherwise`. Parameters that were not asked for in init() are refused. */
static inline double fovea_parameter(struct fovea_setup *setup, const char *name, double otherwise)
{
	size_t length = strlen(name);
	double value = otherwise;

	for (int at = 0; at < setup->parameters; at++) {
		const char *text = setup->parameter[at];
		char *end;

		if (strncmp(text, name, length) || text[length] != '=')
			continue;
		setup->used[at] = 1;
		value = strtod(text + length + 1, &end);
		if (*end || end == text + length + 1) {
			snprintf(setup->complaint, sizeof(setup->complaint), "%s is no number", text);
			value = otherwise;
		}
	}
	return value;
}

static inline void fovea_answer_word(struct fovea_answer *answer, uint32_t word)
{
	if (answer->used == answer->room) {
		answer->room = answer->room ? 2 * answer->room : 1 << 16;
		answer->word = (uint32_t *)realloc(answer->word, answer->room * sizeof(*answer->word));
		if (!answer->word) {
			fprintf(stderr, "no memory for answers\n");
			exit(1);
		}
	}
	answer->word[answer->used++] = word;
}

/* Bits of an answer's first word: hit, taken in, and above them the number of evictions, which follow it. */
#define FOVEA_HIT 1u
#define FOVEA_TAKEN 2u
#define FOVEA_EVICTION 4u

static inline void fovea_evict(struct fovea_answer *answer, uint32_t object)
{
	fovea_answer_word(answer, object);
	answer->word[answer->head] += FOVEA_EVICTION;
}

static inline void fovea_take_in(struct fovea_answer *answer)
{
	answer->word[answer->head] |= FOVEA_TAKEN;
}

static inline int fovea_read(void *to, size_t length)
{
	char *at = (char *)to;

	while (length > 0) {
		ssize_t count = read(0, at, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return 0;
		at += count;
		length -= (size_t)count;
	}
	return 1;
}

static inline int fovea_write(int fd, const void *from, size_t length)
{
	const char *at = (const char *)from;

	while (length > 0) {
		ssize_t count = write(fd, at, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return 0;
		at += count;
		length -= (size_t)count;
	}
	return 1;
}

/* Numbers go as they lie in memory: little-endian, as all machines that the lab runs on. */
struct fovea_hello {
	char magic[8];
	uint32_t version, objects;
	uint64_t capacity;
};

struct fovea_hello_answer {
	char magic[8];
	uint32_t version, complaint_length;
};

static inline int fovea_policy_main(int argc, char **argv, const struct fovea_policy *policy)
{
	struct fovea_hello hello;
	struct fovea_hello_answer welcome = { "FOVEAPO", FOVEA_POLICY_VERSION, 0 };
	struct fovea_setup setup = { 0, 0, argc - 1, argv + 1, NULL, "" };
	struct fovea_answer answer = { NULL, 0, 0, 0 };
	struct fovea_request *request = NULL;
	uint32_t count, room = 0;
	void *cache = NULL;
	/* What the policy prints goes to standard error, and not among the answers. */
	int out = dup(1);

	dup2(2, 1);
	if (out < 0 || !fovea_read(&hello, sizeof(hello)) || memcmp(hello.magic, "FOVEAPOL", 8)) {
		fprintf(stderr, "%s is a cache policy: run it as fovea lab replay --policies external:%s\n", argv[0], argv[0]);
		return 2;
	}
	welcome.magic[7] = 'K';
	if (hello.version == FOVEA_POLICY_VERSION) {
		setup.capacity = hello.capacity;
		setup.objects = hello.objects;
		setup.used = (char *)calloc((size_t)argc, 1);
		cache = policy->init(&setup);
		for (int at = 0; at < setup.parameters && !*setup.complaint; at++)
			if (!setup.used[at])
				snprintf(setup.complaint, sizeof(setup.complaint), "it has no parameter %s", setup.parameter[at]);
		if (!cache && !*setup.complaint)
			snprintf(setup.complaint, sizeof(setup.complaint), "no memory");
		welcome.complaint_length = (uint32_t)strlen(setup.complaint);
	}
	if (!fovea_write(out, &welcome, sizeof(welcome)) || !fovea_write(out, setup.complaint, welcome.complaint_length))
		return 1;
	if (!cache || *setup.complaint)
		return 1;
	while (fovea_read(&count, sizeof(count)) && count > 0) {
		if (count > room) {
			room = count;
			free(request);
			request = (struct fovea_request *)malloc(room * sizeof(*request));
		}
		if (!request || !fovea_read(request, count * sizeof(*request)))
			return 1;
		answer.used = 0;
		/* How many words follow. */
		fovea_answer_word(&answer, 0);
		for (uint32_t at = 0; at < count; at++) {
			answer.head = answer.used;
			fovea_answer_word(&answer, 0);
			if (policy->request(cache, &request[at], &answer))
				answer.word[answer.head] |= FOVEA_HIT;
		}
		answer.word[0] = (uint32_t)(answer.used - 1);
		if (!fovea_write(out, answer.word, answer.used * sizeof(*answer.word)))
			return 1;
	}
	if (policy->free)
		policy->free(cache);
	count = 0;
	fovea_write(out, &count, sizeof(count));
	return 0;
}

#define FOVEA_POLICY(policy)                                  \
	int main(int argc, char **argv)                       \
	{                                                     \
		return fovea_policy_main(argc, argv, &(policy)); \
	}

#endif
