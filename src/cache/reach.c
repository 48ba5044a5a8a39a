/* SPDX-License-Identifier: MIT */
/*
 * The files that a compile may read: from a request to a search.  reach_closure.c goes from text to
 * text and has CUDA's own headers; reach_search.c looks for each name.
 *
 * From the source on, each file that is named (includes.c) is looked for in every place where NVRTC
 * might: beside the file that names it, in the folder of the source, in all include folders.  All
 * that are there count, not only the first: then no order of search has to be known, and a file that
 * appears in front of another is noticed like any change.  A header in memory has precedence over
 * files (measured), so files of its name are not looked for.
 *
 * What is in a file is remembered for the process, with the times of the file: they say whether it
 * is still the same.  A file that has just been changed may change again within one tick of its
 * times, so it is read each time until it has come to rest.
 *
 * CUDA's own headers are many, and change only when another CUDA is installed: what each of them
 * brings with it is found once per process, and by the next one taken from the disk, as long as the
 * times of all those files are what they were (looked.c).  Names in them are still looked for in the
 * caller's folders, for what is there may come first.
 */
#include "base/common.h"

#include "cache/reach_inner.h"

#include <pthread.h>
#include <string.h>

#define KNOWN_MAX 20000 /* files and CUDA headers that are remembered */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Options */

/* The folder or file that an option names: "-Ifolder", "-I folder", "--include-path=folder". */
static const char *option_value(const char *option, const char *const *names)
{
	for (; *names; names++) {
		size_t len = strlen(*names);
		if (strncmp(option, *names, len) == 0 && option[len]) {
			return option + len + strspn(option + len, " =");
		}
	}
	return NULL;
}

static const char *const folder_options[] = {"-I", "--include-path", NULL};
static const char *const file_options[] = {"-include", "--pre-include", NULL};

bool reach_option_is_opaque(const char *option)
{
	static const char *const beginnings[] = {
		"@", "-optf", "--options-file", "-time", "--time", "-fdevice-time", "--fdevice-time",
		"-pch", "--pch", "-create-pch", "--create-pch", "-use-pch", "--use-pch",
	};
	for (size_t i = 0; i < countof(beginnings); i++) {
		if (strncmp(option, beginnings[i], strlen(beginnings[i])) == 0) {
			return true;
		}
	}
	/* A folder, or a file, that is the next option. */
	return strcmp(option, "-I") == 0 || strcmp(option, "--include-path") == 0
	       || strcmp(option, "-include") == 0 || strcmp(option, "--pre-include") == 0;
}

/* Beginning */

static void add_root(struct search *search, const char *path, const char *kind, size_t index,
	bool is_cuda)
{
	char *label = arena_printf(&search->arena, "%s%zu:", kind, index);
	search->out->no_memory |= !label;
	search->roots[search->root_count++] = (struct root){path, label, is_cuda};
}

/* Where the source is said to be: its name may have a folder. */
static void add_source_root(struct search *search)
{
	const char *name = search->request->name ? search->request->name : "";
	search->roots[search->root_count++] = (struct root){
		.path = search_folder_of(search, name),
		.label = "source:",
	};
}

static void add_roots(struct search *search, const char *const *cuda_dirs, size_t cuda_count)
{
	const struct rtc_request *request = search->request;
	search->roots = arena_alloc(&search->arena,
		1 + request->include_count + request->option_count + cuda_count,
		sizeof(*search->roots));
	if (!search->roots) {
		search->out->no_memory = true;
		return;
	}
	add_source_root(search);
	for (size_t i = 0; i < request->include_count; i++) {
		add_root(search, request->include_dirs[i], "", i, false);
	}
	for (size_t i = 0; i < request->option_count; i++) {
		const char *folder = option_value(request->options[i], folder_options);
		if (folder) {
			add_root(search, folder, "option", i, false);
		}
	}
	search->cuda_begin = search->root_count;
	for (size_t i = 0; i < cuda_count; i++) {
		add_root(search, cuda_dirs[i], "cuda", i, true);
	}
}

/* A text that is in memory; what is found in it lives as long as the search. */
static void add_memory_text(struct search *search, struct includes *includes, const char *text)
{
	if (!includes_scan(includes, text, strlen(text))) {
		search->out->no_memory = true;
		return;
	}
	search_push_text(search, includes, NULL, "", false);
}

static void add_options(struct search *search)
{
	const struct rtc_request *request = search->request;
	struct text nowhere = {.includes = NULL};
	for (size_t i = 0; i < request->option_count && !search_is_over(search); i++) {
		const char *option = request->options[i];
		const char *file = option_value(option, file_options);
		if (reach_option_is_opaque(option)) {
			search_give_up(search, "an option of NVRTC names files, or asks for times");
		} else if (file) {
			char *quoted = arena_printf(&search->arena, "\"%s", file);
			if (quoted) {
				reach_look_for(search, &nowhere, quoted);
			}
			search->out->no_memory |= !quoted;
		}
	}
}

/* Where texts in memory are: the source, the headers, the defines. */
static size_t collect_texts(const char **texts, const struct rtc_request *request)
{
	size_t count = 0;
	texts[count++] = request->source;
	for (size_t i = 0; i < request->header_count; i++) {
		texts[count++] = request->header_texts[i];
	}
	for (size_t i = 0; i < request->define_count; i++) {
		texts[count++] = request->defines[i];
	}
	for (size_t i = 0; i < request->option_count; i++) {
		texts[count++] = request->options[i];
	}
	return count;
}

/* Without a name in any of the texts there is nothing to look for, and no place to look. */
static void search_all(struct search *search, const char *const *cuda_dirs, size_t cuda_count)
{
	const struct rtc_request *request = search->request;
	size_t room = 1 + request->header_count + request->define_count + request->option_count;
	const char **texts = arena_alloc(&search->arena, room, sizeof(*texts));
	struct includes *includes = arena_alloc(&search->arena, room, sizeof(*includes));
	if (!texts || !includes) {
		search->out->no_memory = true;
		return;
	}
	size_t count = collect_texts(texts, request);
	bool has_names = request->option_count > 0;
	for (size_t i = 0; i < count && !search_is_over(search); i++) {
		add_memory_text(search, &includes[i], texts[i]);
		has_names |= includes[i].names.len > 0;
	}
	if (has_names && !search_is_over(search)) {
		add_roots(search, cuda_dirs, cuda_count);
	}
	add_options(search);
	reach_look_for_all(search);
	for (size_t i = 0; i < count; i++) {
		includes_free(&includes[i]);
	}
}

void reach_find(struct reach *out, const struct rtc_request *request,
	const char *const *cuda_dirs, size_t cuda_count)
{
	struct search search = {.out = out, .request = request, .arena = ARENA_INIT};
	*out = (struct reach){0};
	search_begin(&search);
	pthread_mutex_lock(&lock);
	search_next_walk();
	if (search_known() + closure_known() > KNOWN_MAX) {
		search_forget();
		closure_forget();
	}
	search_all(&search, cuda_dirs, cuda_count);
	pthread_mutex_unlock(&lock);
	search_end(&search);
}
