/* SPDX-License-Identifier: MIT */
#ifndef LIB_MATH_PROVIDER_H
#define LIB_MATH_PROVIDER_H

/*
 * Who does the linear algebra of a device: libraries, or our own kernels.
 *
 * A *task* is one operation of BLAS or LAPACK on matrices in device memory.  Matrices are
 * column-major here, as those libraries have them; what is row-major counts as its transpose.
 * Each device has a table of functions that put tasks into a stream, filled from its *providers*:
 *
 *	host_ops.c   CPU device: any BLAS and LAPACK, called by a host function of the stream
 *	cuda_ops.c   GPU: cuBLAS and cuSOLVER
 *	own_ops.c    any device: kernels, for the operations that no library does
 *
 * The code above fills in a task and calls math_run.  It does not ask which device it has.
 */
#include "lib/core/memory.h"

/* The operations, under LAPACK's names.  What they do with a, b, c and d:
 *
 *	GEMM   c(m, n) = alpha op_a(a) op_b(b) + beta c, k products each
 *	TRSM   b(m, n) = alpha op_a(a)^-1 b, or with side 'R' alpha b op_a(a)^-1
 *	GETRF  a(m, n) = P L U; b: int32 pivots from 1
 *	GETRS  c(n, k) = op_a(a)^-1 c, a and b from GETRF
 *	GETRI  c(n, n) = a^-1, a and b from GETRF; a is destroyed, and c may be a only where the
 *	       device's inverts_in_place is set
 *	POTRF  the triangle `uplo` of a(n, n) = L L^H or U^H U
 *	GEQRF  a(m, n) = Q R as reflectors; b: their factors, min(m, n)
 *	ORGQR  a(m, n) = the first n columns of Q, from k reflectors; b: their factors
 *	GESDD  a(m, n) = c S d; b: S, real; `job` 'A' all, 'S' min(m, n) columns of c and rows of d,
 *	       'N' neither; a is destroyed
 *	SYEVD  a(n, n) = V W V^H, triangle `uplo`; b: W, real, ascending; `job` 'V': a becomes V, 'N'
 *	GEEV   a(n, n) V = V W; b: W, complex; `job` 'V': c becomes V, complex; 'N'; a is destroyed
 */
enum math_op {
	MATH_GEMM, MATH_TRSM, MATH_GETRF, MATH_GETRS, MATH_GETRI, MATH_POTRF, MATH_GEQRF,
	MATH_ORGQR, MATH_GESDD, MATH_SYEVD, MATH_GEEV, MATH_OPS
};

/* The element types of tasks.  Those behind MATH_TYPES, float16 and bfloat16, are for GEMM only; its
 * sums are float32. */
enum math_type {
	MATH_S, MATH_D, MATH_C, MATH_Z, MATH_TYPES, MATH_H = MATH_TYPES, MATH_B, MATH_ALL_TYPES
};

/* One matrix or vector for each of a task's matrices. */
struct math_matrix {
	struct memory *memory; /* NULL: the operation has no such operand */
	CUdeviceptr address;
	int64_t ld;            /* elements from column to column */
	int64_t next;          /* elements from one to the next */
};

struct math_task {
	enum math_op op;
	enum math_type type;
	char op_a, op_b;       /* 'N', 'T', 'C': as it is, transposed, conjugated as well */
	char side, uplo, diag, job;
	int64_t m, n, k;
	int64_t count;         /* how many such operations */
	bool is_own;           /* our own kernels do it, whatever libraries there are */
	double alpha[2], beta[2];
	struct math_matrix a, b, c, d;
	struct math_matrix info; /* int32: 0, or what LAPACK reports; operations that can fail */
};

/* What `info` holds if the operation needed host memory and got none. */
#define MATH_INFO_NO_MEMORY INT32_MIN
/* What GETRF reports of a matrix that is for our own kernels (math_task.is_own): one with a NaN or an
 * infinity, which cuSOLVER loses; or with a pivot out of the range of a type, since libraries
 * multiply by its reciprocal. */
#define MATH_INFO_REFUSED (INT32_MIN + 1)

/* The sizes of pivots, other than 0, and of diagonals by which libraries divide rightly. */
struct math_range {
	double least, most;
};

struct math_device;
/* Put a task, which has elements, into a stream.  The context is current. */
typedef kz_status math_enqueue(struct math_device *math, const struct math_task *task,
	struct kz_stream *stream, kz_error *err);

/* What a device has for this folder; made when it is first needed, ended with the device. */
struct math_device {
	struct device_table table;
	struct kz_device *device;
	math_enqueue *enqueue[MATH_OPS][MATH_ALL_TYPES]; /* NULL: nobody does it */
	int64_t least_gemm; /* a product of fewer multiplications, of complex numbers of an eighth, is
	                       faster by our own kernel */
	struct math_range pivots[MATH_TYPES];
	bool inverts_in_place; /* GETRI takes a for c, which saves a copy */
	bool wants_ascending;  /* GEMM takes no matrix that lies before the one before it */
	const struct host_library *host;             /* of the CPU device; else NULL */
	struct cuda_handles *cuda;                   /* of a GPU, if there is a library; else NULL */
};

kz_status math_device_get(struct math_device **out, struct kz_device *dev, kz_error *err);

/* Whether somebody does an operation for a type. */
bool math_has(const struct math_device *math, enum math_op op, enum math_type type);
/* Put a task into a stream, in the order of its matrices' other uses.  KZ_UNSUPPORTED, with `call`
 * and what to install, if nobody does it. */
kz_status math_run(struct kz_device *dev, const struct math_task *task, struct kz_stream *stream,
	const char *call, kz_error *err);

/* Fail because the library that a variable names is not one.  What is named is meant: nothing else does its
 * work.  `log` is copied. */
kz_status math_refuse_named(const char *variable, const char *log, kz_error *err);

/* task.c */

/* The size of an element. */
size_t math_size(enum math_type type);
/* Where operation `i` of a task has an operand: 'a' and &task->a, and so on. */
CUdeviceptr math_address(const struct math_task *task, char operand, const struct math_matrix *of,
	int64_t i);
/* A scalar in the type in which a task computes. */
struct math_number {
	union {
		float f[2];
		double d[2];
	};
};
struct math_number math_number(enum math_type type, const double from[2]);

/* host_ops.c, cuda_ops.c */

/* The provider on the processor: fill the table with what the libraries there have. */
void host_ops_fill(struct math_device *math);
/* Our own kernels: fill what is still missing of products, triangular solvers, LU, Cholesky and QR. */
void own_ops_fill(struct math_device *math);
/* Whether they do a task; and doing it. */
bool own_ops_has(const struct math_task *task);
math_enqueue own_ops_enqueue;
/* That on a GPU.  KZ_NO_MEMORY; a library that is missing leaves the table as it is. */
kz_status cuda_ops_fill(struct math_device *math, kz_error *err);
/* End what it made for the device. */
void cuda_ops_end(struct math_device *math);

#endif
