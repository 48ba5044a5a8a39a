/* SPDX-License-Identifier: MIT */
#ifndef TESTS_GEN_H
#define TESTS_GEN_H

/*
 * Random kernels whose results are known.
 *
 * A program is a list of instructions over typed registers, labels and conditional jumps: loops,
 * switches and the rest are built out of these by gen_flow.c.  gen_ptx.c prints it as PTX,
 * gen_cuda.c as CUDA C, and gen_run.c interprets it, one thread at a time from one place where
 * threads wait for each other to the next.  The same seed and features give the same program.
 *
 * Every program is deterministic.  A thread reads and writes places of its own; it meets others
 * only through barriers that all of them reach, through warp operations whose mask names exactly
 * those that come, and through atomics whose order does not matter.  NaNs are made canonical
 * wherever their bits could be seen, since PTX does not say which NaN an operation gives.
 */
#include "base/common.h"

#include "base/str.h"

enum gen_bank { GEN_P, GEN_H, GEN_R, GEN_D, GEN_F, GEN_G, GEN_BANKS };

#define GEN_REGS 250         /* of a bank */
#define GEN_OWN_BYTES 32     /* of a thread, in each kind of its memory */
#define GEN_SHARED_BYTES 16
#define GEN_INPUTS 256       /* 64-bit words that nobody writes */
#define GEN_CONSTANTS 16     /* such words in constant memory */
#define GEN_CELLS 8          /* 64-bit words for atomics of all threads, each for one operation */
#define GEN_MAX_THREADS 256  /* of a block */
#define GEN_FUNCS 3          /* the kernel and the functions that it calls */

/* Registers that the program computes with come first in each bank, and all of them are part of
 * the result; what follows holds addresses' parts, masks and loop counters.  Of the first of bank
 * R, the last GEN_UNIFORM have the same value in all threads of a block. */
#define GEN_UNIFORM 4
extern const unsigned gen_visible[GEN_BANKS];
extern const unsigned gen_bits[GEN_BANKS];

/* Registers of bank R after the visible ones that the printers and the interpreter fill in; in a
 * function that is called each is r0 plus its number. */
enum gen_special {
	GEN_GTID,     /* in the grid */
	GEN_TID,      /* in the block, over all three axes */
	GEN_LANE,
	GEN_CTA,
	GEN_NTHREADS, /* of the block */
	GEN_PARAM,
	GEN_EXIST,    /* the threads of this warp */
	GEN_SPECIALS
};

enum gen_arg_kind { GEN_NONE, GEN_REG, GEN_IMM };

struct gen_arg {
	uint8_t kind;
	uint8_t bank;
	uint8_t reg;
	uint64_t value; /* GEN_IMM: as bits */
};

