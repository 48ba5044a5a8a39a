/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_CSV_H
#define KUDZU_CSV_H

/*
 * Arrays from text: rows of numbers with commas, tabs or blanks between them, in a CSV file.
 *
 *	char names[256];
 *	if (kz_csv_load(&table, dev, "table.csv", NULL, &err)
 *	    || kz_csv_load(&iris, dev, "iris.csv", KZ_WITH(kz_csv_options, .header = 1,
 *		    .columns = (const int64_t[]){0, 1, 2, 3}, .column_count = 4,
 *		    .names = names, .names_size = sizeof(names)), &err)) {
 *		kz_error_print(&err, stderr);   (table.csv, line 17: expected a number in column 3,
 *	}                                        got 'red')
 *	const char *name = names;               (the name of column 0)
 *	name += strlen(name) + 1;               (the name of the next column)
 *
 * A line is a row, and ends with LF, CRLF or CR.  Empty lines are skipped.  Each row has as many
 * columns as the first one.  Blanks and tabs around a field do not count.  A field may be in double
 * quotes; then it may contain delimiters, line ends, and quotes, which are doubled.  A byte order
 * mark of UTF-8 is skipped.
 *
 * Numbers are what C writes, whatever the locale of the program is: 7, -2.5, .5, 1e-3, also inf and
 * nan in letters of any case.  Floats are rounded to the nearest float64, then to the dtype; one
 * beyond its range becomes infinite.  An integer that its dtype cannot hold is an error.  For bool
 * the fields are 0, 1, true and false.
 *
 * A field is missing if it is empty, or NA, N/A, null or none in letters of any case.
 *
 * A file is read once, in pieces, so its text needs no memory.  The elements are in host memory
 * before they are copied to the device.  A row has at most 16 MiB of text.
 */
#include <kudzu/array.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What becomes of a missing field.  The numbers never change. */
typedef enum kz_csv_missing {
	KZ_CSV_NAN = 0,    /**< NaN; an error for dtypes that have none */
	KZ_CSV_REFUSE = 1, /**< an error */
	KZ_CSV_FILL = 2    /**< the number `fill` of the options */
} kz_csv_missing;

/** How to read text.  Initialize with KZ_CSV_OPTIONS_INIT. */
typedef struct kz_csv_options {
	size_t size;             /**< sizeof(kz_csv_options) */
	kz_dtype dtype;          /**< of the array: bool, an integer, float32 or float64.  0:
	                              float64 */
	int32_t header;          /**< nonzero: the first line has the names of the columns */
	int64_t skip;            /**< so many lines at the beginning are not read */
	int64_t max_rows;        /**< so many rows are read at the most; 0: all */
	const int64_t *columns;  /**< which columns are read, from 0, or negative from the last, in
	                              the order in which the array has them.  NULL: all.  The other
	                              columns may hold any text */
	int64_t column_count;    /**< how many there are at `columns` */
	char *names;             /**< host memory for the names of the columns that are read, each
	                              with a terminating zero, one after the other, which needs a
	                              header; or NULL */
	int64_t names_size;      /**< bytes at `names` */
	const char *missing_text; /**< a field with this text is missing, too: "?"; or NULL */
	double fill;             /**< see KZ_CSV_FILL */
	int32_t missing;         /**< a kz_csv_missing: what becomes of missing fields; 0: NaN */
	char delimiter;          /**< between columns; 0: a comma.  A blank stands for any number of
	                              blanks and tabs */
	char comment;            /**< what follows this character in a line is not read; 0: none */
	void *reserved[4];
} kz_csv_options;

#ifdef __cplusplus
#define KZ_CSV_OPTIONS_INIT kz_sized_init<kz_csv_options>()
#else
#define KZ_CSV_OPTIONS_INIT {.size = sizeof(kz_csv_options)}
#endif

/**
 * Create an array from a CSV file.
 *
 * @param out set to an array (rows, columns), row-major; NULL on failure.  A text without rows
 *        gives 0 rows, and without a header either, 0 columns unless the options name some.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_NOT_FOUND, KZ_PERMISSION or KZ_IO if the file cannot be read; KZ_INVALID for
 *         text that is not what the options say: the message has the line, the column of the table
 *         from 1 and what stood there, and `file`, `line` and `column` of the error are its place;
 *         KZ_RANGE for a column that the rows do not have, and for names that are longer than their
 *         memory; KZ_UNSUPPORTED for another dtype, and for text in UTF-16; as kz_array_create.
 * Ownership: release the array with kz_array_release.
 */
KZ_API KZ_NODISCARD kz_status kz_csv_load(kz_array **out, kz_device *dev, const char *path,
	const kz_csv_options *options, kz_error *err);

/**
 * Create an array from CSV text in memory; as kz_csv_load.
 *
 * @param text host memory; no terminating zero is needed.
 * @param size bytes at `text`.
 */
KZ_API KZ_NODISCARD kz_status kz_csv_read(kz_array **out, kz_device *dev, const char *text,
	int64_t size, const kz_csv_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
