/* SPDX-License-Identifier: MIT */
/*
 * Zip archives, as far as .npz files need them.
 *
 * An archive is read from its end: the end record says where the directory is, and the directory
 * where each entry is.  All of it may be damaged.  Every place is checked against the archive's
 * size before it is read, and no more is allocated than that size allows.  An entry is read as a
 * stream, so that its reader can stop where it learns that the rest is not what it should be.
 *
 * All that is written is in the zip64 form, so there is one form to test.  Entries of more than 4
 * GiB need it, and numpy writes it, too.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/array/inflate.h"
#include "lib/array/zip.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LOCAL = 0x04034b50, LOCAL_SIZE = 30,
	CENTRAL = 0x02014b50, CENTRAL_SIZE = 46,
	END = 0x06054b50, END_SIZE = 22,
	END64 = 0x06064b50, END64_SIZE = 56,
	LOCATOR64 = 0x07064b50, LOCATOR64_SIZE = 20,
	COMMENT_MAX = 65535,
	EXTRA64 = 1,
	STORED = 0, DEFLATED = 8,
	EXPANSION_MAX = 1032,         /* deflate's own bound */
	PIECE = 1 << 16,              /* of packed bytes, at a time */
	VERSION64 = 45, DATE = 0x21   /* 1 January 1980: the same arrays give the same file */
};

#define FULL32 UINT32_C(0xffffffff) /* "see the zip64 field" */

/* Numbers, little-endian */

static uint64_t zip_load(const char *from, int size)
{
	uint64_t value = 0;
	for (int i = size - 1; i >= 0; i--) {
		value = value << 8 | (unsigned char)from[i];
	}
	return value;
}

static uint32_t zip_load2(const char *from)
{
	return (uint32_t)zip_load(from, 2);
}

static uint32_t zip_load4(const char *from)
{
	return (uint32_t)zip_load(from, 4);
}

static void zip_put(struct str *to, uint64_t value, int size)
{
	for (int i = 0; i < size; i++) {
		str_addc(to, (char)(value >> 8 * i));
	}
}

/* Checksum: eight tables, so that eight bytes are one step. */

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void zip_crc_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;
		for (int bit = 0; bit < 8; bit++) {
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
		}
		crc_table[0][i] = crc;
	}
	for (int k = 1; k < 8; k++) {
		for (int i = 0; i < 256; i++) {
			uint32_t crc = crc_table[k - 1][i];
			crc_table[k][i] = crc >> 8 ^ crc_table[0][crc & 255];
		}
	}
}

/* Add bytes to a checksum, which is inverted until the last are in. */
static uint32_t zip_crc_add(uint32_t crc, const char *data, int64_t size)
{
	pthread_once(&crc_once, zip_crc_init);
	for (; size >= 8; size -= 8, data += 8) {
		uint64_t eight;
		memcpy(&eight, data, sizeof(eight));
		eight ^= crc;
		crc = 0;
		for (int i = 0; i < 8; i++) {
			crc ^= crc_table[7 - i][eight >> 8 * i & 255];
		}
	}
	for (; size > 0; size--, data++) {
		crc = crc >> 8 ^ crc_table[0][(crc ^ (unsigned char)*data) & 255];
	}
	return crc;
}

/* Reading */

static kz_status zip_damaged(const struct zip *zip, const char *expected, int64_t at, kz_error *err)
{
	return error_set(err, KZ_INVALID, "%s: damaged archive: expected %s at byte %lld",
		zip->name, expected, (long long)at);
}

/* Bytes that lie in the archive; the caller has checked that. */
static kz_status zip_read_at(const struct zip *zip, char *to, int64_t offset, int64_t size,
	kz_error *err)
{
	if (zip->data) {
		memcpy(to, zip->data + offset, (size_t)size);
		return KZ_OK;
	}
	while (size > 0) {
		ssize_t got = pread(zip->fd, to, (size_t)size, offset);
		if (got == 0) {
			return error_set(err, KZ_IO, "cannot read '%s': it became shorter",
				zip->name);
		}
		if (got < 0 && errno != EINTR) {
			return error_os(err, errno, "pread", "cannot read '%s'", zip->name);
		}
		to += got > 0 ? got : 0;
		offset += got > 0 ? got : 0;
		size -= got > 0 ? got : 0;
	}
	return KZ_OK;
}

static bool zip_inside(const struct zip *zip, int64_t offset, int64_t size)
{
	return offset >= 0 && size >= 0 && size <= zip->size && offset <= zip->size - size;
}

