/* SPDX-License-Identifier: MIT */
/*
 * libnvJitLink in front of NVIDIA's: it links PTX, by the driver that the process has, and hands
 * out the linked PTX as the cubin.
 *
 * NVIDIA's makes machine code for a GPU, and compiles PTX for that.  So PTX, and fat binaries with
 * PTX in them, go to the driver's linker (cuLinkAddData).  NVIDIA's library, which this one needs
 * (audit.c), still checks the options, and does what only it can do: it makes PTX of LTO code,
 * which is linked with the rest.
 *
 * A handle is that of NVIDIA's library, so that its functions that are not here, such as those of a
 * later version, can be called with it.  The functions also have a name for each version of the
 * header, which is what programs in C call.
 */
#include "base/common.h"

#include "dropin/front.h"

#include "base/alloc.h"
#include "base/cuda_abi.h"
#include "base/elf.h"
#include "base/fatbin.h"
#include "base/file.h"
#include "base/log_line.h"
#include "base/str.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct jitlink_theirs *nvJitLinkHandle;
typedef int nvJitLinkResult;

enum {
	JITLINK_SUCCESS = 0,
	JITLINK_UNRECOGNIZED_OPTION = 1,
	JITLINK_INVALID_INPUT = 3,
	JITLINK_PTX_COMPILE = 4,
	JITLINK_INTERNAL = 6,
	JITLINK_UNRECOGNIZED_INPUT = 8,
	JITLINK_NULL_INPUT = 10,
	JITLINK_LTO_NOT_ENABLED = 18
};

enum jitlink_type {
	JITLINK_CUBIN = 1,
	JITLINK_PTX = 2,
	JITLINK_LTOIR = 3,
	JITLINK_FATBIN = 4,
	JITLINK_OBJECT = 5,
	JITLINK_LIBRARY = 6,
	JITLINK_ANY = 10
};

static const char jitlink_part[] = "nvjitlink"; /* of lines for KUDZU_LOG */

struct jitlink {
	struct jitlink *next;  /* in the list of all */
	nvJitLinkHandle theirs;
	CUlinkState state;     /* of the driver */
	bool has_lto;          /* the option -lto */
	bool has_ptx;          /* the option -ptx, which needs -lto: PTX is the result */
	uint32_t max_registers; /* the option -maxrregcount; 0: no limit */
	size_t count;          /* inputs */
	size_t lto_count;      /* those of them that NVIDIA's library has */
	const char *image;     /* the result, which the driver's state holds, or: */
	char *ptx;             /* what NVIDIA's library made of the LTO code */
	size_t size;
	struct str error;      /* what we say ourselves */
	char log[8192];        /* what the driver says */
	void *values[3];       /* of options; the driver writes the size of the log there */
};

/* The functions as the header has them. */
nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *out, uint32_t count, const char **options);
nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle);
nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle link, int type, const void *data, size_t size,
	const char *name);
nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle link, int type, const char *path);
nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle link);
nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle link, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle link, void *cubin);
nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle link, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle link, char *ptx);
nvJitLinkResult nvJitLinkGetLinkedLTOIRSize(nvJitLinkHandle link, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedLTOIR(nvJitLinkHandle link, void *ltoir);
nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle link, size_t *size);
nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle link, char *log);
nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle link, size_t *size);
nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle link, char *log);

static struct jitlink_calls {
	nvJitLinkResult (*create)(nvJitLinkHandle *, uint32_t, const char **);
	nvJitLinkResult (*destroy)(nvJitLinkHandle *);
	nvJitLinkResult (*add_data)(nvJitLinkHandle, int, const void *, size_t, const char *);
	nvJitLinkResult (*complete)(nvJitLinkHandle);
	nvJitLinkResult (*ptx_size)(nvJitLinkHandle, size_t *);
	nvJitLinkResult (*ptx)(nvJitLinkHandle, char *);
	nvJitLinkResult (*error_size)(nvJitLinkHandle, size_t *);
	nvJitLinkResult (*error)(nvJitLinkHandle, char *);
	nvJitLinkResult (*info_size)(nvJitLinkHandle, size_t *);
	nvJitLinkResult (*info)(nvJitLinkHandle, char *);
	/* Since CUDA 13. */
	nvJitLinkResult (*ltoir_size)(nvJitLinkHandle, size_t *);
	nvJitLinkResult (*ltoir)(nvJitLinkHandle, void *);
} jitlink_calls;

