/* SPDX-License-Identifier: MIT */
/*
 * Tasks on a GPU: calls of cuBLAS and cuSOLVER.
 *
 * These put their kernels into the stream that their handle was told last, so a lock covers the
 * telling and the calls.  A device has one handle of each library, made when it is first needed.
 * Work space comes from the device's pool and goes back as soon as the calls are made: the pool
 * orders its next use after this stream.
 *
 * Sums of float32 are float32 sums (no TF32), and those of halves are float32 to their end.
 *
 * Where a library answers that it does not support something, our own kernels do it.
 *
 * cuSOLVER has singular values for tall matrices only: of a wide one those of A^H are computed,
 * A^H = U S V^H and A = V S U^H.  It has no inverse: that is the solution for the identity.
 *
 * Only cuBLAS is made to be captured.  In a captured stream cuSOLVER's operations are refused.
 */
#include "base/common.h"

#include "lib/linalg/cuda_kernel.h"
#include "lib/linalg/cuda_library.h"

#include "base/alloc.h"
#include "lib/cuda/codes.h"

#include <pthread.h>

enum { CUDA_ALIGNMENT = 256 };

/* Of a device. */
struct cuda_handles {
	const struct cuda_library *library;
	pthread_mutex_t lock; /* guards the rest, and all calls with a handle */
	cublasHandle_t blas;
	cusolverDnHandle_t solver;
	cusolverDnParams_t params;
};

static kz_status cuda_blas_ok(const struct cuda_call *call, int code, const char *function)
{
	return code ? codes_fail(KZ_DOMAIN_CUBLAS, code, function, NULL, call->err) : KZ_OK;
}

static kz_status cuda_solver_ok(const struct cuda_call *call, int code, const char *function)
{
	return code ? codes_fail(KZ_DOMAIN_CUSOLVER, code, function, NULL, call->err) : KZ_OK;
}

static int cuda_op(char op)
{
	return op == 'N' ? CUBLAS_OP_N : op == 'T' ? CUBLAS_OP_T : CUBLAS_OP_C;
}

static int cuda_uplo(char uplo)
{
	return uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

static int cuda_job(char job)
{
	return job == 'V' ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}

static int cuda_data_type(enum linalg_type type)
{
	static const uint8_t types[LINALG_ALL_TYPES] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F,
		CUDA_C_64F, CUDA_R_16F, CUDA_R_16BF};
	return types[type];
}

/* cuBLAS */

static kz_status cuda_gemm(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	const struct cuda_library *library = call->library;
	cublasHandle_t blas = call->handles->blas;
	struct linalg_number alpha = linalg_number(t->type, t->alpha);
	struct linalg_number beta = linalg_number(t->type, t->beta);
	int op_a = cuda_op(t->op_a), op_b = cuda_op(t->op_b), type = cuda_data_type(t->type);
	int compute = t->type == LINALG_D || t->type == LINALG_Z ? CUBLAS_COMPUTE_64F
		: CUBLAS_COMPUTE_32F;
	const int64_t numbers[] = {t->m, t->n, t->k, t->a.ld, t->b.ld, t->c.ld, t->count};
	int64_t most = 0;
	for (size_t i = 0; i < countof(numbers); i++) {
		most = numbers[i] > most ? numbers[i] : most;
	}
	if (most > INT32_MAX && !library->gemm_64) {
		return error_set(call->err, KZ_RANGE, "an extent of 2^31 or more needs cuBLAS 12 "
			"or newer, and this is %d.%d", library->parts[CUDA_CUBLAS].version[0],
			library->parts[CUDA_CUBLAS].version[1]);
	}
	if (most > INT32_MAX) {
		return cuda_blas_ok(call,
			library->gemm_64(blas, op_a, op_b, t->m, t->n, t->k, &alpha,
			call->a, type, t->a.ld, t->a.next, call->b, type, t->b.ld, t->b.next, &beta,
			call->c, type, t->c.ld, t->c.next, t->count, compute, CUBLAS_GEMM_DEFAULT),
			"cublasGemmStridedBatchedEx_64");
	}
	int m = (int)t->m, n = (int)t->n, k = (int)t->k;
	int lda = (int)t->a.ld, ldb = (int)t->b.ld, ldc = (int)t->c.ld;
	if (t->count == 1) {
		return cuda_blas_ok(call, library->gemm_one(blas, op_a, op_b, m, n, k, &alpha,
			call->a, type, lda, call->b, type, ldb, &beta, call->c, type, ldc, compute,
			CUBLAS_GEMM_DEFAULT), "cublasGemmEx");
	}
	return cuda_blas_ok(call,
		library->gemm(blas, op_a, op_b, m, n, k, &alpha, call->a, type, lda,
		t->a.next, call->b, type, ldb, t->b.next, &beta, call->c, type, ldc, t->c.next,
		(int)t->count, compute, CUBLAS_GEMM_DEFAULT), "cublasGemmStridedBatchedEx");
}

