/* SPDX-License-Identifier: MIT */
#ifndef NUMPY_CASES_H
#define NUMPY_CASES_H

/* The cases of bench_numpy, a row each, which numpy_python.py has by the same names. */

#define ITEM(label, function, number, type, form, which, ...) { \
	.name = label ", " #type, .run = function, .code = number, .dtype = TYPE_##type, \
	.shape = form, \
	.axis = which, __VA_ARGS__}
#define ONE(name, run, code, dtype, shape, axis) ITEM(name, run, code, dtype, shape, axis, .to = 0)
#define TYPE_bool_ KZ_BOOL
#define TYPE_int8 KZ_I8
#define TYPE_uint8 KZ_U8
#define TYPE_int32 KZ_I32
#define TYPE_int64 KZ_I64
#define TYPE_float16 KZ_F16
#define TYPE_float32 KZ_F32
#define TYPE_float64 KZ_F64
#define UNARY(name, code, dtype) ONE(#name, run_unary, KZ_OP_##code, dtype, FLAT, 0)
#define BINARY(name, code, dtype) ONE(#name, run_binary, KZ_OP_##code, dtype, FLAT, 0)
#define COMPARE(name, run, code, dtype) \
	ITEM(#name, run, KZ_OP_##code, dtype, FLAT, 0, .to = KZ_BOOL)
#define CONVERT(dtype, other) ITEM("to " #other, run_convert, 0, dtype, FLAT, 0, .to = TYPE_##other)
#define EVAL(expression, dtype) ITEM(expression, run_eval, 0, dtype, FLAT, 0, .text = expression)
#define FLOATS(name, run, code, shape) \
	ONE(name, run, code, float32, shape, 0), ONE(name, run, code, float64, shape, 0)
#define REALS(name, run, code, shape) ONE(name, run, code, float16, shape, 0), \
	FLOATS(name, run, code, shape)
#define REDUCE(name, code, dtype, shape, axis) \
	ONE(name, run_reduce, KZ_REDUCE_##code, dtype, shape, axis)
static const struct item items[] = {
	FLOATS("take", run_take, 0, FLAT),
	ONE("take rows", run_take, 0, float32, SQUARE, 0),
	ONE("take columns", run_take, 0, float32, SQUARE, 1),
	FLOATS("put", run_put, 0, FLAT),
	FLOATS("matrix times vector", run_vector, 0, SQUARE),
	ONE("argmax", run_reduce, KZ_REDUCE_ARGMAX, float32, FLAT, -1),
	ONE("argmax", run_reduce, KZ_REDUCE_ARGMAX, float64, FLAT, -1),
	ONE("argmax", run_reduce, KZ_REDUCE_ARGMAX, int32, FLAT, -1),
	ONE("argmax of rows", run_reduce, KZ_REDUCE_ARGMAX, float32, SQUARE, 1),
	ONE("argmin of columns", run_reduce, KZ_REDUCE_ARGMIN, float32, SQUARE, 0),
	ONE("nonzero", run_nonzero, 0, bool_, FLAT, 0),
	ONE("nonzero", run_nonzero, 0, float32, FLAT, 0),
	ONE("compress", run_compress, 0, float32, FLAT, 0),
	ONE("transpose (2, 0, 1)", run_axes, 0, float32, CUBE, 0),
	ONE("transpose (2, 0, 1)", run_axes, 0, float64, CUBE, 0),
	ONE("flip", run_flip, 0, float32, FLAT, 0),
	ONE("flip", run_flip, 0, float64, FLAT, 0),
	ONE("flip", run_flip, 0, uint8, FLAT, 0),
	ONE("flip rows", run_flip, 0, float32, SQUARE, 0),
	ONE("flip columns", run_flip, 0, float32, SQUARE, 1),
	ONE("floor_divide", run_binary, KZ_OP_FLOOR_DIVIDE, int32, FLAT, 0),
	ONE("floor_divide by 7", run_by_number, KZ_OP_FLOOR_DIVIDE, int32, FLAT, 0),
	ONE("remainder", run_binary, KZ_OP_REMAINDER, int32, FLAT, 0),
	ONE("floor_divide", run_binary, KZ_OP_FLOOR_DIVIDE, int64, FLAT, 0),
	FLOATS("remainder", run_binary, KZ_OP_REMAINDER, FLAT),
	FLOATS("floor_divide", run_binary, KZ_OP_FLOOR_DIVIDE, FLAT),
	ONE("std of all", run_reduce, KZ_REDUCE_STD, float32, FLAT, -1),
	ONE("std of rows", run_reduce, KZ_REDUCE_STD, float32, SQUARE, 1),
	ONE("std of columns", run_reduce, KZ_REDUCE_STD, float32, SQUARE, 0),
	REALS("sin", run_unary, KZ_OP_SIN, FLAT),
	REALS("exp", run_unary, KZ_OP_EXP, FLAT),
	REALS("tanh", run_unary, KZ_OP_TANH, FLAT),
	FLOATS("log", run_unary, KZ_OP_LOG, FLAT),
	FLOATS("log1p", run_unary, KZ_OP_LOG1P, FLAT),
	FLOATS("expm1", run_unary, KZ_OP_EXPM1, FLAT),
	FLOATS("cbrt", run_unary, KZ_OP_CBRT, FLAT),
	FLOATS("arctan", run_unary, KZ_OP_ARCTAN, FLAT),
	FLOATS("power", run_binary, KZ_OP_POWER, FLAT),
	BINARY(add, ADD, float16), BINARY(add, ADD, float32), BINARY(add, ADD, float64),
	BINARY(add, ADD, int32), BINARY(add, ADD, int8), BINARY(subtract, SUBTRACT, float32),
	BINARY(multiply, MULTIPLY, float32), BINARY(multiply, MULTIPLY, float64),
	BINARY(multiply, MULTIPLY, int32), BINARY(multiply, MULTIPLY, float16),
	BINARY(divide, DIVIDE, float16), BINARY(divide, DIVIDE, float32),
	BINARY(divide, DIVIDE, float64), BINARY(maximum, MAXIMUM, float32),
	BINARY(minimum, MINIMUM, float64), FLOATS("hypot", run_binary, KZ_OP_HYPOT, FLAT),
	FLOATS("arctan2", run_binary, KZ_OP_ARCTAN2, FLAT), BINARY(logaddexp, LOGADDEXP, float64),
	BINARY(bitwise_and, BITWISE_AND, int32),
	ONE("add by 7", run_by_number, KZ_OP_ADD, float32, FLAT, 0),
	UNARY(negative, NEGATIVE, float32), UNARY(absolute, ABSOLUTE, float32),
	UNARY(absolute, ABSOLUTE, int32), FLOATS("sqrt", run_unary, KZ_OP_SQRT, FLAT),
	UNARY(square, SQUARE, float32), UNARY(reciprocal, RECIPROCAL, float32),
	UNARY(floor, FLOOR, float32), UNARY(rint, RINT, float64),
	FLOATS("cos", run_unary, KZ_OP_COS, FLAT), FLOATS("tan", run_unary, KZ_OP_TAN, FLAT),
	FLOATS("sinh", run_unary, KZ_OP_SINH, FLAT), UNARY(arcsinh, ARCSINH, float64),
	UNARY(log2, LOG2, float32), UNARY(log10, LOG10, float64), UNARY(exp2, EXP2, float32),
	UNARY(sign, SIGN, float32), COMPARE(isnan, run_unary, ISNAN, float32),
	COMPARE(less, run_binary, LESS, float32), COMPARE(less, run_binary, LESS, float64),
	COMPARE(equal, run_binary, EQUAL, int32), EVAL("a * b + 2.5 * a - 1", float32),
	EVAL("a * b + 2.5 * a - 1", float64), CONVERT(float32, float64), CONVERT(float64, float32),
	CONVERT(int32, float32), CONVERT(float32, int32), CONVERT(float16, float32),
	CONVERT(float32, float16), CONVERT(uint8, float32),
	REDUCE("sum", SUM, float32, FLAT, -1), REDUCE("sum", SUM, float64, FLAT, -1),
	REDUCE("sum", SUM, int32, FLAT, -1), REDUCE("sum of rows", SUM, float32, SQUARE, 1),
	REDUCE("sum of columns", SUM, float32, SQUARE, 0), REDUCE("mean", MEAN, float32, FLAT, -1),
	REDUCE("max", MAX, float32, FLAT, -1), REDUCE("max of rows", MAX, float32, SQUARE, 1),
	REDUCE("min of columns", MIN, float32, SQUARE, 0), REDUCE("var", VAR, float64, FLAT, -1),
	REDUCE("count_nonzero", COUNT_NONZERO, float32, FLAT, -1),
	REDUCE("all", ALL, bool_, FLAT, -1),
};

/* Drawn at random. */
static const struct item drawn[] = {
	BINARY(lcm, LCM, int32), UNARY(arccos, ARCCOS, float64), BINARY(fmin, FMIN, float64),
	BINARY(heaviside, HEAVISIDE, float32),
	COMPARE(logical_not, run_unary, LOGICAL_NOT, float64), UNARY(arcsin, ARCSIN, float64),
	BINARY(gcd, GCD, int32), UNARY(arcsin, ARCSIN, float32),
	COMPARE(signbit, run_unary, SIGNBIT, float64),
	COMPARE(not_equal, run_binary, NOT_EQUAL, int32),
	ONE("where", run_where, 0, float32, FLAT, 0),
	ONE("concatenate", run_concatenate, 0, float32, FLAT, 0),
	ONE("tile", run_tile, 0, float64, FLAT, 0), ONE("fill", run_fill, 0, float32, FLAT, 0),
	ONE("dot", run_dot, 0, int32, FLAT, 0), REDUCE("any of columns", ANY, int32, SQUARE, 0),
	REDUCE("nanmin", NANMIN, int32, FLAT, -1), ONE("outer", run_outer, 0, float64, SQUARE, 0),
	ONE("transpose", run_transpose, 0, int32, SQUARE, 0),
	REDUCE("mean of rows", MEAN, float64, SQUARE, 1),
};

#endif