static struct jitlink_driver {
	CUresult (*init)(unsigned);
	CUresult (*current)(CUcontext *);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*release)(CUdevice);
	CUresult (*push)(CUcontext);
	CUresult (*pop)(CUcontext *);
	CUresult (*create)(unsigned, CUjit_option *, void **, CUlinkState *);
	CUresult (*add)(CUlinkState, CUjitInputType, void *, size_t, const char *, unsigned,
		CUjit_option *, void **);
	CUresult (*complete)(CUlinkState, void **, size_t *);
	CUresult (*destroy)(CUlinkState);
} jitlink_driver;

static bool jitlink_is_there;

static void jitlink_find(void)
{
	static const struct dl_row calls[] = {
		{"nvJitLinkCreate", offsetof(struct jitlink_calls, create), true},
		{"nvJitLinkDestroy", offsetof(struct jitlink_calls, destroy), true},
		{"nvJitLinkAddData", offsetof(struct jitlink_calls, add_data), true},
		{"nvJitLinkComplete", offsetof(struct jitlink_calls, complete), true},
		{"nvJitLinkGetLinkedPtxSize", offsetof(struct jitlink_calls, ptx_size), true},
		{"nvJitLinkGetLinkedPtx", offsetof(struct jitlink_calls, ptx), true},
		{"nvJitLinkGetErrorLogSize", offsetof(struct jitlink_calls, error_size), true},
		{"nvJitLinkGetErrorLog", offsetof(struct jitlink_calls, error), true},
		{"nvJitLinkGetInfoLogSize", offsetof(struct jitlink_calls, info_size), true},
		{"nvJitLinkGetInfoLog", offsetof(struct jitlink_calls, info), true},
		{"nvJitLinkGetLinkedLTOIRSize", offsetof(struct jitlink_calls, ltoir_size), false},
		{"nvJitLinkGetLinkedLTOIR", offsetof(struct jitlink_calls, ltoir), false},
	};
	static const struct dl_row driver[] = {
		{"cuInit", offsetof(struct jitlink_driver, init), true},
		{"cuCtxGetCurrent", offsetof(struct jitlink_driver, current), true},
		{"cuDevicePrimaryCtxRetain", offsetof(struct jitlink_driver, retain), true},
		{"cuDevicePrimaryCtxRelease_v2", offsetof(struct jitlink_driver, release), true},
		{"cuCtxPushCurrent_v2", offsetof(struct jitlink_driver, push), true},
		{"cuCtxPopCurrent_v2", offsetof(struct jitlink_driver, pop), true},
		{"cuLinkCreate_v2", offsetof(struct jitlink_driver, create), true},
		{"cuLinkAddData_v2", offsetof(struct jitlink_driver, add), true},
		{"cuLinkComplete", offsetof(struct jitlink_driver, complete), true},
		{"cuLinkDestroy", offsetof(struct jitlink_driver, destroy), true},
	};
	jitlink_is_there = front_fill(jitlink_part, calls, countof(calls), &jitlink_calls)
		&& front_fill_driver(jitlink_part, driver, countof(driver), &jitlink_driver);
	front_watch_forks();
}

static bool jitlink_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, jitlink_find);
	return jitlink_is_there;
}

/* --- Handles --- */

static struct jitlink *jitlink_first; /* of all that there are; front_lock */

