/* SPDX-License-Identifier: MIT */
/* Source text to image, with the real NVRTC.  Every test compiles in its own process. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/rtc/thread.h"
#include "support/compile_test.h"
#include "support/image_text.h"
#include "support/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PTX .arch = "compute_89"
#define K "__global__ void "
#define C "extern \"C\" __global__ void "

static kz_error err;

static void compile(struct rtc_image *image, const struct rtc_request *request)
{
	kz_status status = support_compile(image, request, &err);
	ck_assert_msg(status == KZ_OK, "%d %s\n%s", (int)status, err.message,
		err.log ? err.log : "");
	ck_assert_int_eq(err.status, KZ_OK);
}

static void fails(const struct rtc_request *request, kz_status want, const char *message)
{
	struct rtc_image image;
	ck_assert_int_eq(support_compile(&image, request, &err), want);
	ck_assert_int_eq(err.status, want);
	ck_assert_msg(strstr(err.message, message) != NULL, "'%s' is not in: %s", message,
		err.message);
	ck_assert_ptr_null(image.data);
	ck_assert_ptr_null(image.kernels);
}

static void clear(void)
{
	kz_error_clear(&err);
}

static void expect_kernels(const struct rtc_request *request, const char *kernels)
{
	struct rtc_image image;
	compile(&image, request);
	char *shown = image_text(&image);
	ck_assert_str_eq(shown, kernels);
	ck_assert_ptr_null(strstr(image.data, "kudzu_probe"));
	mem_free(shown);
	rtc_image_free(&image);
}

static const struct {
	const char *source;
	const char *instance; /* or NULL */
	const char *kernels;
} sources[] = {
	{"", NULL, ""},
	{"// nothing\n/* here */", NULL, ""},
	{C "k(float *a) { a[0] = 1; }", NULL, "k(p8@0 float *)"},
	{C "k(float *a) { a[0] = 1; } // end \\", NULL, "k(p8@0 float *)"},
	{"namespace a { " C "k(int a) {} " K "l(int a) {} }", NULL,
		"k(i4@0 int), a::l(i4@0 int)"},
	{"struct P { int x; }; struct Q { char c[3]; };\n"
	 "enum E { A }; enum class U : unsigned char {};\n"
	 C "k(P p, Q q, E e, U u, const float4 &r, bool b, unsigned long n, short s, double d) {}",
		NULL,
		"k(s4@0 P, s3@4 Q, e4@8 E, e1@12 U, p8@16 const float4 &, b1@24 bool, "
		"n8@32 unsigned long, i2@40 short, f8@48 double)"},
	{K "k(int a) {} " K "k(float a) {}", NULL,
		"k(int)(i4@0 int), k(float)(f4@0 float)"},
	{"static " K "k(int a) {} namespace { " K "l(float2 f) {} }", NULL,
		"k(i4@0 int), l(s8@0 float2)"},
	{"template<class T> struct id { typedef T type; };\ntemplate<class T, int N> " K
	 "scale(T *p, typename id<T>::type f) { *p = f * N; }",
		"scale<float,4>", "scale<float,4>(p8@0 float *, f4@8 float)"},
	{"template<class... A> " K "k(A... a) {}", "k<int, char *>",
		"k<int, char *>(i4@0 int, p8@8 char *)"},
	{"template<class T> " K "k(T t) {} template " K "k<double>(double);", NULL,
		"k<double>(f8@0 double)"},
	/* What the scan cannot know, NVRTC or the image does. */
	{"#ifdef NOPE\n" C "gone(int a) {}\n#endif\n" C "k(int a) {}", NULL, "k(i4@0 int)"},
	{"#define KERNEL(n) extern \"C\" __global__ void n\nKERNEL(k)(int a, float b) {}", NULL,
		"k(u4@0, f4@4)"},
	{"#define GLOBAL extern \"C\" __global__\nGLOBAL void k(int a) {}", NULL, "k(i4@0 int)"},
	{"#if 1\n" C "k(int a) {\n#else\n" C "k(float a) {\n#endif\n}", NULL, "k(u4@0)"},
};

