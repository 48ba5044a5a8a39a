/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_RACE_H
#define CPU_CHECK_RACE_H

/*
 * Races: two accesses of one launch to the same bytes, one of them a write, that nothing orders.
 *
 * What orders them is happens-before, and not the order in which they ran (FastTrack: Flanagan and
 * Freund, PLDI 2009; scopes as in ScoRD: Kamath and others, ISCA 2020).  A launch that is watched
 * runs on one worker, so there is one clock.  It ticks at each event that orders threads.  A mark
 * says who accessed four bytes last, and when.  All threads of a block know what its threads did
 * before their last common barrier, and those of a warp what they did before they last met, so two
 * times answer nearly all questions.  Knowledge of another kind (race_order.c) comes from barriers
 * of some threads, and from what one thread releases and another one acquires.
 *
 * A release is an atomic operation, or a volatile or relaxed store, after a fence, or one of those
 * with .release.  Any such access to the same address that comes later acquires it, if the scope of
 * both reaches the other thread.  It needs no fence after it, except after a compare-and-swap, by
 * which locks are taken.  A collective of a warp orders its members, but activemask does not.
 */
#include "cpu/check/check_kernel.h"

/* Who an access is by: one thread, some of a warp, some of several warps, or of several blocks. */
enum race_level { RACE_THREAD, RACE_WARP, RACE_BLOCK, RACE_GRID };

/* The last access to four bytes; of several threads that nothing orders, the last one of all. */
struct race_mark {
	uint32_t is_there : 1; /* else no mark */
	uint32_t is_by_byte : 1; /* of each byte it has another lane of a warp */
	uint32_t is_mbarrier : 1; /* of an mbarrier: the last one counts for those before */
	uint32_t bytes : 4;    /* a bit for each */
	uint32_t is_strong : 1; /* two such do not race, */
	uint32_t is_cta : 1;   /* within the scope of both; */
	uint32_t is_volatile : 1; /* but for two writes, of which one is volatile; of reads
	                             also: some of them are strong, though not all */
	uint32_t is_atomic : 1;
	uint32_t is_async : 1; /* of an asynchronous copy */
	uint32_t time;
	uint32_t block;
	uint32_t line : 20;    /* of PTX */
	uint32_t thread : 10;
	uint32_t level : 2;
	uint32_t members;      /* RACE_WARP: its lanes, RACE_BLOCK: its warps, a bit for each;
	                          RACE_GRID: when a block other than `block` was the last one;
	                          is_by_byte: the numbers of the lanes, eight bits for each */
};

struct race_cell {
	struct race_mark write;
	struct race_mark read;
	uint32_t reads;          /* RACE_BLOCK: the number of its race_reads, plus 1, or 0 */
};

/* When warps of a block, which nothing orders, have last read the word of a cell, and which lanes
 * of them, a bit for each: what a mark has of the last one only. */
struct race_reads {
	const struct race_cell *cell;
	uint32_t time[32];
	uint32_t lanes[32];
};

/* Memory is watched by lines of 128 bytes, which is what a warp mostly accesses at once, in words
 * of four: race_shadow.c.  The lines of a chunk of global memory are side by side. */
enum { RACE_CHUNK = 1 << 16, RACE_LINE = 128, RACE_WORDS = RACE_LINE / 4,
	RACE_OWN_ROWS = 2, RACE_ROWS = 32 };

/* A plain access of some lanes of a warp to whole words of a line, as race_mark has one. */
struct race_row {
	uint32_t time;
	uint32_t block;
	/* Lanes that access word 0, a bit for each.  Those of word i are rotated to the left by i *
	 * step / 4.  Other levels: as in race_mark. */
	uint32_t members;
	uint32_t what;           /* race_row_what, and race_row_step above it */
	uint32_t words;          /* a bit for each */
};

/* The line of PTX, 20 bits; the warp; the level, RACE_WARP for one lane, too; whether it writes. */
static inline uint32_t race_row_what(uint32_t line, uint32_t warp, enum race_level level,
	bool writes)
{
	return line | warp << 20 | (uint32_t)level << 25 | (uint32_t)writes << 27;
}

