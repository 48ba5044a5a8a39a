/* SPDX-License-Identifier: MIT */
/*
 * An image as bytes, and back.
 *
 * A mark with the version of the format, then the fields of struct rtc_image in order.  A number is
 * 8 bytes, lowest first.  A text is its length + 1, its bytes and a zero; one that is NULL is the
 * number 0.  An image that is read keeps the bytes and points to the texts in them; its kernels and
 * their parameters are one allocation, its variables another.
 *
 * The reader trusts nothing: it compares each length with what is left, and each count with the
 * least that so many items take.  Whether the bytes are those that were written is for who keeps
 * them to know, by a checksum.
 */
#include "base/common.h"

#include "lib/cache/pack.h"

#include "base/alloc.h"

#include <endian.h>
#include <string.h>

/* Change it with the format. */
static const char pack_mark[8] = {'k', 'z', 'i', 'm', 'a', 'g', 'e', '9'};

/* A new field must be packed, too. */
_Static_assert(sizeof(struct rtc_image) == 112, "pack the new field of struct rtc_image");
_Static_assert(sizeof(struct rtc_kernel) == 40, "pack the new field of struct rtc_kernel");
_Static_assert(sizeof(struct rtc_variable) == 56, "pack the new field of struct rtc_variable");
_Static_assert(sizeof(struct rtc_param) == 32, "pack the new field of struct rtc_param");

/* The fewest bytes of a parameter, a kernel and a variable: as many numbers, and two texts. */
enum { PARAM_SIZE = 4 * 8, KERNEL_SIZE = 4 * 8 + 2, VARIABLE_SIZE = 8 * 8 + 2 };

static void pack_number(struct str *out, uint64_t value)
{
	uint64_t bytes = htole64(value);
	str_addn(out, (const char *)&bytes, sizeof(bytes));
}

static void pack_text(struct str *out, const char *text)
{
	pack_number(out, text ? strlen(text) + 1 : 0);
	str_addn(out, text, text ? strlen(text) + 1 : 0);
}

static void pack_kernels(struct str *out, const struct rtc_image *image)
{
	uint64_t params = 0;
	for (size_t i = 0; i < image->kernel_count; i++) {
		params += image->kernels[i].param_count;
	}
	pack_number(out, image->kernel_count);
	pack_number(out, params);
	for (size_t i = 0; i < image->kernel_count; i++) {
		const struct rtc_kernel *kernel = &image->kernels[i];
		pack_text(out, kernel->name);
		pack_text(out, kernel->lowered);
		pack_number(out, kernel->params_known);
		pack_number(out, kernel->param_count);
		for (size_t k = 0; k < kernel->param_count; k++) {
			pack_number(out, (uint64_t)kernel->params[k].kind);
			pack_number(out, (uint64_t)kernel->params[k].size);
			pack_number(out, (uint64_t)kernel->params[k].offset);
			pack_text(out, kernel->params[k].type);
		}
	}
}

void pack_image(struct str *out, const struct rtc_image *image)
{
	str_addn(out, pack_mark, sizeof(pack_mark));
	pack_number(out, image->size); /* so the data is 16 bytes from the start, as machine code
	                                  needs */
	str_addn(out, image->data, image->size);
	str_addc(out, '\0');
	pack_number(out, image->is_ptx);
	pack_number(out, image->is_lto);
	pack_text(out, image->arch);
	pack_text(out, image->log);
	pack_text(out, image->templates);
	pack_text(out, image->aliases);
	pack_kernels(out, image);
	pack_number(out, image->variable_count);
	for (size_t i = 0; i < image->variable_count; i++) {
		const struct rtc_variable *variable = &image->variables[i];
		pack_text(out, variable->name);
		pack_text(out, variable->lowered);
		pack_text(out, variable->type);
		pack_number(out, (uint64_t)variable->size);
		pack_number(out, (uint64_t)variable->align);
		pack_number(out, (uint64_t)variable->space);
		pack_number(out, (uint64_t)variable->kind);
		pack_number(out, (uint64_t)variable->element_size);
	}
}

/* What is left to read.  Once something was wrong, all that follows is nothing. */
struct unpacker {
	char *at;
	size_t left;
	bool bad;
	bool no_memory;
};

/* The next bytes; NULL if there are fewer. */
static char *pack_read_bytes(struct unpacker *in, uint64_t size)
{
	in->bad |= size > in->left;
	if (in->bad) {
		return NULL;
	}
	char *bytes = in->at;
	in->at += size;
	in->left -= (size_t)size;
	return bytes;
}

static uint64_t pack_read_number(struct unpacker *in, uint64_t max)
{
	uint64_t value = 0;
	const char *bytes = pack_read_bytes(in, sizeof(value));
	if (bytes) {
		memcpy(&value, bytes, sizeof(value));
		value = le64toh(value);
	}
	in->bad |= value > max;
	return in->bad ? 0 : value;
}

