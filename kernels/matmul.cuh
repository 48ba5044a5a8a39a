/* SPDX-License-Identifier: MIT */
/*
 * c = alpha a b + beta c for each of gridDim.z matrices.  a(m, k) and b(k, n) have any strides,
 * rows of c no gaps.
 *
 * Each sum but those of KZ_DOT begins with beta c, or 0, and takes its products one after the other
 * in the order of k, by KZ_MADD: the result has the same bits in both forms.  blockIdx.x counts the
 * tiles of c, down the columns first.
 *
 * KZ_SERIAL: one thread has ROWS x COLUMNS sums in its local memory, which the first-level cache
 * holds while STEP rows of b pass.  GROUP rows of sums share each element of b that is read.  STEP
 * and GROUP are such that factors and sums fit 32 vector registers; with 16 some are operands in
 * memory.  Rows of b with gaps are copied first.
 * Else a block of 256 threads has a tile of TILE x TILE, 4 x 4 for each thread.
 * KZ_DOT: c and b are one column, and a has rows without gaps.  A lane of 32 adds every 32nd
 * product of a row; these sums are added one after the other.  So all memory is read once, along
 * rows.
 *
 * KZ_PLAIN promises that rows of b have no gaps, and all that scales, conjugates or leaves out is
 * off.
 *
 * KZ_MADD(c, a, b) is c + a * b of kz_element, and KZ_FACTOR(f) the number alpha or beta as one;
 * types without KZ_FACTOR have 1 and 0 for these.
 */
#define KZ_ROW_SIZE 1024 /* bytes of a row of a tile, with KZ_SERIAL */
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

#ifdef __CUDACC_RTC__
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
__device__ __forceinline__ kz_element kz_first(const kz_element *c, const kz_matrices &shape,
	int is_first)
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
__device__ __forceinline__ bool kz_has_wanted(const kz_matrices &shape, kz_i64 top, kz_i64 left,
	int height, int width)
{
	return shape.triangle == 0
		|| (shape.triangle == 1 ? top + height > left : top < left + width);
}

#if defined(KZ_DOT)
#ifdef KZ_SERIAL
#define GROUP 1 /* rows at a time: 32 lanes of doubles are 8 of 16 vector registers */
#else
#define GROUP 4 /* many reads under way */
#endif
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *c,
	const kz_element *a, const kz_element *b, const kz_matrices shape)
{
	__shared__ kz_element parts[32][33];
	const int x = threadIdx.x % 32;
	const kz_i64 top = (kz_i64)blockIdx.x * 32, whole = shape.k / 32 * 32;
	c += blockIdx.z * shape.c_next;
	a += blockIdx.z * shape.a_next;
	b += blockIdx.z * shape.b_next;
#pragma unroll 1
	for (int group = threadIdx.x / 32; group < 32 / GROUP; group += KZ_THREADS / 32) {
		const kz_element *row[GROUP];
		kz_element sum[GROUP];
#pragma unroll
		// what is below the last row is that row once more
		for (int r = 0; r < GROUP; r++) {
			const kz_i64 i = top + group * GROUP + r;
			row[r] = a + (i < shape.m ? i : shape.m - 1) * shape.a_row;
			sum[r] = KZ_ZERO;
		}
		if (shape.b_row == 1) {
#pragma unroll 1
			for (kz_i64 k = 0; k < whole; k += 32) {
				const kz_element v = kz_operand(b[k + x], shape.conjugate_b);
#pragma unroll
				for (int r = 0; r < GROUP; r++) {
					sum[r] = KZ_MADD(sum[r],
						kz_operand(row[r][k + x], shape.conjugate_a), v);
				}
			}
		} else {
#pragma unroll 1
			for (kz_i64 k = 0; k < whole; k += 32) {
				const kz_element v = kz_operand(b[(k + x) * shape.b_row],
					shape.conjugate_b);
#pragma unroll
				for (int r = 0; r < GROUP; r++) {
					sum[r] = KZ_MADD(sum[r],
						kz_operand(row[r][k + x], shape.conjugate_a), v);
				}
			}
		}
		if (whole + x < shape.k) {
			const kz_element v = kz_operand(b[(whole + x) * shape.b_row],
				shape.conjugate_b);
#pragma unroll
			for (int r = 0; r < GROUP; r++) {
				sum[r] = KZ_MADD(sum[r],
					kz_operand(row[r][whole + x], shape.conjugate_a), v);
			}
		}
#pragma unroll
		for (int r = 0; r < GROUP; r++) {
			parts[x][group * GROUP + r] = sum[r];
		}
	}
	__syncthreads();
	if (threadIdx.x < 32 && top + x < shape.m) {
		kz_element sum = KZ_ZERO;
		for (int part = 0; part < 32; part++) {
			sum = sum + parts[part][x];
		}
		kz_element *to = c + (top + x) * shape.c_row;
#ifdef KZ_FACTOR
		sum = kz_scaled(sum, shape);
		sum = shape.has_beta ? sum + kz_first(to, shape, true) : sum;
#endif
		*to = sum;
	}
}
#elif defined(KZ_SERIAL)
#define ROWS KZ_TILE_SIZE
#define COLUMNS (KZ_ROW_SIZE / (int)sizeof(kz_element))
#define STEP 4
#define GROUP 4
/* Where a tile of c lies. */
struct kz_tile {
	kz_i64 top, bottom, left, width;
};

