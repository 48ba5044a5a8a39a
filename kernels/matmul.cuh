/* SPDX-License-Identifier: MIT */
/*
 * c = alpha a b + beta c for each of gridDim.z matrices.  a(m, k) and b(k, n) have any strides, rows
 * of c no gaps.
 *
 * Each sum begins with beta c, or 0, and takes its products one after the other in the order of k, by
 * KZ_MADD: the result has the same bits in both forms.  blockIdx.x counts the tiles of c, down the
 * columns first.
 *
 * KZ_SERIAL: a block is one warp, whose 32 lanes are vectors of the processor.  It has a part of b,
 * DEPTH rows of it, as a tile of shared memory, and takes ROWS rows of c at a time: their sums stay
 * in registers.  Lanes beyond the last column compute that column again and do not write it.
 * Else a block of 256 threads has a tile of 64 x 64, 4 x 4 for each thread.
 *
 * KZ_MADD(c, a, b) is c + a * b of kz_element, and KZ_FACTOR(f) the number alpha or beta as one; types
 * without KZ_FACTOR have 1 and 0 for these.
 */
typedef long long kz_i64;
struct kz_matrices {
	kz_i64 m, n, k;
	kz_i64 a_row, a_column, a_next; /* strides in elements; next: from matrix to matrix */
	kz_i64 b_row, b_column, b_next;
	kz_i64 c_row, c_next;
	double alpha[2], beta[2];
	int conjugate_a, conjugate_b;
	int has_alpha, has_beta;        /* alpha is not 1; beta is not 0, and 2: nor 1 */
	int triangle;                   /* 1: write only where row >= column; 2: row <= column */
	int unused;
};

/* An element of a or b as the product takes it. */
__device__ __forceinline__ kz_element kz_operand(kz_element x, int conjugate)
{
#ifdef KZ_IS_COMPLEX
	x.im = conjugate ? -x.im : x.im;
#endif
	return x;
}

__device__ __forceinline__ kz_element kz_scaled(kz_element x, const kz_matrices &shape)
{
#ifdef KZ_FACTOR
	if (shape.has_alpha) {
		x = KZ_FACTOR(shape.alpha) * x;
	}
#endif
	return x;
}

/* What a sum begins with. */
__device__ __forceinline__ kz_element kz_first(const kz_element *c, const kz_matrices &shape, int is_first)
{
	if (is_first && !shape.has_beta) {
		return KZ_ZERO;
	}
#ifdef KZ_FACTOR
	if (is_first && shape.has_beta == 2) {
		return KZ_FACTOR(shape.beta) * *c;
	}
#endif
	return *c;
}

/* Whether an element of c is to be written; and a tile from the upper left corner on. */
__device__ __forceinline__ bool kz_is_wanted(const kz_matrices &shape, kz_i64 row, kz_i64 column)
{
	return shape.triangle == 0 || (shape.triangle == 1 ? row >= column : row <= column);
}
__device__ __forceinline__ bool kz_has_wanted(const kz_matrices &shape, kz_i64 top, kz_i64 left, int height,
	int width)
{
	return shape.triangle == 0
		|| (shape.triangle == 1 ? top + height > left : top < left + width);
}

