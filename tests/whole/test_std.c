/* SPDX-License-Identifier: MIT */
/*
 * The standard headers of C++ in kernels: those of libcu++ where it is installed, and
 * kernels/std.cuh.  The expected values are C's, or follow from the standard.
 */
#include "base/common.h"

#include "lib/rtc/nvrtc.h"
#include "support/suite.h"
#include "support/support.h"

#include <complex.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

enum { MOST = 24 };

static kz_error err;

struct sample {
	const char *headers;
	const char *body; /* puts values by PUT(double) */
	double expected[MOST];
};

static const struct sample samples[] = {
	{"#include <cmath>\n",
		"PUT(std::sqrt(in[0])) PUT(std::abs(in[1])) PUT(std::pow(in[0], 10.0))\n"
		"PUT(std::isnan(std::sqrt(in[1]))) PUT(std::fma(in[0], in[1], "
		"4.0)) PUT(std::floor(in[1]))\n"
		"PUT(sizeof(std::sqrt(1.f))) PUT(std::sqrt(float(in[0]))) PUT(std::round(in[1]))\n"
		"PUT(std::fmod(in[2], in[0])) PUT(std::copysign(in[0], in[1])) "
		"PUT(std::abs(int(in[1])))",
		{1.4142135623730951, 3.5, 1024, 1, -3, -4, 4, 1.41421354f, -4, 1, -2, 3}},
	{"#include <cmath>\n",
		"float f = in[0]; PUT(std::sqrt(9)) PUT(sizeof(std::sqrt(9))) PUT(std::pow(2, "
		"10)) PUT(std::fmax(1, f))\n"
		"PUT(sizeof(std::hypot(f, in[0]))) PUT(sizeof(std::hypot(f, "
		"f))) PUT(std::hypot(1.0, 2.0, 2.0f))\n"
		"PUT(std::isnan(1)) PUT(std::fpclassify(1e-40f) == FP_SUBNORMAL) "
		"PUT(std::isnormal(in[0]))\n"
		"PUT(std::fpclassify(f / 0) == FP_INFINITE) PUT(std::fpclassify(0.0) == FP_ZERO) "
		"PUT(std::isnormal(0))\n"
		"PUT(std::isgreater(f, 1)) PUT(std::isunordered(f, "
		"std::nan(\"\"))) PUT(std::fmod(7, f)) PUT(std::fma(f, 3, 1))\n"
		"int e; PUT(std::frexp(in[2], &e)) PUT(e) std::float_t g = 3; "
		"PUT(g) PUT(std::lround(-2.5)) PUT(std::erf(0))\n"
		"PUT(std::copysign(1, in[1]))",
		{3, 8, 1024, 2, 8, 4, 3, 0, 1, 1, 1, 1, 0, 1, 1, 1, 7, 0.875, 3, 3, -3, 0, -1}},
	{"#include <limits>\n",
		"using F = std::numeric_limits<float>; using D = std::numeric_limits<double>;\n"
		"PUT(F::max()) PUT(F::min()) PUT(F::lowest()) PUT(F::epsilon()) PUT(D::max())\n"
		"PUT(D::denorm_min()) PUT(isinf(F::infinity())) PUT(isnan(D::quiet_NaN()))\n"
		"PUT(std::numeric_limits<int>::max()) PUT(std::numeric_limits<int>::min())\n"
		"PUT(std::numeric_limits<unsigned char>::max()) "
		"PUT(std::numeric_limits<bool>::max())\n"
		"PUT(std::numeric_limits<long long>::min()) PUT(std::numeric_limits<signed "
		"char>::lowest())\n"
		"PUT(F::digits) PUT(D::digits10) PUT(std::numeric_limits<unsigned>::digits10)\n"
		"PUT(F::is_iec559) PUT(std::numeric_limits<char>::is_integer)\n"
		"PUT(std::numeric_limits<const unsigned short>::digits) PUT(F::max_exponent)",
		{FLT_MAX, FLT_MIN, -FLT_MAX, FLT_EPSILON, DBL_MAX, DBL_TRUE_MIN, 1, 1, INT_MAX,
			INT_MIN, UCHAR_MAX, 1, -0x1p63, -128, 24, 15, 9, 1, 1, 16, 128}},
	{"#include <type_traits>\n",
		"enum class E : short { A }; struct P { int a; float b; }; struct Q : P {};\n"
		"PUT((std::is_same_v<int, std::remove_cvref_t<const int &>>))\n"
		"PUT(std::is_integral_v<unsigned char>) PUT(std::is_integral_v<float>)\n"
		"PUT(std::is_floating_point<const double>::value) PUT(std::is_signed_v<int>)\n"
		"PUT(std::is_unsigned_v<double>) PUT(std::is_pointer_v<int *const>)\n"
		"PUT((std::is_same<std::underlying_type_t<E>, "
		"short>::value)) PUT((std::is_base_of_v<P, Q>))\n"
		"PUT((std::is_convertible_v<int, double>)) PUT((std::is_convertible_v<P, int>))\n"
		"PUT((std::is_same_v<std::common_type_t<int, float>, float>))\n"
		"PUT((std::is_same_v<std::conditional_t<false, int, char>, char>))\n"
		"PUT((std::is_same_v<std::make_unsigned_t<int>, "
		"unsigned>)) PUT(std::is_trivially_copyable_v<P>)\n"
		"PUT((std::is_same_v<std::decay_t<int[3]>, int *>)) PUT((std::extent_v<int[2][3], "
		"1>))\n"
		"PUT((std::conjunction_v<std::true_type, "
		"std::false_type>)) PUT(std::is_enum_v<E>)\n"
		"PUT((std::is_same_v<std::invoke_result_t<float (*)(int), int>, float>)) "
		"PUT(std::is_array_v<int[2]>)",
		{1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 3, 0, 1, 1, 1}},
	{"#include <type_traits>\n",
		"struct A { int x; float y; __device__ int f(int); };\n"
		"struct B { __device__ B(int) {} __device__ ~B() {} };\n"
		"using F = float (*)(int, float);\n"
		"PUT((std::is_invocable_v<F, int, int>)) PUT((std::is_invocable_v<F, "
		"A>)) PUT(std::is_aggregate_v<A>)\n"
		"PUT(std::is_aggregate_v<B>) PUT(std::is_trivially_destructible_v<A>) "
		"PUT(std::is_destructible_v<B>)\n"
		"PUT(std::is_trivially_destructible_v<B>) PUT(std::is_destructible_v<void>)\n"
		"PUT(std::is_nothrow_move_constructible_v<A>) PUT(std::is_member_pointer_v<int "
		"A::*>)\n"
		"PUT(std::is_member_object_pointer_v<int A::*>) "
		"PUT(std::is_member_function_pointer_v<int (A::*)(int)>)\n"
		"PUT(std::is_member_pointer_v<int *>) PUT(sizeof(std::aligned_storage_t<24, 8>))\n"
		"PUT(alignof(std::aligned_storage_t<24, 8>)) "
		"PUT(std::is_trivially_copy_constructible_v<A>)",
		{1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 24, 8, 1}},
	{"#include <utility>\n"
	 "template <std::size_t... i> __device__ int sum(std::index_sequence<i...>) { return "
	 "(int(i) + ...); }\n",
		"std::pair<int, double> p = std::make_pair(3, in[0]), q(p);\n"
		"int a = 1, b = 2, c[2] = {5, 6}, d[2] = {7, 8};\n"
		"std::swap(a, b); std::swap(c, d); q.second += 1;\n"
		"PUT(a) PUT(b) PUT(c[1]) PUT(d[0]) PUT(p.first + p.second) PUT(p < q) PUT(p == q)\n"
		"PUT(std::exchange(a, 9)) PUT(a) PUT(sum(std::make_index_sequence<5>())) "
		"PUT(std::get<1>(q))\n"
		"auto [x, y] = q; PUT(x * y) int &&r = std::move(b); PUT(r)",
		{2, 1, 8, 5, 5, 1, 0, 2, 9, 10, 3, 9, 1}},
	{"#include <tuple>\n",
		"auto t = std::make_tuple(1, 2.5f, 'c'); int a; float b; char c; "
		"std::tie(a, b, c) = t;\n"
		"auto [x, y, z] = t; std::get<0>(t) = 7; std::tuple<long, double, int> u = t;\n"
		"PUT(a) PUT(b) PUT(c) PUT(x) PUT(y) PUT(z) PUT(std::get<0>(t)) "
		"PUT(std::get<float>(t))\n"
		"PUT(std::tuple_size_v<decltype(t)>) PUT((sizeof(std::tuple_element_t<1, "
		"decltype(u)>)))\n"
		"PUT(std::apply([](int i, float f, char) { return i * f; }, t)) PUT(u == t)\n"
		"PUT(std::make_tuple(1, 2) < std::make_tuple(1, "
		"3)) PUT(std::get<0>(std::tuple<>() == std::tuple<>() ? t : t))\n"
		"std::tie(std::ignore, b) = std::make_pair(1, 4.f); PUT(b)",
		{1, 2.5, 'c', 1, 2.5, 'c', 7, 2.5, 3, 8, 17.5, 1, 1, 7, 4}},
	{"#include <tuple>\n",
		"auto t = std::tuple_cat(std::make_tuple(1, 2.5), std::make_pair(3, 4), "
		"std::tuple<>(), std::make_tuple(5));\n"
		"PUT(std::tuple_size_v<decltype(t)>) PUT(std::get<0>(t)) PUT(std::get<double>(t)) "
		"PUT(std::get<3>(t))\n"
		"PUT(std::get<4>(t)) PUT(std::get<int>(std::make_pair(2.5, "
		"6))) const std::pair<char, int> p(1, 2);\n"
		"PUT(std::get<char>(p)) PUT((std::is_same_v<std::tuple_element_t<1, decltype(t)>, "
		"double>))",
		{5, 1, 2.5, 4, 5, 6, 1, 1}},
	{"#include <array>\n",
		"std::array<int, 3> a{{1, 2, 3}}; int n = 0; for (auto i = a.rbegin(); "
		"i != a.rend(); ++i) n = 10 * n + *i;\n"
		"PUT(n) PUT(a.at(2)) a.at(0) = 7; const auto b = a; PUT(b.at(0)) "
		"PUT(b.rbegin()[2]) PUT(a.rend() - a.rbegin())",
		{321, 3, 7, 7, 3}},
	{"#include <cstddef>\n",
		"std::byte b{0x0f}; b <<= 2; b |= std::byte{1}; "
		"PUT(std::to_integer<int>(b)) PUT(std::to_integer<int>(~b))\n"
		"PUT(std::to_integer<int>((b & std::byte{7}) ^ std::byte{2})) "
		"PUT(std::to_integer<int>(b >> 4))\n"
		"PUT(sizeof(std::byte)) PUT(alignof(std::max_align_t))",
		{61, 194, 7, 3, 1, 16}},
	{"#include <array>\n",
		"std::array<float, 4> a = {1, 2, 3, 4}, b = a; double s = 0; "
		"for (float x : a) s += x;\n"
		"b[2] = 9; PUT(s) PUT(a.size()) PUT(a.back()) PUT(a.front()) PUT(a == b) PUT(a < "
		"b)\n"
		"PUT(std::get<1>(a)) b.fill(6); PUT(b[3]) a.swap(b); "
		"PUT(a[0]) PUT(b.data()[3]) PUT(b.end() - b.begin())\n"
		"PUT(sizeof(a)) PUT((std::array<int, 0>().empty())) std::array c{1, 2, 3}; "
		"PUT(c.size())\n"
		"auto [i, j, k] = c; PUT(i + 10 * j + 100 * k)",
		{10, 4, 4, 1, 0, 1, 2, 6, 6, 4, 4, 16, 1, 3, 321}},
	{"#include <cstddef>\n#include <cstdint>\n#include <cstdio>\n#include <cassert>\n#include "
		"<cstdlib>\n"
	 "#include <cstring>\n#include <climits>\n#include <cfloat>\n",
		"std::size_t n = sizeof(std::uint16_t); std::ptrdiff_t d = -1; "
		"std::int64_t i = INT64_MAX;\n"
		"std::nullptr_t none = nullptr; "
		"double *copy = static_cast<double *>(std::malloc(8));\n"
		"assert(in[0] == 2); if (in[0] != 2) { std::printf(\"never\\n\"); }\n"
		"std::memcpy(copy, in, 8); PUT(*copy) std::memset(copy, 0, 8); "
		"PUT(*copy) std::free(copy);\n"
		"PUT(n) PUT(d) PUT(i > 0) PUT(none == nullptr) PUT(offsetof(uint4, "
		"z)) PUT(CHAR_BIT) PUT(DBL_DIG)\n"
		"PUT(sizeof(std::uintptr_t)) PUT(std::uint8_t(257))",
		{2, 0, 2, -1, 1, 1, 8, 8, 15, 8, 1}},
};

