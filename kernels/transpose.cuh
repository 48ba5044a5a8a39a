/* SPDX-License-Identifier: MIT */
/*
 * Copies of which the source is without gaps along one axis, the target along another one: the rows
 * and columns of matrices, in tiles.  KZ_SERIAL: a block of one thread has all tiles of 32 columns.
 * Else a block of 32 x 8 threads has one tile, and reads and writes it along the rows by a detour
 * through shared memory.
 */
typedef long long kz_i64;
struct kz_transposed {
	kz_i64 rows, columns;      /* of the target */
	kz_i64 to_row, from_column; /* in bytes; a row of the target and a column of the source are
	                               without gaps */
	kz_i64 ndim;               /* of the other axes */
	kz_i64 dims[14], to_strides[14], from_strides[14];
};
#define TILE 32
#define LINE (sizeof(kz_element) > 8 ? 8 : 64 / (int)sizeof(kz_element))

extern "C" __global__ void
#ifdef KZ_SERIAL
__launch_bounds__(1)
#else
__launch_bounds__(256)
#endif
kz_kernel(char *target, const char *source, const __grid_constant__ kz_transposed shape)
{
	const kz_i64 tiles = (shape.columns + TILE - 1) / TILE;
	kz_i64 matrix = blockIdx.x / tiles;
	const kz_i64 left = (blockIdx.x - matrix * tiles) * TILE;
	const kz_i64 right = left + TILE < shape.columns ? left + TILE : shape.columns;
	for (int d = (int)shape.ndim - 1; d >= 0; d--) {
		const kz_i64 at = matrix % shape.dims[d];
		matrix /= shape.dims[d];
		target += at * shape.to_strides[d];
		source += at * shape.from_strides[d];
	}
#ifdef KZ_SERIAL
	/* Lines of the cache in, lines out: strides of powers of two put all of a column in few sets. */
	for (kz_i64 top = 0; top < shape.rows; top += LINE) {
		const kz_i64 bottom = top + LINE < shape.rows ? top + LINE : shape.rows;
		for (kz_i64 side = left; side < right; side += LINE) {
			const kz_i64 end = side + LINE < right ? side + LINE : right;
			kz_element tile[LINE * LINE];
			for (kz_i64 column = side; column < end; column++) {
				const kz_element *from = (const kz_element *)(source
					+ column * shape.from_column);
#pragma unroll 1
				for (kz_i64 row = top; row < bottom; row++) {
					tile[(column - side) * LINE + row - top] = from[row];
				}
			}
			for (kz_i64 row = top; row < bottom; row++) {
				kz_element *to = (kz_element *)(target + row * shape.to_row);
#pragma unroll 1
				for (kz_i64 column = side; column < end; column++) {
					to[column] = tile[(column - side) * LINE + row - top];
				}
			}
		}
	}
#else
	__shared__ __align__(16) unsigned char room[TILE * (TILE + 1) * sizeof(kz_element)];
	kz_element *tile = (kz_element *)room;
	const int x = threadIdx.x % 32, y = threadIdx.x / 32;
	for (kz_i64 top = (kz_i64)blockIdx.y * TILE; top < shape.rows;
		top += (kz_i64)gridDim.y * TILE) {
		for (int i = y; i < TILE; i += 8) {
			if (top + x < shape.rows && left + i < right) {
				tile[i * (TILE + 1) + x] = ((const kz_element *)(source
					+ (left + i) * shape.from_column))[top + x];
			}
		}
		__syncthreads();
		for (int i = y; i < TILE; i += 8) {
			if (top + i < shape.rows && left + x < right) {
				((kz_element *)(target + (top + i) * shape.to_row))[left + x]
					= tile[x * (TILE + 1) + i];
			}
		}
		__syncthreads();
	}
#endif
}
