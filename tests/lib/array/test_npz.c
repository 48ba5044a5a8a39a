/* SPDX-License-Identifier: MIT */
/* .npz files: several arrays by name, stored and deflated; damages are errors. */
#include "base/common.h"

#include "base/alloc.h"
#include "npy_folder.h"
#include "support/suite.h"

#include <kudzu/npy.h>

static void setup(int index)
{
	open_folder(index, "a.npz");
}

/* numpy.savez_compressed(file, a=numpy.arange(300, dtype='i2') // 100) */
static const unsigned char deflated[] = {
	0x50, 0x4b, 0x03, 0x04, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21, 0x00, 0xd6,
	0x1f, 0x9f, 0x63, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x05, 0x00, 0x14, 0x00,
	0x61, 0x2e, 0x6e, 0x70, 0x79, 0x01, 0x00, 0x10, 0x00, 0xd8, 0x02, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x50, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x9b, 0xec, 0x17, 0xea, 0x1b,
	0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c, 0x5c, 0xa4, 0x6e, 0xa5,
	0xa0, 0x6e, 0x93, 0x69, 0xa4, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54, 0x52, 0x94, 0x98,
	0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05, 0x8a, 0x17,
	0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0xc6, 0x06, 0x06, 0x3a, 0x9a, 0x3a, 0x0a, 0xb5,
	0x0a, 0x64, 0x03, 0x2e, 0x86, 0x61, 0x02, 0x18, 0x87, 0x09, 0x64, 0x1a, 0x26, 0x10, 0x00,
	0x50, 0x4b, 0x01, 0x02, 0x2d, 0x03, 0x2d, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x21,
	0x00, 0xd6, 0x1f, 0x9f, 0x63, 0x50, 0x00, 0x00, 0x00, 0xd8, 0x02, 0x00, 0x00, 0x05, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00,
	0x00, 0x61, 0x2e, 0x6e, 0x70, 0x79, 0x50, 0x4b, 0x05, 0x06, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x00, 0x01, 0x00, 0x33, 0x00, 0x00, 0x00, 0x87, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static const int32_t numbers[] = {10, 20, 30};

/* Write "one" and "two" to the path; two is one backwards. */
static void save_two(void)
{
	static const int64_t back = -4;
	kz_npz_item items[] = {{"one", NULL}, {"two", NULL}};
	ok(kz_array_from(&items[0].array, dev, KZ_I32, KZ_SHAPE(3), numbers, 12, &err));
	ok(kz_array_view(&items[1].array, items[0].array, KZ_SHAPE(3), &back, 8, &err));
	ok(kz_npz_save(path, items, 2, &err));
	release_arrays(items[0].array, items[1].array);
}

static char *read_path(int64_t *size)
{
	FILE *file = fopen(path, "rb");
	char *data = malloc(1 << 16);
	ck_assert(file && data);
	*size = (int64_t)fread(data, 1, 1 << 16, file);
	fclose(file);
	return data;
}

DEVICE_TEST(arrays_come_back_by_name)
{
	int32_t got[3];
	kz_npz *npz;
	kz_array *array;
	save_two();
	ok(kz_npz_open(&npz, path, &err));
	ck_assert_int_eq(kz_npz_count(npz), 2);
	ck_assert_str_eq(kz_npz_name(npz, 0), "one");
	ck_assert_str_eq(kz_npz_name(npz, 1), "two");
	ck_assert_ptr_null(kz_npz_name(npz, 2));
	ck_assert_ptr_null(kz_npz_name(npz, -1));
	ok(kz_npz_load(&array, npz, dev, "two", KZ_I32, &err));
	ok(kz_array_get(array, got, 12, &err));
	ck_assert_mem_eq(got, ((int32_t[]){30, 20, 10}), 12);
	kz_array_release(array);
	fails(kz_npz_load(&array, npz, dev, "one", KZ_F32, &err), KZ_INVALID,
		"one: expected elements of float32");
	fails(kz_npz_load(&array, npz, dev, "three", 0, &err), KZ_NOT_FOUND,
		"a.npz: no array is called 'three'");
	ck_assert_ptr_null(array);
	kz_npz_close(npz);
}

DEVICE_TEST(an_archive_in_memory_is_one_too)
{
	kz_npz *npz;
	kz_array *array;
	int64_t size;
	save_two();
	char *data = read_path(&size);
	ok(kz_npz_open_memory(&npz, data, size, &err));
	ok(kz_npz_load(&array, npz, dev, "one", 0, &err));
	ck_assert_int_eq(kz_array_count(array), 3);
	kz_array_release(array);
	kz_npz_close(npz);
	free(data);
}

DEVICE_TEST(a_compressed_archive_is_read)
{
	int16_t got[300];
	kz_npz *npz;
	kz_array *array;
	ok(kz_npz_open_memory(&npz, deflated, sizeof(deflated), &err));
	ck_assert_str_eq(kz_npz_name(npz, 0), "a");
	ok(kz_npz_load(&array, npz, dev, "a", KZ_I16, &err));
	ok(kz_array_get(array, got, sizeof(got), &err));
	ck_assert(got[0] == 0 && got[99] == 0 && got[100] == 1 && got[299] == 2);
	kz_array_release(array);
	kz_npz_close(npz);
}

DEVICE_TEST(without_zlib_a_compressed_archive_says_so)
{
	kz_npz *npz;
	kz_array *array;
	setenv("KUDZU_ZLIB", "/nowhere/libz.so.1", 1);
	ok(kz_npz_open_memory(&npz, deflated, sizeof(deflated), &err));
	fails(kz_npz_load(&array, npz, dev, "a", 0, &err), KZ_UNSUPPORTED,
		"a: compressed, which needs zlib: KUDZU_ZLIB: /nowhere/libz.so.1");
	kz_npz_close(npz);
}

DEVICE_TEST(an_archive_without_arrays_is_legal)
{
	kz_npz *npz;
	int64_t size;
	ok(kz_npz_save(path, NULL, 0, &err));
	free(read_path(&size));
	ck_assert_int_eq(size, 22); /* numpy knows an empty archive by its plain end record */
	ok(kz_npz_open(&npz, path, &err));
	ck_assert_int_eq(kz_npz_count(npz), 0);
	kz_npz_close(npz);
	kz_npz_close(NULL);
	ck_assert_int_eq(kz_npz_count(NULL), 0);
	ck_assert_ptr_null(kz_npz_name(NULL, 0));
}

DEVICE_TEST(what_cannot_be_written_leaves_the_old_file)
{
	kz_array *array;
	kz_npz *npz;
	save_two();
	ok(kz_array_zeros(&array, dev, KZ_U8, KZ_SHAPE(1), &err));
	const kz_npz_item twice[] = {{"a", array}, {"b", array}, {"a", array}};
	const kz_npz_item nameless[] = {{"", array}}, none[] = {{"a", NULL}};
	fails(kz_npz_save(path, twice, 3, &err), KZ_INVALID, "two arrays are called 'a'");
	fails(kz_npz_save(path, nameless, 1, &err), KZ_INVALID, "item 0: expected an array and its "
		"name, got no name");
	fails(kz_npz_save(path, none, 1, &err), KZ_INVALID, "got no array");
	fails(kz_npz_save(path, NULL, 1, &err), KZ_INVALID, "got NULL");
	fails(kz_npz_save(path, twice, -1, &err), KZ_INVALID, "got -1");
	fails(kz_npz_save(NULL, twice, 1, &err), KZ_INVALID, "expected a path");
	char *name = malloc(70001);
	memset(name, 'n', 70000);
	name[70000] = '\0';
	const kz_npz_item longer[] = {{name, array}};
	fails(kz_npz_save(path, longer, 1, &err), KZ_INVALID, "at most 65535 bytes, got 70004");
	free(name);
	kz_array_release(array);
	ok(kz_npz_open(&npz, path, &err));
	ck_assert_int_eq(kz_npz_count(npz), 2);
	kz_npz_close(npz);
}

DEVICE_TEST(what_is_no_archive_is_refused)
{
	kz_npz *npz = (kz_npz *)&err;
	fails(kz_npz_open_memory(&npz, "hello", 5, &err), KZ_INVALID,
		"the data: expected a zip archive, got 5 bytes of something else");
	ck_assert_ptr_null(npz);
	fails(kz_npz_open_memory(&npz, "", 0, &err), KZ_INVALID, "got 0 bytes");
	fails(kz_npz_open_memory(&npz, "", -1, &err), KZ_INVALID, "got -1");
	fails(kz_npz_open_memory(&npz, NULL, 5, &err), KZ_INVALID, "expected host memory");
	fails(kz_npz_open(&npz, path, &err), KZ_NOT_FOUND, "No such file");
	fails(kz_npz_open(&npz, folder, &err), KZ_IO, "expected a regular file");
	fails(kz_npz_open(&npz, NULL, &err), KZ_INVALID, "expected a path");
}

/* The archive with another value in some of its bytes; its entry is loaded if there is one. */
static kz_status load_changed(const char *data, int64_t size)
{
	kz_npz *npz = NULL;
	kz_array *array = NULL;
	char *exact = malloc((size_t)size + 1); /* for the sanitizers */
	memcpy(exact, data, (size_t)size);
	kz_status st = kz_npz_open_memory(&npz, exact, size, &err);
	if (!st && kz_npz_count(npz) > 0) {
		st = kz_npz_load(&array, npz, dev, kz_npz_name(npz, 0), 0, &err);
	}
	ck_assert_int_eq(st, err.status);
	kz_error_clear(&err);
	kz_array_release(array);
	kz_npz_close(npz);
	free(exact);
	return st;
}

/* Returns how many of the changed archives could still be read. */
static int damage_all(const char *whole, int64_t size)
{
	char *data = malloc((size_t)size);
	int loaded = 0;
	for (int64_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			memcpy(data, whole, (size_t)size);
			data[i] ^= (char)(1 << bit);
			loaded += load_changed(data, size) == KZ_OK;
		}
		memcpy(data, whole, (size_t)size);
		memset(data + i, 0xff, (size_t)(size - i < 8 ? size - i : 8));
		loaded += load_changed(data, size) == KZ_OK;
		loaded += load_changed(whole, i) == KZ_OK;
	}
	free(data);
	return loaded;
}

