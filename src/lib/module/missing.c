/* SPDX-License-Identifier: MIT */
/*
 * The error for a kernel or a variable that a module does not have.
 *
 * It lists the names that the module has, with the nearest of them, and says why the wanted one may
 * be missing.
 */
#include "base/common.h"

#include "base/str.h"
#include "lib/module/module.h"

#include <string.h>

enum { LIST_MAX = 200 }; /* bytes of names; a message has room for little more */

/* Kernels */

/* Whether a name, "f" or "f<float>", is of a template in the source.  A template has code only for
 * the instances that the compiler was told of. */
static bool missing_is_template(const struct kz_image *image, const char *name)
{
	name += strncmp(name, "::", 2) == 0 ? 2 : 0;
	const char *line = image->rtc.templates ? image->rtc.templates : "";
	for (size_t len; *line; line += len + 1) {
		len = strcspn(line, "\n");
		if (strncmp(name, line, len) == 0) {
			const char *end = name + len + strspn(name + len, " \t\n");
			if (*end == '<' || *end == '\0') {
				return true;
			}
		}
	}
	return false;
}

kz_status missing_kernel(const struct kz_image *image, const char *name, kz_error *err)
{
	const struct rtc_image *rtc = &image->rtc;
	struct str list = STR_INIT;
	bool mine = error_is_clean(err);
	const bool is_template = missing_is_template(image, name);
	const bool is_instance = is_template && strchr(name, '<');
	/* "doublify, halve (did you mean 'doublify'?)" */
	for (size_t i = 0; i < rtc->kernel_count && list.len < LIST_MAX; i++) {
		str_addf(&list, "%s%s", i ? ", " : "", rtc->kernels[i].name);
	}
	/* Another instance is not what was meant. */
	const char *nearest = is_instance ? NULL : rtc_image_nearest(rtc, name);
	if (nearest && rtc->kernel_count == 1) {
		str_add(&list, " (did you mean it?)");
	} else if (nearest) {
		str_addf(&list, " (did you mean '%s'?)", nearest);
	}
	if (rtc->kernel_count == 0) {
		error_set(err, KZ_NOT_FOUND, "no kernel '%s'; this module has no kernels", name);
	} else {
		error_set(err, KZ_NOT_FOUND, "no kernel '%s'; this module has: %s", name,
			list.data ? list.data : "?");
	}
	if (mine && is_template) {
		error_add_hint(err, is_instance
			? "it is an instance of a template: list its name in "
			"kz_compile_options.instances"
			: "it is a template: list an instance of it, as in \"f<float>\", in "
			"kz_compile_options.instances");
	}
	str_free(&list);
	return KZ_NOT_FOUND;
}

kz_status missing_variable(const struct kz_image *image, const char *name, kz_error *err)
{
	const struct rtc_image *rtc = &image->rtc;
	struct str list = STR_INIT;
	bool mine = error_is_clean(err);
	const char *nearest = NULL;
	size_t limit = strlen(name) / 3 + 1;
	for (size_t i = 0; i < rtc->variable_count; i++) {
		const char *other = rtc->variables[i].name;
		size_t distance = str_distance(name, strlen(name), other, strlen(other));
		if (distance < limit) {
			limit = distance;
			nearest = other;
		}
		if (list.len < LIST_MAX) {
			str_addf(&list, "%s%s", i ? ", " : "", other);
		}
	}
	if (nearest) {
		str_addf(&list, " (did you mean '%s'?)", nearest);
	}
	if (list.len) {
		error_set(err, KZ_NOT_FOUND, "no variable '%s'; this module has: %s", name,
			list.data);
	} else {
		error_set(err, KZ_NOT_FOUND, "no variable '%s' in this module", name);
	}
	if (mine) {
		error_add_hint(err, "one that no kernel uses may have been left out by the "
			"compiler");
	}
	str_free(&list);
	return KZ_NOT_FOUND;
}
