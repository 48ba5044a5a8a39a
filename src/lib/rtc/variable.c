/* SPDX-License-Identifier: MIT */
/*
 * The variables of an image.
 *
 * Image and symbol say where each lies, how big it is and what it is called, but not its C++ type.
 * As for a kernel's parameters, the type comes from a name that NVRTC mangles for us (job.c).  It
 * is taken only if it agrees with the size.
 */
#include "base/common.h"

#include "lib/rtc/rtc_image.h"

#include "base/alloc.h"
#include "lib/rtc/demangle.h"

#include <string.h>

/* The namespace that NVRTC puts around what only one file can see. */
static const char internal[] = "_INTERNAL_";

/* What a compile added; see job.c. */
static const char probe_symbol[] = "_Z11kudzu_probe";

/* "ns::table" of "_ZN2ns5tableE"; the symbol itself where it cannot be read. */
static char *variable_name(const char *symbol)
{
	struct arena arena = ARENA_INIT;
	struct demangled demangled;
	char *name = NULL;
	if (demangle(&demangled, symbol, &arena)) {
		const char *text = demangled.name ? demangled.name : symbol;
		const char *rest = strncmp(text, internal, sizeof(internal) - 1) == 0
			? strstr(text, "::") : NULL;
		name = mem_strdup(rest ? rest + 2 : text);
	}
	arena_free(&arena);
	return name;
}

bool image_add_variable(struct rtc_image *image, const char *symbol, size_t symbol_len,
	const struct rtc_variable *facts)
{
	struct rtc_variable variable = {
		.lowered = mem_strndup(symbol, symbol_len),
		.size = facts->size,
		.align = facts->align,
		.space = facts->space,
		.element_size = -1,
	};
	struct rtc_variable *grown = NULL;
	if (strncmp(symbol, probe_symbol, sizeof(probe_symbol) - 1) == 0) {
		mem_free(variable.lowered);
		return true;
	}
	variable.name = variable.lowered ? variable_name(variable.lowered) : NULL;
	if (variable.name) {
		grown = mem_realloc(image->variables,
			(image->variable_count + 1) * sizeof(*grown));
	}
	if (!grown) {
		image_free_variable(&variable);
		return false;
	}
	image->variables = grown;
	grown[image->variable_count++] = variable;
	return true;
}

/* The variable of that symbol or name. */
static struct rtc_variable *variable_find(const struct rtc_image *image, const char *name)
{
	for (size_t i = 0; i < image->variable_count; i++) {
		struct rtc_variable *variable = &image->variables[i];
		if (strcmp(variable->lowered, name) == 0
		    || image_names_equal(name, variable->name)) {
			return variable;
		}
	}
	return NULL;
}

bool image_type_variable(struct rtc_image *image, const char *name, const char *probe)
{
	struct rtc_variable *variable = variable_find(image, name);
	struct rtc_param type;
	if (!variable || variable->type) {
		return true;
	}
	if (!signature_read_type(&type, probe)) {
		return false;
	}
	if (type.size > 0 && variable->size % type.size != 0) {
		mem_free(type.type);
		return true;
	}
	variable->type = type.type;
	variable->kind = type.kind;
	variable->element_size = type.size;
	return true;
}

/* The only variable that a name with some namespaces left out fits. */
static const struct rtc_variable *variable_find_unqualified(const struct rtc_image *image,
	const char *name)
{
	const struct rtc_variable *found = NULL;
	for (size_t i = 0; i < image->variable_count; i++) {
		if (image_name_fits(name, image->variables[i].name)) {
			if (found) {
				return NULL;
			}
			found = &image->variables[i];
		}
	}
	return found;
}

const struct rtc_variable *rtc_image_variable(const struct rtc_image *image, const char *name)
{
	const struct rtc_variable *variable = variable_find(image, name);
	return variable ? variable : variable_find_unqualified(image, name);
}
