/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_RT_H
#define CPU_RUNTIME_RT_H

/*
 * The interface between compiled kernels and the C code around them.  A warp of W lanes is a
 * coroutine:
 *
 *	next = kernel(warp, frame, resume)
 *
 * It starts with resume 0.  It returns RT_DONE when every lane has exited, else the number to
 * resume at, with the reason in warp->yield.  RT_SWEEP says that the lanes have diverged: the
 * reason is that of the lanes in warp->lanes, and before the next call warp->ready says which lanes
 * may go on.  With any other number all lanes are at one place and go on together.
 *
 * All warps of a block may run in one call, as a team, if `end` of the first one says so.  RT_APART
 * says that the warps of a team have to go on by themselves, each with RT_SWEEP.
 *
 * All that must survive between two calls lies in `frame`.  Compiled code reaches everything else
 * through struct rt_warp.  It holds no symbol and no address, so that it can be cached.
 */
#include "base/common.h"
#include "base/kudzu_abi.h"

#include <pthread.h>
#include <stdatomic.h>

#define RT_DONE 0u
#define RT_SWEEP UINT32_MAX
#define RT_APART (UINT32_MAX - 1)

/* Lanes of the widest warp that the generator makes; threads of a CUDA warp, whatever that
 * width. */
#define RT_MAX_WIDTH 32
#define RT_GROUP 32

/* In rt_warp.lane: many lanes access memory at once, each somewhere else. */
#define RT_GATHERS 33
/* Likewise.  rt_warp.at has indexes of 32 bits, signed, of elements of `step` bytes from `base`
 * on. */
#define RT_NEAR_GATHERS 34
/* Plus a number of lanes: so many lanes in a row, of all warps of a team, have elements side by
 * side. */
#define RT_ROWS 64

/* Generic addresses of .shared memory lie in [warp->shared, warp->shared + RT_SHARED_WINDOW);
 * nothing else that a kernel can address may lie there. */
#define RT_SHARED_WINDOW 0x1000000u
/* Of the cache lines that a profile counts: 128 bytes, as on a GPU. */
#define RT_LINE_SHIFT 7
/* After its own shared memory each block has so many bytes that are reserved, of which the tiles
 * of more than 32 threads of cooperative groups use the first RT_RESERVED_USED. */
#define RT_RESERVED_SHARED 1024u
#define RT_RESERVED_USED 288u
#define RT_SHARED_UNIT 128u

/* The reason why a warp yields. */
enum rt_yield {
	RT_YIELD_NONE,
	RT_YIELD_BARRIER, /* wait at barrier[bar_id] for bar_count threads; 0: the whole block */
	RT_YIELD_ARRIVE,  /* count as arrived, do not wait */
	RT_YIELD_SPIN,    /* nothing to do until another warp or block moves */
	RT_YIELD_TRAP,    /* trap, or a failure in warp->fail */
	RT_YIELD_WARP     /* wait for the other threads of a collective; see struct rt_exchange */
};

/* Reductions that barrier.red computes over all threads that arrive.  The result is in
 * exchange->words[0] of each. */
enum rt_barrier_red { RT_RED_NONE, RT_RED_AND, RT_RED_OR, RT_RED_POPC };

/* bar_id: each thread has its own barrier and count, in words[1] and words[2] of the exchange. */
#define RT_BAR_EACH UINT32_MAX

/*
 * Where the threads of one CUDA warp meet for a collective (a shuffle, a vote).  Each thread puts
 * down the operation, its members and its operands.  When the last one comes, the results of all
 * replace the operands.  Thread i of the warp is bit i.
 */
#define RT_WORDS 40

struct rt_exchange {
	uint32_t what[RT_GROUP];             /* enum collect, and its details */
	uint32_t members[RT_GROUP];          /* the threads that must come */
	uint32_t words[RT_WORDS][RT_GROUP];  /* operands, then results */
	uint32_t here;                       /* have come and wait */
	uint32_t absent;                     /* have exited or do not exist: not waited for */
	uint32_t released;                   /* the wait of these is over */
	uint32_t lines[RT_GROUP];            /* with `race`: PTX lines where they wait */
	uint32_t swept;                      /* COLLECT_OPEN: after the place of the last release */
};

struct texture;
struct surface;

/* What an access does, and what rt_calls.check is told of it; only rt_calls.watch is told of the
 * last five.  RT_USES: these lanes have read what may be unwritten, and are about to use it. */
