/* SPDX-License-Identifier: MIT */
/*
 * The space of configurations: all combinations of the parameters' values.
 *
 * A configuration is a number: in it the places of its values stand as digits, the last parameter
 * first, each in the base of its parameter's count.
 */
#include "base/common.h"

#include "lib/tune/tune_space.h"

#include "lib/rtc/source_scan.h"

#include <string.h>

static const char *const space_default_names[] = {
	[KZ_TUNE_BLOCK_X] = "block_x", [KZ_TUNE_BLOCK_Y] = "block_y",
	[KZ_TUNE_BLOCK_Z] = "block_z", [KZ_TUNE_MACRO] = NULL, [KZ_TUNE_TEMPLATE] = "argument",
};

static bool space_is_block(const kz_tune_parameter *parameter)
{
	return parameter->kind <= KZ_TUNE_BLOCK_Z;
}

/* Checks */

static bool space_is_identifier(const char *name)
{
	size_t i = 0;
	while (str_is_word(name[i])) {
		i++;
	}
	return i > 0 && name[i] == '\0' && !(name[0] >= '0' && name[0] <= '9');
}

static bool space_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		if ((at == text || !str_is_word(at[-1])) && !str_is_word(at[len])) {
			return true;
		}
	}
	return false;
}

/* Whether the source, or a header of it that may be a file, uses a macro. */
static kz_status space_find_macro(bool *out, const kz_tunable *tunable, const char *name,
	kz_error *err)
{
	const kz_compile_options *compile = tunable->compile;
	struct source_facts facts;
	*out = space_has_word(tunable->source, name);
	for (size_t i = 0; compile && compile->header_texts && compile->header_texts[i]; i++) {
		*out = *out || space_has_word(compile->header_texts[i], name);
	}
	if (*out) {
		return KZ_OK;
	}
	if (!source_scan(&facts, tunable->source)) {
		return error_no_memory(err);
	}
	*out = facts.includes.has_macro || facts.includes.names.len > 0;
	source_free(&facts);
	return KZ_OK;
}

static kz_status space_check_values(const kz_tune_parameter *parameter, const char *name,
	kz_error *err)
{
	bool sizes = space_is_block(parameter) || parameter->axis != 0;
	if (parameter->count < 1 || !parameter->values == !parameter->words) {
		return error_set(err, KZ_INVALID, "parameter '%s': expected %s, got %s", name,
			parameter->count < 1 ? "at least one value" : "either values or words",
			parameter->count < 1 ? "none" : parameter->values ? "both" : "neither");
	}
	if (sizes && !parameter->values) {
		return error_set(err, KZ_INVALID, "parameter '%s': expected numbers, got words",
			name);
	}
	for (int64_t k = 0; k < parameter->count; k++) {
		if (sizes && parameter->values[k] < 1) {
			return error_set(err, KZ_INVALID, "parameter '%s': expected values of at "
				"least 1, got %lld", name, (long long)parameter->values[k]);
		}
		if (parameter->words && !parameter->words[k]) {
			return error_set(err, KZ_INVALID, "parameter '%s': word %lld is NULL", name,
				(long long)k);
		}
	}
	return KZ_OK;
}

static kz_status space_check_parameter(const kz_tunable *tunable, int64_t i, const char *name,
	kz_error *err)
{
	const kz_tune_parameter *parameter = &tunable->parameters[i];
	bool is_used = true;
	kz_status st = space_check_values(parameter, name, err);
	if (st) {
		return st;
	}
	if (parameter->axis < 0 || parameter->axis > 3
	    || (parameter->axis && space_is_block(parameter))) {
		return error_set(err, KZ_INVALID, "parameter '%s': expected an axis from 0 to 3, "
			"and 0 for a block, got %d", name, parameter->axis);
	}
	if (parameter->kind == KZ_TUNE_MACRO || (parameter->name && space_is_block(parameter))) {
		if (!space_is_identifier(name)) {
			return error_set(err, KZ_INVALID, "expected the name of a macro, got '%s'",
				name);
		}
		st = parameter->kind == KZ_TUNE_MACRO
			? space_find_macro(&is_used, tunable, name, err) : KZ_OK;
	}
	if (!st && parameter->kind == KZ_TUNE_TEMPLATE && strchr(tunable->kernel, '<')) {
		return error_set(err, KZ_INVALID, "parameter '%s': the kernel's name, '%s', has "
			"the template's arguments already", name, tunable->kernel);
	}
	return st || is_used ? st
		: error_set(err, KZ_INVALID, "parameter '%s': the source does not use a macro of "
			"this name", name);
}

