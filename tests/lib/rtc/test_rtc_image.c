/* SPDX-License-Identifier: MIT */
/* What images say about their kernels: PTX by hand, cubins by NVRTC, and damaged ones. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/compile_test.h"
#include "support/image_text.h"
#include "support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "// made by hand\n.version 8.0\n.target sm_75, texmode_independent\n.address_size 64\n"

static const struct {
	const char *ptx;
	const char *kernels;
} texts[] = {
	{HEAD, ""},
	{HEAD ".visible .entry k() { ret; }", "k()"},
	{HEAD ".entry k { ret; }", "k()"},
	{HEAD ".entry k(.param .u64 k_param_0, .param .f32 b, .param .b8 c[3], .param .u16 d)",
		"k(u8@0, f4@8, s3@12, u2@16)"},
	{HEAD ".weak .entry k(\n\t.param .u64 .ptr .global .align 4 a,\n"
	      "\t.param .align 16 .b8 b[24],\n\t.param .u8 c /* , */) // )\n",
		"k(p8@0, s24@16, u1@40)"},
	{HEAD ".entry _Z1kPfi(.param .u64 a, .param .u32 b)", "k(p8@0 float *, i4@8 int)"},
	{HEAD ".entry _Z1kPfi(.param .u64 a, .param .u64 b)", "k(u8@0, u8@8)"},
	{HEAD ".entry _Z1k1E1S(.param .u32 a, .param .align 4 .b8 b[4])", "k(e4@0 E, s4@4 S)"},
	{HEAD ".entry _Z1kf(.param .f32 a) {} .entry _Z1ki(.param .u32 a) {}",
		"k(float)(f4@0 float), k(int)(i4@0 int)"},
	{HEAD ".entry _Z1kf(.param .f32 a) {} .entry _Z1ki(.param .u64 a) {}",
		"k(float)(f4@0 float), _Z1ki(u8@0)"},
	{HEAD ".file 1 \".entry x\"\n.entry k(.param .f16x2 a, .param .texref b) {}",
		"k(f4@0, u8@8)"},
	{HEAD ".entry k(.param .u64 a) {} .entry k(.param .u64 a) {}", "k(u8@0)"},
	{HEAD ".entry k(.param .pred a)", "k?"},
	{HEAD ".entry k(.param .align 3 .b8 a[4])", "k?"},
	{HEAD ".entry k(.param .b8 a[99999999999999])", "k?"},
	{HEAD ".entry k(.param .b32 a[2147483647])", "k?"},
	{HEAD ".entry k(.param", "k?"},
	{HEAD ".entry k(", "k()"},
	{HEAD ".entry", "()"},
	{HEAD "/* .entry k(", ""},
};

static void expect(const struct rtc_image *image, const char *kernels)
{
	char *shown = image_text(image);
	ck_assert_str_eq(shown, kernels);
	mem_free(shown);
}

START_TEST(ptx_gives_kernels_and_layouts)
{
	struct rtc_image image;
	kz_error err = KZ_ERROR_INIT;
	const char *ptx = texts[_i].ptx;
	ck_assert_int_eq(rtc_image_inspect(&image, ptx, strlen(ptx), &err), KZ_OK);
	ck_assert(image.is_ptx);
	ck_assert_str_eq(image.arch, "compute_75");
	ck_assert_str_eq(image.data, ptx);
	expect(&image, texts[_i].kernels);
	rtc_image_free(&image);
}
END_TEST

