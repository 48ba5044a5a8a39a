/* SPDX-License-Identifier: MIT */
/*
 * What a module says when it is asked for a kernel or a variable that it does not have: the names
 * that there are, the nearest of them, and why the one that is meant may be missing.
 */
#include "base/common.h"

#include "base/str.h"
#include "module.h"

#include <ctype.h>
#include <string.h>

enum { LIST_MAX = 200 }; /* bytes of names; a message has room for little more */

/* Kernels */

/* Whether a name, "f" or "f<float>", is of a template of the source.  A template has code only for
 * the instances that the compiler was told of. */
static bool is_template(const struct kz_module *mod, const char *name)
{
	name += strncmp(name, "::", 2) == 0 ? 2 : 0;
	for (size_t i = 0; i < mod->image->source.count; i++) {
		const struct scan_kernel *kernel = &mod->image->source.kernels[i];
		size_t len = strlen(kernel->name);
		if (kernel->is_template && strncmp(name, kernel->name, len) == 0) {
			const char *end = name + len + strspn(name + len, " \t\n");
			if (*end == '<' || *end == '\0') {
				return true;
			}
		}
	}
	return false;
}

/* "doublify, halve (did you mean 'doublify'?)" */
static void list_kernels(struct str *list, const struct kz_module *mod, const char *name)
{
	const char *nearest = rtc_image_nearest(&mod->image->rtc, name);
	for (size_t i = 0; i < mod->image->rtc.kernel_count && list->len < LIST_MAX; i++) {
		str_addf(list, "%s%s", i ? ", " : "", mod->image->rtc.kernels[i].name);
	}
	if (nearest && mod->image->rtc.kernel_count == 1) {
		str_add(list, " (did you mean it?)");
	} else if (nearest) {
		str_addf(list, " (did you mean '%s'?)", nearest);
	}
}

kz_status missing_kernel(const struct kz_module *mod, const char *name, kz_error *err)
{
	struct str list = STR_INIT;
	bool mine = error_is_clean(err);
	if (mod->image->rtc.kernel_count == 0) {
		error_set(err, KZ_NOT_FOUND, "no kernel '%s'; this module has no kernels", name);
	} else {
		list_kernels(&list, mod, name);
		error_set(err, KZ_NOT_FOUND, "no kernel '%s'; this module has: %s", name,
			list.data ? list.data : "?");
	}
	if (mine && is_template(mod, name)) {
		error_add_hint(err, "it is a template: list the instance, \"f<float>\", in "
			"kz_compile_options.instances");
	}
	str_free(&list);
	return KZ_NOT_FOUND;
}

/* Variables */

static bool word_is(const char *word, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(word, text, len) == 0;
}

/*
 * The name that a line of PTX declares as a variable of the module; NULL if it declares none.
 * NVRTC writes one declaration per line: `.visible .global .align 4 .b8 table[16] = {...};`, and
 * what is at the beginning of a line with these words is never inside a function.
 */
static const char *declared_name(const char *line, size_t *len)
{
	bool is_variable = false;
	for (;;) {
		line += strspn(line, " \t");
		*len = strcspn(line, " \t\r\n[;=");
		if (*line == '.') {
			if (word_is(line, *len, ".param")) {
				return NULL;
			}
			is_variable |= word_is(line, *len, ".global")
				|| word_is(line, *len, ".const");
		} else if (!isdigit((unsigned char)*line)) {
			return is_variable && *len > 0 ? line : NULL;
		}
		line += *len;
	}
}

static void list_variables(struct str *list, const char *ptx)
{
	for (const char *line = ptx; *line && list->len < LIST_MAX;) {
		size_t len;
		const char *name = declared_name(line, &len);
		if (name) {
			str_add(list, list->len ? ", " : "");
			str_addn(list, name, len);
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
}

kz_status missing_variable(const struct kz_module *mod, const char *name, kz_error *err)
{
	struct str list = STR_INIT;
	bool mine = error_is_clean(err);
	if (mod->image->rtc.is_ptx) {
		list_variables(&list, mod->image->rtc.data);
	}
	if (list.len) {
		error_set(err, KZ_NOT_FOUND, "no variable '%s'; this module has: %s", name,
			list.data);
	} else {
		error_set(err, KZ_NOT_FOUND, "no variable '%s' in this module", name);
	}
	if (mine) {
		error_add_hint(err, "a variable in a namespace goes by its symbol; one that no "
			"kernel uses may have been left out by the compiler");
	}
	str_free(&list);
	return KZ_NOT_FOUND;
}
