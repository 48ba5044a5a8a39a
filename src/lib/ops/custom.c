/* SPDX-License-Identifier: MIT */
/*
 * Kernels of users' strings: what elementwise ones and reductions share.
 *
 * All texts are copied when a kernel is made, since code for arrays with gaps is compiled when such
 * arrays first come.  The kernel's handle owns what was compiled: it has a slot for each class of
 * layouts, and slots are only ever filled.  If letters stand for types, the handle compiles nothing
 * itself: it has a list of kernels, one for each set of types, to which is only ever added.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/ops/custom.h"
#include "lib/ops/kernels.h"
#include "lib/ops/user_text.h"

#include <ctype.h>
#include <string.h>

kz_status custom_check_text(const char *text, const char *what, kz_error *err)
{
	if (!text) {
		return error_set(err, KZ_INVALID, "expected %s, got NULL", what);
	}
	return text[strspn(text, " \t\r\n;")] ? KZ_OK
		: error_set(err, KZ_INVALID, "expected %s, got an empty text", what);
}

kz_status custom_copy(const char **out, struct custom *custom, const char *text, kz_error *err)
{
	*out = text ? arena_strndup(&custom->arena, text, strlen(text)) : "";
	return *out ? KZ_OK : error_no_memory(err);
}

/* Compiler options */

static kz_status custom_copy_list(const char *const **list, struct custom *custom,
	const char *first, kz_error *err)
{
	size_t count = 0, used = 0;
	while (*list && (*list)[count]) {
		count++;
	}
	const char **copy = arena_alloc(&custom->arena, count + 2, sizeof(*copy));
	if (!copy) {
		return error_no_memory(err);
	}
	if (first) {
		copy[used++] = first;
	}
	for (size_t i = 0; i < count; i++) {
		kz_status st = custom_copy(&copy[used++], custom, (*list)[i], err);
		if (st) {
			return st;
		}
	}
	*list = copy;
	return KZ_OK;
}

/* A reduction has the same bits in kernels of every shape only if no product is fused into its
 * sums.  A caller who wants fused products says so. */
static const char *custom_fmad_option(const struct custom *custom)
{
	const char *const *options = custom->compile.nvrtc_options;
	for (size_t i = 0; options && options[i]; i++) {
		if (strstr(options[i], "-fmad")) {
			return NULL;
		}
	}
	return custom->dtype ? "--fmad=false" : NULL;
}

static kz_status custom_copy_compile_options(struct custom *custom,
	const kz_compile_options *options, kz_error *err)
{
	kz_compile_options *own = &custom->compile;
	kz_status st;
	*own = (kz_compile_options)KZ_COMPILE_OPTIONS_INIT;
	if (options && options->size != sizeof(*options)) {
		return struct_refuse("kz_compile_options", options->size, sizeof(*options), err);
	}
	if (options) {
		*own = *options;
	}
	own->name = custom->name;
	own->instances = NULL;
	if ((st = custom_copy_list(&own->include_dirs, custom, NULL, err))
	    || (st = custom_copy_list(&own->header_names, custom, NULL, err))
	    || (st = custom_copy_list(&own->header_texts, custom, NULL, err))
	    || (st = custom_copy_list(&own->defines, custom, NULL, err))
	    || (st = custom_copy_list(&own->nvrtc_options, custom, custom_fmad_option(custom),
		err))) {
		return st;
	}
	return own->arch ? custom_copy(&own->arch, custom, own->arch, err) : KZ_OK;
}

/* The name, and a symbol that profilers show */

static kz_status custom_take_name(struct custom *custom, const char *name, kz_error *err)
{
	size_t len = strlen(name);
	bool good = len > 0 && len <= 64;
	for (size_t i = 0; i < len && good; i++) {
		good = isprint((unsigned char)name[i]) && name[i] != '"' && name[i] != '\\';
	}
	if (!good) {
		return error_set(err, KZ_INVALID, "expected a name of 1 to 64 characters without "
			"quotes and backslashes, got '%.80s'", name);
	}
	char *symbol = arena_printf(&custom->arena, "kz_%s", name);
	if (!symbol) {
		return error_no_memory(err);
	}
	for (char *c = symbol; *c; c++) {
		*c = str_is_word(*c) ? *c : '_';
	}
	custom->symbol = symbol;
	return custom_copy(&custom->name, custom, name, err);
}

