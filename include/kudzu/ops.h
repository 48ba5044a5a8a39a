/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_OPS_H
#define KUDZU_OPS_H

/*
 * Elementwise operations: numpy's operators and functions over arrays and numbers.
 *
 *	kz_array *b = NULL, *c = NULL;
 *	if (kz_multiply(&b, 2, a, &err)
 *	    || kz_sin(&c, b, &err)
 *	    || kz_add_into(c, c, a, &err)) {    (c += a)
 *		kz_error_print(&err, stderr);
 *	}
 *
 * kz_add(&c, ...) makes a new array and puts its handle into c, whatever c held before.  So
 * kz_add(&c, c, a, &err) loses the old array.  Each operation has a form whose name ends in _into;
 * it writes to an array that is there.  The report of leaks.h and a trace name the calls that lost
 * an array.
 *
 * Operands are arrays and C numbers, at least one of them an array.  Arrays broadcast as in numpy,
 * with any strides.  The operands first become their common type by numpy's rules
 * (kz_dtype_promote). C numbers adapt to the arrays: with 2 or 2.0 an array of floats stays one of
 * floats, 2.5 makes integers float64, and an integer that the array's type cannot hold is
 * KZ_RANGE.  Comparisons give bool.  Every operation rounds as IEEE 754 says, also within an
 * expression.
 *
 * Where numpy leaves the result undefined: integers wrap; integer division by zero gives 0; a
 * shift by the width or more gives 0, but -1 for a negative number shifted right; a negative power
 * of an integer is 0, except for 1 and -1.  A float that an integer type cannot hold becomes an
 * unspecified number.
 */
