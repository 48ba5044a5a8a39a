/* SPDX-License-Identifier: MIT */
#ifndef IMAGE_TEXT_H
#define IMAGE_TEXT_H

/*
 * The kernels of an image as one line of text, for tests to compare:
 *	k(i4@0 int, u8@8), l?
 * A parameter is KINDsize@offset and its type, where KIND is u unknown, b bool, i int, n unsigned,
 * f float, p pointer, s struct, e enum.  A question mark stands for parameters that are not known.
 */
#include "base/str.h"
#include "lib/rtc/compile.h"

static inline char *image_text(const struct rtc_image *image)
{
	struct str text = STR_INIT;
	for (size_t i = 0; i < image->kernel_count; i++) {
		const struct rtc_kernel *kernel = &image->kernels[i];
		bool known = kernel->params_known;
		str_addf(&text, "%s%s%s", i ? ", " : "", kernel->name, known ? "(" : "?");
		for (size_t k = 0; k < kernel->param_count; k++) {
			const struct rtc_param *param = &kernel->params[k];
			str_addf(&text, "%s%c%d@%d%s%s", k ? ", " : "", "ubinfpse"[param->kind],
				(int)param->size, (int)param->offset, param->type ? " " : "",
				param->type ? param->type : "");
		}
		str_add(&text, known ? ")" : "");
	}
	return str_take(&text);
}

#endif