enum rt_access {
	RT_READS, RT_WRITES, RT_CHANGES, RT_USES,
	RT_FENCES,  /* a fence */
	RT_COMMITS, /* the asynchronous copies so far are a group */
	RT_WAITS,   /* for all groups of them but the last rt_warp.access; UINT32_MAX: for all
	               copies */
	RT_FORGETS, /* rt_warp.access bytes at rt_warp.at[0] are new: what was done there before
	               does not count */
	RT_CLOCKS   /* a clock, so that the next time it may do something else */
};

/* And what rt_calls.watch is told besides. */
enum {
	RT_ACCESS_KIND = 0xff,
	RT_ACCESS_STRONG = 1 << 9,     /* atomic or relaxed */
	RT_ACCESS_CTA = 1 << 10,       /* for the threads of the block */
	RT_ACCESS_RELEASE = 1 << 11,
	RT_ACCESS_ASYNC = 1 << 12,     /* a copy that somebody has to wait for */
	RT_ACCESS_VOLATILE = 1 << 13,
	RT_ACCESS_MBARRIER = 1 << 14,  /* the barrier in shared memory is made, or if this is
	                                  strong used */
	RT_ACCESS_LOCKS = 1 << 15,     /* a compare-and-swap that does not acquire */
	RT_ACCESS_ENDS = 1 << 16,      /* there is no barrier from now on */
	RT_ACCESS_IDLE = 1 << 17       /* of no use but to know that memory changes */
};

/* Where the lanes are.  But for the first, only rt_warp.at[0] is set, where lane 0 is or would
 * be. */
enum rt_pattern {
	RT_WATCH_ANY,  /* as rt_warp.at says */
	RT_WATCH_ROW,  /* lane i is i times rt_warp.access after lane 0 */
	RT_WATCH_PLACE, /* all are at one place */
	RT_WATCH_TWINS /* as a row of 16 lanes, at which the others are, too */
};

/* Times a number: after a row or twins come more of them, each right behind the one before. */
enum { RT_WATCH_MORE = 1 << 8 };

/* What rt_calls.check is told of a place in the code: its addresses have to be multiples of
 * `align`, a power of two, and its range is at `slot` of rt_warp.ranges. */
static inline uint32_t rt_pack_access(enum rt_access kind, bool is_shared, uint32_t align,
	uint32_t slot)
{
	return (uint32_t)kind | (uint32_t)is_shared << 8 | (uint32_t)__builtin_ctz(align) << 9
		| slot << 16;
}

static inline uint32_t rt_align_of(uint32_t access)
{
	return UINT32_C(1) << (access >> 9 & 31);
}

/* The variable that an address was made from: by its place in ptx_func.vars, in ptx_module.vars, or
 * in ptx_func.params. */
#define RT_MODULE_VAR 0x40000000u
#define RT_PARAM_VAR 0x80000000u
#define RT_NO_VAR UINT32_MAX

/* Addresses that kernels may access as they like.  A worker has an array of what its block found
 * last; places in the code take turns, so that those of a loop do not meet. */
#define RT_RANGES 64
/* The place in that array of the memory of textures and surfaces. */
#define RT_IMAGES RT_RANGES
struct rt_range {
	uint64_t begin;
	uint64_t size;                 /* 0: no range */
};

struct check_kernel;
struct race_block;
struct rt_warp;

/* What rt_calls.made is told of an instruction. */
struct rt_made {
	uint32_t line;                 /* of PTX */
	uint32_t op;                   /* enum ptx_op */
	uint32_t types;                /* enum ptx_type, a byte for each value */
	uint64_t values[4];            /* the result, and the operands */
};

/* One per launch, read-only while it runs. */
struct rt_launch {
	const uint8_t *params;         /* the parameter block, laid out as the kernel declares */
	uint8_t *const *globals;       /* address of ptx_module.vars[i] */
	const uint32_t *tid[3];        /* tid[axis][linear thread index], padded to a full warp */
	uint32_t ntid[3];
	uint32_t nctaid[3];
	uint32_t threads;              /* ntid[0] * ntid[1] * ntid[2] */
	uint32_t dynamic_shared;       /* bytes */
	uint32_t total_shared;         /* static and dynamic bytes, in units of RT_SHARED_UNIT, */
	uint32_t aggr_shared;          /* and exactly, with the reserved ones */
	uint32_t reserved_start;       /* where those begin, where what of them is in use ends, */
	uint32_t reserved_end;
	uint32_t reserved_cap;         /* and where all of them end */
	uint64_t grid_id;
	const struct rt_calls *calls;
	uint32_t sm_count;             /* %nsmid */
	uint32_t grid_sync[2];         /* %envreg2 and 1: the workspace of a cooperative launch */
	uint64_t stack_size;           /* bytes of each thread's .local memory after the
	                                  kernel's */
	struct rt_host *host;          /* what the functions below need of the context */
	const struct check_kernel *check; /* what checks need to know of it; NULL: it asks
	                                  nothing */
	uint32_t cached_bytes;         /* larger launches bypass the cache: nontemporal.h */
};

