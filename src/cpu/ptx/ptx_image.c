/* SPDX-License-Identifier: MIT */
/*
 * Opens images.  PTX is text.  A fat binary may have PTX for several architectures; the best one is
 * picked.  A program that was linked by nvcc passes a wrapper that points to its fat binary.  A
 * pointer in bytes whose number is known leads out of them, and is not followed.
 */
#include "base/common.h"

#include "cpu/ptx/ptx_image.h"

#include "base/alloc.h"
#include "base/fatbin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CUBIN_MAGIC "\x7f" "ELF"
#define WRAPPER_MAGIC 0x466243b1

enum { OWN_ARCHITECTURE = 89 };

struct wrapper {
	uint32_t magic;
	uint32_t version;
	const void *data;
	const void *more;
};

static CUresult image_fail(struct image *image, CUresult code, const char *format, ...)
	printf_like(3, 4);

static CUresult image_fail(struct image *image, CUresult code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(image->why, sizeof(image->why), format, args);
	va_end(args);
	return code;
}

static CUresult image_fail_damaged(struct image *image, const char *what)
{
	return image_fail(image, CUDA_ERROR_INVALID_IMAGE, "the fat binary is damaged: %s", what);
}

static CUresult image_fail_fatbin(struct image *image, enum fatbin_result result, const char *why)
{
	return image_fail(image, result == FATBIN_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
		: result == FATBIN_NO_ZSTD ? CUDA_ERROR_JIT_COMPILER_NOT_FOUND
		: CUDA_ERROR_INVALID_IMAGE, "%s", why);
}

/* Whether PTX for one architecture is better for the CPU device than PTX for another, where 0
 * stands for no PTX: the newest that a GPU of its architecture could run, else the oldest. */
static bool image_is_better(uint32_t one, uint32_t other)
{
	if (other == 0 || (one <= OWN_ARCHITECTURE && other > OWN_ARCHITECTURE)) {
		return true;
	}
	return one <= OWN_ARCHITECTURE ? one > other : other > OWN_ARCHITECTURE && one < other;
}

/* Walk the entries to the best PTX. */
static CUresult image_find_entry(
	struct image *out, struct fatbin *fatbin, struct fatbin_entry *best)
{
	unsigned others = 0;
	struct fatbin_entry entry;
	enum fatbin_result result;
	memset(best, 0, sizeof(*best));
	while ((result = fatbin_next(fatbin, &entry)) == FATBIN_OK) {
		if (entry.kind != FATBIN_PTX) {
			others++;
		} else if (image_is_better(entry.arch, best->arch)) {
			*best = entry;
		}
	}
	if (result != FATBIN_END) {
		return image_fail_fatbin(out, result, fatbin->why);
	}
	return best->data ? CUDA_SUCCESS : image_fail(out, CUDA_ERROR_NO_BINARY_FOR_GPU,
		"the CPU device takes PTX; this fat binary has none, only code for GPUs (%u "
		"entries)", others);
}

static CUresult image_open_fatbin(struct image *out, const void *data, size_t size)
{
	struct fatbin fatbin;
	struct fatbin_entry entry;
	enum fatbin_result opened = fatbin_open(&fatbin, data, size);
	if (opened != FATBIN_OK) {
		return image_fail_fatbin(out, opened, fatbin.why);
	}
	CUresult result = image_find_entry(out, &fatbin, &entry);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (entry.has_lz4 || entry.has_zstd) {
		size_t len;
		enum fatbin_result decoded = fatbin_decode(&fatbin, &entry, &out->owned, &len);
		if (decoded != FATBIN_OK) {
			return image_fail_fatbin(out, decoded, fatbin.why);
		}
		out->text = out->owned;
		out->size = strlen(out->owned);
		return CUDA_SUCCESS;
	}
	out->text = (const char *)entry.data; /* which image_find_entry has found */
	out->size = out->text ? strnlen(out->text, entry.size) : 0;
	return CUDA_SUCCESS;
}

static CUresult image_open_text(struct image *out, const char *text, size_t size)
{
	unsigned char first = size > 0 ? (unsigned char)*text : 0;
	if ((first >= ' ' && first < 0x7f) || (first >= '\t' && first <= '\r')) {
		out->text = text;
		out->size = size == IMAGE_UNKNOWN_SIZE ? strlen(text) : strnlen(text, size);
		return CUDA_SUCCESS;
	}
	return image_fail(out, CUDA_ERROR_INVALID_IMAGE, first == '\0' ? "the image is empty"
		: "the image is neither PTX nor a fat binary");
}

/* Whether the image begins so; it may end after any zero byte. */
static bool image_begins(const char *image, size_t size, const void *magic)
{
	return size >= 4 && strncmp(image, magic, 4) == 0;
}

static CUresult image_open_wrapper(struct image *out, const void *data, size_t size)
{
	struct wrapper in_program;
	if (size != IMAGE_UNKNOWN_SIZE) {
		return image_fail(out, CUDA_ERROR_INVALID_IMAGE,
			"the image holds a pointer to another one, which is outside of its %zu "
			"bytes", size);
	}
	memcpy(&in_program, data, sizeof(in_program));
	if (!in_program.data || !fatbin_is(in_program.data, IMAGE_UNKNOWN_SIZE)) {
		return image_fail_damaged(out, "its wrapper points at something else");
	}
	return image_open_fatbin(out, in_program.data, IMAGE_UNKNOWN_SIZE);
}

CUresult image_open(struct image *out, const void *data, size_t size)
{
	static const uint32_t wrapper = WRAPPER_MAGIC;
	memset(out, 0, sizeof(*out));
	if (image_begins(data, size, CUBIN_MAGIC)) {
		return image_fail(out, CUDA_ERROR_NO_BINARY_FOR_GPU,
			"the CPU device takes PTX; this is a cubin, code for a GPU");
	}
	if (fatbin_is(data, size)) {
		return image_open_fatbin(out, data, size);
	}
	return image_begins(data, size, &wrapper) ? image_open_wrapper(out, data, size)
		: image_open_text(out, data, size);
}

void image_close(struct image *image)
{
	mem_free(image->owned);
	image->owned = NULL;
}
