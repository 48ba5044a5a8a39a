/* SPDX-License-Identifier: MIT */
/*
 * Arrays from CSV text.
 *
 * A file is read in pieces.  csv_text.c makes rows of a piece, and what it leaves over goes to the
 * beginning of the next one, which grows where a row does not fit.  The fields become elements in
 * host memory, which grows by doubling, and which is copied to the device at the end.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/array/array.h"
#include "lib/array/csv.h"

#include <kudzu/csv.h>

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CSV_PIECE = 1 << 18, CSV_ROWS_FIRST = 256 };

/* One call. */
struct csv {
	kz_csv_options options;
	kz_dtype dtype;
	int64_t item;           /* bytes of an element */
	struct csv_text text;
	struct csv_numbers numbers;
	int64_t skip;           /* lines that are still to be skipped */
	bool has_header;        /* it was read, or the text has no header */
	int64_t width;          /* columns of the text; -1: not known yet */
	int64_t *columns;       /* which of them are read */
	int64_t count;          /* how many these are */
	unsigned char *data;
	int64_t rows, room;     /* in data */
	unsigned char fill[8];  /* the element for a missing field */
};

/* Options */

static kz_status csv_check_dtype(struct csv *csv, kz_error *err)
{
	csv->dtype = csv->options.dtype ? csv->options.dtype : KZ_F64;
	if (!kz_dtype_name(csv->dtype)) {
		return error_set(err, KZ_INVALID, "%u is not a dtype", (unsigned)csv->dtype);
	}
	if (!dtype_is_exact(csv->dtype) && csv->dtype != KZ_F32 && csv->dtype != KZ_F64) {
		kz_status st = error_set(err, KZ_UNSUPPORTED, "expected bool, an integer type, "
			"float32 or float64, got %s", kz_dtype_name(csv->dtype));
		error_add_hint(err, "read float64, and convert it by kz_array_astype");
		return st;
	}
	csv->item = dtype_size(csv->dtype);
	return KZ_OK;
}

static kz_status csv_check_options(struct csv *csv, kz_error *err)
{
	kz_csv_options *o = &csv->options;
	static const char numeric[] = "0123456789+-.\"\r\n";
	const char *wrong = NULL;
	kz_status st = csv_check_dtype(csv, err);
	if (st) {
		return st;
	}
	o->delimiter = o->delimiter ? o->delimiter : ',';
	if (strchr(numeric, o->delimiter) || (o->comment && strchr(numeric, o->comment))
	    || o->delimiter == o->comment) {
		wrong = "a delimiter and a comment that differ, and are not parts of numbers, "
			"quotes or line ends";
	} else if (o->skip < 0 || o->max_rows < 0) {
		wrong = "numbers of lines from 0";
	} else if (o->column_count < 0 || (!o->columns) != (o->column_count == 0)) {
		wrong = "`columns` and `column_count`, or neither";
	} else if (o->names && (!o->header || o->names_size < 0)) {
		wrong = "a header where there is memory for names, and its size";
	} else if ((unsigned)o->missing > KZ_CSV_FILL) {
		wrong = "a kz_csv_missing";
	} else if (o->missing == KZ_CSV_FILL && !csv_number_put(csv->fill, csv->dtype, o->fill)) {
		return error_set(err, KZ_INVALID, "options: %s cannot hold %g, which is `fill`",
			kz_dtype_name(csv->dtype), o->fill);
	}
	return wrong ? error_set(err, KZ_INVALID, "options: expected %s", wrong) : KZ_OK;
}

/* Columns */