START_TEST(sources_give_kernels_with_parameters)
{
	struct rtc_request request = {
		.source = sources[_i].source,
		PTX,
		.instances = &sources[_i].instance,
		.instance_count = sources[_i].instance ? 1 : 0,
	};
	expect_kernels(&request, sources[_i].kernels);
}
END_TEST

/* The shape of what comes back. */
START_TEST(an_image_is_ptx_or_a_cubin_as_the_device_needs)
{
	static const struct {
		struct rtc_request request;
		const char *arch;
		bool is_ptx;
	} rows[] = {
		{{.device_cc = 89}, "sm_89", false},
		{{.device_cc = 89, .ptx_only = true}, "compute_89", true},
		{{.arch = "sm_90"}, "sm_90", false},
		{{.arch = "sm_90a"}, "sm_90a", false},
		{{.arch = "sm_90", .ptx_only = true}, "compute_90", true},
		{{.arch = "compute_75", .device_cc = 89}, "compute_75", true},
		{{.device_cc = 89, .debug = true}, "sm_89", false},
		{{.device_cc = 89, .line_info = true, .fast_math = true}, "sm_89", false},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		struct rtc_request request = rows[i].request;
		struct rtc_image image;
		request.source = C "k(int a) {}";
		compile(&image, &request);
		ck_assert_str_eq(image.arch, rows[i].arch);
		ck_assert_int_eq(image.is_ptx, rows[i].is_ptx);
		ck_assert_int_eq(memcmp(image.data, "\177ELF", 4) == 0, !rows[i].is_ptx);
		ck_assert_int_eq(image.kernels[0].params[0].kind, PARAM_INT);
		ck_assert_ptr_null(image.log);
		if (image.is_ptx) {
			ck_assert_uint_eq(strlen(image.data), image.size);
		}
		rtc_image_free(&image);
	}
}
END_TEST

START_TEST(the_architecture_follows_the_rule)
{
	static const int archs[] = {75, 80, 86, 87, 89, 90, 100};
	static const struct {
		int cc;
		const char *real;
		const char *ptx;
	} rows[] = {
		{75, "sm_75", "compute_75"}, {89, "sm_89", "compute_89"},
		{88, "sm_86", "compute_87"}, {87, "sm_87", "compute_87"},
		{103, "sm_100", "compute_100"},
		{120, "compute_100", "compute_100"}, {61, NULL, NULL}, {0, NULL, NULL},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		char real[24] = "";
		char ptx[24] = "";
		int cc = rows[i].cc;
		kz_status status = rtc_choose_arch(real, archs, 7, cc, false, NULL);
		ck_assert_int_eq(status, rtc_choose_arch(ptx, archs, 7, cc, true, NULL));
		ck_assert_int_eq(status == KZ_OK, rows[i].real != NULL);
		ck_assert_str_eq(real, rows[i].real ? rows[i].real : "");
		ck_assert_str_eq(ptx, rows[i].ptx ? rows[i].ptx : "");
	}
	ck_assert_int_eq(rtc_choose_arch((char[24]){0}, archs, 7, 61, false, &err), KZ_VERSION);
	ck_assert_str_eq(err.message, "the device has compute capability 6.1, this NVRTC compiles "
		"for 7.5 and newer");
}
END_TEST

/* Where a source fails: the place, the message, and that nothing of ours shows. */
static const struct {
	const char *source;
	int line;
	int column;
	const char *message;
} errors[] = {
	{K "k(int *p)\n{\n\t*p = y;\n}\n", 3, 7, "identifier \"y\" is undefined"},
	{"struct P { int x; }", 1, 20, "expected a \";\""},
	{"struct P { int x; } // end", 1, 27, "expected a \";\""},
	{K "k() {\n\tint a;\n\n", 2, 8, "expected a \"}\""},
	{K "k() {}\n/* no end", 2, 1, "comment unclosed at end of file"},
	{K "k() { const char *s = \"no end; }\n}", 1, 39, "missing closing quote"},
	{"#include <nope.h>\n", 1, 18, "cannot open source file \"nope.h\""},
	{"#line 70 \"other.cu\"\nint f();\n", 70, 5, "considered a host function"},
	{"#error \xc3\xa9\n", 1, 2, "#error directive"},
	{C "k(int *p) { *p = INT_MAX + x; }", 1, 55, "identifier \"x\" is undefined"},
};