/* Variables: name, g, c or m for the space, size, alignment and type. */
static const struct {
	const char *ptx;
	const char *variables;
} variable_texts[] = {
	{HEAD ".visible .global .align 4 .u32 g = 9;", "g:g4/4"},
	{HEAD ".const .align 4 .b8 c[12] = {1, 0, 0}; .global .f64 d;", "c:c12/4 d:g8/8"},
	{HEAD ".global .attribute(.managed) .align 8 .b8 m[16];", "m:m16/8"},
	{HEAD ".global .align 4 .b8 _ZN2ns5tableE[64];", "ns::table:g64/4"},
	{HEAD ".global .u32 _ZN27_INTERNAL_00000000_4_x_cu_c2ns6hiddenE = 3;", "ns::hidden:g4/4"},
	{HEAD ".extern .global .u32 e; .global .u32 f;", "f:g4/4"},
	{HEAD ".global .v4 .f32 v[3]; .global .s16 a[2][3] = {{1}, {2}}, b;",
		"v:g48/4 a:g12/2 b:g2/2"},
	{HEAD ".entry k(.param .u64 .ptr .global .align 4 p) { .global .u32 no; { \"}\" } // }\n }"
	      ".global .u64 p = k;", "p:g8/8"},
	{HEAD ".func (.param .b32 r) f(.param .b64 a) { .shared .b8 s[4]; } .shared .b8 t[4];", ""},
	{HEAD ".global .align 1 .u8 _Z11kudzu_probeIiE; .global .texref t; .global .b8 i[];", ""},
	{HEAD ".global .b8 a[99999999999][99999999999]; .global .b32 b[2147483647];",
		"b:g8589934588/4"},
	{HEAD ".global", ""}, {HEAD ".global .u32 a", "a:g4/4"},
	{HEAD ".global .u32 a = {", "a:g4/4"},
	{HEAD ".entry k() {", ""}, {HEAD ".const .align", ""}, {HEAD ".global .u32 a[", ""},
};

static char *show_variables(const struct rtc_image *image)
{
	struct str text = STR_INIT;
	str_add(&text, "");
	for (size_t i = 0; i < image->variable_count; i++) {
		const struct rtc_variable *variable = &image->variables[i];
		str_addf(&text, "%s%s:%c%lld/%lld%s%s", i ? " " : "", variable->name,
			"gcm"[variable->space], (long long)variable->size,
			(long long)variable->align, variable->type ? ":" : "",
			variable->type ? variable->type : "");
	}
	return str_take(&text);
}

START_TEST(ptx_gives_variables)
{
	struct rtc_image image;
	kz_error err = KZ_ERROR_INIT;
	const char *ptx = variable_texts[_i].ptx;
	ck_assert_int_eq(rtc_image_inspect(&image, ptx, strlen(ptx), &err), KZ_OK);
	char *shown = show_variables(&image);
	ck_assert_str_eq(shown, variable_texts[_i].variables);
	mem_free(shown);
	rtc_image_free(&image);
}
END_TEST

START_TEST(data_of_another_kind_is_refused)
{
	static const struct {
		const char *data;
		size_t size;
		kz_status status;
	} others[] = {
		{NULL, 5, KZ_INVALID}, {"", 0, KZ_INVALID}, {"", 1, KZ_BAD_IMAGE},
		{"int main", 8, KZ_BAD_IMAGE}, {"\177ELF", 4, KZ_BAD_IMAGE},
		{"\177ELF\002\001\001", 80, KZ_BAD_IMAGE}, {"// .version", 11, KZ_BAD_IMAGE},
	};
	for (size_t i = 0; i < countof(others); i++) {
		struct rtc_image image;
		kz_error err = KZ_ERROR_INIT;
		char data[80] = {0};
		if (others[i].data) {
			memcpy(data, others[i].data, strlen(others[i].data));
		}
		ck_assert_int_eq(rtc_image_inspect(&image, others[i].data ? data : NULL,
			others[i].size, &err), others[i].status);
		ck_assert_int_gt((int)strlen(err.message), 20);
		ck_assert_ptr_null(image.data);
		kz_error_clear(&err);
	}
}
END_TEST

