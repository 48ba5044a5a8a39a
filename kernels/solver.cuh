/* SPDX-License-Identifier: MIT */
/*
 * What cuSOLVER lacks, for column-major matrices of kz_real, real or (KZ_PARTS 2) complex.
 *
 * KZ_IDENTITY: c = I, from which a solver makes the inverse.  info is where the diagonal of the LU
 * factorization a has its first 0, counted from 1, or 0, as LAPACK's getri has it.  Block 0 looks.
 *
 * KZ_CHECK: without info, marks[z] = 1 if the matrix z has a NaN or an infinity; with info, info[z]
 * = refused if it is marked, or if a pivot on its diagonal is not 0 and out of the range.
 *
 * Else: eigenvectors of a real matrix, packed as LAPACK does, to complex ones.  Two conjugate
 * eigenvalues, that with the positive imaginary part first, share two columns, the real and the
 * imaginary part of the first one's vector.
 */
struct kz_range {
	double least, most;
};

#ifdef __CUDACC_RTC__
typedef long long kz_i64;

#if defined(KZ_CHECK)
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(const kz_real *a, kz_i64 lda,
	kz_i64 next, int m, int n, int *marks, int *info, int refused, kz_range range)
{
	const kz_i64 step = (kz_i64)gridDim.x * blockDim.x;
	const kz_i64 elements = info ? (m < n ? m : n) : (kz_i64)m * n;
	bool is_bad = info && marks[blockIdx.z];
	a += blockIdx.z * next * KZ_PARTS;
	for (kz_i64 i = (kz_i64)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step) {
		const kz_real *of = a + KZ_PARTS * (info ? i * lda + i : i / m * lda + i % m);
		const kz_real re = fabs(of[0]), im = fabs(of[KZ_PARTS - 1]), size = re > im ? re
			: im;
		is_bad |= info ? size != 0 && (size < range.least || size > range.most)
			: !(re - re == 0) || !(im - im == 0);
	}
	if (is_bad) { // atomic, for other threads may write it, too
		atomicExch(info ? info + blockIdx.z : marks + blockIdx.z, info ? refused : 1);
	}
}
#elif defined(KZ_IDENTITY)
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_real *c, kz_i64 ldc,
	const kz_real *a, kz_i64 lda, int *info, int n)
{
	__shared__ int first;
	const kz_i64 step = (kz_i64)gridDim.x * blockDim.x;
	for (kz_i64 i = (kz_i64)blockIdx.x * blockDim.x + threadIdx.x; i < (kz_i64)n * n;
		i += step) {
		const kz_i64 row = i % n, column = i / n;
		kz_real *to = c + KZ_PARTS * (column * ldc + row);
		to[0] = row == column;
		if (KZ_PARTS == 2) {
			to[1] = 0;
		}
	}
	if (blockIdx.x > 0) {
		return;
	}
	if (threadIdx.x == 0) {
		first = n;
	}
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		const kz_real *of = a + KZ_PARTS * (i * lda + i);
		if (of[0] == 0 && of[KZ_PARTS - 1] == 0) {
			atomicMin(&first, i);
		}
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		*info = first < n ? first + 1 : 0;
	}
}
#else
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_real *c, kz_i64 ldc,
	const kz_real *w, const kz_real *vectors, int n)
{
	const kz_i64 step = (kz_i64)gridDim.x * blockDim.x;
	for (kz_i64 i = (kz_i64)blockIdx.x * blockDim.x + threadIdx.x; i < (kz_i64)n * n;
		i += step) {
		const kz_i64 row = i % n, column = i / n;
		const kz_real part = w[2 * column + 1];
		const int sign = part > 0 ? 1 : part < 0 ? -1 : 0;
		const kz_real *real = vectors + (sign < 0 ? column - 1 : column) * n + row;
		c[2 * (column * ldc + row)] = real[0];
		c[2 * (column * ldc + row) + 1] = sign ? sign * real[n] : 0;
	}
}
#endif
#endif