START_TEST(errors_have_their_place_and_message)
{
	struct rtc_request request = {.source = errors[_i].source, PTX, .name = "mine.cu"};
	fails(&request, KZ_COMPILE, errors[_i].message);
	ck_assert_int_eq(err.line, errors[_i].line);
	ck_assert_int_eq(err.column, errors[_i].column);
	ck_assert_str_eq(err.file, strstr(errors[_i].source, "other") ? "other.cu" : "mine.cu");
	ck_assert_int_eq(err.domain, KZ_DOMAIN_NVRTC);
	ck_assert_str_eq(err.name, "NVRTC_ERROR_COMPILATION");
	ck_assert_ptr_nonnull(strstr(err.log, ": error: "));
	ck_assert_ptr_null(strstr(err.log, "probe"));
	ck_assert_ptr_null(strstr(err.log, "nv_name_map"));
}
END_TEST

/* Requests that never can succeed. */
#define DEFINE(text) {.source = "", PTX, .define_count = 1, .defines = (const char *const[]){text}}

static const struct {
	struct rtc_request request;
	kz_status status;
	const char *message;
} bad[] = {
	{DEFINE("1x"), KZ_INVALID, "invalid define '1x'"},
	{DEFINE(""), KZ_INVALID, "invalid define ''"},
	{DEFINE("=1"), KZ_INVALID, "invalid define '=1'"},
	{DEFINE("N M=1"), KZ_INVALID, "invalid define 'N M=1'"},
	{DEFINE("N-1"), KZ_INVALID, "invalid define 'N-1'"},
	{DEFINE("N$=1"), KZ_INVALID, "invalid define 'N$=1'"},
	{{PTX}, KZ_INVALID, "expected source text, got NULL"},
	{{.source = "", .device_cc = -1}, KZ_INVALID, "compute capability"},
	{{.source = "", .device_cc = 50}, KZ_VERSION, "the device has compute capability 5.0"},
	{{.source = "", .arch = "sm_1"}, KZ_VERSION, "does not know 'sm_1'; it knows 75"},
	{{.source = "", .arch = "sm_13", .ptx_only = true}, KZ_VERSION,
		"does not know 'sm_13'; it"},
	{{.source = "", .arch = "native"}, KZ_INVALID, "got 'native'"},
	{{.source = "", .arch = "compute_"}, KZ_INVALID, "got 'compute_'"},
	{{.source = "", PTX, .options = (const char *const[]){"-nope"}, .option_count = 1},
		KZ_INVALID, "unrecognized option -nope found"},
	{{.source = "", PTX, .options = (const char *const[]){"-arch=sm_80"}, .option_count = 1},
		KZ_INVALID, "got the option '-arch=sm_80'"},
	{{.source = "", PTX, .options = (const char *const[]){NULL}, .option_count = 1}, KZ_INVALID,
		"expected 1 compiler options, got a NULL among them"},
	{{.source = "", PTX, .define_count = 2}, KZ_INVALID, "expected 2 defines"},
	{{.source = "", PTX, .include_dirs = (const char *const[]){"/tmp", ""}, .include_count = 2},
		KZ_INVALID, "include_dirs[1] is empty"},
	{{.source = "template<class T> " K "scale(T) {} " K "k() {}", PTX,
		 .instances = (const char *const[]){"scale<flot>"}, .instance_count = 1},
		KZ_NOT_FOUND, "no kernel template instance 'scale<flot>'; kernels in this source: "
		"scale<...>, k; the compiler says: identifier \"flot\" is undefined"},
	{{.source = "template<class T, int N> " K "scale(T *) {}", PTX,
		 .instances = (const char *const[]){"scale<int, 2>", "scale<float>"},
		 .instance_count = 2},
		KZ_NOT_FOUND, "'scale<float>'; kernels in this source: scale<...>; the compiler "
		"says: cannot determine which instance"},
	{{.source = "template<class T> " K "k(T *) {} template<class T> " K "k(T *, int) {}", PTX,
		 .instances = (const char *const[]){"k<int>"}, .instance_count = 1},
		KZ_NOT_FOUND, "template instance 'k<int>' is ambiguous"},
	{{.source = "", PTX, .instances = (const char *const[]){"k<1>"}, .instance_count = 1},
		KZ_NOT_FOUND, "kernels in this source: none"},
	{{.source = C "k(int *p) { __shared__ int a[20000]; a[*p] = 1; __syncthreads(); "
		     "*p = a[1]; }",
		 .arch = "sm_89"},
		KZ_COMPILE, "uses too much shared data"},
	{{.source = "", PTX, .options = (const char *const[]){"-dlto"}, .option_count = 1},
		KZ_UNSUPPORTED, "made no PTX"},
};

