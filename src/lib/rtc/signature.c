/* SPDX-License-Identifier: MIT */
/*
 * The parameters of a kernel from its mangled name, or from that of a variable whose template
 * argument is the kernel's type: what each is for a launch, how big, and how C++ writes it.
 */
#include "base/common.h"

#include "lib/rtc/signature.h"

#include "base/alloc.h"
#include "lib/rtc/demangle.h"

#include <string.h>

/* Class types of CUDA's headers that are numbers. */
static const struct {
	const char *text;
	enum param_kind kind;
	int size;
} number_classes[] = {{"__half", PARAM_FLOAT, 2}};

static void signature_classify(struct rtc_param *param, const struct node *type)
{
	while (type->kind == NODE_QUALIFIED) {
		type = type->inner;
	}
	param->size = -1;
	param->offset = -1;
	if (type->kind == NODE_BUILTIN) {
		param->kind = type->param;
		param->size = type->size;
	} else if (type->kind == NODE_POINTER || type->kind == NODE_REFERENCE) {
		param->kind = PARAM_POINTER;
		param->size = 8;
	} else if (type->kind == NODE_NAME) {
		param->kind = PARAM_STRUCT;
		for (size_t i = 0; i < countof(number_classes); i++) {
			if (strcmp(type->text, number_classes[i].text) == 0) {
				param->kind = number_classes[i].kind;
				param->size = number_classes[i].size;
			}
		}
	}
}

/* The parameters of a list of types; false when memory runs out. */
static bool signature_take_parameters(struct signature *out, const struct node *list)
{
	out->params = mem_zalloc(list->count + 1, sizeof(*out->params));
	if (!out->params) {
		return false;
	}
	out->params_known = true;
	for (size_t i = 0; i < list->count; i++) {
		struct str text = STR_INIT;
		signature_classify(&out->params[i], list->list[i]);
		type_print(&text, list->list[i]);
		out->params_known = out->params_known && text.len <= TYPE_TEXT_MAX;
		out->params[i].type = str_take(&text);
		out->count++;
		if (!out->params[i].type) {
			return false;
		}
	}
	return true;
}

/* The types after the name, or in it. */
static const struct node *signature_find_parameters(const struct demangled *demangled, bool probe)
{
	const struct node *arguments = demangled->arguments;
	if (!probe) {
		return demangled->parameters;
	}
	bool good = arguments && arguments->count == 1
		    && arguments->list[0]->kind == NODE_FUNCTION;
	return good ? arguments->list[0] : NULL;
}

bool signature_read(struct signature *out, const char *mangled, bool probe)
{
	struct arena arena = ARENA_INIT;
	struct demangled demangled;
	*out = (struct signature){0};
	bool ok = demangle(&demangled, mangled, &arena);
	if (ok) {
		const struct node *list = signature_find_parameters(&demangled, probe);
		out->name = mem_strdup(demangled.name ? demangled.name : mangled);
		ok = out->name && (!list || signature_take_parameters(out, list));
	}
	arena_free(&arena);
	if (!ok) {
		signature_free(out);
	}
	return ok;
}

bool signature_read_type(struct rtc_param *out, const char *mangled)
{
	struct arena arena = ARENA_INIT;
	struct demangled demangled;
	*out = (struct rtc_param){.size = -1, .offset = -1};
	bool ok = demangle(&demangled, mangled, &arena);
	const struct node *arguments = ok ? demangled.arguments : NULL;
	if (arguments && arguments->count == 1) {
		struct str text = STR_INIT;
		const struct node *element = arguments->list[0];
		element = element->kind == NODE_REFERENCE ? element->inner : element;
		type_print(&text, element);
		while (element->kind == NODE_ARRAY) {
			element = element->inner;
		}
		signature_classify(out, element);
		ok = !text.failed;
		out->type = ok && text.len <= TYPE_TEXT_MAX ? str_take(&text) : NULL;
		str_free(&text);
	}
	arena_free(&arena);
	return ok;
}

void signature_say(struct str *out, const char *symbol, size_t len)
{
	struct signature signature = {0};
	char *text = mem_strndup(symbol, len);
	if (!text || !signature_read(&signature, text, false)) {
		out->failed = true;
	} else {
		str_add(out, signature.name);
		str_add(out, signature.params_known ? "(" : "");
		for (size_t i = 0; signature.params_known && i < signature.count; i++) {
			str_addf(out, "%s%s", i ? ", " : "", signature.params[i].type);
		}
		str_add(out, signature.params_known ? ")" : "");
	}
	signature_free(&signature);
	mem_free(text);
}

void signature_free_params(struct rtc_param *params, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		mem_free(params[i].type);
	}
	mem_free(params);
}

void signature_free(struct signature *signature)
{
	signature_free_params(signature->params, signature->count);
	mem_free(signature->name);
	*signature = (struct signature){0};
}
