/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_EINSUM_H
#define LIB_LINALG_EINSUM_H

/* einsum's subscripts as data, and the order in which operands are contracted. */
#include "base/str.h"
#include "lib/linalg/contract.h"

enum { EINSUM_OPERANDS = 64, EINSUM_RESULTS = 2 * EINSUM_OPERANDS };

/* The labels of the axes of an operand, where one may occur more than once, or of the output. */
struct einsum_term {
	int64_t ndim;
	uint8_t labels[KZ_MAX_DIMS];
};

struct einsum {
	int64_t operand_count;
	struct einsum_term operands[EINSUM_OPERANDS];
	struct einsum_term output;
	int label_count;
	char names[CONTRACT_LABELS];      /* the letter; '.' for an extent of the ellipsis */
	int64_t extents[CONTRACT_LABELS]; /* of the operands that do not have 1 */
	uint64_t masks[EINSUM_OPERANDS];  /* the labels along which an operand has these extents,
	                                     but for those of extent 1 */
};

/* Read the subscripts for these operands, and check them.  Errors have the column, from 1. */
kz_status einsum_parse(struct einsum *out, const char *text, kz_arrays arrays, kz_error *err);

/* Contract two of the operands and earlier results.  Operand i has number i, the result of step i
 * the number operand_count + i. */
struct einsum_step {
	uint8_t a, b;
	double cost; /* additions and multiplications, and elements that are written */
};

struct einsum_path {
	int count;
	struct einsum_step steps[EINSUM_OPERANDS];
	/* What operands and results have: the labels of the output and of those that they are yet
	 * to meet.  Operands are summed along the others first. */
	uint64_t masks[EINSUM_RESULTS];
};

kz_status einsum_find_path(struct einsum_path *path, const struct einsum *e, kz_error *err);
/* What it costs, and a line for each step. */
void einsum_write_path(struct str *text, const struct einsum *e, const struct einsum_path *path);

#endif
