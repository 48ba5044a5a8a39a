/* SPDX-License-Identifier: MIT */
/* .npy files: what numpy writes is read, what is written is numpy's, damages are errors. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/array/npy.h"
#include "npy_folder.h"
#include "support/suite.h"

static void setup(int index)
{
	open_folder(index, "a.npy");
}

/* A file of some version with this text as its header; static. */
static struct file {
	char data[2048];
	int64_t size;
} file;

static void make(int version, const char *text, const void *elements, size_t size)
{
	size_t len = strlen(text), begin = version == 1 ? 10 : 12;
	memcpy(file.data, "\x93NUMPY", 6);
	memset(file.data + 6, 0, 6);
	file.data[6] = (char)version;
	file.data[8] = (char)len;
	file.data[9] = (char)(len >> 8);
	memcpy(file.data + begin, text, len);
	if (size > 0) {
		memcpy(file.data + begin + len, elements, size);
	}
	file.size = (int64_t)(begin + len + size);
}

static kz_status read_file(kz_array **out, kz_dtype dtype)
{
	return kz_npy_read(out, dev, file.data, file.size, dtype, &err);
}

/* Files that numpy 2 reads, by what it then prints. */
static const struct {
	int version;
	const char *header;
	const char *elements;
	size_t size;
	const char *want;
} good[] = {
	{1, "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }  \n", "\1\0\2\0\3\0", 6,
		"[1 2 3]\n"},
	{2, "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }\n", "\1\0\2\0\3\0", 6,
		"[[1 2 3]]\n"},
	{3, "{'descr': '<i2', 'fortran_order': False, 'shape': (), }\n", "\1\2", 2, "513\n"},
	{1, "{'shape':(2,2),'fortran_order':True,'descr':'|u1'}", "\1\2\3\4", 4,
		"[[1 3]\n [2 4]]\n"},
	{1, "{\"descr\": \">i4\", \"fortran_order\": False, \"shape\": (2L,)}",
		"\0\0\1\0\xff\xff\xff\xfe", 8, "[256  -2]\n"},
	{1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,)}",
		"\x3f\x80\0\0\xc0\0\0\0", 8, "[1.-2.j]\n"},
	{1, "{'descr': '>f2', 'fortran_order': True, 'shape': (2, 2)}",
		"\x3c\0\x40\0\xc0\0\0\0", 8, "[[ 1. -2.]\n [ 2.  0.]]\n"},
	{1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\0\1\7", 3,
		"[False  True  True]\n"},
	{1, "{'descr': 'u1', 'fortran_order': False, 'shape': (2,)}", "\1\2trailing", 10,
		"[1 2]\n"},
	{1, "{'descr': '=u8', 'fortran_order': False, 'shape': (3, 0, 2)}", "", 0, "[]\n"},
	{1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0,)}", "", 0, "[]\n"},
};

DEVICE_TEST(files_of_every_form_are_read)
{
	kz_array *array;
	for (size_t k = 0; k < countof(good); k++) {
		make(good[k].version, good[k].header, good[k].elements, good[k].size);
		ok(read_file(&array, 0));
		ck_assert_int_eq(kz_array_is_contiguous(array), 1);
		ck_assert_str_eq(support_printed(array), good[k].want);
		kz_array_release(array);
	}
}

#define HEAD "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"

/* Headers with something wrong; each is followed by 8 bytes of elements. */
static const struct {
	const char *header;
	kz_status status;
	const char *text;
} damages[] = {
	{"", KZ_INVALID, "damaged header: expected '{' at its byte 0"},
	{"{", KZ_INVALID, "expected a string at its byte 1"},
	{"{}", KZ_INVALID, "expected the keys 'descr', 'fortran_order' and 'shape', once each"},
	{"{'descr': '<f4'}", KZ_INVALID, "once each"},
	{"{'descr': '<f4', 'descr': '<f4', 'shape': ()}", KZ_INVALID, "once each"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", KZ_INVALID,
		"once each"},
	{HEAD " x", KZ_INVALID, "expected nothing after the dict"},
	{"{'descr' '<f4'}", KZ_INVALID, "expected ':' at its byte 9"},
	{"{'descr': '<f4", KZ_INVALID, "expected the end of a string"},
	{"{'descr': '<f4\\", KZ_INVALID, "expected the end of a string"},
	{"{'descr': 4}", KZ_INVALID, "expected a string"},
	{"{'descr': '<f4', 'fortran_order': Falsy}", KZ_INVALID, "expected True or False"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", KZ_INVALID, "expected '('"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", KZ_INVALID,
		"expected a number from 0"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (2", KZ_INVALID, "expected ')'"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", KZ_INVALID,
		"expected a number that fits in 64 bits"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4)}",
		KZ_RANGE, "overflows"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296, 4)}",
		KZ_RANGE, "overflows"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", KZ_INVALID,
		"expected 12 bytes of elements for shape (3,), got 8"},
	{"{'descr': '<f4', 'fortran_order': True, 'shape': (1073741824, 1073741824)}", KZ_INVALID,
		"expected 4611686018427387904 bytes of elements"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
		KZ_UNSUPPORTED, "expected at most 16 extents, got 17"},
	{"{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }", KZ_UNSUPPORTED,
		"expected elements that have a dtype, got '<U4'"},
	{"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", KZ_UNSUPPORTED, "got '|O'"},
	{"{'descr': '', 'fortran_order': False, 'shape': (2,), }", KZ_UNSUPPORTED, "got ''"},
	{"{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }", KZ_UNSUPPORTED, "got '<f3'"},
	{"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,), }", KZ_UNSUPPORTED, "M8[ns]"},
	{"{'descr': '|V4', 'fortran_order': False, 'shape': (2,), }", KZ_INVALID,
		"got '|V4': name a struct of their size"},
	{"{'descr': [('a', '<f4'), 'fortran_order': False, 'shape': (2,), }", KZ_INVALID,
		"expected '('"},
	{"{'descr': [('a', '<f4', 9223372036854775807)], 'fortran_order': False, 'shape': ()}",
		KZ_INVALID, "expected a field of less than 2^63 bytes"},
	{"{'descr': [('a',[('a',[('a',[('a',[('a',[('a',[('a',[('a',[('a',[('a',[('a',[('a',[('a',"
		"[('a',[('a',[('a',[('a',[('a',", KZ_INVALID,
			"expected structs that are nested less deeply"},
};