/* The end record: the last one that fits past the end of the archive; -1 for none. */
static int64_t zip_find_end(const char *tail, int64_t size)
{
	for (int64_t at = size - END_SIZE; at >= 0; at--) {
		if (zip_load4(tail + at) == END
		    && zip_load2(tail + at + 20) <= size - END_SIZE - at) {
			return at;
		}
	}
	return -1;
}

/* The place of the directory. */
struct directory {
	int64_t offset;
	int64_t size;
	int64_t count;
};

/* The end record of zip64, if its locator stands before the plain one. */
static kz_status zip_read_end64(const struct zip *zip, int64_t end, struct directory *dir,
	kz_error *err)
{
	char locator[LOCATOR64_SIZE], record[END64_SIZE];
	kz_status st;
	if (!zip_inside(zip, end - LOCATOR64_SIZE, LOCATOR64_SIZE)) {
		return KZ_OK;
	}
	if ((st = zip_read_at(zip, locator, end - LOCATOR64_SIZE, LOCATOR64_SIZE, err))
	    || zip_load4(locator) != LOCATOR64) {
		return st;
	}
	int64_t at = (int64_t)zip_load(locator + 8, 8);
	if (!zip_inside(zip, at, END64_SIZE)) {
		return zip_damaged(zip, "a zip64 end record", end, err);
	}
	if ((st = zip_read_at(zip, record, at, END64_SIZE, err))) {
		return st;
	}
	if (zip_load4(record) != END64) {
		return zip_damaged(zip, "a zip64 end record", at, err);
	}
	dir->count = (int64_t)zip_load(record + 32, 8);
	dir->size = (int64_t)zip_load(record + 40, 8);
	dir->offset = (int64_t)zip_load(record + 48, 8);
	return KZ_OK;
}

static kz_status zip_find_directory(const struct zip *zip, struct directory *dir, kz_error *err)
{
	int64_t room = END_SIZE + COMMENT_MAX;
	int64_t size = zip->size < room ? zip->size : room;
	char *tail = mem_alloc((size_t)size + 1);
	if (!tail) {
		return error_no_memory(err);
	}
	kz_status st = zip_read_at(zip, tail, zip->size - size, size, err);
	int64_t at = st ? -1 : zip_find_end(tail, size);
	if (!st && at < 0) {
		st = error_set(err, KZ_INVALID,
			"%s: expected a zip archive, got %lld bytes of something else", zip->name,
			(long long)zip->size);
	}
	if (!st) {
		dir->count = zip_load2(tail + at + 10);
		dir->size = zip_load4(tail + at + 12);
		dir->offset = zip_load4(tail + at + 16);
		st = zip_read_end64(zip, zip->size - size + at, dir, err);
	}
	mem_free(tail);
	if (!st && !zip_inside(zip, dir->offset, dir->size)) {
		st = zip_damaged(zip, "a directory", dir->offset, err);
	}
	if (!st && (dir->count < 0 || dir->count > dir->size / CENTRAL_SIZE)) {
		st = zip_damaged(zip, "a directory of all entries", dir->offset, err);
	}
	return st;
}

/* The 64-bit values of those fields that are full, in this order. */
static bool zip_read_extra64(struct zip_entry *entry, const char *extra, int64_t size)
{
	int64_t *const fields[] = {&entry->size, &entry->packed, &entry->offset};
	while (size >= 4) {
		int64_t len = zip_load2(extra + 2);
		const char *at = extra + 4;
		if (len > size - 4) {
			return false;
		}
		for (int i = 0; zip_load2(extra) == EXTRA64 && i < 3; i++) {
			if (*fields[i] != FULL32) {
				continue;
			}
			if (at + 8 > extra + 4 + len) {
				return false;
			}
			*fields[i] = (int64_t)zip_load(at, 8);
			at += 8;
		}
		extra += 4 + len;
		size -= 4 + len;
	}
	return true;
}

