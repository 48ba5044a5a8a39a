/* SPDX-License-Identifier: MIT */
/*
 * One pass of a Fourier transform: transforms of KZ_N points, by Stockham's autosort algorithm.
 *
 * A block has a tile: KZ_C transforms side by side, the columns.  Stage by stage, butterflies of R
 * points go from one half of the tile to the other; each thread has butterflies of its own column.
 * With what columns and rows are, src/lib/fft/fft_kernel.c makes longer transforms of passes.
 *
 * The last tile may have fewer columns.  KZ_SERIAL: one thread has the tile in its local memory;
 * loops over its columns become vectors, as wide as the processor has them.  It fills the tile
 * before the first stage and writes it after the last one.  Else the tile is shared memory, KZ_T
 * threads have a column, and the first stage reads and the last one writes global memory;
 * KZ_PARTIAL says that threads of the last tile may have no column.
 *
 * KZ_CHIRP: Bluestein's algorithm for KZ_CHIRP points, whose convolution is of KZ_N.  The stages
 * are passed twice, and at their middle the spectrum is multiplied by `filter`; what is read and
 * written, by the chirp (kernels/chirp.cuh).
 *
 * All stages compute forward.  KZ_INVERSE exchanges real and imaginary parts at both ends.
 * src/lib/fft/fft_kernel.c writes the text of butterflies of odd primes, and kz_stages.
 */

struct kz_pass {
	kz_i64 columns, chunks;       /* columns in all, tiles that they make */
	kz_i64 in_row, in_column;     /* in bytes */
	kz_i64 out_row, out_column;
	kz_i64 twiddle_row;           /* in points */
	kz_i64 in_part, out_part;
	double scale;
	kz_i64 ndim;                  /* of all other axes */
	kz_i64 dims[KZ_DIMS], in_strides[KZ_DIMS], out_strides[KZ_DIMS];
	kz_i64 twiddle_strides[KZ_DIMS];
};

#ifdef __CUDACC_RTC__
static __device__ __forceinline__ void kz_turn(kz_real &re, kz_real &im, kz_point w)
{
	const kz_real x = fma(re, w.re, -(im * w.im));
	im = fma(re, w.im, im * w.re);
	re = x;
}

/* Where a stage reads and writes: element `row` of a column. */
struct kz_tile {
	kz_real *at;
	__device__ __forceinline__ kz_tile column(int lane) const { return {at + lane}; }
	__device__ __forceinline__ void get(int row, kz_real &re, kz_real &im) const
	{
		re = at[2 * row * KZ_C];
		im = at[(2 * row + 1) * KZ_C];
	}
	__device__ __forceinline__ void put(int row, kz_real re, kz_real im) const
	{
		at[2 * row * KZ_C] = re;
		at[(2 * row + 1) * KZ_C] = im;
	}
};

/* A tile that gets what is multiplied by factors, for stages that compute backward. */
struct kz_filtered {
	kz_tile tile;
	const kz_point *factors;
	__device__ __forceinline__ kz_filtered column(int lane) const
	{
		return {tile.column(lane), factors};
	}
	__device__ __forceinline__ void put(int row, kz_real re, kz_real im) const
	{
		kz_turn(re, im, factors[row]);
		tile.put(row, im, re);
	}
};

struct kz_source {
	const char *at;
	kz_i64 step, next, part; /* from row to row, from column to column */
	const kz_point *chirp;
	__device__ __forceinline__ void get(int row, kz_real &re, kz_real &im) const
	{
#ifdef KZ_CHIRP
		const int from = row < KZ_CHIRP ? row : KZ_CHIRP - 1;
#else
		const int from = row;
#endif
		const kz_point x = kz_read<KZ_IN_FORM>(at + from * step, part);
#ifdef KZ_INVERSE
		re = x.im, im = x.re;
#else
		re = x.re, im = x.im;
#endif
#ifdef KZ_CHIRP
		kz_turn(re, im, row < KZ_CHIRP ? chirp[from] : kz_point{0, 0});
#endif
	}
};

struct kz_target {
	char *at;
	kz_i64 step, next, part;
	const kz_point *twiddles;
	kz_i64 twiddle_step;
	kz_real scale;
	bool is_there;
	__device__ __forceinline__ void put(int row, kz_real re, kz_real im) const
	{
#ifdef KZ_CHIRP
		if (row >= KZ_CHIRP) {
			return;
		}
		const kz_real swap = re; /* the stages computed backward */
		re = im, im = swap;
		kz_turn(re, im, twiddles[row]);
#endif
#ifdef KZ_TWIDDLE
		kz_turn(re, im, twiddles[row * twiddle_step]);
#endif
#ifdef KZ_SCALE
		re *= scale, im *= scale;
#endif
#ifdef KZ_INVERSE
		const kz_point x = {im, re};
#else
		const kz_point x = {re, im};
#endif
#ifdef KZ_PARTIAL
		if (is_there)
#endif
			kz_write<KZ_OUT_FORM>(at + row * step, part, x);
	}
};

