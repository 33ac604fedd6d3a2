/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Aciom's disk manager (Aciom11, section 4.2): in which order, and when, requests of
 * apps go to a disk. These are its decisions only; no request is touched beyond the
 * node that it carries.
 *
 * The core allocates nothing, reads no clock and takes no lock: the caller gives one
 * block of memory to aciom_init(), serialises all calls, and says what time it is. A time
 * before the last one counts as the last one. The same files build into a kernel module
 * and into the laboratory; docs/design/aciom.md says what follows from what in the paper.
 *
 *	arrives -aciom_enqueue-> held (bursty, until its release time, or room) -> ready
 *	                      -> waiting in its app's queue (time-sensitive)
 *	                      -> ready (plain)
 *	-aciom_dispatch-> in flight -aciom_complete-> gone
 */
#ifndef FOVEA_CORE_ACIOM_H
#define FOVEA_CORE_ACIOM_H

#include "../types.h"

/* Most apps that have a class other than plain. */
#define ACIOM_MAX_APPS		256u
/* In place of an app: nobody in particular, plain. */
#define ACIOM_NOBODY		0xffffffffu
/* "Not before something completes or arrives." */
#define ACIOM_NEVER		(~0ull)
/* The fastest disk that is told from a faster one, bytes a second. */
#define ACIOM_MAX_RATE		(1ull << 40)
/* Over so long the disk's rate is measured: a power of two. */
#define ACIOM_EPOCH_NS		(1ull << 27)
/* What a request counts for at most; a larger one is this large to the arithmetic. */
#define ACIOM_MAX_REQUEST_BYTES	(1u << 25)

/*
 * Classes; identifier, name, number. Rust reads this list (crates/contract).
 */
#define ACIOM_CLASSES(X) \
	/* In the order of arrival. */ \
	X(PLAIN, plain, 0) \
	/* By deadlines, ahead of all others. */ \
	X(TIME_SENSITIVE, time-sensitive, 1) \
	/* Held back to what the time-sensitive leave, while there are any. */ \
	X(BURSTY, bursty, 2)

enum aciom_class {
#define ACIOM_CLASS(id, name, number) ACIOM_##id = number,
	ACIOM_CLASSES(ACIOM_CLASS)
#undef ACIOM_CLASS
};

/* What calls return; the negative values are Linux's errno. */
enum aciom_status {
	ACIOM_OK = 0,
	/* App, class or configuration out of range. */
	ACIOM_EINVAL = -22,
	/* The app's number is taken. */
	ACIOM_EEXIST = -17,
};

/* The request goes at once, whoever's it is: it is counted and never waits. */
#define ACIOM_URGENT		1u
/* It writes: reads go before it, within bounds. */
#define ACIOM_WRITE		2u
/* Whoever brings it had to wait, for aciom_writes_full() said so. */
#define ACIOM_THROTTLED		4u

/*
 * A request, which the caller keeps where it is from aciom_enqueue() to
 * aciom_complete(). All fields are the core's; those from arrival_ns on may be read.
 */
struct aciom_request {
	struct aciom_request *next;
	u64 arrival_ns;
	/* A time-sensitive one's deadline, a bursty one's release time, else its arrival. */
	u64 due_ns;
	/* The same on its app's own clock: what the app's queue is in the order of. */
	u64 order_ns;
	u64 dispatched_ns;
	/* Whose, and which of those that had the number. */
	u32 app;
	u32 incarnation;
	u32 size_bytes;
	/* enum aciom_class, as of its arrival. */
	u8 class;
	u8 state;
	/* ACIOM_WRITE, and no other. */
	u8 write;
	/* Counted in queued_write_bytes. */
	u8 counted_write;
};

struct aciom_config {
	/* What the disk can do, bytes a second; 0: as much as it has been seen to do. */
	u64 cmax;
	/* Apps are numbered below this; at most ACIOM_MAX_APPS. */
	u32 max_apps;
	/* Most requests of one bursty app that are held: more make the oldest one ready. */
	u32 hold_limit;
};

