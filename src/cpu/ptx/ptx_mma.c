/* SPDX-License-Identifier: MIT */
/* See ptx_mma.h. */
#include "base/common.h"

#include "cpu/ptx/ptx_mma.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	uint8_t bits;
} types[] = {
	[MMA_F16] = {"f16", 16}, [MMA_F32] = {"f32", 32}, [MMA_S32] = {"s32", 32},
	[MMA_F64] = {"f64", 64}, [MMA_BF16] = {"bf16", 16}, [MMA_TF32] = {"tf32", 32},
	[MMA_S8] = {"s8", 8}, [MMA_U8] = {"u8", 8}, [MMA_S4] = {"s4", 4}, [MMA_U4] = {"u4", 4},
	[MMA_B1] = {"b1", 1}, [MMA_E4M3] = {"e4m3", 8}, [MMA_E5M2] = {"e5m2", 8},
};

/* The matrices of wmma: what each type of A and B goes with, and in which shapes. */
enum { SHAPES_256 = 1, SHAPE_TF32 = 2, SHAPE_F64 = 4, SHAPE_4BIT = 8, SHAPE_1BIT = 16 };

static const struct {
	enum mma_type factor, sum;
	uint8_t shapes;
} families[] = {
	{MMA_F16, MMA_F16, SHAPES_256}, {MMA_F16, MMA_F32, SHAPES_256},
	{MMA_BF16, MMA_F32, SHAPES_256}, {MMA_S8, MMA_S32, SHAPES_256},
	{MMA_U8, MMA_S32, SHAPES_256}, {MMA_TF32, MMA_F32, SHAPE_TF32},
	{MMA_F64, MMA_F64, SHAPE_F64}, {MMA_S4, MMA_S32, SHAPE_4BIT},
	{MMA_U4, MMA_S32, SHAPE_4BIT}, {MMA_B1, MMA_S32, SHAPE_1BIT},
};

static unsigned mma_shape_of(const struct mma *mma)
{
	static const struct {
		uint8_t m, n, k, shape;
	} shapes[] = {
		{16, 16, 16, SHAPES_256}, {32, 8, 16, SHAPES_256}, {8, 32, 16, SHAPES_256},
		{16, 16, 8, SHAPE_TF32}, {8, 8, 4, SHAPE_F64}, {8, 8, 32, SHAPE_4BIT},
		{8, 8, 128, SHAPE_1BIT},
	};
	for (size_t i = 0; i < countof(shapes); i++) {
		if (mma->m == shapes[i].m && mma->n == shapes[i].n && mma->k == shapes[i].k) {
			return shapes[i].shape;
		}
	}
	return 0;
}

enum mma_matrix mma_moved(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_WMMA_STORE ? MMA_D : strstr(inst->text, ".a.") ? MMA_A
		: strstr(inst->text, ".b.") ? MMA_B : MMA_C;
}

static bool mma_is_move(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_WMMA_LOAD || inst->op == PTX_OP_WMMA_LOAD_BITS
		|| inst->op == PTX_OP_WMMA_STORE;
}

/* Small elements of a matrix are packed along k, so its layout must have those together. */
static bool mma_check_move(const struct mma *mma, enum mma_matrix matrix)
{
	bool is_factor = matrix == MMA_A || matrix == MMA_B;
	for (size_t i = 0; i < countof(families); i++) {
		if ((families[i].shapes & mma_shape_of(mma)) == 0) {
			continue;
		}
		if (!is_factor && families[i].sum == mma->types[matrix]) {
			return true;
		}
		if (is_factor && families[i].factor == mma->types[matrix]) {
			return mma_bits(mma->types[matrix]) >= 8
				|| mma->by_column[0] == (matrix == MMA_B);
		}
	}
	return false;
}

/* The parts of an opcode that are types, in order. */
static size_t mma_find_types(enum mma_type out[4], const char *text)
{
	size_t count = 0;
	for (const char *at = text; (at = strchr(at, '.')) && count < 4;) {
		size_t len = strcspn(++at, ".");
		for (size_t i = 0; i < countof(types); i++) {
			if (strlen(types[i].name) == len && memcmp(types[i].name, at, len) == 0) {
				out[count++] = (enum mma_type)i;
				break;
			}
		}
	}
	return count;
}

/* wmma.mma.dtype.ctype; mma and other wmma: dtype.atype.btype.ctype. */
static bool mma_read_types(struct mma *out, const struct ptx_inst *inst)
{
	enum mma_type found[4] = {MMA_F16};
	size_t count = mma_find_types(found, inst->text);
	if (mma_is_move(inst)) {
		enum mma_matrix matrix = mma_moved(inst);
		out->types[matrix] = found[0];
		return count == 1 && mma_check_move(out, matrix);
	}
	if (count < 2) {
		return false;
	}
	out->types[MMA_D] = found[0];
	out->types[MMA_C] = found[count - 1];
	if (count == 4) {
		out->types[MMA_A] = found[1];
		out->types[MMA_B] = found[2];
	}
	return count == (inst->op == PTX_OP_WMMA_F16 ? 2 : 4);
}

