/* SPDX-License-Identifier: MIT */
/* What all providers want to know of a task: its elements, and where these lie. */
#include "base/common.h"

#include "lib/linalg/provider.h"

size_t linalg_size(enum linalg_type type)
{
	static const uint8_t sizes[LINALG_ALL_TYPES] = {4, 8, 8, 16, 2, 2};
	return sizes[type];
}

struct linalg_number linalg_number(enum linalg_type type, const double from[2])
{
	struct linalg_number out;
	if (type == LINALG_D || type == LINALG_Z) {
		out.d[0] = from[0];
		out.d[1] = from[1];
	} else {
		out.f[0] = (float)from[0];
		out.f[1] = (float)from[1];
	}
	return out;
}

/* The size of an element of an operand: pivots are integers, singular values are real. */
static size_t task_operand_size(const struct linalg_task *t, char operand)
{
	size_t size = linalg_size(t->type);
	bool has_pivots = t->op == LINALG_GETRF || t->op == LINALG_GETRS || t->op == LINALG_GETRI;
	if (operand == 'b' && has_pivots) {
		return sizeof(int32_t);
	}
	if (operand == 'b' && (t->op == LINALG_GESDD || t->op == LINALG_SYEVD)) {
		return linalg_is_complex(t->type) ? size / 2 : size;
	}
	if (t->op == LINALG_GEEV && operand != 'a') {
		return linalg_is_complex(t->type) ? size : 2 * size;
	}
	return size;
}

CUdeviceptr linalg_address(const struct linalg_task *task, char operand,
	const struct linalg_matrix *of, int64_t i)
{
	return of->address + (CUdeviceptr)(i * of->next) * task_operand_size(task, operand);
}
