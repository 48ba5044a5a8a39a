/* SPDX-License-Identifier: MIT */
/*
 * Matrices of a warp, from PTX, at both widths.  The places of elements come from the formulas of
 * the PTX ISA, shape by shape.  The references are loops over rows and columns, in integers or, for
 * floats, in f64 with the roundings of softfloat.h.
 */
#include "base/common.h"

#include "base/str.h"
#include "cpu/support/grid.h"
#include "cpu/random/softfloat.h"
#include "support/count.h"
#include "support/suite.h"

#include <check.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint32_t widths[] = {1, 32};

static uint32_t random_bits(void)
{
	static uint64_t state = 88172645463325252;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

/* Types of elements. */
static const struct type {
	const char *name;
	unsigned bits;
	const struct soft_format *format; /* NULL: integer */
	bool is_signed;
} types[] = {
	{"f16", 16, &soft_f16, true}, {"bf16", 16, &soft_bf16, true}, {"tf32", 32, &soft_f32, true},
	{"f32", 32, &soft_f32, true}, {"f64", 64, &soft_f64, true}, {"e4m3", 8, &soft_e4m3, true},
	{"e5m2", 8, &soft_e5m2, true}, {"s8", 8, NULL, true}, {"u8", 8, NULL, false},
	{"s4", 4, NULL, true}, {"u4", 4, NULL, false}, {"b1", 1, NULL, false},
	{"s32", 32, NULL, true},
};

static const struct type *type_named(const char *name)
{
	for (size_t i = 0; i < countof(types); i++) {
		if (strcmp(types[i].name, name) == 0) {
			return &types[i];
		}
	}
	ck_abort_msg("no type %s", name);
}

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double value_of(const struct type *type, uint64_t bits)
{
	if (type->format == &soft_f64) {
		double value;
		memcpy(&value, &bits, sizeof(value));
		return value;
	}
	if (strcmp(type->name, "tf32") == 0) {
		bits &= ~UINT64_C(0x1fff);
	}
	if (type->format) {
		return soft_double(soft_decode(type->format, bits));
	}
	uint64_t sign = UINT64_C(1) << (type->bits - 1);
	return type->is_signed && (bits & sign) ? (double)bits - 2.0 * (double)sign : (double)bits;
}

/* A small integer in floats, or any bits; often one that is about to overflow. */
static uint64_t pick(const struct type *type, bool any)
{
	if (any && strcmp(type->name, "s32") == 0 && random_bits() % 2) {
		return random_bits() % 2 ? 0x7fffffff - random_bits() % 64
			: 0x80000000 + random_bits() % 64;
	}
	uint64_t mask = type->bits == 64 ? UINT64_MAX : (UINT64_C(1) << type->bits) - 1;
	uint64_t bits = (random_bits() | (uint64_t)random_bits() << 32) & mask;
	if (!type->format || (any && type->bits < 64)) {
		return bits;
	}
	if (any) {
		return bits_of(((double)(bits % 2001) - 1000) / 7);
	}
	struct soft small = soft_decode(&soft_f64, bits_of((double)(bits % 9) - 4));
	return soft_encode(type->format, small, SOFT_NEAREST, false);
}

/* Elements of the bits of a thread. */
static void put(uint32_t *words, const struct type *type, unsigned i, uint64_t bits)
{
	unsigned at = i * type->bits;
	words[at / 32] |= (uint32_t)(bits << at % 32);
	if (type->bits == 64) {
		words[at / 32 + 1] |= (uint32_t)(bits >> 32);
	}
}

static uint64_t get(const uint32_t *words, const struct type *type, unsigned i)
{
	unsigned at = i * type->bits;
	if (type->bits == 64) {
		return words[at / 32] | (uint64_t)words[at / 32 + 1] << 32;
	}
	return words[at / 32] >> at % 32 & ((UINT64_C(1) << type->bits) - 1);
}

struct resident_place {
	unsigned row, column;
};

typedef struct resident_place place_fn(unsigned lane, unsigned i);

/* PTX ISA 9.7.14.5, "Matrix Fragments for mma.*": g is groupID, t threadID_in_group. */
#define PLACE(name, at_row, at_column) \
	static struct resident_place name(unsigned lane, unsigned i) \
	{ \
		unsigned g = lane >> 2, t = lane % 4; \
		(void)g, (void)t, (void)i; \
		return (struct resident_place){at_row, at_column}; \
	}
PLACE(q_a_row, lane < 16 ? lane % 4 : lane % 4 + 4, i)
PLACE(q_a_col, lane < 16 ? i % 4 : i % 4 + 4, lane % 4)
PLACE(q_b_row, lane % 4, lane < 16 ? i : i + 4)
PLACE(q_b_col, i, lane < 16 ? lane % 4 : lane % 4 + 4)
PLACE(q_c16, lane < 16 ? lane % 4 : lane % 4 + 4, i)
PLACE(q_c32, (lane & 1) + (i & 2) + (lane < 16 ? 0 : 4), (i & 4) + (lane & 2) + (i & 1))
PLACE(a_8_4, g, t)
PLACE(a_8_16, g, t * 4 + i)
PLACE(a_8_32, g, t * 8 + i)
PLACE(a_8_128, g, t * 32 + i)
PLACE(b_8_4, t, g)
PLACE(b_8_16, t * 4 + i, g)
PLACE(b_8_32, t * 8 + i, g)
PLACE(b_8_128, t * 32 + i, g)
PLACE(c_8, g, t * 2 + i)
PLACE(a_16_4, i == 0 ? g : g + 8, t)
PLACE(a_16_8_half, i < 2 ? g : g + 8, t * 2 + (i & 1))
PLACE(a_16_8, i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4)
PLACE(a_16_16_half, i < 2 || (4 <= i && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8))
PLACE(a_16_16_f64, i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t)
PLACE(a_16_16_byte, i < 4 ? g : g + 8, t * 4 + (i & 3))
PLACE(a_16_32_byte, i < 4 || (8 <= i && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16))
PLACE(a_16_32_4, i < 8 ? g : g + 8, t * 8 + (i & 7))
PLACE(a_16_64, i < 8 || (16 <= i && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32))
PLACE(a_16_128, i < 32 ? g : g + 8, t * 32 + (i & 31))
PLACE(a_16_256, i < 32 || (64 <= i && i < 96) ? g : g + 8, t * 32 + (i & 31) + (i < 64 ? 0 : 128))
PLACE(b_16_8_half, t * 2 + i, g)
PLACE(b_16_8, i == 0 ? t : t + 4, g)
PLACE(b_16_16_half, t * 2 + (i & 1) + (i < 2 ? 0 : 8), g)
PLACE(b_16_16_f64, t + i * 4, g)
PLACE(b_16_32_byte, t * 4 + (i & 3) + (i < 4 ? 0 : 16), g)
PLACE(b_16_64, t * 8 + (i & 7) + (i < 8 ? 0 : 32), g)
PLACE(b_16_256, t * 32 + (i & 31) + (i < 32 ? 0 : 128), g)
PLACE(c_16, i < 2 ? g : g + 8, t * 2 + (i & 1))

static const struct product {
	unsigned m, n, k;
	const char *layouts, *d, *a, *b, *c, *extra;
	place_fn *places[3];
} products[] = {
	{8, 8, 4, "row.col", "f32", "f16", "f16", "f32", "", {q_a_row, q_b_col, q_c32}},
	{8, 8, 4, "col.row", "f16", "f16", "f16", "f16", "", {q_a_col, q_b_row, q_c16}},
	{8, 8, 4, "row.row", "f32", "f16", "f16", "f16", "", {q_a_row, q_b_row, q_c16}},
	{8, 8, 4, "col.col", "f32", "f16", "f16", "f32", "", {q_a_col, q_b_col, q_c32}},
	{16, 8, 8, "row.col", "f16", "f16", "f16", "f16", "", {a_16_8_half, b_16_8_half, c_16}},
	{16, 8, 8, "row.col", "f32", "f16", "f16", "f32", "", {a_16_8_half, b_16_8_half, c_16}},
	{16, 8, 16, "row.col", "f16", "f16", "f16", "f16", "", {a_16_16_half, b_16_16_half, c_16}},
	{16, 8, 16, "row.col", "f32", "f16", "f16", "f32", "", {a_16_16_half, b_16_16_half, c_16}},
	{16, 8, 8, "row.col", "f32", "bf16", "bf16", "f32", "", {a_16_8_half, b_16_8_half, c_16}},
	{16, 8, 16, "row.col", "f32", "bf16", "bf16", "f32", "",
		{a_16_16_half, b_16_16_half, c_16}},
	{16, 8, 4, "row.col", "f32", "tf32", "tf32", "f32", "", {a_16_4, b_8_4, c_16}},
	{16, 8, 8, "row.col", "f32", "tf32", "tf32", "f32", "", {a_16_8, b_16_8, c_16}},
	{16, 8, 16, "row.col", "f32", "e4m3", "e5m2", "f32", "", {a_16_16_byte, b_8_16, c_16}},
	{16, 8, 32, "row.col", "f16", "e5m2", "e4m3", "f16", "",
		{a_16_32_byte, b_16_32_byte, c_16}},
	{16, 8, 32, "row.col", "f32", "e4m3", "e4m3", "f32", "",
		{a_16_32_byte, b_16_32_byte, c_16}},
	{8, 8, 4, "row.col", "f64", "f64", "f64", "f64", "", {a_8_4, b_8_4, c_8}},
	{16, 8, 4, "row.col", "f64", "f64", "f64", "f64", "", {a_16_4, b_8_4, c_16}},
	{16, 8, 8, "row.col", "f64", "f64", "f64", "f64", "", {a_16_8, b_16_8, c_16}},
	{16, 8, 16, "row.col", "f64", "f64", "f64", "f64", "", {a_16_16_f64, b_16_16_f64, c_16}},
	{8, 8, 4, "row.col.rz", "f64", "f64", "f64", "f64", "", {a_8_4, b_8_4, c_8}},
	{16, 8, 8, "row.col.rm", "f64", "f64", "f64", "f64", "", {a_16_8, b_16_8, c_16}},
	{16, 8, 16, "row.col.rp", "f64", "f64", "f64", "f64", "", {a_16_16_f64, b_16_16_f64, c_16}},
	{16, 8, 4, "row.col.rn", "f64", "f64", "f64", "f64", "", {a_16_4, b_8_4, c_16}},
	{8, 8, 16, "row.col", "s32", "s8", "u8", "s32", "", {a_8_16, b_8_16, c_8}},
	{16, 8, 16, "row.col.satfinite", "s32", "u8", "s8", "s32", "",
		{a_16_16_byte, b_8_16, c_16}},
	{16, 8, 32, "row.col", "s32", "s8", "s8", "s32", "", {a_16_32_byte, b_16_32_byte, c_16}},
	{8, 8, 32, "row.col", "s32", "s4", "u4", "s32", "", {a_8_32, b_8_32, c_8}},
	{16, 8, 32, "row.col", "s32", "u4", "u4", "s32", "", {a_16_32_4, b_8_32, c_16}},
	{16, 8, 64, "row.col.satfinite", "s32", "s4", "s4", "s32", "", {a_16_64, b_16_64, c_16}},
	{8, 8, 128, "row.col", "s32", "b1", "b1", "s32", ".xor.popc", {a_8_128, b_8_128, c_8}},
	{16, 8, 128, "row.col", "s32", "b1", "b1", "s32", ".and.popc", {a_16_128, b_8_128, c_16}},
	{16, 8, 256, "row.col", "s32", "b1", "b1", "s32", ".xor.popc", {a_16_256, b_16_256, c_16}},
};

/* The matrices of the four products of a quad, or of the one product. */
static struct {
	uint64_t a[4][16][256], b[4][256][32], c[4][32][32];
} with;

static void fill(const struct product *p, bool any)
{
	const struct type *a = type_named(p->a), *b = type_named(p->b), *c = type_named(p->c);
	for (unsigned q = 0; q < 4; q++) {
		for (unsigned i = 0; i < p->m * p->k; i++) {
			with.a[q][i / p->k][i % p->k] = pick(a, any);
		}
		for (unsigned i = 0; i < p->k * p->n; i++) {
			with.b[q][i / p->n][i % p->n] = pick(b, any);
		}
		for (unsigned i = 0; i < p->m * p->n; i++) {
			with.c[q][i / p->n][i % p->n] = pick(c, any);
		}
	}
}

static uint64_t finish(const struct type *type, double sum, bool saturates)
{
	if (type->format == &soft_f64) {
		return bits_of(sum);
	}
	if (type->format) {
		return soft_encode(type->format, soft_decode(&soft_f64, bits_of(sum)),
			SOFT_NEAREST, false);
	}
	if (saturates) {
		sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
	}
	return (uint32_t)(int64_t)sum;
}

static double rounded_fma(const char *direction, volatile double a, volatile double b,
	volatile double c)
{
	fesetround(strstr(direction, ".rz") ? FE_TOWARDZERO : strstr(direction, ".rm")
		? FE_DOWNWARD : strstr(direction, ".rp") ? FE_UPWARD : FE_TONEAREST);
	volatile double sum = fma(a, b, c);
	fesetround(FE_TONEAREST);
	return sum;
}

/* One element of D, by the rule of rt_mma.h. */
static uint64_t want_of(const struct product *p, unsigned q, unsigned row, unsigned column)
{
	double sum = value_of(type_named(p->c), with.c[q][row][column]);
	for (unsigned k = 0; k < p->k; k++) {
		uint64_t a_bits = with.a[q][row][k], b_bits = with.b[q][k][column];
		double a = value_of(type_named(p->a), a_bits);
		double b = value_of(type_named(p->b), b_bits);
		if (strcmp(p->a, "f64") == 0) {
			sum = rounded_fma(p->layouts, a, b, sum);
		} else if (strcmp(p->a, "b1") == 0) {
			sum += strstr(p->extra, "xor") ? (double)(a_bits ^ b_bits)
				: (double)(a_bits & b_bits);
		} else {
			sum += a * b;
		}
	}
	return finish(type_named(p->d), sum, strstr(p->layouts, "satfinite"));
}

static bool is_quad(const struct product *p)
{
	return p->k == 4 && strcmp(p->a, "f16") == 0;
}

/* Elements of a thread: all of the matrix among 32 threads, or 8. */
static unsigned share(const struct product *p, unsigned elements)
{
	return elements / (is_quad(p) ? 8 : 32);
}

enum { AT_D = 48 };

/* Put the matrices down in the threads' memory, fragment after fragment. */
static void scatter(const struct product *p)
{
	const struct type *kinds[] = {type_named(p->a), type_named(p->b), type_named(p->c)};
	const unsigned counts[] = {share(p, p->m * p->k), share(p, p->k * p->n),
		share(p, p->m * p->n)};
	memset(grid.memory, 0, sizeof(grid.memory));
	for (unsigned lane = 0; lane < 32; lane++) {
		unsigned q = is_quad(p) ? lane / 4 % 4 : 0;
		unsigned at = 0;
		for (unsigned matrix = 0; matrix < 3; matrix++) {
			for (unsigned i = 0; i < counts[matrix]; i++) {
				struct resident_place to = p->places[matrix](lane, i);
				uint64_t bits = matrix == 0 ? with.a[q][to.row][to.column]
					: matrix == 1 ? with.b[q][to.row][to.column]
					: with.c[q][to.row][to.column];
				put(&grid.memory[lane][at], kinds[matrix], i, bits);
			}
			at += counts[matrix] * kinds[matrix]->bits / 32;
		}
	}
}

/* "{%r3, %r4}, ": registers of the words from `at` on. */
static void add_list(struct str *text, const struct type *type, unsigned at, unsigned words)
{
	bool wide = type->bits == 64;
	for (unsigned i = 0; i < words / (wide ? 2 : 1); i++) {
		str_addf(text, "%s%%%s%u", i ? ", " : "{", wide ? "fd" : "r",
			wide ? at / 2 + i : 1 + at + i);
	}
	str_add(text, "}");
}

static void write_body(struct str *text, const struct product *p)
{
	const struct type *kinds[] = {type_named(p->a), type_named(p->b), type_named(p->c)};
	const unsigned words[] = {share(p, p->m * p->k) * kinds[0]->bits / 32,
		share(p, p->k * p->n) * kinds[1]->bits / 32,
		share(p, p->m * p->n) * kinds[2]->bits / 32};
	const struct type *d = type_named(p->d);
	unsigned total = words[0] + words[1] + words[2];
	unsigned results = share(p, p->m * p->n) * d->bits / 32;
	for (unsigned i = 0; i < total; i++) {
		str_addf(text, kinds[0]->bits == 64 ? "ld.f64 %%fd%u, [%%rd9+%u];\n"
			: "ld.u32 %%r%u, [%%rd9+%u];\n", kinds[0]->bits == 64 ? i / 2 : 1 + i,
			kinds[0]->bits == 64 ? i / 2 * 8 : i * 4);
	}
	str_addf(text, "mma.sync.aligned.m%un%uk%u.%s.%s.%s.%s.%s%s ", p->m, p->n, p->k, p->layouts,
		p->d, p->a, p->b, p->c, p->extra);
	add_list(text, d, 0, results);
	for (unsigned i = 0, at = 0; i < 3; at += words[i++]) {
		str_add(text, ", ");
		add_list(text, kinds[i], at, words[i]);
	}
	str_add(text, ";\n");
	for (unsigned i = 0; i < results / (d->bits / 32 ? d->bits / 32 : 1); i++) {
		str_addf(text, d->bits == 64 ? "st.f64 [%%rd9+%u], %%fd%u;\n"
			: "st.u32 [%%rd9+%u], %%r%u;\n", AT_D * 4 + i * (d->bits == 64 ? 8 : 4),
			d->bits == 64 ? i : 1 + i);
	}
}

static void try_product(const struct product *p, bool any)
{
	struct str text = STR_INIT;
	const struct type *d = type_named(p->d);
	bool is_rounded = d->format && d->bits < 64 && driver_lacks("sums are rounded as it likes");
	write_body(&text, p);
	for (size_t w = 0; w < countof(widths); w++) {
		scatter(p);
		grid_ok(widths[w], 32, "", text.data);
		for (unsigned lane = 0; lane < 32; lane++) {
			unsigned q = is_quad(p) ? lane / 4 % 4 : 0;
			place_fn *where = p->places[2];
			if (where == q_c16 && strcmp(p->d, "f32") == 0) {
				where = q_c32;
			}
			for (unsigned i = 0; i < share(p, p->m * p->n); i++) {
				struct resident_place at = where(lane, i);
				uint64_t got = get(&grid.memory[lane][AT_D], type_named(p->d), i);
				uint64_t want = want_of(p, q, at.row, at.column);
				ck_assert_msg(got == want || is_rounded,
					"any=%d W=%u lane %u element %u: %#llx, not %#llx:\n%s",
					any, widths[w], lane, i, (unsigned long long)got,
					(unsigned long long)want, text.data);
			}
		}
	}
	str_free(&text);
}

START_TEST(products_are_those_of_the_matrices)
{
	const struct product *p = &products[_i];
	if (!support_is_tried(_i, countof(products), 15, 7)) {
		return;
	}
	fill(p, false);
	try_product(p, false);
	fill(p, true);
	try_product(p, true);
}
END_TEST

/* wmma: both factors from memory, with strides of 40 elements. */
static const struct whole {
	unsigned m, n, k;
	const char *a, *c;
	unsigned a_regs, b_regs, c_regs;
} wholes[] = {
	{16, 16, 16, "f16", "f16", 8, 8, 4}, {16, 16, 16, "f16", "f32", 8, 8, 8},
	{32, 8, 16, "f16", "f32", 8, 8, 8}, {8, 32, 16, "f16", "f16", 8, 8, 4},
	{16, 16, 16, "bf16", "f32", 4, 4, 8}, {32, 8, 16, "bf16", "f32", 8, 2, 8},
	{8, 32, 16, "bf16", "f32", 2, 8, 8}, {16, 16, 16, "s8", "s32", 2, 2, 8},
	{32, 8, 16, "u8", "s32", 4, 1, 8}, {8, 32, 16, "s8", "s32", 1, 4, 8},
	{16, 16, 8, "tf32", "f32", 4, 4, 8}, {8, 8, 4, "f64", "f64", 1, 1, 2},
	{8, 8, 32, "s4", "s32", 1, 1, 2}, {8, 8, 32, "u4", "s32", 1, 1, 2},
	{8, 8, 128, "b1", "s32", 1, 1, 2},
};

enum { STRIDE = 160, PART = 32 * STRIDE };

/* In global memory: A, B, C and D, all as 64-bit-aligned arrays of their type. */
static uint8_t matrices[4][PART * 8];
static double values[3][PART];

static void fill_matrix(unsigned index, const struct type *type, unsigned rows, unsigned columns,
	bool by_column)
{
	for (unsigned row = 0; row < rows; row++) {
		for (unsigned column = 0; column < columns; column++) {
			uint64_t bits = pick(type, false);
			unsigned at = by_column ? column * STRIDE + row : row * STRIDE + column;
			uint32_t word;
			uint8_t *place = matrices[index] + (uint64_t)at * type->bits / 32 * 4;
			values[index][row * columns + column] = value_of(type, bits);
			if (type->bits == 64) {
				memcpy(place, &bits, 8);
				continue;
			}
			memcpy(&word, place, 4);
			word |= (uint32_t)bits << at * type->bits % 32;
			memcpy(place, &word, 4);
		}
	}
}

static void add_registers(struct str *text, char kind, unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		str_addf(text, "%s%s%u", i ? ", " : "{", kind == 'd' ? "%fd" : "%r", first + i);
	}
	str_add(text, "}");
}

