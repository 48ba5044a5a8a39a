/* SPDX-License-Identifier: MIT */
/*
 * A demangler for as much of the Itanium C++ ABI as names of kernels use.
 *
 * A recursive descent over the mangled name builds a tree of types in an arena.  The one idea
 * needed to read it: everything but a builtin type, once read, is appended to the list of
 * substitutions, in the order in which its reading *ends*.  S_, S0_, ... refer to that list, and
 * T_, T0_, ... to the template arguments of the function itself.
 *
 * The reader stops on anything unknown (`failed`), and the caller says "unknown".
 */
#include "base/common.h"

#include "lib/rtc/demangle.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

#define MAX_DEPTH 64
#define MAX_NODES 4096 /* substitutions, and arguments of one list */

struct demangle_list { /* grows in the arena */
	const struct node **items;
	size_t count;
	size_t cap;
};

struct reader {
	const char *at;
	struct arena *arena;
	struct demangle_list substitutions;
	const struct node *arguments; /* what T_ refers to; a NODE_PACK */
	int depth;
	bool failed;
	bool no_memory;
};

static const struct builtin {
	const char *code;
	enum param_kind param;
	int size;
	const char *text;
} builtins[] = {
	{"v", PARAM_UNKNOWN, 0, "void"},
	{"b", PARAM_BOOL, 1, "bool"},
	{"c", PARAM_INT, 1, "char"},
	{"a", PARAM_INT, 1, "signed char"},
	{"h", PARAM_UINT, 1, "unsigned char"},
	{"s", PARAM_INT, 2, "short"},
	{"t", PARAM_UINT, 2, "unsigned short"},
	{"i", PARAM_INT, 4, "int"},
	{"j", PARAM_UINT, 4, "unsigned int"},
	{"l", PARAM_INT, 8, "long"},
	{"m", PARAM_UINT, 8, "unsigned long"},
	{"x", PARAM_INT, 8, "long long"},
	{"y", PARAM_UINT, 8, "unsigned long long"},
	{"n", PARAM_INT, 16, "__int128"},
	{"o", PARAM_UINT, 16, "unsigned __int128"},
	{"w", PARAM_INT, 4, "wchar_t"},
	{"f", PARAM_FLOAT, 4, "float"},
	{"d", PARAM_FLOAT, 8, "double"},
	{"e", PARAM_FLOAT, 8, "long double"}, /* on the device */
	{"Du", PARAM_UINT, 1, "char8_t"},
	{"Ds", PARAM_UINT, 2, "char16_t"},
	{"Di", PARAM_UINT, 4, "char32_t"},
	{"Dn", PARAM_POINTER, 8, "decltype(nullptr)"},
	{"DF16_", PARAM_FLOAT, 2, "_Float16"},
};

/* The text of an unnamed namespace, which NVRTC mangles with the file's name. */
static const char unnamed[] = "(anonymous)";

static const struct node *demangle_read_type(struct reader *r);

static void *demangle_fail(struct reader *r)
{
	r->failed = true;
	return NULL;
}

static bool demangle_accept(struct reader *r, const char *text)
{
	size_t len = strlen(text);
	if (r->failed || strncmp(r->at, text, len) != 0) {
		return false;
	}
	r->at += len;
	return true;
}

static void demangle_expect(struct reader *r, const char *text)
{
	if (!demangle_accept(r, text)) {
		r->failed = true;
	}
}

static struct node *demangle_new_node(struct reader *r, enum node_kind kind, const char *text)
{
	struct node *node = arena_alloc(r->arena, 1, sizeof(*node));
	if (!node) {
		r->no_memory = true;
		return demangle_fail(r);
	}
	node->kind = kind;
	node->text = text;
	return node;
}

/* Keep what a growing string holds in the arena. */
static const char *demangle_keep_text(struct reader *r, struct str *text)
{
	bool too_long = !text->failed && text->len > TYPE_TEXT_MAX;
	char *kept = text->failed || too_long ? NULL
					      : arena_strndup(r->arena, text->data, text->len);
	str_free(text);
	if (!kept) {
		r->no_memory |= !too_long;
		r->failed = true;
	}
	return kept;
}

