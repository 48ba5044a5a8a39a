/* SPDX-License-Identifier: MIT */
#ifndef BASE_CORES_H
#define BASE_CORES_H

#include "base/common.h"

#include <sched.h>

#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

/* Cores that this process may use. */
static inline unsigned cores_available(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return count > 0 ? (unsigned)count : 1;
}

/* The C library knows the answer already.  CPUID is slow in a virtual machine, and the builtins of
 * compilers run it in every process that loads the library. */
static inline bool cores_have_avx2(void)
{
#ifdef CPU_FEATURE_ACTIVE
	return CPU_FEATURE_ACTIVE(AVX2);
#else
	return false;
#endif
}

#endif
