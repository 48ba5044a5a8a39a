/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_COUNT_H
#define CPU_CODEGEN_VALUES_EMIT_COUNT_H

/* The counters of a profiled kernel (ir/counters.h).  All do nothing unless order->counts. */
#include "cpu/codegen/values/emit.h"

/* False: no memory. */
bool emit_count_init(struct emit *e, bool counts);
void emit_count_free(struct emit *e);
/* The entry has been made, up to e->call_end. */
void emit_count_begin(struct emit *e);
/* The lanes that run begin a block, in so many warps together. */
void emit_count_block(struct emit *e, size_t block, unsigned warps);
/* All blocks have been made. */
void emit_count_end(struct emit *e);

/*
 * Around the code of an instruction.  The lines of an access are counted where it is found out how
 * the addresses of its lanes lie: by emit_vector.c, or else at the end of the instruction.
 */
void emit_count_access(struct emit *e, const struct ptx_inst *inst);
void emit_count_rest(struct emit *e);
/* One instruction stands for so many warps. */
void emit_count_for(struct emit *e, unsigned warps);

/* How the elements of the lanes of each row lie. */
enum count_shape {
	COUNT_ANYWHERE,
	COUNT_AT_STEPS,  /* each `step` bytes after the one before */
	COUNT_STRIDED    /* each as far after the one before as the second after the first */
};

/* The lanes of all rows, of `row` lanes each, are about to access `at`. */
void emit_count_lanes(struct emit *e, LLVMValueRef at, enum count_shape shape, unsigned row,
	unsigned step);

#endif
