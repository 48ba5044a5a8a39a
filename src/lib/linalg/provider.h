/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_PROVIDER_H
#define LIB_LINALG_PROVIDER_H

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
 * The code above fills in a task and calls linalg_run.  It does not ask which device it has.
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
 *	SYEVD  a(n, n) = V W V^H, triangle `uplo`; b: W, real, ascending; `job` 'V': a becomes V
 *	GEEV   a(n, n) V = V W; b: W, complex; `job` 'V': c becomes V, complex; 'N'; a is destroyed
 */
enum linalg_op {
	LINALG_GEMM, LINALG_TRSM, LINALG_GETRF, LINALG_GETRS, LINALG_GETRI, LINALG_POTRF,
		LINALG_GEQRF,
	LINALG_ORGQR, LINALG_GESDD, LINALG_SYEVD, LINALG_GEEV, LINALG_OPS
};

/* The element types of tasks.  Those after LINALG_TYPES, float16 and bfloat16, are for GEMM only;
 * its sums are float32. */
enum linalg_type {
	LINALG_S, LINALG_D, LINALG_C, LINALG_Z, LINALG_TYPES, LINALG_H = LINALG_TYPES, LINALG_B,
		LINALG_ALL_TYPES
};

static inline bool linalg_is_complex(enum linalg_type type)
{
	return type == LINALG_C || type == LINALG_Z;
}

/* The operations of BLAS; LAPACK and cuSOLVER have the others. */
static inline bool linalg_is_blas(enum linalg_op op)
{
	return op == LINALG_GEMM || op == LINALG_TRSM;
}

/* One matrix or vector for each of a task's matrices. */
struct linalg_matrix {
	struct memory *memory; /* NULL: the operation has no such operand */
	CUdeviceptr address;
	int64_t ld;            /* elements from column to column */
	int64_t next;          /* elements from one to the next */
};

struct linalg_task {
	enum linalg_op op;
	enum linalg_type type;
	char op_a, op_b;       /* 'N', 'T', 'C': as it is, transposed, conjugated as well */
	char side, uplo, diag, job;
	int64_t m, n, k;
	int64_t count;         /* how many such operations */
	bool is_own;           /* our own kernels do it, whatever libraries there are */
	double alpha[2], beta[2];
	struct linalg_matrix a, b, c, d;
	struct linalg_matrix info; /* int32: 0, or what LAPACK reports; operations that can fail */
};

/* What `info` holds if the operation needed host memory and got none. */
#define LINALG_INFO_NO_MEMORY INT32_MIN
/* What GETRF reports of a matrix that is for our own kernels (linalg_task.is_own): one with a NaN
 * or an infinity, which cuSOLVER loses; or with a pivot out of the range of a type, since libraries
 * multiply by its reciprocal. */
#define LINALG_INFO_REFUSED (INT32_MIN + 1)

/* The sizes of pivots, other than 0, and of diagonals by which libraries divide rightly. */
struct linalg_range {
	double least, most;
};

struct linalg_device;
/* Put a task, which has elements, into a stream.  The context is current. */
typedef kz_status linalg_enqueue(struct linalg_device *math, const struct linalg_task *task,
	struct kz_stream *stream, kz_error *err);

/* What a device has for this folder; made when it is first needed, ended with the device. */
struct linalg_device {
	struct device_table table;
	struct kz_device *device;
	linalg_enqueue *enqueue[LINALG_OPS][LINALG_ALL_TYPES]; /* NULL: nobody does it */
	int64_t least_gemm; /* a product of fewer multiplications, of complex numbers of an eighth,
	                       is faster by our own kernel */
	struct linalg_range pivots[LINALG_TYPES];
	bool inverts_in_place; /* GETRI takes a for c, which saves a copy */
	bool wants_ascending;  /* GEMM takes no matrix that lies before the one before it */
	const struct host_library *host;             /* of the CPU device; else NULL */
	struct cuda_handles *cuda;                   /* of a GPU, if there is a library; else
	                                                NULL */
};

kz_status linalg_device_get(struct linalg_device **out, struct kz_device *dev, kz_error *err);

/* Whether somebody does an operation for a type. */
bool linalg_has(const struct linalg_device *math, enum linalg_op op, enum linalg_type type);
/* Put a task into a stream, in the order of its matrices' other uses.  KZ_UNSUPPORTED, with `call`
 * and what to install, if nobody does it. */
kz_status linalg_run(struct kz_device *dev, const struct linalg_task *task,
	struct kz_stream *stream, const char *call, kz_error *err);

/* Fail because the library that a variable names is not one.  What is named is meant: nothing else
 * does its work.  `log` is copied. */
kz_status linalg_refuse_named(const char *variable, const char *log, kz_error *err);

/* task.c */

/* The size of an element. */
size_t linalg_size(enum linalg_type type);
/* Where operation `i` of a task has an operand: 'a' and &task->a, and so on. */
CUdeviceptr linalg_address(const struct linalg_task *task, char operand,
	const struct linalg_matrix *of, int64_t i);
/* A scalar in the type in which a task computes. */
struct linalg_number {
	union {
		float f[2];
		double d[2];
	};
};
struct linalg_number linalg_number(enum linalg_type type, const double from[2]);

/* host_ops.c, cuda_ops.c */

/* The provider on the processor: fill the table with what the libraries there have. */
void host_ops_fill(struct linalg_device *math);
/* Our own kernels: fill what is still missing of products, triangular solvers, LU, Cholesky and
 * QR. */
void own_ops_fill(struct linalg_device *math);
/* Whether they do a task; and doing it. */
bool own_ops_has(const struct linalg_task *task);
linalg_enqueue own_ops_enqueue;
/* That on a GPU.  KZ_NO_MEMORY; a library that is missing leaves the table as it is. */
kz_status cuda_ops_fill(struct linalg_device *math, kz_error *err);
/* End what it made for the device. */
void cuda_ops_end(struct linalg_device *math);

#endif
