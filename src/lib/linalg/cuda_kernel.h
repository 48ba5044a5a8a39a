/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_CUDA_KERNEL_H
#define LIB_LINALG_CUDA_KERNEL_H

/* Tasks for cuBLAS and cuSOLVER while their calls are made, and our own kernels for what cuSOLVER
 * lacks: kernels/solver.cuh. */
#include "lib/linalg/cuda_library.h"

#include <kudzu/module.h>

enum { CUDA_TEMPORARIES = 4 };

/* A task while its calls are made. */
struct cuda_call {
	const struct cuda_library *library;
	struct cuda_handles *handles;
	struct kz_device *device;
	struct kz_stream *stream;
	const struct linalg_task *task;
	kz_error *err;
	const struct linalg_range *range;
	struct kz_kernel *kernel;  /* GETRF, GETRI; GEEV of real matrices with vectors */
	struct kz_buffer *buffer;  /* device memory, of the next two */
	CUdeviceptr temporaries[CUDA_TEMPORARIES];
	void *work;                /* the library's work space */
	int count;                 /* its elements */
	size_t work_size;          /* its bytes */
	void *host_work;           /* GEEV */
	size_t host_size;
	size_t sizes[CUDA_TEMPORARIES]; /* of the temporaries, in bytes */
	void *a, *b, *c, *d;       /* of one operation */
	int *info;
	bool is_refused;           /* the library does not support it, and nothing was computed */
};

static inline CUdeviceptr cuda_address(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

static inline void *cuda_pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}

/* The kernel that checks matrices (LINALG_GETRF), prepares an inverse (LINALG_GETRI) or unpacks
 * eigenvectors (LINALG_GEEV). */
kz_status cuda_kernel_find(struct kz_kernel **out, struct kz_device *dev, enum linalg_op op,
	enum linalg_type type, kz_error *err);
/* c = I, *info = where the diagonal of a has its first 0, from 1, or 0. */
kz_status cuda_kernel_identity(const struct cuda_call *call);
/* Before a task of GETRF: marks[i] = 1 for each matrix with a NaN or an infinity.  After it,
 * `is_done`: its info is LINALG_INFO_REFUSED for these, and for those with a pivot that is out of
 * the range. */
kz_status cuda_kernel_check(const struct cuda_call *call, CUdeviceptr marks, bool is_done);
/* c = the complex eigenvectors of a real matrix with eigenvalues b, from packed ones. */
kz_status cuda_kernel_unpack(const struct cuda_call *call, CUdeviceptr vectors);

#endif