static bool has_libcxx(void)
{
	const struct nvrtc *nvrtc;
	char path[4096];
	bool has = false;
	ck_assert_int_eq(nvrtc_open(&nvrtc, &err), KZ_OK);
	for (size_t i = 0; i < nvrtc->include_count; i++) {
		snprintf(path, sizeof(path), "%s/cuda/std/cmath", nvrtc->include_dirs[i]);
		has = has || access(path, R_OK) == 0;
	}
	struct nvrtc_bundle info;
	return has || (!getenv("KUDZU_CUDA_INCLUDE") && nvrtc_bundle(&info, nvrtc));
}

/* Run a kernel that puts values; the one before them says whether the headers were ours. */
static void run(kz_device *dev, const char *headers, const char *body, double *out)
{
	static const double in[] = {2, -3.5, 7}, end = -99;
	char source[8192];
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_array *from = NULL, *to = NULL;
	snprintf(source, sizeof(source), "%s"
		"#ifdef KUDZU_STD\n#define OURS 1\n#else\n#define OURS 0\n#endif\n"
		"#define PUT(x) *out++ = (double)(x);\n"
		"extern \"C\" __global__ void k(double *out, const double *in)\n{\nPUT(OURS)\n%s\n"
		"}\n",
		headers, body);
	ck_assert_msg(kz_module_compile(&mod, dev, source, NULL, &err) == KZ_OK, "%s", err.log);
	ok(kz_module_kernel(&kernel, mod, "k", &err));
	ok(kz_array_from(&from, dev, KZ_F64, KZ_SHAPE(3), in, sizeof(in), &err));
	ok(kz_array_full(&to, dev, KZ_F64, KZ_SHAPE(MOST + 1), &end, sizeof(end), &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(to, from)));
	ok(kz_array_get(to, out, (MOST + 1) * (int64_t)sizeof(*out), &err));
	kz_array_release(to);
	kz_array_release(from);
	kz_module_release(mod);
}

