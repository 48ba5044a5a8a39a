/* SPDX-License-Identifier: MIT */
#ifndef ARRAY_ZIP_H
#define ARRAY_ZIP_H

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
/* The contents of an entry, freed with mem_free. */
kz_status zip_read(const struct zip *zip, const struct zip_entry *entry, char **data,
	kz_error *err);

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
