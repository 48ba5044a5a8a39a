/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_EVAL_H
#define KUDZU_EVAL_H

/*
 * Expressions as strings: numpy's notation, compiled into one kernel.
 *
 *	kz_array *out = NULL;
 *	if (kz_eval(&out, "2*a + sin(b) / n", NULL, &err, KZ_VARS(a, b, n))) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * The result has the bits, the type and the shape that the operations of ops.h give one after the
 * other: arrays broadcast, and C numbers and those in the text adapt to the arrays.  But the kernel
 * reads each array once, and writes no intermediate results.
 *
 * The operators, from the one that binds least to the one that binds most, as in Python:
 *
 *	x if c else y     c ? x : y               where(c, x, y)
 *	or ||             and &&                  not
 *	== != < <= > >=                           a < b < c is (a < b) and (b < c)
 *	|                 ^                 &     bits; unlike in C, they bind more than comparisons
 *	<< >>             + -               * / // %
 *	- + ~ !           before an operand
 *	**                from right to left; -a**2 is -(a**2)
 *
 * `/` is true division; `//` and `%` round to minus infinity.  `and`, `or` and `not` give bool;
 * both sides are computed.  As in numpy, a constant exponent can select another operation: a**2 is
 * square(a), and for floats a**0.5 is sqrt(a) and a**-1 is reciprocal(a).
 *
 * Functions are the operations of ops.h by name: sin(a), maximum(a, b), where(c, x, y),
 * isclose(a, b) or isclose(a, b, rtol, atol, equal_nan), nan_to_num(a, nan, posinf, neginf);
 * also abs, acos, acosh, arg, asin, asinh, atan, atan2, atanh, bitwise_not, conj, deg2rad, fix,
 * gamma, max, min, mod, pow, rad2deg, round; and the dtypes: float32(a).  Numbers are 7, 0x1F,
 * 0b101, 0o17, 2.5, 1e-3, 2j.  The constants pi, e, inf, nan, True, False, true and false yield to
 * variables of that name.  White space and line breaks do not matter, nor does the program's
 * locale.
 *
 * An error has its place in the text in err.line and err.column, and the text with a caret in
 * err.log.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A variable of an expression: a name of ASCII letters, digits and _, and a value. */
typedef struct kz_var {
	const char *name;  /**< as the expression has it */
	kz_arg value;      /**< KZ_ARG(x): an array or a number */
} kz_var;

/** A list of variables, as KZ_VARS makes it. */
typedef struct kz_vars {
	const kz_var *items; /**< `count` of them, borrowed */
	size_t count;        /**< 0 to 64 by KZ_VARS; any number otherwise */
} kz_vars;

/** Make a variable; `name` is borrowed. */
KZ_INLINE kz_var kz_var_make(const char *name, kz_arg value)
{
	kz_var var = {name, value};
	return var;
}

/**
 * Compute an expression.
 *
 * @param out set to the result, NULL on failure.  If the options have `into`, it is set to that
 *        array with one more reference, and may be NULL.
 * @param text the expression.
 * @param options as for kz_apply: array for the result, stream, dtype; NULL for the defaults.
 * @param vars KZ_VARS(a, b, n).  Variables that the text does not use are ignored.
 * @return KZ_OK; KZ_COMPILE for a text that is not an expression, for unknown names and for
 *         functions with too many or too few operands; KZ_INVALID for types, shapes, devices or a
 *         stream that do not fit, with what was found, and for more than 192 operations and
 *         operands; KZ_RANGE for a number that does not fit its type; KZ_DEVICE_MEMORY;
 *         KZ_NO_COMPILER.
 * Ownership: release the result with kz_array_release.
 * Async: returns before the work is done.  You may release the operands at once.
 */
KZ_API KZ_NODISCARD kz_status kz_eval(kz_array **out, const char *text,
	const kz_op_options *options, kz_error *err, kz_vars vars);

/**
 * Compute an expression and put the result into an array, which may be one of the variables; as
 * kz_eval.
 *
 * kz_eval_into(a, "a * 2", &err, KZ_VARS(a)) doubles a; kz_eval(&a, "a * 2", ...) loses the old
 * array.
 */
KZ_API KZ_NODISCARD kz_status kz_eval_into(kz_array *into, const char *text, kz_error *err,
	kz_vars vars);

/**
 * Compute an expression with an array of variables, for bindings and computed lists; as kz_eval.
 */
KZ_API KZ_NODISCARD kz_status kz_eval_vars(kz_array **out, const char *text,
	const kz_op_options *options, const kz_var *vars, size_t count, kz_error *err);

/**
 * Compile the kernel that kz_eval will need, and launch nothing.
 *
 * A program that does this at its start for its expressions and operations ("a + b") does not wait
 * for the compiler later.
 *
 *	kz_eval_prepare(dev, "2*a + b", NULL, &err,
 *		KZ_VARS(KZ_VAR("a", KZ_ARRAY_OF(KZ_F32)), KZ_VAR("b", KZ_ARRAY_OF(KZ_F32))))
 *
 * With KZ_ARRAY_OF the kernel is the one for arrays without gaps, of one shape, with up to 2^31 - 1
 * elements.  For other layouts pass such arrays, and `into` if the result goes into an array.  Of
 * numbers only the type matters.  kz_device_kernel_stats counts the compiles.
 *
 * @param vars KZ_VARS(...): arrays, KZ_ARRAY_OF(dtype) or numbers.
 * @return as kz_eval.
 * Threads: any, several at once.
 */
