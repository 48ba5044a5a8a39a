/* SPDX-License-Identifier: MIT */
/*
 * libnvrtc in front of NVIDIA's: a program that asks for machine code of a GPU gets PTX.
 *
 * The CPU device runs PTX.  Many programs ask NVRTC for `sm_89` and hand the cubin to
 * cuModuleLoadData, which takes PTX as well.  So the architecture becomes `compute_89`, and the
 * functions for a cubin return the PTX, whose size counts a zero at its end.  A program that asks
 * for `compute_89` itself has no cubin, as NVRTC documents it.
 *
 * These four functions stand here.  NVIDIA's library, which this one needs, has all others
 * (audit.c), also those that a later version adds.
 */
#include "base/common.h"

#include "dropin/front.h"

#include "base/alloc.h"

#include <pthread.h>
#include <string.h>

typedef struct nvrtc_program *nvrtcProgram;
typedef int nvrtcResult;

enum { NVRTC_SUCCESS = 0, NVRTC_OUT_OF_MEMORY = 1, NVRTC_INTERNAL_ERROR = 11 };

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program);

static struct nvrtc_real {
	nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
	nvrtcResult (*cubin_size)(nvrtcProgram, size_t *);
	nvrtcResult (*cubin)(nvrtcProgram, char *);
	nvrtcResult (*ptx_size)(nvrtcProgram, size_t *);
	nvrtcResult (*ptx)(nvrtcProgram, char *);
	nvrtcResult (*destroy)(nvrtcProgram *);
} nvrtc_real;

static bool nvrtc_is_there;

static void nvrtc_find(void)
{
	static const struct dl_row rows[] = {
		{"nvrtcCompileProgram", offsetof(struct nvrtc_real, compile), true},
		{"nvrtcGetCUBINSize", offsetof(struct nvrtc_real, cubin_size), true},
		{"nvrtcGetCUBIN", offsetof(struct nvrtc_real, cubin), true},
		{"nvrtcGetPTXSize", offsetof(struct nvrtc_real, ptx_size), true},
		{"nvrtcGetPTX", offsetof(struct nvrtc_real, ptx), true},
		{"nvrtcDestroyProgram", offsetof(struct nvrtc_real, destroy), true},
	};
	nvrtc_is_there = front_fill("nvrtc", rows, countof(rows), &nvrtc_real);
	front_watch_forks();
}

/* NVIDIA's functions; NULL if they are not there. */
static const struct nvrtc_real *nvrtc_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, nvrtc_find);
	return nvrtc_is_there ? &nvrtc_real : NULL;
}

/* --- Programs that were last compiled for a cubin --- */

struct nvrtc_request {
	struct nvrtc_request *next;
	nvrtcProgram program;
};

static struct nvrtc_request *nvrtc_requests; /* front_lock */

/* Where the request of a program is, or the end of the list; the lock is held. */
static struct nvrtc_request **nvrtc_search(nvrtcProgram program)
{
	struct nvrtc_request **at = &nvrtc_requests;
	while (*at && (*at)->program != program) {
		at = &(*at)->next;
	}
	return at;
}

static bool nvrtc_wants_cubin(nvrtcProgram program)
{
	front_lock();
	const bool found = *nvrtc_search(program);
	front_unlock();
	return found;
}

static void nvrtc_forget(nvrtcProgram program)
{
	front_lock();
	struct nvrtc_request **at = nvrtc_search(program), *request = *at;
	if (request) {
		*at = request->next;
	}
	front_unlock();
	mem_free(request);
}

static bool nvrtc_remember(nvrtcProgram program)
{
	struct nvrtc_request *request = mem_zalloc(1, sizeof(*request));
	if (request) {
		request->program = program;
		front_lock();
		request->next = nvrtc_requests;
		nvrtc_requests = request;
		front_unlock();
	}
	return request;
}

/* --- Options --- */

/* The name of an architecture in an option, or in the option after it (`*is_next`); NULL: another
 * option. */
