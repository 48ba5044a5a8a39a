/* SPDX-License-Identifier: MIT */
#ifndef LIB_ARRAY_ZIP_H
#define LIB_ARRAY_ZIP_H

/* Zip archives: list, read and write entries. */
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

struct zip_entry {
	char *name;
	int64_t offset; /* of its local header */
	int64_t packed; /* bytes in the archive */
	int64_t size;   /* bytes when unpacked */
	uint32_t crc;
	int method;
	bool encrypted;
};

/* An archive to read, in a file or in memory. */
struct zip {
	int fd;            /* -1 for one in memory */
	const char *data;  /* borrowed; NULL for one in a file */
	int64_t size;
	const char *name;  /* for messages; borrowed */
	struct zip_entry *entries;
	int64_t count;
};

/* fd or data, size and name are set; zip_finish frees the rest, after a failure, too. */
kz_status zip_init(struct zip *zip, kz_error *err);
void zip_finish(struct zip *zip);

/* An entry that is read from its beginning on; it holds no more than a piece of what is packed. */
struct zip_stream {
	const struct zip *zip;
	const struct zip_entry *entry;
	int64_t offset;          /* of the packed bytes that come next */
	int64_t packed_left;     /* from there on */
	int64_t left;            /* bytes that were not read yet */
	uint32_t crc;            /* of those that were, inverted */
	struct inflate *inflate; /* NULL for a stored entry */
	const char *input;       /* packed bytes that were read, in `piece` or in the archive */
	int64_t input_size;
	char *piece;
};

/* zip_stream_finish frees what is there, after a failure, too. */
kz_status zip_stream_init(struct zip_stream *stream, const struct zip *zip,
	const struct zip_entry *entry, kz_error *err);
/* The next bytes, of which so many are left. */
kz_status zip_stream_read(struct zip_stream *stream, char *to, int64_t size, kz_error *err);
/* After the last byte: there is no more, and the checksum is right. */
kz_status zip_stream_end(struct zip_stream *stream, kz_error *err);
void zip_stream_finish(struct zip_stream *stream);

/* An archive to write. */
struct zip_writer {
	struct file_writer *file;
	struct str directory;
	int64_t offset;
	int64_t count;
};

/* Begin with {file, STR_INIT, 0, 0} and call zip_end, or str_free for the directory. */
kz_status zip_add(struct zip_writer *zip, const char *name, const char *data, int64_t size,
	kz_error *err);
kz_status zip_end(struct zip_writer *zip, kz_error *err);

#endif