static void write_whole(struct str *text, const struct whole *w, const char *const layouts[4])
{
	char kind = w->a[0] == 'f' && w->a[1] == '6' ? 'd' : 'r';
	unsigned firsts[] = {1, 1 + w->a_regs, 1 + w->a_regs + w->b_regs};
	unsigned counts[] = {w->a_regs, w->b_regs, w->c_regs};
	for (unsigned i = 0; i < 3; i++) {
		str_addf(text, "ld.u64 %%rd1, "
			"[%%rd0+%u];\nwmma.load.%c.sync.aligned.%s.m%un%uk%u.%s ",
			i * 8, "abc"[i], layouts[i], w->m, w->n, w->k, i < 2 ? w->a : w->c);
		add_registers(text, kind, firsts[i], counts[i]);
		str_addf(text, ", [%%rd1], %u;\n", STRIDE);
	}
	str_addf(text, "wmma.mma%s.sync.aligned.%s.%s.m%un%uk%u.%s",
		w->a[0] == 'b' && w->a[1] == '1'
		? ".xor.popc" : "", layouts[0], layouts[1], w->m, w->n, w->k, w->c);
	if (strcmp(w->a, "f16") != 0) {
		str_addf(text, ".%s.%s", w->a, w->a);
	}
	str_addf(text, ".%s ", w->c);
	const unsigned order[] = {2, 0, 1, 2};
	for (unsigned i = 0; i < 4; i++) {
		add_registers(text, kind, firsts[order[i]], counts[order[i]]);
		str_add(text, i < 3 ? ", " : ";\nld.u64 %rd1, [%rd0+24];\n");
	}
	str_addf(text, "wmma.store.d.sync.aligned.%s.m%un%uk%u.%s [%%rd1], ", layouts[3], w->m,
		w->n, w->k, w->c);
	add_registers(text, kind, firsts[2], counts[2]);
	str_addf(text, ", %u;\n", STRIDE);
}

