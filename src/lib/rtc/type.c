/* SPDX-License-Identifier: MIT */
/*
 * Print a C++ type.
 *
 * In C++ a type is written around the name that it declares: `int (*f)(float)`.  So each type is
 * printed in two halves, what stands left of the name and what stands right of it.  Here the name
 * is empty.
 */
#include "base/common.h"

#include "lib/rtc/type.h"

#include <string.h>

static bool type_is_pointer(const struct node *node)
{
	return node->kind == NODE_POINTER || node->kind == NODE_REFERENCE
	       || node->kind == NODE_MEMBER;
}

static bool type_is_wrapped(const struct node *node)
{
	return node->kind == NODE_FUNCTION || node->kind == NODE_ARRAY;
}

/* Between a word and what follows it. */
static void type_add_blank(struct str *out)
{
	if (out->len > 0 && !strchr("*& ", out->data[out->len - 1])) {
		str_addc(out, ' ');
	}
}

static void type_print_left(struct str *out, const struct node *node)
{
	if (out->len > TYPE_TEXT_MAX) {
		return;
	}
	switch (node->kind) {
	case NODE_BUILTIN:
	case NODE_NAME:
	case NODE_PACK:
		str_add(out, node->text ? node->text : "...");
		break;
	case NODE_QUALIFIED:
		if (type_is_pointer(node->inner)) {
			type_print_left(out, node->inner);
			str_addn(out, node->text, strlen(node->text) - 1);
		} else {
			str_add(out, node->text);
			type_print_left(out, node->inner);
		}
		break;
	case NODE_FUNCTION:
	case NODE_ARRAY:
		type_print_left(out, node->inner);
		type_add_blank(out);
		break;
	case NODE_POINTER:
	case NODE_REFERENCE:
	case NODE_MEMBER:
		type_print_left(out, node->inner);
		if (type_is_wrapped(node->inner)) {
			str_addc(out, '(');
		} else {
			type_add_blank(out);
		}
		if (node->of) {
			type_print(out, node->of);
			str_add(out, "::");
		}
		str_add(out, node->text);
		break;
	}
}

static void type_print_right(struct str *out, const struct node *node)
{
	bool first = true;
	if (out->len > TYPE_TEXT_MAX) {
		return;
	}
	if (node->kind == NODE_FUNCTION) {
		str_addc(out, '(');
		type_print_list(out, node, &first);
		str_addc(out, ')');
	} else if (node->kind == NODE_ARRAY) {
		str_addf(out, "[%s]", node->text);
	} else if (type_is_pointer(node) && type_is_wrapped(node->inner)) {
		str_addc(out, ')');
	}
	if (node->inner) {
		type_print_right(out, node->inner);
	}
}

void type_print(struct str *out, const struct node *node)
{
	type_print_left(out, node);
	type_print_right(out, node);
}

void type_print_list(struct str *out, const struct node *list, bool *first)
{
	for (size_t i = 0; i < list->count && out->len <= TYPE_TEXT_MAX; i++) {
		if (list->list[i]->kind == NODE_PACK) {
			type_print_list(out, list->list[i], first);
			continue;
		}
		str_add(out, *first ? "" : ", ");
		*first = false;
		type_print(out, list->list[i]);
	}
}
