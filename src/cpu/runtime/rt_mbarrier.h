/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_RT_MBARRIER_H
#define CPU_RUNTIME_RT_MBARRIER_H

/*
 * Barriers that live in shared memory (mbarrier), one operation at a time.  Shared memory belongs
 * to one worker and threads take turns, so nothing here is atomic.  The 64 bits, lowest first:
 *
 *	20  threads that must arrive in each phase
 *	20  of them still to come in this one
 *	22  bytes still to come, signed
 *	 1  not used
 *	 1  parity of the phase
 *
 * A phase is over when no thread and no byte is to come.  An arrival returns the old bits as its
 * state.
 */
#include "cpu/runtime/rt.h"

enum mbarrier_op {
	MBARRIER_INIT,        /* argument: threads; result 0 */
	MBARRIER_EXPECT,      /* bytes */
	MBARRIER_COMPLETE,    /* bytes */
	MBARRIER_ARRIVE,      /* threads; result: the state */
	MBARRIER_ARRIVE_TX,   /* bytes; one thread arrives */
	MBARRIER_DROP,        /* as ARRIVE; and not in later phases either */
	MBARRIER_DROP_TX,
	MBARRIER_TEST,        /* a state; result: whether its phase is over */
	MBARRIER_TEST_PARITY  /* a parity; whether the phase of that parity is over */
};

/* rt_calls.mbarrier. */
uint64_t mbarrier_do(struct rt_warp *warp, uint32_t op, uint32_t lane, uint64_t *place,
	uint64_t argument);
/* The number of threads to come, from a state. */
#define MBARRIER_PENDING_SHIFT 20
#define MBARRIER_COUNT_MASK 0xfffffu

#endif