/* Tests run twice for each of `of`: whether this one is tried.  A quarter of them are. */
static bool is_tried(int index, size_t of)
{
	return support_is_tried(index, 2 * (int)of, (int)of / 2 + 1, 5);
}

/* Each sample by what is installed, then by our own headers alone. */
START_TEST(headers_of_cxx_are_those_of_the_standard)
{
	const struct sample *sample = &samples[_i / 2];
	const bool ours = _i % 2;
	double out[MOST + 1];
	if (!is_tried(_i, countof(samples))) {
		return;
	}
	if (ours) {
		setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	}
	err = (kz_error)KZ_ERROR_INIT;
	kz_device *dev = support_open(0);
	run(dev, sample->headers, sample->body, out);
	if (!strstr(sample->headers, "cstdio")) {
		ck_assert_int_eq(out[0], !has_libcxx());
	}
	for (int i = 0; out[i + 1] != -99; i++) {
		ck_assert_msg(out[i + 1] == sample->expected[i],
			"%s value %d: expected %.17g, got %.17g",
			sample->headers, i, sample->expected[i], out[i + 1]);
	}
	support_close(dev);
}
END_TEST

static void expect_near(double got, double expected, int index)
{
	ck_assert_msg(fabs(got - expected) <= 1e-13 * (1 + fabs(expected)),
		"value %d: expected %.17g, got %.17g", index, expected, got);
}

