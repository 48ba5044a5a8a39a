/* SPDX-License-Identifier: MIT */
#ifndef MACHINE_H
#define MACHINE_H

/*
 * Compile PTX text and call its kernels as the scheduler does, with a launch and warps made by
 * hand.  There is one machine; a test opens and closes it.
 */
#include "cpu/jit/jit.h"

#include <stdio.h>

#define HEAD ".version 8.0\n.target sm_89\n.address_size 64\n"

/* One loaded module, and the launch that its kernels are called with. */
struct machine {
	struct ptx_module module;
	struct ptx_diag diag;
	struct jit *jit;
	struct jit_kernel kernel;
	uint64_t params[8];
	uint32_t tid[3][64 + RT_GROUP];
	uint8_t *globals[4];
	uint64_t memory[16]; /* what kernels get as their parameter */
	uint64_t local[16];
	_Alignas(64) uint64_t frame[64][2048];
	struct rt_launch launch;
	struct rt_warp warp;
	struct rt_exchange exchange[2];
	struct rt_fail fail;
	uint64_t shared[16]; /* last: what follows it counts as shared memory */
};

extern struct machine machine;

void machine_open(const char *text);
void machine_close(void);
void machine_compile(const char *name);
uint32_t machine_resume(uint32_t thread, uint32_t point);
/* Run that many threads of the kernel to their end; its parameter is this memory. */
void machine_run(uint32_t threads, void *memory, size_t size);
/* Open a module with one kernel `k` of the given body, whose parameter is a pointer in %rd0. */
static inline void machine_body(const char *declarations, const char *body)
{
	static char text[4096];
	snprintf(text, sizeof(text), HEAD "%s\n.visible .entry k(.param .u64 p)\n{\n"
		".reg .pred %%p<9>; .reg .b32 %%r<30>; .reg .b64 %%rd<30>; .reg .f32 %%f<30>;\n"
		".reg .b16 %%h<9>; .reg .f64 %%fd<9>;\n"
		"ld.param.u64 %%rd0, [p];\n%s\nret;\n}\n", declarations, body);
	machine_open(text);
	machine_compile("k");
}

/* Run the body once, in one thread that never yields; its memory is machine.memory. */
static inline void machine_once(const char *declarations, const char *body)
{
	machine_body(declarations, body);
	machine_run(1, machine.memory, sizeof(machine.memory));
}

#endif
