/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What Aciom's files share; nothing here is for callers. */
#ifndef FOVEA_CORE_ACIOM_INTERNAL_H
#define FOVEA_CORE_ACIOM_INTERNAL_H

#include "aciom.h"

#ifdef __KERNEL__
#include <linux/math64.h>
#define aciom_divide(a, b)	div64_u64(a, b)
#else
#define aciom_divide(a, b)	((a) / (b))
#endif

/*
 * Negative controls: a build that sets one of these to 1 is broken on purpose, and
 * the tests must notice (crates/core/negative-controls.sh).
 */
#ifndef ACIOM_BROKEN_FLOOR	/* nobody but the time-sensitive is sure of anything */
#define ACIOM_BROKEN_FLOOR 0
#endif
#ifndef ACIOM_BROKEN_URGENT	/* urgent requests, a flush among them, wait like others */
#define ACIOM_BROKEN_URGENT 0
#endif
#ifndef ACIOM_BROKEN_DROP	/* what an app has queued is lost when its class changes */
#define ACIOM_BROKEN_DROP 0
#endif
#ifndef ACIOM_BROKEN_EDF	/* the time-sensitive by arrival, not by deadline */
#define ACIOM_BROKEN_EDF 0
#endif
#ifndef ACIOM_BROKEN_CREDIT	/* an idle app saves up release times and deadlines */
#define ACIOM_BROKEN_CREDIT 0
#endif
#ifndef ACIOM_BROKEN_LIMIT	/* bursty apps are held though nobody is time-sensitive */
#define ACIOM_BROKEN_LIMIT 0
#endif
#ifndef ACIOM_BROKEN_WINDOW	/* completions are not taken off what is in flight */
#define ACIOM_BROKEN_WINDOW 0
#endif
#ifndef ACIOM_BROKEN_OPEN	/* suspend leaves the held where they are */
#define ACIOM_BROKEN_OPEN 0
#endif
#ifndef ACIOM_BROKEN_ROOM	/* the held go early, whatever deadlines that costs */
#define ACIOM_BROKEN_ROOM 0
#endif
#ifndef ACIOM_BROKEN_READS	/* a read waits for all writes that came before it */
#define ACIOM_BROKEN_READS 0
#endif
#ifndef ACIOM_BROKEN_WRITES	/* writes wait for as long as there are reads */
#define ACIOM_BROKEN_WRITES 0
#endif
#ifndef ACIOM_BROKEN_CHARGE	/* who had what others left pays for it when they come */
#define ACIOM_BROKEN_CHARGE 0
#endif

#define MS			1000000ull
#define SECOND			(1000 * MS)

/* The paper's: a time-sensitive app's period before it is known. */
#define DEFAULT_PERIOD_NS	(125 * MS)
/* Below this a period tells of one read in many pieces, and the quotient grows absurd. */
#define MIN_PERIOD_NS		1000ull
/*
 * A time-sensitive app is active for eight of its periods after a request, within these
 * bounds: a player that reads ahead pauses, and one that stopped holds nobody up for long.
 */
#define ACTIVE_PERIODS		8
#define ACTIVE_MIN_NS		(250 * MS)
#define ACTIVE_MAX_NS		(2 * SECOND)
/* A bursty app shares in the budget for so long after a request. */
#define BURSTY_ACTIVE_NS	SECOND
/* One part in so many of what deadlines are ahead is forgiven at each request. */
#define FORGIVEN		8
/* No bursty request is held for longer. */
#define LATEST_NS		SECOND
/* Others that got nothing for so long because of time-sensitive apps get a turn. */
#define PATIENCE_NS		(125 * MS)
#define PATIENCE_PER_SECOND_SHIFT	3
/*
 * Where reads and writes wait both, reads have two parts of three and go first, as
 * mq-deadline has it (writes_starved), in pieces of 1/64 s of writes. A write goes after
 * PATIENCE_NS of reads, however few bytes these were.
 */
#define WRITES_STARVED		2
#define WRITE_TURN_SHIFT	6
/* Plain and bursty writes may each wait for so much: 1/8 s of work, and 1 MiB at least. */
#define WRITES_SHIFT		3
#define WRITES_MIN		(1ull << 20)
/* Of whoever others wait for: a file system's transaction has up to 8 MiB of data. */
#define AWAITED_SHIFT		3
/* All bursty apps share at least 1/16 of the disk, and each has this. */
#define FLOOR_SHIFT		4
#define FLOOR_BYTES_PER_S	(16ull << 10)

