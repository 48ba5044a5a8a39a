/* SPDX-License-Identifier: MIT */
/*
 * Find out what works on this machine.
 *
 * Each part is tried as a program would use it.  An error value becomes a finding: its message is
 * the text, its hint the fix, its log the log.  The list of findings and its texts live in one
 * arena.  When memory runs out the list is marked as incomplete, and further findings are dropped.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/env.h"
#include "base/file.h"
#include "base/kudzu_abi.h"
#include "base/store_folder.h"
#include "base/str.h"
#include "lib/core/device.h"
#include "lib/cache/cuda_bundle.h"
#include "lib/cache/cache.h"
#include "lib/module/diagnose.h"
#include "lib/rtc/cuda_headers.h"
#include "lib/rtc/nvjitlink.h"
#include "lib/rtc/nvrtc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct finding {
	struct finding *next;
	kz_finding public;
};

struct kz_diagnosis {
	uint32_t tag;    /* OBJECT_DIAGNOSIS */
	struct arena arena;
	struct finding *first;
	struct finding **end;
	int64_t count;
	bool no_memory;
	bool has_compiler;
	bool has_device; /* the one that programs get */
	bool has_cpu;
	int usable_gpus;
};

/* `text` may be NULL: memory ran out while it was made. */
static struct finding *diagnose_add_finding(struct kz_diagnosis *diagnosis, kz_verdict verdict,
	const char *topic, const char *text, const char *fix)
{
	struct finding *finding = arena_alloc(&diagnosis->arena, 1, sizeof(*finding));
	if (!finding || !text) {
		diagnosis->no_memory = true;
		return NULL;
	}
	finding->public = (kz_finding){verdict, topic, text, fix, NULL};
	*diagnosis->end = finding;
	diagnosis->end = &finding->next;
	diagnosis->count++;
	return finding;
}

void diagnose_add(kz_diagnosis *diagnosis, kz_verdict verdict, const char *topic, const char *text,
	const char *fix, const char *log)
{
	const char *texts[3] = {text, fix, log};
	for (size_t i = 0; i < countof(texts); i++) {
		bool is_there = texts[i] && texts[i][0];
		texts[i] = is_there ? arena_printf(&diagnosis->arena, "%s", texts[i]) : NULL;
		diagnosis->no_memory |= is_there && !texts[i];
	}
	struct finding *finding = diagnose_add_finding(diagnosis, verdict, topic, texts[0],
		texts[1]);
	if (finding) {
		finding->public.log = texts[2];
	}
}

#define TEXT(diagnosis, ...) arena_printf(&(diagnosis)->arena, __VA_ARGS__)

/* Hints are for people who run a program.  A diagnosis speaks of the CPU device elsewhere, and its
 * reader has run `kudzu doctor` already: so the hint ends before the clauses about these. */
static const char *diagnose_fitting_hint(struct kz_diagnosis *diagnosis, const char *hint)
{
	static const char *const misfits[] = {"kudzu doctor", "the device 'cpu'"};
	size_t len = hint ? strlen(hint) : 0;
	for (size_t i = 0; hint && i < countof(misfits); i++) {
		const char *misfit = strstr(hint, misfits[i]);
		while (misfit && misfit > hint && *misfit != ';' && *misfit != ',') {
			misfit--;
		}
		if (misfit && (size_t)(misfit - hint) < len) {
			len = (size_t)(misfit - hint);
		}
	}
	const char *text = len ? TEXT(diagnosis, "%.*s", (int)len, hint) : NULL;
	diagnosis->no_memory |= len && !text;
	return text;
}

/* `what` begins the text; `fix` is for an error without a hint of use here. */
static void diagnose_add_error(struct kz_diagnosis *diagnosis, kz_verdict verdict,
	const char *topic, const char *what, const char *fix, const kz_error *err)
{
	diagnosis->no_memory |= err->status == KZ_NO_MEMORY;
	const char *hint = diagnose_fitting_hint(diagnosis, err->hint);
	struct finding *finding = diagnose_add_finding(diagnosis, verdict, topic,
		TEXT(diagnosis, "%s%s%s", what, *what ? ": " : "", err->message),
		hint ? hint : fix);
	if (finding && err->log) {
		finding->public.log = TEXT(diagnosis, "%s", err->log);
		diagnosis->no_memory |= !finding->public.log;
	}
}

/* Whether a finding says already what a message says. */
static bool diagnose_is_told(const struct kz_diagnosis *diagnosis, const char *message)
{
	const struct finding *finding = diagnosis->first;
	while (finding && !strstr(finding->public.text, message)) {
		finding = finding->next;
	}
	return finding;
}

