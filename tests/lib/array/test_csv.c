/* SPDX-License-Identifier: MIT */
/* CSV text: what is read, what is refused and where, ends and pieces of a text anywhere. */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/dtype.h"
#include "npy_folder.h"
#include "support/suite.h"

#include <locale.h>
#include <math.h>

static void setup(int index)
{
	open_folder(index, "a.csv");
}

static void write_file(const char *text, size_t size)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(text, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

/* The text is in memory of its own, so that sanitizers see what is read after it. */
static kz_status read_text(kz_array **out, const char *text, size_t size,
	const kz_csv_options *options)
{
	char *copy = malloc(size + (size == 0));
	memcpy(copy, text, size);
	kz_status st = kz_csv_read(out, dev, copy, (int64_t)size, options, &err);
	free(copy);
	return st;
}

static void expect(kz_array *array, int64_t rows, int64_t columns, const double *want)
{
	double got[64];
	ck_assert_int_eq(kz_array_ndim(array), 2);
	ck_assert_int_eq(kz_array_shape(array).dims[0], rows);
	ck_assert_int_eq(kz_array_shape(array).dims[1], columns);
	ck_assert_uint_eq(kz_array_dtype(array), KZ_F64);
	ok(kz_array_get(array, got, rows * columns * 8, &err));
	for (int64_t i = 0; i < rows * columns; i++) {
		ck_assert_msg(got[i] == want[i] || (isnan(got[i]) && isnan(want[i])),
			"element %lld is %g, not %g", (long long)i, got[i], want[i]);
	}
}

/* What each option makes of a text. */
static const struct {
	const char *text;
	kz_csv_options options;
	int64_t rows, columns;
	double want[8];
} good[] = {
	{"1,2\n3,4\n", {0}, 2, 2, {1, 2, 3, 4}},
	{"1,2\r\n3,4\r\n\r\n\n", {0}, 2, 2, {1, 2, 3, 4}},
	{"\n \n1,2\r3,4", {0}, 2, 2, {1, 2, 3, 4}},
	{"\xef\xbb\xbf" "1,2\n", {0}, 1, 2, {1, 2}},
	{"\xef\xbb\xbf\"x\",y\n1,2\n", {.header = 1}, 1, 2, {1, 2}},
	{" 1 ,\t-2.5\t\n+.5,1.e2 \n", {0}, 2, 2, {1, -2.5, .5, 100}},
	{"\"1\",\" 2\"\n\"3\" , \"4\"\n", {.columns = (const int64_t[]){0}, .column_count = 1},
		2, 1, {1, 3}},
	{"a\tb\n1\t2\n", {.header = 1, .delimiter = '\t'}, 1, 2, {1, 2}},
	{"  1   2\t3  \n4 5 6\n", {.delimiter = ' '}, 2, 3, {1, 2, 3, 4, 5, 6}},
	{"1;2;\n3;4;5\n", {.delimiter = ';'}, 2, 3, {1, 2, NAN, 3, 4, 5}},
	{"# made by hand\n1,2 # first\n#\n3,#\n", {.comment = '#'}, 2, 2, {1, 2, 3, NAN}},
	{"two\n\"lines\nx,y\n1,2\n", {.skip = 2, .header = 1}, 1, 2, {1, 2}},
	{"x,y\n1,2\n3,4\nbroken", {.header = 1, .max_rows = 2}, 2, 2, {1, 2, 3, 4}},
	{"1,,NA\nN/A,Null,none\n", {0}, 2, 3, {1, NAN, NAN, NAN, NAN, NAN}},
	{"1,,?\n", {.missing = KZ_CSV_FILL, .fill = -9, .missing_text = "?"}, 1, 3, {1, -9, -9}},
	{"1,\"a \"\"b\"\", c\nd\",3\n4,e,6\n", {.columns = (const int64_t[]){-1, 0},
		.column_count = 2}, 2, 2, {3, 1, 6, 4}},
	{"inf,-Infinity,nan,-NaN\n", {0}, 1, 4, {INFINITY, -INFINITY, NAN, NAN}},
	{"1e400,-1e400,1e-400,0x", {.columns = (const int64_t[]){0, 1, 2}, .column_count = 3}, 1,
		3, {INFINITY, -INFINITY, 0}},
	{"", {0}, 0, 0, {0}},
	{"\n\n", {.columns = (const int64_t[]){4, 5}, .column_count = 2}, 0, 2, {0}},
	{"a,b,c\n", {.header = 1}, 0, 3, {0}},
	{"1", {0}, 1, 1, {1}},
};

DEVICE_TEST(texts_of_every_form_are_read)
{
	for (size_t i = 0; i < countof(good); i++) {
		kz_csv_options options = good[i].options;
		kz_array *array;
		options.size = sizeof(options);
		ok(read_text(&array, good[i].text, strlen(good[i].text), &options));
		expect(array, good[i].rows, good[i].columns, good[i].want);
		kz_array_release(array);
		write_file(good[i].text, strlen(good[i].text));
		ok(kz_csv_load(&array, dev, path, &options, &err));
		expect(array, good[i].rows, good[i].columns, good[i].want);
		kz_array_release(array);
	}
}

/* What is refused, and where. */
static const struct {
	const char *text;
	kz_csv_options options;
	int line, column;
	const char *message;
} bad[] = {
	{"1,2\n3,x\n", {0}, 2, 3, "the text, line 2: expected a number in column 2, got 'x'"},
	{"1,2\n\n3\n", {0}, 3, 0, "line 3: expected 2 columns, got 1"},
	{"1,2\n3,4,5\n", {0}, 2, 0, "line 2: expected 2 columns, got 3"},
	{"a,b\n1,2\n", {0}, 1, 1, "line 1: expected a number in column 1, got 'a'"},
	{"1,2 # x\n", {0}, 1, 3, "got '2 # x'"},
	{"\"a\nb\r\nc\",1\n\"d\",  y z \n", {.columns = (const int64_t[]){1}, .column_count = 1},
		4, 7, "line 4: expected a number in column 2, got 'y z'"},
	{"1,\"2\n3,4\n", {0}, 1, 3, "line 1: the quote that begins here does not end"},
	{"1,\"2\"3\n", {0}, 1, 6, "line 1: expected a delimiter after the quote"},
	{"1,,3\n", {.missing = KZ_CSV_REFUSE}, 1, 3, "in column 2, got ''"},
	{"1\n2,\n", {.dtype = KZ_I32}, 2, 0, "line 2: expected 1 column, got 2"},
	{"1,\n", {.dtype = KZ_I32}, 1, 3, "expected an integer of 32 bits in column 2, got ''"},
	{"1\n2.0\n", {.dtype = KZ_I64}, 2, 1, "expected an integer of 64 bits"},
	{"127\n128\n", {.dtype = KZ_I8}, 2, 1,
		"an integer from -128 to 127 in column 1, got '128'"},
	{"2\n", {.dtype = KZ_BOOL}, 1, 1, "expected 0, 1, true or false in column 1, got '2'"},
	{"0x10\n", {0}, 1, 1, "got '0x10'"},
	{"1e\n", {0}, 1, 1, "got '1e'"},
	{"-\n", {0}, 1, 1, "got '-'"},
	{".\n", {0}, 1, 1, "got '.'"},
	{"1 000\n", {0}, 1, 1, "got '1 000'"},
	{"\xc3\xa4\x01\n", {0}, 1, 1, "got '\?\?\?'"},
	{"123456789012345678901234567890123456789x12345\n", {0}, 1, 1, "789x...'"},
};

DEVICE_TEST(broken_rows_are_named_by_line_and_column)
{
	for (size_t i = 0; i < countof(bad); i++) {
		kz_csv_options options = bad[i].options;
		kz_array *array = NULL;
		options.size = sizeof(options);
		ck_assert_int_eq(read_text(&array, bad[i].text, strlen(bad[i].text), &options),
			KZ_INVALID);
		ck_assert_msg(strstr(err.message, bad[i].message), "'%s' is not in '%s'",
			bad[i].message, err.message);
		ck_assert_int_eq(err.line, bad[i].line);
		ck_assert_int_eq(err.column, bad[i].column);
		ck_assert_ptr_null(array);
		kz_error_clear(&err);
	}
	write_file("1\nx\n", 4);
	kz_array *array;
	ck_assert_int_eq(kz_csv_load(&array, dev, path, NULL, &err), KZ_INVALID);
	ck_assert_str_eq(err.file, path);
	fails(KZ_INVALID, KZ_INVALID, "a.csv, line 2: expected a number in column 1, got 'x'");
}

DEVICE_TEST(options_that_do_not_fit_are_refused)
{
	const struct {
		kz_csv_options options;
		kz_status st;
		const char *message;
	} wrong[] = {
		{{.dtype = KZ_F16}, KZ_UNSUPPORTED, "expected bool, an integer type, float32 or "
			"float64, got float16"},
		{{.dtype = KZ_C64}, KZ_UNSUPPORTED, "got complex64"},
		{{.dtype = 99}, KZ_INVALID, "99 is not a dtype"},
		{{.delimiter = '1'}, KZ_INVALID, "expected a delimiter"},
		{{.delimiter = '#', .comment = '#'}, KZ_INVALID, "expected a delimiter"},
		{{.skip = -1}, KZ_INVALID, "expected numbers of lines from 0"},
		{{.column_count = 1}, KZ_INVALID, "`columns` and `column_count`"},
		{{.names = folder, .names_size = 9}, KZ_INVALID, "expected a header"},
		{{.missing = (kz_csv_missing)3}, KZ_INVALID, "kz_csv_missing"},
		{{.missing = KZ_CSV_FILL, .fill = 300, .dtype = KZ_U8}, KZ_INVALID,
			"uint8 cannot hold 300"},
		{{.columns = (const int64_t[]){2}, .column_count = 1}, KZ_RANGE,
			"line 1: columns[0] is 2, and the line has 2 columns, counted from 0"},
		{{.columns = (const int64_t[]){1, 2}, .column_count = 2}, KZ_RANGE,
			"columns[1] is 2"},
		{{.columns = (const int64_t[]){0, 2}, .column_count = (int64_t)1 << 61},
			KZ_NO_MEMORY, "memory"},
		{{.columns = (const int64_t[]){-3}, .column_count = 1}, KZ_RANGE,
			"columns[0] is -3"},
	};
	kz_array *array = NULL;
	for (size_t i = 0; i < countof(wrong); i++) {
		kz_csv_options options = wrong[i].options;
		options.size = sizeof(options);
		fails(read_text(&array, "1,2\n", 4, &options), wrong[i].st, wrong[i].message);
	}
	fails(read_text(&array, "1\n", 2, &(kz_csv_options){0}), KZ_INVALID, "kz_csv_options");
	fails(kz_csv_read(&array, dev, NULL, 1, NULL, &err), KZ_INVALID, "got NULL");
	fails(kz_csv_read(&array, dev, "1", -1, NULL, &err), KZ_INVALID, "at least 0, got -1");
	fails(kz_csv_load(&array, dev, path, NULL, &err), KZ_NOT_FOUND, "a.csv");
	fails(kz_csv_load(&array, dev, folder, NULL, &err), KZ_IO, "expected a regular file");
	fails(read_text(&array, "\xff\xfe" "1\0", 4, NULL), KZ_UNSUPPORTED, "got UTF-16");
	fails(read_text(&array, "1\0\n", 3, NULL), KZ_INVALID, "a field contains a zero byte");
	fails(read_text(&array, "\"1\0\"\n", 5, NULL), KZ_INVALID, "zero byte");
	ck_assert_ptr_null(array);
}

DEVICE_TEST(names_of_the_columns_are_returned)
{
	static const char text[] = "\"a \"\"b\"\"\", c d ,\"\",e\n1,2,3,4\n";
	char names[16];
	const int64_t columns[] = {3, 0, 2, 1};
	kz_csv_options options = {.size = sizeof(options), .header = 1, .names = names,
		.names_size = sizeof(names), .columns = columns, .column_count = 4};
	kz_array *array;
	ok(read_text(&array, text, strlen(text), &options));
	ck_assert_mem_eq(names, "e\0a \"b\"\0\0c d\0", 13);
	expect(array, 1, 4, (const double[]){4, 1, 3, 2});
	kz_array_release(array);
	options.names_size = 12;
	fails(read_text(&array, text, strlen(text), &options), KZ_RANGE,
		"expected 13 bytes for the names, got 12");
}

/* Numbers of every magnitude, with 1 to 25 digits, are what strtod makes of them in the C locale,
 * also in a locale whose decimal point is a comma. */
DEVICE_TEST(numbers_are_rounded_correctly_in_every_locale)
{
	enum { COUNT = 4000 };
	static char text[COUNT * 48];
	static double want[COUNT], got[COUNT];
	static float single[COUNT];
	size_t len = 0;
	uint64_t random = 1;
	for (int i = 0; i < COUNT; i++) {
		char number[48];
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		const int digits = 1 + (int)(random >> 33) % 25;
		const int power = (int)(random >> 40) % 60 - 30;
		snprintf(number, sizeof(number), "%.*e", digits, ldexp((double)(random >> 11),
			power - 50));
		if (i % 2) {
			snprintf(number, sizeof(number), "%s%llu.%0*llu", i % 4 == 1 ? "-" : "",
				(unsigned long long)(random >> 50), digits,
				(unsigned long long)(random >> 44 & 0xfffff));
		}
		want[i] = strtod(number, NULL);
		len += (size_t)sprintf(text + len, "%s\n", number);
	}
	setlocale(LC_ALL, "de_DE.UTF-8"); // where there is none, this is the C locale
	kz_array *array;
	ok(read_text(&array, text, len, NULL));
	ok(kz_array_get(array, got, sizeof(got), &err));
	kz_array_release(array);
	ck_assert_mem_eq(got, want, sizeof(got));
	ok(read_text(&array, text, len, &(kz_csv_options){.size = sizeof(kz_csv_options),
		.dtype = KZ_F32}));
	ok(kz_array_get(array, single, sizeof(single), &err));
	kz_array_release(array);
	setlocale(LC_ALL, "C");
	for (int i = 0; i < COUNT; i++) {
		ck_assert(single[i] == (float)want[i]);
	}
}

/* The least and the greatest integer of each type, and their neighbours outside. */
DEVICE_TEST(integers_have_the_range_of_their_type)
{
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_INTEGER));) {
		const int bits = 8 * (int)kz_dtype_size(dtype);
		const bool is_signed = dtype_is_signed(dtype);
		const __int128 most = ((__int128)1 << (bits - is_signed)) - 1;
		const __int128 edges[2] = {is_signed ? -most - 1 : 0, most};
		kz_csv_options options = {.size = sizeof(options), .dtype = dtype};
		for (int i = 0; i < 4; i++) {
			const __int128 value = edges[i % 2] + (i < 2 ? 0 : i == 2 ? -1 : 1);
			const __int128 size = value < 0 ? -value : value;
			char text[64];
			uint64_t got = 0;
			kz_array *array = NULL;
			snprintf(text, sizeof(text), "%s00%llu%09llu\n", value < 0 ? "-" : "",
				(unsigned long long)(size / 1000000000),
				(unsigned long long)(size % 1000000000));
			if (i >= 2) {
				fails(read_text(&array, text, strlen(text), &options), KZ_INVALID,
					"expected an integer");
				continue;
			}
			ok(read_text(&array, text, strlen(text), &options));
			ok(kz_array_get(array, &got, bits / 8, &err));
			ck_assert_uint_eq(got, (uint64_t)value & (UINT64_MAX >> (64 - bits)));
			kz_array_release(array);
		}
		kz_array *none = NULL;
		fails(read_text(&none, "100000000000000000000", 21, &options), KZ_INVALID,
			"expected an integer");
	}
}

