/* SPDX-License-Identifier: MIT */
/* Loads and stores of matrices (wmma, ldmatrix, stmatrix); see rt_mma.h. */
#include "base/common.h"

#include "cpu/ptx/ptx_mma.h"
#include "cpu/runtime/rt_collect.h"
#include "cpu/runtime/rt_mma.h"

#include <string.h>

static uint8_t *rt_matrix_address_of(const struct rt_exchange *x, unsigned lane)
{
	return (uint8_t *)(uintptr_t)(x->words[0][lane] | (uint64_t)x->words[1][lane] << 32);
}

/* wmma: how a matrix lies in memory, in bits.  Rows or columns are `stride` elements apart. */
static void rt_matrix_lay_out(struct mma_layout *out, const struct mma *mma, enum mma_matrix matrix,
	uint32_t stride)
{
	const size_t bits = mma_bits(mma->types[matrix]), line = bits * stride;
	mma_lay_out(out, mma, matrix, mma->by_column[0] ? bits : line,
		mma->by_column[0] ? line : bits);
}

/* A matrix, or that part of it which a lane has. */
struct matrix_move {
	const struct mma *mma;
	enum mma_matrix matrix;
	bool stores;
	unsigned first, count;  /* words of the exchange */
	uint32_t stride;
	struct mma_layout layout;
};

/* The bits that lie in memory as they do in a fragment: an element, or several up to a double
 * word. */
static unsigned rt_matrix_piece(const struct mma_layout *layout, unsigned bits)
{
	unsigned piece = bits;
	while (piece < 64 && piece < bits * layout->count
	    && layout->elements[piece / bits] == piece) {
		piece *= 2;
	}
	return piece;
}

/* Move a lane's part between memory and its words. */
static void rt_matrix_move_lane(const struct matrix_move *m, uint8_t *memory, uint8_t *words)
{
	const unsigned bits = mma_bits(m->mma->types[m->matrix]);
	const unsigned piece = rt_matrix_piece(&m->layout, bits);
	const unsigned step = piece / bits;
#define EACH(size) \
	for (unsigned i = 0; i < m->layout.count; i += step, words += size) { \
		uint8_t *place = memory + m->layout.elements[i] / 8; \
		memcpy(m->stores ? place : words, m->stores ? words : place, size); \
	} \
	break
	switch (piece) {
	case 8:
		EACH(1);
	case 16:
		EACH(2);
	case 32:
		EACH(4);
	default:
		EACH(8);
	}
#undef EACH
}

static void rt_matrix_move(struct rt_exchange *x, struct matrix_move *m, uint32_t set)
{
	uint32_t words[RT_WORDS] = {0};
	for (uint32_t left = set; left != 0; left &= left - 1) {
		const unsigned lane = (unsigned)__builtin_ctz(left);
		if (left == set || x->words[2][lane] != m->stride) {
			m->stride = x->words[2][lane];
			rt_matrix_lay_out(&m->layout, m->mma, m->matrix, m->stride);
		}
		for (unsigned i = 0; i < m->count && m->stores; i++) {
			words[i] = x->words[m->first + i][lane];
		}
		rt_matrix_move_lane(m, rt_matrix_address_of(x, lane) + m->layout.lanes[lane] / 8,
			(uint8_t *)words);
		for (unsigned i = 0; i < m->count && !m->stores; i++) {
			x->words[m->first + i][lane] = words[i];
		}
	}
}

void mma_load(struct rt_exchange *x, uint32_t details, uint32_t matrix, uint32_t set)
{
	const struct mma mma = mma_decode(details);
	struct matrix_move move = {.mma = &mma, .matrix = (enum mma_matrix)matrix,
		.count = mma_words(&mma, (enum mma_matrix)matrix)};
	rt_matrix_move(x, &move, set);
}

void mma_store(struct rt_exchange *x, uint32_t details, uint32_t set)
{
	const struct mma mma = mma_decode(details);
	struct matrix_move move = {.mma = &mma, .matrix = MMA_D, .stores = true, .first = 3,
		.count = mma_words(&mma, MMA_D)};
	rt_matrix_move(x, &move, set);
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

/* --- What they access --- */

/* The rows of ldmatrix and stmatrix, whose addresses the lanes have. */
static void matrix_find_rows(struct matrix_access *out, const struct rt_exchange *x,
	uint32_t details, uint32_t set)
{
	const unsigned lanes = 8 * (details & (MATRIX_TRANSPOSED - 1));
	out->lanes = set & (lanes < RT_GROUP ? (1u << lanes) - 1 : UINT32_MAX);
	out->size = MMA_ROW;
	for (unsigned lane = 0; lane < RT_GROUP; lane++) {
		out->at[lane] = (uintptr_t)rt_matrix_address_of(x, lane);
	}
}

/* The rows or columns of a matrix of wmma, which begins at the address of all lanes. */
static void matrix_find_lines(struct matrix_access *out, const struct rt_exchange *x,
	uint32_t details, enum mma_matrix matrix, uint32_t set)
{
	const struct mma mma = mma_decode(details);
	const unsigned bits = mma_bits(mma.types[matrix]), lines = mma_lines(&mma, matrix);
	out->lanes = set & (lines < RT_GROUP ? (1u << lines) - 1 : UINT32_MAX);
	out->size = mma_line_length(&mma, matrix) * bits / 8;
	for (unsigned lane = 0; lane < RT_GROUP; lane++) {
		out->at[lane] = (uintptr_t)rt_matrix_address_of(x, lane)
			+ (uint64_t)x->words[2][lane] * bits / 8 * lane;
	}
}

bool matrix_find_access(struct matrix_access *out, const struct rt_exchange *x, uint32_t what,
	uint32_t set)
{
	const uint32_t details = what >> COLLECT_SHIFT;
	const enum collect op = (enum collect)(what & ((1u << COLLECT_SHIFT) - 1));
	switch (op) {
	case COLLECT_LDMATRIX:
	case COLLECT_STMATRIX:
		matrix_find_rows(out, x, details, set);
		break;
	case COLLECT_LOAD_A:
	case COLLECT_LOAD_B:
	case COLLECT_LOAD_C:
		matrix_find_lines(out, x, details, (enum mma_matrix)(op - COLLECT_LOAD_A), set);
		break;
	case COLLECT_STORE_D:
		matrix_find_lines(out, x, details, MMA_D, set);
		break;
	default:
		return false;
	}
	out->writes = op == COLLECT_STMATRIX || op == COLLECT_STORE_D;
	return true;
}
