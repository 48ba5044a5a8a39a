/* SPDX-License-Identifier: MIT */
/*
 * Tasks on the CPU device: calls of BLAS and LAPACK, in the order of the stream.
 *
 * The device's memory is the process's, so a library can work on it.  A task is copied and handed
 * to cuLaunchHostFunc.  The driver calls host_job_run when the stream comes to it, or, if the
 * stream is captured, whenever the graph does.  The copy belongs to the call, or to the graph.
 *
 * What LAPACK reports goes into the task's `info`.  Work space is allocated by the job itself, in
 * the size that the function asks for.
 */
#include "base/common.h"

#include "lib/linalg/host_library.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* A call in a stream costs some microseconds more than a small kernel. */
enum { HOST_LEAST_GEMM = 64 * 64 * 64 };

struct host_job {
	const struct linalg_device *math;
	const struct host_library *library;
	struct linalg_task task;
	bool is_kept; /* by a graph, which may run it again */
};

/* One of a task's operations: addresses in the process, scalars in the task's type. */
struct host_call {
	const struct linalg_device *math;
	const struct host_library *library;
	const struct linalg_task *task;
	void *a, *b, *c, *d;
	int64_t info;
	bool no_memory;
};

/* The real part of a number of the type. */
static double host_real(enum linalg_type type, const void *number)
{
	return type == LINALG_S || type == LINALG_C ? *(const float *)number
		: *(const double *)number;
}

static void *host_alloc(struct host_call *call, int64_t count, size_t size)
{
	size_t bytes;
	void *memory = size_mul(&bytes, (size_t)(count > 0 ? count : 1), size)
		? mem_alloc(bytes) : NULL;
	call->no_memory |= !memory;
	return memory;
}

/* What a function wrote as `info`, an integer of its library's width over a 0. */
static int64_t host_info(const struct host_call *call, int64_t info)
{
	return call->library->parts[HOST_LAPACK].is_wide ? info : (int32_t)info;
}

/* BLAS */

/*
 * A product with one column, or one row, is that of a matrix and a vector.  gemv reads the matrix
 * once where gemm would copy it.  The vector may be a row of its matrix: then its step is ld.
 *
 * Complex numbers stay with gemm: zgemv of OpenBLAS 0.3.21 may read a column after its matrix,
 * which is a fault where the device's memory ends there.
 */
static bool host_gemv(struct host_call *call, const void *alpha, const void *beta)
{
	const struct linalg_task *t = call->task;
	bool is_column = t->n == 1;
	const struct linalg_matrix *matrix = is_column ? &t->a : &t->b;
	const struct linalg_matrix *vector = is_column ? &t->b : &t->a;
	char op = is_column ? t->op_a : t->op_b;
	char vector_op = is_column ? t->op_b : t->op_a;
	if ((t->m != 1 && t->n != 1) || linalg_is_complex(t->type)
	    || !call->library->gemv[t->type]) {
		return false;
	}
	bool is_plain = op == 'N';
	if (!is_column) { // the row is that of the transposed product
		op = is_plain ? 'T' : 'N';
	}
	int64_t inner = t->k, outer = is_column ? t->m : t->n;
	bool is_inner_first = is_column != is_plain; // rows of the matrix are the inner extent
	int64_t rows = is_inner_first ? inner : outer;
	int64_t columns = is_inner_first ? outer : inner;
	bool is_along = (vector_op == 'N') == is_column;
	int64_t step = is_along ? 1 : vector->ld;
	int64_t out_step = is_column ? 1 : t->c.ld;
	call->library->gemv[t->type](&op, &rows, &columns, alpha, is_column ? call->a : call->b,
		&matrix->ld, is_column ? call->b : call->a, &step, beta, call->c, &out_step, 1);
	return true;
}

static void host_gemm(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	struct linalg_number alpha = linalg_number(t->type, t->alpha);
	struct linalg_number beta = linalg_number(t->type, t->beta);
	if (!host_gemv(call, &alpha, &beta)) {
		call->library->gemm[t->type](&t->op_a, &t->op_b, &t->m, &t->n, &t->k, &alpha,
			call->a, &t->a.ld, call->b, &t->b.ld, &beta, call->c, &t->c.ld, 1, 1);
	}
}