/* The past weighs 249037/262144 = 0.95. */
#define WEIGHT_SHIFT		18
#define WEIGHT_PAST		249037ull
#define WEIGHT_NEW		((1ull << WEIGHT_SHIFT) - WEIGHT_PAST)
/* Fractional bits of a mean size, and of nanoseconds a byte. */
#define SIZE_SHIFT		8
#define PACE_SHIFT		20

/* In flight: see rate.c. */
#define WINDOW_MIN		4096ull
#define WINDOW_START		(128ull << 10)
/* Of more than the pipe: the window holds at most 1/128 s of work, time-sensitive 1/64 s. */
#define WINDOW_CAP_SHIFT	7
#define SENSITIVE_CAP_SHIFT	6
/* Over so long the disk's least latency is remembered: a power of two. */
#define BASE_EPOCH_NS		(1ull << 32)
/* A latency beyond this is no property of a disk. */
#define BASE_MAX_NS		(1ull << 28)

#define STATE_IDLE		0u
#define STATE_WAITING		1u
#define STATE_FLYING		2u
#define STATE_FLYING_SENSITIVE	3u	/* counted in sensitive_bytes */

/*
 * Buckets of a histogram of latencies: eight to each power of two, from 1024 ns on, the
 * last from 2^36 ns on.
 */
#define LATENCY_SHIFT		10
#define LATENCY_SUB_SHIFT	3
#define LATENCY_SUBS		(1u << LATENCY_SUB_SHIFT)
#define LATENCY_MAX_SHIFT	26
#define LATENCY_BUCKETS		((LATENCY_MAX_SHIFT - LATENCY_SUB_SHIFT + 1) * LATENCY_SUBS + 1)
#define NR_CLASSES		3

/* Bytes that completed since an epoch began. */
struct aciom_rate {
	u64 epoch_ns;
	u64 bytes;
};

/* Requests in the order of their arrival. */
struct aciom_fifo {
	struct aciom_request *head;
	struct aciom_request *tail;
};

struct aciom_app {
	struct aciom_fifo queue;
	u64 queued;
	/* Dispatched and not completed. */
	u64 in_flight;
	u64 last_arrival_ns;
	/* The last deadline or release time given. */
	u64 last_due_ns;
	/* By how much its requests went before their release times, all together. */
	u64 early_ns;
	u64 active_until_ns;
	u64 period_ns;
	/* SIZE_SHIFT fractional bits. */
	u64 mean_size;
	/* Bytes a second; counted in `reserved` while it is active. */
	u64 bandwidth;
	/* How often the number was taken away, or got another class. */
	u32 incarnation;
	u8 class;
	bool known;
	/* It has had a request in its class. */
	bool begun;
	u8 reserved;
};

/* A set of apps. */
#define SET_WORDS		(ACIOM_MAX_APPS / 64)
struct aciom_set {
	u64 words[SET_WORDS];
};

struct aciom {
	u64 now_ns;
	struct aciom_fifo urgent;
	struct aciom_fifo ready_reads;
	struct aciom_fifo ready_writes;
	/* Since when what is ready has got nothing, and of that the writes. */
	u64 ready_since_ns;
	u64 writes_since_ns;
	/* What is left of a turn, bytes. */
	u64 turn_bytes;
	/* Since when reads and writes are ready both: how much went of each. */
	u64 reads_ahead;
	u64 writes_ahead;
	/* Writes catch up. */
	bool write_turn;
	/* Of writes that wait, not urgent: the plain, and the bursty. */
	u64 plain_write_bytes;
	u64 bursty_write_bytes;
	/* How much each of the two may be. */
	u64 write_bound;
	/* Apps with a request lately; of them, those with one in their queue. */
	struct aciom_set sensitive;
	struct aciom_set sensitive_queued;
	struct aciom_set bursty;
	struct aciom_set bursty_queued;
	/* Not later than the first app of these that stops being active. */
	u64 next_expiry_ns;
	/* Of the first held request. */
	u64 next_release_ns;

	u64 cmax_given;
	u64 cmax;
	u64 reserved;
	/* Sum of the mean sizes of those that are time-sensitive, SIZE_SHIFT bits. */
	u64 needed;
	/* The disk's work in three quarters of the shortest period, SIZE_SHIFT bits. */
	u64 room;
	u64 budget;
	/* Nanoseconds a byte, PACE_SHIFT fractional bits. */
	u64 pace;
	bool pace_stale;
	bool room_stale;
	bool open;
	/* The time-sensitive have room to spare, by the last one that completed. */
	bool slack;