/* A computation: PTX, its result and operands as banks ("rrd"), C, and CUDA C or NULL. */
struct gen_op {
	const char *ptx;
	const char *banks; /* an 'i' is a constant from 0 to 255 */
	uint64_t (*run)(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
	const char *cuda;
};

extern const struct gen_op gen_ops[];
extern const size_t gen_op_count;
/* The index of the row with this PTX; it exists. */
unsigned gen_find_op(const char *ptx);
enum gen_bank gen_bank_of(char letter);
/* Bits of a NaN are the canonical ones. */
uint64_t gen_canon(enum gen_bank bank, uint64_t bits);

enum gen_kind {
	GEN_NOP,
	GEN_OP,   /* op: dst[0] = op(src...) */
	GEN_LD,   /* dst[0..count) = place */
	GEN_ST,   /* place = src[0..count) */
	GEN_ATOM, /* op: on a place, with src[0] and src[1]; dst[0] is NONE or gets the old value */
	GEN_LOCK, /* add src[0] to a word of the lock's, while holding the lock */
	GEN_FLOAT_ATOM, /* place = canonical src[0]; dst[0] = that; place += src[1]; canonical */
	GEN_SWAP, /* dst[0..2) = 16 bytes at the place, then src[0..2); if `op`, only where they
		   * have been src[2..4) */
	GEN_COPY, /* place = the `op` bytes at `from` and zeroes, `count` bytes in all */
	GEN_IN_SPACE, /* dst[0]: is the place's memory that of the space `op`? */
	GEN_IDLE, /* nothing that shows: gen_idle[op] */
	GEN_LABEL,  /* label */
	GEN_BRA,    /* to label */
	GEN_SWITCH, /* to targets[src[0] % count]; where the guard fails, to what follows */
	GEN_EXIT,
	GEN_BAR,  /* op, dst[0] and src[0]: a predicate */
	GEN_WARP, /* op, mask: src[0] */
	GEN_CALL  /* op: the function; dst[0], src[0], src[1] as gen_func says; or, through a
		   * pointer, where the predicate src[2] is false, the function `label` */
};

enum gen_space {
	GEN_OWN,      /* global, GEN_OWN_BYTES for each thread */
	GEN_STRIPED,  /* global, too, but word i of all threads together, before word i + 1 */
	GEN_LOCAL,
	GEN_SHARED,   /* GEN_SHARED_BYTES for each thread */
	GEN_EXCHANGE, /* shared; one 64-bit word for each thread, for others to read */
	GEN_INPUT,
	GEN_CONST,
	GEN_GLOBAL_CELL,
	GEN_SHARED_CELL,
	GEN_SPACES
};

/* Where: word `index` (of 8 bytes; a register is taken modulo the words there are, but for
 * GEN_EXCHANGE), and `offset` bytes in it. */
struct gen_place {
	uint8_t space;
	uint8_t offset;
	uint8_t form;  /* which of the ways to write the address */
	bool generic;
	struct gen_arg index;
};

/* Types in memory. */
enum gen_type { GEN_U8, GEN_S8, GEN_U16, GEN_S16, GEN_B32, GEN_S32, GEN_B64, GEN_F32, GEN_F64 };
unsigned gen_type_size(enum gen_type type);

enum gen_atom {
	GEN_ADD, GEN_MIN, GEN_MAX, GEN_AND, GEN_OR, GEN_XOR, GEN_EXCH, GEN_INC, GEN_DEC, GEN_CAS,
	GEN_ATOMS
};

/* What the global and shared cells are for; GEN_INC with one bound in all threads. */
struct gen_cell {
	uint8_t op;
	const char *type; /* "s32" */
	uint64_t start;
};
extern const struct gen_cell gen_cells[GEN_CELLS];
#define GEN_INC_BOUND 11

/* Barrier `label`; of `type` aligned or not; `count`: with the number of threads.  The last two are
 * other ways to wait for all: at an mbarrier; half of the warps arrive at one barrier and all go to
 * the next. */
enum gen_bar_type { GEN_BAR_ALIGNED, GEN_BAR_UNALIGNED };
enum gen_bar {
	GEN_BAR_SYNC, GEN_BAR_POPC, GEN_BAR_AND, GEN_BAR_OR, GEN_BAR_MBARRIER, GEN_BAR_SPLIT
};

/* What changes nothing, as PTX and as CUDA C; the last GEN_IDLE_KERNEL only in the kernel. */
#define GEN_IDLES 10
#define GEN_IDLE_KERNEL 3
extern const char *const gen_idle[GEN_IDLES][2];

enum gen_warp {
	GEN_BALLOT, GEN_ALL, GEN_ANY, GEN_UNI,        /* dst[0], src[1]: p */
	GEN_SHFL_UP, GEN_SHFL_DOWN, GEN_SHFL_BFLY, GEN_SHFL_IDX, /* dst[0] r, dst[1] p; src[1] r,
	                                                * src[2] lanes, src[3] clamp */
	GEN_MATCH_ANY, GEN_MATCH_ALL,                 /* dst[0] r, dst[1] p (ALL); src[1]: r or d */
	GEN_REDUX_ADD, GEN_REDUX_MIN, GEN_REDUX_MAX, GEN_REDUX_UMIN, GEN_REDUX_UMAX,
	GEN_REDUX_AND, GEN_REDUX_OR, GEN_REDUX_XOR,   /* dst[0], src[1] */
	GEN_REDUX_FMIN, GEN_REDUX_FMAX,               /* of f32; odd form: .NaN */
	GEN_ELECT,                                    /* dst[0] r: how many are elected, 1 */
	GEN_WARPSYNC,
	GEN_WARPS
};

struct gen_inst {
	uint8_t kind;
	bool keep;           /* the program makes no sense without it */
	bool has_guard;
	bool guard_negated;
	uint8_t guard;
	uint8_t type;        /* enum gen_type */
	uint8_t count;       /* of vector elements, of targets */
	uint8_t form;        /* which of several ways to write it */
	uint16_t op;
	uint16_t label;
	uint16_t targets[8];
	struct gen_place place;
	struct gen_place from;
	struct gen_arg dst[4];
	struct gen_arg src[5];
};

/* The kernel, or a function with parameters r0 and d0 that returns r0 (d0 if `wide`): it computes,
 * calls functions as long as the lowest bits of r0 are not all zero, which it counts down, and
 * reaches no memory but constants and its own, and no other thread. */
struct gen_func {
	struct gen_inst *insts;
	size_t count;
	size_t room;
	unsigned labels;
	unsigned used[GEN_BANKS]; /* registers */
	bool wide;
};

/* What may be used, as bits. */
enum gen_feature {
	GEN_HAS_CUDA = 1,        /* what CUDA C can say, no more */
	GEN_HAS_VOTE = 2, GEN_HAS_SHFL = 4, GEN_HAS_MATCH = 8, GEN_HAS_REDUX = 16,
	GEN_HAS_CALL = 32,
	GEN_HAS_TRAPS = 64,      /* what ptxas compiles wrongly: gen.c */
	GEN_HAS_REDUX_F32 = 128,
	GEN_HAS_PTX = 254        /* all that PTX can say */
};

struct gen_program {
	uint64_t seed;
	unsigned features;
	uint32_t block[3];
	uint32_t grid[2];
	uint32_t param;           /* a parameter of the kernel */
	uint64_t input[GEN_INPUTS];
	uint64_t constants[GEN_CONSTANTS];
	struct gen_func funcs[GEN_FUNCS];
	size_t func_count;
	struct {                  /* instructions of the kernel that can go together */
		size_t from, to;
	} spans[512];
	size_t span_count;
};

/* Instructions that may be used: a flag for each row of gen_ops. */
struct gen_options {
	unsigned features;
	const bool *ops;
};

bool gen_create(struct gen_program *out, uint64_t seed, const struct gen_options *options);
void gen_free(struct gen_program *program);

/* Where the parts of the memory start that a kernel gets, in bytes. */
struct gen_layout {
	size_t threads;      /* of the grid */
	size_t block;        /* threads of a block */
	size_t own;          /* and `striped` after it */
	size_t striped;
	size_t registers; /* for each thread and bank a 64-bit hash of the visible registers, when
			   * the thread has come to its end */
	size_t cells;
	size_t lock;         /* the lock, and the word that it protects */
	size_t shared_cells; /* for each block */
	size_t size;
};
void gen_layout(struct gen_layout *out, const struct gen_program *program);
void gen_init_output(const struct gen_program *program, uint8_t *output);

/* What a kernel makes of its memory.  `backwards`: starting with the last thread each time, which
 * must make no difference.  A reason if it does not end, or gets stuck: then the generator is at
 * fault, or the program is not its work any more. */
const char *gen_run(const struct gen_program *program, uint8_t *output, bool backwards);

void gen_print_ptx(struct str *out, const struct gen_program *program);
void gen_print_cuda(struct str *out, const struct gen_program *program); /* GEN_HAS_CUDA */

/* Of a bank's registers: hash = hash * GEN_HASH + register, from 0, the first one first. */
#define GEN_HASH 0x100000001b3

/* splitmix64 */
uint64_t gen_random(uint64_t *state);

#endif