DEVICE_TEST(every_byte_may_be_wrong_and_every_end_early)
{
	int64_t size;
	int loaded = damage_all((const char *)deflated, sizeof(deflated));
	/* Dates, versions, attributes, the name: not what the elements are. */
	ck_assert_int_gt(loaded, 100);
	ck_assert_int_lt(loaded, 1000);
	save_two();
	char *data = read_path(&size);
	loaded = damage_all(data, size);
	ck_assert_int_gt(loaded, 100);
	ck_assert_int_lt(loaded, 5000);
	free(data);
}

DEVICE_TEST(entries_that_cannot_be_read_say_why)
{
	char data[sizeof(deflated)];
	kz_npz *npz;
	kz_array *array;
	static const struct {
		int at;
		char value;
		kz_status status;
		const char *text;
	} rows[] = {
		{143, 1, KZ_UNSUPPORTED, "'a' is encrypted: expected it stored or deflated"},
		{145, 12, KZ_UNSUPPORTED, "'a' is compressed by another method"},
		{151, 0, KZ_INVALID, "damaged archive: the checksum of 'a' does not match"},
		{159, 0xd7 - 256, KZ_INVALID, "a: expected 600 bytes of elements for shape (300,), "
			"got 599"},
		{160, 9, KZ_INVALID,
			"a: expected 600 bytes of elements for shape (300,), got 2392"},
		{162, 1, KZ_INVALID, "'a' claims 16777944 bytes in 80, and deflate packs at most "
			"1032 in one"},
		{55, 0, KZ_INVALID, "a: damaged: expected deflated data of 728 bytes"},
		{0, 0, KZ_INVALID, "expected the entry that the directory describes at byte 0"},
	};
	for (size_t k = 0; k < countof(rows); k++) {
		memcpy(data, deflated, sizeof(data));
		data[rows[k].at] = rows[k].value;
		ok(kz_npz_open_memory(&npz, data, sizeof(data), &err));
		fails(kz_npz_load(&array, npz, dev, "a", 0, &err), rows[k].status, rows[k].text);
		kz_npz_close(npz);
	}
}