/* One entry of the directory; *used is set to its bytes. */
static kz_status zip_read_entry(const struct zip *zip, struct zip_entry *entry, const char *from,
	int64_t left, int64_t *used, kz_error *err)
{
	if (left < CENTRAL_SIZE || zip_load4(from) != CENTRAL) {
		return error_set(err, KZ_INVALID, "%s: damaged archive: expected a directory entry",
			zip->name);
	}
	int64_t name_len = zip_load2(from + 28), extra_len = zip_load2(from + 30);
	*used = CENTRAL_SIZE + name_len + extra_len + zip_load2(from + 32);
	entry->encrypted = zip_load2(from + 8) & 1;
	entry->method = (int)zip_load2(from + 10);
	entry->crc = zip_load4(from + 16);
	entry->packed = zip_load4(from + 20);
	entry->size = zip_load4(from + 24);
	entry->offset = zip_load4(from + 42);
	if (*used > left
	    || !zip_read_extra64(entry, from + CENTRAL_SIZE + name_len, extra_len)
	    || entry->size < 0 || !zip_inside(zip, entry->offset, entry->packed)) {
		return error_set(err, KZ_INVALID,
			"%s: damaged archive: a directory entry points outside", zip->name);
	}
	entry->name = mem_strndup(from + CENTRAL_SIZE, (size_t)name_len);
	return entry->name ? KZ_OK : error_no_memory(err);
}

