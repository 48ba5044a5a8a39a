/* SPDX-License-Identifier: MIT */
/*
 * Find and open one of NVIDIA's libraries.
 *
 * A search walks *places*: a place is a folder that may hold the library.  Roots (a toolkit, a
 * Python environment, the folder that the user names) are turned into places by glob patterns.  The
 * first library that loads and that the caller takes wins.  The search's log is what the user reads
 * when nothing was found: a line for each library that was refused, and one for each root that has
 * none.
 */
#include "base/common.h"

#include "lib/rtc/find.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/file.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const toolkit_places[] = {
	"/lib64", "/lib", "/targets/" FIND_TARGET "/lib", NULL,
};
static const char *const environment_places[] = {
	"/lib/python3*/*-packages/nvidia/cu*/lib", /* Debian's pip has dist-packages */
	"/lib/python3*/*-packages/nvidia/*/lib",
	"/lib",
	"/targets/" FIND_TARGET "/lib",
	NULL,
};
static const char *const named_places[] = {
	"", "/lib64", "/lib", "/targets/" FIND_TARGET "/lib",
	"/nvidia/cu*/lib", "/nvidia/*/lib", "/cu*/lib", "/*/lib",
	"/lib/python3*/*-packages/nvidia/*/lib",
	NULL,
};

void find_note(struct find *find, const char *path, const char *why)
{
	/* The loader's words begin with the path already. */
	bool has_path = strncmp(why, path, strlen(path)) == 0;
	struct str line = STR_INIT;
	str_addf(&line, "  %s%s%s\n", has_path ? "" : path, has_path ? "" : ": ", why);
	/* Two variables may name one root. */
	if (line.failed) {
		find->no_memory = true;
	} else if (!find->log.data || !strstr(find->log.data, line.data)) {
		str_add(&find->log, line.data);
	}
	str_free(&line);
}

/* Whether the search is over, by success or because memory ran out. */
static bool find_is_done(const struct find *find)
{
	return find->found || find->no_memory || find->log.failed;
}

/* One more name of those that do not exist. */
static void find_add_absent(struct str *absent, const char *name)
{
	str_addf(absent, "%s%s", absent->len ? ", " : "", name);
}

/* In one line, what a root or the loader does not have. */
static void find_note_absent(struct find *find, const char *where, struct str *absent)
{
	find->no_memory |= absent->failed;
	if (absent->len && !absent->failed) {
		find_note(find, where, absent->data);
	}
	str_free(absent);
}

/* Whether the loader says that this file, and not one that it needs, does not exist. */
static bool find_is_absence(const char *why, const char *path)
{
	return strncmp(why, path, strlen(path)) == 0
		&& strcmp(why + strlen(path), ": cannot open shared object file: No such file or "
			"directory") == 0;
}

/* A name that does not exist goes to `absent`, if that is given. */
static void find_try_library(struct find *find, const char *path, struct str *absent)
{
	char why[512];
	if (find->look_only) {
		find->found = strchr(path, '/') && file_is_regular(path);
		find->path = find->found ? mem_strdup(path) : NULL;
		find->no_memory |= find->found && !find->path;
		return;
	}
	void *object = dl_open(path, why, sizeof(why));
	if (!object && absent && find_is_absence(why, path)) {
		find_add_absent(absent, path);
	} else if (!object) {
		find_note(find, path, why);
	} else if (find->what->take(find, object, path)) {
		find->found = true;
	} else {
		dl_close(object);
	}
}

/* The libraries of one folder that may be it, best first: libnvrtc.so.13 before .12 before none;
 * NVIDIA's other build, libnvrtc.alt.so, does not match. */
static int find_compare_versions(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)b, *(const char *const *)a);
}

static void find_newest_first(glob_t *found)
{
	qsort(found->gl_pathv, found->gl_pathc, sizeof(*found->gl_pathv), find_compare_versions);
}

/* Try the libraries that match a pattern, newest first.  False if there are none. */
static bool find_try_pattern(struct find *find, const char *pattern)
{
	glob_t found = {0};
	int result = glob(pattern, 0, NULL, &found);
	if (result == GLOB_NOSPACE) {
		find->no_memory = true;
	} else if (result == 0) {
		find_newest_first(&found);
		for (size_t i = 0; i < found.gl_pathc && !find_is_done(find); i++) {
			find_try_library(find, found.gl_pathv[i], NULL);
		}
	}
	globfree(&found);
	return result == 0;
}

/* A path as a pattern that matches it alone. */
static void find_add_escaped(struct str *out, const char *path)
{
	for (; *path; path++) {
		str_add(out, strchr("*?[\\", *path) ? "\\" : "");
		str_addc(out, *path);
	}
}