static kz_status cuda_trsm(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	struct linalg_number alpha = linalg_number(t->type, t->alpha);
	return cuda_blas_ok(call, call->library->trsm[t->type](call->handles->blas,
		t->side == 'L' ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT, cuda_uplo(t->uplo),
		cuda_op(t->op_a), t->diag == 'U' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT,
		(int)t->m, (int)t->n, &alpha, call->a, (int)t->a.ld, call->b,
		(int)t->b.ld), "cublas<t>trsm");
}

/* A matrix of one operation: in a task, or in its temporaries. */
struct cuda_matrix {
	void *at;
	int64_t ld;
};

/* to(m, n) = from(n, m)^H */
static kz_status cuda_turn(struct cuda_call *call, int64_t m, int64_t n, struct cuda_matrix to,
	struct cuda_matrix from)
{
	enum linalg_type type = call->task->type;
	struct linalg_number one = linalg_number(type, (const double[2]){1, 0});
	struct linalg_number zero = linalg_number(type, (const double[2]){0, 0});
	return cuda_blas_ok(call, call->library->geam[type](call->handles->blas, CUBLAS_OP_C,
		CUBLAS_OP_C, (int)m, (int)n, &one, from.at, (int)from.ld, &zero, from.at,
		(int)from.ld, to.at, (int)to.ld), "cublas<t>geam");
}

/* LU */

static kz_status cuda_getrf_size(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	call->sizes[0] = (size_t)t->count * sizeof(int32_t); /* for cuda_check */
	return cuda_solver_ok(call, call->library->getrf_size[t->type](call->handles->solver,
		(int)t->m, (int)t->n, call->a, (int)t->a.ld, &call->count),
		"cusolverDn<t>getrf_bufferSize");
}

static kz_status cuda_getrf(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->getrf[t->type](call->handles->solver, (int)t->m,
		(int)t->n, call->a, (int)t->a.ld, call->work, call->b, call->info),
		"cusolverDn<t>getrf");
}

static kz_status cuda_getrs(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->getrs[t->type](call->handles->solver,
		cuda_op(t->op_a), (int)t->n, (int)t->k, call->a, (int)t->a.ld, call->b, call->c,
		(int)t->c.ld, call->info), "cusolverDn<t>getrs");
}

static kz_status cuda_getri_size(struct cuda_call *call)
{
	call->sizes[0] = sizeof(int); /* for getrs, which knows nothing of zeros on the diagonal */
	return KZ_OK;
}

static kz_status cuda_getri(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	kz_status st = cuda_kernel_identity(call);
	return st ? st : cuda_solver_ok(call, call->library->getrs[t->type](call->handles->solver,
		CUBLAS_OP_N, (int)t->n, (int)t->n, call->a, (int)t->a.ld, call->b, call->c,
		(int)t->c.ld, cuda_pointer(call->temporaries[0])), "cusolverDn<t>getrs");
}

/* Other factors */

static kz_status cuda_potrf_size(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->potrf_size[t->type](call->handles->solver,
		cuda_uplo(t->uplo), (int)t->n, call->a, (int)t->a.ld, &call->count),
		"cusolverDn<t>potrf_bufferSize");
}