static bool demangle_grow_list(struct reader *r, struct demangle_list *list)
{
	size_t cap = list->cap ? list->cap * 2 : 8;
	const struct node **items = arena_alloc(r->arena, cap, sizeof(*items));
	if (!items) {
		r->no_memory = r->failed = true;
		return false;
	}
	if (list->count > 0) {
		memcpy(items, list->items, list->count * sizeof(*items));
	}
	list->items = items;
	list->cap = cap;
	return true;
}

static void demangle_list_add(struct reader *r, struct demangle_list *list, const struct node *node)
{
	if (!node || list->count == MAX_NODES) {
		r->failed = true;
	} else if (list->count < list->cap || demangle_grow_list(r, list)) {
		list->items[list->count++] = node;
	}
}

static const struct node *demangle_new_pack(struct reader *r, const struct demangle_list *list)
{
	struct node *node = demangle_new_node(r, NODE_PACK, NULL);
	if (node) {
		node->list = list->items;
		node->count = list->count;
	}
	return node;
}

static const struct node *demangle_substitutable(struct reader *r, const struct node *node)
{
	demangle_list_add(r, &r->substitutions, node);
	return node;
}

/* The decimal number of a length or an array bound. */
static size_t demangle_read_number(struct reader *r)
{
	size_t number = 0;
	if (!isdigit((unsigned char)*r->at)) {
		r->failed = true;
	}
	while (isdigit((unsigned char)*r->at)) {
		number = number * 10 + (size_t)(*r->at++ - '0');
		if (number > 100000) {
			r->failed = true;
			return 0;
		}
	}
	return number;
}

/* The index of S_, S0_, S1_ (base 36) or T_, T0_ (base 10): 0, 1, 2. */
static size_t demangle_read_index(struct reader *r, size_t base)
{
	if (demangle_accept(r, "_")) {
		return 0;
	}
	size_t index = 0;
	while (*r->at != '_') {
		char c = *r->at;
		size_t digit = isdigit((unsigned char)c) ? (size_t)(c - '0')
			: isupper((unsigned char)c)      ? (size_t)(c - 'A') + 10
							 : base;
		if (digit >= base || index > MAX_NODES) {
			r->failed = true; /* and stay: this may be the end */
			return 0;
		}
		index = index * base + digit;
		r->at++;
	}
	demangle_expect(r, "_");
	return index + 1;
}

static const struct node *demangle_read_source_name(struct reader *r)
{
	size_t len = demangle_read_number(r);
	if (r->failed || strnlen(r->at, len) < len) {
		return demangle_fail(r);
	}
	const char *text = arena_strndup(r->arena, r->at, len);
	r->at += len;
	if (!text) {
		r->no_memory = true;
		return demangle_fail(r);
	}
	return demangle_new_node(r, NODE_NAME, strncmp(text, "_GLOBAL__N_", 11) ? text : unnamed);
}

static const struct node *demangle_read_substitution(struct reader *r)
{
	static const char *const standard[][2] = {
		{"a", "std::allocator"}, {"b", "std::basic_string"}, {"s", "std::string"},
	};
	for (size_t i = 0; i < countof(standard); i++) {
		if (demangle_accept(r, standard[i][0])) {
			return demangle_new_node(r, NODE_NAME, standard[i][1]);
		}
	}
	size_t index = demangle_read_index(r, 36);
	if (r->failed || index >= r->substitutions.count) {
		return demangle_fail(r);
	}
	return r->substitutions.items[index];
}

static const struct node *demangle_read_parameter_reference(struct reader *r)
{
	size_t index = demangle_read_index(r, 10);
	if (r->failed || !r->arguments || index >= r->arguments->count) {
		return demangle_fail(r);
	}
	return r->arguments->list[index];
}