template <int R> struct kz_butterfly;

template <> struct kz_butterfly<1> {
	static __device__ __forceinline__ void run(kz_real (&)[1], kz_real (&)[1]) {}
};

template <> struct kz_butterfly<2> {
	static __device__ __forceinline__ void run(kz_real (&re)[2], kz_real (&im)[2])
	{
		const kz_real a = re[0], b = im[0];
		re[0] = a + re[1], im[0] = b + im[1];
		re[1] = a - re[1], im[1] = b - im[1];
	}
};

template <> struct kz_butterfly<4> {
	static __device__ __forceinline__ void run(kz_real (&re)[4], kz_real (&im)[4])
	{
		const kz_real ar = re[0] + re[2], ai = im[0] + im[2];
		const kz_real br = re[0] - re[2], bi = im[0] - im[2];
		const kz_real cr = re[1] + re[3], ci = im[1] + im[3];
		const kz_real dr = re[1] - re[3], di = im[1] - im[3];
		re[0] = ar + cr, im[0] = ai + ci;
		re[1] = br + di, im[1] = bi - dr;
		re[2] = ar - cr, im[2] = ai - ci;
		re[3] = br - di, im[3] = bi + dr;
	}
};

/* Multiply by the power k of a root of unity, exp(-2 pi i / N), N 8 or 16; k is known to the
 * compiler. */
template <int N> static __device__ __forceinline__ void kz_root(kz_real &re, kz_real &im, int k)
{
	const int t = k * (16 / N) % 16, u = t % 4;
	const kz_real half = (kz_real)0.70710678118654752440084436210485;
	const kz_real c = (kz_real)0.92387953251128675612818318939679;
	const kz_real s = (kz_real)0.38268343236508977172845998403040;
	kz_real x = re, y = im;
	if (u == 2) {
		x = half * (re + im), y = half * (im - re);
	} else if (u) {
		kz_turn(x, y, u == 1 ? kz_point{c, -s} : kz_point{s, -c});
	}
	switch (t / 4) { /* quarter turns */
	case 0: re = x, im = y; break;
	case 1: re = y, im = -x; break;
	case 2: re = -x, im = -y; break;
	default: re = -y, im = x;
	}
}

/* A * B points: B butterflies of A, twiddles, A butterflies of B. */
template <int A, int B> struct kz_composite {
	static __device__ __forceinline__ void run(kz_real (&re)[A * B], kz_real (&im)[A * B])
	{
		kz_real x[A * B], y[A * B];
#pragma unroll
		for (int b = 0; b < B; b++) {
			kz_real u[A], v[A];
#pragma unroll
			for (int a = 0; a < A; a++) {
				u[a] = re[a * B + b], v[a] = im[a * B + b];
			}
			kz_butterfly<A>::run(u, v);
#pragma unroll
			for (int a = 0; a < A; a++) {
				kz_root<A * B>(u[a], v[a], a * b);
				x[a * B + b] = u[a], y[a * B + b] = v[a];
			}
		}
#pragma unroll
		for (int a = 0; a < A; a++) {
			kz_real u[B], v[B];
#pragma unroll
			for (int b = 0; b < B; b++) {
				u[b] = x[a * B + b], v[b] = y[a * B + b];
			}
			kz_butterfly<B>::run(u, v);
#pragma unroll
			for (int b = 0; b < B; b++) {
				re[a + A * b] = u[b], im[a + A * b] = v[b];
			}
		}
	}
};
template <> struct kz_butterfly<8> : kz_composite<2, 4> {};
template <> struct kz_butterfly<16> : kz_composite<4, 4> {};

/* Butterfly i of S * M, of R rows that are S * M apart; `w` has the R - 1 powers for its p. */
template <int R, int S, int M, class From, class To>
static __device__ __forceinline__ void kz_turn_rows(const From &from, const To &to,
	const kz_point *w, int i)
{
	const int p = i / S, u = i % S;
	kz_real re[R], im[R];
#pragma unroll
	for (int r = 0; r < R; r++) {
		from.get(i + S * M * r, re[r], im[r]);
	}
	kz_butterfly<R>::run(re, im);
#pragma unroll
	for (int r = 0; r < R; r++) {
		if (M > 1 && r > 0) {
			kz_turn(re[r], im[r], w[p * (R - 1) + r - 1]);
		}
		to.put(u + S * (R * p + r), re[r], im[r]);
	}
}