/* Which columns are read, when it is known how many there are. */
static kz_status csv_choose_columns(struct csv *csv, kz_error *err)
{
	const kz_csv_options *o = &csv->options;
	const int64_t width = csv->text.count;
	csv->count = o->columns ? o->column_count : width;
	csv->columns = mem_zalloc((size_t)csv->count, sizeof(*csv->columns));
	if (!csv->columns) {
		return error_no_memory(err);
	}
	for (int64_t i = 0; i < csv->count; i++) {
		const int64_t wanted = o->columns ? o->columns[i] : i;
		if (wanted < -width || wanted >= width) {
			return error_set(err, KZ_RANGE, "%s, line %lld: columns[%lld] is %lld, and "
				"the line has %lld column%s, counted from 0", csv->text.name,
				(long long)csv->text.begin_line, (long long)i, (long long)wanted,
				(long long)width, plural(width));
		}
		csv->columns[i] = wanted < 0 ? wanted + width : wanted;
	}
	csv->width = width;
	return KZ_OK;
}

/* Copy a field, with one of two quotes, to `to` if it is not NULL; its bytes. */
static int64_t csv_copy_field(char *to, const struct csv_field *field)
{
	int64_t len = 0;
	for (int64_t i = 0; i < field->len; i++, len++) {
		if (to) {
			to[len] = field->text[i];
		}
		i += field->is_quoted && field->text[i] == '"';
	}
	return len;
}

static kz_status csv_take_names(struct csv *csv, kz_error *err)
{
	const kz_csv_options *o = &csv->options;
	int64_t size = 0;
	for (int64_t i = 0; i < csv->count; i++) {
		size += csv_copy_field(NULL, &csv->text.fields[csv->columns[i]]) + 1;
	}
	if (size > o->names_size) {
		return error_set(err, KZ_RANGE, "options: expected %lld bytes for the names, got "
			"%lld", (long long)size, (long long)o->names_size);
	}
	char *to = o->names;
	assert(to);
	for (int64_t i = 0; i < csv->count; i++) {
		to += csv_copy_field(to, &csv->text.fields[csv->columns[i]]);
		*to++ = '\0';
	}
	return KZ_OK;
}

/* Rows */

static bool csv_is_missing(const struct csv *csv, const struct csv_field *field)
{
	static const char *const words[] = {"", "na", "n/a", "null", "none"};
	const char *other = csv->options.missing_text;
	bool found = other && (int64_t)strlen(other) == field->len
		&& memcmp(other, field->text, (size_t)field->len) == 0;
	for (size_t i = 0; !found && field->len <= 4 && i < countof(words); i++) {
		found = (int64_t)strlen(words[i]) == field->len
			&& strncasecmp(words[i], field->text, (size_t)field->len) == 0;
	}
	return found;
}

static kz_status csv_take_field(struct csv *csv, void *element, const struct csv_field *field,
	kz_error *err)
{
	const bool mine = error_is_clean(err);
	enum csv_number is = csv_number_read(&csv->numbers, element, csv->dtype, field->text,
		field->len);
	if (likely(is == CSV_NUMBER)) {
		return KZ_OK;
	}
	if (is == CSV_NO_MEMORY) {
		return error_no_memory(err);
	}
	if (csv_is_missing(csv, field)) {
		if (csv->options.missing == KZ_CSV_FILL) {
			memcpy(element, csv->fill, (size_t)csv->item);
			return KZ_OK;
		}
		if (csv->options.missing == KZ_CSV_NAN
		    && csv_number_read(&csv->numbers, element, csv->dtype, "nan", 3)
			== CSV_NUMBER) {
			return KZ_OK;
		}
	}
	kz_status st = csv_refuse(&csv->text, field, csv_number_kind(csv->dtype), err);
	if (mine && csv->rows == 0 && !csv->options.header) {
		error_add_hint(err, "if the first line has names, set `header` of kz_csv_options");
	}
	return st;
}

static kz_status csv_make_rows(struct csv *csv, kz_error *err)
{
	int64_t size, room = csv->room ? csv->room : CSV_ROWS_FIRST;
	if (csv->rows < csv->room) {
		return KZ_OK;
	}
	if (!size64_mul(&room, room, csv->room ? 2 : 1) || !size64_mul(&size, room, csv->count)
	    || !size64_mul(&size, size, csv->item)) {
		return error_no_memory(err);
	}
	unsigned char *data = mem_realloc(csv->data, (size_t)size);
	if (!data) {
		return error_no_memory(err);
	}
	csv->data = data;
	csv->room = room;
	return KZ_OK;
}