static void check_whole(const struct whole *w, bool by_column)
{
	const struct type *d = type_named(w->c);
	for (unsigned row = 0; row < w->m; row++) {
		for (unsigned column = 0; column < w->n; column++) {
			double sum = values[2][row * w->n + column];
			for (unsigned k = 0; k < w->k; k++) {
				double a = values[0][row * w->k + k],
					b = values[1][k * w->n + column];
				sum += strcmp(w->a, "b1") == 0 ? a != b : a * b;
			}
			unsigned at = by_column ? column * STRIDE + row : row * STRIDE + column;
			uint64_t got = 0;
			memcpy(&got, matrices[3] + (size_t)at * d->bits / 8, d->bits / 8);
			ck_assert_msg(got == finish(d, sum, false),
				"m%un%uk%u %s: row %u column %u: %#llx, not %g", w->m, w->n, w->k,
				w->a, row, column, (unsigned long long)got, sum);
		}
	}
}

START_TEST(whole_matrices_come_and_go)
{
	const struct whole *w = &wholes[(size_t)_i / 2];
	if (!support_is_tried(_i, 2 * countof(wholes), 13, 5)) {
		return;
	}
	bool small = type_named(w->a)->bits < 8;
	bool turned = _i % 2 && !small;
	const char *const layouts[] = {turned ? "col" : "row", turned ? "row" : "col",
		_i % 2 ? "col" : "row", _i % 2 ? "row" : "col"};
	struct str text = STR_INIT;
	driver_share(matrices, sizeof(matrices));
	write_whole(&text, w, layouts);
	for (size_t i = 0; i < countof(widths); i++) {
		memset(matrices, 0, sizeof(matrices));
		fill_matrix(0, type_named(w->a), w->m, w->k, turned);
		fill_matrix(1, type_named(w->a), w->k, w->n, !turned);
		fill_matrix(2, type_named(w->c), w->m, w->n, _i % 2);
		for (unsigned j = 0; j < 4; j++) {
			uint64_t address = (uintptr_t)matrices[j];
			memcpy((uint8_t *)grid.memory + (size_t)j * 8, &address, 8);
		}
		grid_ok(widths[i], 32, "", text.data);
		check_whole(w, _i % 2 == 0);
	}
	str_free(&text);
}
END_TEST