static const char *const headers[] = {"array", "cassert", "cfloat", "climits", "cmath", "complex",
	"cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "limits", "tuple", "type_traits",
	"utility"};

/* With CUDA's functions and the names of the standard in one scope, no call is ambiguous. */
START_TEST(each_header_stands_alone_and_in_the_global_namespace)
{
	static const char body[] =
		"float f = in[0]; double d = in[1]; char c[8]; size_t n = 1; uint32_t u = 2; "
		"int i = 3;\n"
		"PUT(sqrt(4 * f + 1)) PUT(pow(d, 2.0)) PUT(pow(f, 3.f)) PUT(pow(f, "
		"i)) PUT(abs(f)) PUT(abs(d))\n"
		"PUT(fabs(d)) PUT(isnan(f)) PUT(isfinite(d)) PUT(min(i, 2)) PUT(max(f, "
		"1.f)) PUT(fmin(f, 1.f))\n"
		"PUT(floor(d)) PUT(fma(f, f, 1.f)) PUT(fmod(f, 2.f)) PUT(copysign(f, "
		"-1.f)) PUT(signbit(d))\n"
		"PUT(round(d)) PUT(lround(f)) memcpy(c, in, n + u); PUT(hypot(3.f, 4.f)) "
		"free(malloc(n));";
	static const double expected[] = {3, 12.25, 8, 8, 2, 3.5, 3.5, 0, 1, 2, 2, 1, -4, 5, 0, -2,
		1, -4, 2, 5};
	char lines[64];
	double out[MOST + 1];
	if (!is_tried(_i, countof(headers))) {
		return;
	}
	if (_i % 2) {
		setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	}
	err = (kz_error)KZ_ERROR_INIT;
	kz_device *dev = support_open(0);
	snprintf(lines, sizeof(lines), "#include <%s>\nnamespace std {}\nusing namespace std;\n",
		headers[_i / 2]);
	run(dev, lines, body, out);
	ck_assert_mem_eq(out + 1, expected, sizeof(expected));
	support_close(dev);
}
END_TEST