START_TEST(bad_requests_are_refused_with_a_reason)
{
	fails(&bad[_i].request, bad[_i].status, bad[_i].message);
}
END_TEST

/* What the assembler refuses is in the source somewhere. */
START_TEST(errors_of_the_assembler_have_their_place_in_the_source)
{
	struct rtc_request request = {
		.source = "#include \"bad.h\"\n" K "k(int *p)\n{\n\t*p = 1;\n\tasm(\"foo %0;\" :: "
			"\"r\"(*p));\n}\n",
		.name = "mine.cu",
		.arch = "sm_90",
		.header_names = (const char *const[]){"bad.h"},
		.header_texts = (const char *const[]){
			"#pragma once\n__device__ void bad()\n{\n\tasm(\"bar;\");\n}\n"},
		.header_count = 1,
	};
	fails(&request, KZ_COMPILE, "'foo'");
	ck_assert_str_eq(err.file, "mine.cu");
	ck_assert_int_eq(err.line, 5);
	ck_assert_int_eq(err.column, 2);
	ck_assert_ptr_nonnull(strstr(err.log, "mine.cu:5:2: error: "));
	ck_assert_ptr_nonnull(strstr(err.log, "\tasm(\"foo %0;\""));
	ck_assert_ptr_nonnull(strstr(err.log, " of the PTX: foo %r"));
	kz_error_clear(&err);
	request.source = "#include \"bad.h\"\n" K "k(int *p)\n{\n\tbad();\n}\n";
	fails(&request, KZ_COMPILE, "'bar'");
	ck_assert_msg(strstr(err.file, "bad.h") != NULL, "%s", err.file);
	ck_assert_int_eq(err.line, 4);
}
END_TEST

START_TEST(warnings_of_a_success_are_kept)
{
	struct rtc_request request = {.source = K "k() { int unused; }", PTX};
	struct rtc_image image;
	compile(&image, &request);
	ck_assert_str_eq(image.log,
		"kernel.cu:1:27: warning: variable \"unused\" was declared but never referenced "
		"[#177-D]\n"
		"  __global__ void k() { int unused; }\n"
		"                            ^\n");
	rtc_image_free(&image);
}
END_TEST

START_TEST(defines_headers_and_options_reach_the_compiler)
{
	const char *source = "#include \"a/mine.h\"\n#include <stdint.h>\n"
		"static_assert(N == 4 && FROM_HEADER == 7 && __cplusplus >= 202002L, \"\");\n"
		"static_assert(_on && TWICE(4) == 8 EMPTY, \"\");\n";
	struct rtc_request request = {
		.source = source,
		PTX,
		.header_names = (const char *const[]){"a/mine.h", "stdint.h"},
		.header_texts = (const char *const[]){"#include \"stdint.h\"\n",
			"#define FROM_HEADER 7\n"},
		.header_count = 2,
		.defines = (const char *const[]){"N=2 + 2", "_on", "TWICE(x)=(2 * (x))",
			"EMPTY="},
		.define_count = 4,
		.options = (const char *const[]){"-std=c++20"},
		.option_count = 1,
	};
	expect_kernels(&request, "");
}
END_TEST