#ifdef KZ_SERIAL
#define TILE_ROWS 96
#define ROWS 3
#define PER (sizeof(kz_element) < 8 ? 2 : 1) /* columns of a lane */
#define WIDTH (32 * PER)
#define DEPTH (sizeof(kz_element) < 8 ? 256 : 128)
extern "C" __global__ void __launch_bounds__(32) kz_kernel(kz_element *c, const kz_element *a,
	const kz_element *b, const kz_matrices shape)
{
	__shared__ kz_element part_b[DEPTH][WIDTH];
	const int x = threadIdx.x;
	const kz_i64 tiles = (shape.m + TILE_ROWS - 1) / TILE_ROWS;
	const kz_i64 top = (kz_i64)blockIdx.x % tiles * TILE_ROWS, left = blockIdx.x / tiles * WIDTH;
	const kz_i64 bottom = top + TILE_ROWS < shape.m ? top + TILE_ROWS : shape.m;
	kz_i64 column[PER];
	bool in[PER];
	if (!kz_has_wanted(shape, top, left, TILE_ROWS, WIDTH)) {
		return;
	}
	c += blockIdx.z * shape.c_next;
	a += blockIdx.z * shape.a_next;
	b += blockIdx.z * shape.b_next;
#pragma unroll
	for (int u = 0; u < PER; u++) {
		column[u] = left + 32 * u + x;
		in[u] = column[u] < shape.n;
		column[u] = in[u] ? column[u] : shape.n - 1;
	}
	for (kz_i64 k = 0; k == 0 || k < shape.k; k += DEPTH) {
		const int depth = shape.k - k < DEPTH ? (int)(shape.k - k) : DEPTH;
		if (shape.b_column == 1) {
#pragma unroll 1
			for (int d = 0; d < depth; d++) {
#pragma unroll
				for (int u = 0; u < PER; u++) {
					part_b[d][32 * u + x] = kz_scaled(kz_operand(
						b[(k + d) * shape.b_row + column[u]], shape.conjugate_b), shape);
				}
			}
		} else {
#pragma unroll 1
			for (int d = 0; d < depth; d++) {
#pragma unroll
				for (int u = 0; u < PER; u++) {
					part_b[d][32 * u + x] = kz_scaled(kz_operand(b[(k + d) * shape.b_row
						+ column[u] * shape.b_column], shape.conjugate_b), shape);
				}
			}
		}
		__syncwarp();
#pragma unroll 1
		for (kz_i64 i = top; i < bottom; i += ROWS) {
			kz_element sum[ROWS][PER];
			const kz_element *factor[ROWS];
			kz_i64 row[ROWS];
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				row[r] = i + r < bottom ? i + r : bottom - 1;
				factor[r] = a + row[r] * shape.a_row + k * shape.a_column;
#pragma unroll
				for (int u = 0; u < PER; u++) {
					sum[r][u] = kz_first(c + row[r] * shape.c_row + column[u], shape, k == 0);
				}
			}
#pragma unroll 1
			for (int d = 0; d < depth; d++) {
				kz_element v[PER];
#pragma unroll
				for (int u = 0; u < PER; u++) {
					v[u] = part_b[d][32 * u + x];
				}
#pragma unroll
				for (int r = 0; r < ROWS; r++) {
					const kz_element f = kz_operand(factor[r][d * shape.a_column],
						shape.conjugate_a);
#pragma unroll
					for (int u = 0; u < PER; u++) {
						sum[r][u] = KZ_MADD(sum[r][u], f, v[u]);
					}
				}
			}
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
#pragma unroll
				for (int u = 0; u < PER; u++) {
					if (i + r < bottom && in[u] && kz_is_wanted(shape, row[r], column[u])) {
						c[row[r] * shape.c_row + column[u]] = sum[r][u];
					}
				}
			}
		}
		__syncwarp();
	}
}
#else
#define TILE 64
#define DEPTH 16
extern "C" __global__ void __launch_bounds__(256) kz_kernel(kz_element *c, const kz_element *a,
	const kz_element *b, const kz_matrices shape)
{
	__shared__ kz_element part_a[DEPTH][TILE + 1], part_b[DEPTH][TILE];
	const int x = threadIdx.x % 16, y = threadIdx.x / 16;
	const kz_i64 tiles = (shape.m + TILE - 1) / TILE;
	const kz_i64 top = (kz_i64)blockIdx.x % tiles * TILE, left = blockIdx.x / tiles * TILE;
	kz_element sum[4][4];
	if (!kz_has_wanted(shape, top, left, TILE, TILE)) {
		return;
	}
	c += blockIdx.z * shape.c_next;
	a += blockIdx.z * shape.a_next;
	b += blockIdx.z * shape.b_next;
	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 4; j++) {
			const kz_i64 row = top + y + 16 * i, column = left + x + 16 * j;
			sum[i][j] = row < shape.m && column < shape.n
				? kz_first(c + row * shape.c_row + column, shape, true) : KZ_ZERO;
		}
	}
	for (kz_i64 k = 0; k < shape.k; k += DEPTH) {
		const int depth = shape.k - k < DEPTH ? (int)(shape.k - k) : DEPTH;
		for (int at = threadIdx.x; at < DEPTH * TILE; at += 256) {
			const kz_i64 row = top + at / DEPTH, column = k + at % DEPTH;
			part_a[at % DEPTH][at / DEPTH] = row < shape.m && column < shape.k ? kz_operand(
				a[row * shape.a_row + column * shape.a_column], shape.conjugate_a) : KZ_ZERO;
		}
		for (int at = threadIdx.x; at < DEPTH * TILE; at += 256) {
			const kz_i64 row = k + at / TILE, column = left + at % TILE;
			part_b[at / TILE][at % TILE] = row < shape.k && column < shape.n
				? kz_scaled(kz_operand(b[row * shape.b_row + column * shape.b_column],
					shape.conjugate_b), shape) : KZ_ZERO;
		}
		__syncthreads();
		for (int d = 0; d < depth; d++) {
			for (int i = 0; i < 4; i++) {
				for (int j = 0; j < 4; j++) {
					sum[i][j] = KZ_MADD(sum[i][j], part_a[d][y + 16 * i],
						part_b[d][x + 16 * j]);
				}
			}
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 4; j++) {
			const kz_i64 row = top + y + 16 * i, column = left + x + 16 * j;
			if (row < shape.m && column < shape.n && kz_is_wanted(shape, row, column)) {
				c[row * shape.c_row + column] = sum[i][j];
			}
		}
	}
}
#endif