DEVICE_TEST(damaged_headers_are_refused_with_the_place)
{
	kz_array *array = (kz_array *)&err;
	for (size_t k = 0; k < countof(damages); k++) {
		make(1, damages[k].header, "12345678", 8);
		fails(read_file(&array, 0), damages[k].status, damages[k].text);
		ck_assert_ptr_null(array);
	}
}

DEVICE_TEST(what_is_no_npy_file_is_refused)
{
	kz_array *array;
	make(4, HEAD, "12345678", 8);
	fails(read_file(&array, 0), KZ_UNSUPPORTED,
		"expected version 1, 2 or 3 of the .npy format");
	make(1, HEAD, "12345678", 8);
	file.data[9] = 1;
	fails(read_file(&array, 0), KZ_INVALID, "expected a header of 313 bytes, got 65");
	file.data[0] = 'x';
	fails(read_file(&array, 0), KZ_INVALID, "the data: expected a .npy file, got 75 bytes");
	file.size = 3;
	fails(read_file(&array, 0), KZ_INVALID, "got 3 bytes of something else");
	fails(kz_npy_read(&array, dev, NULL, 4, 0, &err), KZ_INVALID, "expected 4 bytes");
	fails(kz_npy_read(&array, dev, file.data, -4, 0, &err), KZ_INVALID, "got -4");
	fails(kz_npy_read(&array, NULL, file.data, 4, 0, &err), KZ_INVALID, "expected a device");
	fails(kz_array_load(&array, dev, path, 0, &err), KZ_NOT_FOUND, "No such file");
	fails(kz_array_load(&array, dev, folder, 0, &err), KZ_IO, "expected a regular file");
	fails(kz_array_load(&array, dev, NULL, 0, &err), KZ_INVALID, "expected a path");
}

DEVICE_TEST(every_byte_may_be_wrong_and_every_end_early)
{
	kz_array *array;
	int loaded = 0;
	make(1, HEAD, "12345678", 8);
	const struct file whole = file;
	for (int64_t i = 0; i < whole.size; i++) {
		for (int bit = 0; bit < 9; bit++) {
			file = whole;
			file.data[i] ^= (char)(bit < 8 ? 1 << bit : 0);
			file.size = bit < 8 ? whole.size : i;
			char *exact = malloc((size_t)file.size + 1); /* for the sanitizers */
			memcpy(exact, file.data, (size_t)file.size);
			loaded += !kz_npy_read(&array, dev, exact, file.size, 0, &err);
			free(exact);
			kz_error_clear(&err);
			kz_array_release(array);
		}
	}
	ck_assert_int_gt(loaded, 64); /* those in the elements */
	ck_assert_int_lt(loaded, 300);
}

DEVICE_TEST(the_dtype_that_is_asked_for_is_checked)
{
	kz_dtype point, large;
	kz_array *array;
	ok(kz_dtype_register(&point, "struct point", 8, &err));
	ok(kz_dtype_register(&large, "struct large", 9, &err));
	make(1, HEAD, "12345678", 8);
	ok(read_file(&array, KZ_F32));
	kz_array_release(array);
	fails(read_file(&array, KZ_F64), KZ_INVALID,
		"expected elements of float64, 8 bytes each, got '<f4'");
	fails(read_file(&array, point), KZ_INVALID, "expected elements of struct point");
	fails(read_file(&array, 99), KZ_INVALID, "99 is not a dtype");
	make(1, "{'descr': [('x', '<f4'), (('t', 'y'), '<u2', (2,))], 'fortran_order': False, "
		"'shape': (1,)}", "12345678", 8);
	ok(read_file(&array, point));
	ck_assert_str_eq(support_printed(array), "[<8 bytes>]\n");
	kz_array_release(array);
	fails(read_file(&array, large), KZ_INVALID, "expected elements of struct large, 9 bytes");
	make(1, "{'descr': [('x', '>f4'), ('y', '<u4')], 'fortran_order': False, 'shape': (1,)}",
		"12345678", 8);
	fails(read_file(&array, point), KZ_INVALID, "expected elements of struct point");
	make(1, "{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}", "\x80\x3f\0\x40", 4);
	ok(read_file(&array, KZ_BF16));
	ck_assert_str_eq(support_printed(array), "[1. 2.]\n");
	kz_array_release(array);
}