static void mma_read_layouts(struct mma *out, const char *text)
{
	size_t count = 0;
	for (const char *at = text; (at = strchr(at, '.')) && count < 2; at++) {
		bool column = strncmp(at, ".col", 4) == 0;
		if (column || strncmp(at, ".row", 4) == 0) {
			out->by_column[count++] = column;
		}
	}
}

bool mma_of(struct mma *out, const struct ptx_inst *inst)
{
	*out = (struct mma){.is_wmma = strncmp(inst->text, "wmma", 4) == 0};
	for (const char *at = inst->text; (at = strstr(at, ".m")); at++) {
		if (sscanf(at, ".m%un%uk%u", &out->m, &out->n, &out->k) == 3) {
			break;
		}
	}
	out->saturates = ptx_has(&inst->mods, PTX_MOD_SATFINITE);
	out->is_and = ptx_has(&inst->mods, PTX_MOD_AND);
	out->round = ptx_has(&inst->mods, PTX_MOD_RZ) ? MMA_ZERO
		: ptx_has(&inst->mods, PTX_MOD_RM) ? MMA_DOWN
		: ptx_has(&inst->mods, PTX_MOD_RP) ? MMA_UP : MMA_NEAREST;
	mma_read_layouts(out, inst->text);
	if (!mma_read_types(out, inst)) {
		return false;
	}
	if (mma_is_move(inst) || inst->op == PTX_OP_WMMA_F16) {
		return true;
	}
	bool may_be_other = mma_is_quad(out) || (out->is_wmma && mma_bits(out->types[MMA_A]) >= 8);
	bool narrows = out->types[MMA_D] == MMA_F16 && out->types[MMA_C] == MMA_F32;
	bool same = out->types[MMA_D] == out->types[MMA_C];
	return (may_be_other || (!out->by_column[0] && out->by_column[1]))
		&& (mma_is_quad(out) ? !narrows : same);
}

/* Bit fields, the lowest first: log2 of m, n and k, types of A, B, C and D, the rest. */
uint32_t mma_encode(const struct mma *mma)
{
	unsigned rest = mma->types[MMA_A] == MMA_F64 ? mma->round
		: (unsigned)mma->saturates | (unsigned)mma->is_and << 1;
	const unsigned values[][2] = {
		{(unsigned)__builtin_ctz(mma->m) - 3, 2}, {(unsigned)__builtin_ctz(mma->n) - 3, 2},
		{(unsigned)__builtin_ctz(mma->k) - 2, 3}, {mma->types[MMA_A], 4},
		{mma->types[MMA_B], 4}, {mma->types[MMA_C], 2}, {mma->types[MMA_D], 2},
		{mma->by_column[0], 1}, {mma->by_column[1], 1}, {mma->is_wmma, 1},
		{rest, 2},
	};
	uint32_t bits = 0;
	unsigned at = 0;
	for (size_t i = 0; i < countof(values); i++) {
		bits |= values[i][0] << at;
		at += values[i][1];
	}
	return bits;
}

struct mma mma_decode(uint32_t bits)
{
	struct mma mma = {
		.m = 8u << (bits & 3), .n = 8u << (bits >> 2 & 3), .k = 4u << (bits >> 4 & 7),
		.types = {bits >> 7 & 15, bits >> 11 & 15, bits >> 15 & 3, bits >> 17 & 3},
		.by_column = {bits >> 19 & 1, bits >> 20 & 1}, .is_wmma = bits >> 21 & 1,
	};
	if (mma.types[MMA_A] == MMA_F64) {
		mma.round = bits >> 22 & 3;
	} else {
		mma.saturates = bits >> 22 & 1;
		mma.is_and = bits >> 23 & 1;
	}
	return mma;
}

unsigned mma_bits(enum mma_type type)
{
	return types[type].bits;
}

bool mma_is_quad(const struct mma *mma)
{
	return mma->k == 4 && mma->types[MMA_A] == MMA_F16 && !mma->is_wmma;
}

/* Elements that are different from each other. */
static unsigned mma_own_elements(const struct mma *mma, enum mma_matrix matrix)
{
	unsigned all = matrix == MMA_A ? mma->m * mma->k : matrix == MMA_B ? mma->k * mma->n
		: mma->m * mma->n;
	return all / (mma_is_quad(mma) ? 8 : 32);
}

/* PTX ISA 9.7.14.4.1: f16 factors of wmma have 16 elements in all shapes. */
unsigned mma_elements(const struct mma *mma, enum mma_matrix matrix)
{
	bool is_factor = matrix == MMA_A || matrix == MMA_B;
	return mma->is_wmma && is_factor && mma->types[matrix] == MMA_F16 ? 16
		: mma_own_elements(mma, matrix);
}

