/* SPDX-License-Identifier: MIT */
#ifndef CPU_JIT_JIT_H
#define CPU_JIT_JIT_H

/*
 * PTX functions to machine code.  One jit per loaded module; kernels are compiled one at a time,
 * when they are first asked for, if the cache on disk does not have them.  The ptx_module must
 * outlive the jit.  Not thread-safe: the caller holds the module's lock.
 */
#include "cpu/profile/profile.h"
#include "cpu/ptx/ptx.h"
#include "cpu/runtime/rt.h"
#include "cpu/ir/block_class.h"

#include <stdatomic.h>

struct jit;

/*
 * A kernel whose best code takes long to compile is compiled twice: first for one lane per call,
 * which takes a tenth to a half of the time, and then as well as we can.  Both give the same
 * results.
 */
enum jit_tier {
	JIT_TIER_START = 0, /* to ask for: whichever of the two a kernel shall start with */
	JIT_TIER_FIRST = 1,
	JIT_TIER_BEST = 2
};

/* A kernel that can run. */
struct jit_kernel {
	rt_kernel *run;
	uint32_t width;        /* lanes per call: W; 1 if the kernel is huge */
	enum jit_tier tier;    /* JIT_TIER_FIRST: better code is possible */
	size_t frame_size;     /* bytes that each warp keeps between calls; 0 if it never yields */
	bool is_straight;      /* it ends after as many instructions as it has */
	bool in_order;         /* its blocks may wait for others */
	bool is_checked;       /* it calls what needs rt_launch.check */
	bool is_scheduled;     /* its threads run in a random order */
	bool is_cached;          /* the cache had it: nothing was compiled */
	struct profile_code *profile; /* NULL: there is none */
	size_t code_size;      /* bytes of machine code, 0 if unknown */
	double emit_ms;        /* time spent: IR and passes, */
	double compile_ms;     /* code generation, */
	double load_ms;        /* and, if is_cached, all that it took */
};

/* What runs a kernel now: better code may take its place while a launch runs. */
struct jit_code {
	_Atomic(const struct jit_kernel *) kernel;
};

static inline const struct jit_kernel *jit_code_get(const struct jit_code *code)
{
	return atomic_load_explicit(&code->kernel, memory_order_acquire);
}

static inline void jit_code_set(struct jit_code *code, const struct jit_kernel *kernel)
{
	atomic_store_explicit(&code->kernel, kernel, memory_order_release);
}

bool jit_create(struct jit **out, struct ptx_module *module, struct ptx_diag *diag);
/* Whether kernels ask before their accesses only because there are several devices, so that code
 * that does not ask is good for a launch that may access all memory; and have a jit make it. */
bool jit_may_leave_checks(void);
void jit_leave_checks(struct jit *jit);
/* The tier to ask for before a kernel's first launch, unless the user fixes one: JIT_TIER_START, or
 * JIT_TIER_FIRST where the class that its blocks will have is a guess. */
enum jit_tier jit_start_tier(bool is_guess);
/* A function as flatten.c leaves it, or lowered and cut into blocks, for blocks of a class
 * (block_class.h).  BLOCK_CLASS_ANY serves all blocks, slowly.  Code that runs one lane per call
 * serves all blocks, too.  False, with the reason in diag, when LLVM cannot do it. */
bool jit_compile(struct jit_kernel *out, struct jit *jit, struct ptx_func *func, unsigned class,
	enum jit_tier tier, struct ptx_diag *diag);
/* The best code, if it is in the cache. */
bool jit_find_best(struct jit_kernel *out, struct jit *jit, struct ptx_func *func, unsigned class);
/* Whether better code than this shall be compiled in the background. */
bool jit_may_improve(const struct jit_kernel *kernel);
/* Nothing more will be compiled: gives back what LLVM holds. */
void jit_finish(struct jit *jit);
void jit_release(struct jit *jit); /* NULL is fine; its kernels are gone */

/* Load LLVM, and where exit() destroys its static objects, have it make them.  False, with the
 * reason in diag. */
bool jit_start(struct ptx_diag *diag);
/* "19.1.7", static; NULL, with the reason in diag, if LLVM's part cannot be loaded. */
const char *jit_llvm_version(struct ptx_diag *diag);

/* Tests: objects that LLVM has made in this process. */
unsigned long jit_made_count(void);
/* Tests: compile for a processor with these features, "+avx2,-fma"; NULL: the features of this
 * one. */
void jit_fake_features(const char *features);

#endif
