/* SPDX-License-Identifier: MIT */
/* Patterns to opcodes, and what opcodes are made of; see forms.h. */
#include "base/common.h"

#include "forms.h"

#include <check.h>
#include <ctype.h>
#include <string.h>

/* The type that a dotted word is; none if it is no type. */
static struct form_type type_of(const char *word, size_t length)
{
	if (length == 4 && !strncmp(word, "pred", 4)) {
		return (struct form_type){'p', 1};
	}
	unsigned bits = 0;
	for (size_t i = 1; i < length; i++) {
		if (!isdigit((unsigned char)word[i])) {
			return (struct form_type){0};
		}
		bits = 10 * bits + (unsigned)(word[i] - '0');
	}
	bool is_type = strchr("usbf", word[0]) && bits >= 8;
	return is_type ? (struct form_type){word[0], bits} : (struct form_type){0};
}

/* Fill in what the opcode says. */
static void read_opcode(struct form *form)
{
	const char *at = strchr(form->opcode, '.');
	ck_assert_ptr_nonnull(at);
	size_t length = strcspn(at + 1, ".|");
	if (length < sizeof(form->word)) {
		memcpy(form->word, at + 1, length);
		form->word[length] = '\0';
	}
	form->first = (struct form_type){0};
	for (; at; at = strchr(at, '.')) {
		at++;
		struct form_type type = type_of(at, strcspn(at, ".|"));
		form->first = form->first.kind ? form->first : type;
		form->last = type.kind ? type : form->last;
	}
	ck_assert(form->first.kind);
}

bool form_has(const char *opcode, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = opcode; at; at = strchr(at, '.')) {
		at += *at == '.';
		if (strcspn(at, ".|") == length && !strncmp(at, word, length)) {
			return true;
		}
	}
	return false;
}

/* Replace the first brace of `text` by each of its words, recursively. */
static void expand(struct form *out, size_t *count, const char *operands, const char *text)
{
	const char *open = strchr(text, '{');
	if (!open) {
		ck_assert_uint_lt(*count, FORM_MOST);
		struct form *form = &out[(*count)++];
		ck_assert_uint_lt(strlen(text), sizeof(form->opcode));
		strcpy(form->opcode, text);
		form->operands = operands;
		read_opcode(form);
		return;
	}

	const char *close = strchr(open, '}');
	for (const char *word = open + 1; word <= close;) {
		char next[256];
		size_t length = strcspn(word, ",}");
		memcpy(next, text, (size_t)(open - text));
		memcpy(next + (open - text), word, length);
		strcpy(next + (open - text) + length, close + 1);
		expand(out, count, operands, next);
		word += length + 1;
	}
}

size_t forms_expand(struct form *out, const struct form_row *row)
{
	size_t count = 0;
	expand(out, &count, row->operands, row->pattern);
	return count;
}