unsigned mma_words(const struct mma *mma, enum mma_matrix matrix)
{
	return mma_elements(mma, matrix) * mma_bits(mma->types[matrix]) / 32;
}

static unsigned mma_rows(const struct mma *mma, enum mma_matrix matrix)
{
	return matrix == MMA_B ? mma->k : mma->m;
}

static unsigned mma_columns(const struct mma *mma, enum mma_matrix matrix)
{
	return matrix == MMA_A ? mma->k : mma->n;
}

unsigned mma_lines(const struct mma *mma, enum mma_matrix matrix)
{
	return mma->by_column[0] ? mma_columns(mma, matrix) : mma_rows(mma, matrix);
}

unsigned mma_line_length(const struct mma *mma, enum mma_matrix matrix)
{
	return mma->by_column[0] ? mma_rows(mma, matrix) : mma_columns(mma, matrix);
}

/* PTX ISA 9.7.14.5.1: m8n8k4 of f16. */
static struct mma_place mma_quad_place(const struct mma *mma, enum mma_matrix matrix, unsigned lane,
	unsigned i)
{
	unsigned high = lane < 16 ? 0 : 4;
	unsigned mine = lane % 4 + high;
	switch (matrix) {
	case MMA_A:
		return mma->by_column[0] ? (struct mma_place){i + high, lane % 4}
			: (struct mma_place){mine, i};
	case MMA_B:
		return mma->by_column[1] ? (struct mma_place){i, mine}
			: (struct mma_place){lane % 4, i + high};
	default:
		break;
	}
	return mma->types[matrix] == MMA_F16 ? (struct mma_place){mine, i}
		: (struct mma_place){(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
}

/* A word of a factor holds elements that follow each other along k; four threads have four such
 * words side by side, eight groups of threads eight rows of A or columns of B. */
static struct mma_place mma_factor_place(
	const struct mma *mma, enum mma_matrix matrix, unsigned lane, unsigned element)
{
	unsigned bits = mma_bits(mma->types[matrix]);
	unsigned per_word = bits < 32 ? 32 / bits : 1;
	unsigned group = lane / 4;
	unsigned word = element % mma_own_elements(mma, matrix) / per_word;
	unsigned steps = mma->k / (4 * per_word);
	unsigned k = lane % 4 * per_word + element % per_word;
	if (matrix == MMA_B) {
		return (struct mma_place){k + word % steps * 4 * per_word,
			word / steps * 8 + group};
	}
	unsigned halves = mma->m >= 16 ? 2 : 1;
	unsigned tile = word / (steps * halves);
	word %= steps * halves;
	return (struct mma_place){(tile * halves + word % halves) * 8 + group,
		k + word / halves * 4 * per_word};
}

/* Tiles of 16 x 8, or 8 x 8, along the rows; in each a thread has two neighbours of a row, and two
 * that are eight rows below. */
static struct mma_place mma_sum_place(const struct mma *mma, unsigned lane, unsigned element)
{
	unsigned halves = mma->m >= 16 ? 2 : 1;
	unsigned tile = element / (halves * 2);
	unsigned across = mma->n / 8;
	element %= halves * 2;
	return (struct mma_place){(tile / across * halves + element / 2) * 8 + lane / 4,
		tile % across * 8 + lane % 4 * 2 + element % 2};
}

struct mma_place mma_place(const struct mma *mma, enum mma_matrix matrix, unsigned lane,
	unsigned element)
{
	if (mma_is_quad(mma)) {
		return mma_quad_place(mma, matrix, lane, element);
	}
	return matrix == MMA_A || matrix == MMA_B ? mma_factor_place(mma, matrix, lane, element)
		: mma_sum_place(mma, lane, element);
}

bool mma_operand(const struct ptx_inst *inst, size_t index, enum ptx_type *type, size_t *count)
{
	static const enum mma_matrix order[] = {MMA_D, MMA_A, MMA_B, MMA_C};
	if (inst->op == PTX_OP_LDMATRIX || inst->op == PTX_OP_STMATRIX) {
		*type = PTX_B32;
		*count = ptx_has(&inst->mods, PTX_MOD_X1) ? 1 : ptx_has(&inst->mods, PTX_MOD_X2) ? 2
			: 4;
		return true;
	}
	struct mma mma;
	if (!mma_of(&mma, inst)) {
		return false;
	}
	enum mma_matrix matrix =
		mma_is_move(inst) ? mma_moved(inst) : order[index % countof(order)];
	enum mma_type is = mma.types[matrix];
	*type = is == MMA_F64 ? PTX_F64 : is == MMA_F32 ? PTX_F32 : is == MMA_S32 ? PTX_S32
		: PTX_B32;
	*count = mma_words(&mma, matrix) / (is == MMA_F64 ? 2 : 1);
	return true;
}