/* A text that ends anywhere gives the rows before, or an error, and nothing is read after it. */
DEVICE_TEST(a_text_may_end_anywhere)
{
	static const char text[] = "\xef\xbb\xbf" "a,\"b\"\"\r\n\",c # x\r\n1,\"2\", 3\r\n\r\n4,"
		"5.5e1,\"NA\"\r#\n -7 ,nan,inf\n";
	const kz_csv_options options = {.size = sizeof(options), .header = 1, .comment = '#'};
	for (size_t size = 0; size < sizeof(text); size++) {
		kz_array *read = NULL, *loaded = NULL;
		const kz_status st = read_text(&read, text, size, &options);
		kz_error_clear(&err);
		write_file(text, size);
		ck_assert_int_eq(kz_csv_load(&loaded, dev, path, &options, &err), st);
		kz_error_clear(&err);
		ck_assert(st == KZ_OK || st == KZ_INVALID);
		ck_assert_int_eq(read != NULL, st == KZ_OK);
		if (read) {
			char *printed = strdup(support_printed(read));
			ck_assert_str_eq(printed, support_printed(loaded));
			free(printed);
		}
		release_arrays(read, loaded);
	}
}

/* Any bytes of the alphabet are read or refused. */
DEVICE_TEST(any_text_is_read_or_refused)
{
	static const char letters[] = "0123456789,,,,\n\n\r\"\"# -+.eE\tnaif\0\xef\xbb";
	const int count = support_how_many(20000, 3000, 600);
	uint64_t random = 7;
	int read = 0;
	for (int i = 0; i < count; i++) {
		char text[40];
		kz_csv_options options = {.size = sizeof(options), .comment = i % 2 ? '#' : 0,
			.delimiter = (char)(i % 3 == 0 ? ' ' : i % 3 == 1 ? '\t' : 0),
			.header = i % 5 == 0, .skip = i % 7 == 0};
		for (size_t k = 0; k < sizeof(text); k++) {
			random = random * UINT64_C(6364136223846793005)
				+ UINT64_C(1442695040888963407);
			text[k] = letters[(random >> 33) % (i % 4 ? 16 : sizeof(letters) - 1)];
		}
		kz_array *array = NULL;
		const kz_status st = read_text(&array, text, (random >> 40) % sizeof(text),
			&options);
		ck_assert(st == KZ_OK || st == KZ_INVALID);
		ck_assert(st == KZ_OK || err.message[0]);
		read += st == KZ_OK;
		kz_error_clear(&err);
		kz_array_release(array);
	}
	ck_assert_int_gt(read, count / 20);
}