/* What args_convert must know of the arguments. */
static kz_status custom_make_face(struct custom *custom, kz_error *err)
{
	struct kz_kernel *face = &custom->face;
	custom->info.name = (char *)custom->name;
	face->info = &custom->info;
	face->param_count = custom->args.count;
	face->params = arena_alloc(&custom->arena, custom->args.count, sizeof(*face->params));
	if (!face->params) {
		return error_no_memory(err);
	}
	for (size_t i = 0; i < custom->args.count; i++) {
		const struct declaration *arg = &custom->args.items[i];
		face->params[i] = (struct param){
			.kind = arg->is_pointer ? PARAM_POINTER : arg->kind,
			.size = arg->is_pointer ? 8 : arg->size,
			.dtypes = UINT32_MAX, .has_strides = !arg->is_raw, .type = arg->text,
		};
	}
	return KZ_OK;
}

static kz_status custom_take_arguments(struct custom *custom, const char *arguments, kz_error *err)
{
	bool has_pointer = false;
	kz_status st = declare_read(&custom->args, &custom->arena, arguments, custom->name, err);
	if (st) {
		return st;
	}
	for (size_t i = 0; i < custom->args.count; i++) {
		const struct declaration *arg = &custom->args.items[i];
		has_pointer |= arg->is_pointer;
		custom->array_count += arg->is_pointer && !arg->is_raw;
		custom->reads_ahead = custom->reads_ahead && !arg->is_raw;
	}
	if (!has_pointer) {
		return error_set(err, KZ_INVALID,
			"%s: expected a pointer among the arguments '%.200s'", custom->name,
			arguments);
	}
	if (custom->array_count > CUSTOM_ARRAYS) {
		return error_set(err, KZ_INVALID, "%s: expected at most %d arrays, got %d",
			custom->name, CUSTOM_ARRAYS, custom->array_count);
	}
	return custom_make_face(custom, err);
}

void custom_begin(struct custom *custom, struct kz_device *dev)
{
	static const struct schedule schedules[SCHEDULES] = {
		[SCHEDULE_MANY] = {CUSTOM_BLOCK}, [SCHEDULE_ONE] = {1},
	};
	custom->device = device_retain(dev);
	custom->threads = schedule_of(schedules, dev)->threads;
	custom->reads_ahead = custom->threads > 1;
	pthread_mutex_init(&custom->lock, NULL);
}

kz_status custom_init(struct custom *custom, const char *arguments,
	const kz_custom_options *options, const char *name, kz_error *err)
{
	static const kz_custom_options defaults = KZ_CUSTOM_OPTIONS_INIT;
	kz_status st;
	options = options ? options : &defaults;
	if (options->size != sizeof(*options)) {
		return struct_refuse("kz_custom_options", options->size, sizeof(*options), err);
	}
	if (custom->dtype && (options->loop_prep || options->after_loop)) {
		return error_set(err, KZ_INVALID, "a reduction has no loop_prep and no after_loop");
	}
	if ((st = custom_take_name(custom, options->name ? options->name : name, err))
	    || (st = custom_copy_compile_options(custom, options->compile, err))
	    || (st = custom_copy(&custom->preamble, custom, options->preamble, err))
	    || (st = custom_copy(&custom->loop_prep, custom, options->loop_prep, err))
	    || (st = custom_copy(&custom->after_loop, custom, options->after_loop, err))) {
		return st;
	}
	return custom_take_arguments(custom, arguments, err);
}

/* What was compiled */

static void custom_release_kernels(struct custom_kernels *kernels)
{
	if (kernels) {
		kz_module_release(kernels->module);
		mem_free(kernels);
	}
}

static void custom_release_instance(struct custom *instance)
{
	custom_finish(instance);
	mem_free(instance);
}

void custom_finish(struct custom *custom)
{
	for (struct custom *instance = atomic_load(&custom->instances), *next; instance;
		instance = next) {
		next = instance->next;
		custom_release_instance(instance);
	}
	for (size_t i = 0; i < countof(custom->made); i++) {
		custom_release_kernels(atomic_load(&custom->made[i]));
	}
	pthread_mutex_destroy(&custom->lock);
	arena_free(&custom->arena);
	device_release(custom->device);
}

static kz_status custom_find_kernels(struct custom_kernels *kernels, const struct custom *custom,
	const struct custom_class *class, kz_error *err)
{
	char next[80];
	kz_status st = kz_module_kernel(&kernels->main, kernels->module, custom->symbol, err);
	if (!st && custom->dtype && !class->ndim) {
		snprintf(next, sizeof(next), "%s_next", custom->symbol);
		st = kz_module_kernel(&kernels->next, kernels->module, next, err);
	}
	return st;
}

