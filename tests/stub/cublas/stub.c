/* SPDX-License-Identifier: MIT */
/* The exported functions: arguments are checked and become jobs of a stream.  See stub.h. */
#include "stub/cublas/stub.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

struct cublasContext {
	CUstream stream;
};
struct cusolverDnContext {
	CUstream stream;
};
struct cusolverDnParams {
	int nothing;
};

int (*stub_launch)(CUstream stream, void (*function)(void *data), void *data);
int stub_handles;
static struct stub_job *jobs;

__attribute__((destructor)) static void stub_free_jobs(void)
{
	while (jobs) {
		struct stub_job *job = jobs;
		jobs = job->after;
		free(job);
	}
}

int stub_failure(const char *function)
{
	const char *wanted = getenv("CUBLAS_STUB_FAIL");
	size_t length = strlen(function);
	return wanted && strncmp(wanted, function, length) == 0 && wanted[length] == ':'
		? atoi(wanted + length + 1) : 0;
}

static void stub_run(void *data)
{
	struct stub_job *job = data;
	if (job->work) {
		memset(job->work, 0xaa, job->work_size);
	}
	job->run(job, host_library_get(1));
}

int stub_submit(CUstream stream, const struct stub_job *job)
{
	struct stub_job *copy = malloc(sizeof(*copy));
	*copy = *job;
	copy->count = job->count ? job->count : 1;
	copy->after = jobs;
	jobs = copy;
	return stub_launch(stream, stub_run, copy) ? 13 : 0;
}

CUstream stub_blas_stream(cublasHandle_t blas)
{
	return blas->stream;
}

CUstream stub_solver_stream(cusolverDnHandle_t solver)
{
	return solver->stream;
}

double stub_part(enum linalg_type type, const void *number, int part)
{
	bool is_complex = linalg_is_complex(type);
	bool is_double = type == LINALG_D || type == LINALG_Z;
	return part && !is_complex ? 0 : is_double ? ((const double *)number)[part]
		: ((const float *)number)[part];
}

/* Each of the functions must have the type that Kudzu calls it with. */
#define F(library, name, symbol, parameters) int symbol parameters;
#include "lib/linalg/cublas.def"
#undef F

/* cuBLAS */

int cublasGetProperty(libraryPropertyType what, int *value)
{
	*value = 13 + what;
	return 0;
}

int cublasCreate_v2(cublasHandle_t *out)
{
	int code = stub_failure("cublasCreate");
	if (!code) {
		*out = calloc(1, sizeof(**out));
		stub_handles++;
	}
	return code;
}

int cublasDestroy_v2(cublasHandle_t blas)
{
	free(blas);
	stub_handles--;
	return 0;
}

int cublasSetStream_v2(cublasHandle_t blas, cudaStream_t stream)
{
	blas->stream = stream;
	return stub_failure("cublasSetStream");
}

int cublasSetMathMode(cublasHandle_t blas, cublasMath_t mode)
{
	(void)blas;
	return stub_failure("cublasSetMathMode") ? : mode == 16 ? 0 : 7;
}

int cublasGemmStridedBatchedEx_64(cublasHandle_t blas, cublasOperation_t op_a,
	cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
	cudaDataType type_a, int64_t lda, long long next_a, const void *b, cudaDataType type_b,
	int64_t ldb, long long next_b, const void *beta, void *c, cudaDataType type_c, int64_t ldc,
	long long next_c, int64_t count, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
	static const struct {
		int data, compute;
	} types[LINALG_ALL_TYPES] = {{0, 68}, {1, 70}, {4, 68}, {5, 70}, {2, 68}, {14, 68}};
	enum linalg_type type = LINALG_S;
	while (type < LINALG_ALL_TYPES && types[type].data != type_a) {
		type++;
	}
	if (type == LINALG_ALL_TYPES || type_b != type_a || type_c != type_a
	    || compute != types[type].compute || algo != CUBLAS_GEMM_DEFAULT
	    || lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m) {
		return 7;
	}
	if (type == LINALG_C && count > 1 && (next_a < 0 || next_b < 0 || next_c < 0)) {
		return 15; // as cuBLAS 13 answers for complex64 alone
	}
	struct stub_job job = {stub_gemm, type, {"NTC"[op_a], "NTC"[op_b]}, .n = {m, n, k},
		.ld = {lda, ldb, ldc}, .next = {next_a, next_b, next_c}, .count = count,
		.p = {(void *)a, (void *)b, c}};
	for (int part = 0; part < 2; part++) {
		job.alpha[part] = stub_part(type, alpha, part);
		job.beta[part] = stub_part(type, beta, part);
	}
	return stub_submit(blas->stream, &job);
}

int cublasGemmStridedBatchedEx(cublasHandle_t blas, cublasOperation_t op_a, cublasOperation_t op_b,
	int m, int n, int k, const void *alpha, const void *a, cudaDataType type_a, int lda,
	long long next_a, const void *b, cudaDataType type_b, int ldb, long long next_b,
	const void *beta, void *c, cudaDataType type_c, int ldc, long long next_c, int count,
	cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
	return stub_failure("cublasGemmStridedBatchedEx") ?
		: cublasGemmStridedBatchedEx_64(blas, op_a,
		op_b, m, n, k, alpha, a, type_a, lda, next_a, b, type_b, ldb, next_b, beta, c,
		type_c, ldc, next_c, count, compute, algo);
}

int cublasGemmEx(cublasHandle_t blas, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
	int k, const void *alpha, const void *a, cudaDataType type_a, int lda, const void *b,
	cudaDataType type_b, int ldb, const void *beta, void *c, cudaDataType type_c, int ldc,
	cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
	return stub_failure("cublasGemmEx") ?
		: cublasGemmStridedBatchedEx_64(blas, op_a, op_b, m, n, k,
		alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c, type_c, ldc, 0, 1, compute,
		algo);
}