/* The step of a row of elements of such a size, 16 / size, as it is in race_row.what: one more than
 * its logarithm.  Without it the step is 0. */
static inline uint32_t race_row_step(uint32_t size)
{
	return (5 - (uint32_t)__builtin_ctz(size)) << 28;
}

enum { RACE_STEP = 7 << 28 };

static inline uint32_t race_row_line(const struct race_row *row)
{
	return row->what & 0xfffff;
}

static inline uint32_t race_row_warp(const struct race_row *row)
{
	return row->what >> 20 & 31;
}

static inline enum race_level race_row_level(const struct race_row *row)
{
	return (enum race_level)(row->what >> 25 & 3);
}

static inline bool race_row_writes(const struct race_row *row)
{
	return row->what >> 27 & 1;
}

/* Whether two rows are one, but for the words. */
static inline bool race_row_is_twin(const struct race_row *a, const struct race_row *b)
{
	return a->members == b->members && a->what == b->what && a->time == b->time
		&& a->block == b->block;
}

/* What is known of a line: some rows that have no word in common, but for one write and one read,
 * or if it is split the cells. */
struct race_line {
	uint32_t of;             /* the number of a launch, or of shared memory race_block.run;
	                            another one's: nothing is known */
	uint32_t latest;         /* time of an access */
	uint32_t words;          /* of rows; some of them may be in no row any more */
	uint8_t count : 6;       /* of rows */
	uint8_t is_split : 1;
	uint8_t has_copies : 1;  /* asynchronous ones wrote here */
	uint16_t barriers;       /* by eight bytes: there is an mbarrier */
	union {                  /* NULL until there were any */
		struct race_cell *cells; /* if it is split */
		struct race_row *more;   /* else rows for which there is no room here */
	};
	struct race_row rows[RACE_OWN_ROWS];
};

struct race_chunk {
	uint64_t key;            /* the address of its memory / RACE_CHUNK, plus 1; 0: none */
	struct race_line *lines;
};

#define RACE_NEAR 64             /* chunks that were found last, by a hash of their keys */

struct race_know;

struct race_thread {
	uint32_t fence[2];       /* when it last had one, of any scope, and beyond its block */
	bool lock_is_cta;        /* and the scope of */
	uint64_t lock;           /* the last compare-and-swap, which a fence makes an acquire */
	struct race_know *know;  /* what it knows besides, or NULL */
	uint32_t copies;         /* asynchronous ones that began by then are done */
	uint32_t groups[8];      /* when the last groups of them ended, the last one first */
};

/* Of a block while it runs; belongs to its frame. */
struct race_block {
	struct race *race;
	uint32_t number;
	uint32_t threads;
	uint32_t met;                /* when all its threads last met, */
	uint32_t warp_met[32];       /* and those of each warp */
	uint32_t first;              /* plain access to global memory since `met`, or 0; */
	uint32_t *published_first;   /* that of its releases since the one before that, or NULL */
	struct race_know *know;      /* what all of them know besides, or NULL */
	struct race_thread *of;      /* by thread */
	size_t of_count;
	bool has_threads;            /* some of those are not as they began */
	uint32_t run;                /* which block of its frame it is; from 1 */
	struct race_line *lines;     /* of shared memory, and their cells */
	struct race_cell *cells;
	size_t line_count;
	struct race_reads *reads;    /* since `met` */
	size_t read_count, read_cap;
};

/* Some threads of a block: a bit for each, 32 in each word, from a warp on. */
struct race_set {
	uint32_t warp;
	uint32_t words;
	const uint32_t *threads;
};

#define RACE_PAIRS 1024

struct race {
	struct race_order *order;
	const struct rt_launch *launch;
	uint32_t number;         /* of the launch */
	uint32_t now;
	uint32_t begun;          /* blocks */
	bool is_full;            /* no memory for more cells, which was reported */
	bool has_releases;       /* a thread may know what another one of its block did */
	bool is_apart;           /* no block can know what another one did */
	bool has_cells;          /* lines were split */
	struct race_shadow *shadow;
	struct race_chunk near[RACE_NEAR];
	uint64_t pairs[RACE_PAIRS]; /* of lines that were reported: a table */
	size_t pair_count;
	bool is_noting;          /* for race_is_still, */
	bool has_moved;          /* which memory has, or may have, but for */
	uint32_t noted;          /* what these lanes, which write so many bytes, have found there */
	uint32_t noted_size;
	uint64_t noted_at[RT_GROUP];
	uint8_t noted_bytes[RT_GROUP][16];
};