/* Without strides, in shared memory, through generic addresses too. */
START_TEST(strides_may_be_left_out)
{
	static const char *const spaces[] = {"", ".shared"};
	for (size_t i = 0; i < countof(widths) * countof(spaces); i++) {
		char text[1200];
		const char *space = spaces[i / countof(widths)];
		snprintf(text, sizeof(text), "mov.u64 %%rd1, s; %s\n"
			"mul.lo.u32 %%r1, %%r0, 8; mov.u32 %%r2, s; "
			"mad.lo.u32 %%r2, %%r0, 32, %%r2;\n"
			"mov.u32 %%r3, 0;\nL: add.u32 %%r4, %%r1, %%r3; "
			"cvt.rn.f32.u32 %%f1, %%r4;\n"
			"st.shared.f32 [%%r2], %%f1; add.u32 %%r2, %%r2, 4; "
			"add.u32 %%r3, %%r3, 1;\n"
			"setp.lt.u32 %%p1, %%r3, 8; @%%p1 bra L;\n"
			"wmma.load.c.sync.aligned.row.m16n16k16%s.f32 {%%f1, %%f2, %%f3, %%f4, "
			"%%f5, %%f6, %%f7, %%f8}, [%%rd1];\n"
			"wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%%rd0], {%%f1, %%f2, "
			"%%f3, %%f4, %%f5, %%f6, %%f7, %%f8};", *space ? ""
			: "cvta.shared.u64 %rd1, %rd1;", space);
		grid_ok(widths[i % 2], 32, ".shared .align 32 .b8 s[1024];", text);
		const float *out = (const float *)grid.memory;
		for (unsigned j = 0; j < 256; j++) {
			ck_assert_float_eq(out[j], (float)(j % 16 * 16 + j / 16));
		}
	}
}
END_TEST

