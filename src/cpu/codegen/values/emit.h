/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_H
#define CPU_CODEGEN_VALUES_EMIT_H

/*
 * The generator, from a checked PTX kernel to LLVM IR: what all files of emit_*.c share.
 *
 * Each folder uses those that are below it in this list, and a file those below it or on its right:
 *
 *	codegen    emit                              a function for a kernel
 *	           blocks                            the versions of its blocks
 *	           if interleave                     a small branch with its sides; a team of warps
 *	           inst                              an instruction, by the function that ptx.def
 *	                                             names
 *	           lines                             line numbers
 *	memory     mem atom async tex check          loads, stores, atomics, copies, textures
 *	           strided ordered vector            a load or store of a warp, each in its own way
 *	           nontemporal prefetch              rows of it
 *	ops        warp matrix                       threads together
 *	           alu cmp cvt fp8 bits video        arithmetic
 *	           float half math round             floating-point arithmetic
 *	control    call collective collect           functions of C; collectives
 *	           warps serial flow                 branches, yields, exits
 *	values     operand sreg slots                what an instruction reads and writes
 *	           lanes access                      lane after lane; fields and places
 *	           count                             the counters of a profile
 *	           value                             types, constants, blocks
 *
 * Each value that a PTX register has in SSA form is one of LLVM.  A register that is live where
 * control comes from elsewhere than from another block, after a yield, is a stack slot (alloca),
 * and so is every register in diverged code; LLVM's sroa makes values of them.  An instruction
 * reads its operands with emit_use, as values of its type, and writes its result with emit_def.
 * Integers and untyped values are iN, f32 is float, f64 is double.  f16 and bf16 are i16, and their
 * pairs i32; they are converted where they are used.
 *
 * A value is a scalar when one call runs one lane (W = 1), and a vector of 32 when it runs a warp
 * (W = 32).  What is said of W = 32 holds for 16 and 8 lanes, too: for the generator they are a
 * warp, and code for them has no collectives (lanes.c).  The types in struct emit are those of
 * lanes.  `s` has the scalars, for addresses and other values that a warp has once.  Within
 * emit_each_lane lanes are scalars, too.
 *
 * A uniform register (uniformity.h) is a scalar at W = 32, too, and an instruction that writes it
 * is done once for the warp.  The functions that make instructions need not know: they run in a
 * mode in which lanes are scalars, as within emit_each_lane.
 *
 * At W = 32 a basic block has two versions.  The converged one is that of W = 1: all lanes are
 * there, branches are branches.  Where lanes part at a small `if`, both sides are done under masks
 * (emit_if.c).  Any other divergent branch notes for each block the lanes that are pending
 * for it, and goes to the diverged versions.  These follow each other in reverse post-order.  Each
 * runs the lanes that are pending for it, under a mask, and adds them to the pending lanes of its
 * successors.  Where lanes that parted come together, in the immediate post-dominator of the
 * branch, it goes back to the converged version if all 32 are there.
 * Some small kernels do without: see emit_serial.c.  So do those that cannot diverge.
 *
 * A failure is kept in emit.diag.  Building goes on with undefined values until the instruction
 * ends, so that no builder function needs a check.
 */
#include "cpu/config/passes.h"
#include "cpu/ptx/ptx.h"
#include "cpu/runtime/rt.h"
#include "cpu/ir/uniformity.h"

#include <llvm-c/Core.h>

struct emit_types {
	LLVMTypeRef i1, i8, i16, i32, i64, i128, f32, f64;
};

/* The values that an instruction makes under a guard that all lanes have alike. */
struct emit_merge {
	unsigned values[64];
	unsigned count;
};

struct emit;

/*
 * A strategy: what becomes of registers and control flow in a version of the blocks.  emit.c
 * chooses, and emit_blocks.c makes one version after the other:
 *
 *	one lane                emit_one_lane
 *	32 lanes                emit_converged; emit_diverged if lanes part
 *	  lane serialisation    emit_before_serial, emit_serial
 *	  a team of warps       emit_converged, emit_diverged, emit_interleaved
 */
struct emit_strategy {
	bool is_scalar;  /* for one lane */
	bool in_slots;   /* registers are in slots, not in values */
	/* The lanes that run go on in a block, */
	void (*go)(struct emit *e, size_t block);
	/* or in `yes` where the guard of a branch holds and in `no` where it does not, */
	void (*branch)(struct emit *e, const struct ptx_inst *inst, size_t yes, size_t no);
	/* or each in blocks[index], in the first if there is no such one; NULL: their index is
	 * always a scalar, or such kernels have no brx. */
	void (*choose)(struct emit *e, LLVMValueRef index, const size_t *blocks, size_t count);
	/* They exit, */
	void (*exit)(struct emit *e);
	/* or yield, and go on in a block when the wait is over; NULL: they never wait. */
	void (*wait)(struct emit *e, enum rt_yield why, size_t block);
	/* Make an instruction, and perhaps some that follow; how many.  NULL: as emit_inst does. */
	size_t (*inst)(struct emit *e, const struct ptx_inst *inst);
};

