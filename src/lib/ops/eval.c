/* SPDX-License-Identifier: MIT */
/*
 * Expressions as strings: eval_parse.c makes a struct expr of the text, elementwise.c runs it as
 * one kernel.
 *
 * This file puts errors at their place in the text, and prepares kernels.  To prepare is to
 * evaluate over small arrays that stand for those to come, without the launch.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/ops/elementwise.h"
#include "lib/ops/eval_parse.h"
#include "lib/rtc/diag.h"

#include <string.h>

/* Errors */

/* The line of a byte of the text: its number, where it begins, and how long it is. */
static int eval_find_line(const char *text, size_t place, size_t *begin, size_t *len)
{
	int number = 1;
	*begin = 0;
	for (size_t i = 0; i < place; i++) {
		if (text[i] == '\n') {
			*begin = i + 1;
			number++;
		}
	}
	*len = strcspn(text + *begin, "\n");
	return number;
}

/* Add the place to an error of the text, and the line with a caret as the log.  The log of
 * KZ_COMPILE is complete, and is printed alone. */
static kz_status eval_report(kz_error *err, kz_error *first, const struct eval_source *source)
{
	struct str log = STR_INIT;
	size_t begin, len;
	kz_status st = first->status;
	int line = eval_find_line(source->text, source->place, &begin, &len);
	size_t column = source->place - begin;
	bool mine = error_is_clean(err);
	error_copy(err, first);
	if (mine) {
		error_add_place(err, "expression", line, (int)column + 1);
		if (st == KZ_COMPILE) {
			str_addf(&log, "expression:%d:%zu: error: %s\n", line, column + 1,
				first->message);
		}
		diag_excerpt(&log, source->text + begin, len, column);
		error_take_log(err, str_take(&log));
	}
	kz_error_clear(first);
	return st;
}

/* Evaluating */

/* Make an expression of the text that can be run.  `dtype` is the result's, 0 for its own. */
static kz_status eval_build(struct expr *expr, struct eval_source *source,
	const struct elementwise *how, kz_dtype dtype, kz_error *err)
{
	kz_error first = KZ_ERROR_INIT;
	bool done = eval_parse(expr, source, &first);
	if (done && dtype) {
		source->place = source->places[expr->node_count - 1];
		done = expr_cast(expr, expr->node_count - 1, dtype, &first) >= 0;
	}
	done = done && eval_check_shapes(expr, source, &first);
	if (done && expr->array_count == 0 && !how->into) {
		source->place = 0;
		error_set(&first, KZ_INVALID,
			"expected an array in the expression or as options.into, found neither");
		done = false;
	}
	return done ? KZ_OK : eval_report(err, &first, source);
}

static kz_status eval_check_call(const char *text, const kz_var *vars, size_t count, kz_error *err)
{
	if (!text) {
		return error_set(err, KZ_INVALID, "kz_eval: expected an expression, got NULL");
	}
	return vars || !count ? KZ_OK
		: error_set(err, KZ_INVALID, "kz_eval: expected %zu variables, got NULL", count);
}

kz_status kz_eval_vars(kz_array **out, const char *text, const kz_op_options *options,
	const kz_var *vars, size_t count, kz_error *err)
{
	error_scope(err);
	struct expr expr;
	struct eval_source source = {.text = text, .vars = vars, .count = count};
	struct elementwise how = {.into = NULL};
	kz_dtype dtype;
	kz_status st;
	out_clear(out, sizeof(*out), "kz_eval");
	if ((st = eval_check_call(text, vars, count, err))
	    || (st = elementwise_options(&how, &dtype, options, err))) {
		return st;
	}
	if (!out && !how.into) {
		return error_set(err, KZ_INVALID, "kz_eval: out is NULL");
	}
	if ((st = eval_build(&expr, &source, &how, dtype, err))) {
		return st;
	}
	return elementwise_run(out, &expr, &how, err);
}

kz_status kz_eval(kz_array **out, const char *text, const kz_op_options *options, kz_error *err,
	kz_vars vars)
{
	error_scope(err);
	return kz_eval_vars(out, text, options, vars.items, vars.count, err);
}

kz_status kz_eval_into(kz_array *into, const char *text, kz_error *err, kz_vars vars)
{
	error_scope(err);
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	kz_status st = object_check(into, OBJECT_ARRAY, err);
	options.into = into;
	return st ? st : kz_eval_vars(NULL, text, &options, vars.items, vars.count, err);
}

/* Preparing */

/* Put small arrays in the place of those to come; `made` has them, and its owner releases them. */
static kz_status eval_stand_in(kz_var *vars, kz_array **made, struct kz_device *dev, kz_vars from,
	kz_error *err)
{
	kz_status st = KZ_OK;
	for (size_t i = 0; i < from.count && !st; i++) {
		vars[i] = from.items[i];
		if (vars[i].value.kind == KZ_ARG_ARRAY_OF) {
			st = kz_array_create(&made[i], dev, (kz_dtype)vars[i].value.value.u,
				KZ_SHAPE(2), err);
			vars[i].value = kz_arg_array(made[i]);
		}
	}
	return st;
}

static kz_status eval_prepare(const struct eval_source *from, const kz_op_options *options,
	kz_error *err)
{
	struct expr expr;
	struct eval_source source = *from;
	struct elementwise how = {.compile_only = true};
	kz_array *result = NULL;
	kz_dtype dtype;
	kz_status st;
	if ((st = elementwise_options(&how, &dtype, options, err))
	    || (st = eval_build(&expr, &source, &how, dtype, err))) {
		return st;
	}
	st = elementwise_run(how.into ? NULL : &result, &expr, &how, err);
	kz_array_release(result);
	return st;
}

kz_status kz_eval_prepare(kz_device *dev, const char *text, const kz_op_options *options,
	kz_error *err, kz_vars vars)
{
	error_scope(err);
	kz_var *items = NULL;
	kz_array **made = NULL;
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = eval_check_call(text, vars.items, vars.count, err))) {
		return st;
	}
	items = mem_zalloc(vars.count, sizeof(*items));
	made = mem_zalloc(vars.count, sizeof(*made));
	if (!items || !made) {
		st = error_no_memory(err);
	} else if (!(st = eval_stand_in(items, made, dev, vars, err))) {
		const struct eval_source source = {
			.text = text, .vars = items, .count = vars.count,
		};
		st = eval_prepare(&source, options, err);
	}
	for (size_t i = 0; made && i < vars.count; i++) {
		kz_array_release(made[i]);
	}
	mem_free(items);
	mem_free(made);
	return st;
}
