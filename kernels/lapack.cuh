/* SPDX-License-Identifier: MIT */
/*
 * The small parts of LU, Cholesky and QR factorizations, one macro each; products do the rest.
 *
 * A block has KZ_THREADS threads: 1 on the CPU device, where each loop below is a plain loop, or
 * many.  blockIdx.z is the matrix of the batch; parts that have columns to spread use blockIdx.x,
 * too.  Matrices have any strides.  Element (i, j) of matrix a is KZ_AT(a, i, j).
 *
 * KZ_SIZE is the type of magnitudes, KZ_REAL(x) the real part of x.
 */
#define KZ_PANEL 32   /* the most columns of a part */
#define KZ_COLUMNS 64 /* of a block, in parts that have columns to spread */
typedef long long kz_i64;
struct kz_view {
	kz_i64 row, column, next; /* strides in elements; next: from matrix to matrix */
};
struct kz_part {
	kz_i64 m, n, first;       /* rows and columns; what comes before this part */
	struct kz_view a, b;
	kz_i64 c_next;
	double alpha[2];
	int is_upper, is_unit, is_conjugate, mode;
};

#ifdef __CUDACC_RTC__
#define KZ_AT(x, i, j) x[(i) * part.x.row + (j) * part.x.column]
#define KZ_EACH(i, from, to) kz_i64 i = (from) + threadIdx.x; i < (to); i += KZ_THREADS

#ifdef KZ_IS_COMPLEX
__device__ inline kz_element kz_turned(kz_element x, int conjugate)
{
	x.im = conjugate ? -x.im : x.im;
	return x;
}
__device__ inline KZ_SIZE kz_one_norm(kz_element x) { return fabs(x.re) + fabs(x.im); }
__device__ inline KZ_SIZE kz_largest(kz_element x) { return fmax(fabs(x.re), fabs(x.im)); }
__device__ inline KZ_SIZE kz_square(kz_element x) { return x.re * x.re + x.im * x.im; }
__device__ inline kz_element kz_over(kz_element x, KZ_SIZE f) { return kz_make(x.re / f, x.im / f);
	}
#else
__device__ inline kz_element kz_turned(kz_element x, int) { return x; }
__device__ inline KZ_SIZE kz_one_norm(kz_element x) { return fabs(x); }
__device__ inline KZ_SIZE kz_largest(kz_element x) { return fabs(x); }
__device__ inline KZ_SIZE kz_square(kz_element x) { return x * x; }
__device__ inline kz_element kz_over(kz_element x, KZ_SIZE f) { return x / f; }
#endif

/* The sum of a value of each thread, in all threads. */
template <class T> __device__ T kz_sum(T value)
{
#if KZ_THREADS > 1
	__shared__ T all[KZ_THREADS];
	all[threadIdx.x] = value;
	for (int half = KZ_THREADS / 2; half; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half) {
			all[threadIdx.x] = all[threadIdx.x] + all[threadIdx.x + half];
		}
	}
	__syncthreads();
	value = all[0];
	__syncthreads();
#endif
	return value;
}

/* Where the largest value is; the first of equal ones.  NaN is none. */
__device__ inline kz_i64 kz_where_largest(KZ_SIZE value, kz_i64 at)
{
#if KZ_THREADS > 1
	__shared__ KZ_SIZE values[KZ_THREADS];
	__shared__ kz_i64 places[KZ_THREADS];
	values[threadIdx.x] = value;
	places[threadIdx.x] = at;
	for (int half = KZ_THREADS / 2; half; half /= 2) {
		__syncthreads();
		const int other = threadIdx.x + half;
		if (threadIdx.x < half && (values[other] > values[threadIdx.x]
			|| (values[other] == values[threadIdx.x]
				&& places[other] < places[threadIdx.x]))) {
			values[threadIdx.x] = values[other];
			places[threadIdx.x] = places[other];
		}
	}
	__syncthreads();
	at = places[0];
	__syncthreads();
#endif
	return at;
}

