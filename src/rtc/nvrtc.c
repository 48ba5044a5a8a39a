/* SPDX-License-Identifier: MIT */
/*
 * Find NVRTC, load it, and find the CUDA headers that go with it.
 *
 * A search walks *places*: a place is a folder that may hold the library.  Roots (a toolkit, a
 * Python environment, the folder in KUDZU_NVRTC) are turned into places by glob patterns.  The
 * first library that loads and has every needed symbol wins; everything else that was looked at is
 * a line of the search's log, which is what the user reads when nothing was found.
 */
#include "../base/common.h"

#include "nvrtc.h"

#include "../base/alloc.h"
#include "../base/dl.h"
#include "../base/file.h"
#include "../base/str.h"

#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__)
#define TARGET "sbsa-linux"
#else
#define TARGET "x86_64-linux"
#endif

static const char hint_missing[] =
	"install the CUDA toolkit or NVIDIA's nvidia-cuda-nvrtc wheel, or set KUDZU_NVRTC to the "
	"library or its folder; 'kudzu doctor' shows what was found";

#define ROW(name, needed) {"nvrtc" #name, offsetof(struct nvrtc, name), needed}
static const struct dl_row rows[] = {
	ROW(Version, true),
	ROW(CreateProgram, true),
	ROW(DestroyProgram, true),
	ROW(CompileProgram, true),
	ROW(GetPTXSize, true),
	ROW(GetPTX, true),
	ROW(GetProgramLogSize, true),
	ROW(GetProgramLog, true),
	ROW(AddNameExpression, true),
	ROW(GetLoweredName, true),
	ROW(GetCUBINSize, false),
	ROW(GetCUBIN, false),
	ROW(GetNumSupportedArchs, false),
	ROW(GetSupportedArchs, false),
};
#undef ROW

struct search {
	struct nvrtc *nvrtc;
	void *object;    /* the library, once one was loaded */
	char *real_path; /* of it, links followed */
	struct str log;
	bool no_memory;
};

static void nvrtc_free(struct nvrtc *nvrtc)
{
	if (nvrtc) {
		for (size_t i = 0; i < nvrtc->include_count; i++) {
			mem_free(nvrtc->include_dirs[i]);
		}
		mem_free(nvrtc->include_dirs);
		mem_free(nvrtc->path);
		mem_free(nvrtc->builtins);
		mem_free(nvrtc->header_version);
		mem_free(nvrtc);
	}
}

/* What a folder or library is called in the log. */
static void search_note(struct search *search, const char *path, const char *why)
{
	/* The loader's words begin with the path already. */
	bool has_path = strncmp(why, path, strlen(path)) == 0;
	str_addf(&search->log, "  %s%s%s\n", has_path ? "" : path, has_path ? "" : ": ", why);
}

/* The libraries of one folder that may be it, best first: libnvrtc.so.13 before .12 before none;
 * NVIDIA's other build, libnvrtc.alt.so, does not match. */
static int version_compare(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)b, *(const char *const *)a);
}

static void glob_newest_first(glob_t *found)
{
	qsort(found->gl_pathv, found->gl_pathc, sizeof(*found->gl_pathv), version_compare);
}

static int int_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Older libraries cannot say what they support: the table stays empty. */
static void ask_archs(struct nvrtc *nvrtc)
{
	int count = 0;
	if (nvrtc->GetNumSupportedArchs && nvrtc->GetSupportedArchs
	    && nvrtc->GetNumSupportedArchs(&count) == 0 && count > 0
	    && (size_t)count <= countof(nvrtc->archs)
	    && nvrtc->GetSupportedArchs(nvrtc->archs) == 0) {
		nvrtc->arch_count = count;
		qsort(nvrtc->archs, (size_t)count, sizeof(nvrtc->archs[0]), int_compare);
	}
}

/* Load the builtins from beside a library; they are named by the exact version. */
static bool builtins_beside(struct search *search, const char *library)
{
	char name[64];
	char why[512];
	snprintf(name, sizeof(name), "libnvrtc-builtins.so.%d.%d", search->nvrtc->major,
		search->nvrtc->minor);
	char *folder = file_folder(library);
	char *path = folder ? file_join(folder, name) : NULL;
	mem_free(folder);
	if (!path) {
		search->no_memory = true;
	} else if (dl_open(path, why, sizeof(why))) {
		search->nvrtc->builtins = path;
		return true;
	} else {
		search_note(search, path, why);
	}
	mem_free(path);
	return false;
}

