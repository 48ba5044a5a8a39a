/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_DTYPE_H
#define KUDZU_DTYPE_H

/*
 * Element types.  A kz_dtype is a number.  Built-in types have the fixed numbers below.  Structs
 * that a program registers get numbers from 0x10000 on.
 */
#include <kudzu/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An element type.  The numbers of built-in types never change. */
typedef uint32_t kz_dtype;

#define KZ_BOOL ((kz_dtype)1) /**< 1 byte, 0 or 1 */
#define KZ_I8 ((kz_dtype)2)    /**< signed, 1 byte */
#define KZ_I16 ((kz_dtype)3)   /**< signed, 2 bytes */
#define KZ_I32 ((kz_dtype)4)   /**< signed, 4 bytes */
#define KZ_I64 ((kz_dtype)5)   /**< signed, 8 bytes */
#define KZ_U8 ((kz_dtype)6)    /**< unsigned, 1 byte */
#define KZ_U16 ((kz_dtype)7)   /**< unsigned, 2 bytes */
#define KZ_U32 ((kz_dtype)8)   /**< unsigned, 4 bytes */
#define KZ_U64 ((kz_dtype)9)   /**< unsigned, 8 bytes */
#define KZ_F16 ((kz_dtype)10)  /**< IEEE binary16, `__half` in a kernel */
#define KZ_BF16 ((kz_dtype)11) /**< bfloat16, `__nv_bfloat16` in a kernel */
#define KZ_F32 ((kz_dtype)12)  /**< float */
#define KZ_F64 ((kz_dtype)13)  /**< double */
#define KZ_C64 ((kz_dtype)14)  /**< two floats, real part first */
#define KZ_C128 ((kz_dtype)15) /**< two doubles, real part first */
#define KZ_F8_E4M3 ((kz_dtype)16) /**< `__nv_fp8_e4m3` in a kernel; only stored, see below */
#define KZ_F8_E5M2 ((kz_dtype)17) /**< `__nv_fp8_e5m2` in a kernel; only stored, see below */

/*
 * The 8-bit floats are for storage.  Arrays of them are copied, viewed, joined, indexed, printed
 * and saved, and kernels get them.  Operations refuse them: kz_array_astype converts to and from
 * other types.  It rounds to the nearest, halves to even.  What is too large becomes the largest
 * number (448 or 57344) with its sign, and a NaN becomes 0x7f: that is __NV_SATFINITE of
 * cuda_fp8.h.
 */

/** The first number of a registered struct. */
#define KZ_DTYPE_STRUCT ((kz_dtype)0x10000)

/** Return the size of one element in bytes; 0 for a number that is not a dtype.  Any thread. */
KZ_API int64_t kz_dtype_size(kz_dtype dtype);

/**
 * Return numpy's name of a dtype, "float32", or ml_dtypes' name, "bfloat16"; NULL for a number
 * that is not a dtype.  Static.
 */
KZ_API const char *kz_dtype_name(kz_dtype dtype);

/** Return a dtype's type in a kernel, "float"; NULL for a number that is not a dtype.  Static. */
KZ_API const char *kz_dtype_ctype(kz_dtype dtype);

/**
 * Return the common type of two types, by numpy's rules.  docs/arrays.md has the table.
 *
 * bool and any type give that type.  Two integers give the smallest integer that holds both, but
 * int64 and uint64 give float64.  With a float, 8-bit integers fit float16 and bfloat16, 16-bit
 * ones float32, and larger ones float64.  float16 and bfloat16 give float32.
 *
 * @return the common type; 0 for numbers that are not dtypes, and for a struct or an 8-bit float
 *         with any other type.
 */
KZ_API kz_dtype kz_dtype_promote(kz_dtype a, kz_dtype b);

/**
 * Return 1 if a result of one type may go into an array of another: numpy's "same_kind".
 *
 * The kinds are bool, unsigned, signed, float, complex, in this order.  A type goes into any type
 * of its own kind, even a smaller one, and of later kinds.  Structs and 8-bit floats go only into
 * themselves.
 */
KZ_API int kz_dtype_can_cast(kz_dtype from, kz_dtype to);

/**
 * Register a struct as an element type.  The same name and size give the same number again.
 *
 * @param out set to the number, from KZ_DTYPE_STRUCT.
 * @param name how kernels spell it, "struct point"; copied.
 * @param size bytes of one element, as sizeof gives it.
 * @return KZ_OK; KZ_INVALID for a text that is not a name, the name of a built-in type, a size
 *         below 1, and a name that is known with another size; KZ_NO_MEMORY.
 * Threads: any.  Registered types live as long as the process.
 */
KZ_API KZ_NODISCARD kz_status kz_dtype_register(kz_dtype *out, const char *name, int64_t size,
	kz_error *err);

#ifdef __cplusplus
}
#endif

/* The dtype of the number that a pointer points to.  Other types do not compile. */
#define KZ_PP_DTYPE_AT(p) _Generic((p), _Bool *: KZ_BOOL, \
	signed char *: KZ_I8, short *: KZ_I16, int *: KZ_I32, \
	long *: (sizeof(long) == 8 ? KZ_I64 : KZ_I32), long long *: KZ_I64, \
	unsigned char *: KZ_U8, unsigned short *: KZ_U16, unsigned int *: KZ_U32, \
	unsigned long *: (sizeof(long) == 8 ? KZ_U64 : KZ_U32), unsigned long long *: KZ_U64, \
	float *: KZ_F32, double *: KZ_F64, \
	float _Complex *: KZ_C64, double _Complex *: KZ_C128)

#endif