static void host_trsm(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	struct linalg_number alpha = linalg_number(t->type, t->alpha);
	call->library->trsm[t->type](&t->side, &t->uplo, &t->op_a, &t->diag, &t->m, &t->n, &alpha,
		call->a, &t->a.ld, call->b, &t->b.ld, 1, 1, 1, 1);
}

/* LU: pivots are int32 in the task, and integers of the library in calls. */

static void *host_pivots(struct host_call *call, int64_t count)
{
	if (!call->library->parts[HOST_LAPACK].is_wide) {
		return call->b;
	}
	int64_t *wide = host_alloc(call, count, sizeof(*wide));
	for (int64_t i = 0; wide && i < count; i++) {
		wide[i] = ((const int32_t *)call->b)[i];
	}
	return wide;
}

static void host_free_pivots(const struct host_call *call, void *pivots)
{
	if (pivots != call->b) {
		mem_free(pivots);
	}
}

/* Whether no element of the matrix a is infinite or NaN. */
static bool host_is_finite(const struct host_call *call)
{
	const struct linalg_task *t = call->task;
	int parts = linalg_is_complex(t->type) ? 2 : 1;
	double sum = 0; // of zeros, unless there is such an element
	for (int64_t j = 0; j < t->n; j++) {
		for (int64_t i = j * t->a.ld * parts; i < (j * t->a.ld + t->m) * parts; i++) {
			double x = t->type == LINALG_S || t->type == LINALG_C
				? ((const float *)call->a)[i] : ((const double *)call->a)[i];
			sum += x - x;
		}
	}
	return sum == 0;
}

/* Whether the diagonal of the factor U has what the library cannot have divided by. */
static bool host_has_bad_pivots(const struct host_call *call)
{
	const struct linalg_task *t = call->task;
	const struct linalg_range *range = &call->math->pivots[t->type];
	size_t size = linalg_size(t->type);
	bool is_bad = false;
	for (int64_t i = 0; i < min64(t->m, t->n); i++) {
		const char *at = (const char *)call->a + (size_t)(i * t->a.ld + i) * size;
		double re = fabs(host_real(t->type, at));
		double im = linalg_is_complex(t->type)
			? fabs(host_real(t->type, at + size / 2)) : 0;
		double largest = re > im ? re : im;
		is_bad |= largest != 0 && (largest < range->least || largest > range->most);
	}
	return is_bad;
}

static void host_getrf(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	int64_t count = min64(t->m, t->n);
	if (!host_is_finite(call)) {
		call->info = LINALG_INFO_REFUSED;
		return;
	}
	void *pivots = host_pivots(call, count);
	if (pivots) {
		call->library->getrf[t->type](&t->m, &t->n, call->a, &t->a.ld, pivots,
			&call->info);
	}
	for (int64_t i = 0; pivots && pivots != call->b && i < count; i++) {
		((int32_t *)call->b)[i] = (int32_t)((int64_t *)pivots)[i];
	}
	host_free_pivots(call, pivots);
	if (pivots && host_has_bad_pivots(call)) {
		call->info = LINALG_INFO_REFUSED;
	}
}

static void host_getrs(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	void *pivots = host_pivots(call, t->n);
	if (pivots) {
		call->library->getrs[t->type](&t->op_a, &t->n, &t->k, call->a, &t->a.ld, pivots,
			call->c, &t->c.ld, &call->info, 1);
	}
	host_free_pivots(call, pivots);
}

/* How much work space a function asked for, a floating-point number.  float32 may have rounded it
 * down. */
static int64_t host_work_count(enum linalg_type type, const void *ask)
{
	return (int64_t)(host_real(type, ask) * (1 + 1e-6)) + 1;
}