/* More text than any command line would take. */
START_TEST(huge_options_are_no_harm)
{
	struct str define = STR_INIT;
	str_add(&define, "N=");
	for (int i = 0; i < 100000; i++) {
		str_add(&define, "1 + ");
	}
	str_add(&define, "1");
	const char *defines[] = {define.data};
	struct rtc_request request = {.source = "", PTX, .defines = defines, .define_count = 1};
	expect_kernels(&request, "");
	str_free(&define);
}
END_TEST

START_TEST(a_small_stack_and_the_stack_limit_are_no_matter)
{
	struct rlimit before;
	struct rlimit after;
	struct rtc_request request = {.source = K "k() {}", PTX};
	getrlimit(RLIMIT_STACK, &before);
	expect_kernels(&request, "k()");
	getrlimit(RLIMIT_STACK, &after);
	ck_assert_uint_eq(before.rlim_cur, after.rlim_cur);
}
END_TEST

static void *compile_many(void *data)
{
	bool *good = data;
	for (int i = 0; i < 10; i++) {
		bool bad_source = i % 2;
		struct rtc_request request = {.source = bad_source ? "x" : C "k(int a) {}", PTX};
		struct rtc_image image;
		kz_error own = KZ_ERROR_INIT;
		kz_status status = support_compile(&image, &request, &own);
		*good = *good && status == (bad_source ? KZ_COMPILE : KZ_OK);
		*good = *good && (bad_source || image.kernel_count == 1);
		rtc_image_free(&image);
		kz_error_clear(&own);
	}
	return NULL;
}

/* With stacks that are too small for NVRTC. */
START_TEST(threads_compile_good_and_bad_sources_at_the_same_time)
{
	enum { COUNT = 8 };
	pthread_t threads[COUNT];
	pthread_attr_t small;
	bool good[COUNT];
	pthread_attr_init(&small);
	ck_assert_int_eq(pthread_attr_setstacksize(&small, (size_t)64 << 10), 0);
	for (int i = 0; i < COUNT; i++) {
		good[i] = true;
		ck_assert_int_eq(pthread_create(&threads[i], &small, compile_many, &good[i]), 0);
	}
	for (int i = 0; i < COUNT; i++) {
		pthread_join(threads[i], NULL);
		ck_assert(good[i]);
	}
	pthread_attr_destroy(&small);
}
END_TEST

/* A join that is cancelled would leave the compiler's thread with a stack frame that is gone. */
static void *compile_cancelled(void *data)
{
	struct rtc_request request = {.source = K "k() {}", PTX};
	struct rtc_image image;
	pthread_cancel(pthread_self());
	*(kz_status *)data = support_compile(&image, &request, NULL);
	rtc_image_free(&image);
	return NULL;
}