static kz_status space_check_tunable(const kz_tunable *tunable, kz_error *err)
{
	kz_status st = pointer_check(tunable, "a tunable", err);
	if (st) {
		return st;
	}
	if (tunable->size != sizeof(*tunable)) {
		return struct_refuse("kz_tunable", tunable->size, sizeof(*tunable), err);
	}
	if ((st = pointer_check_as(tunable->source, "source text", "tunable.source", err))
	    || (st = pointer_check_as(tunable->kernel, "a name", "tunable.kernel", err))) {
		return st;
	}
	if (tunable->compile && tunable->compile->size != sizeof(*tunable->compile)) {
		return struct_refuse("kz_compile_options", tunable->compile->size,
			sizeof(*tunable->compile), err);
	}
	if (!tunable->parameters || tunable->parameter_count < 1
	    || tunable->parameter_count > TUNE_PARAMETERS_MAX) {
		return error_set(err, KZ_INVALID, "expected 1 to %d parameters, got %lld%s",
			TUNE_PARAMETERS_MAX, (long long)tunable->parameter_count,
			tunable->parameters ? "" : " at NULL");
	}
	const int64_t block[] = {tunable->block.x, tunable->block.y, tunable->block.z};
	for (size_t i = 0; i < countof(block); i++) {
		if (block[i] < 0) {
			return error_set(err, KZ_INVALID, "tunable.block: expected extents of at "
				"least 0, got %lld", (long long)block[i]);
		}
	}
	return tunable->shared_size >= 0 ? KZ_OK
		: error_set(err, KZ_INVALID, "tunable.shared_size: expected 0 or more, got %lld",
			(long long)tunable->shared_size);
}

/* The table */

static bool space_copy_lists(struct arena *arena, kz_tune_parameter *parameter,
	const kz_tune_parameter *from)
{
	size_t count = (size_t)from->count;
	if (from->values) {
		int64_t *values = arena_alloc(arena, count, sizeof(*values));
		if (values) {
			memcpy(values, from->values, count * sizeof(*values));
		}
		parameter->values = values;
		return values;
	}
	const char **words = arena_alloc(arena, count, sizeof(*words));
	bool ok = words;
	for (size_t k = 0; k < count && ok; k++) {
		words[k] = arena_strndup(arena, from->words[k], strlen(from->words[k]));
		ok = words[k];
	}
	parameter->words = words;
	return ok;
}

/* Whether an earlier parameter of the table is about the same. */
static bool space_is_repeated(const kz_tune_parameter *parameters, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if ((space_is_block(&parameters[k]) && parameters[k].kind == parameters[i].kind)
		    || (strcmp(parameters[k].name, parameters[i].name) == 0
			    && parameters[i].kind != KZ_TUNE_TEMPLATE)) {
			return true;
		}
	}
	return false;
}

