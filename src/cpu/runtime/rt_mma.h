/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_RT_MMA_H
#define CPU_RUNTIME_RT_MMA_H

/*
 * Matrices of a warp, in C: the results of COLLECT_MMA and the operations after it. mma_encode
 * makes their details; for ldmatrix and stmatrix the details are the number of matrices, and
 * whether they are transposed.
 *
 * Numerics.  Products of floats up to 19 bits are exact.  They are added to C in f64, in order of
 * k, and the sum is rounded to the type of D once; f64 matrices are a chain of fma in order of k,
 * in the direction that the instruction names.
 * A NaN comes out as 0x7fffffff or 0x7fff.  Integers are exact, and wrap or saturate once.
 */
#include "cpu/runtime/rt.h"

#define MATRIX_TRANSPOSED 8u

/* Words: A, B and C, one after the other; result D. */
void mma_compute(struct rt_exchange *x, uint32_t details, uint32_t set);
/* Words: address (2), stride in elements; of a store the fragment after it.  Result of a load: the
 * fragment. */
void mma_load(struct rt_exchange *x, uint32_t details, uint32_t matrix, uint32_t set);
void mma_store(struct rt_exchange *x, uint32_t details, uint32_t set);
/* Words: address (2); of a store the fragment after it. */
void matrix_load(struct rt_exchange *x, uint32_t details, uint32_t set);
void matrix_store(struct rt_exchange *x, uint32_t details, uint32_t set);
/* An 8 x 8 matrix of 16 bits, one word of each thread. */
void matrix_transpose(struct rt_exchange *x, uint32_t set);

#endif
