/* SPDX-License-Identifier: MIT */

/*
 * The table of C functions that compiled kernels call, and the functions that have no file of their
 * own: the clock, copies of bytes, accesses lane by lane, and arithmetic.
 *
 * f64 arithmetic with directed rounding changes the rounding mode of the processor for one
 * operation.  The operands are volatile, so that the compiler does not move the operation across
 * that change.  On x86, fesetround() would also change the mode of the x87 unit, which takes many
 * times as long as the operation and which nothing here uses.
 */
#include "base/common.h"

#include "base/clock.h"
#include "cpu/runtime/rt_atom.h"
#include "cpu/runtime/rt_collect.h"
#include "cpu/runtime/rt_mbarrier.h"
#include "cpu/runtime/rt.h"

#include <fenv.h>
#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

static uint64_t rt_clock(struct rt_warp *warp)
{
	rt_watch(warp, RT_CLOCKS, 0);
	(void)warp;
	return clock_now_ns();
}

static double rt_compute(uint32_t op, volatile double a, volatile double b, volatile double c)
{
	volatile double result = 0;
	switch ((enum rt_op)op) {
	case RT_MUL:
		result = a * b;
		break;
	case RT_FMA:
		result = fma(a, b, c);
		break;
	case RT_DIV:
		result = a / b;
		break;
	case RT_SQRT:
		result = sqrt(a);
		break;
	}
	return result;
}

#if defined(__SSE2__)
static double rt_round_f64(struct rt_warp *warp, uint32_t op, uint32_t round, double a, double b,
	double c)
{
	static const unsigned modes[] = {
		[RT_ROUND_DOWN] = _MM_ROUND_DOWN,
		[RT_ROUND_UP] = _MM_ROUND_UP,
		[RT_ROUND_ZERO] = _MM_ROUND_TOWARD_ZERO,
	};
	const unsigned old = _mm_getcsr();

	(void)warp;
	_mm_setcsr((old & ~(unsigned)_MM_ROUND_MASK) | modes[round]);
	double result = rt_compute(op, a, b, c);
	_mm_setcsr(old);
	return result;
}
#else
static double rt_round_f64(struct rt_warp *warp, uint32_t op, uint32_t round, double a, double b,
	double c)
{
	static const int modes[] = {
		[RT_ROUND_DOWN] = FE_DOWNWARD,
		[RT_ROUND_UP] = FE_UPWARD,
		[RT_ROUND_ZERO] = FE_TOWARDZERO,
	};
	int old = fegetround();

	(void)warp;
	fesetround(modes[round]);
	double result = rt_compute(op, a, b, c);
	fesetround(old);
	return result;
}
#endif

/* Copy from the first byte to the last in pieces no larger than a guard, for the kernel chooses the
 * sizes. */
static void rt_copy(struct rt_warp *warp, void *to, const void *from, uint32_t size, uint32_t read)
{
	enum { PIECE = 4096 };
	uint32_t done = 0;
	(void)warp;
	read = read < size ? read : size;
	for (uint32_t piece; done < read; done += piece) {
		piece = read - done < PIECE ? read - done : PIECE;
		memmove((uint8_t *)to + done, (const uint8_t *)from + done, piece);
	}
	for (uint32_t piece; done < size; done += piece) {
		piece = size - done < PIECE ? size - done : PIECE;
		memset((uint8_t *)to + done, 0, piece);
	}
}

/* Accesses of kernels.  The thread sanitizer cannot see how kernels order them. */
#define OF_KERNELS __attribute__((no_sanitize("thread")))

OF_KERNELS static always_inline void rt_move_lane(struct rt_warp *warp, struct rt_lanes *arrays,
	uint32_t lane, size_t size, uint32_t count, bool store)
{
	uint8_t *memory = (uint8_t *)(uintptr_t)arrays->at[lane];
	warp->lane = lane;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *value = (uint8_t *)arrays->values[i] + lane * size;
		memcpy(store ? memory + i * size : value, store ? value : memory + i * size, size);
	}
}

/* Inlined with a constant size, so that an element is one access, and with constants for the most
 * frequent cases. */
OF_KERNELS static always_inline void rt_move_each_lane(struct rt_warp *warp,
	struct rt_lanes *arrays, uint32_t lanes, size_t size, uint32_t count, bool store)
{
	if (lanes == UINT32_MAX) {
		for (uint32_t lane = 0; lane < RT_MAX_WIDTH; lane++) {
			rt_move_lane(warp, arrays, lane, size, count, store);
		}
		return;
	}
	for (; lanes != 0; lanes &= lanes - 1) {
		rt_move_lane(warp, arrays, (uint32_t)__builtin_ctz(lanes), size, count, store);
	}
}

OF_KERNELS static always_inline void rt_move_elements(struct rt_warp *warp, struct rt_lanes *arrays,
	uint32_t lanes, size_t size, uint32_t count, bool store)
{
	if (count == 1 && store) {
		rt_move_each_lane(warp, arrays, lanes, size, 1, true);
	} else if (count == 1) {
		rt_move_each_lane(warp, arrays, lanes, size, 1, false);
	} else {
		rt_move_each_lane(warp, arrays, lanes, size, count, store);
	}
}

OF_KERNELS static void rt_move_lanes(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
	uint32_t size, uint32_t count, uint32_t store)
{
	switch (size) {
	case 1:
		rt_move_elements(warp, arrays, lanes, 1, count, store);
		break;
	case 2:
		rt_move_elements(warp, arrays, lanes, 2, count, store);
		break;
	case 4:
		rt_move_elements(warp, arrays, lanes, 4, count, store);
		break;
	default:
		rt_move_elements(warp, arrays, lanes, 8, count, store);
		break;
	}
	warp->lane = RT_GROUP; /* no lane has done what follows by itself */
}

const struct rt_calls rt_calls = {
	.clock = rt_clock,
	.round_f64 = rt_round_f64,
	.collect = collect_arrive,
	.texture = rt_texture,
	.surface = rt_surface,
	.query = rt_query,
	.fail = rt_fail_code,
	.print = rt_print,
	.assert_fail = rt_assert_fail,
	.malloc = rt_malloc,
	.free = rt_free,
	.copy = rt_copy,
	.move_lanes = rt_move_lanes,
	.mbarrier = mbarrier_do,
	.atom_lanes = atom_lanes,
	.set_condition = rt_set_condition,
	.check = rt_check,
	.count_lines = rt_count_lines,
	.watch = rt_watch,
	.count_cost = rt_count_cost,
	.made = rt_made,
	.blame = rt_blame,
};