static kz_status space_add(struct tune_space *space, kz_tune_parameter *parameters, size_t i,
	const kz_tunable *tunable, kz_error *err)
{
	const kz_tune_parameter *from = &tunable->parameters[i];
	kz_status st;
	if (from->kind < KZ_TUNE_BLOCK_X || from->kind > KZ_TUNE_TEMPLATE) {
		return error_set(err, KZ_INVALID, "parameter %zu: expected a kz_tune_kind, got %d",
			i + 1, from->kind);
	}
	const char *name = from->name ? from->name : space_default_names[from->kind];
	if (!name) {
		return error_set(err, KZ_INVALID, "parameter %zu: a macro needs a name", i + 1);
	}
	if ((st = space_check_parameter(tunable, (int64_t)i, name, err))) {
		return st;
	}
	space->is_compiled[i] = !space_is_block(from) || from->name;
	parameters[i] = *from;
	parameters[i].name = arena_strndup(&space->arena, name, strlen(name));
	if (!parameters[i].name || !space_copy_lists(&space->arena, &parameters[i], from)) {
		return error_no_memory(err);
	}
	if (space_is_repeated(parameters, i)) {
		return error_set(err, KZ_INVALID, "parameter '%s' is there twice", name);
	}
	if (!size64_mul(&space->configurations, space->configurations, from->count)
	    || space->configurations > TUNE_CONFIGURATIONS_MAX) {
		return error_set(err, KZ_INVALID, "expected at most %d configurations, got more",
			TUNE_CONFIGURATIONS_MAX);
	}
	return KZ_OK;
}

kz_status tune_space_init(struct tune_space *out, const kz_tunable *tunable, kz_error *err)
{
	kz_status st = space_check_tunable(tunable, err);
	*out = (struct tune_space){.arena = ARENA_INIT, .configurations = 1};
	if (st) {
		return st;
	}
	out->block = tunable->block;
	out->shared_size = tunable->shared_size;
	out->accept = tunable->accept;
	out->user = tunable->user;
	out->count = (size_t)tunable->parameter_count;
	kz_tune_parameter *parameters = arena_alloc(&out->arena, out->count, sizeof(*parameters));
	out->is_compiled = arena_alloc(&out->arena, out->count, sizeof(*out->is_compiled));
	if (!parameters || !out->is_compiled) {
		return error_no_memory(err);
	}
	out->parameters = parameters;
	for (size_t i = 0; i < out->count && !st; i++) {
		st = space_add(out, parameters, i, tunable, err);
	}
	return st;
}

void tune_space_finish(struct tune_space *space)
{
	arena_free(&space->arena);
}

/* Configurations */

size_t tune_space_place(const struct tune_space *space, int64_t index, size_t i)
{
	for (size_t k = space->count - 1; k > i; k--) {
		index /= space->parameters[k].count;
	}
	return (size_t)(index % space->parameters[i].count);
}

void tune_space_values(int64_t *values, const struct tune_space *space, int64_t index)
{
	for (size_t i = 0; i < space->count; i++) {
		const kz_tune_parameter *parameter = &space->parameters[i];
		size_t place = tune_space_place(space, index, i);
		values[i] = parameter->values ? parameter->values[place] : (int64_t)place;
	}
}

int64_t tune_space_index(const struct tune_space *space, const uint32_t *places)
{
	int64_t index = 0;
	for (size_t i = 0; i < space->count; i++) {
		if (places[i] >= space->parameters[i].count) {
			return -1;
		}
		index = index * space->parameters[i].count + places[i];
	}
	return index;
}

/* Add a value as text. */
static void space_add_value(struct str *out, const struct tune_space *space, int64_t index,
	size_t i)
{
	const kz_tune_parameter *parameter = &space->parameters[i];
	size_t place = tune_space_place(space, index, i);
	if (parameter->values) {
		str_addi(out, parameter->values[place]);
	} else {
		str_add(out, parameter->words[place]);
	}
}

/* A text in the arena, and the string as new; NULL without memory. */
static const char *space_take(struct tune_space *space, struct str *text)
{
	const char *taken = text->failed ? NULL
		: arena_strndup(&space->arena, text->len ? text->data : "", text->len);
	str_free(text);
	return taken;
}

const char *tune_space_text(struct tune_space *space, int64_t index)
{
	struct str text = STR_INIT;
	for (size_t i = 0; i < space->count; i++) {
		str_addf(&text, "%s%s=", i ? " " : "", space->parameters[i].name);
		space_add_value(&text, space, index, i);
	}
	return space_take(space, &text);
}