/* Butterflies of R rows that are R * M rows of S each; `w` has R - 1 powers for each of the M. */
template <int R, int S, int M, class From, class To>
static __device__ __forceinline__ void kz_stage(const From &from, const To &to, const kz_point *w,
	int first)
{
#pragma unroll 1
	for (int i = first; i < S * M; i += KZ_T) {
#ifdef KZ_SERIAL
#pragma unroll 1
		for (int lane = 0; lane < KZ_C; lane++) {
			kz_turn_rows<R, S, M>(from.column(lane), to.column(lane), w, i);
		}
#else
		kz_turn_rows<R, S, M>(from, to, w, i);
#endif
	}
}

#ifdef KZ_SERIAL
#define KZ_SYNC()

/* Visit the elements of a tile by rows, or, where memory has the shorter steps along columns, by
 * columns: as many rows at a time as two lines of the cache have elements. */
template <bool by_columns, class Visit>
static __device__ __forceinline__ void kz_visit(int lanes, Visit visit)
{
	const int height = by_columns ? 128 / (int)sizeof(kz_point) : 1;
#pragma unroll 1
	for (int top = 0; top < KZ_N; top += height) {
		const int end = top + height < KZ_N ? top + height : KZ_N;
#pragma unroll 1
		for (int lane = 0; lane < lanes; lane++) {
			if (!by_columns) {
				visit(top, lane);
				continue;
			}
#pragma unroll 1
			for (int row = top; row < end; row++) {
				visit(row, lane);
			}
		}
	}
}

/* Columns that are not there are zeros. */
static __device__ __forceinline__ void kz_fill(const kz_tile &tile, const kz_source &from,
	int lanes)
{
	kz_visit<KZ_IN_BY_COLUMNS>(lanes, [&](int row, int lane) {
		kz_real re, im;
		kz_source column = from;
		column.at += lane * from.next;
		column.get(row, re, im);
		tile.column(lane).put(row, re, im);
	});
	for (int row = 0; row < KZ_N && lanes < KZ_C; row++) {
		for (int lane = lanes; lane < KZ_C; lane++) {
			tile.column(lane).put(row, 0, 0);
		}
	}
}

static __device__ __forceinline__ void kz_empty(const kz_tile &tile, const kz_target &to, int lanes)
{
	kz_visit<KZ_OUT_BY_COLUMNS>(lanes, [&](int row, int lane) {
		kz_real re, im;
		kz_target column = to;
		column.at += lane * to.next;
		column.twiddles += lane * KZ_TWIDDLE_COLUMN;
		tile.column(lane).get(row, re, im);
		column.put(row, re, im);
	});
}
#else
#define KZ_SYNC() __syncthreads()
#endif

/* `part` is the thread's place in its column, or the number of columns of a serial thread. */
static __device__ __forceinline__ void kz_stages(const kz_source &from, const kz_target &to,
	const kz_tile &a, const kz_tile &b, const kz_point *w, int part);

#ifdef KZ_SERIAL
extern "C" __global__ void __launch_bounds__(1) kz_kernel(char *out, const char *in,
#else
extern "C" __global__ void __launch_bounds__(KZ_C * KZ_T) kz_kernel(char *out, const char *in,
#endif
	const kz_point *__restrict__ roots, const kz_point *__restrict__ twiddles,
	const __grid_constant__ kz_pass pass)
{
	kz_i64 other = (kz_i64)blockIdx.x / pass.chunks;
	kz_i64 column = ((kz_i64)blockIdx.x - other * pass.chunks) * KZ_C;
	for (int d = (int)pass.ndim - 1; d >= 0; d--) {
		const kz_i64 rest = other / pass.dims[d], at = other - rest * pass.dims[d];
		other = rest;
		out += at * pass.out_strides[d];
		in += at * pass.in_strides[d];
		twiddles += at * pass.twiddle_strides[d];
	}
#ifdef KZ_SERIAL
	const int part = pass.columns - column < KZ_C ? (int)(pass.columns - column) : KZ_C;
	const bool is_there = true;
	kz_real tile[2 * KZ_N * KZ_C], other_tile[2 * KZ_N * KZ_C];
	const kz_tile a = {tile}, b = {other_tile};
#else
	const int lane = threadIdx.x % KZ_C, part = threadIdx.x / KZ_C;
	column += lane;
#ifdef KZ_PARTIAL
	const bool is_there = column < pass.columns;
	column = is_there ? column : pass.columns - 1;
#else
	const bool is_there = true;
#endif
	__shared__ kz_real halves[2][2 * KZ_N * KZ_C];
	const kz_tile a = {halves[0] + lane}, b = {halves[1] + lane};
#endif
	const kz_i64 in_next = KZ_IN_COLUMN, out_next = KZ_OUT_COLUMN;
	const kz_source from = {in + column * in_next, pass.in_row, in_next, pass.in_part,
		twiddles};
	const kz_target to = {out + column * out_next, pass.out_row, out_next, pass.out_part,
		twiddles + column * KZ_TWIDDLE_COLUMN, pass.twiddle_row, (kz_real)pass.scale,
		is_there};
	kz_stages(from, to, a, b, roots, part);
}
#endif
