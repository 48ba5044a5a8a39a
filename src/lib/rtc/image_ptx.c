/* SPDX-License-Identifier: MIT */
/*
 * What PTX says about its kernels and variables: names, and where each parameter lies.
 *
 * Only `.target`, the heads of `.entry` and variables of the module are read.  Bodies and other
 * things in braces are skipped by a search for the closing brace.
 *
 * The parameter block is laid out as the PTX ISA has it: each parameter is at the next multiple of
 * its alignment, which is its size if nothing else is said.
 */
#include "base/common.h"

#include "lib/rtc/rtc_image.h"
#include "lib/rtc/ptx_text.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 4096 /* the block itself has 32764 bytes */

struct entry {
	struct rtc_param *params;
	size_t count;
	size_t cap;
	int64_t end;    /* of the block so far */
	bool known;
	bool no_memory;
};

static int64_t ptx_token_number(const struct ptx_token *token)
{
	char *end;
	long long number = strtoll(token->text, &end, 0);
	return end == token->text + token->len && number >= 0 && number <= INT32_MAX ? number : -1;
}

static bool ptx_is_reference(const struct ptx_token *type)
{
	static const char *const references[] = {".texref", ".samplerref", ".surfref"};
	for (size_t i = 0; i < countof(references); i++) {
		if (ptx_token_is(type, references[i])) {
			return true;
		}
	}
	return false;
}

/* The bytes of .u32, .f16x2, .b8; -1 for any other type. */
static int64_t ptx_size_of_type(const struct ptx_token *type)
{
	if (ptx_is_reference(type)) {
		return 8;
	}
	size_t letters = strspn(type->text + 1, "busf");
	int bits = 0;
	for (const char *at = type->text + 1 + letters; *at >= '0' && *at <= '9' && bits < 1000;
		at++) {
		bits = 10 * bits + (*at - '0');
	}
	bool pair = type->len > 2 && memcmp(type->text + type->len - 2, "x2", 2) == 0;
	if (letters == 0 || letters > 2 || bits < 8 || bits > 128 || (bits & (bits - 1)) != 0) {
		return -1;
	}
	return bits / 8 * (pair ? 2 : 1);
}

static struct rtc_param *ptx_entry_grow(struct entry *entry)
{
	struct rtc_param *params = mem_grow(entry->params, entry->count, &entry->cap,
		sizeof(*params));
	if (!params) {
		entry->no_memory = true;
		return NULL;
	}
	entry->params = params;
	return &entry->params[entry->count++];
}

/* The words of one parameter have been read. */
static void ptx_entry_add(struct entry *entry, int64_t size, int64_t align, int64_t length,
	enum param_kind kind)
{
	align = align > 0 ? align : size;
	bool good = size > 0 && length >= 0 && (align & (align - 1)) == 0 && align <= 4096
		    && size * length <= INT32_MAX && entry->count < MAX_PARAMS;
	struct rtc_param *param = good ? ptx_entry_grow(entry) : NULL;
	if (!param) {
		entry->known = false;
		return;
	}
	*param = (struct rtc_param){
		.kind = kind,
		.size = size * length,
		.offset = (int64_t)round_up((size_t)entry->end, (size_t)align),
	};
	entry->end = param->offset + param->size;
}

/* `.param .u64 .ptr .global .align 4 name` or `.param .align 8 .b8 name[24]`, up to , or ). */
static struct ptx_token ptx_read_param(const char **at, struct entry *entry)
{
	int64_t size = -1;
	int64_t align = 0;
	int64_t length = 1;
	enum param_kind kind = PARAM_UNKNOWN;
	for (;;) {
		struct ptx_token token = ptx_next_token(at);
		if (token.len == 0 || ptx_token_is(&token, ",") || ptx_token_is(&token, ")")) {
			ptx_entry_add(entry, size, align, length, kind);
			return token;
		}
		if (ptx_token_is(&token, ".align")) {
			struct ptx_token number = ptx_next_token(at);
			align = kind == PARAM_POINTER ? align : ptx_token_number(&number);
		} else if (ptx_token_is(&token, ".ptr")) {
			kind = PARAM_POINTER;
		} else if (ptx_token_is(&token, "[")) {
			struct ptx_token number = ptx_next_token(at);
			length = ptx_token_number(&number);
			kind = PARAM_STRUCT;
		} else if (token.text[0] == '.' && size < 0 && ptx_size_of_type(&token) > 0) {
			size = ptx_size_of_type(&token);
			kind = token.text[1] == 'f' ? PARAM_FLOAT : PARAM_UNKNOWN;
		}
	}
}