#include <kudzu/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An operation.  The numbers never change. */
typedef enum kz_op {
	KZ_OP_NONE = 0,
	KZ_OP_ADD = 1,
	KZ_OP_SUBTRACT = 2,
	KZ_OP_MULTIPLY = 3,
	KZ_OP_DIVIDE = 4,         /**< true division: integers give float64 */
	KZ_OP_FLOOR_DIVIDE = 5,   /**< rounds to minus infinity, as Python */
	KZ_OP_REMAINDER = 6,      /**< has the sign of the divisor, as Python's % */
	KZ_OP_FMOD = 7,           /**< has the sign of the dividend, as C's % */
	KZ_OP_POWER = 8,
	KZ_OP_NEGATIVE = 9,
	KZ_OP_POSITIVE = 10,
	KZ_OP_ABSOLUTE = 11,      /**< of complex numbers: real */
	KZ_OP_SIGN = 12,
	KZ_OP_SQUARE = 13,
	KZ_OP_RECIPROCAL = 14,
	KZ_OP_SQRT = 15,
	KZ_OP_RSQRT = 16,
	KZ_OP_CBRT = 17,
	KZ_OP_GCD = 18,
	KZ_OP_LCM = 19,
	KZ_OP_EXP = 20,
	KZ_OP_EXP2 = 21,
	KZ_OP_EXPM1 = 22,
	KZ_OP_LOG = 23,
	KZ_OP_LOG2 = 24,
	KZ_OP_LOG10 = 25,
	KZ_OP_LOG1P = 26,
	KZ_OP_LOGADDEXP = 27,
	KZ_OP_SIN = 28,
	KZ_OP_COS = 29,
	KZ_OP_TAN = 30,
	KZ_OP_ARCSIN = 31,
	KZ_OP_ARCCOS = 32,
	KZ_OP_ARCTAN = 33,
	KZ_OP_ARCTAN2 = 34,
	KZ_OP_SINH = 35,
	KZ_OP_COSH = 36,
	KZ_OP_TANH = 37,
	KZ_OP_ARCSINH = 38,
	KZ_OP_ARCCOSH = 39,
	KZ_OP_ARCTANH = 40,
	KZ_OP_HYPOT = 41,
	KZ_OP_DEGREES = 42,
	KZ_OP_RADIANS = 43,
	KZ_OP_FLOOR = 44,
	KZ_OP_CEIL = 45,
	KZ_OP_TRUNC = 46,
	KZ_OP_RINT = 47,          /**< to the nearest, halves to even */
	KZ_OP_COPYSIGN = 48,
	KZ_OP_NEXTAFTER = 49,     /**< halves give float32 */
	KZ_OP_LDEXP = 50,         /**< a * 2^b, b an integer */
	KZ_OP_FREXP_FRACTION = 51,
	KZ_OP_FREXP_EXPONENT = 52, /**< an int32 */
	KZ_OP_MODF_FRACTION = 53,
	KZ_OP_MODF_WHOLE = 54,
	KZ_OP_ISNAN = 55,
	KZ_OP_ISINF = 56,
	KZ_OP_ISFINITE = 57,
	KZ_OP_SIGNBIT = 58,
	KZ_OP_REAL = 59,
	KZ_OP_IMAG = 60,
	KZ_OP_CONJUGATE = 61,
	KZ_OP_ANGLE = 62,
	KZ_OP_ERF = 63,
	KZ_OP_ERFC = 64,
	KZ_OP_LGAMMA = 65,
	KZ_OP_TGAMMA = 66,
	KZ_OP_SIGMOID = 67,       /**< 1 / (1 + exp(-a)) */
	KZ_OP_RELU = 68,          /**< max(a, 0); keeps NaN */
	KZ_OP_HEAVISIDE = 69,
	KZ_OP_MAXIMUM = 70,       /**< NaN if either operand is */
	KZ_OP_MINIMUM = 71,
	KZ_OP_FMAX = 72,          /**< the other operand if one is NaN */
	KZ_OP_FMIN = 73,
	KZ_OP_CLIP = 74,          /**< min(max(a, b), c) */
	KZ_OP_WHERE = 75,         /**< a != 0 ? b : c */
	KZ_OP_IF_POSITIVE = 76,   /**< a > 0 ? b : c */
	KZ_OP_EQUAL = 77,
	KZ_OP_NOT_EQUAL = 78,
	KZ_OP_LESS = 79,
	KZ_OP_LESS_EQUAL = 80,
	KZ_OP_GREATER = 81,
	KZ_OP_GREATER_EQUAL = 82,
	KZ_OP_LOGICAL_AND = 83,
	KZ_OP_LOGICAL_OR = 84,
	KZ_OP_LOGICAL_XOR = 85,
	KZ_OP_LOGICAL_NOT = 86,
	KZ_OP_BITWISE_AND = 87,
	KZ_OP_BITWISE_OR = 88,
	KZ_OP_BITWISE_XOR = 89,
	KZ_OP_INVERT = 90,
	KZ_OP_LEFT_SHIFT = 91,
	KZ_OP_RIGHT_SHIFT = 92,
	KZ_OP_BITWISE_COUNT = 93, /**< number of bits of |a| that are 1; a uint8 */
	KZ_OP_SINC = 94,          /**< sin(pi a) / (pi a) */
	KZ_OP_ERFINV = 95,        /**< the inverse of erf */
	KZ_OP_NDTR = 96,          /**< the distribution function of the normal distribution */
	KZ_OP_DIGAMMA = 97,       /**< the derivative of lgamma */
	KZ_OP_J0 = 98,            /**< the Bessel function of the first kind, order 0 */
	KZ_OP_I0 = 99,            /**< the modified Bessel function of the first kind, order 0 */
	KZ_OP_EXP1 = 100,         /**< the exponential integral E1; NaN below 0 */
	KZ_OP_EXPI = 101,         /**< the exponential integral Ei */
	KZ_OP_SICI_SINE = 102,    /**< the sine integral; scipy's sici gives the pair */
	KZ_OP_SICI_COSINE = 103,  /**< the cosine integral of |a| */
	KZ_OP_COMPLEX = 104,      /**< a + b i; each part is a float32, or a float64 */
	KZ_OP_ISCLOSE = 105,      /**< |a - b| <= atol + rtol |b|, or both are equal.  Operands that
	                               may follow: rtol (1e-5), atol (1e-8), and whether NaN is
	                               close to NaN (false) */
	KZ_OP_NAN_TO_NUM = 106    /**< finite numbers in the place of others; of complex numbers in
	                               each part.  Operands that may follow: what NaN becomes (0),
	                               infinity (the largest number), and minus infinity */
} kz_op;