/* Add the products of D rows of b to G rows of a tile.  An element of b is read once for all G
 * rows. */
template <int G, int D> __device__ __forceinline__ void kz_add_group(kz_element (*c)[COLUMNS],
	const kz_element *a, const kz_element *b, kz_i64 b_row, kz_i64 a_row, kz_i64 a_column,
	kz_i64 first, kz_i64 last, const kz_matrices &shape)
{
	kz_element f[G][D];
	const kz_element *from[D];
#pragma unroll
	for (int d = 0; d < D; d++) {
#pragma unroll
		for (int g = 0; g < G; g++) {
			f[g][d] = kz_scaled(kz_operand(a[g * a_row + d * a_column],
				shape.conjugate_a), shape);
		}
		from[d] = b + d * b_row;
	}
#pragma unroll 1
	for (kz_i64 j = first; j < last; j++) {
		kz_element sum[G];
#pragma unroll
		for (int g = 0; g < G; g++) {
			sum[g] = c[g][j];
		}
#pragma unroll
		for (int d = 0; d < D; d++) {
			const kz_element x = from[d][j];
#pragma unroll
			for (int g = 0; g < G; g++) {
				sum[g] = KZ_MADD(sum[g], f[g][d], x);
			}
		}
#pragma unroll
		for (int g = 0; g < G; g++) {
			c[g][j] = sum[g];
		}
	}
}

/* Add the products of D rows of b to all rows of a tile, in the columns that some row of a group
 * is wanted in. */
template <int D> __device__ __forceinline__ void kz_add_rows(kz_element (*c)[COLUMNS],
	const kz_element *a, const kz_element *b, kz_i64 b_row, const kz_tile &tile,
	const kz_matrices &shape)
{
	const int rows = (int)(tile.bottom - tile.top);
#pragma unroll 1
	for (int i = 0, count; i < rows; i += count) {
		const kz_i64 diagonal = tile.top + i - tile.left;
		const kz_element *const factors = a + i * shape.a_row;
		kz_i64 first = 0, last = tile.width;
		count = rows - i < GROUP ? 1 : GROUP;
		if (shape.triangle == 1) {
			last = diagonal + count < last ? diagonal + count : last;
		} else if (shape.triangle) {
			first = diagonal > 0 ? diagonal : 0;
		}
		if (count == GROUP) {
			kz_add_group<GROUP, D>(c + i, factors, b, b_row, shape.a_row,
				shape.a_column, first, last, shape);
		} else {
			kz_add_group<1, D>(c + i, factors, b, b_row, shape.a_row, shape.a_column,
				first, last, shape);
		}
	}
}