/* getri works in place. */
static void host_getri(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	size_t size = linalg_size(t->type);
	void *pivots = host_pivots(call, t->n);
	struct linalg_number ask = {.d = {0}};
	int64_t count = -1;
	call->library->getri[t->type](&t->n, call->a, &t->a.ld, pivots, &ask, &count, &call->info);
	count = host_work_count(t->type, &ask);
	void *work = host_alloc(call, count, size);
	if (pivots && work) {
		call->library->getri[t->type](&t->n, call->a, &t->a.ld, pivots, work, &count,
			&call->info);
		for (int64_t j = 0; call->c != call->a && j < t->n; j++) {
			memcpy((char *)call->c + (size_t)(j * t->c.ld) * size,
				(const char *)call->a + (size_t)(j * t->a.ld) * size,
				(size_t)t->n * size);
		}
	}
	mem_free(work);
	host_free_pivots(call, pivots);
}

/* Other factors */

static void host_potrf(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	call->library->potrf[t->type](&t->uplo, &t->n, call->a, &t->a.ld, &call->info, 1);
}

static void host_geqrf(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	struct linalg_number ask = {.d = {0}};
	void *work = &ask;
	int64_t count = -1;
	for (int round = 0; round < 2 && work; round++) {
		call->library->geqrf[t->type](&t->m, &t->n, call->a, &t->a.ld, call->b, work,
			&count, &call->info);
		if (round == 0) {
			count = host_work_count(t->type, &ask);
			work = host_alloc(call, count, linalg_size(t->type));
		}
	}
	mem_free(work);
}

static void host_orgqr(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	struct linalg_number ask = {.d = {0}};
	void *work = &ask;
	int64_t count = -1;
	for (int round = 0; round < 2 && work; round++) {
		call->library->orgqr[t->type](&t->m, &t->n, &t->k, call->a, &t->a.ld, call->b,
			work, &count, &call->info);
		if (round == 0) {
			count = host_work_count(t->type, &ask);
			work = host_alloc(call, count, linalg_size(t->type));
		}
	}
	mem_free(work);
}

/* Functions that differ between real and complex */

typedef void host_gesdd_real(const char *job, const int64_t *m, const int64_t *n, void *a,
	const int64_t *lda, void *s, void *u, const int64_t *ldu, void *vt, const int64_t *ldvt,
	void *work, const int64_t *count, void *iwork, int64_t *info, size_t);
typedef void host_gesdd_complex(const char *job, const int64_t *m, const int64_t *n, void *a,
	const int64_t *lda, void *s, void *u, const int64_t *ldu, void *vt, const int64_t *ldvt,
	void *work, const int64_t *count, void *rwork, void *iwork, int64_t *info, size_t);

static void host_gesdd(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	bool is_complex = linalg_is_complex(t->type);
	size_t size = linalg_size(t->type);
	int64_t least = min64(t->m, t->n), most = t->m + t->n - least;
	/* LAPACK's zgesdd gives the larger of its two formulas for rwork. */
	int64_t rwork_count = !is_complex ? 1 : t->job == 'N' ? 7 * least
		: least * (5 * least + 7 > 2 * most + 2 * least + 1 ? 5 * least + 7
			: 2 * most + 2 * least + 1);
	void *iwork = host_alloc(call, 8 * least, sizeof(int64_t));
	void *rwork = host_alloc(call, rwork_count, size);
	struct linalg_number ask = {.d = {0}};
	void *work = &ask;
	int64_t count = -1;
	int64_t ldu = t->c.ld > 0 ? t->c.ld : 1, ldvt = t->d.ld > 0 ? t->d.ld : 1;
	for (int round = 0; round < 2 && iwork && rwork && work; round++) {
		if (is_complex) {
			((host_gesdd_complex *)call->library->gesdd[t->type])(&t->job, &t->m, &t->n,
				call->a, &t->a.ld, call->b, call->c, &ldu, call->d, &ldvt, work,
				&count, rwork, iwork, &call->info, 1);
		} else {
			((host_gesdd_real *)call->library->gesdd[t->type])(&t->job, &t->m, &t->n,
				call->a, &t->a.ld, call->b, call->c, &ldu, call->d, &ldvt, work,
				&count, iwork, &call->info, 1);
		}
		if (round == 0) {
			count = host_work_count(t->type, &ask);
			work = host_alloc(call, count, size);
		}
	}
	mem_free(work != &ask ? work : NULL);
	mem_free(rwork);
	mem_free(iwork);
}

