/* SPDX-License-Identifier: MIT */
/*
 * vmad in all its forms, on random operands of a warp, one lane at a time and all together.  The
 * reference computes with 128 bits, and follows the text of the PTX ISA, not its pseudo code.  The
 * other video instructions are in emit_cases.def.
 */
#include "base/common.h"

#include "cpu/support/grid.h"
#include "support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 wide;

static const uint32_t widths[] = {1, 32};

enum { THREADS = 64 };

static uint32_t random_bits(void)
{
	static uint64_t state = 88172645463325252;
	static const uint32_t special[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff8000};
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	uint32_t bits = (uint32_t)(state >> 16);
	return bits % 4 == 0 ? special[bits / 4 % countof(special)] : bits;
}

/* A form: signs of the types, of a, b and c; what is added, the scale; parts of a and b. */
static const struct form {
	bool signed_a, signed_b, minus_a, minus_b, minus_c, po, sat;
	int scale;
	const char *part_a, *part_b;
} forms[] = {
	{.part_a = "", .part_b = ""},
	{.sat = true, .part_a = "", .part_b = ""},
	{.signed_a = true, .scale = 7, .part_a = ".h1", .part_b = ".b2"},
	{.signed_b = true, .sat = true, .scale = 15, .part_a = "", .part_b = ".h0"},
	{.signed_a = true, .signed_b = true, .sat = true, .part_a = "", .part_b = ""},
	{.minus_a = true, .sat = true, .part_a = "", .part_b = ""},
	{.minus_b = true, .scale = 15, .part_a = ".b3", .part_b = ""},
	{.minus_a = true, .minus_b = true, .sat = true, .scale = 7, .part_a = "", .part_b = ""},
	{.minus_c = true, .sat = true, .part_a = ".h0", .part_b = ".h1"},
	{.signed_a = true, .minus_c = true, .scale = 7, .part_a = "", .part_b = ""},
	{.po = true, .sat = true, .scale = 15, .part_a = "", .part_b = ""},
	{.signed_a = true, .signed_b = true, .po = true, .scale = 7, .part_a = ".b0", .part_b = ""},
	{.minus_a = true, .minus_b = true, .minus_c = true, .sat = true, .part_a = ".h1",
		.part_b = ".h0"},
};

static wide part(uint32_t word, const char *select, bool sign)
{
	unsigned bits = !*select ? 32 : select[1] == 'b' ? 8 : 16;
	uint64_t value = *select ? word >> bits * (unsigned)(select[2] - '0') : word;
	value &= (UINT64_C(1) << bits) - 1;
	return sign && value >> (bits - 1) ? (wide)value - ((wide)1 << bits) : (wide)value;
}

static uint32_t want(const struct form *f, const uint32_t operands[3])
{
	bool minus = f->minus_a != f->minus_b;
	bool is_signed = f->signed_a || f->signed_b || minus || f->minus_c;
	wide product = part(operands[0], f->part_a, f->signed_a)
		* part(operands[1], f->part_b, f->signed_b);
	wide c = part(operands[2], "", is_signed);
	wide sum = (minus ? -product : product) + (f->minus_c ? -c : c) + f->po;
	sum >>= f->scale;
	if (f->sat) {
		wide least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
		sum = sum < least ? least : sum > most ? most : sum;
	}
	return (uint32_t)sum;
}

START_TEST(vmad_is_what_the_isa_says)
{
	if (driver_lacks("ptxas has its own way")) {
		return;
	}
	const struct form *f = &forms[_i];
	static uint32_t operands[THREADS][3];
	char body[512];
	snprintf(body, sizeof(body), "ld.u32 %%r1, [%%rd9]; ld.u32 %%r2, [%%rd9+4];\n"
		"ld.u32 %%r3, [%%rd9+8];\nvmad.s32.%s.%s%s%s%s %%r4, %s%%r1%s, %s%%r2%s, %s%%r3;\n"
		"st.u32 [%%rd9+12], %%r4;", f->signed_a ? "s32" : "u32", f->signed_b ? "s32"
		: "u32", f->po ? ".po" : "", f->sat ? ".sat" : "",
		f->scale == 7 ? ".shr7" : f->scale == 15 ? ".shr15" : "", f->minus_a ? "-" : "",
		f->part_a, f->minus_b ? "-" : "", f->part_b, f->minus_c ? "-" : "");
	for (size_t w = 0; w < countof(widths); w++) {
		for (uint32_t t = 0; t < THREADS; t++) {
			for (size_t k = 0; k < 3; k++) {
				operands[t][k] = random_bits();
			}
			memcpy(grid.memory[t], operands[t], sizeof(operands[t]));
		}
		grid_ok(widths[w], THREADS, "", body);
		for (uint32_t t = 0; t < THREADS; t++) {
			const uint32_t *o = operands[t];
			ck_assert_msg(grid.memory[t][3] == want(f, o), "W=%u: %#x %#x %#x: %#x, not"
				" %#x:\n%s", widths[w], o[0], o[1], o[2], grid.memory[t][3],
				want(f, o), body);
		}
	}
}
END_TEST

/* Types, and the registers that an instruction of these may have: the bits that come back of those
 * of a thread, 0xa1b2c3d400000000 | its number. */
static const struct access {
	const char *text;
	uint64_t mask;
	unsigned shift;
} accesses[] = {
	{"ld.f32 %rd1, [%rd9]; st.b64 [%rd9+8], %rd1;", 0xffffffff, 0},
	{"ld.b32 %fd1, [%rd9+4]; st.b64 [%rd9+8], %fd1;", 0xffffffff, 32},
	{"ld.b64 %rd1, [%rd9]; st.b64 [%rd9+8], 0; st.f32 [%rd9+8], %rd1;", 0xffffffff, 0},
	{"ld.f64 %fd1, [%rd9]; st.b64 [%rd9+8], 0; st.b16 [%rd9+8], %fd1;", 0xffff, 0},
	{"ld.b64 %rd1, [%rd9]; mov.b64 %fd2, -1; ld.b8 %fd2, [%rd9+7]; st.b64 [%rd9+8], %fd2;",
		0xff, 56},
	{"{ .reg .f16x2 y<2>; ld.u32 y0, [%rd9+4]; mov.u32 y1, y0; st.b64 [%rd9+8], 0;\n"
		"st.u32 [%rd9+8], y1; }", 0xffffffff, 32},
};

START_TEST(registers_of_other_kinds_keep_their_bits)
{
	if ((_i == 2 || _i == 3) && driver_lacks("ptxas converts them")) {
		return;
	}
	const struct access *a = &accesses[_i];
	for (size_t w = 0; w < countof(widths); w++) {
		for (uint32_t t = 0; t < THREADS; t++) {
			const uint32_t words[] = {t, 0xa1b2c3d4};
			memcpy(grid.memory[t], words, sizeof(words));
		}
		grid_ok(widths[w], THREADS, "", a->text);
		for (uint32_t t = 0; t < THREADS; t++) {
			uint64_t got, all = UINT64_C(0xa1b2c3d400000000) | t;
			memcpy(&got, &grid.memory[t][2], sizeof(got));
			ck_assert_uint_eq(got, all >> a->shift & a->mask);
		}
	}
}
END_TEST

SUITE(emit_video)
{
	Suite *suite = suite_create("emit_video");
	TCase *tc = tcase_create("lanes");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, grid_setup, grid_teardown);
	tcase_add_loop_test(tc, vmad_is_what_the_isa_says, 0, countof(forms));
	tcase_add_loop_test(tc, registers_of_other_kinds_keep_their_bits, 0, countof(accesses));
	suite_add_tcase(suite, tc);
	return suite;
}