	u64 in_flight_bytes;
	u64 sensitive_bytes;
	u64 window_bytes;
	u64 window_cap;
	u64 sensitive_cap;
	/* What keeps the disk busy. */
	u64 pipe_bytes;
	/* Only what was dispatched since says anything of the window as it is. */
	u64 cut_ns;
	/* The least latency of the last epoch, and of this one. */
	u64 base_ns;
	u64 base_now_ns;
	u64 base_epoch_ns;
	/* Of what came here, and of what did not. */
	struct aciom_rate rate;
	struct aciom_rate observed;

	u64 latencies[NR_CLASSES][LATENCY_BUCKETS];
	u64 worst_ns[NR_CLASSES];
	struct aciom_counters counters;
	u32 nr_sensitive;
	u32 nr_bursty;
	u32 max_apps;
	u32 hold_limit;
	struct aciom_app apps[];
};

/* Small functions of several files: kmod/aciom/core.c takes all as one unit. */
#ifndef ACIOM_SHARED
#define ACIOM_SHARED
#endif

static inline void set_add(struct aciom_set *set, u32 app)
{
	set->words[app / 64] |= 1ull << app % 64;
}

static inline void set_remove(struct aciom_set *set, u32 app)
{
	set->words[app / 64] &= ~(1ull << app % 64);
}

static inline bool set_has(const struct aciom_set *set, u32 app)
{
	return set->words[app / 64] >> app % 64 & 1;
}

static inline bool set_is_empty(const struct aciom_set *set)
{
	u64 any = 0;
	u32 i;

	for (i = 0; i < SET_WORDS; i++)
		any |= set->words[i];
	return !any;
}

/* Each app of a set as it is now; the set may lose that app meanwhile. */
#define FOR_EACH_APP(app, word, set)						\
	for (u32 _i = 0; _i < SET_WORDS; _i++)					\
		for ((word) = (set)->words[_i];					\
		     (word) && ((app) = _i * 64 + (u32)__builtin_ctzll(word), true); \
		     (word) &= (word) - 1)

static inline u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline void fifo_push(struct aciom_fifo *fifo, struct aciom_request *r)
{
	r->next = NULL;
	if (fifo->head)
		fifo->tail->next = r;
	else
		fifo->head = r;
	fifo->tail = r;
}

/* When a request in its app's queue is due. */
static inline u64 due_in_queue(const struct aciom_app *app, const struct aciom_request *r)
{
	return r->order_ns - app->early_ns;
}

static inline struct aciom_request *fifo_pop(struct aciom_fifo *fifo)
{
	struct aciom_request *r = fifo->head;

	fifo->head = r->next;
	r->next = NULL;
	return r;
}

static inline bool has_ready(const struct aciom *a)
{
	return a->ready_reads.head || a->ready_writes.head;
}

/* Whether there is anything to protect. */
static inline bool aciom_limited(const struct aciom *a)
{
	return a->nr_sensitive && !a->open;
}

/* app.c */
ACIOM_SHARED void aciom_arrive_sensitive(struct aciom *a, u32 app,
					 struct aciom_request *r);
ACIOM_SHARED void aciom_arrive_bursty(struct aciom *a, u32 app,
				      struct aciom_request *r);
void aciom_expire(struct aciom *a);

/* queue.c */
ACIOM_SHARED void aciom_tick(struct aciom *a, u64 now_ns);
void aciom_make_ready(struct aciom *a, u32 app);
void aciom_open_gates(struct aciom *a);

/* ready.c */
ACIOM_SHARED void aciom_push_ready(struct aciom *a, struct aciom_request *r);
ACIOM_SHARED struct aciom_request *aciom_pop_ready(struct aciom *a);
ACIOM_SHARED u64 *aciom_write_bytes(struct aciom *a, u32 class);

/* rate.c */
ACIOM_SHARED void aciom_measure(struct aciom *a, const struct aciom_request *r);
void aciom_restart_rate(struct aciom *a);
ACIOM_SHARED void aciom_adapt(struct aciom *a, const struct aciom_request *r);
void aciom_refresh_rate(struct aciom *a);
void aciom_refresh_pace(struct aciom *a);
ACIOM_SHARED bool aciom_has_room(struct aciom *a, u64 bytes);

/* latency.c */
ACIOM_SHARED void aciom_record(struct aciom *a, const struct aciom_request *r);
void aciom_latency_read(const struct aciom *a, struct aciom_counters *counters);

#endif /* FOVEA_CORE_ACIOM_INTERNAL_H */