static const char *nvrtc_arch_in(const char *option, bool *is_next)
{
	static const char *const names[] = {"-arch", "--arch", "-gpu-architecture",
		"--gpu-architecture"};
	if (*is_next) {
		*is_next = false;
		return option;
	}
	for (size_t i = 0; i < countof(names); i++) {
		const size_t length = strlen(names[i]);
		if (strncmp(option, names[i], length) == 0) {
			*is_next = !option[length];
			if (option[length] == '=') {
				return option + length + 1;
			}
		}
	}
	return NULL;
}

/* An option with compute_89 for sm_89, freed with mem_free, if it has that; `*ok` is false when
 * memory runs out. */
static char *nvrtc_translate(const char *option, bool *is_next, bool *ok)
{
	static const char sm[] = "sm_", compute[] = "compute_";
	const char *arch = nvrtc_arch_in(option, is_next);
	if (!arch || strncmp(arch, sm, sizeof(sm) - 1) != 0) {
		return NULL;
	}
	const size_t before = (size_t)(arch - option), rest = strlen(arch) - (sizeof(sm) - 1);
	char *out = mem_alloc(before + sizeof(compute) + rest);
	*ok = *ok && out;
	if (out) {
		memcpy(out, option, before);
		memcpy(out + before, compute, sizeof(compute) - 1);
		memcpy(out + before + sizeof(compute) - 1, arch + sizeof(sm) - 1, rest + 1);
	}
	return out;
}

/* --- The functions --- */

FRONT_EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
	const char *const *options)
{
	const struct nvrtc_real *real = nvrtc_get();
	if (!real) {
		return NVRTC_INTERNAL_ERROR;
	}
	nvrtc_forget(program);
	if (count <= 0 || !options) {
		return real->compile(program, count, options);
	}
	bool is_next = false, wants_cubin = false;
	const char **changed = mem_zalloc((size_t)count, sizeof(*changed));
	char **owned = mem_zalloc((size_t)count, sizeof(*owned));
	bool ok = changed && owned;
	for (int i = 0; ok && i < count; i++) {
		owned[i] = options[i] ? nvrtc_translate(options[i], &is_next, &ok) : NULL;
		changed[i] = owned[i] ? owned[i] : options[i];
		wants_cubin = wants_cubin || owned[i];
	}
	ok = ok && (!wants_cubin || nvrtc_remember(program));
	const nvrtcResult result = ok ? real->compile(program, count, changed)
		: NVRTC_OUT_OF_MEMORY;
	for (int i = 0; owned && i < count; i++) {
		mem_free(owned[i]);
	}
	mem_free(owned);
	mem_free(changed);
	return result;
}

/* Whether a program has PTX in place of the cubin that was asked for, and its size. */
static bool nvrtc_has_ptx(const struct nvrtc_real *real, nvrtcProgram program, size_t *size)
{
	size_t cubin = 0;
	/* A program that became LTO code has neither: its PTX is empty, a zero byte. */
	return nvrtc_wants_cubin(program)
		&& real->cubin_size(program, &cubin) == NVRTC_SUCCESS && cubin == 0
		&& real->ptx_size(program, size) == NVRTC_SUCCESS && *size > 1;
}

FRONT_EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
	const struct nvrtc_real *real = nvrtc_get();
	size_t ptx;
	if (!real) {
		return NVRTC_INTERNAL_ERROR;
	}
	if (!size || !nvrtc_has_ptx(real, program, &ptx)) {
		return real->cubin_size(program, size);
	}
	*size = ptx;
	return NVRTC_SUCCESS;
}

FRONT_EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
	const struct nvrtc_real *real = nvrtc_get();
	size_t ptx;
	if (!real) {
		return NVRTC_INTERNAL_ERROR;
	}
	return nvrtc_has_ptx(real, program, &ptx) ? real->ptx(program, cubin)
		: real->cubin(program, cubin);
}

FRONT_EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
	const struct nvrtc_real *real = nvrtc_get();
	if (!real) {
		return NVRTC_INTERNAL_ERROR;
	}
	if (program) {
		nvrtc_forget(*program);
	}
	return real->destroy(program);
}