/* What the library at `path` is, where it lies and where its links lead.  Without builtins here
 * libnvrtc may still find them by itself; else the first compile will say so. */
static void take_library(struct search *search, const char *path)
{
	struct nvrtc *nvrtc = search->nvrtc;
	search->real_path = dl_path((const void *)(uintptr_t)nvrtc->Version);
	bool by_path = strchr(path, '/') || !search->real_path;
	nvrtc->path = mem_strdup(by_path ? path : search->real_path);
	if (!search->real_path || !nvrtc->path) {
		search->no_memory = true;
		return;
	}
	ask_archs(nvrtc);
	if (!builtins_beside(search, nvrtc->path) && !search->no_memory) {
		builtins_beside(search, search->real_path);
	}
}

static bool try_library(struct search *search, const char *path)
{
	char why[512];
	void *object = dl_open(path, why, sizeof(why));
	if (!object) {
		search_note(search, path, why);
		return false;
	}
	struct nvrtc *nvrtc = search->nvrtc;
	const char *missing = dl_fill(object, rows, countof(rows), nvrtc);
	if (missing) {
		str_addf(&search->log, "  %s: lacks %s\n", path, missing);
	} else if (nvrtc->Version(&nvrtc->major, &nvrtc->minor) != 0) {
		search_note(search, path, "nvrtcVersion fails");
	} else {
		search->object = object;
		take_library(search, path);
		return true;
	}
	dl_close(object);
	return false;
}

/* Whether the search is over, by success or for want of memory. */
static bool search_done(const struct search *search)
{
	return search->object || search->no_memory || search->log.failed;
}

/* Try the libraries that match a pattern, newest first. */
static void try_pattern(struct search *search, const char *pattern)
{
	glob_t found = {0};
	int result = glob(pattern, 0, NULL, &found);
	if (result == GLOB_NOSPACE) {
		search->no_memory = true;
	} else if (result != 0) {
		search_note(search, pattern, "no such file");
	} else {
		glob_newest_first(&found);
		for (size_t i = 0; i < found.gl_pathc && !search_done(search); i++) {
			try_library(search, found.gl_pathv[i]);
		}
	}
	globfree(&found);
}

/* A path as a pattern that matches it alone. */
static void add_escaped(struct str *out, const char *path)
{
	for (; *path; path++) {
		str_add(out, strchr("*?[\\", *path) ? "\\" : "");
		str_addc(out, *path);
	}
}

/* Try each place, a pattern, below a root, a path. */
static void try_root(struct search *search, const char *root, const char *const *places)
{
	for (; *places && !search_done(search); places++) {
		struct str pattern = STR_INIT;
		add_escaped(&pattern, root);
		str_addf(&pattern, "%s/libnvrtc.so*", *places);
		if (pattern.failed) {
			search->no_memory = true;
		} else {
			try_pattern(search, pattern.data);
		}
		str_free(&pattern);
	}
}

static const char *const toolkit_places[] = {"/lib64", "/lib", "/targets/" TARGET "/lib", NULL};
static const char *const environment_places[] = {
	"/lib/python3*/site-packages/nvidia/cu*/lib",
	"/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib",
	"/lib",
	"/targets/" TARGET "/lib",
	NULL,
};
static const char *const named_places[] = {
	"", "/lib64", "/lib", "/targets/" TARGET "/lib",
	"/nvidia/cu*/lib", "/nvidia/cuda_nvrtc/lib", "/cu*/lib", "/cuda_nvrtc/lib",
	"/lib/python3*/site-packages/nvidia/*/lib",
	NULL,
};

/* What the user names is what is used: nothing else is tried when it is of no use. */
static void search_named(struct search *search, const char *named)
{
	if (file_is_folder(named)) {
		try_root(search, named, named_places);
	} else {
		try_library(search, named);
	}
}

