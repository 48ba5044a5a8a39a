/* SPDX-License-Identifier: MIT */
/* References for integers, bits, comparisons and moves, on 128-bit integers; see forms.h. */
#include "base/common.h"

#include "forms.h"
#include "forms_ref.h"

#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static uint64_t mask(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* The value of an operand of that type. */
static wide value(uint64_t bits, struct form_type type)
{
	bits &= mask(type.bits);
	bool negative = type.kind == 's' && bits >> (type.bits - 1);
	return negative ? (wide)bits - ((wide)1 << type.bits) : (wide)bits;
}

static wide operand(const struct form *form, const struct operands *in, size_t i)
{
	return value(in->v[i], form->last);
}

/* The product of two u64 can need all 128 bits: it is computed without a sign, as is a sum with
 * it. */
static wide product(wide a, wide b)
{
	return (wide)((unsigned_wide)a * (unsigned_wide)b);
}

static uint64_t saturated_s32(wide x)
{
	return (uint64_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}

uint64_t ref_add(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	wide a = operand(form, in, 0), b = operand(form, in, 1);
	wide x = form_has(form->opcode, "add") ? a + b : a - b;
	return form_has(form->opcode, "sat") ? saturated_s32(x) : (uint64_t)x;
}

/* mul and mad */
uint64_t ref_mul(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	struct form_type type = form->last;
	wide x = product(operand(form, in, 0), operand(form, in, 1));
	x = form_has(form->opcode, "hi") ? x >> type.bits : x;
	if (form_has(form->opcode, "mad")) {
		type.bits *= form_has(form->opcode, "wide") ? 2 : 1;
		x = (wide)((unsigned_wide)x + (unsigned_wide)value(in->v[2], type));
	}
	return form_has(form->opcode, "sat") ? saturated_s32(x) : (uint64_t)x;
}

uint64_t ref_mul24(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	struct form_type type = form->last, part = {type.kind, 24};
	wide x = value(in->v[0], part) * value(in->v[1], part);
	if (form_has(form->opcode, "hi")) {
		x = value((uint64_t)(x >> 16), type);
	}
	if (form_has(form->opcode, "mad24")) {
		x = value((uint64_t)x, type) + value(in->v[2], type);
	}
	return form_has(form->opcode, "sat") ? saturated_s32(x) : (uint64_t)x;
}

uint64_t ref_div(const struct form *form, const struct operands *in, bool *any)
{
	wide a = operand(form, in, 0), b = operand(form, in, 1);
	if (b == 0) {
		*any = true;
		return 0;
	}
	return (uint64_t)(form_has(form->opcode, "div") ? a / b : a % b);
}

uint64_t ref_sad(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	wide a = operand(form, in, 0), b = operand(form, in, 1);
	return (uint64_t)(operand(form, in, 2) + (a > b ? a - b : b - a));
}

uint64_t ref_abs(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	wide a = operand(form, in, 0);
	return (uint64_t)(form_has(form->opcode, "abs") && a >= 0 ? a : -a);
}

uint64_t ref_min(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	wide a = operand(form, in, 0), b = operand(form, in, 1);
	return (uint64_t)((a < b) == form_has(form->opcode, "min") ? a : b);
}

/* dp4a: bytes by bytes; dp2a: halves of a by the bytes of one half of b. */
uint64_t ref_dp(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	bool four = form_has(form->opcode, "dp4a");
	struct form_type a = form->first, b = form->last;
	unsigned shift = form_has(form->opcode, "hi") ? 16 : 0;
	wide sum = (wide)in->v[2];
	a.bits = four ? 8 : 16;
	b.bits = 8;
	for (unsigned i = 0; i < 32 / a.bits; i++) {
		sum += value(in->v[0] >> (i * a.bits), a) * value(in->v[1] >> (shift + i * 8), b);
	}
	return (uint64_t)sum;
}

uint64_t ref_logic(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	uint64_t a = in->v[0], b = in->v[1];
	const char *op = form->opcode;
	return form_has(op, "and") ? a & b : form_has(op, "or") ? a | b
		: form_has(op, "xor") ? a ^ b : form_has(op, "not") ? ~a
		: operand(form, in, 0) == 0;
}

uint64_t ref_shift(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	wide a = operand(form, in, 0);
	uint32_t count = (uint32_t)in->v[1];
	if (form_has(form->opcode, "shl")) {
		return count >= 64 ? 0 : (uint64_t)a << count;
	}
	return (uint64_t)(a >> (count > 64 ? 64 : count));
}

uint64_t ref_shf(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	uint64_t both = in->v[1] << 32 | (uint32_t)in->v[0];
	uint32_t count = (uint32_t)in->v[2];
	count = form_has(form->opcode, "wrap") ? count & 31 : count > 32 ? 32 : count;
	return form_has(form->opcode, "l") ? both << count >> 32 : both >> count;
}

uint64_t ref_count(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	struct form_type type = form->last;
	uint64_t a = in->v[0] & mask(type.bits), ones = 0;
	int top = -1;
	if (type.kind == 's' && a >> (type.bits - 1)) {
		a = ~a & mask(type.bits);
	}
	for (int i = 0; i < (int)type.bits; i++) {
		if (a >> i & 1) {
			ones++;
			top = i;
		}
	}
	if (form_has(form->opcode, "popc")) {
		return ones;
	}
	bool flips = form_has(form->opcode, "shiftamt") && top >= 0;
	return (uint64_t)(form_has(form->opcode, "clz") || flips ? (int)type.bits - 1 - top : top);
}

uint64_t ref_brev(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	unsigned bits = form->last.bits;
	uint64_t out = 0;
	for (unsigned i = 0; i < bits; i++) {
		out |= (in->v[0] >> i & 1) << (bits - 1 - i);
	}
	return out;
}

/* A position or a length, "restricted to" 0 to 255: as GPUs see what is not. */
static uint64_t field_number(struct form_type type, uint64_t operand)
{
	return operand & (type.bits == 64 ? UINT32_MAX : 255);
}

/* Bit by bit, as the PTX ISA writes it down. */
uint64_t ref_bfe(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	struct form_type type = form->last;
	uint64_t pos = field_number(type, in->v[1]), len = field_number(type, in->v[2]);
	uint64_t last = type.bits - 1, top = pos + len - 1 < last ? pos + len - 1 : last;
	uint64_t a = in->v[0] & mask(type.bits), out = 0;
	uint64_t fill = type.kind == 's' && len ? a >> top & 1 : 0;
	for (uint64_t i = 0; i <= last; i++) {
		out |= (i < len && pos + i <= last ? a >> (pos + i) & 1 : fill) << i;
	}
	return out;
}

uint64_t ref_bfi(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	uint64_t pos = field_number(form->last, in->v[2]), len = field_number(form->last, in->v[3]);
	uint64_t out = in->v[1];
	for (uint64_t i = 0; i < len && pos + i < form->last.bits; i++) {
		out &= ~(UINT64_C(1) << (pos + i));
		out |= (in->v[0] >> i & 1) << (pos + i);
	}
	return out;
}

uint64_t ref_bmsk(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	uint32_t pos = (uint32_t)in->v[0], len = (uint32_t)in->v[1];
	uint64_t out = 0;
	if (form_has(form->opcode, "wrap")) {
		pos &= 31;
		len &= 31;
	}
	for (uint64_t i = pos; i < 32 && i < (uint64_t)pos + len; i++) {
		out |= UINT64_C(1) << i;
	}
	return out;
}

uint64_t ref_szext(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	struct form_type type = form->last;
	uint32_t len = (uint32_t)in->v[1];
	if (form_has(form->opcode, "wrap")) {
		len &= 31;
	}
	if (len == 0) {
		return 0; /* as GPUs have it: no bits have no sign */
	}
	type.bits = len > 32 ? 32 : len;
	return (uint64_t)value(in->v[0], type);
}

uint64_t ref_lop3(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	unsigned table = 0;
	uint64_t out = 0;
	sscanf(strchr(form->opcode, '|') + 1, "%x", &table);
	for (unsigned i = 0; i < 32; i++) {
		unsigned index = (unsigned)((in->v[0] >> i & 1) << 2 | (in->v[1] >> i & 1) << 1
			| (in->v[2] >> i & 1));
		out |= (uint64_t)(table >> index & 1) << i;
	}
	return out;
}

/* Which byte goes where in the modes of prmt, for each control 0 to 3: PTX ISA, table of prmt. */
static const struct permutation {
	const char *mode;
	uint16_t selectors[4];
} permutations[] = {
	{"f4e", {0x3210, 0x4321, 0x5432, 0x6543}}, {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
	{"rc8", {0x0000, 0x1111, 0x2222, 0x3333}}, {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
	{"ecr", {0x0000, 0x1110, 0x2210, 0x3210}}, {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
};

uint64_t ref_prmt(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	uint64_t both = in->v[1] << 32 | (uint32_t)in->v[0], out = 0;
	unsigned selector = in->v[2] & 0xffff;
	for (size_t i = 0; i < countof(permutations); i++) {
		if (form_has(form->opcode, permutations[i].mode)) {
			selector = permutations[i].selectors[in->v[2] & 3];
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		unsigned pick = selector >> (4 * i) & 15;
		uint64_t byte = both >> (8 * (pick & 7)) & 255;
		out |= (pick & 8 ? (byte >> 7) * 255 : byte) << (8 * i);
	}
	return out;
}

static double real(uint64_t bits, struct form_type type)
{
	return type.bits == 32 ? (double)f32_of(bits) : f64_of(bits);
}

/* -1, 0, 1; 2 where a NaN is compared. */
static int order(const struct form *form, const struct operands *in)
{
	struct form_type type = form->last;
	if (type.kind != 'f') {
		wide a = operand(form, in, 0), b = operand(form, in, 1);
		return a < b ? -1 : a > b;
	}
	double a = real(in->v[0], type), b = real(in->v[1], type);
	if (form_has(form->opcode, "ftz")) {
		a = fabs(a) < 0x1p-126 ? 0 : a;
		b = fabs(b) < 0x1p-126 ? 0 : b;
	}
	return isnan(a) || isnan(b) ? 2 : a < b ? -1 : a > b;
}

static bool compared(const struct form *form, const struct operands *in)
{
	static const struct {
		const char *name, *of_unsigned;
		bool below, same, above, unordered;
	} rows[] = {
		{"eq", "", 0, 1, 0, 0}, {"ne", "", 1, 0, 1, 0}, {"lt", "lo", 1, 0, 0, 0},
		{"le", "ls", 1, 1, 0, 0}, {"gt", "hi", 0, 0, 1, 0}, {"ge", "hs", 0, 1, 1, 0},
		{"equ", "", 0, 1, 0, 1}, {"neu", "", 1, 0, 1, 1}, {"ltu", "", 1, 0, 0, 1},
		{"leu", "", 1, 1, 0, 1}, {"gtu", "", 0, 0, 1, 1}, {"geu", "", 0, 1, 1, 1},
		{"num", "", 1, 1, 1, 0}, {"nan", "", 0, 0, 0, 1},
	};
	bool result = false, c = in->v[2] & 1;
	int is = order(form, in);
	for (size_t i = 0; i < countof(rows); i++) {
		if (!strcmp(form->word, rows[i].name) || !strcmp(form->word, rows[i].of_unsigned)) {
			result = is == 2 ? rows[i].unordered : is < 0 ? rows[i].below
				: is ? rows[i].above : rows[i].same;
		}
	}
	return form_has(form->opcode, "and") ? result && c : form_has(form->opcode, "or")
		? result || c : form_has(form->opcode, "xor") ? result != c : result;
}

uint64_t ref_setp(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	return compared(form, in);
}

uint64_t ref_set(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	uint64_t yes = form->first.kind == 'f' ? 0x3f800000 : UINT32_MAX;
	return compared(form, in) ? yes : 0;
}

uint64_t ref_selp(const struct form *form, const struct operands *in, bool *any)
{
	(void)form, (void)any;
	return in->v[2] & 1 ? in->v[0] : in->v[1];
}

uint64_t ref_slct(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	bool negative = (int32_t)in->v[2] < 0;
	if (form->last.kind == 'f') {
		float c = f32_of(in->v[2]);
		bool flushed = form_has(form->opcode, "ftz") && fabsf(c) < 0x1p-126f;
		negative = !(c >= 0) && !flushed;
	}
	return negative ? in->v[1] : in->v[0];
}

uint64_t ref_mov(const struct form *form, const struct operands *in, bool *any)
{
	(void)form, (void)any;
	return in->v[0];
}

uint64_t ref_cvt_int(const struct form *form, const struct operands *in, bool *any)
{
	(void)any;
	struct form_type to = form->first;
	wide a = operand(form, in, 0);
	if (form_has(form->opcode, "sat")) {
		wide most = (wide)mask(to.bits - (to.kind == 's'));
		wide least = to.kind == 's' ? -most - 1 : 0;
		a = a < least ? least : a > most ? most : a;
	}
	/* What is wider than the type is its extension. */
	return (uint64_t)value((uint64_t)a, to);
}