/** How to apply an operation.  Initialize with KZ_OP_OPTIONS_INIT. */
typedef struct kz_op_options {
	size_t size;        /**< sizeof(kz_op_options) */
	kz_array *into;     /**< the array for the result; NULL: a new one.  Its shape must be the
	                         result's, and its dtype must be able to hold the result's kind
	                         (numpy's same_kind) */
	kz_stream *stream;  /**< NULL: the device's default stream */
	kz_dtype dtype;     /**< of the result, in place of the rules; 0: by the rules */
	int32_t reserved_int;
	void *reserved[4];
} kz_op_options;

#ifdef __cplusplus
#define KZ_OP_OPTIONS_INIT kz_sized_init<kz_op_options>()
#else
#define KZ_OP_OPTIONS_INIT {.size = sizeof(kz_op_options)}
#endif

/**
 * Apply an operation to arrays and numbers.
 *
 * @param out set to the result, NULL on failure; what it held before is not released.  If the
 *        options have `into`, it is set to that array with one more reference, and may be NULL.
 * @param options NULL for the defaults.
 * @param args KZ_ARGS(...): as many operands as the operation has, at least one of them an array.
 *        isclose and nan_to_num have more, which may be left out.
 * @return KZ_OK; KZ_INVALID for a number of operands, types, shapes, devices or a stream that do
 *         not fit, with what was found; KZ_RANGE for a number that the arrays' type cannot hold;
 *         KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.  You may release the operands at once.
 */
KZ_API KZ_NODISCARD kz_status kz_apply(kz_array **out, kz_op op, const kz_op_options *options,
	kz_error *err, kz_args args);

/**
 * Apply an operation and put the result into an array, which may be an operand (a += b); as
 * kz_apply.
 */
KZ_API KZ_NODISCARD kz_status kz_apply_into(kz_array *into, kz_op op, kz_error *err, kz_args args);

/** Return the name of an operation, "add"; NULL for any other number.  Static. */
KZ_API const char *kz_op_name(kz_op op);

/** Return the number of operands that an operation needs; 0 for any other number. */
KZ_API int kz_op_arity(kz_op op);

/**
 * Copy an array to a new one of another dtype, in the same order of axes; numpy's astype.
 *
 * Every type converts to every other.  Complex numbers lose their imaginary part.
 */
KZ_API KZ_NODISCARD kz_status kz_array_astype(kz_array **out, kz_array *array, kz_dtype dtype,
	kz_error *err);

/** Copy an array to a new one of another dtype in a stream; as kz_array_astype. */
KZ_API KZ_NODISCARD kz_status kz_array_astype_on(kz_array **out, kz_array *array, kz_dtype dtype,
	kz_stream *stream, kz_error *err);

/** Copy an array to a new one, in the same order of axes without gaps. */
KZ_API KZ_NODISCARD kz_status kz_array_copy(kz_array **out, kz_array *array, kz_error *err);

/** Copy an array in a stream; as kz_array_copy. */
KZ_API KZ_NODISCARD kz_status kz_array_copy_on(kz_array **out, kz_array *array, kz_stream *stream,
	kz_error *err);

/**
 * Overwrite the elements of an array with those of another, broadcast to its shape: to[...] = from.
 *
 * @param to any array or view whose elements share no memory; its dtype must be able to hold
 *        `from`'s kind.  It may overlap `from`.
 */
KZ_API KZ_NODISCARD kz_status kz_array_assign(kz_array *to, kz_array *from, kz_error *err);

/** Overwrite the elements of an array in a stream; as kz_array_assign. */
KZ_API KZ_NODISCARD kz_status kz_array_assign_on(kz_array *to, kz_array *from, kz_stream *stream,
	kz_error *err);

/**
 * Overwrite every element of an array with one value: to[...] = value.
 *
 * @param value a number, KZ_ARG(2.5), or for structs the bytes of an element, KZ_VALUE(point).
 */
KZ_API KZ_NODISCARD kz_status kz_array_fill(kz_array *to, kz_arg value, kz_error *err);

/** Overwrite every element of an array in a stream; as kz_array_fill. */
KZ_API KZ_NODISCARD kz_status kz_array_fill_on(kz_array *to, kz_arg value, kz_stream *stream,
	kz_error *err);

/** The number of kernels that the library generated for a device. */
typedef struct kz_kernel_stats {
	int64_t compiled_count; /**< compiled, each for one operation, types and class of layout */
	int64_t hit_count;      /**< found, because an earlier call compiled them */
} kz_kernel_stats;

