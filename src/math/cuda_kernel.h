/* SPDX-License-Identifier: MIT */
#ifndef MATH_CUDA_KERNEL_H
#define MATH_CUDA_KERNEL_H

/* Our own kernels for what cuSOLVER lacks: kernels/solver.cuh. */
#include "math/provider.h"

/* The kernel that prepares an inverse (MATH_GETRI) or unpacks eigenvectors (MATH_GEEV). */
kz_status cuda_kernel_find(struct kz_kernel **out, struct kz_device *dev, enum math_op op,
	enum math_type type, kz_error *err);
/* c = I, *info = where the diagonal of a has its first 0, from 1, or 0. */
kz_status cuda_kernel_identity(struct kz_kernel *kernel, struct kz_stream *stream, CUdeviceptr c,
	int64_t ldc, CUdeviceptr a, int64_t lda, CUdeviceptr info, int n, kz_error *err);
/* c = the complex eigenvectors of a real matrix with eigenvalues w, from packed ones. */
kz_status cuda_kernel_unpack(struct kz_kernel *kernel, struct kz_stream *stream, CUdeviceptr c,
	int64_t ldc, CUdeviceptr w, CUdeviceptr vectors, int n, kz_error *err);

#endif