static void search_toolkits(struct search *search)
{
	const char *const variables[] = {"CUDA_PATH", "CUDA_HOME"};
	for (size_t i = 0; i < countof(variables) && !search_done(search); i++) {
		const char *root = secure_getenv(variables[i]);
		if (root && root[0]) {
			try_root(search, root, toolkit_places);
		}
	}
	if (!search_done(search)) {
		try_root(search, "/usr/local/cuda", toolkit_places);
	}
	glob_t found = {0};
	if (!search_done(search) && glob("/usr/local/cuda-*", 0, NULL, &found) == 0) {
		glob_newest_first(&found);
		for (size_t i = 0; i < found.gl_pathc && !search_done(search); i++) {
			try_root(search, found.gl_pathv[i], toolkit_places);
		}
	}
	globfree(&found);
}

static void search_wheels(struct search *search)
{
	static const struct {
		const char *variable;
		const char *below;
	} environments[] = {{"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}, {"HOME", "/.local"}};
	for (size_t i = 0; i < countof(environments) && !search_done(search); i++) {
		const char *folder = secure_getenv(environments[i].variable);
		char root[PATH_MAX];
		if (folder && folder[0]) {
			snprintf(root, sizeof(root), "%s%s", folder, environments[i].below);
			try_root(search, root, environment_places);
		}
	}
}

static void search_loader(struct search *search)
{
	static const char *const sonames[] = {
		"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
	};
	for (size_t i = 0; i < countof(sonames) && !search_done(search); i++) {
		try_library(search, sonames[i]);
	}
}

static bool add_include(struct nvrtc *nvrtc, const char *folder)
{
	char real[PATH_MAX];
	if (!realpath(folder, real)) {
		return true;
	}
	for (size_t i = 0; i < nvrtc->include_count; i++) {
		if (strcmp(nvrtc->include_dirs[i], real) == 0) {
			return true;
		}
	}
	char **grown = mem_realloc(nvrtc->include_dirs,
		(nvrtc->include_count + 1) * sizeof(*grown));
	if (grown) {
		nvrtc->include_dirs = grown;
		grown[nvrtc->include_count] = mem_strdup(real);
	}
	if (!grown || !grown[nvrtc->include_count]) {
		return false;
	}
	nvrtc->include_count++;
	return true;
}

/* A folder counts if something of CUDA is in it: /usr/include alone would do harm. */
static bool add_cuda_include(struct nvrtc *nvrtc, const char *folder)
{
	static const char *const marks[] = {
		"cuda_fp16.h", "cooperative_groups.h", "curand_kernel.h", "cuda/std/cstdint",
		"cccl/cuda/std/cstdint",
	};
	bool ok = true;
	bool marked = false;
	for (size_t i = 0; i < countof(marks) && ok && !marked; i++) {
		char *path = file_join(folder, marks[i]);
		ok = path != NULL;
		marked = path && file_is_regular(path);
		mem_free(path);
	}
	if (!ok || !marked) {
		return ok;
	}
	char *cccl = file_join(folder, "cccl");
	ok = cccl && add_include(nvrtc, folder)
	     && (!file_is_folder(cccl) || add_include(nvrtc, cccl));
	mem_free(cccl);
	return ok;
}

/* KUDZU_CUDA_INCLUDE is a list of folders, as PATH is; they are taken as they are. */
static bool add_named_includes(struct nvrtc *nvrtc, const char *list)
{
	bool ok = true;
	while (*list && ok) {
		size_t len = strcspn(list, ":");
		char *folder = mem_strndup(list, len);
		char *cccl = folder ? file_join(folder, "cccl") : NULL;
		ok = cccl && (len == 0 || add_include(nvrtc, folder))
		     && (!file_is_folder(cccl) || add_include(nvrtc, cccl));
		mem_free(cccl);
		mem_free(folder);
		list += len + (list[len] == ':');
	}
	return ok;
}

/* Seen from the folder of a library: a toolkit, an environment, the wheels beside it, or Debian's
 * /usr/lib/x86_64-linux-gnu. */
static bool find_includes_from(struct nvrtc *nvrtc, const char *library)
{
	static const char *const places[] = {
		"../include", "../targets/" TARGET "/include", "../../cuda_runtime/include",
		"../../cuda_cccl/include", "../../curand/include", "../../include",
	};
	char *folder = file_folder(library);
	bool ok = folder != NULL;
	for (size_t i = 0; i < countof(places) && ok; i++) {
		if (i + 1 == countof(places) && nvrtc->include_count > 0) {
			break;
		}
		char *place = file_join(folder, places[i]);
		ok = place && add_cuda_include(nvrtc, place);
		mem_free(place);
	}
	mem_free(folder);
	return ok;
}

static bool find_includes(struct nvrtc *nvrtc, const char *real_path)
{
	const char *named = secure_getenv("KUDZU_CUDA_INCLUDE");
	if (named && named[0]) {
		return add_named_includes(nvrtc, named);
	}
	return find_includes_from(nvrtc, nvrtc->path)
	       && (nvrtc->include_count > 0 || find_includes_from(nvrtc, real_path));
}

/* The number in cuda.h: 13000 is 13.0.  Looked for by line, for the file is a megabyte. */
static int header_number(const char *path)
{
	static const char define[] = "#define CUDA_VERSION ";
	int number = 0;
	char line[256];
	FILE *file = fopen(path, "re");
	while (file && number == 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, define, sizeof(define) - 1) == 0) {
			number = atoi(line + sizeof(define) - 1);
		}
	}
	if (file) {
		fclose(file);
	}
	return number;
}