/* Devices */

/* Open a device as a program would, and say what it is.  False if it cannot be used. */
static bool diagnose_look_at_device(struct kz_diagnosis *diagnosis, const char *name,
	const char *fix)
{
	kz_error err = KZ_ERROR_INIT;
	struct kz_device *dev;
	if (kz_device_open(&dev, name, &err)) {
		diagnose_add_error(diagnosis, KZ_VERDICT_PROBLEM, "device", name, fix, &err);
		kz_error_clear(&err);
		return false;
	}
	const kz_device_info *info = &dev->info;
	diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "device", TEXT(diagnosis,
		"%s: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB", dev->name,
		dev->model, info->compute_capability / 10, info->compute_capability % 10,
		info->multiprocessors, (double)info->total_memory / (1 << 30)), NULL);
	kz_device_close(dev);
	return true;
}

static void diagnose_look_at_gpus(struct kz_diagnosis *diagnosis)
{
	static const char fix[] = "see what nvidia-smi says, and reinstall the NVIDIA driver";
	kz_error err = KZ_ERROR_INIT;
	struct drv *drv;
	if (drv_open(&drv, DRV_CUDA, &err)) {
		diagnose_add_error(diagnosis, diagnosis->has_cpu ? KZ_VERDICT_NOTE
			: KZ_VERDICT_PROBLEM, "driver", "", fix, &err);
		kz_error_clear(&err);
		return;
	}
	diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "driver",
		TEXT(diagnosis, "CUDA %d.%d, %d device%s, %s", drv->version / 1000,
			drv->version % 1000 / 10, drv->device_count, plural(drv->device_count),
			drv->path),
		NULL);
	for (int i = 0; i < drv->device_count; i++) {
		char name[32];
		snprintf(name, sizeof(name), "cuda:%d", i);
		diagnosis->usable_gpus += diagnose_look_at_device(diagnosis, name,
			"see what nvidia-smi and the kernel's log (dmesg) say about it");
	}
}

/* The CPU driver loads LLVM when it has to compile, and to say its version.  `drv` is NULL where
 * the driver itself does not load. */
static void diagnose_look_at_llvm(struct kz_diagnosis *diagnosis, const struct drv *drv)
{
	CUdevice device;
	int version = 0;
	CUresult result = CUDA_SUCCESS;
	if (drv && drv->DeviceGet(&device, 0) == CUDA_SUCCESS) {
		result = drv->DeviceGetAttribute(&version,
			CU_DEVICE_ATTRIBUTE_KUDZU_LLVM_VERSION, device);
	}
	if (result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) {
		kz_error err = KZ_ERROR_INIT;
		drv_fail(drv, result, "cuDeviceGetAttribute", &err);
		error_add_hint(&err, "install the LLVM library that the log names, or build Kudzu"
			" with the LLVM that there is");
		diagnose_add_error(diagnosis, KZ_VERDICT_PROBLEM, "llvm", "", "install Kudzu again",
			&err);
		kz_error_clear(&err);
	} else if (version > 0) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "llvm",
			TEXT(diagnosis, "%d.%d.%d", version / 10000, version / 100 % 100,
				version % 100),
			NULL);
	} else {
		diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "llvm",
			"unknown: the CPU driver, which uses it, does not say", NULL);
	}
}

/* A limit of addresses makes the gaps small that the CPU device keeps around memory. */
static void diagnose_look_at_gaps(struct kz_diagnosis *diagnosis, const struct drv *drv)
{
	CUdevice device;
	int size = CU_DEVICE_KUDZU_GAP_WIDE;
	if (drv->DeviceGet(&device, 0) == CUDA_SUCCESS
	    && drv->DeviceGetAttribute(&size, CU_DEVICE_ATTRIBUTE_KUDZU_GAP, device) == CUDA_SUCCESS
	    && size < CU_DEVICE_KUDZU_GAP_WIDE) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "addresses", TEXT(diagnosis,
			"ulimit -v leaves room for gaps of %.1f MiB, not %.0f, around memory of "
			"kernels: a wild index may leap over them", (double)size / (1 << 10),
			(double)CU_DEVICE_KUDZU_GAP_WIDE / (1 << 10)),
			"raise ulimit -v, or lift it");
	}
}