extern "C" __global__ void __launch_bounds__(1) kz_kernel(kz_element *c, const kz_element *a,
	const kz_element *b, kz_matrices shape)
{
#ifdef KZ_PLAIN
	shape.b_column = 1;
	shape.conjugate_a = shape.conjugate_b = shape.has_alpha = shape.has_beta = shape.triangle =
		0;
#endif
	const kz_i64 tiles = (shape.m + ROWS - 1) / ROWS;
	kz_tile tile;
	tile.top = (kz_i64)blockIdx.x % tiles * ROWS;
	tile.left = blockIdx.x / tiles * COLUMNS;
	tile.bottom = tile.top + ROWS < shape.m ? tile.top + ROWS : shape.m;
	tile.width = tile.left + COLUMNS < shape.n ? COLUMNS : shape.n - tile.left;
	if (!kz_has_wanted(shape, tile.top, tile.left, ROWS, COLUMNS)) {
		return;
	}
	c += blockIdx.z * shape.c_next + tile.top * shape.c_row + tile.left;
	a += blockIdx.z * shape.a_next + tile.top * shape.a_row;
	b += blockIdx.z * shape.b_next + tile.left * shape.b_column;
	kz_element sums[ROWS][COLUMNS], part_b[STEP][COLUMNS];
	const int rows = (int)(tile.bottom - tile.top);
	for (int i = 0; i < rows; i++) {
#pragma unroll 1
		for (kz_i64 j = 0; j < tile.width; j++) {
			sums[i][j] = shape.has_beta ? kz_first(c + i * shape.c_row + j, shape, true)
				: KZ_ZERO;
		}
	}
	const bool is_row = shape.b_column == 1 && !shape.conjugate_b;
	for (kz_i64 k = 0; k < shape.k; k += STEP) {
		const int depth = shape.k - k < STEP ? (int)(shape.k - k) : STEP;
		const kz_element *const from = b + k * shape.b_row;
		if (!is_row) {
			for (int d = 0; d < depth; d++) {
#pragma unroll 1
				for (kz_i64 j = 0; j < tile.width; j++) {
					part_b[d][j] = kz_operand(
						from[d * shape.b_row + j * shape.b_column],
						shape.conjugate_b);
				}
			}
		}
		const kz_element *const to_add = is_row ? from : part_b[0];
		const kz_i64 row = is_row ? shape.b_row : COLUMNS;
		if (depth == STEP) {
			kz_add_rows<STEP>(sums, a + k * shape.a_column, to_add, row, tile, shape);
			continue;
		}
		for (int d = 0; d < depth; d++) {
			kz_add_rows<1>(sums, a + (k + d) * shape.a_column, to_add + d * row, row,
				tile, shape);
		}
	}
	for (int i = 0; i < rows; i++) {
		kz_element *const to = c + i * shape.c_row;
		if (!shape.triangle) {
#pragma unroll 1
			for (kz_i64 j = 0; j < tile.width; j++) {
				to[j] = sums[i][j];
			}
			continue;
		}
		for (kz_i64 j = 0; j < tile.width; j++) {
			if (kz_is_wanted(shape, tile.top + i, tile.left + j)) {
				to[j] = sums[i][j];
			}
		}
	}
}
#else
#define TILE KZ_TILE_SIZE
#define DEPTH 16
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_element *c,
	const kz_element *a, const kz_element *b, const kz_matrices shape)
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
		for (int at = threadIdx.x; at < DEPTH * TILE; at += KZ_THREADS) {
			const kz_i64 row = top + at / DEPTH, column = k + at % DEPTH;
			part_a[at % DEPTH][at / DEPTH] = row < shape.m && column < shape.k
				? kz_scaled(
				kz_operand(a[row * shape.a_row + column * shape.a_column],
				shape.conjugate_a), shape) : KZ_ZERO;
		}
		for (int at = threadIdx.x; at < DEPTH * TILE; at += KZ_THREADS) {
			const kz_i64 row = k + at / TILE, column = left + at % TILE;
			part_b[at / TILE][at % TILE] = row < shape.k && column < shape.n
				? kz_operand(b[row * shape.b_row + column * shape.b_column],
					shape.conjugate_b) : KZ_ZERO;
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
#endif