/* Li4E, Lb1E, Lm8E: the value as C++ writes it; L_Z and floating point are not read. */
static const struct node *demangle_read_literal(struct reader *r)
{
	if (*r->at == '_') {
		return demangle_fail(r);
	}
	const struct node *type = demangle_read_type(r);
	bool negative = demangle_accept(r, "n");
	const char *digits = r->at;
	while (isdigit((unsigned char)*r->at)) {
		r->at++;
	}
	int len = (int)(r->at - digits);
	demangle_expect(r, "E");
	if (r->failed || len == 0
	    || (type->kind == NODE_BUILTIN && type->param == PARAM_FLOAT)) {
		return demangle_fail(r);
	}
	struct str text = STR_INIT;
	if (type->kind == NODE_BUILTIN && type->param == PARAM_BOOL) {
		str_add(&text, *digits == '0' ? "false" : "true");
	} else {
		if (type->kind != NODE_BUILTIN || type->size < 4) {
			str_addc(&text, '(');
			type_print(&text, type);
			str_addc(&text, ')');
		}
		str_addf(&text, "%s%.*s", negative ? "-" : "", len, digits);
		if (type->kind == NODE_BUILTIN && type->size >= 4) {
			str_add(&text, type->param == PARAM_UINT ? "u" : "");
			str_add(&text, type->size == 8 ? "l" : "");
			str_add(&text, strstr(type->text, "long long") ? "l" : "");
		}
	}
	const char *kept = demangle_keep_text(r, &text);
	return kept ? demangle_new_node(r, NODE_NAME, kept) : NULL;
}

/* What follows I, up to its E. */
static const struct node *demangle_read_arguments(struct reader *r)
{
	struct demangle_list list = {0};
	if (++r->depth > MAX_DEPTH) {
		return demangle_fail(r);
	}
	while (!r->failed && !demangle_accept(r, "E")) {
		if (demangle_accept(r, "L")) {
			demangle_list_add(r, &list, demangle_read_literal(r));
		} else if (demangle_accept(r, "J")) {
			demangle_list_add(r, &list, demangle_read_arguments(r));
		} else {
			demangle_list_add(r, &list, demangle_read_type(r));
		}
	}
	r->depth--;
	return r->failed ? NULL : demangle_new_pack(r, &list);
}

/* "name<arguments>" */
static const struct node *demangle_instance_node(struct reader *r, const struct node *name,
	const struct node *arguments)
{
	if (r->failed || name->kind != NODE_NAME) {
		return demangle_fail(r);
	}
	struct str text = STR_INIT;
	bool first = true;
	str_addf(&text, "%s<", name->text);
	type_print_list(&text, arguments, &first);
	str_addc(&text, '>');
	const char *kept = demangle_keep_text(r, &text);
	return kept ? demangle_new_node(r, NODE_NAME, kept) : NULL;
}

/* The inline namespaces of libcu++'s versions: __4. */
static bool demangle_is_version(const char *name)
{
	return strncmp(name, "__", 2) == 0 && name[2] && !name[2 + strspn(name + 2, "0123456789")];
}

/* "scope::name", without what a source does not say. */
static const struct node *demangle_scoped_node(struct reader *r, const struct node *scope,
	const struct node *name)
{
	if (r->failed || (scope && scope->kind != NODE_NAME)) {
		return demangle_fail(r);
	}
	if (!scope || scope->text == unnamed) {
		return name;
	}
	if (name->text == unnamed || demangle_is_version(name->text)) {
		return scope;
	}
	const char *text = arena_printf(r->arena, "%s::%s", scope->text, name->text);
	if (!text) {
		r->no_memory = true;
		return demangle_fail(r);
	}
	return demangle_new_node(r, NODE_NAME, text);
}

/*
 * What follows N.  Each prefix is a substitution; so is the whole of a type, but not that of a
 * function.
 */
static const struct node *demangle_read_nested(struct reader *r, bool of_function,
	bool *is_template)
{
	const struct node *name = NULL;
	r->at += strspn(r->at, "rVK");
	while (!r->failed && !demangle_accept(r, "E")) {
		bool fresh = true;
		*is_template = false;
		if (name && demangle_accept(r, "I")) {
			const struct node *arguments = demangle_read_arguments(r);
			*is_template = true;
			name = demangle_instance_node(r, name, arguments);
			r->arguments = of_function ? arguments : r->arguments;
		} else if (!name && demangle_accept(r, "St")) {
			name = demangle_new_node(r, NODE_NAME, "std");
			fresh = false;
		} else if (!name && demangle_accept(r, "S")) {
			name = demangle_read_substitution(r);
			fresh = false;
		} else if (!name && demangle_accept(r, "T")) {
			name = demangle_read_parameter_reference(r);
		} else {
			demangle_accept(r, "L");
			name = demangle_scoped_node(r, name, demangle_read_source_name(r));
		}
		if (fresh && !r->failed && !(of_function && *r->at == 'E')) {
			demangle_substitutable(r, name);
		}
	}
	return r->failed || !name ? demangle_fail(r) : name;
}

