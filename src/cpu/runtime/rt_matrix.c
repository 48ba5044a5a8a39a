/* SPDX-License-Identifier: MIT */
/* Loads and stores of matrices (wmma, ldmatrix, stmatrix); see rt_mma.h. */
#include "base/common.h"

#include "cpu/ptx/ptx_mma.h"
#include "cpu/runtime/rt_mma.h"

#include <string.h>

static uint8_t *rt_matrix_address_of(const struct rt_exchange *x, unsigned lane)
{
	return (uint8_t *)(uintptr_t)(x->words[0][lane] | (uint64_t)x->words[1][lane] << 32);
}

/* wmma: the distance in bits from the address of the matrix to an element.  Rows or columns are
 * `stride` elements apart. */
static uint64_t rt_matrix_offset_of(const struct mma *mma, enum mma_matrix matrix, unsigned lane,
	unsigned i, uint32_t stride)
{
	struct mma_place place = mma_place(mma, matrix, lane, i);
	uint64_t line = mma->by_column[0] ? place.column : place.row;
	uint64_t within = mma->by_column[0] ? place.row : place.column;
	return (line * stride + within) * mma_bits(mma->types[matrix]);
}

/* Elements of less than a byte are loaded as words, in which they lie as in memory. */
static unsigned rt_matrix_piece_bits(const struct mma *mma, enum mma_matrix matrix)
{
	unsigned bits = mma_bits(mma->types[matrix]);
	return bits < 8 ? 32 : bits;
}

static void rt_matrix_load_lane(struct rt_exchange *x, const struct mma *mma,
	enum mma_matrix matrix, unsigned lane)
{
	unsigned bits = mma_bits(mma->types[matrix]);
	unsigned piece = rt_matrix_piece_bits(mma, matrix);
	unsigned count = mma_elements(mma, matrix) * bits / piece;
	uint32_t words[RT_WORDS] = {0};
	for (unsigned i = 0; i < count; i++) {
		uint64_t offset = rt_matrix_offset_of(mma, matrix, lane, i * piece / bits,
			x->words[2][lane]);
		memcpy((uint8_t *)words + i * piece / 8, rt_matrix_address_of(x, lane) + offset / 8,
			piece / 8);
	}
	for (unsigned i = 0; i < mma_words(mma, matrix); i++) {
		x->words[i][lane] = words[i];
	}
}

void mma_load(struct rt_exchange *x, uint32_t details, uint32_t matrix, uint32_t set)
{
	struct mma mma = mma_decode(details);
	for (unsigned lane = 0; lane < RT_GROUP; lane++) {
		if (set >> lane & 1) {
			rt_matrix_load_lane(x, &mma, (enum mma_matrix)matrix, lane);
		}
	}
}

static void rt_matrix_store_lane(const struct rt_exchange *x, const struct mma *mma, unsigned lane)
{
	unsigned size = mma_bits(mma->types[MMA_D]) / 8;
	uint32_t words[RT_WORDS];
	for (unsigned i = 0; i < mma_words(mma, MMA_D); i++) {
		words[i] = x->words[3 + i][lane];
	}
	for (unsigned i = 0; i < mma_elements(mma, MMA_D); i++) {
		uint64_t offset = rt_matrix_offset_of(mma, MMA_D, lane, i, x->words[2][lane]);
		memcpy(rt_matrix_address_of(x, lane) + offset / 8, (uint8_t *)words
			+ (size_t)i * size, size);
	}
}

void mma_store(struct rt_exchange *x, uint32_t details, uint32_t set)
{
	struct mma mma = mma_decode(details);
	for (unsigned lane = 0; lane < RT_GROUP; lane++) {
		if (set >> lane & 1) {
			rt_matrix_store_lane(x, &mma, lane);
		}
	}
}

/* PTX ISA 9.7.14.5.15: thread `lane` has elements 0 and 1 of an 8 x 8 matrix, in one word. */
static struct mma_place rt_matrix_pair_place(unsigned lane, unsigned i, bool transposed)
{
	unsigned outer = lane / 4;
	unsigned inner = lane % 4 * 2 + i;
	return transposed ? (struct mma_place){inner, outer} : (struct mma_place){outer, inner};
}

typedef uint16_t matrix_rows[8][8];

static void rt_matrix_give_pairs(struct rt_exchange *x, uint32_t set, unsigned word,
	matrix_rows rows, bool transposed)
{
	for (unsigned lane = 0; lane < RT_GROUP; lane++) {
		struct mma_place low = rt_matrix_pair_place(lane, 0, transposed);
		struct mma_place high = rt_matrix_pair_place(lane, 1, transposed);
		if (set >> lane & 1) {
			x->words[word][lane] = rows[low.row][low.column]
				| (uint32_t)rows[high.row][high.column] << 16;
		}
	}
}

static void rt_matrix_take_pairs(const struct rt_exchange *x, uint32_t set, unsigned word,
	matrix_rows rows, bool transposed)
{
	for (unsigned lane = 0; lane < RT_GROUP; lane++) {
		for (unsigned i = 0; i < 2; i++) {
			struct mma_place place = rt_matrix_pair_place(lane, i, transposed);
			rows[place.row][place.column] = set >> lane & 1
				? (uint16_t)(x->words[word][lane] >> (16 * i)) : 0;
		}
	}
}

/* Threads 8 * i to 8 * i + 7 have the addresses of the rows of matrix i. */
void matrix_load(struct rt_exchange *x, uint32_t details, uint32_t set)
{
	unsigned count = details & (MATRIX_TRANSPOSED - 1);
	matrix_rows rows[4];
	memset(rows, 0, sizeof(rows));
	for (unsigned lane = 0; lane < 8 * count; lane++) {
		if (set >> lane & 1) {
			memcpy(rows[lane / 8][lane % 8], rt_matrix_address_of(x, lane),
				sizeof(rows[0][0]));
		}
	}
	for (unsigned i = 0; i < count; i++) {
		rt_matrix_give_pairs(x, set, i, rows[i], details & MATRIX_TRANSPOSED);
	}
}

void matrix_store(struct rt_exchange *x, uint32_t details, uint32_t set)
{
	unsigned count = details & (MATRIX_TRANSPOSED - 1);
	matrix_rows rows[4];
	for (unsigned i = 0; i < count; i++) {
		rt_matrix_take_pairs(x, set, 2 + i, rows[i], details & MATRIX_TRANSPOSED);
	}
	for (unsigned lane = 0; lane < 8 * count; lane++) {
		if (set >> lane & 1) {
			memcpy(rt_matrix_address_of(x, lane), rows[lane / 8][lane % 8],
				sizeof(rows[0][0]));
		}
	}
}

void matrix_transpose(struct rt_exchange *x, uint32_t set)
{
	matrix_rows rows;
	rt_matrix_take_pairs(x, set, 0, rows, false);
	rt_matrix_give_pairs(x, set, 0, rows, true);
}