static void diagnose_look_at_cpu(struct kz_diagnosis *diagnosis)
{
	static const char fix[] = "install Kudzu again";
	kz_error err = KZ_ERROR_INIT;
	struct drv *drv = NULL;
	if (drv_open(&drv, DRV_CPU, &err)) {
		if (err.status == KZ_INVALID) {
			error_add_hint(&err,
				"correct the variable that the log names, or unset it");
		}
		diagnose_add_error(diagnosis, kz_cuda_available() ? KZ_VERDICT_NOTE
			: KZ_VERDICT_PROBLEM, "cpu driver", "", fix, &err);
		kz_error_clear(&err);
	} else {
		diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "cpu driver", drv->path, NULL);
		diagnosis->has_cpu = diagnose_look_at_device(diagnosis, "cpu", fix);
		diagnose_look_at_gaps(diagnosis, drv);
	}
	diagnose_look_at_llvm(diagnosis, drv);
}

/* Why the device that programs get is not to be had, unless that was told. */
static void diagnose_add_choice_error(struct kz_diagnosis *diagnosis, const char *chosen,
	const kz_error *err)
{
	bool any = diagnosis->usable_gpus > 0 || diagnosis->has_cpu;
	const char *text = "no device can be used";
	diagnosis->no_memory |= err->status == KZ_NO_MEMORY;
	if (chosen && diagnose_is_told(diagnosis, err->message)) {
		text = TEXT(diagnosis, "no device: '%s', as KUDZU_DEVICE says, cannot be used",
			chosen);
	} else if (chosen) {
		text = TEXT(diagnosis, "no device: %s", err->message);
	}
	diagnose_add_finding(diagnosis, KZ_VERDICT_PROBLEM, "choice", text,
		any ? "unset KUDZU_DEVICE, or set it to a device that works"
		: "make one of the devices work");
}

static void diagnose_look_at_choice(struct kz_diagnosis *diagnosis)
{
	const char *chosen = env_get("KUDZU_DEVICE");
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev;
	chosen = chosen && *chosen ? chosen : NULL;
	if (kz_device_open(&dev, NULL, &err)) {
		diagnose_add_choice_error(diagnosis, chosen, &err);
		kz_error_clear(&err);
		return;
	}
	diagnosis->has_device = true;
	diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "choice", TEXT(diagnosis,
		"programs run on %s, %s",
		kz_device_name(dev), chosen ? "as KUDZU_DEVICE says" : "by default"), NULL);
	kz_device_close(dev);
}

/* Compiling */

/* The CUDA headers that NVRTC carries, if they are wanted: the parts that it has, as bits. */
static unsigned diagnose_look_at_bundle(struct kz_diagnosis *diagnosis, const struct nvrtc *nvrtc,
	unsigned parts)
{
	struct nvrtc_bundle info;
	const struct compiler *compiler;
	bool is_there;
	if (!nvrtc_bundle(&info, nvrtc) || compiler_get(&compiler, NULL)
		|| !cuda_bundle_is_wanted(BUNDLE_PARTS & ~parts, compiler)) {
		return 0;
	}
	char *folder = cuda_bundle_folder(compiler, store_default(), &is_there);
	diagnose_add_finding(diagnosis, folder ? KZ_VERDICT_OK : KZ_VERDICT_NOTE, "headers",
		TEXT(diagnosis, "CUDA %d.%d, from NVRTC: %s%s", info.major, info.minor,
			folder && !is_there ? "the first kernel that includes one puts them into "
				: "",
			folder ? folder : "they need a cache, which is off"),
		folder ? NULL : "see KUDZU_CACHE and KUDZU_CACHE_DIR");
	mem_free(folder);
	return folder ? BUNDLE_PARTS : 0;
}

/* Name the packages of the parts that are missing. */
static void diagnose_look_at_parts(struct kz_diagnosis *diagnosis, const struct nvrtc *nvrtc,
	unsigned parts)
{
	for (int i = 0; i < CUDA_PART_COUNT; i++) {
		const struct cuda_part_info *info = &cuda_parts[i];
		const char *pip = nvrtc->major < 13 ? info->pip12 : info->pip;
		if (!(parts >> i & 1)) {
			diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "headers",
				TEXT(diagnosis, "%s %s missing: kernels cannot include %s",
					info->what, info->is, info->marks[0]),
				TEXT(diagnosis, "install %s from PyPI, or %s-%d-%d from NVIDIA's "
					"apt repository; other kernels do not need it", pip,
					info->apt, nvrtc->major, nvrtc->minor));
		}
	}
}