bool tune_space_accepts(kz_tune_config *config, const struct tune_space *space,
	const kz_device_info *device, kz_dim3 problem)
{
	const int64_t problems[3] = {problem.x, problem.y, problem.z};
	int64_t block[3] = {space->block.x, space->block.y, space->block.z};
	int64_t items[3] = {1, 1, 1}, grid[3], threads = 1;
	for (size_t i = 0; i < space->count; i++) {
		const kz_tune_parameter *parameter = &space->parameters[i];
		if (space_is_block(parameter)) {
			block[parameter->kind - KZ_TUNE_BLOCK_X] = config->values[i];
		} else if (parameter->axis
			&& !size64_mul(&items[parameter->axis - 1], items[parameter->axis - 1],
				config->values[i])) {
			return false;
		}
	}
	for (size_t i = 0; i < 3; i++) {
		int64_t covered;
		block[i] = block[i] ? block[i] : 1;
		if (!size64_mul(&threads, threads, block[i])
		    || !size64_mul(&covered, block[i], items[i])
		    || block[i] > device->max_block[i]) {
			return false;
		}
		grid[i] = divide_up(problems[i], covered);
	}
	config->problem = problem;
	config->block = kz_dim(block[0], block[1], block[2]);
	config->grid = kz_dim(grid[0], grid[1], grid[2]);
	config->shared_size = space->shared_size;
	config->reserved = space;
	return threads <= device->max_threads_per_block
		&& (!space->accept || space->accept(space->user, config));
}

int64_t kz_tune_value(const kz_tune_config *config, const char *name)
{
	const struct tune_space *space = config ? config->reserved : NULL;
	for (size_t i = 0; space && name && i < space->count; i++) {
		if (strcmp(space->parameters[i].name, name) == 0) {
			return config->values[i];
		}
	}
	return 0;
}

/* Compiling */

bool tune_space_compiles_same(const struct tune_space *space, int64_t a, int64_t b)
{
	for (size_t i = 0; i < space->count; i++) {
		if (space->is_compiled[i]
		    && tune_space_place(space, a, i) != tune_space_place(space, b, i)) {
			return false;
		}
	}
	return true;
}

/* The list of the program with room for `more`, and where these begin. */
static const char **space_extend(size_t *count, struct tune_space *space, const char *const *list,
	size_t more)
{
	size_t have = 0;
	while (list && list[have]) {
		have++;
	}
	const char **longer = arena_alloc(&space->arena, have + more + 1, sizeof(*longer));
	if (longer && have) {
		memcpy(longer, list, have * sizeof(*longer));
	}
	*count = have;
	return longer;
}

bool tune_space_compile(struct tune_compile *out, struct tune_space *space,
	const kz_tunable *tunable, int64_t index)
{
	struct str name = STR_INIT;
	size_t define = 0, instance = 0, arguments = 0;
	out->options = tunable->compile ? *tunable->compile
		: (kz_compile_options)KZ_COMPILE_OPTIONS_INIT;
	const char **defines = space_extend(&define, space, out->options.defines, space->count);
	const char **instances = space_extend(&instance, space, out->options.instances, 1);
	bool ok = defines && instances;
	str_add(&name, tunable->kernel);
	for (size_t i = 0; i < space->count && ok; i++) {
		struct str text = STR_INIT;
		if (space->parameters[i].kind == KZ_TUNE_TEMPLATE) {
			str_add(&name, arguments++ ? ", " : "<");
			space_add_value(&name, space, index, i);
		} else if (space->is_compiled[i]) {
			str_addf(&text, "%s=", space->parameters[i].name);
			space_add_value(&text, space, index, i);
			ok = (defines[define++] = space_take(space, &text));
		}
	}
	str_add(&name, arguments ? ">" : "");
	out->kernel = space_take(space, &name);
	/* An instance that the name itself asks for, too. */
	if (ok && out->kernel && strchr(out->kernel, '<')) {
		instances[instance] = out->kernel;
	}
	out->options.defines = defines;
	out->options.instances = instances;
	return ok && out->kernel;
}
