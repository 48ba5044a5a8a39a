/* SPDX-License-Identifier: MIT */
/*
 * An image and its kernels: what the image itself says (names, sizes, offsets) is merged with what
 * mangled names say (types).  Each is checked against the other; where they disagree the image is
 * right, and the type stays unknown.
 */
#include "base/common.h"

#include "lib/rtc/rtc_image.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

static void image_free_kernel(struct rtc_kernel *kernel)
{
	signature_free_params(kernel->params, kernel->param_count);
	mem_free(kernel->name);
	mem_free(kernel->lowered);
}

void image_free_variable(struct rtc_variable *variable)
{
	mem_free(variable->name);
	mem_free(variable->lowered);
	mem_free(variable->type);
}

static void image_free_texts(struct rtc_image *image)
{
	for (size_t i = 0; i < image->kernel_count; i++) {
		image_free_kernel(&image->kernels[i]);
	}
	for (size_t i = 0; i < image->variable_count; i++) {
		image_free_variable(&image->variables[i]);
	}
	mem_free(image->data);
	mem_free(image->log);
	mem_free(image->templates);
	mem_free(image->aliases);
}

void rtc_image_free(struct rtc_image *image)
{
	if (image) {
		if (!image->packed) {
			image_free_texts(image);
		}
		mem_free(image->kernels);
		mem_free(image->variables);
		mem_free(image->packed);
		*image = (struct rtc_image){0};
	}
}

struct rtc_kernel *image_by_symbol(const struct rtc_image *image, const char *symbol)
{
	for (size_t i = 0; i < image->kernel_count; i++) {
		if (strcmp(image->kernels[i].lowered, symbol) == 0) {
			return &image->kernels[i];
		}
	}
	return NULL;
}

/* Whether types and layout can be of one kernel. */
static bool image_layouts_agree(const struct rtc_kernel *kernel, const struct signature *signature)
{
	if (kernel->param_count != signature->count) {
		return false;
	}
	for (size_t i = 0; i < signature->count; i++) {
		int64_t size = signature->params[i].size;
		if (size >= 0 && size != kernel->params[i].size) {
			return false;
		}
	}
	return true;
}

/* A mangled name does not tell an enum from a struct; PTX does, a cubin cannot. */
static enum param_kind image_merged_kind(const struct rtc_param *layout,
	const struct rtc_param *type, bool from_ptx)
{
	bool could_be_enum = layout->size <= 8 && (layout->size & (layout->size - 1)) == 0;
	if (type->kind != PARAM_STRUCT || layout->kind == PARAM_STRUCT || !could_be_enum) {
		return type->kind;
	}
	return from_ptx ? PARAM_ENUM : PARAM_UNKNOWN;
}

void image_merge(struct rtc_kernel *kernel, struct signature *signature, bool from_ptx)
{
	if (!signature->params_known) {
		return;
	}
	if (!kernel->params_known) {
		signature_free_params(kernel->params, kernel->param_count);
		kernel->params = signature->params;
		kernel->param_count = signature->count;
		kernel->params_known = true;
		signature->params = NULL;
		signature->count = 0;
	} else if (image_layouts_agree(kernel, signature)) {
		for (size_t i = 0; i < signature->count; i++) {
			struct rtc_param *param = &kernel->params[i];
			struct rtc_param *type = &signature->params[i];
			char *old = param->type;
			param->kind = image_merged_kind(param, type, from_ptx);
			param->type = type->type;
			type->type = old;
		}
	}
}

