/* SPDX-License-Identifier: MIT */
/*
 * Watchers: a file whose module follows it.
 *
 * There is no thread and no notification of the system.  Each kz_watcher_poll asks stat, as the
 * cache does (lib/cache/deps.h): of the file, and of every path at which the compiler might have
 * found a header of it, also where there was nothing.  If that differs the contents decide, so that
 * a file that was only touched is not compiled.
 *
 * Editors replace a file by renaming another, or empty and write it.  So a file that changed within
 * the last tick of the clock, or is missing, is looked at again until it has come to rest.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "lib/cache/cache.h"
#include "lib/module/module.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { WATCHER_WAITS = 50 };

struct kz_watcher {
	uint32_t tag;             /* OBJECT_WATCHER */
	struct kz_device *device;
	struct arena arena;       /* the path and the options */
	const char *path;
	kz_compile_options options;
	struct kz_module *module; /* the last one that could be made; NULL: none yet */
	struct deps *deps;        /* the headers; NULL: there are none */
	struct hash stat;         /* of the file, when it was read */
	struct hash content;      /* of the file and the headers */
	bool has_looked;          /* what is above is known */
	bool is_rested;           /* stat tells of each further change */
};

/* Options that last */

static bool watcher_copy_text(struct kz_watcher *watcher, const char **text)
{
	*text = *text ? arena_strndup(&watcher->arena, *text, strlen(*text)) : NULL;
	return *text;
}

static bool watcher_copy_list(struct kz_watcher *watcher, const char *const **list)
{
	size_t count = 0;
	const char *const *given = *list;
	if (!given) {
		return true;
	}
	while (given[count]) {
		count++;
	}
	const char **copy = arena_alloc(&watcher->arena, count + 1, sizeof(*copy));
	*list = copy;
	bool ok = copy;
	for (size_t i = 0; i < count && ok; i++) {
		copy[i] = given[i];
		ok = watcher_copy_text(watcher, &copy[i]);
	}
	if (copy) {
		copy[count] = NULL;
	}
	return ok;
}

static bool watcher_copy_options(struct kz_watcher *watcher)
{
	kz_compile_options *options = &watcher->options;
	const char **const texts[] = {&options->name, &options->arch, &options->std};
	const char *const **const lists[] = {&options->include_dirs, &options->header_names,
		&options->header_texts, &options->defines, &options->instances,
		&options->nvrtc_options};
	bool ok = true;
	for (size_t i = 0; i < countof(texts); i++) {
		ok = ok && (!*texts[i] || watcher_copy_text(watcher, texts[i]));
	}
	for (size_t i = 0; i < countof(lists); i++) {
		ok = ok && watcher_copy_list(watcher, lists[i]);
	}
	return ok;
}

/* Fail for options that no source could be compiled with. */
static kz_status watcher_check_options(const kz_compile_options *options, kz_error *err)
{
	struct rtc_request request = {.source = ""};
	return image_read_options(&request, options, err);
}

kz_status kz_watcher_create(kz_watcher **out, kz_device *dev, const char *path,
	const kz_compile_options *options, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(path, "the path of a file", err))
	    || (st = watcher_check_options(options, err))) {
		return st;
	}
	struct kz_watcher *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		return error_no_memory(err);
	}
	made->tag = OBJECT_WATCHER;
	made->arena = (struct arena)ARENA_INIT;
	made->device = device_retain(dev);
	made->path = path;
	made->options = options ? *options : (kz_compile_options)KZ_COMPILE_OPTIONS_INIT;
	if (!watcher_copy_text(made, &made->path) || !watcher_copy_options(made)) {
		kz_watcher_release(made);
		return error_no_memory(err);
	}
	object_give(made, dev);
	*out = made;
	return KZ_OK;
}

void kz_watcher_release(kz_watcher *watcher)
{
	if (!object_is(watcher, OBJECT_WATCHER)) {
		return;
	}
	object_end(&watcher->tag);
	kz_module_release(watcher->module);
	deps_release(watcher->deps);
	arena_free(&watcher->arena);
	device_release(watcher->device);
	object_free(watcher);
}

kz_module *kz_watcher_module(const kz_watcher *watcher)
{
	return object_is(watcher, OBJECT_WATCHER) ? watcher->module : NULL;
}

/* Looking at the file */

static struct hash watcher_hash(const struct stat *info)
{
	struct hash_state state;
	hash_begin(&state);
	deps_add_stat(&state, info);
	return hash_end(&state);
}

/* What stat says of the file; NULL, *info or its hash: there is none. */
static const struct stat *watcher_stat(const struct kz_watcher *watcher, struct stat *info)
{
	return stat(watcher->path, info) == 0 ? info : NULL;
}

/* Whether stat says of the file and the headers what it said when they were read. */
static bool watcher_holds(const struct kz_watcher *watcher)
{
	struct stat room;
	return watcher->has_looked
		&& hash_equal(watcher->stat, watcher_hash(watcher_stat(watcher, &room)))
		&& (!watcher->deps || deps_hold(watcher->deps, false));
}