/* An operation on an mbarrier that may end its phase. */
struct rt_arrival {
	uint64_t at;
	uint64_t count;                /* of arrivals; 0: of bytes only */
	uint64_t pending;              /* arrivals before this one */
	bool ends;                     /* the phase */
};

/* The part of a context that compiled code can use. */
struct rt_host {
	struct heap *heap;             /* of malloc and free in kernels, NULL if none uses it */
	/* Look up a handle.  The driver sets these, for handles belong to upper layers.  NULL: not
	 * the handle of a live object. */
	const struct texture *(*find_texture)(uint64_t handle);
	const struct surface *(*find_surface)(uint64_t handle);
	uint32_t *(*find_condition)(uint64_t handle); /* where the value of a graph's condition
	                                                 is */
	/* Whether kernels may access all these bytes.  If so, and they may as well access all of an
	 * allocation that has them, that goes to *out unless it is NULL.  The driver sets it if
	 * there are several devices. */
	bool (*may_access)(const struct rt_host *host, uint64_t address, size_t size,
		struct rt_range *out);
	/* What rt_calls.check is.  The driver sets it. */
	uint32_t (*check)(struct rt_warp *warp, uint32_t access, uint32_t var);
	/* What rt_calls.watch is; and threads of a warp, `set`, have met at a collective.  The
	 * driver sets both. */
	void (*watch)(struct rt_warp *warp, uint32_t access, uint32_t pattern);
	void (*meet)(struct rt_warp *warp, uint32_t what, uint32_t set);
	/* A lane has arrived at an mbarrier, or bytes for which it waits have, if the launch is
	 * watched.  The driver sets it. */
	void (*arrive)(struct rt_warp *warp, uint32_t lane, const struct rt_arrival *arrival);
	/* What rt_calls.made and rt_calls.blame are.  The driver sets both. */
	void (*made)(struct rt_warp *warp, uint32_t lane, const struct rt_made *made);
	void (*blame)(struct rt_warp *warp, uint32_t lane, uint32_t blame);
	/* Where printf and failed assertions go; NULL: to the files of stdio. */
	pthread_mutex_t output_lock;   /* guards the two below, and is held during the call */
	kudzu_output_fn *output;
	void *output_user;
	atomic_bool output_waits;      /* there may be text in the buffer of stdout */
	atomic_int output_error;       /* errno of a text that was lost, for the launch to report */
};

/* A failure in C code, for the launch to report. */
struct rt_fail {
	uint32_t code;                 /* CUresult; 0: a plain trap */
	uint32_t lanes;                /* whose access it was; 0: see rt_warp */
	uint64_t address;              /* of that access; 0: the text says where it lies */
	char text[160];
};

/* One per warp of a block that is running. */
struct rt_warp {
	const struct rt_launch *launch;
	uint8_t *shared;               /* .shared address 0 of this block */
	uint8_t *local;                /* .local memory of lane 0; lanes follow at local_stride */
	uint64_t local_stride;
	struct rt_exchange *exchange;  /* of the CUDA warp that the lanes belong to */
	struct rt_fail *fail;          /* of the worker */
	uint32_t ctaid[3];
	uint32_t first;                /* linear thread index of lane 0; out, see `end` */
	uint32_t alive;                /* lanes that exist; bit 0 is lane 0 */
	uint32_t ready;                /* in, for RT_SWEEP: lanes that may go on */
	uint32_t exited;               /* lanes that have, but for those of RT_DONE */
	uint32_t sm;                   /* the worker, as %smid */
	uint32_t lane;                 /* the last one that made an access by itself, else 32,
					* RT_GATHERS or RT_NEAR_GATHERS, or in a team's first
					* warp RT_ROWS and more */
	uint32_t step;                 /* of the last access of all lanes, from one lane's element
					* to the next; 0: none so far */
	uint64_t base;                 /* and where lane 0's is */
	uint32_t yield;                /* out: enum rt_yield */
	uint32_t lanes;                /* out, with RT_SWEEP: whose reason it is */
	uint32_t bar_id;               /* out: 0 to 15, or RT_BAR_EACH */
	uint32_t bar_count;            /* out: threads expected, 0 for the whole block */
	uint32_t bar_red;              /* out: enum rt_barrier_red */
	uint32_t bar_value;            /* out: predicate, one bit per lane */
	uint32_t line;                 /* PTX line of the last yield or trap, for messages; with
					* emit_check of the last access */
	uint32_t gathers;              /* with these two: the lanes that read, */
	uint64_t at[RT_MAX_WIDTH];     /* and where each of them does; or where rows begin */
	uint32_t end;                  /* in: a kernel that never yields may run the next warp, too,
					* and those after it while `first` is less; all are whole.
					* Others may run all of them, as a team */
	uint32_t end_block;            /* in: then the next block, and so on while ctaid[0] is less,
					* from its first warp to `end` */
	uint32_t access;               /* with emit_check: bytes that each of `gathers` is to access
					* at `at`; 0: nobody knows */
	uint32_t team;                 /* out: so many warps run in this call, in step; 0: one */
	struct rt_range *ranges;       /* of the worker, see emit_check.c */
	uint64_t *counters;            /* in: the worker's, for a kernel that counts
					* (ir/counters.h) */
	struct race_block *race;       /* of the block, if races are looked for; else NULL */
};