static kz_status custom_compile(struct custom_kernels **out, const struct custom *custom,
	const struct custom_class *class, kz_error *err)
{
	static const char hint[] = "these arrays have gaps or are broadcast: they are not pointers "
		"and have only operator []; kz_array_copy makes contiguous ones, raw gives "
		"pointers";
	struct custom_kernels *kernels = mem_zalloc(1, sizeof(*kernels));
	struct str source = STR_INIT;
	bool mine = error_is_clean(err);
	kz_status st = KZ_OK;
	custom_write(&source, custom, class);
	if (!kernels || source.failed) {
		st = error_no_memory(err);
	} else {
		st = kz_module_compile(&kernels->module, custom->device, source.data,
			&custom->compile, err);
	}
	if (!st) {
		object_take(kernels->module); /* the program has no handle on it */
	}
	if (st == KZ_COMPILE && mine) {
		user_text_explain(err, custom->name, source.data);
		if (class->ndim && !custom->has_index) {
			error_add_hint(err, hint);
		}
	}
	str_free(&source);
	if (st || (st = custom_find_kernels(kernels, custom, class, err))) {
		custom_release_kernels(kernels);
		return st;
	}
	*out = kernels;
	return KZ_OK;
}

kz_status custom_get(const struct custom_kernels **out, struct custom *custom,
	const struct custom_class *class, kz_error *err)
{
	int kind = class->apart ? KZ_MAX_DIMS + 1 : class->ndim;
	_Atomic(struct custom_kernels *) *slot = &custom->made[2 * kind + class->ranged];
	struct custom_kernels *kernels = atomic_load_explicit(slot, memory_order_acquire);
	kz_status st = KZ_OK;
	if (unlikely(!kernels)) {
		pthread_mutex_lock(&custom->lock);
		kernels = atomic_load(slot);
		if (!kernels && !(st = custom_compile(&kernels, custom, class, err))) {
			kernels_count(custom->device);
			atomic_store_explicit(slot, kernels, memory_order_release);
		}
		pthread_mutex_unlock(&custom->lock);
	}
	*out = kernels;
	return st;
}

kz_status custom_make_ready(struct custom *custom, kz_error *err)
{
	struct custom_class usual = {0};
	const struct custom_kernels *kernels = NULL;
	if (custom->args.letters) {
		return KZ_OK;
	}
	/* As most calls will be. */
	usual.ndim = custom->has_index ? 2 : 0;
	usual.apart = !custom->dtype && !custom->has_index && custom->reads_ahead;
	kz_status st = custom_get(&kernels, custom, &usual, err);
	if (!st) {
		custom->face.module = kernels->module;
	}
	return st;
}

/* Types for letters */

static kz_status custom_make_instance(struct custom **out, const struct custom *generic,
	const kz_dtype *types, kz_error *err)
{
	struct custom *made = mem_zalloc(1, sizeof(*made));
	kz_status st;
	if (!made) {
		return error_no_memory(err);
	}
	custom_begin(made, generic->device);
	made->reads_ahead = generic->reads_ahead;
	made->has_index = generic->has_index;
	made->name = generic->name;
	made->symbol = generic->symbol;
	made->array_count = generic->array_count;
	made->dtype = generic->dtype;
	made->preamble = generic->preamble;
	made->loop_prep = generic->loop_prep;
	made->operation = generic->operation;
	made->after_loop = generic->after_loop;
	made->neutral = generic->neutral;
	made->reduce = generic->reduce;
	made->map = generic->map;
	made->compile = generic->compile;
	memcpy(made->types, types, sizeof(made->types));
	if ((st = declare_bind(&made->args, &made->arena, &generic->args, types, err))
	    || (st = custom_make_face(made, err)) || (st = custom_make_ready(made, err))) {
		custom_release_instance(made);
		return st;
	}
	*out = made;
	return KZ_OK;
}

static struct custom *custom_find_instance(struct custom *generic, const kz_dtype *types)
{
	struct custom *found = atomic_load_explicit(&generic->instances, memory_order_acquire);
	while (found && memcmp(found->types, types, sizeof(found->types)) != 0) {
		found = found->next;
	}
	return found;
}

kz_status custom_instance(struct custom **out, struct custom *generic, const kz_dtype *types,
	kz_error *err)
{
	struct custom *found = custom_find_instance(generic, types);
	kz_status st = KZ_OK;
	if (unlikely(!found)) {
		pthread_mutex_lock(&generic->lock);
		found = custom_find_instance(generic, types);
		if (!found && !(st = custom_make_instance(&found, generic, types, err))) {
			found->next = atomic_load(&generic->instances);
			atomic_store_explicit(&generic->instances, found, memory_order_release);
		}
		pthread_mutex_unlock(&generic->lock);
	}
	*out = found;
	return st;
}
