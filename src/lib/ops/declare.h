/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_DECLARE_H
#define LIB_OPS_DECLARE_H

/* The argument list of a user's kernel, "float a, const float *x", as data. */
#include "base/arena.h"
#include "lib/core/dtype.h"
#include "lib/rtc/compile.h"

enum {
	DECLARE_MAX = 64,
	DECLARE_LETTERS = 26 /* that can stand for a type */
};

/* One argument. */
struct declaration {
	const char *name;     /* "x" */
	const char *text;     /* "const float *x", for messages */
	const char *type;     /* "float": of the scalar, or of the elements */
	bool is_pointer;      /* an array */
	bool is_const;        /* the elements are only read */
	bool is_raw;          /* an array of any shape, passed as a pointer */
	enum param_kind kind; /* of the type */
	int64_t size;         /* of the type, bytes */
	uint32_t dtypes;      /* the built-in dtypes that the type stands for, a bit each */
	kz_dtype dtype;       /* the registered struct that it is; 0: none */
	char letter;          /* 'T': a type that only a call knows; until then its size is 0 */
};

struct declarations {
	struct declaration *items;
	size_t count;
	char *list;           /* the text as C++ takes it: without the word "raw", nothing moved */
	uint32_t dtypes;      /* all of the built-in dtypes that occur */
	uint32_t letters;     /* all that stand for types yet unknown, bit 0 is A */
};

/*
 * Read a list.  Everything is allocated in the arena.  `name` is the kernel's; errors have the
 * place "NAME: arguments" and a caret.
 */
kz_status declare_read(struct declarations *out, struct arena *arena, const char *list,
	const char *name, kz_error *err);

/* Copy a list with a type for each letter, types[0] for A. */
kz_status declare_bind(struct declarations *out, struct arena *arena,
	const struct declarations *list, const kz_dtype *types, kz_error *err);

/* How the kernel spells a type: as its dtype does, but complex numbers have operators. */
const char *declare_spelling(kz_dtype dtype);

#endif
