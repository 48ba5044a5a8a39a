/* SPDX-License-Identifier: MIT */
/* Mangled names taken apart.  Every name here was made by NVRTC, or breaks one that was. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/rtc/signature.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Parameters are shown as KINDsize type: u unknown, b bool, i int, n unsigned, f float, p pointer,
 * s struct; "?" where the list is not known. */
static const struct {
	const char *mangled;
	const char *name;
	const char *parameters;
} names[] = {
	{"saxpy", "saxpy", "?"},
	{"_Z1kv", "k", ""},
	{"_Z1kPf", "k", "p8 float *"},
	{"_Z2en1E1S7double2", "en", "s-1 E; s-1 S; s-1 double2"},
	{"_Z1kPVKiPKPcRK1P", "k", "p8 const volatile int *; p8 char *const *; p8 const P &"},
	{"_Z1kRA4_fPFiiE", "k", "p8 float (&)[4]; p8 int (*)(int)"},
	{"_Z1kM1Si", "k", "u-1 int S::*"},
	{"_Z1kPFPFivEPKcE", "k", "p8 int (*(*)(const char *))()"},
	{"_Z1kbcahstijlmxy", "k",
		"b1 bool; i1 char; i1 signed char; n1 unsigned char; i2 short; n2 unsigned short; "
		"i4 int; n4 unsigned int; i8 long; n8 unsigned long; i8 long long; "
		"n8 unsigned long long"},
	{"_Z1knowDsDiDufdeDnDF16_", "k",
		"i16 __int128; n16 unsigned __int128; i4 wchar_t; n2 char16_t; n4 char32_t; "
		"n1 char8_t; f4 float; f8 double; f8 long double; p8 decltype(nullptr); "
		"f2 _Float16"},
	{"_Z1k6__half13__nv_bfloat16", "k", "f2 __half; s-1 __nv_bfloat16"},
	{"_Z5scaleIfLi4EEvPT_", "scale<float, 4>", "p8 float *"},
	{"_ZN1n2v12scI6float4Li3EEEvPT_", "n::v1::sc<float4, 3>", "p8 float4 *"},
	{"_Z1kIJifEEvDpT_", "k<int, float>", "i4 int; f4 float"},
	{"_Z1kIJEEvDpT_", "k<>", ""},
	{"_Z1kILb1ELj3ELmn2ELc65EEvv", "k<true, 3u, -2ul, (char)65>", ""},
	{"_Z2axIN4cuda3std3__47complexIfEEEvT_PKS5_PS5_i", "ax<cuda::std::complex<float>>",
		"s-1 cuda::std::complex<float>; p8 const cuda::std::complex<float> *; "
		"p8 cuda::std::complex<float> *; i4 int"},
	{"_ZN29_GLOBAL__N__00000000_4_k_cu_g1kEPf", "k", "p8 float *"},
	{"_ZN1a39_GLOBAL__N__00000000_9_j_tmpl_cu__Z2ovi3hidE6float2", "a::hid", "s-1 float2"},
	{"_Z1kSt4pairIifE", "k", "s-1 std::pair<int, float>"},
	/* What cannot be read. */
	{"_Z", "_Z", "?"},
	{"_Z3", "_Z3", "?"},
	{"_Z9abc", "_Z9abc", "?"},
	{"_Z1k", "k", "?"},
	{"_Z1kS_", "k", "?"},
	{"_Z1kT_", "k", "?"},
	{"_Z1kIfEvDTcl1fEE", "k<float>", "?"},
	{"_Z1kPfQ", "k", "?"},
	{"_ZN1aE", "a", "?"},
	{"_Z99999999999999999999k", "_Z99999999999999999999k", "?"},
	{"_Z1kILS", "_Z1kILS", "?"},
	{"_Z1kILT0", "_Z1kILT0", "?"},
};

static char *show(const struct signature *signature)
{
	struct str text = STR_INIT;
	for (size_t i = 0; i < signature->count; i++) {
		const struct rtc_param *param = &signature->params[i];
		str_addf(&text, "%s%c%d %s", i ? "; " : "", "ubinfps"[param->kind],
			(int)param->size, param->type);
	}
	if (!signature->params_known) {
		str_add(&text, "?");
	}
	return str_take(&text);
}

static void expect(const char *mangled, bool probe, const char *name, const char *parameters)
{
	struct signature signature;
	ck_assert(signature_read(&signature, mangled, probe));
	char *shown = show(&signature);
	if (name) {
		ck_assert_str_eq(signature.name, name);
	}
	ck_assert_str_eq(shown, parameters);
	mem_free(shown);
	signature_free(&signature);
}

START_TEST(names_give_the_kernel_and_its_parameters)
{
	expect(names[_i].mangled, false, names[_i].name, names[_i].parameters);
}
END_TEST

START_TEST(a_probe_gives_the_parameters_of_its_argument)
{
	expect("_Z5sigv_IFvPfPKvidPKPcRK1Pxb6float4S6_PFiiEN2ns1VIfEEEE", true, NULL,
		"p8 float *; p8 const void *; i4 int; f8 double; p8 char *const *; p8 const P &; "
		"i8 long long; b1 bool; s-1 float4; s-1 P; p8 int (*)(int); s-1 ns::V<float>");
	expect("_Z1pIFvvEE", true, NULL, "");
	expect("_Z1pIiE", true, NULL, "?");
	expect("p", true, NULL, "?");
}
END_TEST

START_TEST(every_beginning_of_a_name_is_read_without_harm)
{
	const char *mangled = names[_i].mangled;
	for (size_t len = 0; len < strlen(mangled); len++) {
		char *part = mem_strndup(mangled, len);
		struct signature signature;
		ck_assert(signature_read(&signature, part, false));
		signature_free(&signature);
		mem_free(part);
	}
}
END_TEST

START_TEST(a_name_that_stands_for_endless_text_is_left_unknown)
{
	/* Each part doubles the one before: S_, S1_, ... are pairs of pairs. */
	struct str mangled = STR_INIT;
	str_add(&mangled, "_Z1k1VIiiE");
	for (int i = 0; i < 30; i++) {
		const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		str_addf(&mangled, "S_IS%c_S%c_E", digits[i], digits[i]);
	}
	expect(mangled.data, false, "k", "?");
	str_clear(&mangled);
	str_add(&mangled, "_Z1k");
	for (int i = 0; i < 5000; i++) {
		str_addc(&mangled, 'P');
	}
	str_addc(&mangled, 'i');
	expect(mangled.data, false, "k", "?");
	str_free(&mangled);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	for (long n = 0;; n++) {
		struct signature signature;
		mem_fail_after(n);
		bool read = signature_read(&signature, names[11].mangled, false);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(read != failed);
		if (!read) {
			ck_assert_ptr_null(signature.name);
			ck_assert_ptr_null(signature.params);
			continue;
		}
		signature_free(&signature);
		break;
	}
}
END_TEST

SUITE(signature)
{
	Suite *suite = suite_create("signature");
	TCase *tc = suite_add_case(suite, "names");
	tcase_add_tests(tc, (int)countof(names), names_give_the_kernel_and_its_parameters,
		every_beginning_of_a_name_is_read_without_harm);
	tcase_add_tests(tc, 1, a_probe_gives_the_parameters_of_its_argument,
		a_name_that_stands_for_endless_text_is_left_unknown, want_of_memory_leaves_nothing);
	return suite;
}