static bool ptx_read_entry(struct rtc_image *image, const char **at)
{
	struct entry entry = {.known = true};
	struct ptx_token symbol = ptx_next_token(at);
	const char *before = *at;
	struct ptx_token token = ptx_next_token(at);
	if (ptx_token_is(&token, "(")) {
		token = ptx_next_token(at);
		while (token.len > 0 && !ptx_token_is(&token, ")")) {
			token = ptx_read_param(at, &entry);
		}
	} else {
		*at = before;
	}
	if (entry.no_memory) {
		signature_free_params(entry.params, entry.count);
		return false;
	}
	return image_add_kernel(image, symbol.text, symbol.len, entry.params, entry.count,
		entry.known);
}

bool image_is_ptx(const char *text)
{
	struct ptx_token token = ptx_next_token(&text);
	return ptx_token_is(&token, ".version");
}

/* A declaration of variables, as far as it has been read. */
struct declaration {
	struct rtc_variable facts;
	int64_t element; /* bytes; -1 before the type */
	int64_t count;
	struct ptx_token name;
	bool no_memory;
};

/* A name and its bounds have been read. */
static void ptx_declare(struct rtc_image *image, struct declaration *declaration)
{
	const struct ptx_token *name = &declaration->name;
	struct rtc_variable facts = declaration->facts;
	if (name->len > 0 && declaration->element > 0 && declaration->count > 0) {
		facts.size = declaration->element * declaration->count;
		facts.align = facts.align > 0 ? facts.align : declaration->element;
		declaration->no_memory |= !image_add_variable(image, name->text, name->len, &facts);
	}
	declaration->name.len = 0;
	declaration->count = 1;
}

/* `.global .align 4 .b8 table[16] = {...}, more;`, the space read. */
static bool ptx_read_variables(struct rtc_image *image, const char **at, enum variable_space space)
{
	struct declaration declaration = {.facts.space = space, .element = -1, .count = 1};
	for (;;) {
		struct ptx_token token = ptx_next_token(at);
		if (token.len == 0 || ptx_token_is(&token, ";")) {
			ptx_declare(image, &declaration);
			return !declaration.no_memory;
		}
		if (ptx_token_is(&token, ",")) {
			ptx_declare(image, &declaration);
		} else if (ptx_token_is(&token, "[")) {
			struct ptx_token number = ptx_next_token(at);
			const int64_t bound = ptx_token_number(&number), limit = INT64_MAX / 16;
			bool good = bound >= 0 && declaration.count >= 0
				&& (bound == 0 || declaration.count <= limit / bound);
			declaration.count = good ? declaration.count * bound : -1;
		} else if (ptx_token_is(&token, "=")) {
			const char *value = ptx_skip_space(*at);
			*at = *value == '{' ? ptx_skip_braces(value + 1)
				: value + strcspn(value, ",;");
		} else if (ptx_token_is(&token, ".align")) {
			struct ptx_token number = ptx_next_token(at);
			declaration.facts.align = ptx_token_number(&number);
		} else if (ptx_token_is(&token, ".managed")) {
			declaration.facts.space = VARIABLE_MANAGED;
		} else if (ptx_token_is(&token, ".v2") || ptx_token_is(&token, ".v4")) {
			declaration.count *= token.text[2] - '0';
		} else if (token.text[0] == '.' && !ptx_is_reference(&token)
			&& ptx_size_of_type(&token) > 0) {
			declaration.element = ptx_size_of_type(&token);
		} else if (ptx_is_word(token.text[0]) && token.text[0] != '.') {
			declaration.name = token;
		}
	}
}

kz_status image_read_ptx(struct rtc_image *image, const char *text, kz_error *err)
{
	bool is_extern = false, ok = true;
	for (;;) {
		struct ptx_token token = ptx_next_token(&text);
		bool is_space = ptx_token_is(&token, ".global") || ptx_token_is(&token, ".const");
		if (token.len == 0) {
			break;
		}
		if (ptx_token_is(&token, ".entry")) {
			ok = ptx_read_entry(image, &text);
		} else if (is_space && !is_extern) {
			ok = ptx_read_variables(image, &text,
				token.text[1] == 'c' ? VARIABLE_CONSTANT : VARIABLE_GLOBAL);
		} else {
			if (ptx_token_is(&token, ".target")) {
				struct ptx_token arch = ptx_next_token(&text);
				bool real = arch.len > 3 && memcmp(arch.text, "sm_", 3) == 0;
				if (real && image->arch[0] == '\0') {
					snprintf(image->arch, sizeof(image->arch), "compute_%.*s",
						(int)arch.len - 3, arch.text + 3);
				}
			} else if (ptx_token_is(&token, "{")) {
				text = ptx_skip_braces(text);
			} else if (ptx_token_is(&token, "(")) {
				text += strcspn(text, ")");
			}
			is_extern = ptx_token_is(&token, ".extern")
				|| (is_extern && !ptx_token_is(&token, ";"));
		}
		if (!ok) {
			return error_no_memory(err);
		}
	}
	return image_finish(image) ? KZ_OK : error_no_memory(err);
}