KZ_API KZ_NODISCARD kz_status kz_eval_prepare(kz_device *dev, const char *text,
	const kz_op_options *options, kz_error *err, kz_vars vars);

/** Make an argument that stands for an array without gaps in kz_eval_prepare. */
KZ_INLINE kz_arg kz_arg_array_of(kz_dtype dtype)
{
	return kz_arg_uint(KZ_ARG_ARRAY_OF, dtype, 0);
}

/** An array without gaps, for kz_eval_prepare; kz_arg_array_of(). */
#define KZ_ARRAY_OF(dtype) kz_arg_array_of(dtype)

#ifndef __cplusplus
#define KZ_VAR_DEFINE(suffix, type) \
	KZ_INLINE kz_var kz_var_##suffix(type value, const char *name) \
	{ \
		return kz_var_make(name, kz_arg_##suffix(value)); \
	}
KZ_VAR_DEFINE(bool, _Bool)
KZ_VAR_DEFINE(char, char)
KZ_VAR_DEFINE(schar, signed char)
KZ_VAR_DEFINE(short, short)
KZ_VAR_DEFINE(sint, int)
KZ_VAR_DEFINE(long, long)
KZ_VAR_DEFINE(llong, long long)
KZ_VAR_DEFINE(uchar, unsigned char)
KZ_VAR_DEFINE(ushort, unsigned short)
KZ_VAR_DEFINE(unsigned, unsigned int)
KZ_VAR_DEFINE(ulong, unsigned long)
KZ_VAR_DEFINE(ullong, unsigned long long)
KZ_VAR_DEFINE(f32, float)
KZ_VAR_DEFINE(f64, double)
KZ_VAR_DEFINE(c64, float _Complex)
KZ_VAR_DEFINE(c128, double _Complex)
KZ_VAR_DEFINE(array, const kz_array *)
KZ_VAR_DEFINE(host, const volatile void *)
KZ_VAR_DEFINE(self, kz_arg)
#undef KZ_VAR_DEFINE

/** Return the variable itself, for KZ_VARS. */
KZ_INLINE kz_var kz_var_keep(kz_var value, const char *name)
{
	(void)name;
	return value;
}

/** A variable with a name, "n", and its value: an array or a number. */
#define KZ_VAR(name, value) kz_var_make((name), KZ_ARG(value))
#define KZ_VAR_NAMED(x) _Generic((x), kz_var: kz_var_keep, \
	_Bool: kz_var_bool, char: kz_var_char, \
	signed char: kz_var_schar, short: kz_var_short, int: kz_var_sint, \
	long: kz_var_long, long long: kz_var_llong, \
	unsigned char: kz_var_uchar, unsigned short: kz_var_ushort, unsigned int: kz_var_unsigned, \
	unsigned long: kz_var_ulong, unsigned long long: kz_var_ullong, \
	float: kz_var_f32, double: kz_var_f64, \
	float _Complex: kz_var_c64, double _Complex: kz_var_c128, \
	kz_array *: kz_var_array, const kz_array *: kz_var_array, \
	kz_arg: kz_var_self, default: kz_var_host)(x, #x)
/**
 * Capture 0 to 64 C variables with their names: KZ_VARS(a, b, n).  KZ_VAR gives a name to any
 * other expression, and to a macro: KZ_VARS(a, KZ_VAR("n", 2 * count)).  The list lives until the
 * end of the enclosing block (in C++: of the full expression).
 */
#define KZ_VARS(...) KZ_PP_CAT(KZ_VARS_, KZ_PP_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define KZ_VARS_1(...) ((kz_vars){NULL, 0})
#define KZ_VARS_0(...) ((kz_vars){ \
	(const kz_var[]){KZ_PP_MAP(KZ_VAR_NAMED, __VA_ARGS__)}, KZ_PP_COUNT(__VA_ARGS__)})
#else
}

template <class T>
kz_var kz_var_of(const char *name, const T &value)
{
	return kz_var_make(name, kz_arg_of(value));
}

inline kz_var kz_var_of(const char *, const kz_var &value) { return value; }

/** The list behind KZ_VARS in C++. */
template <size_t N>
struct kz_var_list {
	kz_var items[N ? N : 1];
	operator kz_vars() const { return kz_vars{N ? items : nullptr, N}; }
};

template <class... T>
kz_var_list<sizeof...(T)> kz_vars_capture(const T &...vars)
{
	return kz_var_list<sizeof...(T)>{{vars...}};
}

#define KZ_VAR(name, value) kz_var_of((name), (value))
#define KZ_VAR_NAMED(x) kz_var_of(#x, (x))
#define KZ_VARS(...) KZ_PP_CAT(KZ_VARS_, KZ_PP_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define KZ_VARS_1(...) kz_vars_capture()
#define KZ_VARS_0(...) kz_vars_capture(KZ_PP_MAP(KZ_VAR_NAMED, __VA_ARGS__))
#endif

#endif
