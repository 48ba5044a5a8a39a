/* SPDX-License-Identifier: MIT */
/* What all providers want to know of a task: its elements, and where these lie. */
#include "base/common.h"

#include "lib/math/provider.h"

size_t math_size(enum math_type type)
{
	static const uint8_t sizes[MATH_ALL_TYPES] = {4, 8, 8, 16, 2, 2};
	return sizes[type];
}

struct math_number math_number(enum math_type type, const double from[2])
{
	struct math_number out;
	if (type == MATH_D || type == MATH_Z) {
		out.d[0] = from[0];
		out.d[1] = from[1];
	} else {
		out.f[0] = (float)from[0];
		out.f[1] = (float)from[1];
	}
	return out;
}

/* The size of an element of an operand: pivots are integers, singular values are real. */
static size_t math_operand_size(const struct math_task *t, char operand)
{
	size_t size = math_size(t->type);
	bool has_pivots = t->op == MATH_GETRF || t->op == MATH_GETRS || t->op == MATH_GETRI;
	if (operand == 'b' && has_pivots) {
		return sizeof(int32_t);
	}
	if (operand == 'b' && (t->op == MATH_GESDD || t->op == MATH_SYEVD)) {
		return t->type == MATH_C || t->type == MATH_Z ? size / 2 : size;
	}
	if (t->op == MATH_GEEV && operand != 'a') {
		return t->type < MATH_C ? 2 * size : size;
	}
	return size;
}

CUdeviceptr math_address(const struct math_task *task, char operand, const struct math_matrix *of,
	int64_t i)
{
	return of->address + (CUdeviceptr)(i * of->next) * math_operand_size(task, operand);
}