static void jitlink_insert(struct jitlink *link)
{
	front_lock();
	link->next = jitlink_first;
	jitlink_first = link;
	front_unlock();
}

/* The link of a handle, which `remove` takes off the list; NULL if there is none. */
static struct jitlink *jitlink_search(nvJitLinkHandle handle, bool remove)
{
	front_lock();
	struct jitlink **at = &jitlink_first;
	while (*at && (*at)->theirs != handle) {
		at = &(*at)->next;
	}
	struct jitlink *link = *at;
	if (link && remove) {
		*at = link->next;
	}
	front_unlock();
	return link;
}

/* The link of a handle that a program gave us, with what it did wrong in `*result`. */
static struct jitlink *jitlink_get(nvJitLinkHandle handle, nvJitLinkResult *result)
{
	struct jitlink *link = handle ? jitlink_search(handle, false) : NULL;
	*result = link ? JITLINK_SUCCESS : handle ? JITLINK_INVALID_INPUT : JITLINK_NULL_INPUT;
	return link;
}

/* --- Creating --- */

static CUresult jitlink_create_state(struct jitlink *link)
{
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
		CU_JIT_MAX_REGISTERS};
	const bool has_limit = link->max_registers > 0;
	link->values[0] = link->log;
	link->values[1] = (void *)(uintptr_t)sizeof(link->log);
	link->values[2] = (void *)(uintptr_t)link->max_registers;
	return jitlink_driver.create(countof(options) - !has_limit, options, link->values,
		&link->state);
}

/* The driver's linker needs a context, nvJitLink does not. */
static bool jitlink_start(struct jitlink *link)
{
	const struct jitlink_driver *driver = &jitlink_driver;
	CUcontext context = NULL;
	if (driver->init(0) != CUDA_SUCCESS || driver->current(&context) != CUDA_SUCCESS) {
		return false;
	}
	if (context) {
		return jitlink_create_state(link) == CUDA_SUCCESS;
	}
	if (driver->retain(&context, 0) != CUDA_SUCCESS) {
		return false;
	}
	bool ok = driver->push(context) == CUDA_SUCCESS;
	if (ok) {
		ok = jitlink_create_state(link) == CUDA_SUCCESS;
		driver->pop(&context);
	}
	driver->release(0);
	return ok;
}

static nvJitLinkResult jitlink_refuse(struct jitlink *link, nvJitLinkResult result,
	const char *name, const char *what)
{
	str_addf(&link->error, "%s%serror   : %s\n", name ? name : "", name ? ": " : "", what);
	log_line(jitlink_part, "%s%s%s", name ? name : "", name ? ": " : "", what);
	return result;
}

/* The option -maxrregcount as ptxas reads it: a limit below the least one is raised to it, and one
 * above the greatest is ignored. */
static nvJitLinkResult jitlink_read_limit(struct jitlink *link, const char *option)
{
	static const char name[] = "-maxrregcount=";
	const unsigned long least = 24;
	if (strncmp(option, name, sizeof(name) - 1) != 0) {
		return JITLINK_SUCCESS;
	}
	char *end;
	const char *value = option + sizeof(name) - 1;
	const unsigned long limit = strtoul(value, &end, 0);
	if (end == value || *end) {
		return jitlink_refuse(link, JITLINK_UNRECOGNIZED_OPTION, option,
			"expected a number of registers");
	}
	link->max_registers = limit > UINT32_MAX ? 0 : (uint32_t)(limit < least ? least : limit);
	return JITLINK_SUCCESS;
}