static char *put_number(char *to, int64_t value, int size)
{
	for (int i = 0; i < size; i++) {
		*to++ = (char)(value >> 8 * i);
	}
	return to;
}

/* The fields that a local header and the directory share: deflated, without a checksum. */
static char *put_entry(char *to, int64_t packed, int64_t claimed)
{
	static const char common[] = {20, 0, 0, 0, 8, 0, 0, 0, 33, 0, 0, 0, 0, 0};
	memcpy(to, common, sizeof(common));
	to = put_number(to + sizeof(common), packed, 4);
	to = put_number(to, claimed, 4);
	return put_number(to, 1, 4);
}

/* An archive of "a", which has the header of 10 bytes and then `rest`, deflated.  Returns its
 * size. */
static int64_t put_archive(char *to, const char *rest, int64_t rest_size, int64_t claimed)
{
	enum { HEADER = 70 };
	char *at = to + 31, *begin = to;
	*at++ = 0; /* a block that is stored */
	at = put_number(put_number(at, HEADER, 2), ~HEADER, 2);
	memcpy(at, "\x93NUMPY\x01\x00\x3c\x00{'descr': '|u1', 'fortran_order': False, 'shape': "
		"(10,)}   \n", HEADER);
	at += HEADER;
	memcpy(at, rest, (size_t)rest_size);
	at += rest_size;
	int64_t packed = at - to - 31;
	to = put_entry(put_number(to, 0x04034b50, 4), packed, claimed);
	*to = 'a';
	char *directory = at;
	at = put_entry(put_number(put_number(at, 0x02014b50, 4), 20, 2), packed, claimed);
	memset(at, 0, 14);
	at += 14;
	*at++ = 'a';
	int64_t size = at - directory;
	at = put_number(put_number(put_number(at, 0x06054b50, 4), 0, 4), 0x10001, 4);
	at = put_number(put_number(put_number(at, size, 4), directory - begin, 4), 0, 2);
	return at - begin;
}

