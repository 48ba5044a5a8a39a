/* SPDX-License-Identifier: MIT */
/*
 * Load NVRTC (see find.c for where it is looked for), and find the CUDA headers that go with it.
 * The first library that loads and has every needed symbol wins.
 */
#include "base/common.h"

#include "lib/rtc/nvrtc.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/exit_gate.h"
#include "base/file.h"
#include "lib/rtc/cuda_headers.h"
#include "lib/rtc/find.h"
#include "lib/rtc/thread.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	ROW(GetLTOIRSize, false),
	ROW(GetLTOIR, false),
	ROW(GetPCHCreateStatus, false),
	ROW(GetPCHHeapSizeRequired, false),
	ROW(GetPCHHeapSize, false),
	ROW(SetPCHHeapSize, false),
	ROW(GetNumSupportedArchs, false),
	ROW(GetSupportedArchs, false),
	ROW(InstallBundledHeaders, false),
	ROW(GetBundledHeadersInfo, false),
};
#undef ROW

/* NVRTC while it is being looked for. */
struct candidate {
	struct nvrtc *nvrtc;
	char *real_path; /* of the library, links followed */
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

static int nvrtc_compare_archs(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Older libraries cannot say what they support: the table stays empty. */
static void nvrtc_ask_archs(struct nvrtc *nvrtc)
{
	int count = 0;
	if (nvrtc->GetNumSupportedArchs && nvrtc->GetSupportedArchs
	    && nvrtc->GetNumSupportedArchs(&count) == 0 && count > 0
	    && (size_t)count <= countof(nvrtc->archs)
	    && nvrtc->GetSupportedArchs(nvrtc->archs) == 0) {
		nvrtc->arch_count = count;
		qsort(nvrtc->archs, (size_t)count, sizeof(nvrtc->archs[0]), nvrtc_compare_archs);
	}
}

/* Load the builtins from beside a library; they are named by the exact version. */
static bool nvrtc_builtins_beside(struct find *find, struct nvrtc *nvrtc, const char *library)
{
	char name[64];
	char why[512];
	snprintf(name, sizeof(name), "libnvrtc-builtins.so.%d.%d", nvrtc->major, nvrtc->minor);
	char *folder = file_folder(library);
	char *path = folder ? file_join(folder, name) : NULL;
	mem_free(folder);
	if (!path) {
		find->no_memory = true;
	} else if (dl_open(path, why, sizeof(why))) {
		nvrtc->builtins = path;
		return true;
	} else {
		find_note(find, path, why);
	}
	mem_free(path);
	return false;
}

/* What the library at `path` is, where it lies and where its links lead.  Without builtins here
 * libnvrtc may still find them by itself; else the first compile will say so. */
static void nvrtc_look_at_library(struct find *find, struct candidate *candidate, const char *path)
{
	struct nvrtc *nvrtc = candidate->nvrtc;
	candidate->real_path = dl_path((const void *)(uintptr_t)nvrtc->Version);
	bool by_path = strchr(path, '/') || !candidate->real_path;
	nvrtc->path = mem_strdup(by_path ? path : candidate->real_path);
	if (!candidate->real_path || !nvrtc->path) {
		find->no_memory = true;
		return;
	}
	nvrtc_ask_archs(nvrtc);
	if (!nvrtc_builtins_beside(find, nvrtc, nvrtc->path) && !find->no_memory) {
		nvrtc_builtins_beside(find, nvrtc, candidate->real_path);
	}
}

static bool nvrtc_take_library(struct find *find, void *object, const char *path)
{
	struct candidate *candidate = find->arg;
	struct nvrtc *nvrtc = candidate->nvrtc;
	const char *missing = dl_fill(object, rows, countof(rows), nvrtc);
	if (missing) {
		str_addf(&find->log, "  %s: lacks %s\n", path, missing);
		return false;
	}
	if (nvrtc->Version(&nvrtc->major, &nvrtc->minor) != 0) {
		find_note(find, path, "nvrtcVersion fails");
		return false;
	}
	nvrtc_look_at_library(find, candidate, path);
	return true;
}

static const char *const sonames[] = {
	"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL,
};
static const char *const hints[] = FIND_HINTS("nvidia-cuda-nvrtc", "KUDZU_NVRTC");
static const struct find_what what = {
	"libnvrtc.so", "KUDZU_NVRTC", sonames, nvrtc_take_library, hints,
};

/* Toolkits have several names for one folder: that it is known takes less to see than where its
 * links lead. */
static bool nvrtc_has_include(const struct nvrtc *nvrtc, const char *folder)
{
	bool has = false;
	for (size_t i = 0; i < nvrtc->include_count && !has; i++) {
		has = file_is_same(nvrtc->include_dirs[i], folder);
	}
	return has;
}

static bool nvrtc_add_include(struct nvrtc *nvrtc, const char *folder)
{
	char real[PATH_MAX];
	if (nvrtc_has_include(nvrtc, folder) || !realpath(folder, real)) {
		return true;
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
static bool nvrtc_add_cuda_include(struct nvrtc *nvrtc, const char *folder)
{
	unsigned parts;
	bool ok = cuda_parts_find(&parts, folder);
	if (!ok || !parts) {
		return ok;
	}
	char *cccl = file_join(folder, "cccl");
	ok = cccl && nvrtc_add_include(nvrtc, folder)
	     && (!file_is_folder(cccl) || nvrtc_add_include(nvrtc, cccl));
	mem_free(cccl);
	return ok;
}

/* KUDZU_CUDA_INCLUDE is a list of folders, as PATH is; they are taken as they are. */
static bool nvrtc_add_named_includes(struct nvrtc *nvrtc, const char *list)
{
	bool ok = true;
	while (*list && ok) {
		size_t len = strcspn(list, ":");
		char *folder = mem_strndup(list, len);
		char *cccl = folder ? file_join(folder, "cccl") : NULL;
		ok = cccl && (len == 0 || nvrtc_add_include(nvrtc, folder))
		     && (!file_is_folder(cccl) || nvrtc_add_include(nvrtc, cccl));
		mem_free(cccl);
		mem_free(folder);
		list += len + (list[len] == ':');
	}
	return ok;
}

/* Seen from the folder of a library: a toolkit, an environment, the wheels beside it, or Debian's
 * /usr/lib/x86_64-linux-gnu. */
static bool nvrtc_find_includes_from(struct nvrtc *nvrtc, const char *library)
{
	static const char *const places[] = {
		"../include", "../targets/" FIND_TARGET "/include", "../../cuda_runtime/include",
		"../../cuda_nvcc/include", "../../cuda_cccl/include", "../../curand/include",
		"../../include",
	};
	char *folder = file_folder(library);
	bool ok = folder;
	for (size_t i = 0; i < countof(places) && ok; i++) {
		if (i + 1 == countof(places) && nvrtc->include_count > 0) {
			break;
		}
		char *place = file_join(folder, places[i]);
		ok = place && nvrtc_add_cuda_include(nvrtc, place);
		mem_free(place);
	}
	mem_free(folder);
	return ok;
}

/* They are beside the library as a rule, else where its links lead, which takes a look at each name
 * on the way. */
static bool nvrtc_find_includes(struct nvrtc *nvrtc)
{
	char real[PATH_MAX];
	const char *named = env_get("KUDZU_CUDA_INCLUDE");
	if (named && named[0]) {
		return nvrtc_add_named_includes(nvrtc, named);
	}
	return nvrtc_find_includes_from(nvrtc, nvrtc->path)
	       && (nvrtc->include_count > 0 || !realpath(nvrtc->path, real)
		   || nvrtc_find_includes_from(nvrtc, real));
}

/* The number in cuda.h: 13000 is 13.0.  Looked for by line, for the file is a megabyte. */
static int nvrtc_header_number(const char *path)
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

static bool nvrtc_find_header_version(struct nvrtc *nvrtc)
{
	for (size_t i = 0; i < nvrtc->include_count; i++) {
		char *path = file_join(nvrtc->include_dirs[i], "cuda.h");
		int number = path ? nvrtc_header_number(path) : 0;
		mem_free(path);
		if (!path) {
			return false;
		}
		if (number > 0) {
			char text[32];
			snprintf(text, sizeof(text), "%d.%d", number / 1000, number % 1000 / 10);
			nvrtc->header_version = mem_strdup(text);
			return nvrtc->header_version;
		}
	}
	return true;
}

static kz_status nvrtc_load(struct nvrtc **out, kz_error *err)
{
	struct candidate candidate = {.nvrtc = mem_zalloc(1, sizeof(struct nvrtc))};
	struct find find = {.what = &what, .arg = &candidate, .log = STR_INIT};
	if (!candidate.nvrtc) {
		return error_no_memory(err);
	}
	kz_status st = KZ_OK;
	str_add(&find.log, "NVRTC was looked for in:\n");
	find_library(&find);
	find.no_memory |= find.log.failed;
	if (find.found && !find.no_memory
	    && (!nvrtc_find_includes(candidate.nvrtc)
		|| !nvrtc_find_header_version(candidate.nvrtc))) {
		find.no_memory = true;
	}
	if (find.found && !find.no_memory) {
		*out = candidate.nvrtc;
	} else {
		st = find_failed(&find, "NVRTC", "runtime compiler", err);
		nvrtc_free(candidate.nvrtc);
	}
	str_free(&find.log);
	mem_free(candidate.real_path);
	return st;
}

bool nvrtc_bundle(struct nvrtc_bundle *out, const struct nvrtc *nvrtc)
{
	*out = (struct nvrtc_bundle){.is_there = 0};
	return nvrtc->InstallBundledHeaders && nvrtc->GetBundledHeadersInfo
		&& nvrtc->GetBundledHeadersInfo(out, NULL) == 0 && out->is_there;
}

/* The arguments of InstallBundledHeaders, and what it answers. */
struct nvrtc_install {
	const struct nvrtc *nvrtc;
	const char *folder;
	nvrtcResult code;
	char *why;
};

/* The text is one of NVRTC's for this thread. */
static void *nvrtc_install_main(void *arg)
{
	struct nvrtc_install *install = arg;
	const char *why = NULL;
	install->code = install->nvrtc->InstallBundledHeaders(install->folder, 0, &why);
	install->why = install->code && why ? mem_strdup(why) : NULL;
	return NULL;
}

kz_status nvrtc_install_headers(const struct nvrtc *nvrtc, const char *folder, kz_error *err)
{
	struct nvrtc_install install = {nvrtc, folder, 0, NULL};
	kz_status st = exit_gate_pass(err);
	if (st) {
		return st;
	}
	st = thread_run(nvrtc_install_main, &install, err);
	exit_gate_leave();
	if (!st && install.code) {
		st = error_set(err, KZ_IO, "NVRTC cannot write its headers to '%s': %s", folder,
			install.why ? install.why : "it gives no reason");
	}
	mem_free(install.why);
	return st;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nvrtc *loaded;

const struct nvrtc *nvrtc_loaded(void)
{
	pthread_mutex_lock(&mutex);
	const struct nvrtc *nvrtc = loaded;
	pthread_mutex_unlock(&mutex);
	return nvrtc;
}

bool nvrtc_locate(struct nvrtc_place *out)
{
	struct nvrtc nvrtc = {.path = NULL};
	struct find find = {.what = &what, .look_only = true, .log = STR_INIT};
	find_library(&find);
	nvrtc.path = find.path;
	bool ok = find.path && !find.no_memory && nvrtc_find_includes(&nvrtc);
	*out = (struct nvrtc_place){nvrtc.path, nvrtc.include_dirs, nvrtc.include_count};
	if (!ok) {
		nvrtc_place_free(out);
	}
	str_free(&find.log);
	return ok;
}

void nvrtc_place_free(struct nvrtc_place *place)
{
	for (size_t i = 0; i < place->include_count; i++) {
		mem_free(place->include_dirs[i]);
	}
	mem_free(place->include_dirs);
	mem_free(place->path);
	*place = (struct nvrtc_place){.path = NULL};
}

kz_status nvrtc_open(const struct nvrtc **out, kz_error *err)
{
	kz_status st = KZ_OK;

	pthread_mutex_lock(&mutex);
	if (!loaded && !(st = exit_gate_pass(err))) {
		st = nvrtc_load(&loaded, err);
		exit_gate_leave();
	}
	*out = loaded;
	pthread_mutex_unlock(&mutex);
	return st;
}