static bool find_header_version(struct nvrtc *nvrtc)
{
	for (size_t i = 0; i < nvrtc->include_count; i++) {
		char *path = file_join(nvrtc->include_dirs[i], "cuda.h");
		int number = path ? header_number(path) : 0;
		mem_free(path);
		if (!path) {
			return false;
		}
		if (number > 0) {
			char text[32];
			snprintf(text, sizeof(text), "%d.%d", number / 1000, number % 1000 / 10);
			nvrtc->header_version = mem_strdup(text);
			return nvrtc->header_version != NULL;
		}
	}
	return true;
}

static void search_all(struct search *search)
{
	const char *named = secure_getenv("KUDZU_NVRTC");
	if (named && named[0]) {
		search_named(search, named);
		return;
	}
	search_toolkits(search);
	if (!search_done(search)) {
		search_wheels(search);
	}
	if (!search_done(search)) {
		search_loader(search);
	}
}

static kz_status search_fail(struct search *search, kz_error *err)
{
	if (search->no_memory) {
		return error_no_memory(err);
	}
	bool mine = error_is_clean(err);
	const char *named = secure_getenv("KUDZU_NVRTC");
	if (named && named[0]) {
		error_set(err, KZ_NO_COMPILER, "no usable NVRTC in KUDZU_NVRTC='%s'", named);
	} else {
		error_set(err, KZ_NO_COMPILER, "NVRTC, NVIDIA's runtime compiler, was not found");
	}
	if (mine) {
		error_add_hint(err, hint_missing);
		error_take_log(err, str_take(&search->log));
	}
	return KZ_NO_COMPILER;
}

static kz_status nvrtc_load(struct nvrtc **out, kz_error *err)
{
	struct search search = {.nvrtc = mem_zalloc(1, sizeof(struct nvrtc)), .log = STR_INIT};
	if (!search.nvrtc) {
		return error_no_memory(err);
	}
	kz_status status = KZ_OK;
	str_add(&search.log, "NVRTC was looked for in:\n");
	search_all(&search);
	search.no_memory |= search.log.failed;
	if (search.object && !search.no_memory
	    && (!find_includes(search.nvrtc, search.real_path)
		|| !find_header_version(search.nvrtc))) {
		search.no_memory = true;
	}
	if (search.object && !search.no_memory) {
		*out = search.nvrtc;
	} else {
		status = search_fail(&search, err);
		nvrtc_free(search.nvrtc);
	}
	str_free(&search.log);
	mem_free(search.real_path);
	return status;
}

kz_status nvrtc_open(const struct nvrtc **out, kz_error *err)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct nvrtc *loaded;
	kz_status status = KZ_OK;

	pthread_mutex_lock(&mutex);
	if (!loaded) {
		status = nvrtc_load(&loaded, err);
	}
	*out = loaded;
	pthread_mutex_unlock(&mutex);
	return status;
}
