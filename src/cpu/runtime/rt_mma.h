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
#include "cpu/ptx/ptx_mma.h"
#include "cpu/runtime/rt.h"

#define MATRIX_TRANSPOSED 8u

/*
 * Where the elements of all fragments lie: element i of a lane is elements[i] + lanes[lane] beyond
 * the first one of the matrix, in the unit of the steps from row to row and column to column.  Each
 * bit of a lane's number and of an element's number moves it along rows or columns by a power of
 * two, whatever the other bits are.
 */
enum { MMA_MAX_ELEMENTS = 128 };
struct mma_layout {
	unsigned count; /* of elements; a power of two */
	size_t lanes[RT_GROUP];
	size_t elements[MMA_MAX_ELEMENTS];
};
void mma_lay_out(struct mma_layout *out, const struct mma *mma, enum mma_matrix matrix,
	size_t row_step, size_t column_step);

/* Words: A, B and C, one after the other; result D. */
void mma_compute(struct rt_exchange *x, uint32_t details, uint32_t set);
/* Words: address (2), stride in elements; of a store the fragment after it.  Result of a load: the
 * fragment. */
void mma_load(struct rt_exchange *x, uint32_t details, uint32_t matrix, uint32_t set);
void mma_store(struct rt_exchange *x, uint32_t details, uint32_t set);
/* Words: address (2); of a store the fragment after it. */
void matrix_load(struct rt_exchange *x, uint32_t details, uint32_t set);
void matrix_store(struct rt_exchange *x, uint32_t details, uint32_t set);
/* The pieces of memory, one for a lane, that a load or store of a matrix accesses together; false:
 * it is another operation. */
struct matrix_access {
	uint64_t at[RT_GROUP];
	uint32_t lanes;
	uint32_t size;
	bool writes;
};
bool matrix_find_access(struct matrix_access *out, const struct rt_exchange *x, uint32_t what,
	uint32_t set);
/* An 8 x 8 matrix of 16 bits, one word of each thread. */
void matrix_transpose(struct rt_exchange *x, uint32_t set);

#endif