/* The slot of a warp.  The slots of a block are an array.  The caller of block.c sets up `frame`,
 * and all of `warp` but ctaid. */
struct slot {
	struct rt_warp warp;
	uint8_t *frame;
	uint32_t resume;
};

typedef uint32_t rt_kernel(struct rt_warp *warp, void *frame, uint32_t resume);

/* The operations of round_f64. */
enum rt_op { RT_MUL, RT_FMA, RT_DIV, RT_SQRT };

/* Directions of rounding other than to nearest even. */
enum rt_round { RT_ROUND_DOWN, RT_ROUND_UP, RT_ROUND_ZERO };

/* The queries of txq and suq. */
enum rt_query_what {
	RT_QUERY_WIDTH, RT_QUERY_HEIGHT, RT_QUERY_DEPTH, RT_QUERY_ARRAY_SIZE,
	RT_QUERY_CHANNEL_TYPE, RT_QUERY_CHANNEL_ORDER, RT_QUERY_NORMALIZED,
	RT_QUERY_FORCE_UNNORMALIZED, RT_QUERY_LEVELS, RT_QUERY_SAMPLES, RT_QUERY_FILTER,
	RT_QUERY_ADDRESS_0, RT_QUERY_ADDRESS_1, RT_QUERY_ADDRESS_2, RT_QUERY_LAYOUT
};

struct rt_query {
	uint32_t what;
	uint32_t is_surface;
	uint32_t level;
};

struct texture_lanes;
struct surface_request;

/* For accesses lane by lane: addresses, and the elements of each lane, in an array for each part of
 * a PTX vector. */
#define RT_PARTS 8
struct rt_lanes {
	uint64_t at[RT_MAX_WIDTH];
	uint64_t values[RT_PARTS][RT_MAX_WIDTH];
};

/* The functions that compiled code may call.  Their order never changes, for compiled code may come
 * from the cache.  Every function takes the warp first. */
