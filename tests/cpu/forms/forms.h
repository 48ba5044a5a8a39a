/* SPDX-License-Identifier: MIT */
#ifndef FORMS_H
#define FORMS_H

/*
 * Every form of the value instructions, and what it computes: forms.def has patterns, in which
 * {a,b,} stands for each of its words in turn; a form is one of the opcodes that this gives.  Its
 * reference is a function of the opcode's text and of the operands' bits.
 */
#include "base/common.h"

/* A type of an opcode, "u32": its class, and its size in bits; pred is 'p' of 1 bit. */
struct form_type {
	char kind; /* u s b f p, 0 for none */
	unsigned bits;
};

struct form {
	char opcode[64];              /* "setp.lt.and.f32" */
	const char *operands;         /* as in forms.def */
	char word[8];                 /* "lt" */
	struct form_type first, last; /* of its types */
};

/* Operands 1 to 4. */
struct operands {
	uint64_t v[4];
};

/* The result's bits; *any is set where PTX leaves it open. */
typedef uint64_t form_reference(const struct form *form, const struct operands *in, bool *any);

struct form_row {
	const char *operands;
	const char *pattern;
	form_reference *reference;
};

extern const struct form_row form_rows[];
extern const size_t form_row_count;

enum { FORM_MOST = 512 };

/* All forms of a row; at most FORM_MOST. */
size_t forms_expand(struct form *out, const struct form_row *row);

/* Is this one of its dotted words? */
bool form_has(const char *opcode, const char *word);

#endif
