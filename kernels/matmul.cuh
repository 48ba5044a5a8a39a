/* SPDX-License-Identifier: MIT */
/*
 * c(m, n) = a(m, k) b(k, n), row-major c and rows of b without gaps, for each of gridDim.z matrices.
 *
 * Sums run over k in ascending order, in both forms: the result has the same bits everywhere.
 * KZ_SERIAL: one thread has ROWS rows of c, which it keeps in the cache while four rows of b pass.
 * Else a block of 256 threads has a tile of 64 x 64, 4 x 4 for each.
 *
 * KZ_ADD(c, a, b) is c + a * b of kz_element.
 */
typedef long long kz_i64;
struct kz_matrices {
	kz_i64 m, n, k;
	kz_i64 a_row, a_column, a_next; /* strides in elements; next: from matrix to matrix */
	kz_i64 b_row, b_next, c_next;
};

#ifdef KZ_SERIAL
#define ROWS 16
#define COLUMNS 1024
extern "C" __global__ void __launch_bounds__(1) kz_kernel(kz_element *c, const kz_element *a,
	const kz_element *b, const kz_matrices shape)
{
	const kz_i64 top = (kz_i64)blockIdx.x * ROWS;
	const kz_i64 bottom = top + ROWS < shape.m ? top + ROWS : shape.m;
	const kz_i64 left = (kz_i64)blockIdx.y * COLUMNS;
	const kz_i64 width = left + COLUMNS < shape.n ? COLUMNS : shape.n - left;
	c += blockIdx.z * shape.c_next + left;
	a += blockIdx.z * shape.a_next;
	b += blockIdx.z * shape.b_next + left;
	for (kz_i64 i = top; i < bottom; i++) {
		kz_element *row = c + i * shape.n;
#pragma unroll 1
		for (kz_i64 j = 0; j < width; j++) {
			row[j] = KZ_ZERO;
		}
	}
	for (kz_i64 k = 0; k < shape.k; k += 4) {
		const kz_i64 left_k = shape.k - k;
		for (kz_i64 i = top; i < bottom; i++) {
			kz_element *row = c + i * shape.n;
			const kz_element *factor = a + i * shape.a_row + k * shape.a_column;
			const kz_element *b0 = b + k * shape.b_row;
			if (left_k >= 4) {
				const kz_element *b1 = b0 + shape.b_row;
				const kz_element *b2 = b1 + shape.b_row;
				const kz_element *b3 = b2 + shape.b_row;
				const kz_element f0 = factor[0], f1 = factor[shape.a_column];
				const kz_element f2 = factor[2 * shape.a_column];
				const kz_element f3 = factor[3 * shape.a_column];
#pragma unroll 1
				for (kz_i64 j = 0; j < width; j++) {
					row[j] = KZ_ADD(KZ_ADD(KZ_ADD(KZ_ADD(row[j], f0, b0[j]), f1,
						b1[j]), f2, b2[j]), f3, b3[j]);
				}
				continue;
			}
			for (kz_i64 rest = 0; rest < left_k; rest++) {
				const kz_element f = factor[rest * shape.a_column];
				const kz_element *from = b0 + rest * shape.b_row;
#pragma unroll 1
				for (kz_i64 j = 0; j < width; j++) {
					row[j] = KZ_ADD(row[j], f, from[j]);
				}
			}
		}
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
	const kz_i64 top = (kz_i64)blockIdx.x * TILE, left = (kz_i64)blockIdx.y * TILE;
	kz_element sum[4][4];
	c += blockIdx.z * shape.c_next;
	a += blockIdx.z * shape.a_next;
	b += blockIdx.z * shape.b_next;
	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 4; j++) {
			sum[i][j] = KZ_ZERO;
		}
	}
	for (kz_i64 k = 0; k < shape.k; k += DEPTH) {
		const int depth = shape.k - k < DEPTH ? (int)(shape.k - k) : DEPTH;
		for (int at = threadIdx.x; at < DEPTH * TILE; at += 256) {
			const kz_i64 row = top + at / DEPTH, column = k + at % DEPTH;
			part_a[at % DEPTH][at / DEPTH] = row < shape.m && column < shape.k
				? a[row * shape.a_row + column * shape.a_column] : KZ_ZERO;
		}
		for (int at = threadIdx.x; at < DEPTH * TILE; at += 256) {
			const kz_i64 row = k + at / TILE, column = left + at % TILE;
			part_b[at / TILE][at % TILE] = row < shape.k && column < shape.n
				? b[row * shape.b_row + column] : KZ_ZERO;
		}
		__syncthreads();
		for (int d = 0; d < depth; d++) {
			for (int i = 0; i < 4; i++) {
				for (int j = 0; j < 4; j++) {
					sum[i][j] = KZ_ADD(sum[i][j], part_a[d][y + 16 * i],
						part_b[d][x + 16 * j]);
				}
			}
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 4; j++) {
			const kz_i64 row = top + y + 16 * i, column = left + x + 16 * j;
			if (row < shape.m && column < shape.n) {
				c[row * shape.n + column] = sum[i][j];
			}
		}
	}
}
#endif