int kz_watcher_has_changed(const kz_watcher *watcher)
{
	struct stat room;
	return object_is(watcher, OBJECT_WATCHER) && !watcher_holds(watcher)
		&& watcher_stat(watcher, &room);
}

/* Let an editor complete a file that changes just now, or is missing for a moment. */
static const struct stat *watcher_wait(struct kz_watcher *watcher, struct stat *info)
{
	const struct timespec tick = {.tv_nsec = 1000000};
	const struct stat *found = watcher_stat(watcher, info);
	const bool may_come = watcher->has_looked;
	for (int i = 0; i < WATCHER_WAITS && (found ? !deps_is_rested(found) : may_come); i++) {
		nanosleep(&tick, NULL);
		found = watcher_stat(watcher, info);
	}
	watcher->is_rested = !found || deps_is_rested(found);
	return found;
}

/* Read the file, in the state that `stat` is about then. */
static kz_status watcher_read(struct kz_watcher *watcher, char **data, size_t *size, kz_error *err)
{
	struct stat room;
	const bool is_known = watcher->has_looked
		&& hash_equal(watcher->stat, watcher_hash(watcher_stat(watcher, &room)));
	if (!is_known) {
		watcher->stat = watcher_hash(watcher_wait(watcher, &room));
	} else {
		watcher->is_rested = !watcher_stat(watcher, &room) || deps_is_rested(&room);
	}
	kz_status st = source_file_read(data, size, watcher->path, err);
	watcher->is_rested = watcher->is_rested
		&& hash_equal(watcher->stat, watcher_hash(watcher_stat(watcher, &room)));
	return st;
}

/* The headers that a compile may read. */
static kz_status watcher_find_headers(struct kz_watcher *watcher, const struct module_bytes *file,
	kz_error *err)
{
	struct rtc_request request = {.source = file->data};
	struct source_file_options own;
	kz_status st = source_file_options_init(&own, file->name, &watcher->options, err);
	if (st) {
		return st;
	}
	st = image_read_options(&request, &own.options, err);
	if (!st && !cache_watch(&watcher->deps, &request)) {
		st = error_no_memory(err);
	}
	source_file_options_finish(&own);
	return st;
}

static struct hash watcher_hash_content(const struct module_bytes *file, const struct deps *deps)
{
	struct hash_state state;
	hash_begin(&state);
	hash_add(&state, &file->size, sizeof(file->size));
	hash_add(&state, file->data, file->size);
	if (deps) {
		hash_add(&state, deps_files(deps), deps->head.files_size);
	}
	return hash_end(&state);
}

static kz_status watcher_load(struct kz_watcher *watcher, const struct module_bytes *file,
	int *is_new, kz_error *err)
{
	struct kz_module *fresh = NULL;
	kz_status st = source_file_is_image(file->data, file->size)
		? module_load_bytes(&fresh, watcher->device, file, &load_defaults, err)
		: source_file_compile(&fresh, watcher->device, file, &watcher->options, err);
	if (!st) {
		object_take(fresh); /* the watcher's, and not the program's */
		kz_module_release(watcher->module);
		watcher->module = fresh;
		*is_new = 1;
	}
	return st;
}

/* Read what is there now, and make a module of it if it is new. */
static kz_status watcher_follow(struct kz_watcher *watcher, int *is_new, kz_error *err)
{
	const struct hash nothing = {0, 0};
	const struct hash before = watcher->has_looked ? watcher->content : nothing;
	char *data = NULL;
	struct module_bytes file = {.name = watcher->path};
	kz_status st = watcher_read(watcher, &data, &file.size, err);
	file.data = data;
	deps_release(watcher->deps);
	watcher->deps = NULL;
	if (!st && !source_file_is_image(data, file.size)) {
		st = watcher_find_headers(watcher, &file, err);
		watcher->is_rested &= !watcher->deps || watcher->deps->is_rested;
	}
	watcher->content = st ? nothing : watcher_hash_content(&file, watcher->deps);
	if (!st && !hash_equal(watcher->content, before)) {
		st = watcher_load(watcher, &file, is_new, err);
		if (watcher->deps && !deps_hold(watcher->deps, false)) {
			watcher->content = nothing; /* a header changed meanwhile */
		}
	}
	watcher->has_looked = st != KZ_NO_MEMORY;
	mem_free(data);
	return st;
}

kz_status kz_watcher_poll(int *is_new, kz_watcher *watcher, kz_error *err)
{
	error_scope(err);
	int ignored;
	is_new = is_new ? is_new : &ignored;
	*is_new = 0;
	kz_status st = object_check(watcher, OBJECT_WATCHER, err);
	return st || (watcher->is_rested && watcher_holds(watcher)) ? st
		: watcher_follow(watcher, is_new, err);
}
