/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as an expression.  The first byte chooses types and shapes of the variables;
 * a text that is refused has an error with a place inside it, all else is a well-formed struct
 * expr.
 */
#include "lib/ops/eval_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "%s\n", what);
		abort();
	}
}

static void check_nodes(const struct expr *expr)
{
	must(expr->node_count > 0 && expr->node_count <= EXPR_NODES, "count of nodes");
	for (int i = 0; i < expr->node_count; i++) {
		const struct expr_node *node = &expr->nodes[i];
		const struct expr_op *op = expr_op(node->op);
		int arity = op ? op->arity : node->op == EXPR_CAST ? 1 : 0;
		must(op || node->op == EXPR_CAST || node->op == EXPR_ARRAY
			|| node->op == EXPR_SCALAR, "operation");
		must(dtype_is_number(node->dtype), "type");
		for (int k = 0; k < arity; k++) {
			must(node->args[k] < i, "order of nodes");
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const kz_shape shapes[] = {{0, {0}}, {1, {3}}, {2, {2, 3}}, {1, {4}}};
	static const char *const names[] = {"a", "b", "n", "x"};
	struct kz_array arrays[2] = {{.tag = OBJECT_ARRAY}, {.tag = OBJECT_ARRAY}};
	kz_var vars[4];
	struct expr expr;
	unsigned choice = size ? data[0] : 0;
	char *text = malloc(size + 1);
	kz_error err = KZ_ERROR_INIT;
	memcpy(text, data + (size > 0), size - (size > 0));
	text[size - (size > 0)] = '\0';
	for (unsigned i = 0; i < 2; i++) {
		arrays[i].dtype = KZ_BOOL + (choice >> (4 * i) & 15) % 15;
		arrays[i].shape = shapes[(choice >> (3 * i)) & 3];
	}
	for (size_t i = 0; i < 4; i++) {
		vars[i] = kz_var_make(names[i], i < 2 ? kz_arg_array(&arrays[i])
			: i == 2 ? kz_arg_int((int64_t)choice - 128, 8) : kz_arg_f64(0.5));
	}
	struct eval_source source = {.text = text, .vars = vars, .count = 4};
	if (eval_parse(&expr, &source, &err) && eval_check_shapes(&expr, &source, &err)) {
		check_nodes(&expr);
		must(err.status == KZ_OK, "an error without a failure");
	} else {
		must(err.status != KZ_OK && err.message[0], "a failure without an error");
		must(source.place <= strlen(text), "a place outside of the text");
	}
	free(text);
	return 0;
}