#ifdef KZ_PART_LU
/* P L U of m rows and a few columns, with partial pivoting (Golub & Van Loan 3.4.1).  info: the
 * first pivot that is 0. */
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *a, int *pivots,
	int *info, const kz_part part)
{
	a += blockIdx.z * part.a.next;
	pivots += blockIdx.z * part.c_next + part.first;
	for (kz_i64 j = 0; j < part.m && j < part.n; j++) {
		KZ_SIZE best = -1;
		kz_i64 at = j;
		for (KZ_EACH(i, j, part.m)) {
			const KZ_SIZE size = kz_one_norm(KZ_AT(a, i, j));
			if (size > best) {
				best = size;
				at = i;
			}
		}
		at = kz_where_largest(best, at);
		const kz_element pivot = KZ_AT(a, at, j);
		const bool is_zero = kz_one_norm(pivot) == 0;
		if (threadIdx.x == 0) {
			pivots[j] = (int)(part.first + at + 1);
			if (j == 0 && part.first == 0) {
				info[blockIdx.z] = 0;
			}
			if (is_zero && info[blockIdx.z] == 0) {
				info[blockIdx.z] = (int)(part.first + j + 1);
			}
		}
		__syncthreads();
		if (at != j) {
			for (KZ_EACH(c, 0, part.n)) {
				const kz_element was = KZ_AT(a, j, c);
				KZ_AT(a, j, c) = KZ_AT(a, at, c);
				KZ_AT(a, at, c) = was;
			}
		}
		__syncthreads();
		if (is_zero) {
			continue;
		}
		for (KZ_EACH(i, j + 1, part.m)) {
			KZ_AT(a, i, j) = KZ_AT(a, i, j) / pivot;
		}
		for (kz_i64 c = j + 1; c < part.n; c++) {
			const kz_element f = KZ_AT(a, j, c);
			for (KZ_EACH(i, j + 1, part.m)) {
				KZ_AT(a, i, c) = KZ_AT(a, i, c) - KZ_AT(a, i, j) * f;
			}
		}
		__syncthreads();
	}
}
#endif

#ifdef KZ_PART_SWAP
/* Exchange rows first, first + 1, ... m - 1 with those of their pivots, or in the other order. */
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *a, const int *pivots,
	const kz_part part)
{
	const kz_i64 left = (kz_i64)blockIdx.x * KZ_COLUMNS;
	a += blockIdx.z * part.a.next;
	pivots += blockIdx.z * part.c_next;
	for (KZ_EACH(c, left, left + KZ_COLUMNS < part.n ? left + KZ_COLUMNS : part.n)) {
		for (kz_i64 step = part.first; step < part.m; step++) {
			const kz_i64 i = part.mode ? part.m - 1 - (step - part.first) : step;
			const kz_i64 with = pivots[i] - 1;
			if (with != i) {
				const kz_element was = KZ_AT(a, i, c);
				KZ_AT(a, i, c) = KZ_AT(a, with, c);
				KZ_AT(a, with, c) = was;
			}
		}
	}
}
#endif