typedef void host_syevd_real(const char *job, const char *uplo, const int64_t *n, void *a,
	const int64_t *lda, void *w, void *work, const int64_t *count, void *iwork,
	const int64_t *icount, int64_t *info, size_t, size_t);
typedef void host_heevd(const char *job, const char *uplo, const int64_t *n, void *a,
	const int64_t *lda, void *w, void *work, const int64_t *count, void *rwork,
	const int64_t *rcount, void *iwork, const int64_t *icount, int64_t *info, size_t, size_t);

static void host_syevd(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	bool is_complex = linalg_is_complex(t->type);
	size_t size = linalg_size(t->type);
	/* The sizes that LAPACK's documentation gives for the real and integer work space. */
	int64_t n = t->n;
	int64_t icount = t->job == 'V' ? 3 + 5 * n : 1;
	int64_t rcount = t->job == 'V' ? 1 + 5 * n + 2 * n * n : n;
	void *iwork = host_alloc(call, icount, sizeof(int64_t));
	void *rwork = host_alloc(call, is_complex ? rcount : 1, size);
	struct linalg_number ask = {.d = {0}};
	void *work = &ask;
	int64_t count = -1;
	int64_t ask_i = -1, ask_r = -1;
	for (int round = 0; round < 2 && iwork && rwork && work; round++) {
		const int64_t *i = round ? &icount : &ask_i;
		if (is_complex) {
			((host_heevd *)call->library->syevd[t->type])(&t->job, &t->uplo, &n,
				call->a,
				&t->a.ld, call->b, work, &count, rwork, round ? &rcount : &ask_r,
				iwork, i, &call->info, 1, 1);
		} else {
			((host_syevd_real *)call->library->syevd[t->type])(&t->job, &t->uplo, &n,
				call->a, &t->a.ld, call->b, work, &count, iwork, i, &call->info, 1,
				1);
		}
		if (round == 0) {
			count = host_work_count(t->type, &ask);
			work = host_alloc(call, count, size);
		}
	}
	mem_free(work != &ask ? work : NULL);
	mem_free(rwork);
	mem_free(iwork);
}

typedef void host_geev_real(const char *left, const char *right, const int64_t *n, void *a,
	const int64_t *lda, void *wr, void *wi, void *vl, const int64_t *ldvl, void *vr,
	const int64_t *ldvr, void *work, const int64_t *count, int64_t *info, size_t, size_t);
typedef void host_geev_complex(const char *left, const char *right, const int64_t *n, void *a,
	const int64_t *lda, void *w, void *vl, const int64_t *ldvl, void *vr, const int64_t *ldvr,
	void *work, const int64_t *count, void *rwork, int64_t *info, size_t, size_t);

static double host_get(enum linalg_type type, const void *numbers, int64_t i)
{
	return type == LINALG_S ? ((const float *)numbers)[i] : ((const double *)numbers)[i];
}

static void host_set(enum linalg_type type, void *numbers, int64_t i, double re, double im)
{
	if (type == LINALG_S) {
		((float *)numbers)[2 * i] = (float)re;
		((float *)numbers)[2 * i + 1] = (float)im;
	} else {
		((double *)numbers)[2 * i] = re;
		((double *)numbers)[2 * i + 1] = im;
	}
}

/* Real matrices: a pair of conjugate eigenvalues shares two columns, the real and the imaginary
 * part of the first one's vector. */
static void host_unpack_vectors(const struct host_call *call, const void *wi, const void *vr)
{
	const struct linalg_task *t = call->task;
	for (int64_t j = 0; j < t->n; j++) {
		double sign = host_get(t->type, wi, j);
		sign = sign > 0 ? 1 : sign < 0 ? -1 : 0;
		int64_t first = sign < 0 ? j - 1 : j;
		for (int64_t i = 0; i < t->n; i++) {
			double re = host_get(t->type, vr, first * t->n + i);
			double im = sign != 0 ? host_get(t->type, vr, (first + 1) * t->n + i) : 0;
			host_set(t->type, call->c, j * t->c.ld + i, re, sign * im);
		}
	}
}

