/* SPDX-License-Identifier: MIT */
#ifndef CPU_JIT_JIT_H
#define CPU_JIT_JIT_H

/*
 * PTX functions to machine code.  One jit per loaded module; kernels are compiled one at a time,
 * when they are first asked for, if the cache on disk does not have them.  The ptx_module must
 * outlive the jit.  Not thread-safe: the caller holds the module's lock.
 */
#include "cpu/ptx/ptx.h"
#include "cpu/runtime/rt.h"
#include "cpu/ir/block_class.h"

struct jit;

/* A kernel that can run. */
struct jit_kernel {
	rt_kernel *run;
	uint32_t width;        /* lanes per call: W; 1 if the kernel is huge */
	size_t frame_size;     /* bytes that each warp keeps between calls; 0 if it never yields */
	bool is_straight;      /* it ends after as many instructions as it has */
	bool in_order;         /* its blocks may wait for others */
	bool is_quick;         /* it is so big that LLVM was in a hurry: slower code */
	bool is_traced;        /* it tells of each access, see emit_trace.c */
	bool is_cached;          /* the cache had it: nothing was compiled */
	size_t code_size;      /* bytes of machine code, 0 if unknown */
	double emit_ms;        /* time spent: IR and passes, */
	double compile_ms;     /* code generation, */
	double load_ms;        /* and, if is_cached, all that it took */
};

bool jit_create(struct jit **out, struct ptx_module *module, struct ptx_diag *diag);
/* A function as flatten.c leaves it, or lowered and cut into blocks, for blocks of a class
 * (block_class.h).  BLOCK_CLASS_ANY serves all blocks, slowly.  Code that runs one lane per call
 * serves all blocks, too.  False, with the reason in diag, when LLVM cannot do it. */
bool jit_compile(struct jit_kernel *out, struct jit *jit, struct ptx_func *func, unsigned class,
	struct ptx_diag *diag);
void jit_release(struct jit *jit); /* NULL is fine; its kernels are gone */

/* "19.1.7", static; NULL, with the reason in diag, if LLVM's part cannot be loaded. */
const char *jit_llvm_version(struct ptx_diag *diag);

/* Tests: objects that LLVM has made in this process. */
unsigned long jit_made_count(void);
/* Tests: compile for a processor with these features, "+avx2,-fma"; NULL: those of this one. */
void jit_fake_features(const char *features);

#endif