/* A file of several pieces, whose borders fall into quotes, numbers and line ends. */
DEVICE_TEST(a_large_file_is_read_in_pieces)
{
	enum { ROWS = 60000 };
	char *text = malloc(ROWS * 32);
	int64_t *want = malloc(ROWS * 2 * sizeof(*want)), *got = malloc(ROWS * 2 * sizeof(*got));
	const kz_csv_options options = {.size = sizeof(options), .dtype = KZ_I64,
		.columns = (const int64_t[]){2, 0}, .column_count = 2};
	size_t len = 0;
	for (int64_t i = 0; i < ROWS; i++) {
		want[2 * i] = i * i;
		want[2 * i + 1] = -i;
		len += (size_t)sprintf(text + len, "%lld,\"%.*s\"\"\r\n\",%lld\r\n", (long long)-i,
			(int)(i % 7), "abcdefg", (long long)(i * i));
	}
	ck_assert_uint_gt(len, 3 << 18);
	write_file(text, len);
	kz_array *array;
	ok(kz_csv_load(&array, dev, path, &options, &err));
	ck_assert_int_eq(kz_array_shape(array).dims[0], ROWS);
	ok(kz_array_get(array, got, ROWS * 2 * (int64_t)sizeof(*got), &err));
	ck_assert_mem_eq(got, want, ROWS * 2 * sizeof(*got));
	kz_array_release(array);
	memcpy(text + len - 12, "x", 1);
	write_file(text, len);
	ck_assert_int_eq(kz_csv_load(&array, dev, path, &options, &err), KZ_INVALID);
	ck_assert_int_eq(err.line, 2 * ROWS);
	kz_error_clear(&err);
	free(text);
	free(want);
	free(got);
}