/** Report the kernels that were generated for a device; nothing happens if `out` is NULL. */
KZ_API void kz_device_kernel_stats(const kz_device *dev, kz_kernel_stats *out);

#ifdef __cplusplus
}
#endif

/* The operations by name: kz_add(&out, a, b, &err) */
#define KZ_APPLY_1(op, out, x, err) kz_apply((out), (op), NULL, (err), KZ_ARGS(x))
#define KZ_APPLY_2(op, out, x, y, err) kz_apply((out), (op), NULL, (err), KZ_ARGS(x, y))
#define KZ_APPLY_3(op, out, x, y, z, err) kz_apply((out), (op), NULL, (err), KZ_ARGS(x, y, z))

#define kz_add(out, x, y, err) KZ_APPLY_2(KZ_OP_ADD, out, x, y, err)
#define kz_subtract(out, x, y, err) KZ_APPLY_2(KZ_OP_SUBTRACT, out, x, y, err)
#define kz_multiply(out, x, y, err) KZ_APPLY_2(KZ_OP_MULTIPLY, out, x, y, err)
#define kz_divide(out, x, y, err) KZ_APPLY_2(KZ_OP_DIVIDE, out, x, y, err)
#define kz_floor_divide(out, x, y, err) KZ_APPLY_2(KZ_OP_FLOOR_DIVIDE, out, x, y, err)
#define kz_remainder(out, x, y, err) KZ_APPLY_2(KZ_OP_REMAINDER, out, x, y, err)
#define kz_fmod(out, x, y, err) KZ_APPLY_2(KZ_OP_FMOD, out, x, y, err)
#define kz_power(out, x, y, err) KZ_APPLY_2(KZ_OP_POWER, out, x, y, err)
#define kz_negative(out, x, err) KZ_APPLY_1(KZ_OP_NEGATIVE, out, x, err)
#define kz_positive(out, x, err) KZ_APPLY_1(KZ_OP_POSITIVE, out, x, err)
#define kz_absolute(out, x, err) KZ_APPLY_1(KZ_OP_ABSOLUTE, out, x, err)
#define kz_sign(out, x, err) KZ_APPLY_1(KZ_OP_SIGN, out, x, err)
#define kz_square(out, x, err) KZ_APPLY_1(KZ_OP_SQUARE, out, x, err)
#define kz_reciprocal(out, x, err) KZ_APPLY_1(KZ_OP_RECIPROCAL, out, x, err)
#define kz_sqrt(out, x, err) KZ_APPLY_1(KZ_OP_SQRT, out, x, err)
#define kz_rsqrt(out, x, err) KZ_APPLY_1(KZ_OP_RSQRT, out, x, err)
#define kz_cbrt(out, x, err) KZ_APPLY_1(KZ_OP_CBRT, out, x, err)
#define kz_gcd(out, x, y, err) KZ_APPLY_2(KZ_OP_GCD, out, x, y, err)
#define kz_lcm(out, x, y, err) KZ_APPLY_2(KZ_OP_LCM, out, x, y, err)
#define kz_exp(out, x, err) KZ_APPLY_1(KZ_OP_EXP, out, x, err)
#define kz_exp2(out, x, err) KZ_APPLY_1(KZ_OP_EXP2, out, x, err)
#define kz_expm1(out, x, err) KZ_APPLY_1(KZ_OP_EXPM1, out, x, err)
#define kz_log(out, x, err) KZ_APPLY_1(KZ_OP_LOG, out, x, err)
#define kz_log2(out, x, err) KZ_APPLY_1(KZ_OP_LOG2, out, x, err)
#define kz_log10(out, x, err) KZ_APPLY_1(KZ_OP_LOG10, out, x, err)
#define kz_log1p(out, x, err) KZ_APPLY_1(KZ_OP_LOG1P, out, x, err)
#define kz_logaddexp(out, x, y, err) KZ_APPLY_2(KZ_OP_LOGADDEXP, out, x, y, err)
#define kz_sin(out, x, err) KZ_APPLY_1(KZ_OP_SIN, out, x, err)
#define kz_cos(out, x, err) KZ_APPLY_1(KZ_OP_COS, out, x, err)
#define kz_tan(out, x, err) KZ_APPLY_1(KZ_OP_TAN, out, x, err)
#define kz_arcsin(out, x, err) KZ_APPLY_1(KZ_OP_ARCSIN, out, x, err)
#define kz_arccos(out, x, err) KZ_APPLY_1(KZ_OP_ARCCOS, out, x, err)
#define kz_arctan(out, x, err) KZ_APPLY_1(KZ_OP_ARCTAN, out, x, err)
#define kz_arctan2(out, x, y, err) KZ_APPLY_2(KZ_OP_ARCTAN2, out, x, y, err)
#define kz_sinh(out, x, err) KZ_APPLY_1(KZ_OP_SINH, out, x, err)
#define kz_cosh(out, x, err) KZ_APPLY_1(KZ_OP_COSH, out, x, err)
#define kz_tanh(out, x, err) KZ_APPLY_1(KZ_OP_TANH, out, x, err)
#define kz_arcsinh(out, x, err) KZ_APPLY_1(KZ_OP_ARCSINH, out, x, err)
#define kz_arccosh(out, x, err) KZ_APPLY_1(KZ_OP_ARCCOSH, out, x, err)
#define kz_arctanh(out, x, err) KZ_APPLY_1(KZ_OP_ARCTANH, out, x, err)
#define kz_hypot(out, x, y, err) KZ_APPLY_2(KZ_OP_HYPOT, out, x, y, err)
#define kz_degrees(out, x, err) KZ_APPLY_1(KZ_OP_DEGREES, out, x, err)
#define kz_radians(out, x, err) KZ_APPLY_1(KZ_OP_RADIANS, out, x, err)
#define kz_floor(out, x, err) KZ_APPLY_1(KZ_OP_FLOOR, out, x, err)
#define kz_ceil(out, x, err) KZ_APPLY_1(KZ_OP_CEIL, out, x, err)
#define kz_trunc(out, x, err) KZ_APPLY_1(KZ_OP_TRUNC, out, x, err)
#define kz_rint(out, x, err) KZ_APPLY_1(KZ_OP_RINT, out, x, err)
#define kz_copysign(out, x, y, err) KZ_APPLY_2(KZ_OP_COPYSIGN, out, x, y, err)
#define kz_nextafter(out, x, y, err) KZ_APPLY_2(KZ_OP_NEXTAFTER, out, x, y, err)
#define kz_ldexp(out, x, y, err) KZ_APPLY_2(KZ_OP_LDEXP, out, x, y, err)
#define kz_frexp_fraction(out, x, err) KZ_APPLY_1(KZ_OP_FREXP_FRACTION, out, x, err)
#define kz_frexp_exponent(out, x, err) KZ_APPLY_1(KZ_OP_FREXP_EXPONENT, out, x, err)
#define kz_modf_fraction(out, x, err) KZ_APPLY_1(KZ_OP_MODF_FRACTION, out, x, err)
#define kz_modf_whole(out, x, err) KZ_APPLY_1(KZ_OP_MODF_WHOLE, out, x, err)
#define kz_isnan(out, x, err) KZ_APPLY_1(KZ_OP_ISNAN, out, x, err)
#define kz_isinf(out, x, err) KZ_APPLY_1(KZ_OP_ISINF, out, x, err)
#define kz_isfinite(out, x, err) KZ_APPLY_1(KZ_OP_ISFINITE, out, x, err)
#define kz_signbit(out, x, err) KZ_APPLY_1(KZ_OP_SIGNBIT, out, x, err)
#define kz_real(out, x, err) KZ_APPLY_1(KZ_OP_REAL, out, x, err)
#define kz_imag(out, x, err) KZ_APPLY_1(KZ_OP_IMAG, out, x, err)
#define kz_conjugate(out, x, err) KZ_APPLY_1(KZ_OP_CONJUGATE, out, x, err)
#define kz_angle(out, x, err) KZ_APPLY_1(KZ_OP_ANGLE, out, x, err)
#define kz_erf(out, x, err) KZ_APPLY_1(KZ_OP_ERF, out, x, err)
#define kz_erfc(out, x, err) KZ_APPLY_1(KZ_OP_ERFC, out, x, err)
#define kz_lgamma(out, x, err) KZ_APPLY_1(KZ_OP_LGAMMA, out, x, err)
#define kz_tgamma(out, x, err) KZ_APPLY_1(KZ_OP_TGAMMA, out, x, err)
#define kz_sigmoid(out, x, err) KZ_APPLY_1(KZ_OP_SIGMOID, out, x, err)
#define kz_relu(out, x, err) KZ_APPLY_1(KZ_OP_RELU, out, x, err)
#define kz_heaviside(out, x, y, err) KZ_APPLY_2(KZ_OP_HEAVISIDE, out, x, y, err)
#define kz_maximum(out, x, y, err) KZ_APPLY_2(KZ_OP_MAXIMUM, out, x, y, err)
#define kz_minimum(out, x, y, err) KZ_APPLY_2(KZ_OP_MINIMUM, out, x, y, err)
#define kz_fmax(out, x, y, err) KZ_APPLY_2(KZ_OP_FMAX, out, x, y, err)
#define kz_fmin(out, x, y, err) KZ_APPLY_2(KZ_OP_FMIN, out, x, y, err)
#define kz_clip(out, x, y, z, err) KZ_APPLY_3(KZ_OP_CLIP, out, x, y, z, err)
#define kz_where(out, x, y, z, err) KZ_APPLY_3(KZ_OP_WHERE, out, x, y, z, err)
#define kz_if_positive(out, x, y, z, err) KZ_APPLY_3(KZ_OP_IF_POSITIVE, out, x, y, z, err)
#define kz_equal(out, x, y, err) KZ_APPLY_2(KZ_OP_EQUAL, out, x, y, err)
#define kz_not_equal(out, x, y, err) KZ_APPLY_2(KZ_OP_NOT_EQUAL, out, x, y, err)
#define kz_less(out, x, y, err) KZ_APPLY_2(KZ_OP_LESS, out, x, y, err)
#define kz_less_equal(out, x, y, err) KZ_APPLY_2(KZ_OP_LESS_EQUAL, out, x, y, err)
#define kz_greater(out, x, y, err) KZ_APPLY_2(KZ_OP_GREATER, out, x, y, err)
#define kz_greater_equal(out, x, y, err) KZ_APPLY_2(KZ_OP_GREATER_EQUAL, out, x, y, err)
#define kz_logical_and(out, x, y, err) KZ_APPLY_2(KZ_OP_LOGICAL_AND, out, x, y, err)
#define kz_logical_or(out, x, y, err) KZ_APPLY_2(KZ_OP_LOGICAL_OR, out, x, y, err)
#define kz_logical_xor(out, x, y, err) KZ_APPLY_2(KZ_OP_LOGICAL_XOR, out, x, y, err)
#define kz_logical_not(out, x, err) KZ_APPLY_1(KZ_OP_LOGICAL_NOT, out, x, err)
#define kz_bitwise_and(out, x, y, err) KZ_APPLY_2(KZ_OP_BITWISE_AND, out, x, y, err)
#define kz_bitwise_or(out, x, y, err) KZ_APPLY_2(KZ_OP_BITWISE_OR, out, x, y, err)
#define kz_bitwise_xor(out, x, y, err) KZ_APPLY_2(KZ_OP_BITWISE_XOR, out, x, y, err)
#define kz_invert(out, x, err) KZ_APPLY_1(KZ_OP_INVERT, out, x, err)
#define kz_left_shift(out, x, y, err) KZ_APPLY_2(KZ_OP_LEFT_SHIFT, out, x, y, err)
#define kz_right_shift(out, x, y, err) KZ_APPLY_2(KZ_OP_RIGHT_SHIFT, out, x, y, err)
#define kz_bitwise_count(out, x, err) KZ_APPLY_1(KZ_OP_BITWISE_COUNT, out, x, err)
#define kz_sinc(out, x, err) KZ_APPLY_1(KZ_OP_SINC, out, x, err)
#define kz_erfinv(out, x, err) KZ_APPLY_1(KZ_OP_ERFINV, out, x, err)
#define kz_ndtr(out, x, err) KZ_APPLY_1(KZ_OP_NDTR, out, x, err)
#define kz_digamma(out, x, err) KZ_APPLY_1(KZ_OP_DIGAMMA, out, x, err)
#define kz_j0(out, x, err) KZ_APPLY_1(KZ_OP_J0, out, x, err)
#define kz_i0(out, x, err) KZ_APPLY_1(KZ_OP_I0, out, x, err)
#define kz_exp1(out, x, err) KZ_APPLY_1(KZ_OP_EXP1, out, x, err)
#define kz_expi(out, x, err) KZ_APPLY_1(KZ_OP_EXPI, out, x, err)
#define kz_sici_sine(out, x, err) KZ_APPLY_1(KZ_OP_SICI_SINE, out, x, err)
#define kz_sici_cosine(out, x, err) KZ_APPLY_1(KZ_OP_SICI_COSINE, out, x, err)
#define kz_complex(out, x, y, err) KZ_APPLY_2(KZ_OP_COMPLEX, out, x, y, err)
#define kz_isclose(out, x, y, err) KZ_APPLY_2(KZ_OP_ISCLOSE, out, x, y, err)
#define kz_nan_to_num(out, x, err) KZ_APPLY_1(KZ_OP_NAN_TO_NUM, out, x, err)

