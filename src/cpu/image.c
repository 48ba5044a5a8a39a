/* SPDX-License-Identifier: MIT */
/*
 * Images.  PTX is text.  A fat binary is a header and a list of entries, each with a header of its
 * own that says what it is (PTX, a cubin, LTO code), for which architecture, and how it is
 * compressed: not at all, with LZ4, or, by nvcc since 12.4, with Zstandard, whose library is opened
 * when the first such entry comes.  In a program, a wrapper with a pointer stands for it.
 *
 * NVIDIA does not document the format; this is what the fatbinary of CUDA 13 writes.  Nothing in
 * the headers is believed: sizes are checked against what holds them.
 */
#include "../base/common.h"

#include "image.h"

#include "../base/alloc.h"
#include "../base/dl.h"
#include "lz4.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CUBIN_MAGIC "\x7f" "ELF"
#define WRAPPER_MAGIC 0x466243b1
#define FATBIN_MAGIC 0xba55ed50

enum {
	OWN_ARCHITECTURE = 89,
	MAX_TEXT = 1 << 30,
	MAX_LZ4_RATIO = 255,
	KIND_PTX = 1,
	FLAG_LZ4 = 0x2000,
	FLAG_ZSTD = 0x8000
};

struct wrapper {
	uint32_t magic;
	uint32_t version;
	const void *data;
	const void *more;
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
	uint64_t text_size;       /* when it is not compressed any more */
};
_Static_assert(sizeof(struct entry_header) == 64, "as fatbinary writes it");

struct entry {
	struct entry_header header;
	const uint8_t *data;
};

/* The part of libzstd that is used; its functions never change. */
struct zstd {
	size_t (*frame_size)(const void *data, size_t size);
	size_t (*decompress)(void *out, size_t room, const void *data, size_t size);
	unsigned (*is_error)(size_t code);
};

static CUresult fail(struct image *image, CUresult code, const char *format, ...)
	printf_like(3, 4);

static CUresult fail(struct image *image, CUresult code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(image->why, sizeof(image->why), format, args);
	va_end(args);
	return code;
}

static CUresult fail_damaged(struct image *image, const char *what)
{
	return fail(image, CUDA_ERROR_INVALID_IMAGE, "the fat binary is damaged: %s", what);
}

static struct zstd zstd;
static char zstd_why[160];

static void load_zstd(void)
{
	static const struct dl_row rows[] = {
		{"ZSTD_findFrameCompressedSize", offsetof(struct zstd, frame_size), true},
		{"ZSTD_decompress", offsetof(struct zstd, decompress), true},
		{"ZSTD_isError", offsetof(struct zstd, is_error), true},
	};
	// Never closed: it is opened once per process.
	void *library = dl_open("libzstd.so.1", zstd_why, sizeof(zstd_why));
	if (library != NULL) {
		dl_fill(library, rows, countof(rows), &zstd);
	}
}

static CUresult decode_zstd(struct image *out, const struct entry *entry, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load_zstd);
	if (zstd.frame_size == NULL || zstd.decompress == NULL || zstd.is_error == NULL) {
		return fail(out, CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "the PTX is compressed with"
			" Zstandard, and libzstd.so.1 (Debian package libzstd1) cannot be used: %s",
			zstd_why);
	}
	// Without the padding behind the frame.
	size_t frame = zstd.frame_size(entry->data, size);
	if (zstd.is_error(frame) || frame > size) {
		return fail_damaged(out, "no Zstandard frame");
	}
	size_t len = zstd.decompress(out->owned, entry->header.text_size, entry->data, frame);
	return zstd.is_error(len) || len != entry->header.text_size
		? fail_damaged(out, "its Zstandard frame") : CUDA_SUCCESS;
}

static CUresult decode(struct image *out, const struct entry *entry)
{
	const struct entry_header *header = &entry->header;
	size_t size = header->compressed_size;
	if (size > header->size || header->text_size > MAX_TEXT) {
		return fail_damaged(out, "the sizes of an entry");
	}
	if ((header->flags & FLAG_LZ4) && header->text_size / MAX_LZ4_RATIO > size) {
		return fail_damaged(out, "the sizes of an entry");
	}
	out->owned = mem_alloc(header->text_size + 1);
	if (out->owned == NULL) {
		return fail(out, CUDA_ERROR_OUT_OF_MEMORY, "host memory has run out");
	}
	if (header->flags & FLAG_ZSTD) {
		CUresult result = decode_zstd(out, entry, size);
		if (result != CUDA_SUCCESS) {
			return result;
		}
	} else if (!lz4_decode((uint8_t *)out->owned, header->text_size, entry->data, size)) {
		return fail_damaged(out, "its LZ4 block");
	}
	out->owned[header->text_size] = '\0';
	out->text = out->owned;
	out->size = strlen(out->owned);
	return CUDA_SUCCESS;
}