static void host_geev(struct host_call *call)
{
	const struct linalg_task *t = call->task;
	bool is_complex = linalg_is_complex(t->type);
	size_t size = linalg_size(t->type);
	int64_t n = t->n, one = 1, cells;
	const char left = 'N';
	bool is_small = size64_mul(&cells, n, n);
	void *values = host_alloc(call, 2 * n, size); // rwork, or both parts of the eigenvalues
	void *imaginary = values ? (char *)values + (size_t)n * size : NULL;
	void *vectors = call->c;
	if (!is_complex && t->job == 'V') {
		vectors = host_alloc(call, is_small ? cells : INT64_MAX, size);
	}
	int64_t ld = is_complex && t->job == 'V' ? t->c.ld : n;
	struct linalg_number ask = {.d = {0}};
	void *work = &ask;
	int64_t count = -1;
	for (int round = 0; round < 2 && values && !call->no_memory; round++) {
		if (is_complex) {
			((host_geev_complex *)call->library->geev[t->type])(&left, &t->job, &n,
				call->a,
				&t->a.ld, call->b, NULL, &one, vectors, &ld, work, &count, values,
				&call->info, 1, 1);
		} else {
			((host_geev_real *)call->library->geev[t->type])(&left, &t->job, &n,
				call->a,
				&t->a.ld, values, imaginary, NULL, &one, vectors, &ld, work, &count,
				&call->info, 1, 1);
		}
		if (round == 0) {
			count = host_work_count(t->type, &ask);
			work = host_alloc(call, count, size);
		}
	}
	if (!is_complex && !call->no_memory) {
		for (int64_t i = 0; i < n; i++) {
			host_set(t->type, call->b, i, host_get(t->type, values, i),
				host_get(t->type, imaginary, i));
		}
		if (t->job == 'V') {
			host_unpack_vectors(call, imaginary, vectors);
		}
	}
	mem_free(vectors != call->c ? vectors : NULL);
	mem_free(work != &ask ? work : NULL);
	mem_free(values);
}

/* Jobs */

static void (*const host_calls[LINALG_OPS])(struct host_call *call) = {
	[LINALG_GEMM] = host_gemm, [LINALG_TRSM] = host_trsm, [LINALG_GETRF] = host_getrf,
	[LINALG_GETRS] = host_getrs, [LINALG_GETRI] = host_getri, [LINALG_POTRF] = host_potrf,
	[LINALG_GEQRF] = host_geqrf, [LINALG_ORGQR] = host_orgqr, [LINALG_GESDD] = host_gesdd,
	[LINALG_SYEVD] = host_syevd, [LINALG_GEEV] = host_geev,
};

static void *host_pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address;
}

static void host_job_run(void *data)
{
	struct host_job *job = data;
	const struct linalg_task *t = &job->task;
	int32_t *info = (int32_t *)(uintptr_t)t->info.address;
	for (int64_t i = 0; i < t->count; i++) {
		struct host_call call = {
			.math = job->math, .library = job->library, .task = t,
			.a = host_pointer(linalg_address(t, 'a', &t->a, i)),
			.b = host_pointer(linalg_address(t, 'b', &t->b, i)),
			.c = host_pointer(linalg_address(t, 'c', &t->c, i)),
			.d = host_pointer(linalg_address(t, 'd', &t->d, i)),
		};
		host_calls[t->op](&call);
		if (info) {
			info[i] = call.no_memory ? LINALG_INFO_NO_MEMORY
				: (int32_t)host_info(&call, call.info);
		}
	}
	if (!job->is_kept) {
		mem_free(job);
	}
}

static void host_job_free(void *data)
{
	mem_free(data);
}

