/* SPDX-License-Identifier: MIT */
/*
 * Load nvJitLink.
 *
 * It should be of NVRTC's version, whose LTO code it reads.  So where the user says which NVRTC to
 * take, the nvJitLink beside that one comes first.
 */
#include "base/common.h"

#include "lib/rtc/nvjitlink.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/exit_gate.h"
#include "base/file.h"
#include "lib/rtc/find.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name, needed) {"nvJitLink" #name, offsetof(struct nvjitlink, name), needed}
static const struct dl_row rows[] = {
	ROW(Create, true),
	ROW(Destroy, true),
	ROW(AddData, true),
	ROW(Complete, true),
	ROW(GetLinkedCubinSize, true),
	ROW(GetLinkedCubin, true),
	ROW(GetLinkedPtxSize, true),
	ROW(GetLinkedPtx, true),
	ROW(GetErrorLogSize, true),
	ROW(GetErrorLog, true),
	ROW(GetInfoLogSize, true),
	ROW(GetInfoLog, true),
	ROW(Version, false),
};
#undef ROW

static bool nvjitlink_take_library(struct find *find, void *object, const char *path)
{
	struct nvjitlink *linker = find->arg;
	const char *missing = dl_fill(object, rows, countof(rows), linker);
	if (missing) {
		str_addf(&find->log, "  %s: lacks %s\n", path, missing);
		return false;
	}
	if (linker->Version && linker->Version(&linker->major, &linker->minor) != 0) {
		find_note(find, path, "nvJitLinkVersion fails");
		return false;
	}
	linker->path = strchr(path, '/') ? mem_strdup(path)
		: dl_path((const void *)(uintptr_t)linker->Create);
	find->no_memory = !linker->path;
	return true;
}

static const char *const sonames[] = {
	"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so", NULL,
};
static const char *const hints[] = FIND_HINTS("nvidia-nvjitlink", "KUDZU_NVJITLINK");
static const struct find_what what = {
	"libnvJitLink.so", "KUDZU_NVJITLINK", sonames, nvjitlink_take_library, hints,
};

/* Look beside the NVRTC that the user names, unless nvJitLink is named itself. */
static void nvjitlink_look_beside_nvrtc(struct find *find)
{
	const char *named = env_get(what.variable);
	const char *nvrtc = env_get("KUDZU_NVRTC");
	if ((named && named[0]) || !nvrtc || !strchr(nvrtc, '/')) {
		return;
	}
	char *folder = file_is_folder(nvrtc) ? mem_strdup(nvrtc) : file_folder(nvrtc);
	if (!folder) {
		find->no_memory = true;
	} else if (file_is_folder(folder)) {
		find_in(find, folder);
	}
	mem_free(folder);
}

static kz_status nvjitlink_load(struct nvjitlink **out, kz_error *err)
{
	struct nvjitlink *linker = mem_zalloc(1, sizeof(*linker));
	struct find find = {.what = &what, .arg = linker, .log = STR_INIT};
	if (!linker) {
		return error_no_memory(err);
	}
	kz_status st = KZ_OK;
	str_add(&find.log, "nvJitLink was looked for in:\n");
	nvjitlink_look_beside_nvrtc(&find);
	if (!find.found && !find.no_memory) {
		find_library(&find);
	}
	find.no_memory |= find.log.failed;
	if (find.found && !find.no_memory) {
		*out = linker;
	} else {
		st = find_failed(&find, "nvJitLink", "linker", err);
		mem_free(linker->path);
		mem_free(linker);
	}
	str_free(&find.log);
	return st;
}

kz_status nvjitlink_open(const struct nvjitlink **out, kz_error *err)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct nvjitlink *loaded;
	kz_status st = KZ_OK;

	pthread_mutex_lock(&mutex);
	if (!loaded && !(st = exit_gate_pass(err))) {
		st = nvjitlink_load(&loaded, err);
		exit_gate_leave();
	}
	*out = loaded;
	pthread_mutex_unlock(&mutex);
	return st;
}
