/* SPDX-License-Identifier: MIT */
/*
 * src/lib/array/cuda_array.c and texture.c: textures as arguments of kernels, and what is refused.
 */
#include "lib/array/textures.h"

TEXTURE_TEST(kernels_take_textures_for_their_handles_only)
{
	kz_array *line = array_of(KZ_F32, KZ_SHAPE(W), texels);
	kz_kernel *fetch = NULL;
	kz_texture *texture = NULL;
	kz_surface *none = NULL;
	ok(kz_module_kernel(&fetch, mod, "fetch1", &err));
	ok(kz_texture_from(&texture, line, NULL, &err));
	fails(kz_launch_1d(fetch, 1, NULL, &err, KZ_ARGS(line, line, line, 1)), KZ_ARGUMENT,
		"argument 1 of 'fetch1': expected unsigned long long (8 bytes), got an array");
	fails(kz_launch_1d(fetch, 1, NULL, &err, KZ_ARGS(texture, texture, line, 1)), KZ_ARGUMENT,
		"argument 2 of 'fetch1': expected const float *, got a texture");
	fails(kz_launch_1d(fetch, 1, NULL, &err, KZ_ARGS(texture, line, line, texture)),
		KZ_ARGUMENT, "argument 4 of 'fetch1': expected int (4 bytes), got a texture");
	fails(kz_launch_1d(fetch, 1, NULL, &err, KZ_ARGS(none, line, line, 1)), KZ_ARGUMENT,
		"argument 1 of 'fetch1': the kz_surface is NULL");
	kz_texture_release(texture);
	kz_array_release(line);
}

TEXTURE_TEST(a_texture_may_be_released_behind_its_launch)
{
	fill_texels();
	float x[W], got[W];
	for (int i = 0; i < W; i++) {
		x[i] = (float)i;
	}
	kz_array *line = array_of(KZ_F32, KZ_SHAPE(W), texels),
		*xs = array_of(KZ_F32, KZ_SHAPE(W), x);
	kz_array *out = array_of(KZ_F32, KZ_SHAPE(W), got);
	kz_stream *stream = NULL;
	kz_kernel *fetch = NULL;
	kz_texture *texture = NULL;
	kz_launch_options on = KZ_LAUNCH_OPTIONS_INIT;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_module_kernel(&fetch, mod, "fetch1", &err));
	ok(kz_texture_from(&texture, line, NULL, &err));
	on.stream = stream;
	ok(kz_launch_1d(fetch, W, &on, &err, KZ_ARGS(texture, xs, out, (int)W)));
	kz_texture_release(texture);
	kz_array_release(line);
	ok(kz_array_get(out, got, sizeof(got), &err));
	ck_assert_mem_eq(got, texels, sizeof(got));
	kz_stream_release(stream);
	kz_array_release(xs);
	kz_array_release(out);
}

DEVICE_TEST(what_cannot_be_an_array_is_refused)
{
	kz_cuda_array *out = (kz_cuda_array *)&err;
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	fails(kz_cuda_array_create(NULL, dev, KZ_F32, KZ_SHAPE(4), NULL, &err), KZ_INVALID,
		"out is NULL");
	fails(kz_cuda_array_create(&out, NULL, KZ_F32, KZ_SHAPE(4), NULL, &err), KZ_INVALID,
		"expected a device");
	ck_assert_ptr_null(out);
	fails(kz_cuda_array_create(&out, dev, KZ_F64, KZ_SHAPE(4), NULL, &err), KZ_INVALID,
		"got float64");
	fails(kz_cuda_array_create(&out, dev, 77, KZ_SHAPE(4), NULL, &err), KZ_INVALID,
		"not a dtype");
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(2, 2, 2, 2), NULL, &err), KZ_INVALID,
		"(depth, height, width), got (2, 2, 2, 2)");
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(4, 0), NULL, &err), KZ_INVALID,
		"(4, 0)");
	how.channels = 3;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(4), &how, &err), KZ_INVALID,
		"1, 2 or 4 channels, got 3");
	how.channels = 1;
	how.kind = KZ_CUDA_ARRAY_CUBE;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(6, 4, 5), &how, &err), KZ_INVALID,
		"(6, width, width), got (6, 4, 5)");
	how.kind = KZ_CUDA_ARRAY_LAYERED;
	how.gather = 1;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(4, 4), &how, &err), KZ_INVALID,
		"tex2Dgather reads plain");
	how.kind = 9;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(6), &how, &err), KZ_INVALID,
		"got 9");
	how.kind = 0;
	how.size = 3;
	fails(kz_cuda_array_create(&out, dev, KZ_F32, KZ_SHAPE(6), &how, &err), KZ_INVALID,
		"kz_cuda_array_options has size 3, expected ");
}