static const char source[] =
	"struct P { float x, y, z; };\n"
	"struct Big { char bytes[20000]; };\n"
	"enum E { A };\n"
	"__device__ __noinline__ int helper(int a) { return a * 3; }\n"
	"__global__ void none() {}\n"
	"__global__ void mix(const float *a, char b, double c, P d, E e, float4 f) {}\n"
	"__global__ void big(Big b, int *p) { *p = helper(*p) + b.bytes[*p]; }\n";

/* Compiled in the test itself: Check forks. */
static struct rtc_image compile(const char *arch)
{
	struct rtc_request request = {.source = source, .arch = arch};
	struct rtc_image image;
	kz_error err = KZ_ERROR_INIT;
	ck_assert_msg(support_compile(&image, &request, &err) == KZ_OK, "%s", err.message);
	return image;
}

START_TEST(cubins_of_every_architecture_give_kernels_and_layouts)
{
	static const char *const archs[] = {"sm_75", "sm_89", "sm_90", "sm_100", "sm_120"};
	struct rtc_image made = compile(archs[_i]);
	struct rtc_image image;
	kz_error err = KZ_ERROR_INIT;
	ck_assert_int_eq(rtc_image_inspect(&image, made.data, made.size, &err), KZ_OK);
	ck_assert(!image.is_ptx);
	ck_assert_str_eq(image.arch, archs[_i]);
	ck_assert_uint_eq(image.kernel_count, 3);
	for (size_t i = 0; i < made.kernel_count; i++) {
		const struct rtc_kernel *want = &made.kernels[i];
		const struct rtc_kernel *kernel = rtc_image_kernel(&image, want->lowered);
		ck_assert_ptr_nonnull(kernel);
		ck_assert_str_eq(kernel->name, want->name);
		ck_assert(kernel->params_known);
		ck_assert_uint_eq(kernel->param_count, want->param_count);
		for (size_t k = 0; k < want->param_count; k++) {
			ck_assert_int_eq(kernel->params[k].size, want->params[k].size);
			ck_assert_int_eq(kernel->params[k].offset, want->params[k].offset);
			ck_assert_str_eq(kernel->params[k].type, want->params[k].type);
		}
	}
	rtc_image_free(&image);
	rtc_image_free(&made);
}
END_TEST

START_TEST(a_compiled_image_knows_sizes_offsets_and_types)
{
	struct rtc_image image = compile("compute_89");
	expect(&image, "none(), mix(p8@0 const float *, i1@8 char, f8@16 double, s12@24 P, "
		"e4@36 E, s16@48 float4), big(s20000@0 Big, p8@20000 int *)");
	rtc_image_free(&image);
}
END_TEST

static const char with_variables[] =
	"struct P { float x; int id; };\n"
	"namespace ns { __device__ float table[2][8]; static __device__ int hidden = 3; }\n"
	"__constant__ unsigned char c[3] = {1, 2, 3};\n"
	"__managed__ double m; __device__ const P *p; __device__ P ps[2];\n"
	"__global__ void k(float *a) { *a = ns::table[0][1] + c[1] + m + p->x + ns::hidden + "
	"ps->id; }\n";

/* The text has each of these words, and nothing else. */
static void expect_words(const char *text, const char *const *words, size_t count)
{
	size_t len = count - 1;
	for (size_t i = 0; i < count; i++) {
		ck_assert_msg(strstr(text, words[i]) != NULL, "'%s' is not in '%s'", words[i],
			text);
		len += strlen(words[i]);
	}
	ck_assert_uint_eq(strlen(text), len);
}