static kz_status csv_take_row(struct csv *csv, kz_error *err)
{
	const struct csv_text *text = &csv->text;
	const bool is_first = csv->width < 0, is_header = !csv->has_header;
	kz_status st = is_first ? csv_choose_columns(csv, err) : KZ_OK;
	if (!st && is_header) {
		csv->has_header = true;
		return csv->options.names ? csv_take_names(csv, err) : KZ_OK;
	}
	if (!st && text->count != csv->width) {
		const bool mine = error_is_clean(err);
		st = error_set(err, KZ_INVALID, "%s, line %lld: expected %lld column%s, got %lld",
			text->name, (long long)text->begin_line, (long long)csv->width,
			plural(csv->width), (long long)text->count);
		if (mine) {
			error_add_place(err, text->name, (int)text->begin_line, 0);
		}
	}
	if (st || (st = csv_make_rows(csv, err))) {
		return st;
	}
	unsigned char *element = csv->data + csv->rows * csv->count * csv->item;
	for (int64_t i = 0; !st && i < csv->count; i++, element += csv->item) {
		st = csv_take_field(csv, element, &text->fields[csv->columns[i]], err);
	}
	csv->rows++;
	return st;
}

/* Take the rows of a part of the text; *is_done: no other part is needed. */
static kz_status csv_take_part(struct csv *csv, bool *is_done, kz_error *err)
{
	kz_status st = KZ_OK;
	*is_done = false;
	while (!st) {
		if (csv->options.max_rows && csv->rows == csv->options.max_rows) {
			*is_done = true;
			return KZ_OK;
		}
		const bool is_skipped = csv->skip > 0;
		switch (is_skipped ? csv_skip_line(&csv->text) : csv_next_row(&csv->text, err)) {
		case CSV_ROW:
			st = csv_take_row(csv, err);
			break;
		case CSV_NONE:
			csv->skip -= is_skipped;
			break;
		case CSV_MORE:
			return KZ_OK;
		case CSV_END:
			*is_done = true;
			return KZ_OK;
		case CSV_FAILED:
			return KZ_INVALID;
		case CSV_NO_ROOM:
			return error_no_memory(err);
		}
	}
	return st;
}

/* A byte order mark at the beginning of the text. */
static kz_status csv_skip_mark(struct csv_text *text, kz_error *err)
{
	const int64_t size = text->end - text->at;
	if (size >= 2 && (memcmp(text->at, "\xff\xfe", 2) == 0
		|| memcmp(text->at, "\xfe\xff", 2) == 0)) {
		return error_set(err, KZ_UNSUPPORTED, "%s: expected ASCII or UTF-8, got UTF-16",
			text->name);
	}
	if (size >= 3 && memcmp(text->at, "\xef\xbb\xbf", 3) == 0) {
		text->at += 3;
		text->line_at = text->at;
	}
	return KZ_OK;
}

/* Files */

/* A piece of a file, with room at its end for what follows. */
struct csv_piece {
	char *data;
	int64_t len, room;
};

/* Read on; *is_last: the file has ended. */
static kz_status csv_read_on(struct csv_piece *piece, bool *is_last, int fd, const char *path,
	kz_error *err)
{
	if (piece->len == piece->room) {
		const int64_t room = piece->room ? 2 * piece->room : CSV_PIECE;
		char *data = mem_realloc(piece->data, (size_t)room);
		if (!data) {
			return error_no_memory(err);
		}
		piece->data = data;
		piece->room = room;
	}
	const int64_t wanted = piece->room - piece->len;
	const int64_t got = file_read_some(fd, piece->data + piece->len, (size_t)wanted);
	if (got < 0) {
		return error_os(err, errno, "read", "cannot read '%s'", path);
	}
	piece->len += got;
	*is_last = got < wanted;
	return KZ_OK;
}