static kz_status cuda_potrf(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->potrf[t->type](call->handles->solver,
		cuda_uplo(t->uplo), (int)t->n, call->a, (int)t->a.ld, call->work, call->count,
		call->info), "cusolverDn<t>potrf");
}

static kz_status cuda_geqrf_size(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->geqrf_size[t->type](call->handles->solver,
		(int)t->m, (int)t->n, call->a, (int)t->a.ld, &call->count),
		"cusolverDn<t>geqrf_bufferSize");
}

static kz_status cuda_geqrf(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->geqrf[t->type](call->handles->solver, (int)t->m,
		(int)t->n, call->a, (int)t->a.ld, call->b, call->work, call->count, call->info),
		"cusolverDn<t>geqrf");
}

static kz_status cuda_orgqr_size(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->orgqr_size[t->type](call->handles->solver,
		(int)t->m, (int)t->n, (int)t->k, call->a, (int)t->a.ld, call->b, &call->count),
		"cusolverDn<t>orgqr_bufferSize");
}

static kz_status cuda_orgqr(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->orgqr[t->type](call->handles->solver, (int)t->m,
		(int)t->n, (int)t->k, call->a, (int)t->a.ld, call->b, call->work, call->count,
		call->info), "cusolverDn<t>orgqr");
}

/* Singular values and eigenvalues */

enum { GESVD_REAL, GESVD_TURNED, GESVD_U, GESVD_VT }; /* temporaries; the last three for wide
                                                         ones */

/* count elements of the task's type; SIZE_MAX if that overflows. */
static size_t cuda_bytes(const struct cuda_call *call, int64_t rows, int64_t columns)
{
	size_t bytes;
	bool fits = size_mul(&bytes, (size_t)rows, (size_t)columns)
		&& size_mul(&bytes, bytes, linalg_size(call->task->type));
	return fits ? bytes : SIZE_MAX;
}

static kz_status cuda_gesdd_size(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	int64_t tall = t->m > t->n ? t->m : t->n, least = min64(t->m, t->n);
	call->sizes[GESVD_REAL] = cuda_bytes(call, least, 1);
	if (t->m < t->n) {
		call->sizes[GESVD_TURNED] = cuda_bytes(call, tall, least);
	}
	if (t->m < t->n && t->job != 'N') {
		call->sizes[GESVD_U] = cuda_bytes(call, tall, t->job == 'A' ? tall : least);
		call->sizes[GESVD_VT] = cuda_bytes(call, least, least);
	}
	return cuda_solver_ok(call, call->library->gesvd_size[t->type](call->handles->solver,
		(int)tall, (int)least, &call->count), "cusolverDn<t>gesvd_bufferSize");
}

static kz_status cuda_gesvd(struct cuda_call *call, int64_t m, int64_t n, struct cuda_matrix a,
	struct cuda_matrix u, struct cuda_matrix vt)
{
	const struct linalg_task *t = call->task;
	bool has_vectors = t->job != 'N';
	return cuda_solver_ok(call, call->library->gesvd[t->type](call->handles->solver,
		(signed char)t->job, (signed char)t->job, (int)m, (int)n, a.at, (int)a.ld, call->b,
		has_vectors ? u.at : NULL, has_vectors ? (int)u.ld : (int)m,
		has_vectors ? vt.at : NULL, has_vectors ? (int)vt.ld : (int)n, call->work,
		call->count,
		cuda_pointer(call->temporaries[GESVD_REAL]), call->info), "cusolverDn<t>gesvd");
}

static kz_status cuda_gesdd(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	const struct cuda_matrix a = {call->a, t->a.ld}, c = {call->c, t->c.ld}, d = {call->d,
		t->d.ld};
	kz_status st;
	if (t->m >= t->n) {
		return cuda_gesvd(call, t->m, t->n, a, c, d);
	}
	const struct cuda_matrix turned = {cuda_pointer(call->temporaries[GESVD_TURNED]), t->n};
	const struct cuda_matrix u = {cuda_pointer(call->temporaries[GESVD_U]), t->n};
	const struct cuda_matrix vt = {cuda_pointer(call->temporaries[GESVD_VT]), t->m};
	int64_t columns = t->job == 'A' ? t->n : t->m;
	if ((st = cuda_turn(call, t->n, t->m, turned, a))
	    || (st = cuda_gesvd(call, t->n, t->m, turned, u, vt)) || t->job == 'N') {
		return st;
	}
	st = cuda_turn(call, t->m, t->m, c, vt);
	return st ? st : cuda_turn(call, columns, t->n, d, u);
}

