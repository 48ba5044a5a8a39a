/* SPDX-License-Identifier: MIT */
/*
 * The linker.  Its result is PTX text again: the declarations of all inputs one after the other,
 * each as it was but for the changes below.  link_scan.c reads the inputs.
 *
 * An input is cut into items, one for each directive of module scope, with the names that it
 * declares.  A name that is .visible or .weak means the same in all inputs.  One definition is
 * chosen for it, a strong one before weak ones.  The other definitions become declarations, and
 * only the first declaration of a name stays.  A name without linkage belongs to its input; if
 * another input uses the same name, it gets a suffix.  The files of .file and .loc get new numbers.
 * Sections, which hold debug information, are left out.  A limit of registers, which the loader
 * of the result would not know, becomes the .maxnreg of each kernel.
 */
#include "base/common.h"

#include "cpu/ptx/link_scan.h"

#include "base/alloc.h"
#include "cpu/ptx/parse.h"

#include <string.h>

/* Functions that the device has. */
static const char *const builtins[] = {"vprintf", "malloc", "free", "__assertfail",
	"cudaGraphSetConditional"};

struct linker *linker_create(void)
{
	struct linker *linker = mem_zalloc(1, sizeof(*linker));
	if (linker) {
		linker->last = &linker->inputs;
	}
	return linker;
}

static void link_drop_inputs(struct input *input)
{
	for (; input; input = input->next) {
		map_free(&input->names);
	}
}

void linker_release(struct linker *linker)
{
	if (!linker) {
		return;
	}
	link_drop_inputs(linker->inputs);
	map_free(&linker->globals);
	arena_free(&linker->arena);
	mem_free(linker);
}

void linker_limit_registers(struct linker *linker, uint32_t count)
{
	linker->max_registers = count;
}

size_t linker_count(const struct linker *linker)
{
	return linker->count;
}

/* Find out what the shared names of a new input mean; none may be strong twice. */
static enum link_status link_check_names(struct linker *linker, struct input *input,
	struct str *errors)
{
	enum link_status status = LINK_OK;
	for (struct item *item = input->items; item; item = item->next) {
		for (struct name *name = item->names; name; name = name->next) {
			const struct global *old = map_get(&linker->globals, name->text);
			if (item->linkage == LINK_STRONG && old && old->chosen
			    && old->chosen->linkage == LINK_STRONG) {
				str_addf(errors, "error   : Multiple definition of '%s' in '%s',"
					" first defined in '%s'\n", name->text, input->name,
					old->input->name);
				status = LINK_BAD_SYMBOL;
			}
		}
	}
	return status;
}

static bool link_publish_names(struct linker *linker, struct input *input)
{
	for (struct item *item = input->items; item; item = item->next) {
		for (struct name *name = item->names; name; name = name->next) {
			struct global *global = map_get(&linker->globals, name->text);
			if (item->linkage == LINK_LOCAL) {
				continue;
			}
			if (!global) {
				global = arena_alloc(&linker->arena, 1, sizeof(*global));
				if (!global
				    || !map_put(&linker->globals, name->text, global)) {
					return false;
				}
			}
			if (item->linkage >= LINK_WEAK && (!global->chosen
				|| item->linkage > global->chosen->linkage)) {
				global->chosen = item;
				global->input = input;
			}
		}
	}
	return true;
}

static enum link_status link_scan_input(struct linker *linker, struct input *input,
	struct ptx_diag *diag, struct str *errors)
{
	if (!link_scan(linker, input, diag)) {
		return diag->no_memory ? LINK_NO_MEMORY : LINK_BAD_PTX;
	}
	enum link_status status = link_check_names(linker, input, errors);
	return status != LINK_OK ? status
		: link_publish_names(linker, input) ? LINK_OK : LINK_NO_MEMORY;
}

/* It must be PTX by itself; what its extern names mean is not asked yet. */
static bool link_is_ptx(const char *text, size_t size, struct ptx_diag *diag)
{
	struct ptx_module module;
	bool ok = parse_module(&module, text, size, diag);
	if (ok) {
		parse_free(&module);
	}
	return ok;
}

enum link_status linker_add(struct linker *linker, const char *text, size_t size,
	const char *name, struct ptx_diag *diag, struct str *errors)
{
	if (!link_is_ptx(text, size, diag)) {
		return diag->no_memory ? LINK_NO_MEMORY : LINK_BAD_PTX;
	}
	struct input *input = arena_alloc(&linker->arena, 1, sizeof(*input));
	if (!input) {
		return LINK_NO_MEMORY;
	}
	input->text = arena_strndup(&linker->arena, text, size);
	input->size = size;
	input->index = linker->count + 1;
	input->name = name ? arena_strndup(&linker->arena, name, strlen(name))
		: arena_printf(&linker->arena, "input %zu", input->index);
	input->last = &input->items;
	enum link_status status = LINK_NO_MEMORY;
	if (input->text && input->name) {
		status = link_scan_input(linker, input, diag, errors);
	}
	if (status != LINK_OK) {
		map_free(&input->names);
		return status;
	}
	*linker->last = input;
	linker->last = &input->next;
	linker->count++;
	return LINK_OK;
}

