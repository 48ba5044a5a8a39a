/* SPDX-License-Identifier: MIT */
#ifndef BASE_CHECKS_H
#define BASE_CHECKS_H

/*
 * The checks of kernels that KUDZU_CHECK names: a row for each, X(SYMBOL, "name").  A set of checks
 * has a bit for each.
 */
#define CHECKS(X) \
	X(MEMORY, "memory") /* accesses outside of allocations and variables, misaligned ones */ \
	X(INIT, "init")     /* uses of memory that nothing has written */ \
	X(RACE, "race")     /* two accesses, one of them a write, that nothing orders */ \
	X(SYNC, "sync")     /* barriers, masks and copies that threads use wrongly */ \
	X(NAN, "nan")       /* instructions that make NaN or an infinity of finite operands */ \
	X(INT, "int")       /* integers that do not fit, divisions by zero, oversized shifts */ \
	X(COALESCE, "coalesce") /* accesses of a warp to more of global memory than it needs */ \
	X(BANK, "bank")     /* accesses of a warp to different words of a bank of shared memory */

enum check {
#define X(symbol, name) CHECK_##symbol,
	CHECKS(X)
#undef X
	CHECK_COUNT
};

static inline const char *check_name(enum check check)
{
	static const char *const names[] = {
#define X(symbol, name) name,
		CHECKS(X)
#undef X
	};
	return names[check];
}

static inline unsigned check_bit(enum check check)
{
	return 1u << check;
}

/* The value of each word of memory to which nothing was written, if CHECK_INIT is on: a quiet NaN,
 * also as the upper half of a double. */
#define CHECK_UNWRITTEN UINT32_C(0x7ffbad5b)

/* The blame of a value is the PTX line of the instruction that made it wrong, or 0 if nothing is
 * wrong.  With this bit it is for CHECK_INT, else for CHECK_NAN. */
#define CHECK_BLAME_INT UINT32_C(0x80000000)

/* What `all` means: bugs.  The other checks are on if they are named. */
#define CHECK_ALL ((1u << CHECK_NAN) - 1)
#define CHECK_OF_VALUES (1u << CHECK_NAN | 1u << CHECK_INT)
#define CHECK_OF_COSTS (1u << CHECK_COALESCE | 1u << CHECK_BANK)
#define CHECK_ANY ((1u << CHECK_COUNT) - 1)

#endif