static kz_status cuda_syevd_size(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->syevd_size[t->type](call->handles->solver,
		cuda_job(t->job), cuda_uplo(t->uplo), (int)t->n, call->a, (int)t->a.ld, call->b,
		&call->count), "cusolverDn<t>syevd_bufferSize");
}

static kz_status cuda_syevd(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	return cuda_solver_ok(call, call->library->syevd[t->type](call->handles->solver,
		cuda_job(t->job), cuda_uplo(t->uplo), (int)t->n, call->a, (int)t->a.ld, call->b,
		call->work, call->count, call->info), "cusolverDn<t>syevd");
}

/* The types of a call of geev: eigenvalues are complex, vectors of a real matrix are packed. */
struct cuda_geev {
	int matrix, values;
	void *vectors;
	int64_t ld;
};

static struct cuda_geev cuda_geev_layout(const struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	struct cuda_geev out = {cuda_data_type(t->type), t->type == LINALG_S || t->type == LINALG_C
		? CUDA_C_32F : CUDA_C_64F, NULL, t->n};
	if (t->job == 'V') {
		out.vectors = call->kernel ? cuda_pointer(call->temporaries[0]) : call->c;
		out.ld = call->kernel ? t->n : t->c.ld;
	}
	return out;
}

static kz_status cuda_geev_size(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	struct cuda_geev geev = cuda_geev_layout(call);
	call->sizes[0] = call->kernel ? cuda_bytes(call, t->n, t->n) : 0;
	return cuda_solver_ok(call, call->library->geev_size(call->handles->solver,
		call->handles->params, CUSOLVER_EIG_MODE_NOVECTOR, cuda_job(t->job), t->n,
		geev.matrix, call->a, t->a.ld, geev.values, call->b, geev.matrix, NULL, t->n,
		geev.matrix, geev.vectors, geev.ld, geev.matrix, &call->work_size,
		&call->host_size), "cusolverDnXgeev_bufferSize");
}

static kz_status cuda_geev(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	struct cuda_geev geev = cuda_geev_layout(call);
	kz_status st = cuda_solver_ok(call, call->library->geev(call->handles->solver,
		call->handles->params, CUSOLVER_EIG_MODE_NOVECTOR, cuda_job(t->job), t->n,
		geev.matrix, call->a, t->a.ld, geev.values, call->b, geev.matrix, NULL, t->n,
		geev.matrix, geev.vectors, geev.ld, geev.matrix, call->work, call->work_size,
		call->host_work, call->host_size, call->info), "cusolverDnXgeev");
	if (!st && call->kernel) {
		st = cuda_kernel_unpack(call, call->temporaries[0]);
	}
	return st;
}

/* Tasks */

static const struct {
	kz_status (*size)(struct cuda_call *call); /* fills in the sizes; NULL: needs no work
	                                              space */
	kz_status (*run)(struct cuda_call *call);  /* one operation; GEMM: all */
} cuda_calls[LINALG_OPS] = {
	[LINALG_GEMM] = {NULL, cuda_gemm}, [LINALG_TRSM] = {NULL, cuda_trsm},
	[LINALG_GETRF] = {cuda_getrf_size, cuda_getrf}, [LINALG_GETRS] = {NULL, cuda_getrs},
	[LINALG_GETRI] = {cuda_getri_size, cuda_getri},
	[LINALG_POTRF] = {cuda_potrf_size, cuda_potrf},
	[LINALG_GEQRF] = {cuda_geqrf_size, cuda_geqrf},
	[LINALG_ORGQR] = {cuda_orgqr_size, cuda_orgqr},
	[LINALG_GESDD] = {cuda_gesdd_size, cuda_gesdd},
	[LINALG_SYEVD] = {cuda_syevd_size, cuda_syevd},
	[LINALG_GEEV] = {cuda_geev_size, cuda_geev},
};