static bool link_is_builtin(const char *name)
{
	for (size_t i = 0; i < countof(builtins); i++) {
		if (strcmp(name, builtins[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* Whether an extern name is used in its input, and defined nowhere. */
static bool link_is_undefined(const struct linker *linker, const struct input *input,
	const struct name *name)
{
	const struct name *main = map_get(&input->names, name->text);
	const struct global *global = map_get(&linker->globals, name->text);
	return main == name && main->uses > main->declarations && !global->chosen
		&& !link_is_builtin(name->text);
}

static enum link_status link_check_undefined(struct linker *linker, struct str *errors)
{
	enum link_status status = LINK_OK;
	for (struct input *input = linker->inputs; input; input = input->next) {
		for (struct item *item = input->items; item; item = item->next) {
			struct name *name = item->linkage == LINK_EXTERN && !item->is_shared
				? item->names : NULL;
			for (; name; name = name->next) {
				if (link_is_undefined(linker, input, name)) {
					str_addf(errors, "error   : Undefined reference to '%s'"
						" in '%s'\n", name->text, input->name);
					status = LINK_BAD_SYMBOL;
				}
			}
		}
	}
	return status;
}

/* Whether another input has the name, in whatever sense. */
static bool link_is_elsewhere(
	const struct linker *linker, const struct input *input, const char *name)
{
	for (const struct input *other = linker->inputs; other; other = other->next) {
		if (other != input && map_get(&other->names, name)) {
			return true;
		}
	}
	return false;
}

static bool link_rename_locals(struct linker *linker)
{
	uint64_t first_file = 0;
	for (struct input *input = linker->inputs; input; input = input->next) {
		input->first_file = first_file;
		first_file += input->file_count;
		for (struct item *item = input->items; item; item = item->next) {
			struct name *name = item->linkage == LINK_LOCAL ? item->names : NULL;
			for (; name; name = name->next) {
				struct name *main = map_get(&input->names, name->text);
				if (!link_is_elsewhere(linker, input, name->text)) {
					continue;
				}
				main->renamed = arena_printf(&linker->arena, "%s__in%zu",
					name->text, input->index);
				if (!main->renamed) {
					return false;
				}
			}
		}
	}
	return true;
}

/* Write a part of the text with the names as they are called now, and files renumbered. */
static void link_write_text(struct str *out, const struct input *input, const char *from,
	const char *to)
{
	struct lexer lexer;
	struct lex_token token;
	struct ptx_diag ignored;
	bool is_file = false;
	lex_init(&lexer, from, (size_t)(to - from));
	while (lex_next(&lexer, &token, &ignored) && token.kind != TOKEN_END) {
		const struct name *name = link_is_name(&token)
			? map_getn(&input->names, token.text, token.len) : NULL;
		bool changed = (name && name->renamed)
			|| (is_file && token.kind == TOKEN_INT);
		if (changed) {
			str_addn(out, from, (size_t)(token.text - from));
			from = token.text + token.len;
		}
		if (changed && name) {
			str_add(out, name->renamed);
		} else if (changed) {
			unsigned long long number = input->first_file;
			str_addf(out, "%llu", number + token.value);
		}
		is_file = token_is(&token, ".file") || token_is(&token, ".loc")
			|| token_is(&token, "inlined_at");
	}
	str_addn(out, from, (size_t)(to - from));
}

/* Whether all names of an item have been written before; afterwards they have. */
static bool link_mark_emitted(struct linker *linker, const struct item *item)
{
	bool all = true;
	for (const struct name *name = item->names; name; name = name->next) {
		struct global *global = map_get(&linker->globals, name->text);
		all = all && global->is_emitted;
		global->is_emitted = true;
	}
	return all;
}

/* A definition that another one is preferred to, or a declaration. */
static void link_write_declaration(
	struct str *out, const struct input *input, const struct item *item)
{
	struct lexer lexer;
	struct lex_token token;
	struct ptx_diag ignored;
	const char *start = item->start;
	lex_init(&lexer, start, (size_t)(item->end - start));
	// After the words for the linkage.
	while (lex_next(&lexer, &token, &ignored)
	       && (token_is(&token, ".extern") || token_is(&token, ".weak")
		|| token_is(&token, ".common") || token_is(&token, ".visible"))) {
		start = token.text + token.len;
	}
	str_add(out, ".extern");
	link_write_text(out, input, start, item->head_end);
	str_add(out, ";\n");
}

/* A kernel gets the link's limit of registers unless it has one of its own, as in ptxas. */
static void link_write_definition(const struct linker *linker, struct str *out,
	const struct input *input, const struct item *item)
{
	const char *start = item->start;
	if (linker->max_registers > 0 && item->is_entry && !item->limits_registers) {
		link_write_text(out, input, start, item->head_end);
		str_addf(out, ".maxnreg %u\n", (unsigned)linker->max_registers);
		start = item->head_end;
	}
	link_write_text(out, input, start, item->end);
}

static void link_write_item(struct linker *linker, struct str *out, const struct input *input,
	const struct item *item)
{
	const struct global *global = item->names && item->linkage != LINK_LOCAL
		? map_get(&linker->globals, item->names->text) : NULL;
	if (!global || global->chosen == item) {
		if (global) {
			link_mark_emitted(linker, item);
		}
		link_write_definition(linker, out, input, item);
	} else if (!item->is_alias && !link_mark_emitted(linker, item)) {
		link_write_declaration(out, input, item);
	}
}

enum link_status linker_finish(struct linker *linker, struct str *out, struct str *errors)
{
	enum link_status status = link_check_undefined(linker, errors);
	if (status != LINK_OK) {
		return status;
	}
	if (!link_rename_locals(linker)) {
		return LINK_NO_MEMORY;
	}
	str_addf(out, ".version %d.%d\n.target %.*s\n.address_size 64\n", linker->version_major,
		linker->version_minor, (int)linker->target_len, linker->target_text);
	for (struct input *input = linker->inputs; input; input = input->next) {
		str_addf(out, "\n// input %zu\n", input->index);
		for (struct item *item = input->items; item; item = item->next) {
			link_write_item(linker, out, input, item);
		}
	}
	return out->failed ? LINK_NO_MEMORY : LINK_OK;
}