/*
 * The operations by name, with the result in an array that is there already and may be an operand:
 * kz_add_into(a, a, b, &err) is a += b.
 */
#define KZ_APPLY_INTO_1(op, into, x, err) kz_apply_into((into), (op), (err), KZ_ARGS(x))
#define KZ_APPLY_INTO_2(op, into, x, y, err) kz_apply_into((into), (op), (err), KZ_ARGS(x, y))
#define KZ_APPLY_INTO_3(op, into, x, y, z, err) \
	kz_apply_into((into), (op), (err), KZ_ARGS(x, y, z))

#define kz_add_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_ADD, into, x, y, err)
#define kz_subtract_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_SUBTRACT, into, x, y, err)
#define kz_multiply_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_MULTIPLY, into, x, y, err)
#define kz_divide_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_DIVIDE, into, x, y, err)
#define kz_floor_divide_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_FLOOR_DIVIDE, into, x, y, err)
#define kz_remainder_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_REMAINDER, into, x, y, err)
#define kz_fmod_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_FMOD, into, x, y, err)
#define kz_power_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_POWER, into, x, y, err)
#define kz_negative_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_NEGATIVE, into, x, err)
#define kz_positive_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_POSITIVE, into, x, err)
#define kz_absolute_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ABSOLUTE, into, x, err)
#define kz_sign_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SIGN, into, x, err)
#define kz_square_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SQUARE, into, x, err)
#define kz_reciprocal_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_RECIPROCAL, into, x, err)
#define kz_sqrt_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SQRT, into, x, err)
#define kz_rsqrt_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_RSQRT, into, x, err)
#define kz_cbrt_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_CBRT, into, x, err)
#define kz_gcd_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_GCD, into, x, y, err)
#define kz_lcm_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LCM, into, x, y, err)
#define kz_exp_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_EXP, into, x, err)
#define kz_exp2_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_EXP2, into, x, err)
#define kz_expm1_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_EXPM1, into, x, err)
#define kz_log_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_LOG, into, x, err)
#define kz_log2_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_LOG2, into, x, err)
#define kz_log10_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_LOG10, into, x, err)
#define kz_log1p_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_LOG1P, into, x, err)
#define kz_logaddexp_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LOGADDEXP, into, x, y, err)
#define kz_sin_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SIN, into, x, err)
#define kz_cos_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_COS, into, x, err)
#define kz_tan_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_TAN, into, x, err)
#define kz_arcsin_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ARCSIN, into, x, err)
#define kz_arccos_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ARCCOS, into, x, err)
#define kz_arctan_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ARCTAN, into, x, err)
#define kz_arctan2_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_ARCTAN2, into, x, y, err)
#define kz_sinh_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SINH, into, x, err)
#define kz_cosh_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_COSH, into, x, err)
#define kz_tanh_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_TANH, into, x, err)
#define kz_arcsinh_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ARCSINH, into, x, err)
#define kz_arccosh_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ARCCOSH, into, x, err)
#define kz_arctanh_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ARCTANH, into, x, err)
#define kz_hypot_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_HYPOT, into, x, y, err)
#define kz_degrees_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_DEGREES, into, x, err)
#define kz_radians_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_RADIANS, into, x, err)
#define kz_floor_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_FLOOR, into, x, err)
#define kz_ceil_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_CEIL, into, x, err)
#define kz_trunc_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_TRUNC, into, x, err)
#define kz_rint_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_RINT, into, x, err)
#define kz_copysign_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_COPYSIGN, into, x, y, err)
#define kz_nextafter_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_NEXTAFTER, into, x, y, err)
#define kz_ldexp_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LDEXP, into, x, y, err)
#define kz_frexp_fraction_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_FREXP_FRACTION, into, x, err)
#define kz_frexp_exponent_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_FREXP_EXPONENT, into, x, err)
#define kz_modf_fraction_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_MODF_FRACTION, into, x, err)
#define kz_modf_whole_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_MODF_WHOLE, into, x, err)
#define kz_isnan_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ISNAN, into, x, err)
#define kz_isinf_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ISINF, into, x, err)
#define kz_isfinite_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ISFINITE, into, x, err)
#define kz_signbit_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SIGNBIT, into, x, err)
#define kz_real_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_REAL, into, x, err)
#define kz_imag_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_IMAG, into, x, err)
#define kz_conjugate_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_CONJUGATE, into, x, err)
#define kz_angle_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ANGLE, into, x, err)
#define kz_erf_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ERF, into, x, err)
#define kz_erfc_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ERFC, into, x, err)
#define kz_lgamma_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_LGAMMA, into, x, err)
#define kz_tgamma_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_TGAMMA, into, x, err)
#define kz_sigmoid_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SIGMOID, into, x, err)
#define kz_relu_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_RELU, into, x, err)
#define kz_heaviside_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_HEAVISIDE, into, x, y, err)
#define kz_maximum_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_MAXIMUM, into, x, y, err)
#define kz_minimum_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_MINIMUM, into, x, y, err)
#define kz_fmax_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_FMAX, into, x, y, err)
#define kz_fmin_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_FMIN, into, x, y, err)
#define kz_clip_into(into, x, y, z, err) KZ_APPLY_INTO_3(KZ_OP_CLIP, into, x, y, z, err)
#define kz_where_into(into, x, y, z, err) KZ_APPLY_INTO_3(KZ_OP_WHERE, into, x, y, z, err)
/** kz_apply_into() with KZ_OP_IF_POSITIVE: x, y and z are arrays or numbers. */
#define kz_if_positive_into(into, x, y, z, err) \
	KZ_APPLY_INTO_3(KZ_OP_IF_POSITIVE, into, x, y, z, err)
