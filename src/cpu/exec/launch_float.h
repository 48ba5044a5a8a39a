/* SPDX-License-Identifier: MIT */
#ifndef CPU_EXEC_LAUNCH_FLOAT_H
#define CPU_EXEC_LAUNCH_FLOAT_H

/* Compiled code expects the floating-point state that a program starts with; the caller's thread
 * may have another (rounding, flush to zero). */
#if defined(__SSE__)
#include <xmmintrin.h>

typedef unsigned float_state;

/* Apart from the flags of what has happened so far, which nothing depends on. */
#define FLOAT_STATE_SET 0xffc0u

static inline float_state float_state_reset(void)
{
	const unsigned plain = 0x1f80; /* to nearest, no flushing, no traps */
	float_state old = _mm_getcsr();
	if ((old & FLOAT_STATE_SET) != plain) {
		_mm_setcsr(plain);
	}
	return old;
}

static inline void float_state_restore(float_state old)
{
	_mm_setcsr(old);
}
#else
#include <fenv.h>

typedef fenv_t float_state;

static inline float_state float_state_reset(void)
{
	float_state old;
	fegetenv(&old);
	fesetenv(FE_DFL_ENV);
	return old;
}

static inline void float_state_restore(float_state old)
{
	fesetenv(&old);
}
#endif

#endif
