/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_TYPE_H
#define LIB_RTC_TYPE_H

/* A C++ type as a tree, and as text. */
#include "base/str.h"
#include "lib/rtc/compile.h"

enum node_kind {
	NODE_BUILTIN,
	NODE_NAME,       /* class, enum, template instance: text */
	NODE_POINTER,
	NODE_REFERENCE,  /* text: "&" or "&&" */
	NODE_MEMBER,     /* pointer to member: of is the class, inner the type */
	NODE_QUALIFIED,  /* text: " const volatile" */
	NODE_FUNCTION,   /* inner: result, list: parameters */
	NODE_ARRAY,      /* text: the bound */
	NODE_PACK        /* list */
};

struct node {
	enum node_kind kind;
	enum param_kind param; /* of a builtin */
	int size;              /* of a builtin */
	const char *text;
	const struct node *inner;
	const struct node *of;
	const struct node **list;
	size_t count;
};

/* A few characters of a mangled name can stand for any number of them in the text.  A text that is
 * too long is cut, and not used. */
#define TYPE_TEXT_MAX 65536

/* Append the type as C++ writes it: "const float *", "int (*)(float)". */
void type_print(struct str *out, const struct node *type);
/* Append the types of a list, packs opened, with commas between them; *first is true before any. */
void type_print_list(struct str *out, const struct node *list, bool *first);

#endif
