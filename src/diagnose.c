/* SPDX-License-Identifier: MIT */
/*
 * What works on this machine.  Each part of it is tried as a program would use it, and every error
 * value becomes a finding: its message is the text, its hint the fix.  The list and its texts live
 * in one arena.  When memory runs out the list remembers, and goes on without effect.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "objects.h"
#include "rtc/nvrtc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct finding {
	struct finding *next;
	kz_finding public;
};

struct kz_diagnosis {
	struct arena arena;
	struct finding *first;
	struct finding **end;
	int64_t count;
	bool no_memory;
	bool has_compiler;
	int usable_gpus;
	bool has_cpu;
};

/* `text` may be NULL: memory ran out while it was made. */
static void add(struct kz_diagnosis *diagnosis, kz_verdict verdict, const char *topic,
	const char *text, const char *fix)
{
	struct finding *finding = arena_alloc(&diagnosis->arena, 1, sizeof(*finding));
	if (!finding || !text) {
		diagnosis->no_memory = true;
		return;
	}
	finding->public = (kz_finding){verdict, topic, text, fix};
	*diagnosis->end = finding;
	diagnosis->end = &finding->next;
	diagnosis->count++;
}

#define TEXT(diagnosis, ...) arena_printf(&(diagnosis)->arena, __VA_ARGS__)

static void add_error(struct kz_diagnosis *diagnosis, kz_verdict verdict, const char *topic,
	const char *what, const kz_error *err)
{
	diagnosis->no_memory |= err->status == KZ_NO_MEMORY;
	add(diagnosis, verdict, topic,
		TEXT(diagnosis, "%s%s%s", what, *what ? ": " : "", err->message), err->hint);
}

/* Devices */

/* Open a device as a program would, and say what it is.  False if it cannot be used. */
static bool look_at_device(struct kz_diagnosis *diagnosis, const char *name)
{
	kz_error err = KZ_ERROR_INIT;
	struct kz_device *dev;
	if (kz_device_open(&dev, name, &err)) {
		add_error(diagnosis, KZ_VERDICT_PROBLEM, "device", name, &err);
		kz_error_clear(&err);
		return false;
	}
	const kz_device_info *info = &dev->info;
	add(diagnosis, KZ_VERDICT_OK, "device", TEXT(diagnosis,
		"%s: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB", dev->name,
		dev->model, info->compute_capability / 10, info->compute_capability % 10,
		info->multiprocessors, (double)info->total_memory / (1 << 30)), NULL);
	kz_device_close(dev);
	return true;
}

static void look_at_gpus(struct kz_diagnosis *diagnosis)
{
	kz_error err = KZ_ERROR_INIT;
	struct drv *drv;
	if (drv_open(&drv, DRV_CUDA, &err)) {
		add_error(diagnosis, diagnosis->has_cpu ? KZ_VERDICT_NOTE : KZ_VERDICT_PROBLEM,
			"driver", "", &err);
		kz_error_clear(&err);
		return;
	}
	add(diagnosis, KZ_VERDICT_OK, "driver", TEXT(diagnosis, "CUDA %d.%d, %d device%s, %s",
		drv->version / 1000, drv->version % 1000 / 10, drv->device_count,
		drv->device_count == 1 ? "" : "s", drv->path), NULL);
	for (int i = 0; i < drv->device_count; i++) {
		char name[32];
		snprintf(name, sizeof(name), "cuda:%d", i);
		diagnosis->usable_gpus += look_at_device(diagnosis, name);
	}
}

static void look_at_cpu(struct kz_diagnosis *diagnosis)
{
	kz_error err = KZ_ERROR_INIT;
	struct drv *drv;
	if (drv_open(&drv, DRV_CPU, &err)) {
		add_error(diagnosis, kz_cuda_available() ? KZ_VERDICT_NOTE : KZ_VERDICT_PROBLEM,
			"cpu driver", "", &err);
		kz_error_clear(&err);
		return;
	}
	add(diagnosis, KZ_VERDICT_OK, "cpu driver", TEXT(diagnosis, "%s", drv->path), NULL);
	diagnosis->has_cpu = look_at_device(diagnosis, "cpu");
}

static void look_at_choice(struct kz_diagnosis *diagnosis)
{
	const char *chosen = secure_getenv("KUDZU_DEVICE");
	const char *what = chosen && *chosen ? "as KUDZU_DEVICE says" : "by default";
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev;
	if (kz_device_open(&dev, NULL, &err)) {
		add_error(diagnosis, KZ_VERDICT_PROBLEM, "choice", "no device", &err);
		kz_error_clear(&err);
		return;
	}
	const char *note = kz_device_note(dev);
	add(diagnosis, KZ_VERDICT_OK, "choice",
		TEXT(diagnosis, "programs run on %s, %s%s%s%s", kz_device_name(dev), what,
			note ? " (" : "", note ? note : "", note ? ")" : ""),
		NULL);
	kz_device_close(dev);
}

/* Compiling */