bool image_add_kernel(struct rtc_image *image, const char *symbol, size_t symbol_len,
	struct rtc_param *params, size_t count, bool known)
{
	struct rtc_kernel kernel = {
		.lowered = mem_strndup(symbol, symbol_len),
		.params = params,
		.param_count = count,
		.params_known = known,
	};
	if (!known) {
		signature_free_params(params, count);
		kernel.params = NULL;
		kernel.param_count = 0;
	}
	struct signature signature = {0};
	struct rtc_kernel *grown = NULL;
	if (kernel.lowered && signature_read(&signature, kernel.lowered, false)) {
		grown = mem_realloc(image->kernels, (image->kernel_count + 1) * sizeof(*grown));
	}
	if (grown) {
		kernel.name = signature.name;
		signature.name = NULL;
		image_merge(&kernel, &signature, image->is_ptx);
		image->kernels = grown;
		grown[image->kernel_count++] = kernel;
	} else {
		image_free_kernel(&kernel);
	}
	signature_free(&signature);
	return grown;
}

/* "k(float *)"; the symbol where the types are not known. */
static char *image_overload_name(const struct rtc_kernel *kernel)
{
	struct str text = STR_INIT;
	str_addf(&text, "%s(", kernel->name);
	for (size_t i = 0; i < kernel->param_count; i++) {
		const char *type = kernel->params[i].type;
		if (!type) {
			str_free(&text);
			return mem_strdup(kernel->lowered);
		}
		str_addf(&text, "%s%s", i > 0 ? ", " : "", type);
	}
	str_addc(&text, ')');
	return str_take(&text);
}

/* Of several kernels of one symbol, which some image repeats, keep the first. */
static bool image_drop_repeated(struct rtc_image *image)
{
	struct map symbols = MAP_INIT;
	size_t count = 0;
	for (size_t i = 0; i < image->kernel_count; i++) {
		struct rtc_kernel *kernel = &image->kernels[i];
		if (map_get(&symbols, kernel->lowered)) {
			image_free_kernel(kernel);
			continue;
		}
		if (!map_put(&symbols, kernel->lowered, kernel)) {
			map_free(&symbols);
			return false;
		}
		image->kernels[count++] = *kernel;
	}
	image->kernel_count = count;
	map_free(&symbols);
	return true;
}

/* Put the parameters into a kernel's name. */
static bool image_tell_overload(struct rtc_kernel *kernel)
{
	char *own = image_overload_name(kernel);
	if (own) {
		mem_free(kernel->name);
		kernel->name = own;
	}
	return own;
}

/* Find the kernels that share a name; *shared has a mark for each. */
static bool image_find_overloads(const struct rtc_image *image, bool *shared)
{
	struct map names = MAP_INIT;
	bool ok = true;
	for (size_t i = 0; ok && i < image->kernel_count; i++) {
		bool *other = map_get(&names, image->kernels[i].name);
		if (other) {
			*other = shared[i] = true;
		} else {
			ok = map_put(&names, image->kernels[i].name, &shared[i]);
		}
	}
	map_free(&names);
	return ok;
}

bool image_finish(struct rtc_image *image)
{
	bool *shared = mem_zalloc(image->kernel_count + 1, sizeof(*shared));
	bool ok = shared && image_drop_repeated(image) && image_find_overloads(image, shared);
	for (size_t i = 0; ok && i < image->kernel_count; i++) {
		ok = !shared[i] || image_tell_overload(&image->kernels[i]);
	}
	mem_free(shared);
	return ok;
}

/* The next character of a name that matters: white space counts only between two words, where it
 * is one blank.  0 at the end. */
static char image_next_char(const char **at, char last)
{
	const char *space = *at;
	while (isspace((unsigned char)**at)) {
		(*at)++;
	}
	if (*at > space && str_is_word(last) && str_is_word(**at)) {
		return ' ';
	}
	return **at ? *(*at)++ : '\0';
}

bool image_names_equal(const char *a, const char *b)
{
	char from_a = '\0';
	char from_b = '\0';
	a += strncmp(a, "::", 2) == 0 ? 2 : 0;
	do {
		from_a = image_next_char(&a, from_a);
		from_b = image_next_char(&b, from_b);
	} while (from_a && from_a == from_b);
	return from_a == from_b;
}

const char *image_bare_name(const char *name, size_t *len)
{
	*len = strcspn(name, "<(");
	for (size_t i = *len; i > 1; i--) {
		if (name[i - 1] == ':') {
			*len -= i;
			return name + i;
		}
	}
	return name;
}

