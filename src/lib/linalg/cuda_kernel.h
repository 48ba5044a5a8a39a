/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_CUDA_KERNEL_H
#define LIB_LINALG_CUDA_KERNEL_H

/* Our own kernels for what cuSOLVER lacks: kernels/solver.cuh. */
#include "lib/linalg/provider.h"

#include <kudzu/module.h>

/* The kernel that checks matrices (LINALG_GETRF), prepares an inverse (LINALG_GETRI) or unpacks
 * eigenvectors (LINALG_GEEV). */
kz_status cuda_kernel_find(struct kz_kernel **out, struct kz_device *dev, enum linalg_op op,
	enum linalg_type type, kz_error *err);
/* c = I, *info = where the diagonal of a has its first 0, from 1, or 0. */
kz_status cuda_kernel_identity(struct kz_kernel *kernel, struct kz_stream *stream, CUdeviceptr c,
	int64_t ldc, CUdeviceptr a, int64_t lda, CUdeviceptr info, int n, kz_error *err);
/* Before a task of GETRF: marks[i] = 1 for each matrix with a NaN or an infinity.  After it, `is_done`:
 * its info is LINALG_INFO_REFUSED for these, and for those with a pivot that is out of the range. */
kz_status cuda_kernel_check(struct kz_kernel *kernel, struct kz_stream *stream,
	const struct linalg_task *task, const struct linalg_range *range, CUdeviceptr marks, bool is_done,
	kz_error *err);
/* c = the complex eigenvectors of a real matrix with eigenvalues w, from packed ones. */
kz_status cuda_kernel_unpack(struct kz_kernel *kernel, struct kz_stream *stream, CUdeviceptr c,
	int64_t ldc, CUdeviceptr w, CUdeviceptr vectors, int n, kz_error *err);

#endif