/* ldmatrix, stmatrix: rows of 16 bytes, 8 of them a matrix; element e of matrix m is m * 64 + e. */
static uint32_t pair_of(unsigned matrix, unsigned lane, bool transposed)
{
	unsigned row = lane / 4, column = lane % 4 * 2;
	unsigned low = transposed ? column * 8 + row : row * 8 + column;
	unsigned high = transposed ? (column + 1) * 8 + row : row * 8 + column + 1;
	return (matrix * 64 + low) | (matrix * 64 + high) << 16;
}

static const char fill_rows[] = /* thread t writes row t */
	"mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 16, %r1; mul.lo.u32 %r2, %r0, 8;\n"
	"mad.lo.u32 %r2, %r2, 0x10001, 0x10000; st.shared.u32 [%r1], %r2;\n"
	"add.u32 %r2, %r2, 0x20002; st.shared.u32 [%r1+4], %r2; add.u32 %r2, %r2, 0x20002;\n"
	"st.shared.u32 [%r1+8], %r2; add.u32 %r2, %r2, 0x20002; st.shared.u32 [%r1+12], %r2;\n"
	"bar.warp.sync -1; mov.u32 %r11, 9; mov.u32 %r12, 9; mov.u32 %r13, 9; mov.u32 %r14, 9;\n";

