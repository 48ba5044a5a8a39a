/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_JIT_LLVM_H
#define CPU_CODEGEN_JIT_LLVM_H

/*
 * LLVM's part of jit.c.  It is a library of its own, libkudzu-cpu-llvm.so, because to load LLVM
 * takes longer than to load a kernel from the cache.  jit/jit_open.c opens it when the first kernel
 * has to be compiled.  The tests have it linked in.  The library exports one name, the table
 * jit_llvm_calls.
 */
#include "base/clock.h"
#include "cpu/ptx/ptx.h"

static inline double jit_now_ms(void)
{
	return 1e-6 * (double)clock_now_ns();
}

/* The state with which the kernels of one PTX module are compiled.  Not thread-safe. */
struct jit_llvm;

/* How to compile a kernel that is lowered and has basic blocks. */
struct jit_order {
	const struct ptx_module *module;
	const struct ptx_func *func;
	const char *symbol;    /* the function's name in the object */
	uint32_t width;        /* lanes per call */
	size_t limit;          /* JIT_TOO_BIG if the IR weighs more; 0: it may weigh anything */
	unsigned class;        /* of blocks, see block_class.h */
	bool has_loop;
	bool is_vector;        /* make vectors of iterations */
	bool is_quick;         /* code soon, rather than good code */
	bool is_tangled;       /* no pass that looks at all edges */
	unsigned checks;       /* that it makes, a set */
	bool asks;             /* it asks before its accesses: see emit_check.c */
	bool is_debugged;      /* a debugger shall see its lines and variables: see emit_debug.c */
	bool counts;           /* for a profile: see ir/counters.h */
	bool has_lines;        /* which line of PTX made which code, for a profile */
	uint64_t left_out;     /* passes: see config/passes.h */
};

struct jit_object {
	const void *data;      /* an object file */
	size_t size;
	void *owner;           /* what holds it */
	size_t frame_size;
	size_t weight;         /* of the IR before its passes, also if that is too much: how many
	                          operations of the processor it becomes at least */
	double emit_ms;        /* IR and passes */
	double compile_ms;     /* code generation */
};

enum jit_outcome {
	JIT_MADE,
	JIT_FAILED,            /* diag says why; */
	JIT_TOO_BIG,           /* it says nothing: more IR than the limit, */
	JIT_TOO_DEEP           /* or the code would need too much stack */
};

/* The functions that LLVM calls by name where the processor has no instruction.  They are a table,
 * because the dynamic linker does not find libm if a program has loaded us with RTLD_LOCAL. */
#define JIT_CALLEE_COUNT 15
struct jit_callee {
	const char *name;
	void (*address)(void);
};

struct jit_llvm_calls {
	const char *version;   /* "19.1.7" */
	/* Of this processor, as LLVM spells them, "+avx2,-fma"; static, NULL: no memory. */
	const char *(*host_features)(void);
	/* `callees`, JIT_CALLEE_COUNT of them, are borrowed. */
	bool (*create)(struct jit_llvm **out, const char *features,
		const struct jit_callee *callees, struct ptx_diag *diag);
	void (*release)(struct jit_llvm *llvm);
	/* Whether LLVM's static objects outlive exit() ... */
	bool (*stays)(void);
	/* ... else have LLVM make them. */
	bool (*start)(struct jit_llvm *llvm, struct ptx_diag *diag);
	enum jit_outcome (*make)(struct jit_object *out, struct jit_llvm *llvm,
		const struct jit_order *order, struct ptx_diag *diag);
	void (*free_object)(struct jit_object *object);
	/* LLVM's own linker: the address of a function in an object that code.c does not load. */
	bool (*link)(uintptr_t *out, struct jit_llvm *llvm, const void *object, size_t size,
		const char *symbol, struct ptx_diag *diag);
	/* An address in LLVM, to find its file. */
	const void *address;
};
extern const struct jit_llvm_calls jit_llvm_calls;

/* Bytes of stack that compiled code may use, for it also runs on threads of the program. */
#define JIT_MOST_STACK "1000000"

#endif
