/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_EVAL_PARSE_H
#define LIB_OPS_EVAL_PARSE_H

/* The text of an expression and its variables -> struct expr. */
#include "lib/ops/expr.h"

#include <kudzu/eval.h>

struct eval_source {
	const char *text;
	const kz_var *vars;
	size_t count;
	size_t place;                 /* of the failure: a byte of the text */
	uint16_t places[EXPR_NODES];  /* where each node came from */
};

enum { EVAL_TEXT_MAX = UINT16_MAX };

/* Parse.  False, with an error and a place, if the text is no expression.  Types are settled;
 * shapes are not checked. */
bool eval_parse(struct expr *expr, struct eval_source *source, kz_error *err);

/* Check that the shapes of the arrays broadcast.  If not, the error has the place of the first
 * operation whose operands do not. */
bool eval_check_shapes(const struct expr *expr, struct eval_source *source, kz_error *err);

#endif