/* Give a job to the graph that the stream is captured into. */
static kz_status host_job_keep(struct host_job *job, struct kz_stream *stream, kz_error *err)
{
	struct kz_device *dev = stream->device;
	CUgraph graph = NULL;
	CUuserObject owner = NULL;
	CUstreamCaptureStatus status;
	CUresult code = dev->drv->StreamGetCaptureInfo(stream->handle, &status, NULL, &graph, NULL,
		NULL, NULL);
	if (code == CUDA_SUCCESS) {
		code = dev->drv->UserObjectCreate(&owner, job, host_job_free, 1,
			CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
	}
	if (code != CUDA_SUCCESS) {
		mem_free(job);
		return device_ok(dev, code, "cuUserObjectCreate", err);
	}
	job->is_kept = true;
	code = dev->drv->GraphRetainUserObject(graph, owner, 1, CU_GRAPH_USER_OBJECT_MOVE);
	if (code != CUDA_SUCCESS) {
		(void)dev->drv->UserObjectRelease(owner, 1);
	}
	return device_ok(dev, code, "cuGraphRetainUserObject", err);
}

/* A library of 32-bit integers takes no larger extents. */
static bool host_fits(const struct linalg_task *t, const struct host_library *library)
{
	const int64_t numbers[] = {t->m, t->n, t->k, t->a.ld, t->b.ld, t->c.ld, t->d.ld};
	enum host_part part = linalg_is_blas(t->op) ? HOST_BLAS : HOST_LAPACK;
	bool fits = true;
	for (size_t i = 0; i < countof(numbers); i++) {
		fits &= numbers[i] <= INT32_MAX || library->parts[part].is_wide;
	}
	return fits;
}

static kz_status host_enqueue(struct linalg_device *math, const struct linalg_task *task,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_device *dev = math->device;
	const struct host_library *library = math->host;
	if (!host_fits(task, library)) {
		return error_set(err, KZ_RANGE, "an extent of 2^31 or more needs a library with "
			"64-bit integers, such as libopenblas64; '%s' has 32",
			library->parts[linalg_is_blas(task->op) ? HOST_BLAS : HOST_LAPACK].name);
	}
	struct host_job *job = mem_alloc(sizeof(*job));
	if (!job) {
		return error_no_memory(err);
	}
	*job = (struct host_job){math, library, *task, false};
	bool is_capturing;
	kz_status st = stream_find_capturing(&is_capturing, stream, err);
	if (st) {
		mem_free(job);
		return st;
	}
	st = is_capturing ? host_job_keep(job, stream, err) : KZ_OK;
	if (!st) {
		bool is_kept = job->is_kept; // else it may be gone when the call returns
		CUresult code = dev->drv->LaunchHostFunc(stream->handle, host_job_run, job);
		st = device_ok(dev, code, "cuLaunchHostFunc", err);
		if (st && !is_kept) {
			mem_free(job);
		}
	}
	return st;
}

void host_ops_fill(struct linalg_device *math)
{
	const struct host_library *library = host_library_get(math->device->info.multiprocessors);
	math->host = library;
	math->least_gemm = HOST_LEAST_GEMM;
	math->inverts_in_place = true; // unless another provider has to do one of the types
	for (int type = 0; type < LINALG_TYPES; type++) {
		math->inverts_in_place &= !!library->getri[type];
		const bool has[LINALG_OPS] = {
			[LINALG_GEMM] = library->gemm[type], [LINALG_TRSM] = library->trsm[type],
			[LINALG_GETRF] = library->getrf[type],
			[LINALG_GETRS] = library->getrs[type],
			[LINALG_GETRI] = library->getri[type],
			[LINALG_POTRF] = library->potrf[type],
			[LINALG_GEQRF] = library->geqrf[type],
			[LINALG_ORGQR] = library->orgqr[type],
			[LINALG_GESDD] = library->gesdd[type],
			[LINALG_SYEVD] = library->syevd[type],
			[LINALG_GEEV] = library->geev[type],
		};
		for (int op = 0; op < LINALG_OPS; op++) {
			math->enqueue[op][type] = has[op] ? host_enqueue : NULL;
		}
	}
}