/* NVIDIA's handle, with the program's options; it links LTO code to PTX alone. */
static nvJitLinkResult jitlink_create_theirs(struct jitlink *link, uint32_t count,
	const char **options)
{
	const char **all = mem_zalloc((size_t)count + 1, sizeof(*all));
	if (!all) {
		return JITLINK_INTERNAL;
	}
	for (uint32_t i = 0; i < count; i++) {
		all[i] = options[i];
		link->has_lto = link->has_lto || strcmp(options[i], "-lto") == 0;
		link->has_ptx = link->has_ptx || strcmp(options[i], "-ptx") == 0;
	}
	const bool add = link->has_lto && !link->has_ptx;
	if (add) {
		all[count] = "-ptx";
	}
	nvJitLinkResult result = jitlink_calls.create(&link->theirs, count + add, all);
	for (uint32_t i = 0; i < count && result == JITLINK_SUCCESS; i++) {
		result = jitlink_read_limit(link, options[i]);
	}
	mem_free(all);
	return result;
}

static void jitlink_free(struct jitlink *link)
{
	if (link) {
		if (link->theirs) {
			jitlink_calls.destroy(&link->theirs);
		}
		if (link->state) {
			jitlink_driver.destroy(link->state);
		}
		str_free(&link->error);
		mem_free(link->ptx);
		mem_free(link);
	}
}

FRONT_EXPORT nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *out, uint32_t count,
	const char **options)
{
	if (!out || (count > 0 && !options)) {
		return JITLINK_NULL_INPUT;
	}
	*out = NULL;
	struct jitlink *link = jitlink_open() ? mem_zalloc(1, sizeof(*link)) : NULL;
	if (!link) {
		return JITLINK_INTERNAL;
	}
	nvJitLinkResult result = jitlink_create_theirs(link, count, options);
	if (result == JITLINK_SUCCESS && !jitlink_start(link)) {
		result = JITLINK_INTERNAL;
	}
	/* As NVIDIA's, which has a handle for the log of bad options. */
	if (link->theirs) {
		jitlink_insert(link);
		*out = link->theirs;
	} else {
		jitlink_free(link);
	}
	return result;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle)
{
	if (!handle || !*handle) {
		return JITLINK_NULL_INPUT;
	}
	struct jitlink *link = jitlink_search(*handle, true);
	if (!link) {
		return JITLINK_INVALID_INPUT;
	}
	jitlink_free(link);
	*handle = NULL;
	return JITLINK_SUCCESS;
}

/* --- Inputs --- */

/* What data are, whatever they were called: PTX stands where the program expects a cubin. */
static int jitlink_kind(const void *data, size_t size)
{
	static const char lto[] = "\355CN\177", library[] = "!<arch>\n";
	struct elf elf;
	if (fatbin_is(data, size)) {
		return JITLINK_FATBIN;
	}
	if (elf_open(&elf, data, size) && elf.header.e_machine != ELF_MACHINE_CUDA) {
		return JITLINK_OBJECT;
	}
	if (size >= 4 && memcmp(data, ELFMAG, 4) == 0) {
		return JITLINK_CUBIN;
	}
	if (size >= 4 && memcmp(data, lto, 4) == 0) {
		return JITLINK_LTOIR;
	}
	return size >= 8 && memcmp(data, library, 8) == 0 ? JITLINK_LIBRARY : JITLINK_PTX;
}

/* Whether a fat binary has PTX; without, it may have LTO code. */
static bool jitlink_has_ptx(const void *data, size_t size)
{
	struct fatbin fatbin;
	struct fatbin_entry entry;
	if (fatbin_open(&fatbin, data, size) != FATBIN_OK) {
		return true; /* the driver says what is wrong with it */
	}
	while (fatbin_next(&fatbin, &entry) == FATBIN_OK) {
		if (entry.kind == FATBIN_PTX) {
			return true;
		}
	}
	return false;
}

static nvJitLinkResult jitlink_add_theirs(struct jitlink *link, int type, const void *data,
	size_t size, const char *name)
{
	if (!link->has_lto) {
		return jitlink_refuse(link, JITLINK_LTO_NOT_ENABLED, name,
			"LTO code needs the option -lto");
	}
	const nvJitLinkResult result = jitlink_calls.add_data(link->theirs, type, data, size, name);
	link->lto_count += result == JITLINK_SUCCESS;
	return result;
}

