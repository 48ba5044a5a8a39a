/* SPDX-License-Identifier: MIT */
/*
 * Arrays of 8-bit floats on every device: conversions against a search in a list of all their
 * values, and what moves bytes.
 */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static const struct {
	kz_dtype dtype;
	int fraction, bias;
	uint8_t largest;
	const char *ctype;
} formats[] = {
	{KZ_F8_E4M3, 3, 7, 0x7e, "__nv_fp8_e4m3"},
	{KZ_F8_E5M2, 2, 15, 0x7b, "__nv_fp8_e5m2"},
};

/* The value of a byte: (-1)^sign * 1.fraction * 2^(exponent - bias); OCP 8-bit Floating Point. */
static double value_of(size_t format, uint8_t byte)
{
	const int bits = formats[format].fraction, size = byte & 127;
	const int exponent = size >> bits, fraction = size & ((1 << bits) - 1);
	double value = exponent
		? ldexp((1 << bits) + fraction, exponent - formats[format].bias - bits)
		: ldexp(fraction, 1 - formats[format].bias - bits);
	value = size <= formats[format].largest ? value
		: format == 1 && size == 0x7c ? INFINITY : NAN;
	return byte & 128 ? -value : value;
}

/* The nearest byte, of two the even one; too large: the largest. */
static uint8_t byte_of(size_t format, double value)
{
	const uint8_t sign = signbit(value) ? 128 : 0;
	uint8_t best = 0;
	if (isnan(value)) {
		return 0x7f;
	}
	if (fabs(value) >= value_of(format, formats[format].largest)) {
		return sign | formats[format].largest;
	}
	for (uint8_t byte = 1; byte <= formats[format].largest; byte++) {
		double before = fabs(fabs(value) - value_of(format, best));
		double now = fabs(fabs(value) - value_of(format, byte));
		best = now < before || (now == before && byte % 2 == 0) ? byte : best;
	}
	return sign | best;
}

/* Each value and each middle of two, with their neighbours as doubles or floats, and the ends. */
static int list_values(double values[static MOST], size_t format, bool doubles)
{
	static const double ends[] = {INFINITY, NAN, 0, 1e-30, 0x1p-149, 3e38, 463, 464, 480,
		61440, 65536};
	int count = 0;
	for (int byte = 0; byte < formats[format].largest; byte++) {
		double low = value_of(format, (uint8_t)byte);
		double middle = (low + value_of(format, (uint8_t)(byte + 1))) / 2;
		const double both[] = {low, middle};
		for (int i = 0; i < 2; i++) {
			values[count++] = both[i];
			values[count++] = doubles ? nextafter(both[i], 0)
				: nextafterf((float)both[i], 0);
			values[count++] = doubles ? nextafter(both[i], 1e9)
				: nextafterf((float)both[i], 1e9f);
		}
	}
	for (size_t i = 0; i < countof(ends); i++) {
		values[count++] = ends[i];
	}
	for (int i = 0; i < count; i++) {
		values[count + i] = -values[i];
	}
	return 2 * count;
}

/* From float32, and from float64, which is not rounded twice. */
DEVICE_TEST(a_number_becomes_the_nearest_float8)
{
	static double values[MOST];
	static float singles[MOST];
	static uint8_t got[MOST];
	for (size_t f = 0; f < 4; f++) {
		const bool doubles = f / 2;
		const int count = list_values(values, f % 2, doubles);
		kz_array *array, *bytes;
		for (int i = 0; i < count; i++) {
			singles[i] = (float)values[i];
		}
		ok(kz_array_from(&array, dev, doubles ? KZ_F64 : KZ_F32, KZ_SHAPE(count),
			doubles ? (void *)values : (void *)singles, count * (doubles ? 8 : 4),
			&err));
		ok(kz_array_astype(&bytes, array, formats[f % 2].dtype, &err));
		ok(kz_array_get(bytes, got, count, &err));
		for (int i = 0; i < count; i++) {
			double value = doubles ? values[i] : (double)singles[i];
			ck_assert_msg(got[i] == byte_of(f % 2, value), "%s of %a is %#x, not %#x",
				formats[f % 2].ctype, value, got[i], byte_of(f % 2, value));
		}
		release_arrays(array, bytes);
	}
}