bool image_name_fits(const char *name, const char *full)
{
	size_t len;
	const char *bare = image_bare_name(name, &len), *full_bare = image_bare_name(full, &len);
	if (!image_names_equal(bare, full_bare)) {
		return false;
	}
	/* Each namespace of the name is one of the others, in their order. */
	while (name < bare) {
		name += strspn(name, " \t:");
		len = strcspn(name, " \t:");
		while (full < full_bare && name < bare
		    && (strncmp(full, name, len) != 0 || full[len] != ':')) {
			full += strcspn(full, ":");
			full += strspn(full, ":");
		}
		if (name < bare && full >= full_bare) {
			return false;
		}
		name += name < bare ? len + strspn(name + len, " \t:") : 0;
		full += full < full_bare ? len + 2 : 0;
	}
	return true;
}

/* The only kernel that a name with some namespaces left out fits. */
static const struct rtc_kernel *image_find_unqualified(const struct rtc_image *image,
	const char *name)
{
	const struct rtc_kernel *found = NULL;
	for (size_t i = 0; i < image->kernel_count; i++) {
		if (image_name_fits(name, image->kernels[i].name)) {
			if (found) {
				return NULL;
			}
			found = &image->kernels[i];
		}
	}
	return found;
}

/* The one that was asked for by that name, too. */
static const struct rtc_kernel *image_find_alias(const struct rtc_image *image, const char *name)
{
	const struct rtc_kernel *found = NULL;
	for (const char *line = image->aliases; line && *line && !found;) {
		/* A packed image may hold any text. */
		const char *between = strchr(line, '\n'), *end = between ? strchr(between + 1, '\n')
			: NULL;
		char *alias = between ? mem_strndup(line, (size_t)(between - line)) : NULL;
		char *symbol = end ? mem_strndup(between + 1, (size_t)(end - between - 1)) : NULL;
		if (alias && symbol && image_names_equal(name, alias)) {
			found = image_by_symbol(image, symbol);
		}
		mem_free(alias);
		mem_free(symbol);
		line = end ? end + 1 : NULL;
	}
	return found;
}

/* The one whose symbol says that name: who had "f<uint32_t>" made has "f<unsigned int>". */
static const struct rtc_kernel *image_find_demangled(const struct rtc_image *image,
	const char *name)
{
	const struct rtc_kernel *found = NULL;
	for (size_t i = 0; strchr(name, '<') && i < image->kernel_count && !found; i++) {
		struct signature signature;
		if (!signature_read(&signature, image->kernels[i].lowered, false)) {
			return NULL;
		}
		found = image_names_equal(name, signature.name) ? &image->kernels[i] : NULL;
		signature_free(&signature);
	}
	return found;
}

const struct rtc_kernel *rtc_image_kernel(const struct rtc_image *image, const char *name)
{
	const struct rtc_kernel *kernel = image_by_symbol(image, name);
	for (size_t i = 0; i < image->kernel_count && !kernel; i++) {
		if (image_names_equal(name, image->kernels[i].name)) {
			kernel = &image->kernels[i];
		}
	}
	kernel = kernel ? kernel : image_find_alias(image, name);
	kernel = kernel ? kernel : image_find_unqualified(image, name);
	return kernel ? kernel : image_find_demangled(image, name);
}

const char *rtc_image_nearest(const struct rtc_image *image, const char *name)
{
	const char *nearest = NULL;
	size_t wanted_len;
	const char *wanted = image_bare_name(name, &wanted_len);
	size_t limit = wanted_len / 3 + 1;
	for (size_t i = 0; i < image->kernel_count; i++) {
		size_t len;
		const char *bare = image_bare_name(image->kernels[i].name, &len);
		size_t distance = str_distance(wanted, wanted_len, bare, len);
		if (distance < limit) {
			limit = distance;
			nearest = image->kernels[i].name;
		}
	}
	return nearest;
}