struct rt_calls {
	uint64_t (*clock)(struct rt_warp *warp); /* nanoseconds, steady: %clock64, %globaltimer */
	/* One f64 operation with directed rounding: enum rt_op, enum rt_round, operands. */
	double (*round_f64)(struct rt_warp *warp, uint32_t op, uint32_t round, double a, double b,
		double c);
	/* Lanes have come to a collective.  1: all members have come, the results are there.
	 * 0: yield RT_YIELD_WARP. */
	uint32_t (*collect)(struct rt_warp *warp, uint32_t lanes);
	/* Textures, see texture_fetch.h.  The lane that must trap, as a bit, or 0. */
	uint32_t (*texture)(struct rt_warp *warp, struct texture_lanes *lanes, uint32_t set);
	/* Surfaces and queries by handle.  0: trap. */
	uint32_t (*surface)(struct rt_warp *warp, uint64_t handle,
		struct surface_request *request, uint32_t *unused);
	uint32_t (*query)(struct rt_warp *warp, uint64_t handle, const struct rt_query *query,
		uint32_t *out);
	/* End the launch with a CUresult: the code must trap after it. */
	void (*fail)(struct rt_warp *warp, uint32_t code);
	/* The functions of PTX_RUNTIME; `free` gives 0 if the code must trap. */
	uint32_t (*print)(struct rt_warp *warp, uint64_t format, uint64_t args);
	void (*assert_fail)(struct rt_warp *warp, uint64_t message, uint64_t file, uint32_t line,
		uint64_t function, uint32_t x, uint32_t y, uint32_t z);
	uint64_t (*malloc)(struct rt_warp *warp, uint64_t size);
	uint32_t (*free)(struct rt_warp *warp, uint64_t address);
	/* Copy the first `read` bytes of `size`; the others become zero. */
	void (*copy)(struct rt_warp *warp, void *to, const void *from, uint32_t size,
		uint32_t read);
	/* Load or store `count` elements of `size` bytes, one after the other, for each of
	 * `lanes`. */
	void (*move_lanes)(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
		uint32_t size, uint32_t count, uint32_t store);
	/* See rt_mbarrier.h. */
	uint64_t (*mbarrier)(struct rt_warp *warp, uint32_t op, uint32_t lane, uint64_t *place,
		uint64_t argument);
	/* See rt_atom.h. */
	void (*atom_lanes)(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
		uint32_t size, uint32_t op, uint32_t unused);
	/* Of PTX_RUNTIME, too.  0: trap. */
	uint32_t (*set_condition)(struct rt_warp *warp, uint64_t handle, uint32_t value);
	/* The first lane in warp->gathers, as a bit, that must not access what it has told of; 0:
	 * all may.  See emit_check.c and rt_pack_access. */
	uint32_t (*check)(struct rt_warp *warp, uint32_t access, uint32_t var);
	/* Add the cache lines that `lanes` touch to a counter of the warp. */
	void (*count_lines)(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
		uint32_t counter, uint32_t unused, uint32_t unused_too);
	/* The lanes in warp->gathers are about to do this at warp->at; enum rt_pattern, and
	 * RT_WATCH_MORE. */
	void (*watch)(struct rt_warp *warp, uint32_t access, uint32_t pattern);
	/* Add what an access of `size` bytes for each of `lanes` costs a GPU to the counters of the
	 * warp from one on (COUNTERS_OF_COST in ir/counters.h). */
	void (*count_cost)(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
		uint32_t counter, uint32_t size, uint32_t is_shared);
	/* An instruction has made something wrong in a lane. */
	void (*made)(struct rt_warp *warp, uint32_t lane, const struct rt_made *made);
	/* What is wrong in a lane matters now: its blame (base/checks.h). */
	void (*blame)(struct rt_warp *warp, uint32_t lane, uint32_t blame);
};

/* The table that every launch points to. */
extern const struct rt_calls rt_calls;

/* rt_fetch.c: textures and surfaces. */
uint32_t rt_texture(struct rt_warp *warp, struct texture_lanes *lanes, uint32_t set);
uint32_t rt_surface(struct rt_warp *warp, uint64_t handle, struct surface_request *request,
	uint32_t *unused);
uint32_t rt_query(struct rt_warp *warp, uint64_t handle, const struct rt_query *query,
	uint32_t *out);

/* rt_host.c: functions of the host. */
void rt_fail_code(struct rt_warp *warp, uint32_t code);
uint32_t rt_print(struct rt_warp *warp, uint64_t format, uint64_t args);
void rt_assert_fail(struct rt_warp *warp, uint64_t message, uint64_t file, uint32_t line,
	uint64_t function, uint32_t x, uint32_t y, uint32_t z);
uint64_t rt_malloc(struct rt_warp *warp, uint64_t size);
uint32_t rt_set_condition(struct rt_warp *warp, uint64_t handle, uint32_t value);
uint32_t rt_free(struct rt_warp *warp, uint64_t address);
uint32_t rt_check(struct rt_warp *warp, uint32_t access, uint32_t var);
void rt_watch(struct rt_warp *warp, uint32_t access, uint32_t pattern);
void rt_made(struct rt_warp *warp, uint32_t lane, const struct rt_made *made);
void rt_blame(struct rt_warp *warp, uint32_t lane, uint32_t blame);
/* rt_count.c */
void rt_count_lines(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
	uint32_t counter, uint32_t unused, uint32_t unused_too);
/* rt_cost.c */
void rt_count_cost(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
	uint32_t counter, uint32_t size, uint32_t is_shared);
/* Report a failure from a function of the table.  The compiled code must then trap. */
void rt_fail(struct rt_warp *warp, uint32_t code, const char *format, ...) printf_like(3, 4);
/* The same of the access of a lane.  Address 0: the text says where it is. */
void rt_deny(struct rt_warp *warp, unsigned lane, uint64_t address, uint32_t code,
	const char *text);

#endif