static void look_at_headers(struct kz_diagnosis *diagnosis, const struct nvrtc *nvrtc)
{
	static const char fix[] = "install the CUDA headers of NVRTC's version; kernels that "
		"include none of them need nothing";
	if (nvrtc->include_count == 0) {
		add(diagnosis, KZ_VERDICT_NOTE, "headers",
			"no CUDA headers: kernels cannot include them", fix);
		return;
	}
	int major, minor;
	const char *version = nvrtc->header_version;
	bool fits = !version || sscanf(version, "%d.%d", &major, &minor) != 2
		|| (major == nvrtc->major && minor == nvrtc->minor);
	add(diagnosis, fits ? KZ_VERDICT_OK : KZ_VERDICT_PROBLEM, "headers",
		TEXT(diagnosis, "CUDA %s, %s%s", version ? version : "of unknown version",
			nvrtc->include_dirs[0], fits ? "" : "; NVRTC is of another version"),
		fits ? NULL : fix);
}

static void look_at_compiler(struct kz_diagnosis *diagnosis)
{
	const struct nvrtc *nvrtc;
	kz_error err = KZ_ERROR_INIT;
	if (nvrtc_open(&nvrtc, &err)) {
		add_error(diagnosis, KZ_VERDICT_PROBLEM, "nvrtc", "", &err);
		kz_error_clear(&err);
		return;
	}
	diagnosis->has_compiler = true;
	struct str archs = STR_INIT;
	for (int i = 0; i < nvrtc->arch_count; i++) {
		str_addf(&archs, "%s%d", i ? " " : ", for compute capability ", nvrtc->archs[i]);
	}
	diagnosis->no_memory |= archs.failed;
	add(diagnosis, KZ_VERDICT_OK, "nvrtc",
		TEXT(diagnosis, "%d.%d, %s%s", nvrtc->major, nvrtc->minor, nvrtc->path,
			archs.data ? archs.data : ""),
		NULL);
	str_free(&archs);
	if (nvrtc->builtins) {
		add(diagnosis, KZ_VERDICT_OK, "nvrtc builtins",
			TEXT(diagnosis, "%s", nvrtc->builtins), NULL);
	} else {
		add(diagnosis, KZ_VERDICT_NOTE, "nvrtc builtins",
			"none beside NVRTC: the dynamic loader has to find them",
			"if kernels do not compile, install libnvrtc-builtins of NVRTC's version");
	}
	look_at_headers(diagnosis, nvrtc);
}

/* The path itself or, if there is none, the nearest one above it that exists. */
static char *existing_path(const char *path)
{
	char *existing = mem_strdup(path);
	while (existing && access(existing, F_OK) != 0 && strcmp(existing, "/") != 0) {
		char *above = file_folder(existing);
		mem_free(existing);
		existing = above;
	}
	return existing;
}

static void look_at_cache(struct kz_diagnosis *diagnosis)
{
	static const char fix[] = "set KUDZU_CACHE_DIR to a folder of your own";
	const char *why = NULL;
	char *path = file_cache_folder(&why);
	char *existing = path ? existing_path(path) : NULL;
	if (!path) {
		add(diagnosis, KZ_VERDICT_NOTE, "cache",
			TEXT(diagnosis, "no folder for it: %s", why), fix);
	} else if (!existing) {
		diagnosis->no_memory = true;
	} else if (!file_is_folder(existing) || access(existing, W_OK | X_OK) != 0) {
		add(diagnosis, KZ_VERDICT_PROBLEM, "cache", TEXT(diagnosis, "%s: '%s' is %s", path,
			existing, file_is_folder(existing) ? "not writable" : "no folder"), fix);
	} else {
		add(diagnosis, KZ_VERDICT_OK, "cache", TEXT(diagnosis, "%s%s", path,
			strcmp(existing, path) == 0 ? "" : " (not there yet)"), NULL);
	}
	mem_free(existing);
	mem_free(path);
}

kz_status kz_diagnose(kz_diagnosis **out, kz_error *err)
{
	*out = NULL;
	struct kz_diagnosis *diagnosis = mem_zalloc(1, sizeof(*diagnosis));
	if (!diagnosis) {
		return error_no_memory(err);
	}
	diagnosis->end = &diagnosis->first;
	add(diagnosis, KZ_VERDICT_OK, "kudzu", kz_version_string(), NULL);
	look_at_cpu(diagnosis);
	look_at_gpus(diagnosis);
	look_at_choice(diagnosis);
	look_at_compiler(diagnosis);
	look_at_cache(diagnosis);
	if (diagnosis->no_memory) {
		kz_diagnosis_release(diagnosis);
		return error_no_memory(err);
	}
	*out = diagnosis;
	return KZ_OK;
}

void kz_diagnosis_release(kz_diagnosis *diagnosis)
{
	if (diagnosis) {
		arena_free(&diagnosis->arena);
		mem_free(diagnosis);
	}
}

int64_t kz_diagnosis_count(const kz_diagnosis *diagnosis)
{
	return diagnosis->count;
}

const kz_finding *kz_diagnosis_finding(const kz_diagnosis *diagnosis, int64_t index)
{
	const struct finding *finding = index < 0 ? NULL : diagnosis->first;
	for (; finding && index > 0; index--) {
		finding = finding->next;
	}
	return finding ? &finding->public : NULL;
}

int kz_diagnosis_usable(const kz_diagnosis *diagnosis)
{
	return diagnosis->has_compiler && (diagnosis->usable_gpus > 0 || diagnosis->has_cpu);
}