/* What numpy.save writes for zeros of some types and shapes. */
static const struct {
	kz_dtype dtype;
	kz_shape shape;
	const char *header;
} written[] = {
	{KZ_BOOL, {1, {2}}, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }"},
	{KZ_I8, {0, {0}}, "{'descr': '|i1', 'fortran_order': False, 'shape': (), }"},
	{KZ_U64, {2, {2, 3}}, "{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3), }"},
	{KZ_F16, {2, {0, 5}}, "{'descr': '<f2', 'fortran_order': False, 'shape': (0, 5), }"},
	{KZ_C128, {1, {1}}, "{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }"},
	{KZ_BF16, {1, {4}}, "{'descr': '|V2', 'fortran_order': False, 'shape': (4,), }"},
	{KZ_F32, {16, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		"{'descr': '<f4', 'fortran_order': False, 'shape': "
		"(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }"},
};

DEVICE_TEST(what_is_written_is_what_numpy_writes)
{
	char data[512];
	kz_array *array;
	for (size_t k = 0; k < countof(written); k++) {
		ok(kz_array_zeros(&array, dev, written[k].dtype, written[k].shape, &err));
		int64_t size = kz_npy_size(array);
		int64_t header = size - kz_array_size(array);
		ok(kz_npy_write(array, data, size, &err));
		/* The longest one does not fit 128 bytes with the room that numpy leaves. */
		ck_assert_int_eq(header, k == countof(written) - 1 ? 192 : 128);
		ck_assert_mem_eq(data, "\x93NUMPY\1\0", 8);
		ck_assert_int_eq((unsigned char)data[8] | data[9] << 8, header - 10);
		size_t len = strlen(written[k].header);
		ck_assert_mem_eq(data + 10, written[k].header, len);
		for (int64_t i = 10 + (int64_t)len; i < header; i++) {
			ck_assert_int_eq(data[i], i == header - 1 ? '\n' : ' ');
		}
		kz_array_release(array);
	}
	ck_assert_int_eq(kz_npy_size(NULL), 0);
}

DEVICE_TEST(a_view_comes_back_from_its_file)
{
	static const int64_t strides[] = {-2, 6};
	uint16_t host[9], got[9];
	kz_array *array, *view, *loaded;
	for (uint16_t i = 0; i < 9; i++) {
		host[i] = (uint16_t)(1000 + i);
	}
	ok(kz_array_from(&array, dev, KZ_U16, KZ_SHAPE(9), host, sizeof(host), &err));
	ok(kz_array_view(&view, array, KZ_SHAPE(3, 3), strides, 4, &err));
	ok(kz_array_save(view, path, &err));
	ok(kz_array_load(&loaded, dev, path, KZ_U16, &err));
	ck_assert_int_eq(kz_array_ndim(loaded), 2);
	ok(kz_array_get(loaded, got, sizeof(got), &err));
	for (int i = 0; i < 9; i++) {
		ck_assert_int_eq(got[i], 1002 - i / 3 + i % 3 * 3);
	}
	release_arrays(loaded, view);
	fails(kz_npy_write(array, got, 18, &err), KZ_RANGE,
		"expected 146 bytes of host memory for a .npy file, got 18");
	fails(kz_npy_write(array, NULL, 146, &err), KZ_INVALID, "expected host memory, got NULL");
	fails(kz_array_save(NULL, path, &err), KZ_INVALID, "expected an array");
	fails(kz_array_save(array, NULL, &err), KZ_INVALID, "expected a path");
	fails(kz_array_save(array, folder, &err), KZ_IO, "expected a regular file");
	kz_array_release(array);
}

DEVICE_TEST(files_without_memory_leave_nothing)
{
	kz_status st = KZ_NO_MEMORY;
	long n;
	for (n = 0; st == KZ_NO_MEMORY && n < 40; n++) {
		kz_array *array = NULL, *copy = NULL;
		make(1, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 2)}",
			"0123456789abcdef", 16);
		mem_fail_after(n);
		if (!(st = read_file(&array, 0)) && !(st = kz_array_save(array, path, &err))) {
			st = kz_array_load(&copy, dev, path, 0, &err);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
		release_arrays(array, copy);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 6);
}

SUITE(npy)
{
	Suite *s = suite_create("npy");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count() + 1, files_of_every_form_are_read,
		damaged_headers_are_refused_with_the_place, what_is_no_npy_file_is_refused,
		every_byte_may_be_wrong_and_every_end_early, the_dtype_that_is_asked_for_is_checked,
		what_is_written_is_what_numpy_writes, a_view_comes_back_from_its_file,
		files_without_memory_leave_nothing);
	return s;
}