#ifdef KZ_PART_SOLVE
/* b = alpha a^-1 b with a triangle of m <= KZ_PANEL rows.  KZ_COLUMNS columns of b stay in shared
 * memory; a thread has a column, or all. */
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *b,
	const kz_element *a, const kz_part part)
{
	__shared__ kz_element x[KZ_PANEL][KZ_COLUMNS];
	const kz_i64 left = (kz_i64)blockIdx.x * KZ_COLUMNS;
	const int width = part.n - left < KZ_COLUMNS ? (int)(part.n - left) : KZ_COLUMNS;
	const int m = (int)part.m;
	a += blockIdx.z * part.a.next;
	b += blockIdx.z * part.b.next + left * part.b.column;
	for (KZ_EACH(c, 0, width)) {
		for (int i = 0; i < m; i++) {
			const kz_element value = KZ_AT(b, i, c);
			x[i][c] = part.mode ? KZ_FACTOR(part.alpha) * value : value;
		}
	}
	// The loops below compute KZ_COLUMNS columns, so those that b does not have are zeros.
	for (int c = threadIdx.x; c < KZ_COLUMNS; c += KZ_THREADS) {
		for (int i = 0; c >= width && i < m; i++) {
			x[i][c] = kz_element();
		}
	}
	for (int step = 0; step < m; step++) {
		const int i = part.is_upper ? m - 1 - step : step;
		for (int before = 0; before < step; before++) {
			const int j = part.is_upper ? m - 1 - before : before;
			const kz_element f = kz_turned(KZ_AT(a, i, j), part.is_conjugate);
#pragma unroll 1
			for (int c = threadIdx.x; c < KZ_COLUMNS; c += KZ_THREADS) {
				x[i][c] = x[i][c] - f * x[j][c];
			}
		}
		if (!part.is_unit) {
			const kz_element f = kz_turned(KZ_AT(a, i, i), part.is_conjugate);
#pragma unroll 1
			for (int c = threadIdx.x; c < KZ_COLUMNS; c += KZ_THREADS) {
				x[i][c] = x[i][c] / f;
			}
		}
	}
	for (KZ_EACH(c, 0, width)) {
		for (int i = 0; i < m; i++) {
			KZ_AT(b, i, c) = x[i][c];
		}
	}
}
#endif

#ifdef KZ_PART_CHOLESKY
/* L L^H of a few rows (Golub & Van Loan 4.2.3).  info: the first minor that is not positive; then
 * nothing is done any more. */
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *a, int *info,
	const kz_part part)
{
	a += blockIdx.z * part.a.next;
	info += blockIdx.z;
	if (part.first == 0) {
		__syncthreads();
		if (threadIdx.x == 0) {
			*info = 0;
		}
		__syncthreads();
	}
	if (*info != 0) {
		return;
	}
	for (kz_i64 j = 0; j < part.n; j++) {
		const KZ_SIZE square = KZ_REAL(KZ_AT(a, j, j));
		__syncthreads();
		if (!(square > 0)) {
			if (threadIdx.x == 0) {
				*info = (int)(part.first + j + 1);
			}
			return;
		}
		const KZ_SIZE root = sqrt(square);
		for (KZ_EACH(i, j, part.n)) {
			KZ_AT(a, i, j) = i == j ? KZ_MAKE(root) : kz_over(KZ_AT(a, i, j), root);
		}
		__syncthreads();
		for (kz_i64 c = j + 1; c < part.n; c++) {
			const kz_element f = kz_turned(KZ_AT(a, c, j), 1);
			for (KZ_EACH(i, c, part.n)) {
				KZ_AT(a, i, c) = KZ_AT(a, i, c) - KZ_AT(a, i, j) * f;
			}
		}
		__syncthreads();
	}
}
#endif