START_TEST(complex_numbers_are_those_of_c)
{
	static const char body[] =
		"std::complex<double> a(in[0], in[1]), b(in[2], 0.5), c = a;\n"
		"c *= 2; c += b; c -= 1.0;\n"
		"#define BOTH(z) { auto w = z; PUT(w.real()) PUT(w.imag()) }\n"
		"BOTH(a * b) BOTH(a / b) BOTH(b / a) BOTH(c) BOTH(std::exp(a)) BOTH(std::sqrt(a))\n"
		"BOTH(std::sqrt(-b)) BOTH(std::log(a)) BOTH(std::pow(a, 2.5)) BOTH(std::sin(a))\n"
		"PUT(std::abs(a)) PUT(std::arg(a)) PUT(std::norm(b) + (std::conj(a) == a))";
	const double complex a = 2 - 3.5 * I, b = 7 + 0.5 * I;
	const double complex expected[] = {a * b, a / b, b / a, 2 * a + b - 1, cexp(a), csqrt(a),
		csqrt(-b), clog(a), cpow(a, 2.5), csin(a)};
	double out[MOST + 1];
	if (_i) {
		setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	}
	err = (kz_error)KZ_ERROR_INIT;
	kz_device *dev = support_open(0);
	run(dev, "#include <complex>\n", body, out);
	for (int i = 0; i < (int)countof(expected); i++) {
		expect_near(out[1 + 2 * i], creal(expected[i]), 2 * i);
		expect_near(out[2 + 2 * i], cimag(expected[i]), 2 * i + 1);
	}
	expect_near(out[21], cabs(a), 20);
	expect_near(out[22], carg(a), 21);
	expect_near(out[23], creal(b * conj(b)), 22);
	support_close(dev);
}
END_TEST

