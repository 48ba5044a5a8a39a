/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as an image, and as inputs of the linker.  The first byte says which.
 */
#include "base/common.h"

#include "cpu/ptx/check.h"
#include "cpu/ptx/ptx_image.h"
#include "cpu/ptx/ptx_link.h"
#include "base/lz4.h"
#include "cpu/ptx/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { AS_IT_IS, AS_AN_ENTRY, LINKED, LINKED_IN_TWO, LZ4_BLOCK, WAYS };

static bool is_module(const char *text, size_t size)
{
	struct ptx_module module;
	struct ptx_diag diag = {.line = 0};
	bool ok = parse_module(&module, text, size, &diag);
	if (ok) {
		ok = check_module(&module, &diag);
		parse_free(&module);
	}
	return ok;
}

static void open_image(const uint8_t *data, size_t size)
{
	struct image image;
	CUresult result = image_open(&image, data, size);
	assert(result == CUDA_SUCCESS ? image.size <= 1 << 30 : image.why[0] != '\0');
	if (result == CUDA_SUCCESS && image.size < 100000) {
		is_module(image.text, image.size);
	}
	image_close(&image);
}

/* The bytes as a fat binary of one entry: flags, how long the text is said to be, the rest. */
static void open_entry(const uint8_t *data, size_t size)
{
	struct {
		uint32_t magic;
		uint16_t version, header_size;
		uint64_t size;
		uint16_t kind, entry_version;
		uint32_t entry_header_size;
		uint64_t entry_size;
		uint32_t compressed_size, options;
		uint16_t minor, major;
		uint32_t architecture, name_offset, name_size;
		uint64_t flags, reserved, text_size;
	} head;
	if (size < 4) {
		return;
	}
	size_t rest = size - 4;
	memset(&head, 0, sizeof(head));
	head.magic = 0xba55ed50;
	head.version = 1;
	head.header_size = 16;
	head.size = 64 + rest;
	head.kind = data[0] & 4 ? 2 : 1;
	head.entry_header_size = 64;
	head.entry_size = rest;
	head.compressed_size = (uint32_t)(data[0] & 8 ? rest / 2 : rest);
	head.architecture = data[1];
	head.flags = data[0] & 1 ? 0x2000 : data[0] & 2 ? 0x8000 : 0;
	head.text_size = data[2] | (uint64_t)data[3] << 8;
	uint8_t *image = malloc(sizeof(head) + rest);
	memcpy(image, &head, sizeof(head));
	memcpy(image + sizeof(head), data + 4, rest);
	open_image(image, sizeof(head) + rest);
	free(image);
}

static bool add(struct linker *linker, const char *text, size_t size, struct str *errors)
{
	struct ptx_diag diag = {.line = 0};
	size_t before = errors->len;
	enum link_status status = linker_add(linker, text, size, NULL, &diag, errors);
	assert(status != LINK_BAD_PTX || diag.line > 0);
	assert(status != LINK_BAD_SYMBOL || errors->len > before);
	return status == LINK_OK;
}

/* What is a module by itself is one, too, when it was linked with nothing. */
static void link_texts(const char *text, size_t size, bool in_two)
{
	struct linker *linker = linker_create();
	struct str errors = STR_INIT;
	struct str out = STR_INIT;
	const char *cut = in_two ? memchr(text, '\x1f', size) : NULL;
	size_t first = cut ? (size_t)(cut - text) : size;
	bool added = add(linker, text, first, &errors);
	if (cut) {
		add(linker, cut + 1, size - first - 1, &errors);
	}
	enum link_status status = linker_finish(linker, &out, &errors);
	assert(status == LINK_OK || errors.len > 0);
	if (!cut && added && status == LINK_OK && is_module(text, size)) {
		assert(is_module(out.data, out.len));
	}
	str_free(&out);
	str_free(&errors);
	linker_release(linker);
}

static void decode_block(const uint8_t *data, size_t size)
{
	size_t room = size > 0 ? data[0] * 16u : 0;
	uint8_t *out = malloc(room + 1);
	if (size > 0) {
		lz4_decode(out, room, data + 1, size - 1);
	}
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0) {
		return 0;
	}
	switch (data[0] % WAYS) {
	case AS_IT_IS:
		open_image(data + 1, size - 1);
		break;
	case AS_AN_ENTRY:
		open_entry(data + 1, size - 1);
		break;
	case LINKED:
	case LINKED_IN_TWO:
		link_texts((const char *)data + 1, size - 1, data[0] % WAYS == LINKED_IN_TWO);
		break;
	default:
		decode_block(data + 1, size - 1);
		break;
	}
	return 0;
}
