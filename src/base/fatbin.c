/* SPDX-License-Identifier: MIT */
/*
 * Fat binaries.  A fat binary is a header and a list of entries.  The header of an entry says what
 * it is (PTX, a cubin, LTO code), for which architecture, and how it is compressed: not at all,
 * with LZ4 or, since nvcc 12.4, with Zstandard.  libzstd is opened when the first such entry comes.
 *
 * NVIDIA does not document the format; this is what fatbinary of CUDA 13 writes.  Headers are not
 * trusted: each size is checked against what holds it.
 */
#include "base/fatbin.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/lz4.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FATBIN_MAGIC 0xba55ed50

enum {
	MAX_TEXT = 1 << 30,
	MAX_LZ4_RATIO = 255,
	FLAG_LZ4 = 0x2000,
	FLAG_ZSTD = 0x8000
};

struct fatbin_header {
	uint32_t magic;
	uint16_t version;
	uint16_t header_size;
	uint64_t size; /* of the entries */
};

struct entry_header {
	uint16_t kind;
	uint16_t version;
	uint32_t header_size;
	uint64_t size;            /* of what follows the header */
	uint32_t compressed_size; /* of which this is used; 0: all */
	uint32_t options;
	uint16_t minor;
	uint16_t major;
	uint32_t architecture;    /* 89 */
	uint32_t name_offset;
	uint32_t name_size;
	uint64_t flags;
	uint64_t reserved;
	uint64_t text_size;       /* after decompression */
};
_Static_assert(sizeof(struct entry_header) == 64, "as fatbinary writes it");

/* The part of libzstd that is used; its functions never change. */
static struct zstd {
	size_t (*frame_size)(const void *data, size_t size);
	size_t (*decompress)(void *out, size_t room, const void *data, size_t size);
	unsigned (*is_error)(size_t code);
} zstd;
static char zstd_why[128];

static void fatbin_load_zstd(void)
{
	static const struct dl_row rows[] = {
		{"ZSTD_findFrameCompressedSize", offsetof(struct zstd, frame_size), true},
		{"ZSTD_decompress", offsetof(struct zstd, decompress), true},
		{"ZSTD_isError", offsetof(struct zstd, is_error), true},
	};
	// Never closed: it is opened once per process.
	void *library = dl_open("libzstd.so.1", zstd_why, sizeof(zstd_why));
	if (library) {
		dl_fill(library, rows, countof(rows), &zstd);
	}
}

static enum fatbin_result fatbin_fail_damaged(struct fatbin *fatbin, const char *what)
{
	snprintf(fatbin->why, sizeof(fatbin->why), "the fat binary is damaged: %s", what);
	return FATBIN_DAMAGED;
}

static enum fatbin_result fatbin_fail_memory(struct fatbin *fatbin)
{
	snprintf(fatbin->why, sizeof(fatbin->why), "host memory has run out");
	return FATBIN_NO_MEMORY;
}

bool fatbin_is(const void *data, size_t size)
{
	static const uint32_t magic = FATBIN_MAGIC;
	return size >= sizeof(magic) && strncmp(data, (const char *)&magic, sizeof(magic)) == 0;
}

enum fatbin_result fatbin_open(struct fatbin *out, const void *data, size_t size)
{
	struct fatbin_header header;
	memset(out, 0, sizeof(*out));
	if (size < sizeof(header)) {
		return fatbin_fail_damaged(out, "it ends within its header");
	}
	memcpy(&header, data, sizeof(header));
	if (header.header_size < sizeof(header) || header.header_size > size
	    || (size != FATBIN_UNKNOWN_SIZE && header.size > size - header.header_size)) {
		return fatbin_fail_damaged(out, "it is shorter than its header says");
	}
	out->next = (const uint8_t *)data + header.header_size;
	out->left = header.size;
	return FATBIN_OK;
}

