/* SPDX-License-Identifier: MIT */
#ifndef STUB_H
#define STUB_H

/*
 * A scripted CUDA driver for tests: the third provider, built as libcuda-stub.so.
 *
 * It exports every symbol of src/lib/cuda/cuda.def.  Unscripted, each works: device memory is host
 * memory, so copies copy; work is done when it is queued; a kernel launch does nothing.  A script,
 * from the environment variable KUDZU_STUB when the object is loaded or from stub_script later,
 * makes it fail.  It is a list of KEY=VALUE with ';' between:
 *
 *	version=11000           cuDriverGetVersion; symbols that are newer do not exist
 *	missing=NAME,NAME       symbols that do not exist: dlsym answers NULL
 *	fail=NAME:CODE          every call of a symbol returns CODE
 *	fail=NAME:CODE@3        only its third call since the script began
 *	fail=NAME:CODE@3+       its third call and all later ones
 *	init=CODE               the same as fail=cuInit:CODE
 *	ptx=90                  newer PTX is refused with CUDA_ERROR_UNSUPPORTED_PTX_VERSION
 *	devices=2  cc=90  memory=BYTES
 *	clear=1                 new memory is zero, for results that no kernel writes
 *	functions=NAME:8-8-4,.. the kernels of every module, with the sizes of their parameters
 *	globals=NAME:16,..      the variables of every module, with their sizes
 *	streams=1               note the stream of each call that puts work into one
 *	log=TEXT                what the driver's log says after a scripted failure
 *
 * NAME is a symbol as it is exported (cuMemAlloc_v2) or a call (cuMemAlloc).  version and missing
 * act when a symbol is looked up, so set them before the driver is opened.
 *
 * How a symbol can be missing: each exported name is an ifunc.  dlsym calls its resolver, which
 * answers with the function, or with NULL where the script says so.  The call itself is direct.
 *
 * It is strict where the library could be wrong: a call that needs a current context checks for
 * one, device addresses must lie in live allocations, what is not released is counted.
 *
 * Without functions= a module has the kernels that its image, PTX or cubin, defines, and
 * cuFuncGetParamInfo is not supported.
 */
#include "lib/cuda/drv.h"

enum stub_kind {
	STUB_MEMORY,
	STUB_HOST, /* pinned memory */
	STUB_STREAM,
	STUB_EVENT,
	STUB_MODULE,
	STUB_CONTEXT,
	STUB_GRAPH,
	STUB_LINK,
	STUB_IMPORT, /* memory of another process */
	STUB_TEXTURE, /* or a surface, or a CUDA array */
	STUB_MISTAKE, /* a call that compute-sanitizer reports: live forever */
	STUB_KIND_COUNT
};

/* For tests, through dlsym. */
typedef void stub_script_fn(const char *script); /* forget the old script, count from 0 */
typedef long stub_calls_fn(const char *name);    /* calls of a symbol, or of all, since the script
                                                    began */
typedef long stub_live_fn(int kind);             /* handles of a kind that are not released */
stub_script_fn stub_script;
stub_calls_fn stub_calls;
stub_live_fn stub_live;

/* With streams=1: the calls of a symbol that put work into a stream, since the script began.  NULL
 * as a name stands for every symbol, and as a stream for every stream. */
typedef long stub_work_fn(const char *name, void *stream);
stub_work_fn stub_work;

struct stub_state {
	bool scripted; /* some call has to fail */
	bool notes_streams;
	int version;
	int devices;
	int clear;
	int cc;
	int ptx;
	size_t memory;
	char functions[1024];
	char globals[1024];
	char log[256];
	long calls[DRV_SYMBOL_COUNT];
	long live[STUB_KIND_COUNT];
};
extern struct stub_state stub;

CUresult stub_scripted(enum drv_symbol symbol, long call);

/* Every function begins with this: count the call, ask the script. */
static inline CUresult stub_enter(enum drv_symbol symbol)
{
	long call = __atomic_add_fetch(&stub.calls[symbol], 1, __ATOMIC_RELAXED);
	return unlikely(stub.scripted) ? stub_scripted(symbol, call) : CUDA_SUCCESS;
}

/* The context that is current in this thread. */
extern _Thread_local CUcontext stub_current __attribute__((tls_model("initial-exec")));

/* The same, for a call that needs a current context. */
static inline CUresult stub_enter_context(enum drv_symbol symbol)
{
	CUresult code = stub_enter(symbol);
	if (likely(code == CUDA_SUCCESS && stub_current)) {
		return CUDA_SUCCESS;
	}
	return code ? code : CUDA_ERROR_INVALID_CONTEXT;
}

/* The same, for a call that puts work into a stream. */
CUresult stub_enter_stream(enum drv_symbol symbol, CUstream stream);

static inline void stub_count(enum stub_kind kind, int count)
{
	__atomic_add_fetch(&stub.live[kind], count, __ATOMIC_RELAXED);
}

/* A cleared handle; NULL when memory runs out. */
void *stub_create(enum stub_kind kind, size_t size);
CUresult stub_release(enum stub_kind kind, void *handle);
CUresult stub_memory_create(CUdeviceptr *address, size_t size);
CUresult stub_memory_release(CUdeviceptr address);
CUresult stub_context_device(CUcontext context, int *device);

/* What the exported symbols do; those that nobody defines only call stub_enter. */
#define X(name, symbol, since, need, parameters) CUresult do_##name parameters;
#include "lib/cuda/cuda.def"
#undef X

#endif
