/* SPDX-License-Identifier: MIT */

/*
 * Atomic operations of a warp, lane after lane.
 *
 * Only one worker accesses the shared memory of a block, so a load, an operation and a store are
 * atomic there.  Elsewhere an operation is one of the processor, or a loop around a
 * compare-and-swap.  Many lanes often add to one float.  The order of these additions matters, so
 * they are done in the order of lanes, and the sum is written once.
 *
 * Values have 64 bits whatever their size.  The functions are inlined for each operation and size.
 */
#include "base/common.h"

#include "cpu/runtime/rt_atom.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Accesses of kernels.  The sanitizers cannot see how kernels order them, nor that addresses need
 * not be aligned. */
#define OF_KERNELS __attribute__((no_sanitize("thread"))) __attribute__((no_sanitize("alignment")))

static always_inline int64_t rt_atom_signed(uint64_t value, size_t size)
{
	return size == 4 ? (int32_t)value : (int64_t)value;
}

static always_inline float rt_atom_flush(float value)
{
	return unlikely(fabsf(value) < FLT_MIN) ? copysignf(0, value) : value;
}

static always_inline uint32_t rt_atom_add_f32(uint32_t a_bits, uint32_t b_bits, bool flushes)
{
	float a, b;
	memcpy(&a, &a_bits, sizeof(a));
	memcpy(&b, &b_bits, sizeof(b));
	a = flushes ? rt_atom_flush(rt_atom_flush(a) + rt_atom_flush(b)) : a + b;
	memcpy(&a_bits, &a, sizeof(a));
	return a_bits;
}

static always_inline uint64_t rt_atom_add_f64(uint64_t a_bits, uint64_t b_bits)
{
	double a, b;
	memcpy(&a, &a_bits, sizeof(a));
	memcpy(&b, &b_bits, sizeof(b));
	a += b;
	memcpy(&a_bits, &a, sizeof(a));
	return a_bits;
}

/* The value that an operation leaves in memory. */
static always_inline uint64_t rt_atom_apply(enum rt_atom op, size_t size, bool shared, uint64_t old,
	uint64_t value, uint64_t expected)
{
	switch (op) {
	case RT_ATOM_ADD:
		return old + value;
	case RT_ATOM_AND:
		return old & value;
	case RT_ATOM_OR:
		return old | value;
	case RT_ATOM_XOR:
		return old ^ value;
	case RT_ATOM_UMIN:
		return old < value ? old : value;
	case RT_ATOM_UMAX:
		return old > value ? old : value;
	case RT_ATOM_SMIN:
		return rt_atom_signed(old, size) < rt_atom_signed(value, size) ? old : value;
	case RT_ATOM_SMAX:
		return rt_atom_signed(old, size) > rt_atom_signed(value, size) ? old : value;
	case RT_ATOM_INC:
		return old >= value ? 0 : old + 1;
	case RT_ATOM_DEC:
		return old == 0 || old > value ? value : old - 1;
	case RT_ATOM_CAS:
		return old == expected ? value : old;
	case RT_ATOM_FADD:
		return size == 4 ? rt_atom_add_f32((uint32_t)old, (uint32_t)value, !shared)
			: rt_atom_add_f64(old, value);
	default:
		return value;
	}
}

static always_inline uint64_t rt_atom_load(const void *place, size_t size)
{
	uint64_t value = 0;
	memcpy(&value, place, size);
	return value;
}

static always_inline void rt_atom_store(void *place, size_t size, uint64_t value)
{
	memcpy(place, &value, size);
}

OF_KERNELS static always_inline uint64_t rt_atom_load_whole(void *place, size_t size)
{
	return size == 4 ? __atomic_load_n((uint32_t *)place, __ATOMIC_RELAXED)
		: __atomic_load_n((uint64_t *)place, __ATOMIC_RELAXED);
}

