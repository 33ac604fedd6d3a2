// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A policy that keeps the first objects that come, and, by what it is compiled with, does one thing wrong (external.rs). */
#ifdef OTHER_VERSION
#define FOVEA_POLICY_VERSION 2
#endif
#include <fovea-policy.h>

static uint64_t room, used;
static unsigned char *held;

static void *init(struct fovea_setup *setup)
{
#ifdef REFUSES
	snprintf(setup->complaint, sizeof(setup->complaint), "not\ntoday");
#endif
	room = setup->capacity;
	held = calloc(setup->objects, 1);
	return held;
}

static int request(void *cache, const struct fovea_request *request, struct fovea_answer *answer)
{
	static uint64_t requests;
	unsigned char *here = &held[request->object];

	(void)cache;
	requests++;
#ifdef ENDS_LATER
	if (requests == 70000)
		exit(0);
#endif
#ifdef CLAIMS_A_HIT
	return 1;
#endif
#ifdef HOLDS_TOO_MUCH
	room = 1000;
#endif
#ifdef EVICTS_A_STRANGER
	fovea_evict(answer, 39);
#endif
#ifdef EVICTS_NONE_OF_THE_TRACE
	fovea_evict(answer, 4000000000u);
#endif
#ifdef ANSWERS_TOO_LITTLE
	if (requests == 65536)
		answer->used = answer->head;
#endif
#ifdef ANSWERS_TOO_MUCH
	if (requests == 65536)
		fovea_answer_word(answer, 0);
#endif
#ifdef TAKES_IN_TWICE
	if (*here)
		fovea_take_in(answer);
#endif
	if (*here) {
#ifdef HIDES_A_HIT
		return 0;
#endif
		return 1;
	}
	if (used < room) {
		used++;
		*here = 1;
		fovea_take_in(answer);
	}
	return 0;
}

static const struct fovea_policy policy = { init, request, NULL };

#if defined(ENDS_AT_ONCE)
int main(void)
{
	return policy.free != NULL;
}
#elif defined(ECHOES)
int main(void)
{
	char bytes[24];

	while (fovea_read(bytes, sizeof(bytes)))
		fovea_write(1, bytes, sizeof(bytes));
	return policy.free != NULL;
}
#elif defined(ANSWERS_WITHOUT_END)
int main(void)
{
	struct fovea_hello hello;
	struct fovea_hello_answer welcome = { "FOVEAPO", FOVEA_POLICY_VERSION, 0 };
	uint32_t words = UINT32_MAX;

	welcome.magic[7] = 'K';
	fovea_read(&hello, sizeof(hello));
	fovea_write(1, &welcome, sizeof(welcome));
	fovea_read(&hello, sizeof(hello));
	fovea_write(1, &words, sizeof(words));
	while (fovea_read(&hello, 1))
		;
	return policy.free != NULL;
}
#else
FOVEA_POLICY(policy)
#endif
