/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_WAIT_H
#define TESTS_API_WAIT_H

/* Kernels that wait for the host and for each other, and words that both can see. */
#include "api.h"

#include <sched.h>
#include <stdatomic.h>

CUresult cuStreamGetId(CUstream stream, unsigned long long *out);
CUresult cuStreamGetDevice(CUstream stream, CUdevice *out);

/* meet: set a word and wait until another one is set.  nap: sleep until a word is set.  add: to a
 * word.  never: count by twos until there is an odd number.  fail: a wild access. */
static const char wait_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry meet(.param .u64 mine, .param .u64 other, .param .u32 value)\n"
	"{\n"
	"	.reg .b32 %r<4>;\n"
	"	.reg .b64 %rd<3>;\n"
	"	.reg .pred %p<2>;\n"
	"	ld.param.u64 %rd1, [mine];\n"
	"	ld.param.u64 %rd2, [other];\n"
	"	ld.param.u32 %r1, [value];\n"
	"	st.volatile.u32 [%rd1], %r1;\n"
	"LOOP:\n"
	"	ld.volatile.u32 %r2, [%rd2];\n"
	"	setp.ne.u32 %p1, %r2, %r1;\n"
	"	@%p1 bra LOOP;\n"
	"	ret;\n"
	"}\n"
	".visible .entry nap(.param .u64 word)\n"
	"{\n"
	"	.reg .b32 %r<2>;\n"
	"	.reg .b64 %rd<2>;\n"
	"	.reg .pred %p<2>;\n"
	"	ld.param.u64 %rd1, [word];\n"
	"LOOP:\n"
	"	nanosleep.u32 100;\n"
	"	ld.u32 %r1, [%rd1];\n"
	"	setp.eq.u32 %p1, %r1, 0;\n"
	"	@%p1 bra LOOP;\n"
	"	ret;\n"
	"}\n"
	".visible .entry add(.param .u64 where, .param .u32 value)\n"
	"{\n"
	"	.reg .b32 %r<4>;\n"
	"	.reg .b64 %rd<3>;\n"
	"	ld.param.u64 %rd1, [where];\n"
	"	ld.param.u32 %r1, [value];\n"
	"	ld.u32 %r2, [%rd1];\n"
	"	add.u32 %r2, %r2, %r1;\n"
	"	st.u32 [%rd1], %r2;\n"
	"	ret;\n"
	"}\n"
	".visible .entry never(.param .u32 value)\n"
	"{\n"
	"	.reg .b32 %r<3>;\n"
	"	.reg .pred %p<2>;\n"
	"	ld.param.u32 %r1, [value];\n"
	"	mov.u32 %r2, 0;\n"
	"LOOP:\n"
	"	add.u32 %r2, %r2, 2;\n"
	"	setp.ne.u32 %p1, %r2, %r1;\n"
	"	@%p1 bra LOOP;\n"
	"	ret;\n"
	"}\n"
	".visible .entry fail()\n"
	"{\n"
	"	.reg .b64 %rd<2>;\n"
	"	mov.u64 %rd1, 16;\n"
	"	st.u32 [%rd1], 1;\n"
	"	ret;\n"
	"}\n";

static CUmodule wait_module;
static _Atomic uint32_t *words; /* pinned, all 0 */

static inline void wait_setup(void)
{
	setup();
	OK(cuModuleLoadData(&wait_module, wait_ptx));
	OK(cuMemHostAlloc((void **)&words, 4096, 0));
	memset((void *)words, 0, 4096);
}

static inline CUresult launch_one(const char *name, CUstream stream, void **values)
{
	return cuLaunchKernel(kernel(wait_module, name), 1, 1, 1, 1, 1, 1, 0, stream, values, NULL);
}

/* A kernel that sets words[mine] to 1 and waits for words[other] to become 1. */
static inline void launch_meet(CUstream stream, int mine, int other)
{
	CUdeviceptr a = (uintptr_t)&words[mine];
	CUdeviceptr b = (uintptr_t)&words[other];
	uint32_t one = 1;
	void *values[] = {&a, &b, &one};
	OK(launch_one("meet", stream, values));
}

static inline CUresult launch_plus(CUstream stream, CUdeviceptr where, uint32_t value)
{
	void *values[] = {&where, &value};
	return launch_one("add", stream, values);
}

/* A kernel that never ends: without looking at memory, or else at words[1]. */
static inline void launch_never(CUstream stream, bool looks)
{
	uint32_t odd = 1;
	void *values[] = {&odd};
	if (looks) {
		launch_meet(stream, 0, 1);
	} else {
		OK(launch_one("never", stream, values));
	}
}

/* Wait until somebody has set a word; the test's time limit is the only one. */
static inline void await(int index)
{
	while (atomic_load(&words[index]) == 0) {
		sched_yield();
	}
}

static inline CUstream new_stream(unsigned flags)
{
	CUstream stream = NULL;
	OK(cuStreamCreate(&stream, flags));
	return stream;
}

static inline CUevent new_event(unsigned flags)
{
	CUevent event = NULL;
	OK(cuEventCreate(&event, flags));
	return event;
}

#endif