/* emit_flow.c */
extern const struct emit_strategy emit_one_lane, emit_converged, emit_diverged;
/* emit_serial.c: lane serialisation, and the converged version in front of it */
extern const struct emit_strategy emit_serial, emit_before_serial;
/* emit_interleave.c: all warps of a block side by side */
extern const struct emit_strategy emit_interleaved;

/* The parts of struct emit that each warp of a team has for itself (emit_interleave.c). */
struct emit_member {
	LLVMValueRef warp, frame, local, exchange;
	LLVMValueRef *values;
	LLVMValueRef first;                   /* its first thread's number */
	LLVMValueRef sregs[PTX_SREG_COUNT];   /* special registers that differ between warps */
	LLVMValueRef bases[PTX_SREG_COUNT];
};

/* All warps of a block in step: see emit_interleave.c. */
struct emit_team {
	unsigned count;
	unsigned first, end;            /* the members that take their turn: all, or some */
	struct emit_member *members;
	struct emit_member outside;     /* what `e` has while no member's code is made */
	uint64_t *same;                 /* registers that all warps have alike */
	uint64_t *written;              /* scratch: a set of registers */
	LLVMBasicBlockRef *blocks;
	LLVMBasicBlockRef start;
};

/* The loads of a block, from the first to before the last one, that read these bytes from one
 * pointer on. */
struct emit_watched {
	const struct ptx_inst *first, *last;
	int64_t begin, end;
	int64_t pitch;          /* bytes from one row to the next; 0: all of the bytes */
};

/* The slot of rt_warp.ranges for addresses from a base register. */
struct emit_asked {
	unsigned base;                  /* its index and 1; 0: none */
	uint32_t slot;
};

struct emit {
	const struct ptx_module *module;
	const struct ptx_func *func;
	struct ptx_diag *diag;
	uint64_t left_out;              /* passes: see emit_does */
	unsigned width;                 /* 1, 8, 16 or 32 */
	bool is_alone;                  /* W > 1: each warp is a block, and whole */
	bool failed;
	unsigned checks;                /* a set: see emit_check.c */
	bool questions;                 /* it asks before accesses, for other checks than those */
	bool watches;                   /* it tells of all that threads may share, */
	bool is_idle;                   /* although a check only needs to know what changes */
	struct emit_watched watched[4]; /* the last loads that it told of together: emit_check.c */
	bool asks;                      /* before each access, */
	uint32_t asked;                 /* in so many slots, of which these were the last, */
	struct emit_asked asked_at[16];
	struct ptx_var **origins;       /* and then these are as origin_find */
	uint8_t *uses;                  /* and uses_analyze give them */
	bool is_debugged;               /* see emit_debug.c */
	bool has_avx2;                  /* masked gathers */
	bool has_f16c;                  /* vectors of halves to floats and back */
	bool has_avx512;                /* AVX-512F: masked gathers, scatters, approximate inverse
	                                   roots */
	struct uniformity_info uniformity; /* W = 32 */

	LLVMContextRef context;
	LLVMModuleRef ir;
	LLVMBuilderRef builder;
	LLVMTypeRef i1, i8, i16, i32, i64, i128, f32, f64; /* of lanes */
	struct emit_types s;            /* of scalars */
	struct emit_types v;            /* of 32 lanes */
	LLVMTypeRef ptr;                /* to i8; to anything from LLVM 15 on */
	LLVMValueRef fn, warp, frame;