static int zip_compare_offsets(const void *left, const void *right)
{
	const struct zip_entry *a = *(const struct zip_entry *const *)left;
	const struct zip_entry *b = *(const struct zip_entry *const *)right;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Entries that share bytes let a small file claim any number of large arrays.  An extra field of a
 * local header is not counted: it is not known here. */
static kz_status zip_check_apart(const struct zip *zip, const struct directory *dir, kz_error *err)
{
	const struct zip_entry **sorted = mem_alloc((size_t)(zip->count + 1) * sizeof(*sorted));
	kz_status st = sorted ? KZ_OK : error_no_memory(err);
	for (int64_t i = 0; !st && i < zip->count; i++) {
		sorted[i] = &zip->entries[i];
	}
	if (!st) {
		qsort(sorted, (size_t)zip->count, sizeof(*sorted), zip_compare_offsets);
	}
	for (int64_t i = 0; !st && i < zip->count; i++) {
		const struct zip_entry *entry = sorted[i], *next = i + 1 < zip->count
			? sorted[i + 1] : NULL;
		int64_t end = entry->offset + LOCAL_SIZE + (int64_t)strlen(entry->name)
			+ entry->packed;
		if (next && end > next->offset) {
			st = error_set(err, KZ_INVALID,
				"%s: damaged archive: '%s' and '%s' overlap",
				zip->name, entry->name, next->name);
		} else if (entry->offset < dir->offset && end > dir->offset) {
			st = error_set(err, KZ_INVALID, "%s: damaged archive: '%s' overlaps the "
				"directory", zip->name, entry->name);
		}
	}
	mem_free(sorted);
	return st;
}

kz_status zip_init(struct zip *zip, kz_error *err)
{
	struct directory dir;
	zip->entries = NULL;
	zip->count = 0;
	kz_status st = zip_find_directory(zip, &dir, err);
	if (st) {
		return st;
	}
	char *data = mem_alloc((size_t)dir.size + 1);
	zip->entries = mem_zalloc((size_t)dir.count + 1, sizeof(*zip->entries));
	st = data && zip->entries ? zip_read_at(zip, data, dir.offset, dir.size, err)
		: error_no_memory(err);
	int64_t used = 0;
	for (int64_t at = 0; !st && zip->count < dir.count; at += used) {
		st = zip_read_entry(zip, &zip->entries[zip->count], data + at, dir.size - at, &used,
			err);
		zip->count += !st;
	}
	mem_free(data);
	return st ? st : zip_check_apart(zip, &dir, err);
}

void zip_finish(struct zip *zip)
{
	for (int64_t i = 0; i < zip->count; i++) {
		mem_free(zip->entries[i].name);
	}
	mem_free(zip->entries);
}

/* Check that an entry can be read, and find where its data begins. */
static kz_status zip_find_data(const struct zip *zip, const struct zip_entry *entry,
	int64_t *offset, kz_error *err)
{
	char header[LOCAL_SIZE];
	kz_status st;
	*offset = 0;
	if (entry->encrypted || (entry->method != STORED && entry->method != DEFLATED)) {
		return error_set(err, KZ_UNSUPPORTED,
			"%s: '%s' is %s: expected it stored or deflated", zip->name, entry->name,
			entry->encrypted ? "encrypted" : "compressed by another method");
	}
	if (!zip_inside(zip, entry->offset, LOCAL_SIZE)) {
		return zip_damaged(zip, "an entry", entry->offset, err);
	}
	if ((st = zip_read_at(zip, header, entry->offset, LOCAL_SIZE, err))) {
		return st;
	}
	*offset = entry->offset + LOCAL_SIZE + zip_load2(header + 26) + zip_load2(header + 28);
	if (zip_load4(header) != LOCAL || !zip_inside(zip, *offset, entry->packed)
	    || (entry->method == STORED && entry->packed != entry->size)) {
		return zip_damaged(zip, "the entry that the directory describes",
			entry->offset, err);
	}
	if (entry->size / EXPANSION_MAX > entry->packed) {
		return error_set(err, KZ_INVALID, "%s: damaged archive: '%s' claims %lld bytes in "
			"%lld, and deflate packs at most %d in one", zip->name, entry->name,
			(long long)entry->size, (long long)entry->packed, EXPANSION_MAX);
	}
	return KZ_OK;
}

kz_status zip_stream_init(struct zip_stream *stream, const struct zip *zip,
	const struct zip_entry *entry, kz_error *err)
{
	*stream = (struct zip_stream){zip, entry, 0, entry->packed, entry->size, ~UINT32_C(0), NULL,
		NULL, 0, NULL};
	kz_status st = zip_find_data(zip, entry, &stream->offset, err);
	if (st || entry->method == STORED) {
		return st;
	}
	if (!zip->data && !(stream->piece = mem_alloc(PIECE))) {
		return error_no_memory(err);
	}
	return inflate_create(&stream->inflate, entry->name, err);
}

void zip_stream_finish(struct zip_stream *stream)
{
	inflate_free(stream->inflate);
	mem_free(stream->piece);
}

/* More packed bytes, if there are any. */
static kz_status zip_stream_fill(struct zip_stream *stream, kz_error *err)
{
	int64_t size = stream->packed_left < PIECE ? stream->packed_left : PIECE;
	kz_status st = KZ_OK;
	if (stream->input_size > 0 || size == 0) {
		return KZ_OK;
	}
	if (stream->zip->data) {
		stream->input = stream->zip->data + stream->offset;
	} else {
		stream->input = stream->piece;
		st = zip_read_at(stream->zip, stream->piece, stream->offset, size, err);
	}
	stream->input_size = size;
	stream->offset += size;
	stream->packed_left -= size;
	return st;
}

static kz_status zip_stream_damaged(const struct zip_stream *stream, enum inflate_state state,
	kz_error *err)
{
	return state == INFLATE_NO_MEMORY ? error_no_memory(err) : error_set(err, KZ_INVALID,
		"%s: damaged: expected deflated data of %lld bytes", stream->entry->name,
		(long long)stream->entry->size);
}

static kz_status zip_stream_inflate(struct zip_stream *stream, char *to, int64_t size,
	kz_error *err)
{
	enum inflate_state state = INFLATE_MORE;
	while (size > 0 && state == INFLATE_MORE) {
		kz_status st = zip_stream_fill(stream, err);
		if (st) {
			return st;
		}
		state = inflate_some(stream->inflate, &stream->input, &stream->input_size, &to,
			&size);
	}
	/* The end, when it comes with the last byte, will be told again. */
	bool is_good = size == 0 && (state == INFLATE_MORE || state == INFLATE_END);
	return is_good ? KZ_OK : zip_stream_damaged(stream, state, err);
}

kz_status zip_stream_read(struct zip_stream *stream, char *to, int64_t size, kz_error *err)
{
	kz_status st;
	assert(size <= stream->left);
	if (stream->inflate) {
		st = zip_stream_inflate(stream, to, size, err);
	} else {
		st = zip_read_at(stream->zip, to, stream->offset, size, err);
		stream->offset += size;
	}
	if (!st) {
		stream->crc = zip_crc_add(stream->crc, to, size);
		stream->left -= size;
	}
	return st;
}

kz_status zip_stream_end(struct zip_stream *stream, kz_error *err)
{
	char spare[1], *to = spare;
	int64_t room = sizeof(spare);
	enum inflate_state state = stream->inflate ? INFLATE_MORE : INFLATE_END;
	assert(stream->left == 0);
	while (state == INFLATE_MORE && room > 0) {
		kz_status st = zip_stream_fill(stream, err);
		if (st) {
			return st;
		}
		state = inflate_some(stream->inflate, &stream->input, &stream->input_size, &to,
			&room);
	}
	if (state != INFLATE_END || room == 0) {
		return zip_stream_damaged(stream, state, err);
	}
	return ~stream->crc == stream->entry->crc ? KZ_OK : error_set(err, KZ_INVALID,
		"%s: damaged archive: the checksum of '%s' does not match",
		stream->zip->name, stream->entry->name);
}

/* Writing */

/* Write what the local header and the directory share, from the version needed on. */
static void zip_put_common(struct str *to, uint32_t crc, size_t name_len, int extra_len)
{
	zip_put(to, VERSION64, 2);
	zip_put(to, 0x800, 2); /* the name is UTF-8 */
	zip_put(to, STORED, 2);
	zip_put(to, 0, 2);
	zip_put(to, DATE, 2);
	zip_put(to, crc, 4);
	zip_put(to, FULL32, 4);
	zip_put(to, FULL32, 4);
	zip_put(to, name_len, 2);
	zip_put(to, (uint64_t)extra_len, 2);
}

/* The 64-bit sizes, and the offset in the directory. */
static void zip_put_extra(struct str *to, int64_t size, const int64_t *offset)
{
	zip_put(to, EXTRA64, 2);
	zip_put(to, offset ? 24 : 16, 2);
	zip_put(to, (uint64_t)size, 8);
	zip_put(to, (uint64_t)size, 8);
	if (offset) {
		zip_put(to, (uint64_t)*offset, 8);
	}
}

kz_status zip_add(struct zip_writer *zip, const char *name, const char *data, int64_t size,
	kz_error *err)
{
	struct str local = STR_INIT;
	uint32_t crc = ~zip_crc_add(~UINT32_C(0), data, size);
	size_t name_len = strlen(name);
	struct str *dir = &zip->directory;
	if (name_len > USHRT_MAX) {
		return error_set(err, KZ_INVALID, "expected a name of at most %d bytes, got %zu",
			USHRT_MAX, name_len);
	}
	zip_put(&local, LOCAL, 4);
	zip_put_common(&local, crc, name_len, 20);
	str_addn(&local, name, name_len);
	zip_put_extra(&local, size, NULL);

	zip_put(dir, CENTRAL, 4);
	zip_put(dir, 3 << 8 | VERSION64, 2); /* made on Unix: the mode below means something */
	zip_put_common(dir, crc, name_len, 28);
	zip_put(dir, 0, 6); /* no comment, disk 0, nothing about the contents */
	zip_put(dir, UINT32_C(0100644) << 16, 4);
	zip_put(dir, FULL32, 4);
	str_addn(dir, name, name_len);
	zip_put_extra(dir, size, &zip->offset);

	kz_status st = local.failed || dir->failed ? error_no_memory(err)
		: file_add(zip->file, local.data, local.len, err);
	st = st ? st : file_add(zip->file, data, (size_t)size, err);
	zip->offset += (int64_t)local.len + size;
	zip->count++;
	str_free(&local);
	return st;
}

/* The end records of zip64. */
static void zip_put_end64(struct str *dir, const struct zip_writer *zip)
{
	uint64_t size = dir->len, end = (uint64_t)zip->offset + size;
	zip_put(dir, END64, 4);
	zip_put(dir, END64_SIZE - 12, 8);
	zip_put(dir, 3 << 8 | VERSION64, 2);
	zip_put(dir, VERSION64, 2);
	zip_put(dir, 0, 8);
	zip_put(dir, (uint64_t)zip->count, 8);
	zip_put(dir, (uint64_t)zip->count, 8);
	zip_put(dir, size, 8);
	zip_put(dir, (uint64_t)zip->offset, 8);
	zip_put(dir, LOCATOR64, 4);
	zip_put(dir, 0, 4);
	zip_put(dir, end, 8);
	zip_put(dir, 1, 4);
}

kz_status zip_end(struct zip_writer *zip, kz_error *err)
{
	struct str *dir = &zip->directory;
	bool full = zip->count > 0; /* numpy knows an archive without entries by its first bytes */
	if (full) {
		zip_put_end64(dir, zip);
	}
	zip_put(dir, END, 4);
	zip_put(dir, 0, 4);
	zip_put(dir, full ? 0xffff : 0, 2);
	zip_put(dir, full ? 0xffff : 0, 2);
	zip_put(dir, full ? FULL32 : 0, 4);
	zip_put(dir, full ? FULL32 : 0, 4);
	zip_put(dir, 0, 2);
	kz_status st = dir->failed ? error_no_memory(err)
		: file_add(zip->file, dir->data, dir->len, err);
	str_free(dir);
	return st;
}