DEVICE_TEST(every_other_type_is_converted_to_and_from_float8)
{
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER));) {
		for (size_t f = 0; f < 2; f++) {
			if (!both_shapes_try(2 * (size_t)(dtype - 1) + f, 2 * KZ_C128, 9, 4)) {
				continue;
			}
			const double numbers[] = {0, 1, 2, 7, 13, 100, 119};
			double got[7];
			uint8_t bytes[7];
			kz_array *array = support_array_of(dev, dtype, numbers, 7), *small, *back,
				*wide;
			ok(kz_array_astype(&small, array, formats[f].dtype, &err));
			ok(kz_array_get(small, bytes, 7, &err));
			ok(kz_array_astype(&back, small, dtype, &err));
			ok(kz_array_astype(&wide, back, KZ_F64, &err));
			ok(kz_array_get(wide, got, sizeof(got), &err));
			for (int i = 0; i < 7; i++) {
				double number = dtype == KZ_BOOL ? numbers[i] != 0 : numbers[i];
				ck_assert_uint_eq(bytes[i], byte_of(f, number));
				ck_assert_double_eq(got[i], value_of(f, bytes[i]));
			}
			release_arrays(array, small, back, wide);
		}
	}
}

static kz_array *all_bytes(kz_dtype dtype)
{
	uint8_t bytes[256];
	kz_array *array;
	for (int i = 0; i < 256; i++) {
		bytes[i] = (uint8_t)i;
	}
	ok(kz_array_from(&array, dev, dtype, KZ_SHAPE(16, 16), bytes, 256, &err));
	return array;
}

DEVICE_TEST(every_float8_has_its_value)
{
	for (size_t f = 0; f < 2; f++) {
		kz_array *array = all_bytes(formats[f].dtype), *wide;
		float got[256];
		ok(kz_array_astype(&wide, array, KZ_F32, &err));
		ok(kz_array_get(wide, got, sizeof(got), &err));
		for (int i = 0; i < 256; i++) {
			double want = value_of(f, (uint8_t)i);
			ck_assert_msg(isnan(want) ? isnan(got[i])
				: (double)got[i] == want && !signbit(got[i]) == !signbit(want),
				"%s %#x is %g, not %g", formats[f].ctype, i, (double)got[i], want);
		}
		release_arrays(array, wide);
	}
}

/* The bits of a NaN, too. */
DEVICE_TEST(moving_keeps_all_bits)
{
	for (size_t f = 0; f < 2; f++) {
		kz_array *array = all_bytes(formats[f].dtype), *turned, *copy, *joined, *picked,
			*rows;
		uint8_t got[512];
		ok(kz_array_swapaxes(&turned, array, 0, 1, &err));
		ok(kz_array_copy(&copy, turned, &err));
		ok(kz_array_get(copy, got, 256, &err));
		for (int i = 0; i < 256; i++) {
			ck_assert_uint_eq(got[i], i % 16 * 16 + i / 16);
		}
		ok(kz_array_assign(copy, array, &err));
		ok(kz_array_concatenate(&joined, KZ_ARRAYS(turned, copy), 0, NULL, &err));
		ok(kz_array_get(joined, got, 512, &err));
		for (int i = 0; i < 256; i++) {
			ck_assert_uint_eq(got[i], i % 16 * 16 + i / 16);
			ck_assert_uint_eq(got[256 + i], i);
		}
		ok(kz_array_from(&rows, dev, KZ_I32, KZ_SHAPE(2), ((const int32_t[]){15, 7}), 8,
			&err));
		ok(kz_array_take(&picked, array, rows, 0, KZ_INDEX_CHECK, &err));
		ok(kz_array_get(picked, got, 32, &err));
		ck_assert_uint_eq(got[15], 0xff);
		ck_assert_uint_eq(got[31], 0x7f);
		release_arrays(array, turned, copy, joined, picked, rows);
	}
}

