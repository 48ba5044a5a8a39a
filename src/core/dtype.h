/* SPDX-License-Identifier: MIT */
#ifndef CORE_DTYPE_H
#define CORE_DTYPE_H

/* Element types, of which the built-in ones are looked up without a call. */
#include "base/common.h"

#include <kudzu/kudzu.h>

/* kz_dtype_size, of the built-in ones without a call. */
enum { DTYPE_BUILTIN = KZ_C128 + 1 };
static_assert(DTYPE_BUILTIN <= 31, "a set of dtypes has 32 bits, the last of which is for structs");
extern const uint8_t dtype_sizes[DTYPE_BUILTIN];

static inline int64_t dtype_size(kz_dtype dtype)
{
	return likely(dtype < DTYPE_BUILTIN) ? dtype_sizes[dtype] : kz_dtype_size(dtype);
}

/* The registered struct of a name as kernels spell it; 0 if there is none. */
kz_dtype dtype_struct(const char *name);

static inline bool dtype_is_integer(kz_dtype dtype)
{
	return dtype >= KZ_I8 && dtype <= KZ_U64;
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
	return dtype >= KZ_F16 && dtype <= KZ_F64;
}

static inline bool dtype_is_complex(kz_dtype dtype)
{
	return dtype == KZ_C64 || dtype == KZ_C128;
}

/* The type of the parts of complex numbers; any other type as it is. */
static inline kz_dtype dtype_part(kz_dtype dtype)
{
	return dtype == KZ_C64 ? KZ_F32 : dtype == KZ_C128 ? KZ_F64 : dtype;
}

#endif
