/* SPDX-License-Identifier: MIT */
/*
 * The functions that exist for each element type; stub.c includes this once for each, with TYPE,
 * ELEMENT, REAL, BLAS(stem), SOLVER(stem) and SOLVER2(real, complex), which make the symbols.
 */
int BLAS(trsm_v2)(cublasHandle_t blas, cublasSideMode_t side, cublasFillMode_t uplo,
	cublasOperation_t op, cublasDiagType_t diag, int m, int n, const ELEMENT *alpha,
	const ELEMENT *a, int lda, ELEMENT *b, int ldb)
{
	int code = stub_failure("cublastrsm");
	if (code || lda < (side ? n : m) || ldb < m) {
		return code ? code : 7;
	}
	struct stub_job job = {stub_trsm, TYPE, {"LR"[side], "LU"[uplo], "NTC"[op], "NU"[diag]},
		.n = {m, n}, .ld = {lda, ldb}, .p = {(void *)a, b}};
	for (int part = 0; part < 2; part++) {
		job.alpha[part] = stub_part(TYPE, alpha, part);
	}
	return stub_submit(stub_blas_stream(blas), &job);
}

int BLAS(geam)(cublasHandle_t blas, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
	const ELEMENT *alpha, const ELEMENT *a, int lda, const ELEMENT *beta, const ELEMENT *b,
	int ldb, ELEMENT *c, int ldc)
{
	int code = stub_failure("cublasgeam");
	bool is_turn = op_a == CUBLAS_OP_C && op_b == CUBLAS_OP_C && *alpha == 1 && *beta == 0;
	if (code || !is_turn || b != a || lda < n || ldb < n || ldc < m) {
		return code ? code : 7;
	}
	struct stub_job job = {stub_geam, TYPE, .n = {m, n}, .ld = {lda, ldc}, .p = {(void *)a, c}};
	return stub_submit(stub_blas_stream(blas), &job);
}

int SOLVER(getrf_bufferSize)(cusolverDnHandle_t solver, int m, int n, ELEMENT *a, int lda,
	int *count)
{
	(void)solver, (void)a;
	*count = m * n;
	return stub_failure("cusolverDngetrf_bufferSize") ? : lda < m ? 3 : 0;
}

int SOLVER(getrf)(cusolverDnHandle_t solver, int m, int n, ELEMENT *a, int lda, ELEMENT *work,
	int *pivots, int *info)
{
	int code = stub_failure("cusolverDngetrf");
	struct stub_job job = {stub_getrf, TYPE, .n = {m, n}, .ld = {lda}, .p = {a, pivots},
		.work = work, .work_size = (size_t)m * (size_t)n * sizeof(*a), .info = info};
	return code ? code : stub_submit(stub_solver_stream(solver), &job);
}

int SOLVER(getrs)(cusolverDnHandle_t solver, cublasOperation_t op, int n, int k, const ELEMENT *a,
	int lda, const int *pivots, ELEMENT *b, int ldb, int *info)
{
	int code = stub_failure("cusolverDngetrs");
	if (code || lda < n || ldb < n) {
		return code ? code : 3;
	}
	struct stub_job job = {stub_getrs, TYPE, {"NTC"[op]}, .n = {n, k}, .ld = {lda, ldb},
		.p = {(void *)a, (void *)pivots, b}, .info = info};
	return stub_submit(stub_solver_stream(solver), &job);
}

int SOLVER(potrf_bufferSize)(cusolverDnHandle_t solver, cublasFillMode_t uplo, int n, ELEMENT *a,
	int lda, int *count)
{
	(void)solver, (void)uplo, (void)a;
	*count = 3 * n;
	return stub_failure("cusolverDnpotrf_bufferSize") ? : lda < n ? 3 : 0;
}

int SOLVER(potrf)(cusolverDnHandle_t solver, cublasFillMode_t uplo, int n, ELEMENT *a, int lda,
	ELEMENT *work, int count, int *info)
{
	int code = stub_failure("cusolverDnpotrf");
	if (code || count < 3 * n) {
		return code ? code : 31;
	}
	struct stub_job job = {stub_potrf, TYPE, {"LU"[uplo]}, .n = {n}, .ld = {lda}, .p = {a},
		.work = work, .work_size = (size_t)count * sizeof(*a), .info = info};
	return stub_submit(stub_solver_stream(solver), &job);
}