static void cuda_at(struct cuda_call *call, int64_t i)
{
	const struct linalg_task *t = call->task;
	call->a = cuda_pointer(linalg_address(t, 'a', &t->a, i));
	call->b = cuda_pointer(linalg_address(t, 'b', &t->b, i));
	call->c = cuda_pointer(linalg_address(t, 'c', &t->c, i));
	call->d = cuda_pointer(linalg_address(t, 'd', &t->d, i));
	if (t->info.address) {
		call->info = cuda_pointer(t->info.address + (CUdeviceptr)i * sizeof(int32_t));
	}
}

static bool cuda_add_part(size_t *total, size_t size)
{
	return size <= SIZE_MAX - CUDA_ALIGNMENT
		&& size_add(total, *total, (size + CUDA_ALIGNMENT - 1) / CUDA_ALIGNMENT
			* CUDA_ALIGNMENT);
}

/* Memory for info, where the caller wants none, the temporaries and the library, in this order. */
static kz_status cuda_get_memory(struct cuda_call *call)
{
	const struct memory_wish wish = {.stream = call->stream};
	size_t total = CUDA_ALIGNMENT, offset = CUDA_ALIGNMENT;
	bool fits = true;
	if (call->count > 0) {
		call->work_size = cuda_bytes(call, call->count, 1);
	}
	for (int i = 0; i < CUDA_TEMPORARIES; i++) {
		fits = fits && cuda_add_part(&total, call->sizes[i]);
	}
	fits = fits && cuda_add_part(&total, call->work_size) && total <= INT64_MAX;
	if (!fits) {
		return error_set(call->err, KZ_RANGE, "the work space of a factorization is too "
			"large");
	}
	kz_status st = buffer_create(&call->buffer, call->device, (int64_t)total, &wish, call->err);
	if (!st && call->host_size && !(call->host_work = mem_alloc(call->host_size))) {
		st = error_no_memory(call->err);
	}
	if (st || (st = memory_use(call->buffer->memory, call->stream, call->err))) {
		return st;
	}
	CUdeviceptr base = buffer_address(call->buffer);
	call->info = cuda_pointer(base);
	for (int i = 0; i < CUDA_TEMPORARIES; i++) {
		call->temporaries[i] = base + offset;
		(void)cuda_add_part(&offset, call->sizes[i]);
	}
	call->work = cuda_pointer(base + offset);
	return KZ_OK;
}

/* Make the handle that an operation needs, if it is the first.  Under the lock. */
static kz_status cuda_make_handle(struct cuda_call *call, bool is_solver)
{
	struct cuda_handles *handles = call->handles;
	const struct cuda_library *library = call->library;
	if (is_solver ? (bool)handles->solver : (bool)handles->blas) {
		return KZ_OK;
	}
	bool is_capturing;
	kz_status st = stream_find_capturing(&is_capturing, call->stream, call->err);
	if (st || is_capturing) {
		return st ? st : error_set(call->err, KZ_STATE,
			"%s is first used in a captured stream, which cannot be captured: use it "
			"once before", is_solver ? "cuSOLVER" : "cuBLAS");
	}
	bool mine = error_is_clean(call->err);
	st = is_solver
		? cuda_solver_ok(call, library->solver_create(&handles->solver), "cusolverDnCreate")
		: cuda_blas_ok(call, library->blas_create(&handles->blas), "cublasCreate");
	if (st && mine) {
		error_add_hint(call->err, "the driver may be older than the library: kudzu doctor "
			"shows both; KUDZU_CUBLAS and KUDZU_CUSOLVER name other libraries, "
			"or none");
	}
	if (!st && !is_solver && library->blas_set_mode) {
		st = cuda_blas_ok(call, library->blas_set_mode(handles->blas,
			CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION), "cublasSetMathMode");
	}
	return st;
}