enum fatbin_result fatbin_next(struct fatbin *fatbin, struct fatbin_entry *out)
{
	struct entry_header header;
	if (fatbin->left == 0) {
		return FATBIN_END;
	}
	if (fatbin->left < sizeof(header)) {
		return fatbin_fail_damaged(fatbin, "it ends within an entry");
	}
	memcpy(&header, fatbin->next, sizeof(header));
	size_t head = header.header_size;
	if (head < sizeof(header) || head > fatbin->left || header.size > fatbin->left - head) {
		return fatbin_fail_damaged(fatbin, "an entry does not fit into it");
	}
	*out = (struct fatbin_entry){
		.kind = header.kind,
		.arch = header.architecture,
		.whole = fatbin->next,
		.whole_size = head + header.size,
		.data = fatbin->next + head,
		.size = header.size,
		.used = header.compressed_size,
		.text_size = header.text_size,
		.has_lz4 = (header.flags & FLAG_LZ4) != 0,
		.has_zstd = (header.flags & FLAG_ZSTD) != 0,
	};
	fatbin->next += out->whole_size;
	fatbin->left -= out->whole_size;
	return FATBIN_OK;
}

static enum fatbin_result fatbin_decode_zstd(
	struct fatbin *fatbin, const struct fatbin_entry *entry, char *out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, fatbin_load_zstd);
	if (!zstd.frame_size || !zstd.decompress || !zstd.is_error) {
		snprintf(fatbin->why, sizeof(fatbin->why), "the fat binary is compressed with"
			" Zstandard, and libzstd.so.1 (Debian package libzstd1) cannot be used: %s",
			zstd_why);
		return FATBIN_NO_ZSTD;
	}
	// Without the padding after the frame.
	size_t frame = zstd.frame_size(entry->data, entry->used);
	if (zstd.is_error(frame) || frame > entry->used) {
		return fatbin_fail_damaged(fatbin, "no Zstandard frame");
	}
	size_t len = zstd.decompress(out, entry->text_size, entry->data, frame);
	return zstd.is_error(len) || len != entry->text_size
		? fatbin_fail_damaged(fatbin, "its Zstandard frame") : FATBIN_OK;
}

enum fatbin_result fatbin_decode(struct fatbin *fatbin, const struct fatbin_entry *entry,
	char **data, size_t *size)
{
	bool is_plain = !entry->has_lz4 && !entry->has_zstd;
	size_t text_size = is_plain ? entry->size : entry->text_size;
	if (!is_plain && (entry->used > entry->size || text_size > MAX_TEXT
			|| (entry->has_lz4 && text_size / MAX_LZ4_RATIO > entry->used))) {
		return fatbin_fail_damaged(fatbin, "the sizes of an entry");
	}
	char *out = mem_alloc(text_size + 1);
	if (!out) {
		return fatbin_fail_memory(fatbin);
	}
	enum fatbin_result result = FATBIN_OK;
	if (entry->has_zstd) {
		result = fatbin_decode_zstd(fatbin, entry, out);
	} else if (is_plain) {
		memcpy(out, entry->data, text_size);
	} else if (!lz4_decode((uint8_t *)out, text_size, entry->data, entry->used)) {
		result = fatbin_fail_damaged(fatbin, "its LZ4 block");
	}
	if (result != FATBIN_OK) {
		mem_free(out);
		return result;
	}
	out[text_size] = '\0';
	*data = out;
	*size = text_size;
	return FATBIN_OK;
}

char *fatbin_of_one(const struct fatbin_entry *entry, size_t *size)
{
	const struct fatbin_header header = {
		.magic = FATBIN_MAGIC,
		.version = 1,
		.header_size = sizeof(header),
		.size = entry->whole_size,
	};
	char *out = mem_alloc(sizeof(header) + entry->whole_size);
	if (out) {
		memcpy(out, &header, sizeof(header));
		memcpy(out + sizeof(header), entry->whole, entry->whole_size);
		*size = sizeof(header) + entry->whole_size;
	}
	return out;
}