/* What lies after the elements is not unpacked: here it would not end as it should. */
DEVICE_TEST(more_than_the_header_accounts_for_is_refused)
{
	enum { REST = 1 << 20, CLAIMED = 1 << 30 };
	char *data = malloc(REST + 1000), *rest = malloc(REST);
	kz_npz *npz;
	kz_array *array;
	memset(rest, 0xff, REST);
	rest[0] = (char)0xfb; /* a block of a fixed code: bytes of 255 without an end */
	int64_t size = put_archive(data, rest, REST, CLAIMED);
	ok(kz_npz_open_memory(&npz, data, size, &err));
	fails(kz_npz_load(&array, npz, dev, "a", 0, &err), KZ_INVALID,
		"a: expected 10 bytes of elements for shape (10,), got 1073741754");
	kz_npz_close(npz);
	free(rest);
	free(data);
}

/* A last block of 259 zeros, where 10 are claimed. */
DEVICE_TEST(data_that_does_not_end_where_it_should_is_refused)
{
	static const char zeros[] = {0x63, 0x60, 0x18, (char)0xf1, 0x00, 0x00};
	char data[400];
	kz_npz *npz;
	kz_array *array;
	int64_t size = put_archive(data, zeros, sizeof(zeros), 80);
	ok(kz_npz_open_memory(&npz, data, size, &err));
	fails(kz_npz_load(&array, npz, dev, "a", 0, &err), KZ_INVALID,
		"a: damaged: expected deflated data of 80 bytes");
	kz_npz_close(npz);
}

/* The second entry's place, after its name, the zip64 mark and both sizes, is moved; the first
 * one's data then goes over it. */
DEVICE_TEST(entries_that_share_bytes_are_refused)
{
	int64_t size;
	kz_npz *npz = NULL;
	save_two();
	char *data = read_path(&size);
	char *name = memmem(data, (size_t)size, "two.npy", 7);
	char *again = memmem(name + 1, (size_t)(data + size - name - 1), "two.npy", 7);
	int64_t offset;
	memcpy(&offset, again + 7 + 4 + 16, 8);
	ck_assert_mem_eq(data + offset, "PK\3\4", 4);
	for (int64_t moved = 0; moved < offset - 20; moved += 37) {
		memcpy(again + 7 + 4 + 16, &moved, 8);
		fails(kz_npz_open_memory(&npz, data, size, &err), KZ_INVALID, "overlap");
	}
	memcpy(again + 7 + 4 + 16, &offset, 8);
	ok(kz_npz_open_memory(&npz, data, size, &err));
	kz_npz_close(npz);
	free(data);
}

DEVICE_TEST(archives_without_memory_leave_nothing)
{
	kz_status st = KZ_NO_MEMORY;
	long n;
	for (n = 0; st == KZ_NO_MEMORY && n < 60; n++) {
		kz_npz *first = NULL, *second = NULL;
		kz_npz_item item = {"a", NULL};
		mem_fail_after(n);
		if (!(st = kz_npz_open_memory(&first, deflated, sizeof(deflated), &err))
		    && !(st = kz_npz_load(&item.array, first, dev, "a", 0, &err))
		    && !(st = kz_npz_save(path, &item, 1, &err))) {
			st = kz_npz_open(&second, path, &err);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
		kz_array_release(item.array);
		kz_npz_close(first);
		kz_npz_close(second);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 15);
}

SUITE(npz)
{
	Suite *s = suite_create("npz");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count() + 1, arrays_come_back_by_name,
		an_archive_in_memory_is_one_too, a_compressed_archive_is_read,
		without_zlib_a_compressed_archive_says_so, an_archive_without_arrays_is_legal,
		what_cannot_be_written_leaves_the_old_file, what_is_no_archive_is_refused,
		every_byte_may_be_wrong_and_every_end_early, entries_that_cannot_be_read_say_why,
		more_than_the_header_accounts_for_is_refused,
		data_that_does_not_end_where_it_should_is_refused,
		archives_without_memory_leave_nothing, entries_that_share_bytes_are_refused);
	return s;
}