/* --- For launches --- */

struct race *race_create(void); /* NULL: no memory */
void race_release(struct race *race); /* NULL is fine */
void race_begin(struct race *race, const struct rt_launch *launch);
/* Get memory for the blocks of a frame, for the launch that has begun; false: no memory. */
bool race_prepare_block(struct race_block *block, struct race *race, size_t shared_size);
void race_begin_block(struct race_block *block, const uint32_t ctaid[3]);
void race_free_block(struct race_block *block);
/* All threads of a block that have not exited have met; or some have. */
void race_meet_all(struct race_block *block);
void race_meet(struct race_block *block, const struct race_set *set);

/* --- race.c, for race_watch.c and race_mbarrier.c --- */

/* Whether a thread of the block knows of an access, so that it comes after that. */
bool race_is_ordered(struct race_block *block, const struct race_mark *mark, uint32_t thread);

/* By the cells of a line: the accesses to so many bytes, which may go on in the next lines. */
void race_touch_bytes(struct rt_warp *warp, struct race_mark *mark, bool writes, uint64_t at,
	uint32_t size);
void race_fence(struct race_block *block, uint32_t thread, bool is_cta);
/* A strong access of one thread is a release, an acquire, or both.  An arrival at an mbarrier is a
 * release. */
void race_synchronise(struct race_block *block, uint32_t thread, uint64_t at, uint32_t access);
/* Groups of asynchronous copies end when the thread says so, and are done when it has waited. */
void race_note_copies(struct race_block *block, uint32_t thread, enum rt_access kind,
	uint32_t count);

/* --- race_watch.c --- */

/* What rt_host.watch and rt_host.meet are. */
void race_watch(struct rt_warp *warp, uint32_t access, uint32_t pattern);
void race_collect(struct rt_warp *warp, uint32_t what, uint32_t set);

/* Whether no memory has changed since the last call, nor may others have changed what was read; the
 * first call begins to note that. */
bool race_is_still(struct race *race);

/* --- race_shadow.c --- */

/* Whether a row has all reads of its words that matter: several blocks have read them, and as long
 * as the launch runs nothing will order a write and all of these reads. */
static inline bool race_row_is_final(const struct race *race, const struct race_row *row)
{
	return race->is_apart && race_row_level(row) == RACE_GRID;
}

struct race_shadow *race_shadow_create(void);
void race_shadow_release(struct race_shadow *shadow);
/* A launch begins; what other launches did does not count.  It forgets lines if their launch would
 * seem to be this one. */
void race_shadow_begin(struct race_shadow *shadow, bool forgets);
/* The lines of the chunk with a key; NULL: no memory. */
struct race_line *race_shadow_find_chunk(struct race_shadow *shadow, uint64_t key);

/* The line of an address, as an earlier access left it; NULL: no memory. */
static inline struct race_line *race_shadow_find(struct race *race, uint64_t address)
{
	const uint64_t key = address / RACE_CHUNK + 1;
	struct race_chunk *near = &race->near[key % RACE_NEAR];
	if (unlikely(near->key != key)) {
		struct race_line *lines = race_shadow_find_chunk(race->shadow, key);
		if (!lines) {
			return NULL;
		}
		*near = (struct race_chunk){key, lines};
	}
	return &near->lines[address / RACE_LINE % (RACE_CHUNK / RACE_LINE)];
}

/* The line of an address, as an earlier access left it; NULL: it has none. */
static inline struct race_line *race_locate(const struct rt_warp *warp, uint64_t at,
	bool *is_shared)
{
	const struct race_block *block = warp->race;
	const uint64_t offset = at - (uintptr_t)warp->shared;
	*is_shared = offset < RT_SHARED_WINDOW;
	return !*is_shared ? race_shadow_find(block->race, at)
		: offset / RACE_LINE < block->line_count ? &block->lines[offset / RACE_LINE] : NULL;
}

