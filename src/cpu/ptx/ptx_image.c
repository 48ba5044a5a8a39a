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

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WRAPPER_MAGIC "\xb1" "CbF" /* 0x466243b1 */

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

/* Add what an entry has to a list: "sm_75, lto_80". */
static void image_list_entry(char *list, size_t size, const struct fatbin_entry *entry)
{
	const size_t len = strlen(list);
	snprintf(list + len, size - len, "%s%s_%u", len > 0 ? ", " : "",
		entry->kind == FATBIN_CUBIN ? "sm" : entry->kind == FATBIN_LTO ? "lto" : "unknown",
		entry->arch);
}

/* Walk the entries to the best PTX. */
static CUresult image_find_entry(
	struct image *out, struct fatbin *fatbin, struct fatbin_entry *best)
{
	char others[128] = "";
	struct fatbin_entry entry;
	enum fatbin_result result;
	memset(best, 0, sizeof(*best));
	while ((result = fatbin_next(fatbin, &entry)) == FATBIN_OK) {
		if (entry.kind != FATBIN_PTX) {
			image_list_entry(others, sizeof(others), &entry);
		} else if (image_is_better(entry.arch, best->arch)) {
			*best = entry;
		}
	}
	if (result != FATBIN_END) {
		return image_fail_fatbin(out, result, fatbin->why);
	}
	return best->data ? CUDA_SUCCESS : image_fail(out, CUDA_ERROR_NO_BINARY_FOR_GPU,
		"the CPU device takes PTX; this fat binary has none%s%s: nvcc -arch=compute_75 "
		"makes it", others[0] ? ", only " : "", others);
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

/* Whether the image begins so; it may end after any zero byte. */
static bool image_begins(const char *image, size_t size, const char *magic)
{
	const size_t len = strlen(magic);
	return size >= len && strncmp(image, magic, len) == 0;
}

/* Whether an ELF file, of which a byte may be the last if it is zero, is not for a GPU, whose files
 * have another number for their ABI. */
static bool image_is_of_host(const char *elf, size_t size)
{
	return size > EI_OSABI && strnlen(elf, EI_OSABI) == EI_OSABI
	       && (elf[EI_OSABI] == ELFOSABI_NONE || elf[EI_OSABI] == ELFOSABI_GNU);
}

/* What an image is that the device does not take; NULL: perhaps PTX. */
static const char *image_refuse(const char *image, size_t size)
{
	if (image_begins(image, size, ELFMAG)) {
		return image_is_of_host(image, size)
			? "this is an object or a program of the host, for cuLinkAddData or "
			  "nvJitLink"
			: "this is a cubin, code for a GPU";
	}
	if (image_begins(image, size, "!<arch>\n")) {
		return "this is a library of objects of the host, for cuLinkAddData or nvJitLink";
	}
	return image_begins(image, size, "\355CN\177")
		? "this is LTO code, of which nvJitLink makes PTX (-lto -ptx)" : NULL;
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
	memset(out, 0, sizeof(*out));
	const char *refusal = image_refuse(data, size);
	if (refusal) {
		return image_fail(out, CUDA_ERROR_NO_BINARY_FOR_GPU,
			"the CPU device takes PTX; %s", refusal);
	}
	if (fatbin_is(data, size)) {
		return image_open_fatbin(out, data, size);
	}
	return image_begins(data, size, WRAPPER_MAGIC) ? image_open_wrapper(out, data, size)
		: image_open_text(out, data, size);
}

void image_close(struct image *image)
{
	mem_free(image->owned);
	image->owned = NULL;
}