/* A name, of a function or of a type. */
static const struct node *demangle_read_name(struct reader *r, bool of_function, bool *is_template)
{
	const struct node *name;
	bool fresh = true;
	*is_template = false;
	if (demangle_accept(r, "N")) {
		return demangle_read_nested(r, of_function, is_template);
	}
	if (demangle_accept(r, "St")) {
		name = demangle_new_node(r, NODE_NAME, "std");
		const struct node *part = r->failed ? NULL : demangle_read_source_name(r);
		name = part ? demangle_scoped_node(r, name, part) : NULL;
	} else if (demangle_accept(r, "S")) {
		name = demangle_read_substitution(r);
		fresh = false;
	} else {
		demangle_accept(r, "L");
		name = demangle_read_source_name(r);
	}
	bool instance = !r->failed && *r->at == 'I';
	if (!r->failed && fresh && (instance || !of_function)) {
		demangle_substitutable(r, name);
	}
	if (instance) {
		demangle_accept(r, "I");
		const struct node *arguments = demangle_read_arguments(r);
		*is_template = true;
		name = r->failed ? NULL : demangle_instance_node(r, name, arguments);
		r->arguments = of_function ? arguments : r->arguments;
		if (!r->failed && !of_function) {
			demangle_substitutable(r, name);
		}
	}
	return r->failed ? NULL : name;
}

/* The expansion of a pack is the pack itself, and only that. */
static void demangle_add_expansion(struct reader *r, struct demangle_list *list)
{
	demangle_expect(r, "T");
	const struct node *pack = demangle_read_parameter_reference(r);
	if (r->failed || pack->kind != NODE_PACK) {
		r->failed = true;
		return;
	}
	demangle_substitutable(r, pack);
	demangle_substitutable(r, pack); /* T_, and then DpT_ */
	for (size_t i = 0; i < pack->count; i++) {
		demangle_list_add(r, list, pack->list[i]);
	}
}

/* Parameter types up to `end`; "v" alone says that there are no parameters. */
static const struct node *demangle_read_parameters(struct reader *r, char end)
{
	struct demangle_list list = {0};
	if (r->at[0] == 'v' && r->at[1] == end) {
		r->at++;
		return demangle_new_pack(r, &list);
	}
	while (!r->failed && *r->at != end) {
		if (demangle_accept(r, "Dp")) {
			demangle_add_expansion(r, &list);
		} else {
			demangle_list_add(r, &list, demangle_read_type(r));
		}
	}
	return r->failed ? NULL : demangle_new_pack(r, &list);
}

static const struct node *demangle_read_function(struct reader *r)
{
	demangle_accept(r, "Y");
	struct node *node = demangle_new_node(r, NODE_FUNCTION, NULL);
	const struct node *result = demangle_read_type(r);
	const struct node *parameters = r->failed ? NULL : demangle_read_parameters(r, 'E');
	demangle_expect(r, "E");
	if (r->failed) {
		return NULL;
	}
	assert(node && parameters); /* nothing has failed */
	node->inner = result;
	node->list = parameters->list;
	node->count = parameters->count;
	return node;
}

static const struct node *demangle_read_array(struct reader *r)
{
	const char *bound = r->at;
	while (isdigit((unsigned char)*r->at)) {
		r->at++;
	}
	const char *text = arena_strndup(r->arena, bound, (size_t)(r->at - bound));
	demangle_expect(r, "_");
	struct node *node = demangle_new_node(r, NODE_ARRAY, text);
	const struct node *inner = demangle_read_type(r);
	if (r->failed || !text) {
		return demangle_fail(r);
	}
	node->inner = inner;
	return node;
}

/* r V K in this order, all one substitution. */
static const struct node *demangle_read_qualified(struct reader *r)
{
	bool is_restrict = demangle_accept(r, "r");
	bool is_volatile = demangle_accept(r, "V");
	bool is_const = demangle_accept(r, "K");
	const struct node *inner = demangle_read_type(r);
	struct str text = STR_INIT;
	str_add(&text, is_const ? "const " : "");
	str_add(&text, is_volatile ? "volatile " : "");
	str_add(&text, is_restrict ? "__restrict__ " : "");
	const char *kept = demangle_keep_text(r, &text);
	struct node *node = r->failed ? NULL : demangle_new_node(r, NODE_QUALIFIED, kept);
	if (node) {
		node->inner = inner;
	}
	return node;
}