/* Totals since the start, then the present state. */
struct aciom_counters {
	u64 arrived;
	/* Of them dispatched, by their class at arrival. */
	u64 time_sensitive;
	u64 bursty;
	u64 plain;
	/* Of them, those that never waited by their flag. */
	u64 urgent;
	/* Bursty requests that were held for a time. */
	u64 held;
	/* Of them, those that went before their release time. */
	u64 early;
	u64 completed;
	/* Time-sensitive requests that completed after their deadline. */
	u64 late;
	/* Requests that went ahead of time-sensitive ones, for their turn had come. */
	u64 turns;
	/* Writes that went ahead of reads, for theirs had. */
	u64 write_turns;
	/* Writes whose submitters had to wait. */
	u64 throttled;
	/* Times that the window was halved. */
	u64 cuts;
	/* Longest time from arrival to completion of a request that is not time-sensitive. */
	u64 longest_wait_ns;
	/*
	 * From arrival to completion, by class: so many of a hundred took no longer (an eighth
	 * too much at most), and the worst.
	 */
	u64 plain_p50_ns;
	u64 plain_p99_ns;
	u64 plain_worst_ns;
	u64 time_sensitive_p50_ns;
	u64 time_sensitive_p99_ns;
	u64 time_sensitive_worst_ns;
	u64 bursty_p50_ns;
	u64 bursty_p99_ns;
	u64 bursty_worst_ns;

	u64 queued;
	/* Of those that wait and are not urgent nor time-sensitive. */
	u64 queued_write_bytes;
	u64 in_flight;
	u64 in_flight_bytes;
	u64 window_bytes;
	/* Bytes a second: the disk's, the time-sensitive apps', each bursty app's. */
	u64 cmax;
	u64 reserved;
	u64 budget;
	u64 active_time_sensitive;
	u64 active_bursty;
};

struct aciom;

/* Bytes that aciom_init() needs; 0 if the configuration is out of range. */
u64 aciom_memory_size(const struct aciom_config *config);

/* `memory`: aciom_memory_size() bytes, aligned to 8. */
int aciom_init(void *memory, u64 size, const struct aciom_config *config,
	       struct aciom **out);

/* Gives an app a class that is not plain; ACIOM_EEXIST if it has one. */
int aciom_app_add(struct aciom *a, u32 app, u32 class, u64 now_ns);

/*
 * Gives an app that was added another class, also plain. What it has queued is ready
 * from now on, and what is known of it is forgotten, unless the class is what it was.
 */
int aciom_app_class(struct aciom *a, u32 app, u32 class, u64 now_ns);

/* The app's number is free again; what it has queued is ready from now on. */
int aciom_app_remove(struct aciom *a, u32 app, u64 now_ns);

/* What the disk can do from now on; 0: as seen. */
int aciom_set_cmax(struct aciom *a, u64 cmax, u64 now_ns);

/* Most held requests of one app from now on; what is beyond is ready. */
void aciom_set_hold(struct aciom *a, u32 hold_limit, u64 now_ns);

/* While open, nothing is held and no order imposed: before the disk is suspended. */
void aciom_set_open(struct aciom *a, bool open, u64 now_ns);

/*
 * Whether so much of a class waits to be written that whoever brings another write of it
 * ought to wait before. Never of time-sensitive apps, nor while none is active. `awaited`:
 * others wait for whoever brings it, who may therefore have eight times as much.
 */
bool aciom_writes_full(const struct aciom *a, u32 class, bool awaited);

/* Whether anybody is time-sensitive now: else requests need not come here at all. */
bool aciom_is_limited(const struct aciom *a);

/*
 * What completed without coming here, since the last such call: so many bytes, and the
 * least latency of one (ACIOM_NEVER: of none it is known). So the disk's rate is known
 * though nobody asks. To be called once in ACIOM_EPOCH_NS or a little later.
 */
void aciom_observe(struct aciom *a, u64 bytes, u64 latency_ns, u64 now_ns);

/* A request arrives. An app without a number, or with one never added, is plain. */
void aciom_enqueue(struct aciom *a, struct aciom_request *request, u32 app,
		   u32 size_bytes, u32 flags, u64 now_ns);

/*
 * The request that is to go to the disk now, or NULL: then nothing is to go before the
 * next arrival or completion, or before aciom_wake_ns(). To be asked after each of them
 * until it says NULL.
 */
struct aciom_request *aciom_dispatch(struct aciom *a, u64 now_ns);

/* It is so late: what is due is ready. aciom_wake_ns() is later from then on. */
void aciom_advance(struct aciom *a, u64 now_ns);

/* When to ask again though nothing arrives or completes; ACIOM_NEVER: no need. */
u64 aciom_wake_ns(const struct aciom *a);

/* A dispatched request has come to its end, well or badly. */
void aciom_complete(struct aciom *a, struct aciom_request *request, u64 now_ns);

void aciom_counters_read(const struct aciom *a, struct aciom_counters *counters);

/* For tests: verifies every invariant; NULL or what is wrong. */
const char *aciom_check(const struct aciom *a);

#endif /* FOVEA_CORE_ACIOM_H */
