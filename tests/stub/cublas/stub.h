/* SPDX-License-Identifier: MIT */
#ifndef CUBLAS_STUB_H
#define CUBLAS_STUB_H

/*
 * libcublas-stub.so: cuBLAS and cuSOLVER for tests, which compute on the memory of the CPU device
 * by the BLAS and LAPACK of this machine.
 *
 * Calls check their arguments as NVIDIA's do, and refuse what those of CUDA 13 refuse: a negative
 * step between matrices of complex64.  LU factorizations lose NaN as theirs do.  Then they put a
 * job into the handle's stream.  Work space is filled with garbage to its end: a caller that gives
 * too little, or gives the same to two streams, gets wrong results.
 *
 * CUBLAS_STUB_FAIL="cublasGemmEx:13" makes the function of that name return the code.
 */
#include "base/common.h"

#include "lib/linalg/cuda_library.h"
#include "lib/linalg/host_library.h"

struct stub_job {
	void (*run)(const struct stub_job *job, const struct host_library *library);
	enum linalg_type type;
	char letters[4];
	int64_t n[3], ld[3], next[3], count;
	void *p[6];
	void *work;
	size_t work_size;
	int *info;
	double alpha[2], beta[2];
	struct stub_job *after; /* in the list of all, since graphs run jobs again */
};

/* What the test sets: cuLaunchHostFunc of the device's driver. */
extern int (*stub_launch)(CUstream stream, void (*function)(void *data), void *data);
/* How many handles there are, and how often each library was called. */
extern int stub_handles;

/* The code to fail with; 0: none. */
int stub_failure(const char *function);
int stub_submit(CUstream stream, const struct stub_job *job);
CUstream stub_blas_stream(cublasHandle_t blas);
CUstream stub_solver_stream(cusolverDnHandle_t solver);
double stub_part(enum linalg_type type, const void *number, int part);

void stub_gemm(const struct stub_job *job, const struct host_library *library);
void stub_trsm(const struct stub_job *job, const struct host_library *library);
void stub_geam(const struct stub_job *job, const struct host_library *library);
void stub_getrf(const struct stub_job *job, const struct host_library *library);
void stub_getrs(const struct stub_job *job, const struct host_library *library);
void stub_potrf(const struct stub_job *job, const struct host_library *library);
void stub_geqrf(const struct stub_job *job, const struct host_library *library);
void stub_orgqr(const struct stub_job *job, const struct host_library *library);
void stub_gesvd(const struct stub_job *job, const struct host_library *library);
void stub_syevd(const struct stub_job *job, const struct host_library *library);
void stub_geev(const struct stub_job *job, const struct host_library *library);

#endif