START_TEST(a_compile_gives_the_types_of_variables)
{
	static const char *const words[] = {"ns::table:g64/4:float [2][8]", "ns::hidden:g4/4:int",
		"c:c3/1:unsigned char [3]", "m:m8/8:double", "p:g8/8:const P *", "ps:g16/4:P [2]"};
	static const char *const archs[] = {"compute_75", "sm_90"};
	for (size_t i = 0; i < countof(archs); i++) {
		struct rtc_request request = {.source = with_variables, .arch = archs[i]};
		struct rtc_image image;
		kz_error err = KZ_ERROR_INIT;
		ck_assert_msg(!support_compile(&image, &request, &err), "%s", err.message);
		char *shown = show_variables(&image);
		expect_words(shown, words, countof(words));
		mem_free(shown);
		const struct rtc_variable *table = rtc_image_variable(&image, "table");
		ck_assert_ptr_nonnull(table);
		ck_assert_ptr_eq(table, rtc_image_variable(&image, "::ns :: table"));
		ck_assert_int_eq(table->kind, PARAM_FLOAT);
		ck_assert_int_eq(table->element_size, 4);
		ck_assert_ptr_null(rtc_image_variable(&image, "tabl"));
		rtc_image_free(&image);
	}
}
END_TEST

START_TEST(a_cubin_gives_variables)
{
	static const char *const words[] = {"ns::table:g64/0", "ns::hidden:g4/0", "c:c3/0",
		"m:m8/0", "p:g8/0", "ps:g16/0"};
	struct rtc_request request = {.source = with_variables, .arch = "sm_90"};
	struct rtc_image made;
	struct rtc_image image;
	ck_assert_int_eq(support_compile(&made, &request, NULL), KZ_OK);
	ck_assert_int_eq(rtc_image_inspect(&image, made.data, made.size, NULL), KZ_OK);
	char *shown = show_variables(&image);
	expect_words(shown, words, countof(words));
	mem_free(shown);
	rtc_image_free(&image);
	rtc_image_free(&made);
}
END_TEST

/* Whatever it is, it ends, without harm and without a wrong status. */
static void inspect_damaged(const char *data, size_t size)
{
	char *copy = mem_alloc(size > 0 ? size : 1); /* its very size, for AddressSanitizer */
	struct rtc_image image;
	kz_error err = KZ_ERROR_INIT;
	memcpy(copy, data, size);
	kz_status status = rtc_image_inspect(&image, copy, size, &err);
	ck_assert(status == KZ_OK || status == KZ_BAD_IMAGE || (size == 0 && status == KZ_INVALID));
	if (status == KZ_OK) {
		rtc_image_free(&image);
	}
	kz_error_clear(&err);
	mem_free(copy);
}

START_TEST(cubins_cut_short_do_no_harm)
{
	struct rtc_image made = compile("sm_90");
	for (size_t size = 0; size < made.size; size += size < 200 ? 1 : 37) {
		inspect_damaged(made.data, size);
	}
	rtc_image_free(&made);
}
END_TEST

/* Three bits at a time; every other time in the header and what follows it, where most harm is. */
START_TEST(cubins_with_bits_turned_do_no_harm)
{
	struct rtc_image made = compile("sm_90");
	char *copy = mem_alloc(made.size);
	uint32_t seed = 12345;
	for (int i = 0; i < 3000; i++) {
		memcpy(copy, made.data, made.size);
		for (int k = 0; k < 3; k++) {
			seed = seed * 1664525 + 1013904223;
			size_t at = (seed >> 8) % (i % 2 ? made.size : 64);
			copy[at] ^= (char)(1 << (seed >> 5 & 7));
		}
		inspect_damaged(copy, made.size);
	}
	mem_free(copy);
	rtc_image_free(&made);
}
END_TEST