static kz_status cuda_make_handles(struct cuda_call *call)
{
	enum linalg_op op = call->task->op;
	const struct cuda_library *library = call->library;
	CUstream stream = call->stream->handle;
	bool is_wide = op == LINALG_GESDD && call->task->m < call->task->n;
	kz_status st = KZ_OK;
	if (linalg_is_blas(op) || is_wide) {
		st = cuda_make_handle(call, false);
		st = st ? st
			: cuda_blas_ok(call, library->blas_set_stream(call->handles->blas, stream),
			"cublasSetStream");
	}
	if (!st && !linalg_is_blas(op)) {
		st = cuda_make_handle(call, true);
		st = st ? st : cuda_solver_ok(call,
			library->solver_set_stream(call->handles->solver,
			stream), "cusolverDnSetStream");
	}
	if (!st && op == LINALG_GEEV && !call->handles->params) {
		st = cuda_solver_ok(call, library->params_create(&call->handles->params),
			"cusolverDnCreateParams");
	}
	return st;
}

/* cuSOLVER's LU factorizations lose NaN, and divide by what is too small: mark such matrices before
 * them, and tell after them. */
static kz_status cuda_check(struct cuda_call *call, bool is_done)
{
	const struct linalg_task *t = call->task;
	kz_status st = KZ_OK;
	if (t->op != LINALG_GETRF || !t->info.address) {
		return KZ_OK;
	}
	if (!is_done) {
		CUresult code = call->device->drv->MemsetD8Async(call->temporaries[0], 0,
			(size_t)t->count * sizeof(int32_t), call->stream->handle);
		st = device_ok(call->device, code, "cuMemsetD8Async", call->err);
	}
	return st ? st : cuda_kernel_check(call, call->temporaries[0], is_done);
}

/* The calls of a task, under the lock. */
static kz_status cuda_make_calls(struct cuda_call *call)
{
	const struct linalg_task *t = call->task;
	kz_status st = cuda_make_handles(call);
	cuda_at(call, 0);
	if (!st && cuda_calls[t->op].size) {
		st = cuda_calls[t->op].size(call);
	}
	if (!st && !linalg_is_blas(t->op)) {
		st = cuda_get_memory(call);
	}
	st = st ? st : cuda_check(call, false);
	int64_t count = t->op == LINALG_GEMM ? 1 : t->count;
	for (int64_t i = 0; !st && i < count; i++) {
		cuda_at(call, i);
		st = cuda_calls[t->op].run(call);
		call->is_refused = i == 0 && st == KZ_UNSUPPORTED;
	}
	st = st ? st : cuda_check(call, true);
	if (call->host_work) { // the library may use it until the stream is there
		kz_status done = kz_stream_synchronize(call->stream, st ? NULL : call->err);
		st = st ? st : done;
	}
	if (call->buffer) {
		kz_status used = memory_used(call->buffer->memory, call->stream,
			st ? NULL : call->err);
		st = st ? st : used;
	}
	return st;
}

/* Extents of 2^31 or more are for GEMM only. */
static bool cuda_fits(const struct linalg_task *t)
{
	const int64_t numbers[] = {t->m, t->n, t->k, t->a.ld, t->b.ld, t->c.ld, t->d.ld};
	bool fits = true;
	for (size_t i = 0; i < countof(numbers); i++) {
		fits &= numbers[i] <= INT32_MAX;
	}
	return fits || t->op == LINALG_GEMM;
}

static kz_status cuda_enqueue(struct linalg_device *math, const struct linalg_task *task,
	struct kz_stream *stream, kz_error *err)
{
	struct cuda_call call = {
		.library = math->cuda->library, .handles = math->cuda, .device = math->device,
		.range = math->pivots, .stream = stream, .task = task, .err = err,
	};
	bool is_packed = task->op == LINALG_GEEV && task->job == 'V'
		&& !linalg_is_complex(task->type);
	bool mine = error_is_clean(err);
	kz_status st = KZ_OK;
	if (!cuda_fits(task)) {
		return error_set(err, KZ_RANGE, "cuSOLVER takes extents below 2^31");
	}
	bool is_capturing = false;
	if (!linalg_is_blas(task->op) && (st = stream_find_capturing(&is_capturing, stream, err))) {
		return st;
	}
	if (is_capturing) {
		return error_set(err, KZ_STATE, "an operation of cuSOLVER cannot be captured in a "
			"graph");
	}
	if ((task->op == LINALG_GETRF || task->op == LINALG_GETRI || is_packed)
	    && (st = cuda_kernel_find(&call.kernel, math->device, task->op, task->type, err))) {
		return st;
	}
	pthread_mutex_lock(&math->cuda->lock);
	st = cuda_make_calls(&call);
	pthread_mutex_unlock(&math->cuda->lock);
	buffer_release(call.buffer);
	mem_free(call.host_work);
	if (call.is_refused && own_ops_has(task)) {
		if (mine) {
			kz_error_clear(err);
		}
		return own_ops_enqueue(math, task, stream, err);
	}
	return st;
}

