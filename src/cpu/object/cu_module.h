/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_CU_MODULE_H
#define CPU_OBJECT_CU_MODULE_H

/*
 * Modules and their kernels.  cu_module.c loads a module, function.c has its kernels: from a name
 * or a place to a function that is compiled for the blocks that it is launched with.
 */
#include "cpu/jit/jit.h"
#include "cpu/object/background.h"
#include "cpu/object/cu_object.h"
#include "cpu/ptx/ptx.h"
#include "base/cuda_abi.h"

#include <pthread.h>
#include <stdatomic.h>

struct device_memory;
struct jit_options;
struct library;

struct module {
	struct object object;
	pthread_mutex_t lock;       /* of the jit and the parser */
	struct ptx_module ptx;
	struct jit *jit;
	uint32_t max_registers;     /* that its kernels say they have; 0: no limit */
	bool shares_managed;        /* its managed variables are the library's, which frees them */
	uint64_t memory;            /* of its other variables, 0 if it has none */
	uint8_t **globals;          /* by ptx_module.vars; of a plan the managed ones, once made */
	struct ptx_func **kernels;  /* by place: in the order of the text */
	struct function **functions; /* of them; NULL: not parsed yet, which the lock is for, too */
	size_t function_count;
	struct module *plan;        /* the library's plan, with the same places; NULL: no library */
	atomic_size_t read_size;    /* bytes of what was read, but for the variables, */
	atomic_size_t code_size;    /* and of machine code */
	size_t compiled_count;      /* functions that are compiled */
	char *text;                 /* if kernels are parsed later, or ask; else NULL */
	struct library *library;    /* whose kernels these are, without a context */
};

/* What the launches of CUDA 3 use, set one by one; the lock is the module's. */
struct old_launch {
	uint32_t block[3];
	uint32_t shared_size;
	size_t param_size;
	uint8_t *params;            /* NULL until one is set, then of the greatest size */
};

/* A kernel compiled for the blocks of one class; NULL after the last. */
struct variant {
	struct jit_code code;       /* the kernel below; before that is there, the function's first
	                               code */
	struct jit_kernel kernel;
	struct background_job job;  /* to compile it in the background, */
	struct jit *jit;            /* with a jit of its own; NULL: it is the module's */
	atomic_bool is_settled;     /* better code was asked for, or there shall be none */
	struct function *function;
	unsigned class;
	const struct jit_code *checked; /* what this code, which asks nothing, runs in the place of;
	                                   NULL: it is one of function.variants */
	struct variant *next;
};

struct function {
	CUfunction handle;
	struct module *module;
	struct ptx_func *ptx;
	size_t reg_count;        /* as the text declares them */
	uint32_t max_registers;  /* .maxnreg of the text; 0: none */
	size_t place;               /* in module->functions */
	char name[96];              /* for messages: as in the source, without parameters */
	atomic_bool is_compiled;
	atomic_bool has_ended;      /* a launch of it has, at least once */
	struct jit_kernel kernel;   /* what was compiled first; of JIT_TIER_FIRST for all blocks, */
	unsigned class;             /* else for those of this class; see block_class.h */
	struct jit_code code;       /* the kernel */
	unsigned max_threads;       /* per block that it can have */
	bool may_team;              /* see team.h */
	bool is_wanted;             /* with the module's lock: the best code, by function_improve */
	_Atomic(struct variant *) variants; /* for blocks of other classes, when first launched */
	_Atomic(struct variant *) unchecked; /* where there are several devices: for launches that
	                                        may access all memory, when first wanted */
	atomic_int max_dynamic;     /* bytes of dynamic shared memory that a launch may ask for */
	atomic_int carveout;
	atomic_int hints[2];        /* non-portable cluster sizes, scheduling policy */
	atomic_int shared_mode;     /* CUsharedMemoryMode */
	atomic_uint attributes_set; /* a bit for each that cuFuncSetAttribute has set */
	struct old_launch old;
};

/* --- cu_module.c --- */

/* Load PTX into a context.  Without a context: only to know its kernels, whose handles are then
 * of kind API_KERNEL. */
CUresult cu_module_create(const char *call, struct context *context, const char *text, size_t size,
	struct jit_options *options, struct module **out);
/* The text, or a kernel of it, has been read or prepared: count what that takes.  With the lock. */
static inline void module_note_size(struct module *module)
{
	atomic_store_explicit(&module->read_size, module->ptx.arena.size
		+ (module->text ? module->ptx.text_size : 0), memory_order_relaxed);
}
/* Bytes that a module takes, but for its variables.  Any thread, without the lock. */
size_t module_size(const struct module *module);
/* Free one that was created in a context. */
void module_free(struct object *object);
/* Free a module that was created without a context. */
void cu_module_release(struct module *module);
/* Whether it defines managed variables, which all modules of a library share. */
bool module_has_managed(const struct module *module);
/* Free them: those that are a module's own, or those that the modules of a plan share. */
void module_free_managed(struct module *module, struct device_memory *memory);
/* Where a variable is and how big; what the caller does not want to know is NULL. */
/* Bytes of the constant variables that a module defines, as they lie one after the other. */
size_t module_const_size(const struct ptx_module *ptx);

CUresult module_global(const char *call, struct module *module, const char *name,
	CUdeviceptr *out, size_t *size);

/* --- function.c --- */

/* A kernel of a module by name, or NULL. */
CUresult module_find_function(const char *call, struct module *module, const char *name,
	struct function **out);
/* By its place below module->function_count. */
CUresult module_function(const char *call, struct module *module, size_t place,
	struct function **out);
/* The same; NULL if it was not asked for before. */
struct function *module_known_function(struct module *module, size_t place);
/* Parse a kernel of parse_declarations, check it, and flatten it. */
bool function_parse(struct ptx_module *module, struct ptx_func *func, struct ptx_diag *diag);
/* When the module's text has been read: make places for its kernels, and the functions that are
 * known. */
bool function_create_all(struct module *module, struct ptx_diag *diag);
void function_free_all(struct module *module);
/* Take over what was set for the kernel of a library that this function is. */
void function_inherit(struct function *function);

/* Bytes of dynamic shared memory that a launch in a mode may ask for; the default mode is the
 * function's own. */
int function_max_dynamic(const struct function *function, CUsharedMemoryMode mode);
/* Registers of a thread: an estimate, within the limit of its module. */
int function_register_count(const struct function *function);
/* Threads per block that a kernel can have. */
unsigned function_max_threads(const struct ptx_func *func);
/* Compile it if that has not been done yet. */
CUresult function_compile(const char *call, struct function *function);
/* What runs blocks of this size, of a function that is compiled. */
CUresult function_code(const char *call, struct function *function, const uint32_t block[3],
	const struct jit_code **out);
/* Have the background compile better code than what a launch is about to run, of JIT_TIER_FIRST,
 * unless it was asked to. */
void function_ask_better(struct function *function, const struct jit_code *code);
/* The same code without questions about the memory of other devices, for a launch that may access
 * all memory; NULL if it is not compiled, or not yet.  If it is `wanted`, the background compiles
 * it. */
const struct jit_code *function_unchecked(struct function *function, const struct jit_code *code,
	bool wanted);
/* Compile the best code of a function that is compiled, and wait for what the background
 * compiles. */
CUresult function_improve(const char *call, struct function *function);
/* Of what has been compiled so far the best. */
const struct jit_kernel *function_best(const struct function *function);

#endif
