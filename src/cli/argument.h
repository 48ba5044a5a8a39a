/* SPDX-License-Identifier: MIT */
#ifndef CLI_ARGUMENT_H
#define CLI_ARGUMENT_H

/* An argument of a kernel, as `kudzu run` takes it: text -> what to make. */
#include <kudzu/kudzu.h>

#include <stdbool.h>

enum argument_kind {
	ARGUMENT_NULL,   /* null: no array */
	ARGUMENT_NUMBER, /* 5: a number of the type that the parameter has */
	ARGUMENT_SCALAR, /* i32:5; f32:1,2,3,4 is a float4 */
	ARGUMENT_ARRAY,  /* f32[4x4]=arange */
	ARGUMENT_FILE    /* @file.npy */
};

enum argument_fill {
	FILL_ZEROS,
	FILL_ARANGE, /* 0, 1, 2, ... */
	FILL_RANDOM, /* [0, 1); integers from 0 to 99 */
	FILL_EYE,
	FILL_NONE,   /* whatever the memory has */
	FILL_VALUE,  /* the same everywhere */
	FILL_LIST
};

/* What the text says; pointers lead into it. */
struct argument {
	enum argument_kind kind;
	kz_dtype dtype;          /* of ARGUMENT_SCALAR and ARGUMENT_ARRAY */
	kz_shape shape;          /* of ARGUMENT_ARRAY */
	enum argument_fill fill; /* of ARGUMENT_ARRAY */
	int64_t count;           /* elements of ARGUMENT_ARRAY, values of ARGUMENT_SCALAR */
	uint64_t seed;           /* of FILL_RANDOM */
	const char *values;      /* numbers with commas between them; the path of ARGUMENT_FILE */
};

/* Why a text is no argument, and which part of it. */
struct argument_fault {
	size_t offset; /* bytes */
	size_t length; /* 0: the place after the offset */
	char message[200];
};

/* False, with the reason, for a text that is no argument. */
bool argument_parse(struct argument *out, const char *text, struct argument_fault *fault);

/* The elements of an array, or the values of a scalar: count of them, row-major. */
void argument_fill(const struct argument *argument, void *out);

/* The element type of a name such as "f32", 0 if there is none; and the name of a type. */
kz_dtype argument_dtype(const char *name, size_t length);
const char *argument_dtype_name(kz_dtype dtype);

#endif
