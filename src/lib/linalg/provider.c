/* SPDX-License-Identifier: MIT */
/*
 * The table of who does what for a device, and putting tasks into streams.
 *
 * The table is filled once, when something is first computed on the device: by the libraries, then,
 * where these have gaps, by our own kernels.
 */
#include "base/common.h"

#include "lib/linalg/provider.h"

#include "base/alloc.h"
#include "base/env.h"
#include "lib/linalg/cuda_library.h"
#include "lib/linalg/host_library.h"

#include <float.h>

static const struct {
	const char *what;
	const char *library; /* on the CPU device */
} linalg_ops[LINALG_OPS] = {
	[LINALG_GEMM] = {"a product of matrices", "BLAS"},
	[LINALG_TRSM] = {"a triangular solver", "BLAS"},
	[LINALG_GETRF] = {"an LU factorization", "LAPACK"},
	[LINALG_GETRS] = {"a solver", "LAPACK"},
	[LINALG_GETRI] = {"an inverse", "LAPACK"},
	[LINALG_POTRF] = {"a Cholesky factorization", "LAPACK"},
	[LINALG_GEQRF] = {"a QR factorization", "LAPACK"},
	[LINALG_ORGQR] = {"a QR factorization", "LAPACK"},
	[LINALG_GESDD] = {"a singular value decomposition", "LAPACK"},
	[LINALG_SYEVD] = {"eigenvalues of a symmetric matrix", "LAPACK"},
	[LINALG_GEEV] = {"eigenvalues", "LAPACK"},
};

static void provider_end_device(struct device_table *table)
{
	cuda_ops_end((struct linalg_device *)table);
	mem_free(table);
}

kz_status linalg_refuse_named(const char *variable, const char *log, kz_error *err)
{
	bool mine = error_is_clean(err);
	error_set(err, KZ_NOT_FOUND, "no usable library in %s='%s'", variable, env_get(variable));
	if (mine) {
		error_add_hint(err, "correct the environment variable, or unset it; 'none' leaves "
			"the work to Kudzu's own kernels");
		error_take_log(err, mem_strdup(log));
	}
	return KZ_NOT_FOUND;
}

static kz_status provider_fill_host(struct linalg_device *math, kz_error *err)
{
	host_ops_fill(math);
	for (int part = 0; part < HOST_PARTS; part++) {
		const char *variable = host_library_misnamed(math->host, (enum host_part)part);
		if (variable) {
			return linalg_refuse_named(variable, host_library_log(), err);
		}
	}
	return KZ_OK;
}

static kz_status provider_fill_cuda(struct linalg_device *math, kz_error *err)
{
	kz_status st = cuda_ops_fill(math, err);
	for (int part = CUDA_CUBLAS; !st && part <= CUDA_CUSOLVER; part++) {
		const char *variable = cuda_library_misnamed(cuda_library_get(CUDA_CUBLAS),
			(enum cuda_part)part);
		if (variable) {
			st = linalg_refuse_named(variable, cuda_library_log((enum cuda_part)part),
				err);
		}
	}
	return st;
}

static kz_status provider_fill(struct linalg_device *math, kz_error *err)
{
	if (math->device->on_host) {
		return provider_fill_host(math, err);
	}
	return math->device->has_libraries ? provider_fill_cuda(math, err) : KZ_OK;
}

kz_status linalg_device_get(struct linalg_device **out, struct kz_device *dev, kz_error *err)
{
	struct device_table *found = device_table(dev, DEVICE_MATH);
	if (!found) {
		struct linalg_device *math = mem_zalloc(1, sizeof(*math));
		if (!math) {
			return error_no_memory(err);
		}
		math->table.end = provider_end_device;
		math->device = dev;
		for (int type = 0; type < LINALG_TYPES; type++) {
			bool is_double = type == LINALG_D || type == LINALG_Z;
			math->pivots[type].least = is_double ? DBL_MIN : (double)FLT_MIN;
			math->pivots[type].most = is_double ? DBL_MAX : (double)FLT_MAX;
		}
		kz_status st = provider_fill(math, err);
		if (st) {
			provider_end_device(&math->table);
			return st;
		}
		own_ops_fill(math);
		found = device_put_table(dev, DEVICE_MATH, &math->table);
	}
	*out = (struct linalg_device *)found;
	return KZ_OK;
}

bool linalg_has(const struct linalg_device *math, enum linalg_op op, enum linalg_type type)
{
	return math->enqueue[op][type];
}

static kz_status provider_fail_missing(const struct linalg_device *math, enum linalg_op op,
	const char *call, kz_error *err)
{
	bool mine = error_is_clean(err);
	enum cuda_part part = linalg_is_blas(op) ? CUDA_CUBLAS : CUDA_CUSOLVER;
	const char *library = math->host ? linalg_ops[op].library : linalg_is_blas(op) ? "cuBLAS"
		: op == LINALG_GEEV ? "cuSOLVER of CUDA 12.8 or newer" : "cuSOLVER";
	error_set(err, KZ_UNSUPPORTED, "%s: %s needs %s, but no library that has it was found",
		call, linalg_ops[op].what, library);
	if (mine && math->host) {
		error_add_hint(err, "install OpenBLAS (Debian: apt-get install libopenblas0), or "
			"name a library in KUDZU_BLAS and KUDZU_LAPACK");
		error_take_log(err, mem_strdup(host_library_log()));
	} else if (mine) {
		error_add_hint(err, "install the CUDA toolkit, or NVIDIA's wheels (pip install "
			"nvidia-cublas nvidia-cusolver), or name them in KUDZU_CUBLAS and "
			"KUDZU_CUSOLVER");
		error_take_log(err, mem_strdup(cuda_library_log(part)));
	}
	return KZ_UNSUPPORTED;
}

kz_status linalg_run(struct kz_device *dev, const struct linalg_task *task,
	struct kz_stream *stream, const char *call, kz_error *err)
{
	struct memory *const used[] = {task->a.memory, task->b.memory, task->c.memory,
		task->d.memory, task->info.memory};
	struct linalg_device *math;
	struct device_scope scope;
	kz_status st = linalg_device_get(&math, dev, err);
	if (st) {
		return st;
	}
	linalg_enqueue *enqueue = task->is_own ? own_ops_enqueue
		: math->enqueue[task->op][task->type];
	if (!enqueue) {
		return provider_fail_missing(math, task->op, call, err);
	}
	if ((st = device_enter(dev, &scope, err))) {
		return st;
	}
	for (size_t i = 0; !st && i < countof(used); i++) {
		st = used[i] ? memory_use(used[i], stream, err) : KZ_OK;
	}
	st = st ? st : enqueue(math, task, stream, err);
	for (size_t i = 0; !st && i < countof(used); i++) {
		st = used[i] ? memory_used(used[i], stream, err) : KZ_OK;
	}
	device_leave(dev, &scope);
	return st;
}