#define kz_equal_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_EQUAL, into, x, y, err)
#define kz_not_equal_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_NOT_EQUAL, into, x, y, err)
#define kz_less_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LESS, into, x, y, err)
#define kz_less_equal_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LESS_EQUAL, into, x, y, err)
#define kz_greater_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_GREATER, into, x, y, err)
#define kz_greater_equal_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_GREATER_EQUAL, into, x, y, err)
#define kz_logical_and_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LOGICAL_AND, into, x, y, err)
#define kz_logical_or_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LOGICAL_OR, into, x, y, err)
#define kz_logical_xor_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LOGICAL_XOR, into, x, y, err)
#define kz_logical_not_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_LOGICAL_NOT, into, x, err)
#define kz_bitwise_and_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_BITWISE_AND, into, x, y, err)
#define kz_bitwise_or_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_BITWISE_OR, into, x, y, err)
#define kz_bitwise_xor_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_BITWISE_XOR, into, x, y, err)
#define kz_invert_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_INVERT, into, x, err)
#define kz_left_shift_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_LEFT_SHIFT, into, x, y, err)
#define kz_right_shift_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_RIGHT_SHIFT, into, x, y, err)
#define kz_bitwise_count_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_BITWISE_COUNT, into, x, err)
#define kz_sinc_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SINC, into, x, err)
#define kz_erfinv_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_ERFINV, into, x, err)
#define kz_ndtr_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_NDTR, into, x, err)
#define kz_digamma_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_DIGAMMA, into, x, err)
#define kz_j0_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_J0, into, x, err)
#define kz_i0_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_I0, into, x, err)
#define kz_exp1_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_EXP1, into, x, err)
#define kz_expi_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_EXPI, into, x, err)
#define kz_sici_sine_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SICI_SINE, into, x, err)
#define kz_sici_cosine_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_SICI_COSINE, into, x, err)
#define kz_complex_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_COMPLEX, into, x, y, err)
#define kz_isclose_into(into, x, y, err) KZ_APPLY_INTO_2(KZ_OP_ISCLOSE, into, x, y, err)
#define kz_nan_to_num_into(into, x, err) KZ_APPLY_INTO_1(KZ_OP_NAN_TO_NUM, into, x, err)

#endif