	LLVMValueRef *regs;             /* slot of each PTX register; NULL: it has none */
	LLVMValueRef *values;           /* by value (ssa.h); NULL: a zero, or not yet made */
	struct emit_merge *merge;       /* what is made under a guard, else NULL */
	LLVMBasicBlockRef *blocks;      /* converged, by ptx_block; NULL if unreachable, or part
	                                   of the block before: emit_goes_on */
	LLVMBasicBlockRef *diverged;    /* W = 32: the same with pending masks; see has_diverged */
	LLVMBasicBlockRef *resumes;     /* where the warp goes on when it waited before a block */
	size_t *order;                  /* reachable blocks in reverse post-order */
	size_t order_count;
	LLVMBasicBlockRef sweep_end;    /* W = 32: after the last diverged block */
	LLVMBasicBlockRef leave;        /* W = 32: return with RT_SWEEP */
	bool *yield_points;             /* by ptx_block: holds what threads wait with */
	uint64_t *kept;                 /* registers that live from one block to another */
	uint64_t *framed;               /* registers whose slots are in the frame */
	uint64_t *entering;             /* and of these, those that are live into `entries` */
	uint64_t *live;                 /* scratch: a set of registers */
	bool *entries;                  /* by ptx_block: control comes not only from other blocks */
	size_t *written;                /* by register: the last body that writes its slot */
	bool in_frame;                  /* all of `kept` are in the frame */
	bool yields;                    /* the kernel may, so far */
	bool has_diverged;              /* converged code goes to diverged code, so far */
	LLVMValueRef call_end;          /* of the entry, the jump to the next: */
	LLVMValueRef block_end;         /* of what is loaded for a block of the grid; to the
	                                   next: */
	LLVMValueRef entry_end;         /* the switch over resume points */
	LLVMValueRef first;             /* slot of warp->first */
	LLVMBasicBlockRef done;         /* where a warp ends */
	LLVMValueRef sregs[PTX_SREG_COUNT]; /* loaded in the entry when first used, */
	LLVMValueRef bases[PTX_SREG_COUNT]; /* W = 32: of one lane, */
	LLVMValueRef launch, params, globals, shared, local, exchange; /* and so are these */
	LLVMValueRef request;           /* see emit_tex.c; NULL until there is one */
	LLVMValueRef arrays;            /* see emit_lanes.c; NULL until there are some */
	LLVMValueRef made;              /* see emit_call.c; NULL until there is one */
	struct emit_team *team;         /* W = 32; NULL: there is none */
	struct emit_member *member;     /* of it, whose code is being made, else NULL */
	LLVMDIBuilderRef lines;         /* see emit_lines.c; NULL: the object has none */
	LLVMMetadataRef lines_scope;
	struct emit_counts *counts;     /* see emit_count.c; NULL: the kernel is not counted */
	struct emit_nontemporal *nontemporal; /* W = 32: see emit_nontemporal.c; NULL: no store is
	                                         such */
	struct emit_serial *serial;     /* W = 32: instead of diverged versions, see
	                                   emit_serial.c */
	LLVMValueRef results[2];        /* see emit_collect.c, likewise */
	LLVMValueRef ready;             /* W = 32: lanes that may run, in this call */
	size_t frame_size;
	size_t slots_end;               /* in the frame, where registers are saved from */
	struct emit_debug *debug;       /* see emit_debug.c; NULL: no debugger is expected */
	LLVMMetadataRef here;           /* the place in the source for it */

	size_t block;                   /* being translated */
	size_t body;                    /* counts the translations of blocks, from 1 */
	const struct ptx_inst *inst;    /* and within it */
	LLVMValueRef mask;              /* W = 32: i32, the lanes that run; NULL: all */
	LLVMValueRef mask_lanes;        /* the same as a vector of i1 */
	const struct emit_strategy *strategy; /* of the version being made */
	bool once;                      /* W = 32: values are of the warp, done for all lanes */
	unsigned lane_accesses;         /* by lane in the block of LLVM, see blocks_begin_anew, */
	unsigned inst_count;            /* and instructions in it */
	LLVMValueRef lane;              /* the one within emit_each_lane, else NULL */
	const int64_t *offsets;         /* of lanes, from what is made once */
	LLVMBasicBlockRef before_lanes; /* what goes to that loop, */
	LLVMBasicBlockRef after_lanes;  /* and what follows it */
	LLVMBasicBlockRef noted_in;     /* warp->lane and warp->step are known in it, */
	uint64_t noted;                 /* and these */
};

/* Whether a pass is not switched off. */
static inline bool emit_does(const struct emit *e, enum pass pass)
{
	return !(e->left_out >> pass & 1);
}

static inline bool emit_is_diverged(const struct emit *e)
{
	return e->strategy->in_slots && !e->strategy->is_scalar;
}

/* One lane after the other, of 32. */
static inline bool emit_is_serial(const struct emit *e)
{
	return e->strategy->in_slots && e->strategy->is_scalar;
}

/* The functions that the rows of ptx.def name. */
typedef void emit_fn(struct emit *e, const struct ptx_inst *inst);

/* Whether the block that is being made has several successors.  The ways of a branch may all lead
 * to one, and then nothing is held at its end for lanes that part. */
static inline bool emit_may_part(const struct emit *e)
{
	return e->func->blocks[e->block].succ_count > 1;
}

/* Whether the block that is being made is in a loop. */
static inline bool emit_is_in_loop(const struct emit *e)
{
	return e->func->blocks[e->block].in_loop;
}

#endif
