/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_DTYPE_H
#define LIB_CORE_DTYPE_H

/* Element types, of which the built-in ones are looked up without a call. */
#include "base/common.h"

#include <kudzu/dtype.h>

/* What the elements of a type are: a bit each, so that one test can ask for several.  They ascend
 * in numpy's order, in which values of a kind go into arrays of the later ones.  The number of a
 * type says nothing about its kind. */
enum dtype_kind {
	DTYPE_BOOL = 1, DTYPE_UNSIGNED = 2, DTYPE_SIGNED = 4, DTYPE_FLOAT = 8, DTYPE_COMPLEX = 16,
	DTYPE_STORAGE = 32, /* floats that are kept and converted, never computed with */
	DTYPE_STRUCT = 64,
	DTYPE_INTEGER = DTYPE_UNSIGNED | DTYPE_SIGNED,
	DTYPE_EXACT = DTYPE_BOOL | DTYPE_INTEGER,
	DTYPE_INEXACT = DTYPE_FLOAT | DTYPE_COMPLEX,
	DTYPE_NUMBER = DTYPE_EXACT | DTYPE_INEXACT,
};

/* The built-in types have the numbers from 1 on, without a gap. */
enum {
	DTYPE_STRUCT_BIT = 31,
	DTYPE_BUILTIN = 1
#define DTYPE(number, size, kind, name, ctype) + 1
#include "lib/core/dtype.def"
#undef DTYPE
};
static_assert(DTYPE_BUILTIN <= DTYPE_STRUCT_BIT,
	"a set of dtypes has a bit for each, and one for structs");
extern const uint8_t dtype_sizes[DTYPE_BUILTIN];
extern const uint8_t dtype_kinds[DTYPE_BUILTIN];

static inline bool dtype_is_builtin(kz_dtype dtype)
{
	return dtype < DTYPE_BUILTIN;
}

static inline bool dtype_is_struct(kz_dtype dtype)
{
	return dtype >= KZ_DTYPE_STRUCT;
}

/* kz_dtype_size, of the built-in ones without a call. */
static inline int64_t dtype_size(kz_dtype dtype)
{
	return likely(dtype_is_builtin(dtype)) ? dtype_sizes[dtype] : kz_dtype_size(dtype);
}

/* An `enum dtype_kind`; 0 for a number that is not a dtype. */
static inline unsigned dtype_kind(kz_dtype dtype)
{
	return likely(dtype_is_builtin(dtype)) ? dtype_kinds[dtype]
		: dtype_is_struct(dtype) ? DTYPE_STRUCT : 0;
}

/* The next built-in type of some kinds; after 0 the first one, after the last one 0. */
static inline kz_dtype dtype_next(kz_dtype dtype, unsigned kinds)
{
	while (++dtype < DTYPE_BUILTIN) {
		if (dtype_kinds[dtype] & kinds) {
			return dtype;
		}
	}
	return 0;
}

/* The bit of a type in a set of types; all structs have one. */
static inline uint32_t dtype_bit(kz_dtype dtype)
{
	return UINT32_C(1) << (dtype_is_builtin(dtype) ? dtype : DTYPE_STRUCT_BIT);
}

/* The name of a type that an operation refuses, for its message, which says what to do with a type
 * that is only stored. */
const char *dtype_refused(kz_dtype dtype);

/* The registered struct of a name as kernels spell it; 0 if there is none. */
kz_dtype dtype_struct(const char *name);

static inline bool dtype_is_signed(kz_dtype dtype)
{
	return dtype_kind(dtype) == DTYPE_SIGNED;
}

static inline bool dtype_is_unsigned(kz_dtype dtype)
{
	return dtype_kind(dtype) == DTYPE_UNSIGNED;
}

static inline bool dtype_is_integer(kz_dtype dtype)
{
	return dtype_kind(dtype) & DTYPE_INTEGER;
}

/* bool or integers */
static inline bool dtype_is_exact(kz_dtype dtype)
{
	return dtype_kind(dtype) & DTYPE_EXACT;
}

/* Floats or complex numbers */
static inline bool dtype_is_inexact(kz_dtype dtype)
{
	return dtype_kind(dtype) & DTYPE_INEXACT;
}

/* Numbers that have an order: not complex ones.  bool is one. */
static inline bool dtype_is_real(kz_dtype dtype)
{
	return dtype_kind(dtype) & (DTYPE_EXACT | DTYPE_FLOAT);
}

/* What is computed with: all but 8-bit floats and structs.  bool is one. */
static inline bool dtype_is_number(kz_dtype dtype)
{
	return dtype_kind(dtype) & DTYPE_NUMBER;
}

static inline bool dtype_is_half(kz_dtype dtype)
{
	return dtype == KZ_F16 || dtype == KZ_BF16;
}

/* The type in which is computed: float for halves. */
static inline kz_dtype dtype_wide(kz_dtype dtype)
{
	return dtype_is_half(dtype) ? KZ_F32 : dtype;
}

static inline bool dtype_is_float(kz_dtype dtype)
{
	return dtype_kind(dtype) == DTYPE_FLOAT;
}

static inline bool dtype_is_complex(kz_dtype dtype)
{
	return dtype_kind(dtype) == DTYPE_COMPLEX;
}

static inline bool dtype_is_storage(kz_dtype dtype)
{
	return dtype_kind(dtype) == DTYPE_STORAGE;
}

/* Whether kz_array_astype converts from one to the other. */
static inline bool dtype_converts(kz_dtype from, kz_dtype to)
{
	const unsigned kinds = DTYPE_NUMBER | DTYPE_STORAGE;
	return from == to || (dtype_kind(from) & kinds && dtype_kind(to) & kinds);
}

/* The type of the parts of complex numbers; any other type as it is. */
static inline kz_dtype dtype_part(kz_dtype dtype)
{
	return dtype == KZ_C64 ? KZ_F32 : dtype == KZ_C128 ? KZ_F64 : dtype;
}

/* The type of sums and products: bool and integers grow to 64 bits. */
static inline kz_dtype dtype_total(kz_dtype dtype)
{
	unsigned kind = dtype_kind(dtype);
	return kind == DTYPE_UNSIGNED ? KZ_U64 : kind & DTYPE_EXACT ? KZ_I64 : dtype;
}

/* The integers without a sign that have as many bits; any other type as it is. */
static inline kz_dtype dtype_unsigned(kz_dtype dtype)
{
	return dtype == KZ_I8 ? KZ_U8 : dtype == KZ_I16 ? KZ_U16 : dtype == KZ_I32 ? KZ_U32
		: dtype == KZ_I64 ? KZ_U64 : dtype;
}

#endif