static nvJitLinkResult jitlink_add_ours(struct jitlink *link, CUjitInputType type,
	const void *data, size_t size, const char *name)
{
	const CUresult result = jitlink_driver.add(link->state, type, (void *)data, size,
		name ? name : "", 0, NULL, NULL);
	if (result == CUDA_SUCCESS) {
		return JITLINK_SUCCESS;
	}
	return type == CU_JIT_INPUT_PTX ? JITLINK_PTX_COMPILE : JITLINK_UNRECOGNIZED_INPUT;
}

static nvJitLinkResult jitlink_add(struct jitlink *link, const void *data, size_t size,
	const char *name)
{
	switch (jitlink_kind(data, size)) {
	case JITLINK_LTOIR:
		return jitlink_add_theirs(link, JITLINK_LTOIR, data, size, name);
	case JITLINK_CUBIN:
		return jitlink_refuse(link, JITLINK_UNRECOGNIZED_INPUT, name,
			"the CPU device links PTX, not machine code of a GPU");
	case JITLINK_OBJECT:
		return jitlink_add_ours(link, CU_JIT_INPUT_OBJECT, data, size, name);
	case JITLINK_LIBRARY:
		return jitlink_add_ours(link, CU_JIT_INPUT_LIBRARY, data, size, name);
	case JITLINK_FATBIN:
		return jitlink_has_ptx(data, size)
			? jitlink_add_ours(link, CU_JIT_INPUT_FATBINARY, data, size, name)
			: jitlink_add_theirs(link, JITLINK_FATBIN, data, size, name);
	default:
		return jitlink_add_ours(link, CU_JIT_INPUT_PTX, data, size, name);
	}
}

FRONT_EXPORT nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, int type, const void *data,
	size_t size, const char *name)
{
	nvJitLinkResult result;
	struct jitlink *link = jitlink_get(handle, &result);
	if (!link) {
		return result;
	}
	if (!data || size == 0) {
		return JITLINK_INVALID_INPUT;
	}
	if (!link->state || link->image) {
		return jitlink_refuse(link, JITLINK_INTERNAL, name,
			link->image ? "the link is complete" : "the link has bad options");
	}
	if (type < JITLINK_CUBIN || (type > JITLINK_LIBRARY && type != JITLINK_ANY)) {
		return jitlink_refuse(link, JITLINK_UNRECOGNIZED_INPUT, name,
			"unknown kind of input");
	}
	result = jitlink_add(link, data, size, name);
	link->count += result == JITLINK_SUCCESS;
	return result;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle handle, int type, const char *path)
{
	char *data;
	size_t size;
	nvJitLinkResult result;
	struct jitlink *link = jitlink_get(handle, &result);
	if (!link || !path) {
		return link ? JITLINK_NULL_INPUT : result;
	}
	if (file_read(&data, &size, path, NULL)) {
		return jitlink_refuse(link, JITLINK_INVALID_INPUT, path, "the file cannot be read");
	}
	result = nvJitLinkAddData(handle, type, data, size, path);
	mem_free(data);
	return result;
}

/* --- The result --- */

/* Have NVIDIA's library make PTX of the LTO code.  If a program asked for PTX and gave LTO code
 * alone, that is the result, in which names may be undefined.  Else it is linked with the rest. */
static nvJitLinkResult jitlink_finish_lto(struct jitlink *link)
{
	size_t size = 0;
	nvJitLinkResult result = jitlink_calls.complete(link->theirs);
	if (result == JITLINK_SUCCESS) {
		result = jitlink_calls.ptx_size(link->theirs, &size);
	}
	if (result != JITLINK_SUCCESS) {
		return result;
	}
	mem_free(link->ptx); /* of an attempt that failed */
	link->ptx = mem_zalloc(size + 1, 1);
	result = link->ptx ? jitlink_calls.ptx(link->theirs, link->ptx) : JITLINK_INTERNAL;
	if (result != JITLINK_SUCCESS) {
		return result;
	}
	size = strlen(link->ptx) + 1;
	if (link->has_ptx && link->lto_count == link->count) {
		link->image = link->ptx;
		link->size = size;
		return JITLINK_SUCCESS;
	}
	return jitlink_add_ours(link, CU_JIT_INPUT_PTX, link->ptx, size, "LTO code");
}

