/* SPDX-License-Identifier: MIT */
/*
 * Images that come from elsewhere, as bytes.
 *
 * The first bytes tell PTX, a cubin and LTO code apart.  image_ptx.c and image_cubin.c then read
 * which kernels and variables there are; LTO code does not say.  A linker drops the types of
 * parameters, so a linked image takes them from its inputs.
 */
#include "base/common.h"

#include "lib/rtc/rtc_image.h"

#include "base/alloc.h"

#include <string.h>

kz_status rtc_image_inspect(struct rtc_image *out, const void *data, size_t size, kz_error *err)
{
	kz_status st = KZ_OK;
	*out = (struct rtc_image){0};
	if (!data || size == 0) {
		return error_set(err, KZ_INVALID, "expected PTX or a cubin, found no data");
	}
	char *copy = size < SIZE_MAX ? mem_alloc(size + 1) : NULL;
	if (!copy) {
		return error_no_memory(err);
	}
	mem_expect(copy, size);
	memcpy(copy, data, size);
	copy[size] = '\0';
	out->data = copy;
	out->is_ptx = image_is_ptx(copy);
	out->size = out->is_ptx ? strlen(copy) : size;
	out->is_lto = !out->is_ptx && size >= 4 && memcmp(copy, "\xed\x43\x4e\x7f", 4) == 0;
	if (out->is_ptx) {
		st = image_read_ptx(out, copy, err);
	} else if (size >= 4 && memcmp(copy, "\177ELF", 4) == 0) {
		st = image_read_cubin(out, err);
	} else if (!out->is_lto) {
		st = error_set(err, KZ_BAD_IMAGE,
			"expected PTX (text that begins with .version) or a cubin, found neither");
	}
	if (st) {
		rtc_image_free(out);
	}
	return st;
}

/* Take over kinds and types, if sizes agree. */
static bool image_adopt_params(struct rtc_kernel *kernel, const struct rtc_kernel *from)
{
	bool same = kernel->params_known && from->params_known
		&& kernel->param_count == from->param_count;
	for (size_t i = 0; same && i < kernel->param_count; i++) {
		same = kernel->params[i].size == from->params[i].size;
	}
	for (size_t i = 0; same && i < kernel->param_count; i++) {
		struct rtc_param *param = &kernel->params[i];
		if (param->type || !from->params[i].type) {
			continue;
		}
		param->type = mem_strdup(from->params[i].type);
		param->kind = from->params[i].kind;
		if (!param->type) {
			return false;
		}
	}
	return true;
}

bool rtc_image_adopt(struct rtc_image *image, const struct rtc_image *from)
{
	bool ok = true;
	for (size_t i = 0; i < from->kernel_count && ok; i++) {
		struct rtc_kernel *kernel = image_by_symbol(image, from->kernels[i].lowered);
		ok = !kernel || image_adopt_params(kernel, &from->kernels[i]);
	}
	return ok;
}
