// SPDX-License-Identifier: GPL-2.0-only
/*
 * What threads that read cached files cost each other: the core under its lock and the
 * location tables under their volumes', as the module uses them, with a volume for each
 * thread. Each step, a thread lets RUN pages of its page cache go, which are put one by
 * one, and reads RUN blocks that are cached (read.c, serve_run(); follow.c,
 * put_page_of()).
 *
 *	scaling THREADS SECONDS [CPU]
 *
 * prints how many pages all threads put and got in a second; the first thread is on that
 * CPU, and so two programs show what threads would do that share nothing.
 *
 * crates/core/benches/scaling.rs builds and runs it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>

#include "kernel.h"

#define RUN		32
#define THREADS_MAX	8
/* Runs of a thread in its page cache, and runs of its that are cached: 64 MiB each. */
#define RUNS_RESIDENT	512
#define RUNS_CACHED	512
#define PAGES_EACH	(RUNS_RESIDENT * RUN)

/* As the kernel's for two CPUs: in turn. On a line of its own. */
struct ticket_lock {
	_Alignas(128) u32 next;
	_Alignas(64) u32 serving;
};

static void lock_it(struct ticket_lock *lock)
{
	u32 mine = __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED);

	while (__atomic_load_n(&lock->serving, __ATOMIC_ACQUIRE) != mine)
		__builtin_ia32_pause();
}

static void unlock_it(struct ticket_lock *lock)
{
	__atomic_store_n(&lock->serving, lock->serving + 1, __ATOMIC_RELEASE);
}

/* What of pool.h core.c uses. */
#define FOVEA_ECACHE_POOL_H
#include "../broken.h"
#include "../../../core/ecache/ecache.h"
static struct {
	struct ticket_lock lock;
	struct ecache *core;
} pool;
static inline void pool_lock(void)
{
	lock_it(&pool.lock);
}

static inline void pool_unlock(void)
{
	unlock_it(&pool.lock);
}

#include "../track.c"
#include "../core.c"

static char *frames;
static u64 until_ns;

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

struct volume {
	_Alignas(128) struct ticket_lock lock;
	struct track track;
	struct batch batch;
};

struct thread {
	_Alignas(128) pthread_t id;
	u32 number;
	u32 cpu;
	struct volume volume;
	unsigned long first_pfn;
	char *pages;
	/* Which run of blocks a place in the page cache holds; which runs it does not. */
	u32 resident[RUNS_RESIDENT];
	u32 cached[RUNS_CACHED];
	u64 random;
	u64 done_pages;
	u64 missed;
};

static u32 below(struct thread *t, u32 bound)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (u32)(t->random >> 20) % bound;
}

static void *frame_at(u32 frame)
{
	return frames + (u64)frame * PAGE_SIZE;
}

static u64 tag_of(u64 block)
{
	return block * GOLDEN_RATIO_64;
}

static void put_one(struct thread *t, u32 place, u32 i)
{
	struct volume *v = &t->volume;
	unsigned long pfn = t->first_pfn + place * RUN + i;
	u64 block = (u64)t->resident[place] * RUN + i;
	struct track_entry *entry = track_entry(pfn);
	u32 frame = ECACHE_NONE;

	if (!entry) {
		t->missed++;
		return;
	}
	lock_it(&v->lock);
	if (track_is(entry, pfn) && track_state(entry) == TRACK_UP && entry->tag == tag_of(block)) {
		frame = batch_take(&v->batch);
		track_set_state(entry, TRACK_PUTTING);
	}
	unlock_it(&v->lock);
	if (frame == ECACHE_NONE) {
		t->missed++;
		return;
	}
	memcpy(frame_at(frame), t->pages + ((u64)place * RUN + i) * PAGE_SIZE, PAGE_SIZE);
	lock_it(&v->lock);
	if (track_is(entry, pfn) && track_state(entry) == TRACK_PUTTING) {
		batch_put(&v->batch, frame, block, track_returned(entry));
		track_unlink(&v->track, entry);
	} else {
		batch_spare(&v->batch, &frame, 1);
	}
	unlock_it(&v->lock);
}

static void prepare(struct track *track)
{
	while (track->nr_unused < RUN) {
		struct track_chunk *chunk = track_make_chunk();

		if (!chunk) {
			fprintf(stderr, "scaling: no memory for entries\n");
			exit(1);
		}
		track_add_chunk(track, chunk);
	}
}