/* Compare-and-swap.  On failure *expected becomes the value in memory. */
OF_KERNELS static always_inline bool rt_atom_swap(void *place, size_t size, uint64_t *expected,
	uint64_t value)
{
	if (size == 8) {
		return __atomic_compare_exchange_n((uint64_t *)place, expected, value, false,
			__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	}
	uint32_t word = (uint32_t)*expected;
	bool done = __atomic_compare_exchange_n((uint32_t *)place, &word, (uint32_t)value, false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	*expected = word;
	return done;
}

/* In memory that other threads write, too.  Returns the old value. */
OF_KERNELS static always_inline uint64_t rt_atom_update(enum rt_atom op, void *place, size_t size,
	uint64_t value, uint64_t expected)
{
	if (op == RT_ATOM_ADD) {
		return size == 4
			? __atomic_fetch_add((uint32_t *)place, (uint32_t)value, __ATOMIC_SEQ_CST)
			: __atomic_fetch_add((uint64_t *)place, value, __ATOMIC_SEQ_CST);
	}
	if (op == RT_ATOM_EXCH) {
		return size == 4
			? __atomic_exchange_n((uint32_t *)place, (uint32_t)value, __ATOMIC_SEQ_CST)
			: __atomic_exchange_n((uint64_t *)place, value, __ATOMIC_SEQ_CST);
	}
	if (op == RT_ATOM_CAS) {
		rt_atom_swap(place, size, &expected, value);
		return expected;
	}
	uint64_t old = rt_atom_load_whole(place, size);
	while (!rt_atom_swap(place, size, &old, rt_atom_apply(op, size, false, old, value, 0))) {
	}
	return old;
}

static always_inline bool rt_atom_is_shared(const struct rt_warp *warp, uint64_t at)
{
	return at - (uintptr_t)warp->shared < RT_SHARED_WINDOW;
}

/* The value of a lane in an array. */
static always_inline uint8_t *rt_atom_value(struct rt_lanes *arrays, unsigned part, uint32_t lane,
	size_t size)
{
	return (uint8_t *)arrays->values[part] + lane * size;
}

OF_KERNELS static always_inline void rt_atom_each(struct rt_warp *warp, struct rt_lanes *arrays,
	uint32_t lanes, size_t size, enum rt_atom op)
{
	for (; lanes != 0; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		uint64_t at = arrays->at[lane];
		uint64_t expected = rt_atom_load(rt_atom_value(arrays, 0, lane, size), size);
		uint64_t value = op == RT_ATOM_CAS
			? rt_atom_load(rt_atom_value(arrays, 1, lane, size), size) : expected;
		void *place = (void *)(uintptr_t)at;
		uint64_t old;
		warp->lane = lane;
		if (rt_atom_is_shared(warp, at)) {
			old = rt_atom_load(place, size);
			rt_atom_store(place, size,
				rt_atom_apply(op, size, true, old, value, expected));
		} else {
			old = rt_atom_update(op, place, size, value, expected);
		}
		rt_atom_store(rt_atom_value(arrays, 0, lane, size), size, old);
	}
}

static bool rt_atom_is_one_place(const struct rt_lanes *arrays, uint32_t lanes)
{
	uint64_t first = arrays->at[__builtin_ctz(lanes)];
	uint64_t differ = 0;
	for (uint32_t lane = 0; lane < RT_MAX_WIDTH; lane++) {
		differ |= lanes >> lane & 1 ? arrays->at[lane] ^ first : 0;
	}
	return differ == 0;
}

/* Add the values of all lanes to `sum`.  The value that each lane finds goes to `found`. */
static always_inline uint64_t rt_atom_sum_up(struct rt_lanes *arrays, uint64_t *found,
	uint32_t lanes, size_t size, uint64_t sum)
{
	for (; lanes != 0; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		found[lane] = sum;
		sum = rt_atom_apply(RT_ATOM_FADD, size, false, sum,
			rt_atom_load(rt_atom_value(arrays, 0, lane, size), size), 0);
	}
	return sum;
}

/* All lanes add to one float outside of shared memory. */
static always_inline void rt_atom_add_to_one(struct rt_warp *warp, struct rt_lanes *arrays,
	uint32_t lanes, size_t size)
{
	uint64_t found[RT_MAX_WIDTH];
	warp->lane = (uint32_t)__builtin_ctz(lanes);
	void *place = (void *)(uintptr_t)arrays->at[warp->lane];
	uint64_t old = rt_atom_load_whole(place, size);
	while (!rt_atom_swap(place, size, &old, rt_atom_sum_up(arrays, found, lanes, size, old))) {
	}
	for (; lanes != 0; lanes &= lanes - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(lanes);
		rt_atom_store(rt_atom_value(arrays, 0, lane, size), size, found[lane]);
	}
}

OF_KERNELS static always_inline void rt_atom_add_floats(struct rt_warp *warp,
	struct rt_lanes *arrays, uint32_t lanes, size_t size)
{
	if (lanes != 0 && rt_atom_is_one_place(arrays, lanes)
	    && !rt_atom_is_shared(warp, arrays->at[__builtin_ctz(lanes)])) {
		rt_atom_add_to_one(warp, arrays, lanes, size);
	} else {
		rt_atom_each(warp, arrays, lanes, size, RT_ATOM_FADD);
	}
}

OF_KERNELS static always_inline void rt_atom_run(struct rt_warp *warp, struct rt_lanes *arrays,
	uint32_t lanes, size_t size, enum rt_atom op)
{
	switch (op) {
#define CASE(which) \
	case which: \
		rt_atom_each(warp, arrays, lanes, size, which); \
		break;
	CASE(RT_ATOM_ADD)
	CASE(RT_ATOM_AND)
	CASE(RT_ATOM_OR)
	CASE(RT_ATOM_XOR)
	CASE(RT_ATOM_UMIN)
	CASE(RT_ATOM_UMAX)
	CASE(RT_ATOM_SMIN)
	CASE(RT_ATOM_SMAX)
	CASE(RT_ATOM_EXCH)
	CASE(RT_ATOM_INC)
	CASE(RT_ATOM_DEC)
	CASE(RT_ATOM_CAS)
#undef CASE
	case RT_ATOM_FADD:
		rt_atom_add_floats(warp, arrays, lanes, size);
		break;
	}
}

OF_KERNELS void atom_lanes(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes,
	uint32_t size, uint32_t op, uint32_t unused)
{
	(void)unused;
	if (size == 4) {
		rt_atom_run(warp, arrays, lanes, 4, (enum rt_atom)op);
	} else {
		rt_atom_run(warp, arrays, lanes, 8, (enum rt_atom)op);
	}
	warp->lane = RT_GROUP;
}