DEVICE_TEST(arithmetic_says_to_convert)
{
	kz_array *array = all_bytes(KZ_F8_E4M3), *other = all_bytes(KZ_F8_E5M2), *out;
	fails(kz_add(&out, array, array, &err), KZ_INVALID, "add does not take float8_e4m3fn (it "
		"is only stored: convert it with kz_array_astype) and float8_e4m3fn (it is only "
		"stored: convert it with kz_array_astype)");
	fails(kz_multiply(&out, array, 2, &err), KZ_INVALID, "convert it with kz_array_astype");
	fails(kz_diff(&out, array, 1, 0, NULL, &err), KZ_INVALID, "subtract does not take float8");
	fails(kz_negative(&out, array, &err), KZ_INVALID, "negative does not take float8");
	fails(kz_ldexp(&out, array, 1, &err), KZ_INVALID, "ldexp does not take float8");
	fails(kz_where(&out, array, other, other, &err), KZ_INVALID, "convert it");
	fails(kz_sum(&out, array, KZ_ALL_AXES, &err), KZ_INVALID,
		"sum does not take float8_e4m3fn (it is only stored: convert it with "
		"kz_array_astype)");
	fails(kz_matmul(&out, other, other, NULL, &err), KZ_INVALID,
		"convert it with kz_array_astype");
	fails(kz_sort(&out, array, 0, NULL, &err), KZ_INVALID, "convert it with kz_array_astype");
	fails(kz_cumsum(&out, array, 0, &err), KZ_INVALID, "convert it with kz_array_astype");
	fails(kz_array_concatenate(&out, KZ_ARRAYS(array, other), 0, NULL, &err), KZ_INVALID,
		"convert it with kz_array_astype");
	ck_assert_uint_eq(kz_dtype_promote(KZ_F8_E4M3, KZ_F32), 0);
	ck_assert_uint_eq(kz_dtype_promote(KZ_F8_E4M3, KZ_F8_E4M3), KZ_F8_E4M3);
	ck_assert_int_eq(kz_dtype_can_cast(KZ_F32, KZ_F8_E4M3), 0);
	ck_assert_int_eq(kz_dtype_can_cast(KZ_F8_E5M2, KZ_F8_E5M2), 1);
	release_arrays(array, other);
}

DEVICE_TEST(an_operation_of_the_program_takes_float8)
{
	kz_elementwise *twice;
	kz_array *array, *out;
	float got[2];
	ok(kz_elementwise_create(&twice, dev, "float *y, const __nv_fp8_e4m3 *x",
		"y[i] = 2 * float(x[i])", NULL, &err));
	ok(kz_array_from(&array, dev, KZ_F8_E4M3, KZ_SHAPE(2), "\x38\x01", 2, &err));
	ok(kz_array_zeros(&out, dev, KZ_F32, KZ_SHAPE(2), &err));
	ok(kz_elementwise_run(twice, NULL, &err, KZ_ARGS(out, array)));
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert(got[0] == 2 && got[1] == 0x1p-8f);
	kz_elementwise_release(twice);
	release_arrays(array, out);
}

/* A comparison of the program's may convert. */
DEVICE_TEST(a_comparison_sorts_float8)
{
	kz_array *array, *sorted;
	uint8_t got[4];
	ok(kz_array_from(&array, dev, KZ_F8_E4M3, KZ_SHAPE(4), "\x38\xb8\x7e\x01", 4, &err));
	ok(kz_sort_compare(&sorted, array, "float(a) < float(b)", 0, NULL, &err));
	ok(kz_array_get(sorted, got, 4, &err));
	ck_assert_mem_eq(got, "\xb8\x01\x38\x7e", 4);
	release_arrays(array, sorted);
}

/* So are structs, of which subtract and negative had a text for integers. */
DEVICE_TEST(structs_are_refused_by_every_rule)
{
	kz_dtype point;
	kz_array *array, *out;
	ok(kz_dtype_register(&point, "struct point", 8, &err));
	ok(kz_array_zeros(&array, dev, point, KZ_SHAPE(2), &err));
	fails(kz_subtract(&out, array, array, &err), KZ_INVALID,
		"subtract does not take struct point and struct point");
	fails(kz_negative(&out, array, &err), KZ_INVALID, "negative does not take struct point");
	fails(kz_ldexp(&out, array, 1, &err), KZ_INVALID, "ldexp does not take struct point");
	kz_array_release(array);
}

DEVICE_TEST(a_number_fills_float8_and_is_printed)
{
	kz_array *array;
	char text[200];
	int64_t length;
	uint8_t got[3];
	ok(kz_array_ones(&array, dev, KZ_F8_E5M2, KZ_SHAPE(3), &err));
	ok(kz_array_get(array, got, 3, &err));
	ck_assert_uint_eq(got[2], 0x3c);
	ok(kz_array_fill(array, KZ_ARG(-0.1), &err));
	ok(kz_array_get(array, got, 3, &err));
	ck_assert_uint_eq(got[0], byte_of(1, -0.1));
	kz_array_release(array);
	ok(kz_array_ones(&array, dev, KZ_F8_E4M3, KZ_SHAPE(2), &err));
	ok(kz_array_get(array, got, 2, &err));
	ck_assert_uint_eq(got[1], 0x38);
	kz_array_release(array);
	ok(kz_array_from(&array, dev, KZ_F8_E4M3, KZ_SHAPE(4), "\x7e\x81\xff\x38", 4, &err));
	ok(kz_array_format(array, text, sizeof(text), &length, &err));
	ck_assert_str_eq(text, "[ 4.5e+02 -2.0e-03      nan  1.0e+00]\n");
	kz_array_release(array);
}