/* Try each place, a pattern, below a root, a path. */
static void find_try_root(struct find *find, const char *root, const char *const *places)
{
	struct str absent = STR_INIT, why = STR_INIT;
	if (!file_is_folder(root)) {
		find_note(find, root, "no such folder");
		return;
	}
	for (; *places && !find_is_done(find); places++) {
		struct str pattern = STR_INIT;
		find_add_escaped(&pattern, root);
		str_addf(&pattern, "%s/%s*", *places, find->what->file);
		if (pattern.failed) {
			find->no_memory = true;
		} else if (!find_try_pattern(find, pattern.data)) {
			find_add_absent(&absent, **places ? *places + 1 : ".");
		}
		str_free(&pattern);
	}
	if (absent.len) {
		str_addf(&why, "no %s* in %s", find->what->file, absent.data);
	}
	why.failed |= absent.failed;
	find_note_absent(find, root, &why);
	str_free(&absent);
}

void find_in(struct find *find, const char *named)
{
	if (file_is_folder(named)) {
		find_try_root(find, named, named_places);
	} else {
		find_try_library(find, named, NULL);
	}
}

static void find_try_toolkits(struct find *find)
{
	const char *const variables[] = {"CUDA_PATH", "CUDA_HOME"};
	for (size_t i = 0; i < countof(variables) && !find_is_done(find); i++) {
		const char *root = env_get(variables[i]);
		if (root && root[0]) {
			find_try_root(find, root, toolkit_places);
		}
	}
	if (!find_is_done(find)) {
		find_try_root(find, "/usr/local/cuda", toolkit_places);
	}
	glob_t found = {0};
	if (!find_is_done(find) && glob("/usr/local/cuda-*", 0, NULL, &found) == 0) {
		find_newest_first(&found);
		for (size_t i = 0; i < found.gl_pathc && !find_is_done(find); i++) {
			find_try_root(find, found.gl_pathv[i], toolkit_places);
		}
	}
	globfree(&found);
}

/* The environment that this library was installed into, if it is one: what its folder lies in. */
static bool find_own_environment(char *out, size_t size)
{
	static const char here;
	char *path = dl_path(&here);
	char *last = path ? strrchr(path, '/') : NULL;
	bool is_library = last && strncmp(last, "/libkudzu.so", strlen("/libkudzu.so")) == 0;
	if (is_library) {
		*last = '\0';
		last = strrchr(path, '/');
		snprintf(out, size, "%.*s", last ? (int)(last - path) : 0, path);
	}
	mem_free(path);
	return is_library;
}

static void find_try_wheels(struct find *find)
{
	static const struct {
		const char *variable;
		const char *below;
	} environments[] = {{"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}, {"HOME", "/.local"}};
	char root[PATH_MAX];
	if (find_own_environment(root, sizeof(root))) {
		find_try_root(find, root, environment_places);
	}
	for (size_t i = 0; i < countof(environments) && !find_is_done(find); i++) {
		const char *folder = env_get(environments[i].variable);
		if (folder && folder[0]) {
			snprintf(root, sizeof(root), "%s%s", folder, environments[i].below);
			find_try_root(find, root, environment_places);
		}
	}
	if (!find_is_done(find)) {
		find_try_root(find, "/usr/local", environment_places);
	}
}

void find_library(struct find *find)
{
	const char *named = env_get(find->what->variable);
	if (named && named[0]) {
		/* What the user names is what is used: nothing else is tried. */
		find_in(find, named);
		return;
	}
	find_try_toolkits(find);
	if (!find_is_done(find)) {
		find_try_wheels(find);
	}
	struct str absent = STR_INIT;
	for (const char *const *name = find->what->sonames; *name && !find_is_done(find); name++) {
		find_try_library(find, *name, &absent);
	}
	find_note_absent(find, "the dynamic loader does not find", &absent);
}

static bool find_is_set(const char *variable)
{
	const char *value = env_get(variable);
	return value && value[0];
}

static enum find_pip find_which_pip(void)
{
	char root[PATH_MAX] = "", settings[PATH_MAX + sizeof("/pyvenv.cfg")] = "";
	if (find_own_environment(root, sizeof(root))) {
		snprintf(settings, sizeof(settings), "%s/pyvenv.cfg", root);
	}
	glob_t marks = {0};
	enum find_pip pip = FIND_PIP_USER;
	if (find_is_set("VIRTUAL_ENV") || find_is_set("CONDA_PREFIX")
	    || file_is_regular(settings)) {
		pip = FIND_PIP_ENVIRONMENT;
	} else if (glob("/usr/lib/python3*/EXTERNALLY-MANAGED", 0, NULL, &marks) == 0) {
		pip = FIND_PIP_MARKED;
	}
	globfree(&marks);
	return pip;
}

kz_status find_failed(struct find *find, const char *name, const char *what_it_is, kz_error *err)
{
	if (find->no_memory) {
		return error_no_memory(err);
	}
	bool mine = error_is_clean(err);
	const char *variable = find->what->variable;
	if (find_is_set(variable)) {
		error_set(err, KZ_NO_COMPILER, "no usable %s in %s='%s'", name, variable,
			env_get(variable));
	} else {
		error_set(err, KZ_NO_COMPILER, "%s, NVIDIA's %s, was not found", name, what_it_is);
	}
	if (mine) {
		error_add_hint(err, find->what->hints[find_which_pip()]);
		error_take_log(err, str_take(&find->log));
	}
	return KZ_NO_COMPILER;
}