/* cuSOLVER */

int cusolverGetProperty(libraryPropertyType what, int *value)
{
	*value = 12 + what;
	return 0;
}

int cusolverDnCreate(cusolverDnHandle_t *out)
{
	int code = stub_failure("cusolverDnCreate");
	if (!code) {
		*out = calloc(1, sizeof(**out));
		stub_handles++;
	}
	return code;
}

int cusolverDnDestroy(cusolverDnHandle_t solver)
{
	free(solver);
	stub_handles--;
	return 0;
}

int cusolverDnSetStream(cusolverDnHandle_t solver, cudaStream_t stream)
{
	solver->stream = stream;
	return stub_failure("cusolverDnSetStream");
}

int cusolverDnCreateParams(cusolverDnParams_t *out)
{
	int code = stub_failure("cusolverDnCreateParams");
	if (!code) {
		*out = calloc(1, sizeof(**out));
		stub_handles++;
	}
	return code;
}

int cusolverDnDestroyParams(cusolverDnParams_t params)
{
	free(params);
	stub_handles--;
	return 0;
}

/* The type of a matrix if all types of a call agree: eigenvalues are complex. */
static bool stub_geev_type(enum linalg_type *out, int type_a, int type_w, int type_vl, int type_vr,
	int compute)
{
	*out = type_a == CUDA_R_32F ? LINALG_S : type_a == CUDA_R_64F ? LINALG_D
		: type_a == CUDA_C_32F
		? LINALG_C : LINALG_Z;
	bool is_single = *out == LINALG_S || *out == LINALG_C;
	return type_w == (is_single ? CUDA_C_32F : CUDA_C_64F) && type_vl == type_a
		&& type_vr == type_a && compute == type_a;
}

int cusolverDnXgeev_bufferSize(cusolverDnHandle_t solver, cusolverDnParams_t params,
	cusolverEigMode_t left, cusolverEigMode_t right, int64_t n, cudaDataType type_a,
	const void *a, int64_t lda, cudaDataType type_w, const void *w, cudaDataType type_vl,
	const void *vl, int64_t ldvl, cudaDataType type_vr, const void *vr, int64_t ldvr,
	cudaDataType compute, size_t *device_size, size_t *host_size)
{
	enum linalg_type type;
	(void)solver, (void)params, (void)right, (void)a, (void)w, (void)vl, (void)vr;
	*device_size = (size_t)n * 100;
	*host_size = (size_t)n * 10;
	return stub_failure("cusolverDnXgeev_bufferSize") ? : left || lda < n || ldvl < n
		|| ldvr < n
		|| !stub_geev_type(&type, type_a, type_w, type_vl, type_vr, compute) ? 3 : 0;
}

int cusolverDnXgeev(cusolverDnHandle_t solver, cusolverDnParams_t params, cusolverEigMode_t left,
	cusolverEigMode_t right, int64_t n, cudaDataType type_a, void *a, int64_t lda,
	cudaDataType type_w, void *w, cudaDataType type_vl, void *vl, int64_t ldvl,
	cudaDataType type_vr, void *vr, int64_t ldvr, cudaDataType compute, void *device_work,
	size_t device_size, void *host_work, size_t host_size, int *info)
{
	int code = stub_failure("cusolverDnXgeev");
	enum linalg_type type;
	if (code || !params || left || vl || lda < n || ldvl < n || ldvr < n || (right && !vr)
	    || device_size < (size_t)n * 100 || host_size < (size_t)n * 10
	    || !stub_geev_type(&type, type_a, type_w, type_vl, type_vr, compute)) {
		return code ? code : 3;
	}
	memset(host_work, 0xaa, host_size);
	struct stub_job job = {stub_geev, type, {"NV"[right]}, .n = {n}, .ld = {lda, ldvr},
		.p = {a, w, vr}, .work = device_work, .work_size = device_size, .info = info};
	return stub_submit(solver->stream, &job);
}

/* Those of each type */

#define PASTE3_(a, b, c) a##b##c
#define PASTE3(a, b, c) PASTE3_(a, b, c)
#define BLAS(stem) PASTE3(cublas, LETTER, stem)
#define SOLVER(stem) PASTE3(cusolverDn, LETTER, stem)

#define TYPE LINALG_S
#define LETTER S
#define ELEMENT float
#define REAL float
#define SOLVER2(real, complex) PASTE3(cusolverDn, LETTER, real)
#define X(library, name, prefix, real, complex, parameters) \
	int PASTE3(prefix, LETTER, real) parameters;
#include "lib/linalg/cublas.def"
#include "stub/cublas/typed.h"
#undef TYPE
#undef LETTER
#undef ELEMENT
#undef REAL

#define TYPE LINALG_D
#define LETTER D
#define ELEMENT double
#define REAL double
#include "lib/linalg/cublas.def"
#include "stub/cublas/typed.h"
#undef TYPE
#undef LETTER
#undef ELEMENT
#undef REAL
#undef X
#undef SOLVER2

#define X(library, name, prefix, real, complex, parameters) \
	int PASTE3(prefix, LETTER, complex) parameters;
#define SOLVER2(real, complex) PASTE3(cusolverDn, LETTER, complex)
#define TYPE LINALG_C
#define LETTER C
#define ELEMENT float _Complex
#define REAL float
#include "lib/linalg/cublas.def"
#include "stub/cublas/typed.h"
#undef TYPE
#undef LETTER
#undef ELEMENT
#undef REAL

#define TYPE LINALG_Z
#define LETTER Z
#define ELEMENT double _Complex
#define REAL double
#include "lib/linalg/cublas.def"
#include "stub/cublas/typed.h"
