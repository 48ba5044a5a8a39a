/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_RT_ATOM_H
#define CPU_RUNTIME_RT_ATOM_H

/*
 * Atomic operations of a warp in C: see rt_calls.atom_lanes.  Each lane has an address and a value.
 * For a compare-and-swap the expected value stands before the value.  The old value replaces the
 * first of these.
 */
#include "cpu/runtime/rt.h"

enum rt_atom {
	RT_ATOM_ADD, RT_ATOM_AND, RT_ATOM_OR, RT_ATOM_XOR, RT_ATOM_UMIN, RT_ATOM_UMAX, RT_ATOM_SMIN,
	RT_ATOM_SMAX, RT_ATOM_EXCH, RT_ATOM_INC, RT_ATOM_DEC, RT_ATOM_CAS,
	RT_ATOM_FADD  /* f32, with subnormals as zeros unless in shared memory, or f64 */
};

void atom_lanes(struct rt_warp *warp, struct rt_lanes *arrays, uint32_t lanes, uint32_t size,
	uint32_t op, uint32_t unused);

#endif
