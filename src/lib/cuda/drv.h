/* SPDX-License-Identifier: MIT */
#ifndef LIB_CUDA_DRV_H
#define LIB_CUDA_DRV_H

/*
 * One table of CUDA Driver API functions per provider.  A provider is a shared object that exports
 * the driver API: libcuda.so.1, libkudzu-cpu.so, or a test's own.  Every slot can be called: a
 * symbol that the provider lacks is replaced by a function that returns DRV_MISSING, which
 * drv_check turns into "needs driver 12.4, this one is 11.8".
 *
 *	struct drv *drv;
 *	if (drv_open(&drv, DRV_CUDA, err)) ...
 *	st = drv_check(drv, drv->MemAlloc(&address, size), "cuMemAlloc", err);
 */
#include "lib/cuda/codes.h"
#include "base/cuda_abi.h"

#include <kudzu/error.h>

/* Not a CUresult: the provider lacks the symbol. */
#define DRV_MISSING ((CUresult)-1)
/* Nor is this: the process was forked from one that had used the driver. */
#define DRV_FORKED ((CUresult)-2)

enum drv_provider { DRV_CUDA, DRV_CPU };

/* One index per row of cuda.def: DRV_cuMemAlloc. */
enum drv_symbol {
#define X(name, symbol, since, need, parameters) DRV_cu##name,
#include "lib/cuda/cuda.def"
#undef X
	DRV_SYMBOL_COUNT
};

struct drv {
#define X(name, symbol, since, need, parameters) CUresult(*name) parameters;
#include "lib/cuda/cuda.def"
#undef X
	bool has[DRV_SYMBOL_COUNT];
	bool is_forked; /* every function returns DRV_FORKED, and nothing that it made may be
	                   ended */
	enum drv_provider provider;
	int version; /* cuDriverGetVersion: 13000 */
	int device_count;
	char path[512]; /* the object that was loaded */
	void *object;
};

/*
 * Load a provider, initialize it, count its devices.  The table is made once per process and
 * provider and stays: drivers do not survive dlclose.  KZ_NO_DRIVER, KZ_NO_DEVICE or the driver's
 * own failure; the message says what was tried.  KZ_STATE in a forked process.  Any thread.
 *
 * DRV_CUDA is KUDZU_CUDA_DRIVER if set, else libcuda.so.1, else libcuda.so.  DRV_CPU is
 * KUDZU_CPU_DRIVER if set, else libkudzu-cpu.so beside the library (or program) that holds this
 * function, else in the library folder that was compiled in.  The last two must be trusted
 * (base/trust.h).
 */
kz_status drv_open(struct drv **out, enum drv_provider provider, kz_error *err);
/* Fail if this process was forked from one that had used the driver. */
kz_status drv_check_fork(enum drv_provider provider, kz_error *err);
/* Whether a message blames an environment variable, and what to do then. */
bool drv_names_variable(const char *message);
extern const char drv_variable_hint[];

static inline bool drv_has(const struct drv *drv, enum drv_symbol symbol)
{
	return drv->has[symbol];
}

/* Turn a CUresult into a status and an error value; `call` is static text. */
kz_status drv_fail(const struct drv *drv, CUresult code, const char *call, kz_error *err);

static inline kz_status drv_check(
	const struct drv *drv, CUresult code, const char *call, kz_error *err)
{
	return likely(code == CUDA_SUCCESS) ? KZ_OK : drv_fail(drv, code, call, err);
}

#endif