/* Raw for numpy; a file of e5m2 as ml_dtypes writes it, which has the type, is read. */
DEVICE_TEST(float8_is_saved_and_loaded)
{
	char data[400];
	int64_t size;
	for (size_t f = 0; f < 2; f++) {
		kz_array *array = all_bytes(formats[f].dtype), *back;
		uint8_t got[256];
		size = kz_npy_size(array);
		ck_assert_int_le(size, (int64_t)sizeof(data));
		ok(kz_npy_write(array, data, size, &err));
		ck_assert_ptr_nonnull(strstr(data + 10, "{'descr': '|V1', 'fortran_order': False, "
			"'shape': (16, 16), }"));
		ok(kz_npy_read(&back, dev, data, size, formats[f].dtype, &err));
		ok(kz_array_get(back, got, 256, &err));
		ck_assert_uint_eq(got[0x85], 0x85);
		kz_array_release(back);
		memcpy(strstr(data + 10, "|V1"), "<f1", 3);
		if (f) {
			ok(kz_npy_read(&back, dev, data, size, 0, &err));
			ck_assert_uint_eq(kz_array_dtype(back), KZ_F8_E5M2);
			kz_array_release(back);
		}
		kz_array_release(array);
	}
}

/* CUDA's own conversions give the same bytes: in software, and by an instruction of compute_89. */
DEVICE_TEST(kernels_take_float8_and_convert_alike)
{
	static double values[MOST];
	static float singles[MOST];
	static uint8_t got[MOST], want[MOST];
	for (size_t k = 0; k < (dev->info.compute_capability < 89 ? 2 : 4); k++) {
		const size_t f = k % 2;
		kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
		const int count = list_values(values, f, false);
		char source[600];
		kz_array *array, *mine, *theirs, *other;
		kz_module *module;
		kz_kernel *kernel;
		for (int i = 0; i < count; i++) {
			singles[i] = (float)values[i];
		}
		snprintf(source, sizeof(source), "#include <cuda_fp8.h>\n"
			"extern \"C\" __global__ void convert(%s *to, const float *from, int n)\n"
			"{\n\tint i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			"\tif (i < n) {\n\t\tto[i] = %s(from[i]);\n\t}\n}\n", formats[f].ctype,
			formats[f].ctype);
		options.arch = k < 2 ? "compute_75" : "compute_89";
		ok(kz_module_compile(&module, dev, source, &options, &err));
		ok(kz_module_kernel(&kernel, module, "convert", &err));
		ok(kz_array_from(&array, dev, KZ_F32, KZ_SHAPE(count), singles, 4 * count, &err));
		ok(kz_array_zeros(&theirs, dev, formats[f].dtype, KZ_SHAPE(count), &err));
		ok(kz_array_zeros(&other, dev, formats[!f].dtype, KZ_SHAPE(count), &err));
		ok(kz_launch(kernel, kz_dim(32, 1, 1), kz_dim(128, 1, 1), NULL, &err,
			KZ_ARGS(theirs, array, count)));
		ok(kz_array_astype(&mine, array, formats[f].dtype, &err));
		ok(kz_array_get(theirs, want, count, &err));
		ok(kz_array_get(mine, got, count, &err));
		for (int i = 0; i < count; i++) {
			ck_assert_msg(got[i] == want[i], "%s of %a: %#x, CUDA has %#x",
				formats[f].ctype, (double)singles[i], got[i], want[i]);
		}
		fails(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(other, array, 0)), KZ_ARGUMENT, kz_dtype_name(formats[!f].dtype));
		release_arrays(array, mine, theirs, other);
		kz_module_release(module);
	}
}

SUITE(float8)
{
	Suite *s = suite_create("float8");
	TCase *tc = suite_add_case(s, "float8");
	tcase_add_tests(tc, both_shapes_count(), a_number_becomes_the_nearest_float8,
		every_other_type_is_converted_to_and_from_float8, every_float8_has_its_value,
		moving_keeps_all_bits, arithmetic_says_to_convert,
		an_operation_of_the_program_takes_float8, a_comparison_sorts_float8,
		structs_are_refused_by_every_rule, a_number_fills_float8_and_is_printed,
		float8_is_saved_and_loaded, kernels_take_float8_and_convert_alike);
	return s;
}
