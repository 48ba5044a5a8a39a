/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_PTX_MMA_H
#define CPU_PTX_PTX_MMA_H

/*
 * Products of matrices by a warp, D = A * B + C, as data: sizes, types, and which thread holds
 * which elements (its fragment).  A is m x k, B is k x n, C and D are m x n.
 *
 * Of mma the PTX ISA says who holds what; of wmma it does not, so there a matrix is cut into the
 * pieces that mma has.  A fragment is a number of 32-bit words, its elements from the lowest bit
 * on.
 */
#include "cpu/ptx/ptx.h"

enum mma_matrix { MMA_A, MMA_B, MMA_C, MMA_D };

/* Accumulators are of the first four. */
enum mma_type {
	MMA_F16, MMA_F32, MMA_S32, MMA_F64, MMA_BF16, MMA_TF32, MMA_S8, MMA_U8, MMA_S4, MMA_U4,
	MMA_B1, MMA_E4M3, MMA_E5M2
};

enum mma_round { MMA_NEAREST, MMA_ZERO, MMA_DOWN, MMA_UP };

struct mma {
	unsigned m, n, k;
	enum mma_type types[4];  /* by matrix */
	bool by_column[2];       /* A and B; of a load or store: the matrix, in the first */
	bool is_wmma;
	bool saturates;
	bool is_and;             /* of single bits: and, not exclusive or */
	enum mma_round round;    /* for f64, which has neither */
};

/* What the opcode of mma, wmma.mma, wmma.load or wmma.store says; false: nothing that exists. */
bool mma_of(struct mma *out, const struct ptx_inst *inst);
/* The matrix of a load or store. */
enum mma_matrix mma_moved(const struct ptx_inst *inst);

/* All of it in 24 bits. */
uint32_t mma_encode(const struct mma *mma);
struct mma mma_decode(uint32_t bits);

unsigned mma_bits(enum mma_type type);
/* Of one thread's fragment. */
unsigned mma_elements(const struct mma *mma, enum mma_matrix matrix);
unsigned mma_words(const struct mma *mma, enum mma_matrix matrix);
/* Small matrices of f16: four products at once, each by 8 threads. */
bool mma_is_quad(const struct mma *mma);

/* A load or store of wmma: how many rows or columns of the matrix lie in memory each as one piece,
 * and how many elements each has. */
unsigned mma_lines(const struct mma *mma, enum mma_matrix matrix);
unsigned mma_line_length(const struct mma *mma, enum mma_matrix matrix);

/* Bytes of a row that ldmatrix and stmatrix move. */
enum { MMA_ROW = 16 };

struct mma_place {
	unsigned row, column;
};

/* Where an element of a thread's fragment stands. */
struct mma_place mma_place(const struct mma *mma, enum mma_matrix matrix, unsigned lane,
	unsigned element);

/* The registers that operand `index` of an instruction on fragments lists; false: of no other. */
bool mma_operand(const struct ptx_inst *inst, size_t index, enum ptx_type *type, size_t *count);

#endif