int SOLVER(geqrf_bufferSize)(cusolverDnHandle_t solver, int m, int n, ELEMENT *a, int lda,
	int *count)
{
	(void)solver, (void)a;
	*count = 5 * n;
	return stub_failure("cusolverDngeqrf_bufferSize") ? : lda < m ? 3 : 0;
}

int SOLVER(geqrf)(cusolverDnHandle_t solver, int m, int n, ELEMENT *a, int lda, ELEMENT *factors,
	ELEMENT *work, int count, int *info)
{
	int code = stub_failure("cusolverDngeqrf");
	if (code || count < 5 * n) {
		return code ? code : 31;
	}
	struct stub_job job = {stub_geqrf, TYPE, .n = {m, n}, .ld = {lda}, .p = {a, factors},
		.work = work, .work_size = (size_t)count * sizeof(*a), .info = info};
	return stub_submit(stub_solver_stream(solver), &job);
}

int SOLVER2(orgqr_bufferSize, ungqr_bufferSize)(cusolverDnHandle_t solver, int m, int n, int k,
	const ELEMENT *a, int lda, const ELEMENT *factors, int *count)
{
	(void)solver, (void)a, (void)factors;
	*count = 7 * n;
	return stub_failure("cusolverDnorgqr_bufferSize") ? : lda < m || k > n || n > m ? 3 : 0;
}

int SOLVER2(orgqr, ungqr)(cusolverDnHandle_t solver, int m, int n, int k, ELEMENT *a, int lda,
	const ELEMENT *factors, ELEMENT *work, int count, int *info)
{
	int code = stub_failure("cusolverDnorgqr");
	if (code || count < 7 * n) {
		return code ? code : 31;
	}
	struct stub_job job = {stub_orgqr, TYPE, .n = {m, n, k}, .ld = {lda},
		.p = {a, (void *)factors}, .work = work, .work_size = (size_t)count * sizeof(*a),
		.info = info};
	return stub_submit(stub_solver_stream(solver), &job);
}

int SOLVER(gesvd_bufferSize)(cusolverDnHandle_t solver, int m, int n, int *count)
{
	(void)solver;
	*count = 6 * m + n;
	return stub_failure("cusolverDngesvd_bufferSize") ? : m < n ? 3 : 0;
}

int SOLVER(gesvd)(cusolverDnHandle_t solver, signed char job_u, signed char job_vt, int m, int n,
	ELEMENT *a, int lda, REAL *s, ELEMENT *u, int ldu, ELEMENT *vt, int ldvt, ELEMENT *work,
	int count, REAL *rwork, int *info)
{
	int code = stub_failure("cusolverDngesvd");
	if (code || m < n || job_u != job_vt || lda < m || ldu < m || ldvt < n
	    || count < 6 * m + n) {
		return code ? code : 3;
	}
	struct stub_job job = {stub_gesvd, TYPE, {(char)job_u}, .n = {m, n}, .ld = {lda, ldu, ldvt},
		.p = {a, s, u, vt, rwork}, .work = work, .work_size = (size_t)count * sizeof(*a),
		.info = info};
	return stub_submit(stub_solver_stream(solver), &job);
}

int SOLVER2(syevd_bufferSize, heevd_bufferSize)(cusolverDnHandle_t solver, cusolverEigMode_t mode,
	cublasFillMode_t uplo, int n, const ELEMENT *a, int lda, const REAL *w, int *count)
{
	(void)solver, (void)uplo, (void)a, (void)w;
	*count = mode ? 2 * n * n : 4 * n;
	return stub_failure("cusolverDnsyevd_bufferSize") ? : lda < n ? 3 : 0;
}

int SOLVER2(syevd, heevd)(cusolverDnHandle_t solver, cusolverEigMode_t mode, cublasFillMode_t uplo,
	int n, ELEMENT *a, int lda, REAL *w, ELEMENT *work, int count, int *info)
{
	int code = stub_failure("cusolverDnsyevd");
	if (code || count < (mode ? 2 * n * n : 4 * n)) {
		return code ? code : 31;
	}
	struct stub_job job = {stub_syevd, TYPE, {"NV"[mode], "LU"[uplo]}, .n = {n}, .ld = {lda},
		.p = {a, w}, .work = work, .work_size = (size_t)count * sizeof(*a), .info = info};
	return stub_submit(stub_solver_stream(solver), &job);
}