DEVICE_TEST(arrays_that_do_not_fit_are_refused)
{
	kz_cuda_array *texels_of = NULL;
	kz_array *a = array_of(KZ_F32, KZ_SHAPE(H, W), texels), *b = NULL;
	kz_array *ints = array_of(KZ_I32, KZ_SHAPE(H, W), texels);
	ok(kz_cuda_array_create(&texels_of, dev, KZ_F32, KZ_SHAPE(H, W), NULL, &err));
	fails(kz_cuda_array_set(texels_of, 1, a, &err), KZ_RANGE,
		"level 1 of a CUDA array of 1 level");
	fails(kz_cuda_array_set(texels_of, 0, ints, &err), KZ_INVALID,
		"of float32, got one of int32");
	fails(kz_cuda_array_get(NULL, texels_of, 0, &err), KZ_INVALID, "expected an array");
	ok(kz_array_slice(&b, a, KZ_AT(KZ_SLICE(0, 4)), &err));
	fails(kz_cuda_array_set(texels_of, 0, b, &err), KZ_INVALID, "shape (8, 16), got (4, 16)");
	kz_array_release(b);
	kz_array_release(a);
	kz_array_release(ints);
	kz_cuda_array_release(texels_of);
	kz_cuda_array_release(NULL);
}

static void refuse_options(kz_cuda_array *array, kz_texture_options how, const char *why)
{
	kz_texture *out = NULL;
	fails(kz_texture_create(&out, array, &how, &err), KZ_INVALID, why);
	ck_assert_ptr_null(out);
}

DEVICE_TEST(options_that_do_not_go_together_are_refused)
{
	kz_cuda_array *floats = NULL, *ints = NULL;
	kz_surface *surface = NULL;
	const kz_texture_options plain = KZ_TEXTURE_OPTIONS_INIT;
	kz_texture_options how = plain;
	ok(kz_cuda_array_create(&floats, dev, KZ_F32, KZ_SHAPE(H, W), NULL, &err));
	ok(kz_cuda_array_create(&ints, dev, KZ_U8, KZ_SHAPE(H, W), NULL, &err));
	how.address[1] = KZ_TEXTURE_WRAP;
	refuse_options(floats, how, "need normalized coordinates");
	how.address[1] = 4;
	refuse_options(floats, how, "a kz_texture_address, got 4");
	how = plain;
	how.size = 3;
	refuse_options(floats, how, "initialize it with KZ_TEXTURE_OPTIONS_INIT");
	how = plain;
	how.filter = 2;
	refuse_options(floats, how, "a kz_texture_filter, got 2");
	how.filter = KZ_TEXTURE_LINEAR;
	refuse_options(ints, how, "filters floats, got uint8");
	how = plain;
	how.as_float = 1;
	refuse_options(floats, how, "got float32");
	how = plain;
	how.srgb = 1;
	refuse_options(floats, how, "sRGB texels are uint8");
	how = plain;
	how.seamless = 1;
	refuse_options(floats, how, "needs a cube");
	how = plain;
	how.anisotropy = 17;
	refuse_options(floats, how, "up to 16, got 17");
	how = plain;
	how.layer_count = 1;
	refuse_options(floats, how, "of kind KZ_CUDA_ARRAY_LAYERED");
	how = plain;
	how.dtype = KZ_U16;
	refuse_options(floats, how, "expected texels of 4 bytes, as the CUDA array has, got 1 of "
		"uint16");
	how.dtype = KZ_F64;
	refuse_options(floats, how, "got float64");
	how = plain;
	how.level_count = 2;
	fails(kz_texture_create(&(kz_texture *){NULL}, floats, &how, &err), KZ_RANGE,
		"2 levels from 0 of a CUDA array that has 1");
	how.first_level = -1;
	fails(kz_texture_create(&(kz_texture *){NULL}, floats, &how, &err), KZ_RANGE, "from -1");
	how.size = 3;
	refuse_options(floats, how, "KZ_TEXTURE_OPTIONS_INIT");
	fails(kz_surface_create(&surface, floats, 0, &err), KZ_INVALID, "with the option surface");
	fails(kz_surface_create(&surface, NULL, 0, &err), KZ_INVALID, "expected a CUDA array");
	kz_cuda_array_release(floats);
	kz_cuda_array_release(ints);
	kz_texture_release(NULL);
	kz_surface_release(NULL);
}

DEVICE_TEST(memory_that_cannot_be_a_texture_is_refused)
{
	kz_texture *out = NULL;
	kz_texture_options how = KZ_TEXTURE_OPTIONS_INIT;
	kz_array *all = array_of(KZ_F32, KZ_SHAPE(D, H, W), texels), *part = NULL;
	fails(kz_texture_from(&out, all, NULL, &err), KZ_INVALID,
		"got an array of shape (4, 8, 16)");
	how.channels = 2;
	fails(kz_texture_from(&out, all, &how, &err), KZ_INVALID, "2 channels, side by side");
	ok(kz_array_slice(&part, all, KZ_AT(0, 0), &err));
	how.channels = 1;
	how.normalized = 1;
	fails(kz_texture_from(&out, part, &how, &err), KZ_INVALID,
		"1-d array's memory cannot have a filter");
	kz_array_release(part);
	how.normalized = 0;
	how.mipmap_filter = KZ_TEXTURE_LINEAR;
	fails(kz_texture_from(&out, all, &how, &err), KZ_INVALID, "got an array of shape");
	ok(kz_array_slice(&part, all, KZ_AT(0), &err));
	fails(kz_texture_from(&out, part, &how, &err), KZ_INVALID, "cannot be a cube or a mipmap");
	how.mipmap_filter = 0;
	how.first_layer = 1;
	fails(kz_texture_from(&out, part, &how, &err), KZ_INVALID,
		"only a texture of a CUDA array can choose");
	kz_array_release(part);
	kz_array_release(all);
}