/* A run that is not cached is noted as read from disk: so it is when all begins. */
static void get_run(struct thread *t, u32 place, u32 run)
{
	struct volume *v = &t->volume;
	unsigned long pfn = t->first_pfn + place * RUN;
	u64 block = (u64)run * RUN;
	u32 found[RUN], i, count;

	lock_it(&v->lock);
	pool_lock();
	count = batch_get(&v->batch, block, RUN, found);
	pool_unlock();
	for (i = 0; i < RUN; i++)
		track_set(&v->track, pfn + i, block + i,
			  i < count ? TRACK_UP | TRACK_RETURNED : TRACK_UP, tag_of(block + i));
	unlock_it(&v->lock);
	for (i = 0; i < count; i++)
		memcpy(t->pages + ((u64)place * RUN + i) * PAGE_SIZE, frame_at(found[i]),
		       PAGE_SIZE);
	lock_it(&v->lock);
	batch_spare(&v->batch, found, count);
	unlock_it(&v->lock);
	t->missed += RUN - count;
	t->resident[place] = run;
}

static void step(struct thread *t)
{
	u32 place = below(t, RUNS_RESIDENT), which = below(t, RUNS_CACHED), i;
	u32 run = t->cached[which], out = t->resident[place];

	for (i = 0; i < RUN; i++)
		put_one(t, place, i);
	prepare(&t->volume.track);
	get_run(t, place, run);
	t->cached[which] = out;
	t->done_pages += 2 * RUN;
}

static void *work(void *argument)
{
	struct thread *t = argument;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(t->cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (now_ns() < until_ns)
		step(t);
	return NULL;
}

static void *memory(u64 bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

/* Half of its blocks in its page cache, half in the pool. */
static void begin(struct thread *t, u32 number, u32 cpu)
{
	u32 i, run;

	t->number = number;
	t->cpu = cpu + number;
	if (track_init(&t->volume.track, 2 * PAGES_EACH)) {
		fprintf(stderr, "scaling: no memory\n");
		exit(1);
	}
	t->volume.track.volume = number;
	t->volume.batch.object = number;
	t->first_pfn = FIRST_PFN + CHUNK_PAGES + (u64)number * PAGES_EACH;
	t->pages = memory((u64)PAGES_EACH * PAGE_SIZE);
	t->random = 88172645463325252ull + number;
	for (run = 0; run < RUNS_CACHED; run++) {
		prepare(&t->volume.track);
		get_run(t, 0, run);
		for (i = 0; i < RUN; i++)
			put_one(t, 0, i);
		t->cached[run] = run;
	}
	for (run = 0; run < RUNS_RESIDENT; run++) {
		prepare(&t->volume.track);
		get_run(t, run, RUNS_CACHED + run);
	}
	t->missed = 0;
}

int main(int argc, char **argv)
{
	u32 nr_threads = argc > 1 ? atoi(argv[1]) : 1, seconds = argc > 2 ? atoi(argv[2]) : 1;
	u32 cpu = argc > 3 ? atoi(argv[3]) : 0;
	u32 frames_each = PAGES_EACH + 2 * RUN, i, nr_frames = frames_each * THREADS_MAX;
	struct ecache_device_config device = { .size_frames = 64, .home = ECACHE_NONE };
	struct ecache_config config = {
		.carveout_frames = &nr_frames,
		.nr_carveouts = 1,
		.devices = &device,
		.nr_devices = 1,
		.put_work_limit = 32,
		.protect_percent = 75,
		.seed = 1,
	};
	static struct thread threads[THREADS_MAX];
	u64 bytes, done = 0, missed = 0;

	if (nr_threads < 1 || nr_threads > THREADS_MAX) {
		fprintf(stderr, "scaling: 1 to %d threads\n", THREADS_MAX);
		return 2;
	}
	ram = memory(CHUNK_PAGES * PAGE_SIZE);
	frames = memory((u64)nr_frames * PAGE_SIZE);
	bytes = ecache_memory_size(&config);
	if (!bytes || ecache_init(memory(bytes), bytes, &config, &pool.core) ||
	    track_index_init()) {
		fprintf(stderr, "scaling: no memory\n");
		return 1;
	}
	batch_share(nr_threads);
	for (i = 0; i < nr_threads; i++)
		begin(&threads[i], i, cpu);
	until_ns = now_ns() + seconds * 1000000000ull;
	for (i = 0; i < nr_threads; i++)
		pthread_create(&threads[i].id, NULL, work, &threads[i]);
	for (i = 0; i < nr_threads; i++) {
		pthread_join(threads[i].id, NULL);
		done += threads[i].done_pages;
		missed += threads[i].missed;
	}
	printf("threads %u pages_per_s %llu missed %llu\n", nr_threads,
	       (unsigned long long)(done / seconds), (unsigned long long)missed);
	return missed != 0;
}