#ifdef KZ_PART_QR
/* Q R of m rows and a few columns by Householder's reflectors, as LAPACK's larfg defines them:
 * column j becomes H^H a_j with H = I - tau v v^H, v_j = 1. */
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *a,
	kz_element *factors, const kz_part part)
{
	a += blockIdx.z * part.a.next;
	factors += blockIdx.z * part.c_next + part.first;
	for (kz_i64 j = 0; j < part.m && j < part.n; j++) {
		KZ_SIZE most = 0;
		kz_i64 at = j + 1;
		for (KZ_EACH(i, j + 1, part.m)) {
			const KZ_SIZE size = kz_largest(KZ_AT(a, i, j));
			if (size > most || size != size) {
				most = size;
				at = i;
			}
		}
		at = kz_where_largest(most, at);
		const kz_element top = KZ_AT(a, j, j);
		KZ_SIZE scale = at < part.m ? kz_largest(KZ_AT(a, at, j)) : 0;
		KZ_SIZE sum = 0;
		scale = scale > kz_largest(top) ? scale : kz_largest(top);
		scale = scale > 0 ? scale : 1; // NaN shows in the sum
		for (KZ_EACH(i, j + 1, part.m)) {
			sum += kz_square(kz_over(KZ_AT(a, i, j), scale));
		}
		sum = kz_sum(sum);
		if (sum == 0 && KZ_IS_REAL(top)) { // there is nothing to reflect
			if (threadIdx.x == 0) {
				factors[j] = KZ_ZERO;
			}
			continue;
		}
		const KZ_SIZE norm = scale * sqrt(sum + kz_square(kz_over(top, scale)));
		const KZ_SIZE beta = copysign(norm, -KZ_REAL(top));
		const kz_element tau = kz_over(KZ_MAKE(beta) - top, beta);
		const kz_element divisor = top - KZ_MAKE(beta);
		__syncthreads();
		for (KZ_EACH(i, j + 1, part.m)) {
			KZ_AT(a, i, j) = KZ_AT(a, i, j) / divisor;
		}
		if (threadIdx.x == 0) {
			KZ_AT(a, j, j) = KZ_MAKE(beta);
			factors[j] = tau;
		}
		for (kz_i64 c = j + 1; c < part.n; c++) {
			const kz_element f = KZ_AT(a, j, c);
			kz_element parts[8];
			for (int p = 0; p < 8; p++) {
				parts[p] = KZ_ZERO;
			}
			kz_i64 i = j + 1 + threadIdx.x;
			for (; i + 7 * KZ_THREADS < part.m; i += 8 * KZ_THREADS) {
				for (int p = 0; p < 8; p++) {
					parts[p] = parts[p]
						+ kz_turned(KZ_AT(a, i + p * KZ_THREADS, j), 1)
						* KZ_AT(a, i + p * KZ_THREADS, c);
				}
			}
			for (; i < part.m; i += KZ_THREADS) {
				parts[0] = parts[0] + kz_turned(KZ_AT(a, i, j), 1) * KZ_AT(a, i, c);
			}
			for (int p = 1; p < 8; p++) {
				parts[0] = parts[0] + parts[p];
			}
			const kz_element w = kz_turned(tau, 1) * (f + kz_sum(parts[0]));
			if (threadIdx.x == 0) {
				KZ_AT(a, j, c) = f - w;
			}
			for (KZ_EACH(row, j + 1, part.m)) {
				KZ_AT(a, row, c) = KZ_AT(a, row, c) - KZ_AT(a, row, j) * w;
			}
		}
		__syncthreads();
	}
}
#endif

#ifdef KZ_PART_T
/* The triangle T of n reflectors whose product is I - V T V^H, from b = V^H V (Schreiber & Van Loan
 * 1989): T_jj = tau_j, and above it -tau_j T V^H v_j. */
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *a,
	const kz_element *b, const kz_element *factors, const kz_part part)
{
	a += blockIdx.z * part.a.next;
	b += blockIdx.z * part.b.next;
	factors += blockIdx.z * part.c_next + part.first;
	for (kz_i64 j = 0; j < part.n; j++) {
		for (KZ_EACH(i, 0, part.n)) {
			kz_element sum = KZ_ZERO;
			for (kz_i64 k = i; k < j; k++) {
				sum = sum + KZ_AT(a, i, k) * KZ_AT(b, k, j);
			}
			KZ_AT(a, i, j) = i < j ? -(factors[j] * sum) : i == j ? factors[j]
				: KZ_ZERO;
		}
		__syncthreads();
	}
}
#endif

#ifdef KZ_PART_COPY
/* a = b, or (mode 1) its reflectors: 1 on the diagonal and 0 above it, or (2) the unit matrix. */
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *a,
	const kz_element *b, const kz_part part)
{
	const kz_i64 j = blockIdx.x;
	a += blockIdx.z * part.a.next;
	b += blockIdx.z * part.b.next;
	for (KZ_EACH(i, 0, part.m)) {
		KZ_AT(a, i, j) = part.mode && i <= j ? (i == j ? KZ_MAKE(1) : KZ_ZERO)
			: part.mode == 2 ? KZ_ZERO : KZ_AT(b, i, j);
	}
}
#endif
#endif