/* A size or an offset, which is -1 where it is unknown. */
static int64_t pack_read_extent(struct unpacker *in)
{
	int64_t value = (int64_t)pack_read_number(in, UINT64_MAX);
	in->bad |= value < -1;
	return value;
}

static char *pack_read_text(struct unpacker *in, bool may_be_absent)
{
	uint64_t size = pack_read_number(in, in->left);
	char *text = size > 0 ? pack_read_bytes(in, size) : NULL;
	in->bad |= (size == 0 && !may_be_absent) || (text && strnlen(text, size) != size - 1);
	return in->bad ? NULL : text;
}

/* Zeroed memory for so many bytes. */
static void *pack_alloc(struct unpacker *in, size_t size)
{
	void *memory = size > 0 && !in->bad ? mem_zalloc(1, size) : NULL;
	in->no_memory |= size > 0 && !in->bad && !memory;
	in->bad |= in->no_memory;
	return memory;
}

static void pack_read_kernels(struct unpacker *in, struct rtc_image *image)
{
	size_t count = (size_t)pack_read_number(in, in->left / KERNEL_SIZE);
	size_t param_count = (size_t)pack_read_number(in, in->left / PARAM_SIZE);
	image->kernels = pack_alloc(in, count * sizeof(struct rtc_kernel)
		+ param_count * sizeof(struct rtc_param));
	if (!image->kernels) {
		return;
	}
	struct rtc_param *params = (struct rtc_param *)(image->kernels + count);
	for (; image->kernel_count < count && !in->bad; image->kernel_count++) {
		struct rtc_kernel *kernel = &image->kernels[image->kernel_count];
		kernel->name = pack_read_text(in, false);
		kernel->lowered = pack_read_text(in, false);
		kernel->params_known = pack_read_number(in, 1);
		kernel->param_count = (size_t)pack_read_number(in, param_count);
		kernel->params = kernel->param_count ? params : NULL;
		param_count -= kernel->param_count;
		for (size_t i = 0; i < kernel->param_count && !in->bad; i++, params++) {
			params->kind = (enum param_kind)pack_read_number(in, PARAM_ENUM);
			params->size = pack_read_extent(in);
			params->offset = pack_read_extent(in);
			params->type = pack_read_text(in, true);
		}
	}
	in->bad |= param_count > 0;
}

static void pack_read_variables(struct unpacker *in, struct rtc_image *image)
{
	size_t count = (size_t)pack_read_number(in, in->left / VARIABLE_SIZE);
	image->variables = pack_alloc(in, count * sizeof(*image->variables));
	for (; image->variable_count < count && !in->bad; image->variable_count++) {
		struct rtc_variable *variable = &image->variables[image->variable_count];
		variable->name = pack_read_text(in, false);
		variable->lowered = pack_read_text(in, false);
		variable->type = pack_read_text(in, true);
		variable->size = pack_read_extent(in);
		variable->align = pack_read_extent(in);
		variable->space = (enum variable_space)pack_read_number(in, VARIABLE_MANAGED);
		variable->kind = (enum param_kind)pack_read_number(in, PARAM_ENUM);
		variable->element_size = pack_read_extent(in);
	}
}

kz_status unpack_image_take(struct rtc_image *out, char *data, size_t size, kz_error *err)
{
	struct unpacker in = {.at = data, .left = size};
	*out = (struct rtc_image){.packed = data};
	const char *mark = pack_read_bytes(&in, sizeof(pack_mark));
	if (!mark || memcmp(mark, pack_mark, sizeof(pack_mark)) != 0) {
		rtc_image_free(out);
		return error_set(err, KZ_BAD_IMAGE, "expected a packed image of this version");
	}
	out->size = (size_t)pack_read_number(&in, in.left);
	out->data = pack_read_bytes(&in, out->size);
	const char *end = pack_read_bytes(&in, 1);
	in.bad |= !end || *end;
	out->is_ptx = pack_read_number(&in, 1);
	out->is_lto = pack_read_number(&in, !out->is_ptx);
	const char *arch = pack_read_text(&in, false);
	in.bad |= !arch || strlen(arch) >= sizeof(out->arch);
	strcpy(out->arch, in.bad ? "" : arch);
	out->log = pack_read_text(&in, true);
	out->templates = pack_read_text(&in, true);
	out->aliases = pack_read_text(&in, true);
	pack_read_kernels(&in, out);
	pack_read_variables(&in, out);
	if (!in.bad && in.left == 0) {
		return KZ_OK;
	}
	rtc_image_free(out);
	return in.no_memory ? error_no_memory(err)
		: error_set(err, KZ_BAD_IMAGE, "the packed image is damaged");
}

kz_status unpack_image(struct rtc_image *out, const void *data, size_t size, kz_error *err)
{
	char *copy = mem_alloc(size);
	if (!copy) {
		*out = (struct rtc_image){0};
		return error_no_memory(err);
	}
	memcpy(copy, data, size);
	return unpack_image_take(out, copy, size, err);
}