/* `nvrtc` is NULL where there is none. */
static void diagnose_look_at_headers(struct kz_diagnosis *diagnosis, const struct nvrtc *nvrtc)
{
	static const char fix[] = "install the CUDA headers of NVRTC's version; kernels that "
		"include no CUDA header do not need them";
	unsigned parts;
	if (!nvrtc) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "headers",
			"unknown: they are looked for beside NVRTC", NULL);
		return;
	}
	const char *named = env_get("KUDZU_CUDA_INCLUDE");
	if (nvrtc->include_count == 0 && named && named[0]) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_PROBLEM, "headers",
			TEXT(diagnosis, "KUDZU_CUDA_INCLUDE is '%s': expected folders", named),
			"correct the environment variable, or unset it");
		return;
	}
	if (!cuda_parts_find_all(&parts, (const char *const *)nvrtc->include_dirs,
		nvrtc->include_count)) {
		diagnosis->no_memory = true;
		return;
	}
	if (!(named && named[0])) {
		parts |= diagnose_look_at_bundle(diagnosis, nvrtc, parts);
	}
	diagnose_look_at_parts(diagnosis, nvrtc, parts);
	if (nvrtc->include_count == 0) {
		return;
	}
	int major, minor;
	const char *version = nvrtc->header_version;
	bool fits = !version || sscanf(version, "%d.%d", &major, &minor) != 2
		|| (major == nvrtc->major && minor == nvrtc->minor);
	diagnose_add_finding(diagnosis, fits ? KZ_VERDICT_OK : KZ_VERDICT_PROBLEM, "headers",
		TEXT(diagnosis, "CUDA %s, %s%s", version ? version : "of unknown version",
			nvrtc->include_dirs[0], fits ? "" : "; NVRTC is of another version"),
		fits ? NULL : fix);
}

static void diagnose_look_at_compiler(struct kz_diagnosis *diagnosis)
{
	const struct nvrtc *nvrtc;
	kz_error err = KZ_ERROR_INIT;
	if (nvrtc_open(&nvrtc, &err)) {
		diagnose_add_error(diagnosis, KZ_VERDICT_PROBLEM, "nvrtc", "", "install NVRTC",
			&err);
		kz_error_clear(&err);
		diagnose_look_at_headers(diagnosis, NULL);
		return;
	}
	diagnosis->has_compiler = true;
	struct str archs = STR_INIT;
	for (int i = 0; i < nvrtc->arch_count; i++) {
		str_addf(&archs, "%s%d", i ? " " : ", for compute capability ", nvrtc->archs[i]);
	}
	diagnosis->no_memory |= archs.failed;
	diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "nvrtc",
		TEXT(diagnosis, "%d.%d, %s%s", nvrtc->major, nvrtc->minor, nvrtc->path,
			archs.data ? archs.data : ""),
		NULL);
	str_free(&archs);
	if (nvrtc->builtins) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "nvrtc builtins",
			TEXT(diagnosis, "%s", nvrtc->builtins), NULL);
	} else {
		diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "nvrtc builtins",
			"none beside NVRTC: the dynamic loader has to find them",
			"if kernels do not compile, install libnvrtc-builtins of NVRTC's version");
	}
	diagnose_look_at_headers(diagnosis, nvrtc);
}

/* Only some need it. */
static void diagnose_look_at_linker(struct kz_diagnosis *diagnosis)
{
	const struct nvjitlink *linker;
	kz_error err = KZ_ERROR_INIT;
	if (nvjitlink_open(&linker, &err)) {
		diagnosis->no_memory |= err.status == KZ_NO_MEMORY;
		diagnose_add(diagnosis, KZ_VERDICT_NOTE, "nvjitlink",
			TEXT(diagnosis, "%s; only LTO code needs it, and PTX that is newer than "
				"the driver of a GPU", err.message), err.hint, err.log);
		kz_error_clear(&err);
		return;
	}
	diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "nvjitlink",
		TEXT(diagnosis, "%u.%u, %s", linker->major, linker->minor, linker->path), NULL);
}

/* The path itself or, if there is none, the nearest one above it that exists. */
static char *diagnose_existing_path(const char *path)
{
	char *existing = mem_strdup(path);
	while (existing && access(existing, F_OK) != 0 && strcmp(existing, "/") != 0) {
		char *above = file_folder(existing);
		mem_free(existing);
		existing = above;
	}
	return existing;
}

static bool diagnose_add_size(void *arg, const struct store_entry *entry)
{
	*(int64_t *)arg += entry->size + (int64_t)entry->key_size;
	return true;
}