kz_status cuda_ops_fill(struct linalg_device *math, kz_error *err)
{
	const struct cuda_library *library = cuda_library_get(CUDA_CUBLAS);
	if (!library) {
		return error_no_memory(err);
	}
	if (!library->parts[CUDA_CUBLAS].path && !library->parts[CUDA_CUSOLVER].path) {
		return KZ_OK;
	}
	struct cuda_handles *handles = mem_zalloc(1, sizeof(*handles));
	if (!handles) {
		return error_no_memory(err);
	}
	handles->library = library;
	pthread_mutex_init(&handles->lock, NULL);
	math->cuda = handles;
	bool has_gemm = library->gemm && library->gemm_one;
	math->wants_ascending = has_gemm; // complex64 is refused otherwise
	/* A complex number's reciprocal may go by its square. */
	math->pivots[LINALG_C] = (struct linalg_range){0x1p-63, 0x1p63};
	math->pivots[LINALG_Z] = (struct linalg_range){0x1p-511, 0x1p511};
	for (int type = 0; type < LINALG_TYPES; type++) {
		const bool has[LINALG_OPS] = {
			[LINALG_GEMM] = has_gemm, [LINALG_TRSM] = library->trsm[type],
			[LINALG_GETRF] = library->getrf[type] && library->getrf_size[type],
			[LINALG_GETRS] = library->getrs[type],
			[LINALG_GETRI] = library->getrs[type],
			[LINALG_POTRF] = library->potrf[type] && library->potrf_size[type],
			[LINALG_GEQRF] = library->geqrf[type] && library->geqrf_size[type],
			[LINALG_ORGQR] = library->orgqr[type] && library->orgqr_size[type],
			[LINALG_GESDD] = library->gesvd[type] && library->gesvd_size[type]
				&& library->geam[type],
			[LINALG_SYEVD] = library->syevd[type] && library->syevd_size[type],
			[LINALG_GEEV] = library->geev && library->geev_size
			&& library->params_create
				&& library->params_destroy,
		};
		for (int op = 0; op < LINALG_OPS; op++) {
			math->enqueue[op][type] = has[op] ? cuda_enqueue : NULL;
		}
	}
	math->enqueue[LINALG_GEMM][LINALG_H] = has_gemm ? cuda_enqueue : NULL;
	/* Older GPUs have no bfloat16: there it is converted, as everywhere else. */
	bool has_bfloat = has_gemm && math->device->info.compute_capability >= 80;
	math->enqueue[LINALG_GEMM][LINALG_B] = has_bfloat ? cuda_enqueue : NULL;
	return KZ_OK;
}

/* With a context that is lost, or gone, the handles have gone, too. */
void cuda_ops_end(struct linalg_device *math)
{
	struct cuda_handles *handles = math->cuda;
	struct device_scope scope;
	if (!handles) {
		return;
	}
	if (device_enter_quietly(math->device, &scope)) {
		if (handles->params) {
			(void)handles->library->params_destroy(handles->params);
		}
		if (handles->solver) {
			(void)handles->library->solver_destroy(handles->solver);
		}
		if (handles->blas) {
			(void)handles->library->blas_destroy(handles->blas);
		}
		device_leave(math->device, &scope);
	}
	pthread_mutex_destroy(&handles->lock);
	mem_free(handles);
	math->cuda = NULL;
}