/* On both sides of each cut, and far from it. */
START_TEST(inverse_functions_of_complex_numbers_are_those_of_c)
{
	static const char body[] =
		"std::complex<double> a(in[0], in[1]);\n"
		"#define BOTH(z) { auto w = z; PUT(w.real()) PUT(w.imag()) }\n"
		"BOTH(std::asin(a)) BOTH(std::acos(a)) BOTH(std::atan(a)) BOTH(std::asinh(a)) "
		"BOTH(std::acosh(a))\n"
		"BOTH(std::atanh(a)) BOTH(std::asin(-a)) BOTH(std::acosh(-a)) BOTH(std::pow(2.0, "
		"a))\n"
		"using namespace std::complex_literals; BOTH(a + 2.0i) PUT(std::norm(3) + "
		"std::real(1.5f))";
	const double complex a = 2 - 3.5 * I;
	const double complex expected[] = {casin(a), cacos(a), catan(a), casinh(a), cacosh(a),
		catanh(a), casin(-a), cacosh(-a), cpow(2, a), a + 2 * I};
	double out[MOST + 1];
	if (_i) {
		setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	}
	err = (kz_error)KZ_ERROR_INIT;
	kz_device *dev = support_open(0);
	run(dev, "#include <complex>\n", body, out);
	for (int i = 0; i < (int)countof(expected); i++) {
		expect_near(out[1 + 2 * i], creal(expected[i]), 2 * i);
		expect_near(out[2 + 2 * i], cimag(expected[i]), 2 * i + 1);
	}
	expect_near(out[21], 10.5, 20);
	support_close(dev);
}
END_TEST

/* The types of pow are those of C++17, and constant expressions stay so. */
START_TEST(complex_numbers_promote_as_those_of_cxx)
{
	static const char body[] =
		"using F = std::complex<float>; using D = std::complex<double>; F f(in[0]); "
		"D d(in[0]);\n"
		"PUT(sizeof(std::pow(f, f))) PUT(sizeof(std::pow(f, "
		"2.f))) PUT(sizeof(std::pow(2.f, f)))\n"
		"PUT(sizeof(std::pow(f, 2))) PUT(sizeof(std::pow(f, 2.0))) PUT(sizeof(std::pow(f, "
		"d)))\n"
		"PUT(sizeof(std::pow(2, f))) PUT(sizeof(std::pow(d, "
		"2.f))) PUT(sizeof(std::proj(2.f)))\n"
		"constexpr D q = D(3, 4) / D(0, 2) * D(2); PUT(q.real()) PUT(q.imag())\n"
		"PUT(std::pow(f, 3).real() - 8 < 1e-14) PUT(std::pow(2, D(3)).real() - 8 < 1e-14)";
	static const double expected[] = {8, 8, 8, 16, 16, 16, 16, 16, 8, 4, -3, 1, 1};
	double out[MOST + 1];
	if (_i) {
		setenv("KUDZU_CUDA_INCLUDE", "/nowhere", 1);
	}
	err = (kz_error)KZ_ERROR_INIT;
	kz_device *dev = support_open(0);
	run(dev, "#include <complex>\n", body, out);
	ck_assert_mem_eq(out + 1, expected, sizeof(expected));
	support_close(dev);
}
END_TEST

START_TEST(without_the_prelude_there_are_no_headers)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_module *mod = NULL;
	options.no_prelude = 1;
	err = (kz_error)KZ_ERROR_INIT;
	kz_device *dev = support_open(0);
	ck_assert_int_eq(kz_module_compile(&mod, dev, "#include <cmath>\n", &options, &err),
		KZ_COMPILE);
	ck_assert_ptr_nonnull(strstr(err.message, "cmath"));
	kz_error_clear(&err);
	support_close(dev);
}
END_TEST

SUITE(std)
{
	Suite *s = suite_create("std");
	TCase *tc = suite_add_case(s, "headers");
	tcase_add_loop_test(tc, headers_of_cxx_are_those_of_the_standard, 0, 2 * countof(samples));
	tcase_add_loop_test(tc, each_header_stands_alone_and_in_the_global_namespace, 0,
		2 * countof(headers));
	tcase_add_loop_test(tc, complex_numbers_are_those_of_c, 0, 2);
	tcase_add_loop_test(tc, inverse_functions_of_complex_numbers_are_those_of_c, 0, 2);
	tcase_add_loop_test(tc, complex_numbers_promote_as_those_of_cxx, 0, 2);
	tcase_add_test(tc, without_the_prelude_there_are_no_headers);
	return s;
}