/* Whether PTX for one architecture is better for us than PTX for another, 0 if there is none: the
 * newest that a GPU like us could run, else the oldest. */
static bool is_better(uint32_t one, uint32_t other)
{
	if (other == 0 || (one <= OWN_ARCHITECTURE && other > OWN_ARCHITECTURE)) {
		return true;
	}
	return one <= OWN_ARCHITECTURE ? one > other : other > OWN_ARCHITECTURE && one < other;
}

/* Walk the entries, which are `size` bytes, to the best PTX. */
static CUresult find_entry(struct image *out, const uint8_t *data, size_t size, struct entry *best)
{
	unsigned others = 0;
	memset(best, 0, sizeof(*best));
	while (size > 0) {
		struct entry entry;
		if (size < sizeof(entry.header)) {
			return fail_damaged(out, "it ends within an entry");
		}
		memcpy(&entry.header, data, sizeof(entry.header));
		size_t head = entry.header.header_size;
		if (head < sizeof(entry.header) || head > size || entry.header.size > size - head) {
			return fail_damaged(out, "an entry does not fit into it");
		}
		entry.data = data + head;
		if (entry.header.kind != KIND_PTX) {
			others++;
		} else if (is_better(entry.header.architecture, best->header.architecture)) {
			*best = entry;
		}
		data += head + entry.header.size;
		size -= head + entry.header.size;
	}
	return best->data != NULL ? CUDA_SUCCESS : fail(out, CUDA_ERROR_NO_BINARY_FOR_GPU,
		"the CPU device takes PTX; this fat binary has none, only code for GPUs (%u entries)",
		others);
}

static CUresult open_fatbin(struct image *out, const void *data, size_t size)
{
	struct fatbin_header header;
	struct entry entry;
	if (size < sizeof(header)) {
		return fail_damaged(out, "it ends within its header");
	}
	memcpy(&header, data, sizeof(header));
	if (header.header_size < sizeof(header) || header.header_size > size
	    || (size != IMAGE_UNKNOWN_SIZE && header.size > size - header.header_size)) {
		return fail_damaged(out, "it is shorter than its header says");
	}
	const uint8_t *entries = (const uint8_t *)data + header.header_size;
	CUresult result = find_entry(out, entries, header.size, &entry);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (entry.header.flags & (FLAG_LZ4 | FLAG_ZSTD)) {
		return decode(out, &entry);
	}
	out->text = (const char *)entry.data; /* which find_entry has found */
	out->size = out->text != NULL ? strnlen(out->text, entry.header.size) : 0;
	return CUDA_SUCCESS;
}

static CUresult open_text(struct image *out, const char *text, size_t size)
{
	unsigned char first = size > 0 ? (unsigned char)*text : 0;
	if ((first >= ' ' && first < 0x7f) || (first >= '\t' && first <= '\r')) {
		out->text = text;
		out->size = size == IMAGE_UNKNOWN_SIZE ? strlen(text) : strnlen(text, size);
		return CUDA_SUCCESS;
	}
	return fail(out, CUDA_ERROR_INVALID_IMAGE, first == '\0' ? "the image is empty"
		: "the image is neither PTX nor a fat binary");
}

/* Whether the image begins so; it may end after any zero byte. */
static bool begins(const char *image, size_t size, const void *magic)
{
	return size >= 4 && strncmp(image, magic, 4) == 0;
}

bool image_is_pointer(const void *data, size_t size)
{
	static const uint32_t wrapper = WRAPPER_MAGIC;
	return begins(data, size, &wrapper);
}

CUresult image_open(struct image *out, const void *data, size_t size)
{
	static const uint32_t fatbin = FATBIN_MAGIC;
	memset(out, 0, sizeof(*out));
	if (begins(data, size, CUBIN_MAGIC)) {
		return fail(out, CUDA_ERROR_NO_BINARY_FOR_GPU,
			"the CPU device takes PTX; this is a cubin, code for a GPU");
	}
	if (begins(data, size, &fatbin)) {
		return open_fatbin(out, data, size);
	}
	if (!image_is_pointer(data, size)) {
		return open_text(out, data, size);
	}
	struct wrapper in_program;
	if (size < sizeof(in_program)) {
		return fail_damaged(out, "it ends within its wrapper");
	}
	memcpy(&in_program, data, sizeof(in_program));
	if (in_program.data == NULL || !begins(in_program.data, IMAGE_UNKNOWN_SIZE, &fatbin)) {
		return fail_damaged(out, "its wrapper points at something else");
	}
	return open_fatbin(out, in_program.data, IMAGE_UNKNOWN_SIZE);
}

void image_close(struct image *image)
{
	mem_free(image->owned);
	image->owned = NULL;
}