/* Get the PTX that NVIDIA's library links.  A link without inputs gives a module without kernels;
 * with -lto, NVIDIA's library refuses it. */
static nvJitLinkResult jitlink_prepare(struct jitlink *link)
{
	static const char empty[] = ".version 6.0\n.target sm_30\n.address_size 64\n";
	if (link->lto_count > 0 || (link->has_lto && link->count == 0)) {
		return jitlink_finish_lto(link);
	}
	return link->count > 0 ? JITLINK_SUCCESS
		: jitlink_add_ours(link, CU_JIT_INPUT_PTX, empty, sizeof(empty), NULL);
}

FRONT_EXPORT nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle)
{
	void *image = NULL;
	nvJitLinkResult result;
	struct jitlink *link = jitlink_get(handle, &result);
	if (!link) {
		return result;
	}
	if (!link->state || link->image) {
		return JITLINK_INTERNAL;
	}
	result = jitlink_prepare(link);
	if (result != JITLINK_SUCCESS || link->image) {
		return result;
	}
	if (jitlink_driver.complete(link->state, &image, &link->size) != CUDA_SUCCESS) {
		const bool is_mixed = link->lto_count > 0 && link->lto_count < link->count;
		return is_mixed ? jitlink_refuse(link, JITLINK_INTERNAL, NULL,
			"NVIDIA's library keeps only what the kernels in LTO code use: functions "
			"that other code calls must not be LTO code") : JITLINK_INTERNAL;
	}
	link->image = image;
	return JITLINK_SUCCESS;
}

/* A link that is complete, for a call that writes to `out`. */
static struct jitlink *jitlink_get_complete(nvJitLinkHandle handle, const void *out,
	nvJitLinkResult *result)
{
	struct jitlink *link = jitlink_get(handle, result);
	if (link && (!out || !link->image)) {
		*result = out ? JITLINK_INTERNAL : JITLINK_NULL_INPUT;
		return NULL;
	}
	return link;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *size)
{
	nvJitLinkResult result;
	const struct jitlink *link = jitlink_get_complete(handle, size, &result);
	if (link) {
		*size = link->size;
	}
	return result;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin)
{
	nvJitLinkResult result;
	const struct jitlink *link = jitlink_get_complete(handle, cubin, &result);
	if (link) {
		memcpy(cubin, link->image, link->size);
	}
	return result;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle handle, size_t *size)
{
	return nvJitLinkGetLinkedCubinSize(handle, size);
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle handle, char *ptx)
{
	return nvJitLinkGetLinkedCubin(handle, ptx);
}