/* Forget what does not count any more of a line's past. */
static inline void race_renew(const struct race_block *block, struct race_line *line,
	bool is_shared)
{
	const uint32_t of = is_shared ? block->run : block->race->number;
	if (line->of != of) {
		line->of = of;
		line->latest = 0;
		line->barriers = 0;
		line->has_copies = false;
	} else if (!is_shared || line->latest > block->met || line->has_copies) {
		return;
	}
	line->count = 0;
	line->is_split = false;
}

/* The line of an address, with what counts of its past; NULL: it has none. */
static inline struct race_line *race_find_line(const struct rt_warp *warp, uint64_t at)
{
	bool is_shared;
	struct race_line *line = race_locate(warp, at, &is_shared);
	if (likely(line)) {
		race_renew(warp->race, line, is_shared);
	}
	return line;
}

/* Note an access to a line that is not split; what is left of the row is of no use then.  False: it
 * needs cells, and nothing has changed. */
bool race_shadow_touch(struct race_shadow *shadow, const struct race_block *block,
	struct race_line *line, struct race_row *new);
/* Nothing is known of what was done to so many bytes. */
void race_shadow_forget(struct race *race, uint64_t address, uint64_t size);
/* Replace rows by cells; false: no memory. */
bool race_shadow_split(struct race_shadow *shadow, struct race_line *line);

/* --- race_report.c --- */

/* Whether this launch has reported these two lines so; from now on it has. */
bool race_is_reported(struct race *race, uint64_t pair);
/* Report the race of an old and a new access at an address. */
void race_report(struct rt_warp *warp, const struct race_mark *old, bool old_writes,
	const struct race_mark *new, bool new_writes, uint64_t at);
/* Report that accesses to memory without cells are not checked. */
void race_report_full(struct rt_warp *warp, const struct race_mark *new, uint64_t at);
/* Report what the check `sync` finds in an access: it comes before an asynchronous copy is done, or
 * threads of a warp trust that they run in step. */
void race_report_sync(struct rt_warp *warp, const struct race_mark *old,
	const struct race_mark *new, bool is_race, uint64_t at);

/* --- race_mbarrier.c --- */

/* An mbarrier begins, ends or is used: an access of a thread that is about to happen. */
void race_note_mbarrier(struct rt_warp *warp, const struct race_mark *mark, uint64_t at,
	uint32_t access);
/* What rt_host.arrive is. */
void race_arrive(struct rt_warp *warp, uint32_t lane, const struct rt_arrival *arrival);

/* --- race_order.c --- */

/* An mbarrier in shared memory. */
struct race_barrier {
	struct race_mark ended;  /* by an arrival or copy: its last phase; */
	struct race_mark invalid; /* by mbarrier.inval: it */
	struct race_use {
		uint32_t time, line;
	} *uses;                 /* by thread: the last wait or arrival; time 0: none */
};

/* That at an address; NULL: no memory. */
struct race_barrier *race_barrier_at(struct race_order *order, uint64_t address,
	uint32_t threads);
/* When a thread released something to an address last; 0: it has not. */
uint32_t race_released(const struct race_order *order, const struct race_block *block,
	uint32_t thread, uint64_t address);

struct race_order *race_order_create(void);
void race_order_release(struct race_order *order);
void race_order_begin(struct race_order *order);
/* What some threads know when they have met; NULL: nothing besides. */
struct race_know *race_know_join(struct race_order *order, const struct race_block *block,
	const struct race_set *set, uint32_t now);
/* What all threads of a block know when they have met, besides each other. */
struct race_know *race_know_join_all(struct race_order *order, const struct race_block *block);
/* A thread releases what it knows, its own accesses up to a time among it, to an address. */
void race_publish(struct race_order *order, struct race_block *block, uint32_t thread,
	uint64_t address, uint32_t time, bool is_cta);
/* It acquires what was released there. */
void race_acquire(struct race_order *order, struct race_block *block, uint32_t thread,
	uint64_t address, bool is_cta);
/* Whether a thread knows of an access by what was released or by barriers of some threads. */
bool race_knows(struct race_order *order, struct race_block *block, uint32_t thread,
	const struct race_mark *mark);

#endif
