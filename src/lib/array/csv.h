/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_CSV_H
#define LIB_ARRAY_CSV_H

/* Text as rows of fields (csv_text.c), and fields as numbers (csv_number.c). */
#include "base/common.h"
#include "base/str.h"
#include "lib/core/dtype.h"

#include <locale.h>

enum { CSV_ROW_MOST = 16 << 20 }; /* bytes of a row */

/* A field, without its quotes and the blanks around it. */
struct csv_field {
	const char *text;
	int64_t len;
	int64_t line, column; /* where it begins, in bytes from 1 */
	bool is_quoted;       /* quotes in it are doubled */
};

/* A part of a text.  It begins where a line does. */
struct csv_text {
	const char *name;       /* of the whole text, for errors: the path of a file */
	const char *at, *end;
	bool is_last;           /* nothing follows the part */
	char delimiter, comment;
	unsigned char ends[256]; /* nonzero: this byte ends a field without quotes */
	const char *line_at;    /* where this line begins */
	int64_t line;           /* its number, from 1 */
	int64_t begin_line;     /* where the last row begins */
	struct csv_field *fields;
	int64_t count, room;    /* fields of the last row */
};

enum csv_result {
	CSV_ROW,    /* `fields` has a row */
	CSV_NONE,   /* an empty line, or a comment */
	CSV_MORE,   /* the part ends in the midst of a line; `at` is where the row begins */
	CSV_END,
	CSV_FAILED, /* the error says why; it is KZ_INVALID */
	CSV_NO_ROOM, /* no memory */
};

/* Begin with a text; free it at the end. */
void csv_text_init(struct csv_text *text, const char *name, char delimiter, char comment);
void csv_text_free(struct csv_text *text);
/* Have it go on in another part, with what the one before left over at its beginning. */
void csv_text_set(struct csv_text *text, const char *part, int64_t size, bool is_last);
enum csv_result csv_next_row(struct csv_text *text, kz_error *err);
/* A line whatever it holds: CSV_NONE, CSV_MORE or CSV_END. */
enum csv_result csv_skip_line(struct csv_text *text);
/* Fail at a field, with its text as a part of the message: "iris.csv, line 17: expected a number in
 * column 3, got 'red'". */
kz_status csv_refuse(const struct csv_text *text, const struct csv_field *field,
	const char *expected, kz_error *err);

/* Fields as numbers. */
struct csv_numbers {
	locale_t c_locale;
	struct str copy; /* what strtod_l reads */
};

kz_status csv_numbers_init(struct csv_numbers *numbers, kz_error *err);
void csv_numbers_free(struct csv_numbers *numbers);
/* What a field is; CSV_NOT: not a number that the dtype has. */
enum csv_number { CSV_NUMBER, CSV_NOT, CSV_NO_MEMORY };
/* Put a number to an element of bool, an integer, float32 or float64. */
enum csv_number csv_number_read(struct csv_numbers *numbers, void *element, kz_dtype dtype,
	const char *text, int64_t len);
/* The same for a number of the program; false if the dtype does not have it. */
bool csv_number_put(void *element, kz_dtype dtype, double number);
/* What a dtype's fields are, for messages: "an integer from 0 to 255". */
const char *csv_number_kind(kz_dtype dtype);

#endif
