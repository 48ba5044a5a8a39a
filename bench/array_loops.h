/* SPDX-License-Identifier: MIT */
#ifndef ARRAY_LOOPS_H
#define ARRAY_LOOPS_H

/*
 * The loops that array operations on the CPU device are compared with: plain C, built with
 * `gcc -O3 -march=native -fopenmp`, shared by as many threads as the device has.
 */
#include <stdint.h>

/* out = f(a, b) for `count` elements; a reduction writes one. */
typedef void array_loop(int64_t count, void *out, const void *a, const void *b);

/* How many threads share them. */
void loops_use_threads(int threads);

/* The largest difference of two numbers in the same place, as a share of them; NaN if one is.  They
 * are integers, or floats, of `size` bytes. */
double loops_difference(const void *a, const void *b, int64_t count, int size, int is_float);

array_loop loop_add_f32, loop_add_f64, loop_add_f16, loop_add_i8, loop_add_i32, loop_double_f32,
	loop_divide_f32, loop_sqrt_f64, loop_sin_f32, loop_sin_f64, loop_exp_f32, loop_power_f32,
	loop_less_f32, loop_cast_f32_f64, loop_copy_f32, loop_multiply_c64;
array_loop loop_sum_f32, loop_sum_f64, loop_sum_i32, loop_max_f32, loop_dot_f32;
/* A square matrix of `count` elements, row by row of the result. */
array_loop loop_transpose_f16, loop_transpose_f32, loop_transpose_f64, loop_transpose_i8;
/* The same, and b is a row that is added to all of them. */
array_loop loop_add_row_f32;
/* The sums of rows and columns of a square matrix. */
array_loop loop_rows_f32, loop_columns_f32;

#endif