static const struct node *demangle_read_builtin(struct reader *r)
{
	for (size_t i = 0; i < countof(builtins); i++) {
		if (demangle_accept(r, builtins[i].code)) {
			struct node *node = demangle_new_node(r, NODE_BUILTIN, builtins[i].text);
			if (node) {
				node->param = builtins[i].param;
				node->size = builtins[i].size;
			}
			return node;
		}
	}
	return NULL;
}

static const struct node *demangle_read_derived(struct reader *r, enum node_kind kind,
	const char *text)
{
	struct node *node = demangle_new_node(r, kind, text);
	if (kind == NODE_MEMBER) {
		const struct node *of = demangle_read_type(r);
		if (node) {
			node->of = of;
		}
	}
	const struct node *inner = demangle_read_type(r);
	if (r->failed) {
		return NULL;
	}
	assert(node); /* nothing has failed */
	node->inner = inner;
	return node;
}

static const struct node *demangle_read_compound(struct reader *r)
{
	if (*r->at == 'r' || *r->at == 'V' || *r->at == 'K') {
		return demangle_read_qualified(r);
	}
	switch (*r->at++) {
	case 'P':
		return demangle_read_derived(r, NODE_POINTER, "*");
	case 'R':
		return demangle_read_derived(r, NODE_REFERENCE, "&");
	case 'O':
		return demangle_read_derived(r, NODE_REFERENCE, "&&");
	case 'M':
		return demangle_read_derived(r, NODE_MEMBER, "*");
	case 'F':
		return demangle_read_function(r);
	case 'A':
		return demangle_read_array(r);
	case 'T':
		return demangle_read_parameter_reference(r);
	case 'u':
		return demangle_read_source_name(r);
	default:
		r->at--;
		return NULL;
	}
}

static const struct node *demangle_read_type_here(struct reader *r)
{
	const struct node *node = demangle_read_builtin(r);
	if (node || r->failed) {
		return node;
	}
	/* S0_ is a type by itself; S0_IfE is an instance of the template S0_. */
	bool is_template;
	if (*r->at == 'N' || *r->at == 'S' || isdigit((unsigned char)*r->at)) {
		if (r->at[0] != 'S' || r->at[1] == 't') {
			return demangle_read_name(r, false, &is_template);
		}
		r->at++;
		node = demangle_read_substitution(r);
	} else {
		node = demangle_read_compound(r);
		if (!node || r->failed) {
			return demangle_fail(r);
		}
		demangle_substitutable(r, node);
	}
	if (!r->failed && demangle_accept(r, "I")) {
		const struct node *arguments = demangle_read_arguments(r);
		node = r->failed ? NULL
			: demangle_substitutable(r, demangle_instance_node(r, node, arguments));
	}
	return r->failed ? NULL : node;
}

static const struct node *demangle_read_type(struct reader *r)
{
	if (r->failed || ++r->depth > MAX_DEPTH) {
		return demangle_fail(r);
	}
	const struct node *node = demangle_read_type_here(r);
	r->depth--;
	return node ? node : demangle_fail(r);
}

/* The parameters after the name; an instance of a template has its result before them. */
static const struct node *demangle_read_function_parameters(struct reader *r, bool is_template)
{
	if (is_template) {
		demangle_read_type(r);
	}
	return r->failed || !*r->at ? NULL : demangle_read_parameters(r, '\0');
}

bool demangle(struct demangled *out, const char *mangled, struct arena *arena)
{
	*out = (struct demangled){0};
	if (strncmp(mangled, "_Z", 2) != 0) {
		return true;
	}
	bool is_template = false;
	struct reader r = {.at = mangled + 2, .arena = arena};
	const struct node *name = demangle_read_name(&r, true, &is_template);
	if (name && !r.failed) {
		out->name = name->text;
		out->arguments = is_template ? r.arguments : NULL;
		out->parameters = demangle_read_function_parameters(&r, is_template);
	}
	return !r.no_memory;
}