/* A row of a million columns, and one that is too long. */
DEVICE_TEST(rows_are_limited)
{
	enum { COLUMNS = 1000000, MOST = 16 << 20 };
	char *text = malloc(MOST + 1);
	kz_array *array = NULL;
	for (int i = 0; i < COLUMNS; i++) {
		memcpy(text + 2 * i, "1,", 2);
	}
	text[2 * COLUMNS - 1] = '\n';
	write_file(text, (size_t)2 * COLUMNS);
	ok(kz_csv_load(&array, dev, path, NULL, &err));
	ck_assert_int_eq(kz_array_shape(array).dims[1], COLUMNS);
	kz_array_release(array);
	memset(text, ' ', MOST + 1);
	memcpy(text, "1\n\"", 3);
	write_file(text, MOST + 1);
	array = NULL;
	fails(kz_csv_load(&array, dev, path, NULL, &err), KZ_INVALID,
		"a.csv, line 2: ");
	free(text);
}

DEVICE_TEST(a_failing_allocation_leaves_nothing_behind)
{
	static const char text[] = "a,b\n1,12345678901234567890123\n";
	const kz_csv_options options = {.size = sizeof(options), .header = 1};
	kz_array *array = NULL;
	int failed = 0;
	write_file(text, strlen(text));
	for (long n = 0; !array; n++) {
		mem_fail_after(n);
		const kz_status st = kz_csv_load(&array, dev, path, &options, &err);
		mem_fail_after(-1);
		ck_assert(st ? !array && (st == KZ_NO_MEMORY || st == KZ_DEVICE_MEMORY)
			: array != NULL);
		failed += st != KZ_OK;
		kz_error_clear(&err);
	}
	ck_assert_int_gt(failed, 4);
	expect(array, 1, 2, (const double[]){1, 12345678901234567890123.0});
	kz_array_release(array);
}

SUITE(csv)
{
	Suite *suite = suite_create("csv");
	TCase *tcase = suite_add_case(suite, "text");
	tcase_add_tests(tcase, support_device_count() + 1, texts_of_every_form_are_read,
		broken_rows_are_named_by_line_and_column,
		a_failing_allocation_leaves_nothing_behind);
	tcase = suite_add_case(suite, "every text");
	tcase_add_tests(tcase, support_device_count(), options_that_do_not_fit_are_refused,
		names_of_the_columns_are_returned, numbers_are_rounded_correctly_in_every_locale,
		integers_have_the_range_of_their_type, a_text_may_end_anywhere,
		any_text_is_read_or_refused, a_large_file_is_read_in_pieces, rows_are_limited);
	return suite;
}