/* Names as users write them, and the kernel that they mean. */
static const struct {
	const char *said;
	const char *lowered; /* NULL: none */
	const char *nearest; /* NULL: none */
} lookups[] = {
	{"saxpy", "saxpy", "saxpy"},
	{"_Z5scaleIfLi4EEvPf", "_Z5scaleIfLi4EEvPf", NULL},
	{"scale<float, 4>", "_Z5scaleIfLi4EEvPf", "scale<float, 4>"},
	{" scale < float,4 > ", "_Z5scaleIfLi4EEvPf", "scale<float, 4>"},
	{"::ns::k", "_ZN2ns1kEPf", "ns::k"},
	{"conv<unsigned  char>", "_Z4convIhEvPT_", "conv<unsigned char>"},
	{"conv<unsignedchar>", NULL, "conv<unsigned char>"},
	{"saxp", NULL, "saxpy"},
	{"sxapy", NULL, NULL},
	{"saxpyy", NULL, "saxpy"},
	{"scale", NULL, "scale<float, 4>"},
	{"scale<double, 4>", NULL, "scale<float, 4>"},
	{"k", "_ZN2ns1kEPf", "ns::k"},
	{"fill < int >", "_ZN2v14fillIiEEvPT_", "v1::fill<int>"},
	{"fill", NULL, "v1::fill<int>"},
	{"v2::fill<int>", NULL, "v1::fill<int>"},
	{"twin", NULL, "a::twin"},
	{"b::twin", "_ZN1b4twinEv", "a::twin"},
	{"pick(int)", "_ZN2v14pickEi", "v1::pick(int)"},
	{"pick", NULL, "v1::pick(int)"},
	{"something_else", NULL, NULL},
	{"", NULL, NULL},
};

START_TEST(kernels_are_found_as_they_are_written)
{
	static const char ptx[] = HEAD ".entry saxpy() .entry _Z5scaleIfLi4EEvPf() "
		".entry _ZN2ns1kEPf() .entry _Z4convIhEvPT_() .entry _ZN2v14fillIiEEvPT_() "
		".entry _ZN1a4twinEv() .entry _ZN1b4twinEv() "
		".entry _ZN2v14pickEi(.param .u32 a) .entry _ZN2v14pickEf(.param .f32 a)";
	struct rtc_image image;
	ck_assert_int_eq(rtc_image_inspect(&image, ptx, strlen(ptx), NULL), KZ_OK);
	const struct rtc_kernel *kernel = rtc_image_kernel(&image, lookups[_i].said);
	const char *nearest = rtc_image_nearest(&image, lookups[_i].said);
	if (lookups[_i].lowered) {
		ck_assert_ptr_nonnull(kernel);
		ck_assert_str_eq(kernel->lowered, lookups[_i].lowered);
	} else {
		ck_assert_ptr_null(kernel);
	}
	ck_assert_pstr_eq(nearest, lookups[_i].nearest);
	rtc_image_free(&image);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	const char *ptx = texts[8].ptx;
	for (long n = 0;; n++) {
		struct rtc_image image;
		kz_error err = KZ_ERROR_INIT;
		mem_fail_after(n);
		kz_status status = rtc_image_inspect(&image, ptx, strlen(ptx), &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(status, failed ? KZ_NO_MEMORY : KZ_OK);
		kz_error_clear(&err);
		if (!failed) {
			rtc_image_free(&image);
			break;
		}
	}
}
END_TEST

SUITE(rtc_image)
{
	Suite *suite = suite_create("rtc_image");
	TCase *tc = suite_add_case(suite, "images");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, ptx_gives_kernels_and_layouts, 0, (int)countof(texts));
	tcase_add_loop_test(tc, ptx_gives_variables, 0, (int)countof(variable_texts));
	tcase_add_tests(tc, 1, a_compile_gives_the_types_of_variables, a_cubin_gives_variables,
		data_of_another_kind_is_refused);
	tcase_add_loop_test(tc, cubins_of_every_architecture_give_kernels_and_layouts, 0, 5);
	tcase_add_tests(tc, 1, a_compiled_image_knows_sizes_offsets_and_types,
		cubins_cut_short_do_no_harm, cubins_with_bits_turned_do_no_harm);
	tcase_add_loop_test(tc, kernels_are_found_as_they_are_written, 0, (int)countof(lookups));
	tcase_add_test(tc, want_of_memory_leaves_nothing);
	return suite;
}