START_TEST(a_thread_is_not_cancelled_while_it_compiles)
{
	struct rtc_request request = {.source = "", PTX};
	struct rtc_image image;
	pthread_t thread;
	kz_status status = KZ_INVALID;
	compile(&image, &request); /* loads NVRTC, which reads files */
	rtc_image_free(&image);
	ck_assert_int_eq(pthread_create(&thread, NULL, compile_cancelled, &status), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(status, KZ_OK);
}
END_TEST

static void *wait_for_byte(void *data)
{
	char byte;
	const int *pipes = data;
	ck_assert_int_eq(write(pipes[1], "", 1), 1);
	ck_assert_int_eq(read(pipes[2], &byte, 1), 1);
	return NULL;
}

static void *run_waiting(void *data)
{
	ck_assert_int_eq(thread_run(wait_for_byte, data, NULL), KZ_OK);
	return NULL;
}

static void *do_nothing(void *data)
{
	return data;
}

/* It would wait for a lock of the compiler's that the other thread holds. */
START_TEST(a_child_that_is_forked_in_a_compile_is_told_so)
{
	pthread_t thread;
	int pipes[4];
	int status;
	char byte;
	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert_int_eq(pipe(pipes + 2), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_waiting, pipes), 0);
	ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
	pid_t child = fork();
	if (child == 0) {
		_exit(thread_run(do_nothing, NULL, NULL) == KZ_STATE ? 42 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	ck_assert_int_eq(thread_run(do_nothing, NULL, &err), KZ_OK);
	ck_assert_int_eq(write(pipes[3], "", 1), 1);
	pthread_join(thread, NULL);
	child = fork();
	if (child == 0) {
		_exit(thread_run(do_nothing, NULL, NULL) == KZ_OK ? 42 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}
END_TEST

START_TEST(an_overload_of_a_template_is_chosen_by_its_type)
{
	const char *instance = "static_cast<void (*)(int *)>(k<int>)";
	struct rtc_request request = {
		.source = "template<class T> " K "k(T *) {} template<class T> " K "k(T *, int) {}",
		PTX,
		.instances = &instance,
		.instance_count = 1,
	};
	expect_kernels(&request, "static_cast<void (*)(int *)>(k<int>)(p8@0 int *)");
}
END_TEST

START_TEST(an_instance_may_be_asked_for_twice)
{
	struct rtc_request request = {
		.source = "template<class T> " K "k(T *a) {}",
		PTX,
		.instances = (const char *const[]){"k<int>", "k<int>", "k< int >"},
		.instance_count = 3,
	};
	expect_kernels(&request, "k<int>(p8@0 int *)");
}
END_TEST

/* With an instance, a probe, a kernel that is asked for, a warning; and with an error. */
START_TEST(want_of_memory_leaves_nothing)
{
	static const char *const texts[] = {
		"template<class T> " K "s(T *a) { int unused; } " C "k(int a) {}\n"
		"static " K "l() {}",
		"template<class T> " K "s(T *a) { *a = y; }",
	};
	kz_status want = _i ? KZ_COMPILE : KZ_OK;
	struct rtc_request request = {
		.source = texts[_i],
		PTX,
		.instances = (const char *const[]){"s<float>"},
		.instance_count = 1,
	};
	struct rtc_image image;
	support_compile(&image, &request, NULL); /* loads NVRTC */
	rtc_image_free(&image);
	for (long n = 0;; n++) {
		mem_fail_after(n);
		kz_status status = support_compile(&image, &request, &err);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		/* The error value may do without its texts. */
		ck_assert(status == (failed ? KZ_NO_MEMORY : want) || (failed && status == want));
		kz_error_clear(&err);
		rtc_image_free(&image);
		if (!failed) {
			break;
		}
	}
}
END_TEST

SUITE(rtc_compile)
{
	Suite *suite = suite_create("rtc_compile");
	TCase *tc = suite_add_case(suite, "compile");
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, sources_give_kernels_with_parameters, 0, (int)countof(sources));
	tcase_add_tests(tc, 1, an_image_is_ptx_or_a_cubin_as_the_device_needs,
		the_architecture_follows_the_rule);
	tcase_add_loop_test(tc, errors_have_their_place_and_message, 0, (int)countof(errors));
	tcase_add_loop_test(tc, bad_requests_are_refused_with_a_reason, 0, (int)countof(bad));
	tcase_add_tests(tc, 1, errors_of_the_assembler_have_their_place_in_the_source,
		warnings_of_a_success_are_kept, defines_headers_and_options_reach_the_compiler,
		an_instance_may_be_asked_for_twice, an_overload_of_a_template_is_chosen_by_its_type,
		a_thread_is_not_cancelled_while_it_compiles,
		a_child_that_is_forked_in_a_compile_is_told_so, huge_options_are_no_harm,
		a_small_stack_and_the_stack_limit_are_no_matter,
		threads_compile_good_and_bad_sources_at_the_same_time);
	tcase_add_loop_test(tc, want_of_memory_leaves_nothing, 0, 2);
	return suite;
}