static kz_status csv_take_file(struct csv *csv, int fd, const char *path, kz_error *err)
{
	struct csv_piece piece = {NULL, 0, 0};
	struct csv_text *text = &csv->text;
	bool is_last = false, is_done = false, is_first = true;
	kz_status st = KZ_OK;
	while (!st && !is_done) {
		if ((st = csv_read_on(&piece, &is_last, fd, path, err))) {
			break;
		}
		csv_text_set(text, piece.data, piece.len, is_last);
		st = is_first ? csv_skip_mark(text, err) : KZ_OK;
		is_first = false;
		st = st ? st : csv_take_part(csv, &is_done, err);
		piece.len = text->end - text->at;
		if (!st && !is_done && piece.len >= CSV_ROW_MOST) {
			st = error_set(err, KZ_INVALID, "%s, line %lld: expected a row of at most "
				"16 MiB; a quote in it may not end", text->name,
				(long long)text->line);
		}
		memmove(piece.data, text->at, (size_t)piece.len);
	}
	mem_free(piece.data);
	return st;
}

/* Calls */

static kz_status csv_begin(struct csv *csv, kz_device *dev, const char *name,
	const kz_csv_options *options, kz_error *err)
{
	*csv = (struct csv){.options = KZ_CSV_OPTIONS_INIT, .width = -1};
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (st) {
		return st;
	}
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_csv_options", options->size, sizeof(*options), err);
	}
	csv->options = options ? *options : csv->options;
	if ((st = csv_check_options(csv, err))) {
		return st;
	}
	csv->skip = csv->options.skip;
	csv->has_header = !csv->options.header;
	csv_text_init(&csv->text, name, csv->options.delimiter, csv->options.comment);
	return csv_numbers_init(&csv->numbers, err);
}

/* The elements as an array, if all went well. */
static kz_status csv_end(struct csv *csv, kz_array **out, kz_device *dev, kz_status st,
	kz_error *err)
{
	if (!st) {
		const int64_t count = csv->width < 0 ? csv->options.column_count : csv->count;
		st = kz_array_from(out, dev, csv->dtype, KZ_SHAPE(csv->rows, count),
			csv->data, csv->rows * count * csv->item, err);
	}
	csv_text_free(&csv->text);
	csv_numbers_free(&csv->numbers);
	mem_free(csv->columns);
	mem_free(csv->data);
	return st;
}

kz_status kz_csv_load(kz_array **out, kz_device *dev, const char *path,
	const kz_csv_options *options, kz_error *err)
{
	error_scope(err);
	struct csv csv;
	int fd;
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st || (st = pointer_check(path, "a path", err))) {
		return st;
	}
	if (!(st = csv_begin(&csv, dev, path, options, err))
	    && !(st = file_open(&fd, path, err))) {
		st = csv_take_file(&csv, fd, path, err);
		close(fd);
	}
	return csv_end(&csv, out, dev, st, err);
}

kz_status kz_csv_read(kz_array **out, kz_device *dev, const char *text, int64_t size,
	const kz_csv_options *options, kz_error *err)
{
	error_scope(err);
	struct csv csv;
	bool is_done;
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st) {
		return st;
	}
	st = csv_begin(&csv, dev, "the text", options, err);
	if (!st && (size < 0 || (!text && size > 0))) {
		st = error_set(err, KZ_INVALID, size < 0
			? "expected a size of host memory of at least 0, got %lld"
			: "expected %lld bytes of host memory, got NULL", (long long)size);
	}
	if (!st) {
		csv_text_set(&csv.text, size > 0 ? text : "", size, true);
		st = csv_skip_mark(&csv.text, err);
		st = st ? st : csv_take_part(&csv, &is_done, err);
	}
	return csv_end(&csv, out, dev, st, err);
}