/* A folder that could be used: is it? */
static void diagnose_describe_cache(struct kz_diagnosis *diagnosis, const char *path, bool is_there)
{
	struct store *store = store_default();
	const char *off = store ? store_off(store) : NULL;
	int64_t size = 0;
	diagnosis->no_memory |= !store;
	if (off) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "cache",
			TEXT(diagnosis, "%s: off: %s", path, off), NULL);
	} else if (!is_there) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "cache",
			TEXT(diagnosis, "%s (not there yet)", path), NULL);
	} else if (store && store_walk(store, diagnose_add_size, &size)) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "cache",
			TEXT(diagnosis, "%s, %.1f MiB", path, (double)size / (1 << 20)), NULL);
	} else {
		diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "cache",
			TEXT(diagnosis, "%s: cannot be read", path), NULL);
	}
}

static void diagnose_look_at_cache(struct kz_diagnosis *diagnosis)
{
	static const char fix[] = "set KUDZU_CACHE_DIR to a folder of your own";
	const char *why = NULL;
	char bad[160];
	if (!store_check_variables(bad, sizeof(bad))) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_PROBLEM, "cache", TEXT(diagnosis, "%s",
			bad), "correct the environment variable, or unset it");
		return;
	}
	char *path = store_folder_path(NULL, &why);
	char *existing = path ? diagnose_existing_path(path) : NULL;
	if (!path) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "cache",
			TEXT(diagnosis, "no folder for it: %s", why), fix);
	} else if (!existing) {
		diagnosis->no_memory = true;
	} else if (!file_is_folder(existing) || access(existing, W_OK | X_OK) != 0) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_PROBLEM, "cache",
			TEXT(diagnosis, "%s: '%s' is %s", path, existing,
				file_is_folder(existing) ? "not writable" : "not a folder"),
			fix);
	} else {
		diagnose_describe_cache(diagnosis, path, strcmp(existing, path) == 0);
	}
	mem_free(existing);
	mem_free(path);
}

kz_status kz_diagnose(kz_diagnosis **out, kz_error *err)
{
	error_scope(err);
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	if (st) {
		return st;
	}
	struct kz_diagnosis *diagnosis = mem_zalloc(1, sizeof(*diagnosis));
	if (!diagnosis) {
		return error_no_memory(err);
	}
	diagnosis->tag = OBJECT_DIAGNOSIS;
	diagnosis->end = &diagnosis->first;
	diagnose_add_finding(diagnosis, KZ_VERDICT_OK, "kudzu", kz_version_string(), NULL);
	if (env_is_privileged()) {
		diagnose_add_finding(diagnosis, KZ_VERDICT_NOTE, "environment",
			"ignored, and nothing is "
			"cached: the program has rights that its user lacks", NULL);
	}
	diagnose_look_at_cpu(diagnosis);
	diagnose_look_at_gpus(diagnosis);
	diagnose_look_at_choice(diagnosis);
	diagnose_look_at_compiler(diagnosis);
	diagnose_look_at_linker(diagnosis);
	diagnose_libraries(diagnosis, diagnosis->has_cpu, diagnosis->usable_gpus > 0);
	diagnose_look_at_cache(diagnosis);
	if (diagnosis->no_memory) {
		kz_diagnosis_release(diagnosis);
		return error_no_memory(err);
	}
	object_give(diagnosis, NULL);
	*out = diagnosis;
	return KZ_OK;
}

void kz_diagnosis_release(kz_diagnosis *diagnosis)
{
	if (object_is(diagnosis, OBJECT_DIAGNOSIS)) {
		object_end(&diagnosis->tag);
		arena_free(&diagnosis->arena);
		object_free(diagnosis);
	}
}

int64_t kz_diagnosis_count(const kz_diagnosis *diagnosis)
{
	return object_is(diagnosis, OBJECT_DIAGNOSIS) ? diagnosis->count : 0;
}

const kz_finding *kz_diagnosis_finding(const kz_diagnosis *diagnosis, int64_t index)
{
	bool is_there = object_is(diagnosis, OBJECT_DIAGNOSIS) && index >= 0;
	const struct finding *finding = is_there ? diagnosis->first : NULL;
	for (; finding && index > 0; index--) {
		finding = finding->next;
	}
	return finding ? &finding->public : NULL;
}

int kz_diagnosis_usable(const kz_diagnosis *diagnosis)
{
	return object_is(diagnosis, OBJECT_DIAGNOSIS) && diagnosis->has_compiler
		&& diagnosis->has_device;
}