/* A function that NVIDIA's library got with CUDA 13. */
static nvJitLinkResult jitlink_lack(const char *name)
{
	log_line(jitlink_part, "NVIDIA's library has no %s", name);
	return JITLINK_INVALID_INPUT;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetLinkedLTOIRSize(nvJitLinkHandle handle, size_t *size)
{
	nvJitLinkResult result;
	if (!jitlink_get(handle, &result)) {
		return result;
	}
	return jitlink_calls.ltoir_size ? jitlink_calls.ltoir_size(handle, size)
		: jitlink_lack(__func__);
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetLinkedLTOIR(nvJitLinkHandle handle, void *ltoir)
{
	nvJitLinkResult result;
	if (!jitlink_get(handle, &result)) {
		return result;
	}
	return jitlink_calls.ltoir ? jitlink_calls.ltoir(handle, ltoir) : jitlink_lack(__func__);
}

/* --- The logs: what the driver says, what we say, what NVIDIA's library says --- */

static size_t jitlink_ours(const struct jitlink *link)
{
	return strlen(link->log) + link->error.len;
}

/* As NVIDIA's, the size of an empty log is 0, and that of any other counts the zero at its end. */
FRONT_EXPORT nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *size)
{
	nvJitLinkResult result;
	const struct jitlink *link = jitlink_get(handle, &result);
	if (!link || !size) {
		return link ? JITLINK_NULL_INPUT : result;
	}
	*size = 0;
	result = jitlink_calls.error_size(handle, size);
	const size_t ours = jitlink_ours(link);
	*size += ours + (ours > 0 && *size == 0);
	return result;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log)
{
	size_t size = 0;
	nvJitLinkResult result;
	const struct jitlink *link = jitlink_get(handle, &result);
	if (!link || !log) {
		return link ? JITLINK_NULL_INPUT : result;
	}
	if (jitlink_ours(link) > 0) {
		memcpy(log, link->log, strlen(link->log));
		log += strlen(link->log);
		if (link->error.len > 0) {
			memcpy(log, link->error.data, link->error.len);
		}
		log += link->error.len;
		*log = '\0';
	}
	result = jitlink_calls.error_size(handle, &size);
	return result == JITLINK_SUCCESS && size > 0 ? jitlink_calls.error(handle, log) : result;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle handle, size_t *size)
{
	nvJitLinkResult result;
	return jitlink_get(handle, &result) ? jitlink_calls.info_size(handle, size) : result;
}

FRONT_EXPORT nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle handle, char *log)
{
	nvJitLinkResult result;
	return jitlink_get(handle, &result) ? jitlink_calls.info(handle, log) : result;
}

/* --- The names for each version of the header --- */

#define JITLINK_ALIAS(name, version)                                                               \
	extern FRONT_EXPORT __typeof__(nvJitLink##name) __nvJitLink##name##_##version              \
		__attribute__((alias("nvJitLink" #name)));
#define JITLINK_VERSION(version)                                                                   \
	JITLINK_ALIAS(Create, version)                                                             \
	JITLINK_ALIAS(Destroy, version)                                                            \
	JITLINK_ALIAS(AddData, version)                                                            \
	JITLINK_ALIAS(AddFile, version)                                                            \
	JITLINK_ALIAS(Complete, version)                                                           \
	JITLINK_ALIAS(GetLinkedCubinSize, version)                                                 \
	JITLINK_ALIAS(GetLinkedCubin, version)                                                     \
	JITLINK_ALIAS(GetLinkedPtxSize, version)                                                   \
	JITLINK_ALIAS(GetLinkedPtx, version)                                                       \
	JITLINK_ALIAS(GetLinkedLTOIRSize, version)                                                 \
	JITLINK_ALIAS(GetLinkedLTOIR, version)                                                     \
	JITLINK_ALIAS(GetErrorLogSize, version)                                                    \
	JITLINK_ALIAS(GetErrorLog, version)                                                        \
	JITLINK_ALIAS(GetInfoLogSize, version)                                                     \
	JITLINK_ALIAS(GetInfoLog, version)
#define JITLINK_TEN(major)                                                                         \
	JITLINK_VERSION(major##_0)                                                                 \
	JITLINK_VERSION(major##_1)                                                                 \
	JITLINK_VERSION(major##_2)                                                                 \
	JITLINK_VERSION(major##_3)                                                                 \
	JITLINK_VERSION(major##_4)                                                                 \
	JITLINK_VERSION(major##_5)                                                                 \
	JITLINK_VERSION(major##_6)                                                                 \
	JITLINK_VERSION(major##_7)                                                                 \
	JITLINK_VERSION(major##_8)                                                                 \
	JITLINK_VERSION(major##_9)

JITLINK_TEN(12)
JITLINK_TEN(13)