START_TEST(matrices_are_loaded_in_pairs)
{
	static const char *const lists[] = {"{%r11}", "{%r11, %r12}", "{%r11, %r12, %r13, %r14}"};
	unsigned count = 1u << _i % 3;
	bool transposed = _i >= 3;
	char text[900];
	snprintf(text, sizeof(text), "%s setp.ge.u32 %%p1, %%r0, %u; @%%p1 mov.u32 %%r1, "
		"0x7fffff;\n"
		"ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%r1];\n"
		"st.v4.u32 [%%rd9], {%%r11, %%r12, %%r13, %%r14};", fill_rows, count * 8, count,
		transposed ? ".trans" : "", lists[_i % 3]);
	for (size_t w = 0; w < countof(widths); w++) {
		grid_ok(widths[w], 32, ".shared .align 16 .b8 s[512];", text);
		for (unsigned lane = 0; lane < 32; lane++) {
			for (unsigned i = 0; i < 4; i++) {
				ck_assert_uint_eq(grid.memory[lane][i],
					i < count ? pair_of(i, lane, transposed) : 9);
			}
		}
	}
}
END_TEST

/* Stored with or without .trans, and loaded likewise, everything is back. */
START_TEST(matrices_are_stored_in_pairs)
{
	char text[900];
	const char *trans = _i ? ".trans" : "";
	snprintf(text, sizeof(text), "%sldmatrix.sync.aligned.m8n8.x4%s.shared.b16"
		" {%%r11, %%r12, %%r13, %%r14}, [%%r1];\nmovmatrix.sync.aligned.m8n8.trans.b16 "
		"%%r15, %%r12;\n"
		"mov.u64 %%rd1, s; cvta.shared.u64 %%rd1, %%rd1; "
		"mad.wide.u32 %%rd1, %%r0, 16, %%rd1;\n"
		"add.u64 %%rd1, %%rd1, 512;\n"
		"stmatrix.sync.aligned.m8n8.x4%s.b16 [%%rd1], {%%r11, %%r12, %%r13, %%r14};\n"
		"ld.v4.u32 {%%r11, %%r12, %%r13, %%r14}, [%%rd1];\n"
		"st.v4.u32 [%%rd9], {%%r11, %%r12, %%r13, %%r14}; st.u32 [%%rd9+16], %%r15;",
		fill_rows, trans, trans);
	for (size_t w = 0; w < countof(widths); w++) {
		grid_ok(widths[w], 32, ".shared .align 16 .b8 s[1024];", text);
		for (unsigned lane = 0; lane < 32; lane++) {
			for (unsigned i = 0; i < 4; i++) {
				ck_assert_uint_eq(grid.memory[lane][i],
					(lane * 8 + i * 2) * 0x10001 + 0x10000);
			}
			ck_assert_uint_eq(grid.memory[lane][4], pair_of(1, lane, !_i));
		}
	}
}
END_TEST

START_TEST(a_bad_address_of_a_row_is_a_fault)
{
	if (driver_ends_with_a_fault()) {
		return;
	}
	for (size_t w = 0; w < countof(widths); w++) {
		CUresult result = grid_run(widths[w], 32, "", "mov.u64 %rd1, 64;\n"
			"ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd1]; st.u32 [%rd9], %r1;");
		ck_assert_int_eq(result, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
}
END_TEST

SUITE(mma)
{
	Suite *suite = suite_create("mma");
	TCase *tc = tcase_create("matrices");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, products_are_those_of_the_matrices, 0, countof(products));
	tcase_add_loop_test(tc, whole_matrices_come_and_go, 0, 2 * countof(wholes));
	tcase_add_test(tc, strides_may_be_left_out);
	tcase_add_loop_test(tc, matrices_are_loaded_in_pairs, 0, 6);
	tcase_add_loop_test(tc, matrices_are_stored_in_pairs, 0, 2);
	tcase_add_test(tc, a_bad_address_of_a_row_is_a_fault);
	suite_add_tcase(suite, tc);
	return suite;
}