KERNEL_TEST(memory_that_is_not_aligned_is_refused)
{
	kz_texture *out = NULL;
	kz_array *all = array_of(KZ_F32, KZ_SHAPE(W, H + 1), texels), *part = NULL;
	ck_assert_int_eq(kz_texture_from(&out, all, NULL, &err), KZ_INVALID);
	ck_assert_ptr_nonnull(strstr(kz_error_hint(&err), "kz_cuda_array_from"));
	ck_assert_ptr_nonnull(strstr(err.message,
		"the row pitch of the array is 36, expected a multiple of 32"));
	kz_error_clear(&err);
	ok(kz_array_slice(&part, all, KZ_AT(0, KZ_SLICE(1, 4)), &err));
	fails(kz_texture_from(&out, part, NULL, &err), KZ_INVALID, "the address of the array is");
	kz_array_release(part);
	kz_array_release(all);
}

static kz_status make_all(kz_cuda_array **array, kz_texture **texture, kz_surface **surface,
	const kz_array *from)
{
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	how.surface = 1;
	kz_status st = kz_cuda_array_from(array, from, &how, &err);
	st = st ? st : kz_texture_create(texture, *array, NULL, &err);
	return st ? st : kz_surface_create(surface, *array, 0, &err);
}

/* Make one of each, while a call of the driver or a request for memory may fail. */
static kz_status make_and_release(const kz_array *from)
{
	kz_cuda_array *array = NULL;
	kz_texture *texture = NULL;
	kz_surface *surface = NULL;
	kz_status st = make_all(&array, &texture, &surface, from);
	ck_assert_int_eq(st == KZ_OK, surface != NULL);
	kz_cuda_array_release(array);
	kz_texture_release(texture);
	kz_surface_release(surface);
	return st;
}

static void failed_call(const char *script, kz_status want, const char *call)
{
	open_stub(script);
	kz_array *from = array_of(KZ_F32, KZ_SHAPE(H, W), texels);
	ck_assert_int_eq(make_and_release(from), want);
	ck_assert_str_eq(err.call, call);
	kz_error_clear(&err);
	kz_array_release(from);
	close_stub();
}

START_TEST(failures_of_the_driver_are_reported)
{
	failed_call("fail=cuArray3DCreate:2", KZ_DEVICE_MEMORY, "cuArray3DCreate");
	failed_call("fail=cuMemcpy3DAsync:1", KZ_INVALID, "cuMemcpy3DAsync");
	failed_call("fail=cuTexObjectCreate:2", KZ_DEVICE_MEMORY, "cuTexObjectCreate");
	failed_call("fail=cuSurfObjectCreate:2", KZ_DEVICE_MEMORY, "cuSurfObjectCreate");
}
END_TEST

STUB_TEST(an_old_driver_has_no_textures, "missing=cuTexObjectCreate")
{
	kz_array *from = array_of(KZ_F32, KZ_SHAPE(H, W), texels);
	kz_texture *texture = NULL;
	fails(kz_texture_from(&texture, from, NULL, &err), KZ_UNSUPPORTED, "cuTexObjectCreate");
	kz_array_release(from);
}

STUB_TEST(without_memory_nothing_stays_behind, "")
{
	kz_array *from = array_of(KZ_F32, KZ_SHAPE(H, W), texels);
	kz_status st = KZ_NO_MEMORY;
	for (long n = 0; st != KZ_OK; n++) {
		mem_fail_after(n);
		st = make_and_release(from);
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(st != KZ_OK, failed);
		kz_error_clear(&err);
	}
	kz_array_release(from);
}
SUITE(texture_mistakes)
{
	Suite *s = suite_create("texture_mistakes");
	TCase *tc = suite_add_case(s, "arguments");
	tcase_add_tests(tc, support_device_count(), kernels_take_textures_for_their_handles_only,
		a_texture_may_be_released_behind_its_launch);
	tc = suite_add_case(s, "mistakes");
	tcase_add_tests(tc, support_device_count(), memory_that_is_not_aligned_is_refused);
	tcase_add_tests(tc, support_device_count() + 1, what_cannot_be_an_array_is_refused,
		arrays_that_do_not_fit_are_refused, options_that_do_not_go_together_are_refused,
		memory_that_cannot_be_a_texture_is_refused);
	tcase_add_test(tc, failures_of_the_driver_are_reported);
	tcase_add_test(tc, an_old_driver_has_no_textures);
	tcase_add_test(tc, without_memory_nothing_stays_behind);
	return s;
}
