/* SPDX-License-Identifier: MIT */
/*
 * Copies of which the source is without gaps along one axis, the target along another one: the rows
 * and columns of matrices, in tiles.  KZ_SERIAL: a block of one thread has all tiles of 64 columns.
 * Else a block of 32 x 8 threads has one tile of 32 x 32 words, and reads and writes it along the
 * rows by a detour through shared memory.  A word is an element, or some bytes of smaller ones, 4
 * on a GPU and 8 else: then as many words below each other are a square of elements, which a thread
 * turns by itself.
 */
typedef long long kz_i64;
#define KZ_OTHERS 14
struct kz_transposed {
	kz_i64 rows, columns;      /* of the target */
	kz_i64 to_row, from_column; /* in bytes; a row of the target and a column of the source are
	                               without gaps */
	int words;                 /* all that is read and written in words is at multiples of
	                              their size */
	int down;                  /* blockIdx.x counts the tiles down a column, y those along a
	                              row */
	unsigned int tiles;        /* that x counts of each matrix */
	unsigned int unused;
	kz_i64 ndim;               /* of the other axes */
	kz_i64 dims[KZ_OTHERS], to_strides[KZ_OTHERS], from_strides[KZ_OTHERS];
};

#ifdef __CUDACC_RTC__
#ifdef KZ_SERIAL
typedef unsigned long long kz_bits;
#else
typedef unsigned int kz_bits;
#endif
/* elements of a word */
#define PER (sizeof(kz_element) < sizeof(kz_bits) \
	? (int)sizeof(kz_bits) / (int)sizeof(kz_element) : 1)
template <class T, int per> struct kz_square { typedef kz_bits word; };
template <class T> struct kz_square<T, 1> { typedef T word; };
typedef kz_square<kz_element, PER>::word kz_word;

#ifdef KZ_SERIAL
#define TILE KZ_TILE_SIZE
#define LINE (sizeof(kz_element) > 8 ? 8 : 64 / (int)sizeof(kz_element))
#define WORDS (LINE / PER) /* of a line */
#else
#define TILE (KZ_TILE_SIZE * PER)
#define TURNS 4 /* of 8 rows of words each */

template <class T> __device__ void kz_turn(T (&)[1]) {}
__device__ inline void kz_turn(unsigned int (&row)[2])
{
	const unsigned int first = __byte_perm(row[0], row[1], 0x5410);
	row[1] = __byte_perm(row[0], row[1], 0x7632);
	row[0] = first;
}
__device__ inline void kz_turn(unsigned int (&row)[4])
{
	const unsigned int a = __byte_perm(row[0], row[1], 0x5140);
	const unsigned int b = __byte_perm(row[0], row[1], 0x7362);
	const unsigned int c = __byte_perm(row[2], row[3], 0x5140);
	const unsigned int d = __byte_perm(row[2], row[3], 0x7362);
	row[0] = __byte_perm(a, c, 0x5410);
	row[1] = __byte_perm(a, c, 0x7632);
	row[2] = __byte_perm(b, d, 0x5410);
	row[3] = __byte_perm(b, d, 0x7632);
}

/* A whole tile, in words. */
__device__ inline void kz_tile_of_words(kz_word (&tile)[PER][32][33], char *target,
	const char *source, kz_i64 to_row, kz_i64 from_column)
{
	const int x = threadIdx.x % 32, y = threadIdx.x / 32;
	kz_word square[TURNS][PER];
#pragma unroll
	for (int i = 0; i < TURNS * PER; i++) {
		square[i / PER][i % PER] = ((const kz_word *)(source
			+ ((y + i / PER * 8) * PER + i % PER) * from_column))[x];
	}
#pragma unroll
	for (int turn = 0; turn < TURNS; turn++) {
		kz_turn(square[turn]);
#pragma unroll
		for (int i = 0; i < PER; i++) {
			tile[i][x][y + turn * 8] = square[turn][i];
		}
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < TURNS * PER; i++) {
		const int row = y + i / PER * 8;
		((kz_word *)(target + (row * PER + i % PER) * to_row))[x] = tile[i % PER][row][x];
	}
}

/* As much of a tile as there is, in elements. */
__device__ inline void kz_tile_of_elements(kz_element *tile, char *target, const char *source,
	kz_i64 to_row, kz_i64 from_column, int rows, int columns)
{
	const int x = threadIdx.x % 32, y = threadIdx.x / 32;
#pragma unroll 1
	for (int part = 0; part < PER * PER; part++) {
		const int row = x + part % PER * 32, first = y + part / PER * 32;
		kz_element read[TURNS];
#pragma unroll
		for (int turn = 0; turn < TURNS; turn++) {
			const int column = first + turn * 8;
			if (row < rows && column < columns) {
				read[turn] =
					((const kz_element *)(source + column * from_column))[row];
			}
		}
#pragma unroll
		for (int turn = 0; turn < TURNS; turn++) {
			tile[(first + turn * 8) * (TILE + PER) + row] = read[turn];
		}
	}
	__syncthreads();
#pragma unroll 1
	for (int part = 0; part < PER * PER; part++) {
		const int column = x + part % PER * 32, first = y + part / PER * 32;
#pragma unroll
		for (int turn = 0; turn < TURNS; turn++) {
			const int row = first + turn * 8;
			if (row < rows && column < columns) {
				((kz_element *)(target + row * to_row))[column]
					= tile[column * (TILE + PER) + row];
			}
		}
	}
}
#endif
#ifdef KZ_SERIAL
/* As much of the source as there is, in elements or words; a line of the tile has room for `line`
 * of them. */
template <int line, class T> static __device__ __forceinline__ void kz_take_columns(T *tile,
	const char *source, const kz_transposed &shape, int columns, int rows)
{
#pragma unroll 1
	for (int column = 0; column < columns; column++) {
		const T *from = (const T *)(source + column * shape.from_column);
#pragma unroll 1
		for (int row = 0; row < rows; row++) {
			tile[column * line + row] = from[row];
		}
	}
}

/* Lines of the cache in, lines out: strides of powers of two put all of a column in few sets.  What
 * goes out is picked element by element: gathers would take longer. */
template <bool whole> static __device__ __forceinline__ void kz_tile_of_lines(char *target,
	const char *source, const kz_transposed &shape, int rows, int columns)
{
	kz_element tile[LINE * LINE];
	kz_take_columns<LINE>(tile, source, shape, columns, rows);
#pragma unroll 1
	for (int row = 0; row < rows; row++) {
		kz_element *to = (kz_element *)(target + row * shape.to_row);
#pragma unroll(!whole ? 1 : LINE < 16 ? LINE : 16)
		for (int column = 0; column < (whole ? LINE : columns); column++) {
			to[column] = tile[column * LINE + row];
		}
	}
}

/* Squares of squares change places, from halves down to elements. */
template <int half, class Word> __device__ __forceinline__ void kz_turn_words(Word (&row)[PER])
{
	if constexpr (half > 0) {
		const int bits = half * 8 * (int)sizeof(kz_element);
		const Word low = ~(Word)0 / (((Word)1 << bits) + 1);
#pragma unroll
		for (int i = 0; i < PER; i++) {
			if (!(i & half)) {
				const Word a = row[i], b = row[i + half];
				row[i] = (a & low) | (b & low) << bits;
				row[i + half] = (a >> bits & low) | (b & ~low);
			}
		}
		kz_turn_words<half / 2>(row);
	}
}

/* Elements that are words go from lines to lines: a copy in between would wait for the stores of
 * the tile before. */
static __device__ __forceinline__ void kz_tile_of_long(char *target, const char *source,
	const kz_transposed &shape)
{
#pragma unroll 1
	for (int row = 0; row < LINE; row++) {
		kz_element *to = (kz_element *)(target + row * shape.to_row);
#pragma unroll
		for (int column = 0; column < LINE; column++) {
			to[column] = ((const kz_element *)(source + column * shape.from_column))
				[row];
		}
	}
}

static __device__ __forceinline__ void kz_tile_of_words(char *target, const char *source,
	const kz_transposed &shape)
{
	kz_word tile[LINE * WORDS];
	kz_take_columns<WORDS>(tile, source, shape, LINE, WORDS);
#pragma unroll 1
	for (int i = 0; i < LINE * WORDS; i += PER * WORDS) {
#pragma unroll 1
		for (int k = i; k < i + WORDS; k++) {
			kz_word square[PER];
#pragma unroll
			for (int j = 0; j < PER; j++) {
				square[j] = tile[k + j * WORDS];
			}
			kz_turn_words<PER / 2>(square);
#pragma unroll
			for (int j = 0; j < PER; j++) {
				tile[k + j * WORDS] = square[j];
			}
		}
	}
#pragma unroll 1
	for (int row = 0; row < LINE; row++) {
		kz_word *to = (kz_word *)(target + row * shape.to_row);
		const kz_word *from = tile + row % PER * WORDS + row / PER;
#pragma unroll
		for (int i = 0; i < WORDS; i++) {
			to[i] = from[i * PER * WORDS];
		}
	}
}
#endif

extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(char *target, const char *source,
	const __grid_constant__ kz_transposed shape)
{
	unsigned int x = blockIdx.x;
	if (shape.ndim > 0) {
		unsigned int matrix = x / shape.tiles;
		x -= matrix * shape.tiles;
		for (int d = (int)shape.ndim - 1; d >= 0; d--) {
			const unsigned int extent = (unsigned int)shape.dims[d],
				at = matrix % extent;
			matrix /= extent;
			target += at * shape.to_strides[d];
			source += at * shape.from_strides[d];
		}
	}
	const kz_i64 left = (kz_i64)(shape.down ? blockIdx.y : x) * TILE;
#ifdef KZ_SERIAL
	const kz_i64 right = left + TILE < shape.columns ? left + TILE : shape.columns;
	for (kz_i64 top = 0; top < shape.rows; top += LINE) {
		const int rows = (int)(top + LINE < shape.rows ? LINE : shape.rows - top);
		for (kz_i64 side = left; side < right; side += LINE) {
			const int columns = (int)(side + LINE < right ? LINE : right - side);
			char *to = target + top * shape.to_row + side * (int)sizeof(kz_element);
			const char *from = source + side * shape.from_column
				+ top * (int)sizeof(kz_element);
			if (rows < LINE || columns < LINE) {
				kz_tile_of_lines<false>(to, from, shape, rows, columns);
			} else if (PER == 1) {
				kz_tile_of_long(to, from, shape);
			} else if (shape.words) {
				kz_tile_of_words(to, from, shape);
			} else {
				kz_tile_of_lines<true>(to, from, shape, LINE, LINE);
			}
		}
	}
#else
	__shared__ kz_word tile[PER][32][33];
	const kz_i64 top = (kz_i64)(shape.down ? x : blockIdx.y) * TILE;
	target += top * shape.to_row + left * (int)sizeof(kz_element);
	source += left * shape.from_column + top * (int)sizeof(kz_element);
	if (shape.words && top + TILE <= shape.rows && left + TILE <= shape.columns) {
		kz_tile_of_words(tile, target, source, shape.to_row, shape.from_column);
	} else {
		kz_tile_of_elements((kz_element *)tile, target, source, shape.to_row,
			shape.from_column, (int)(top + TILE < shape.rows ? TILE : shape.rows - top),
			(int)(left + TILE < shape.columns ? TILE : shape.columns - left));
	}
#endif
}
#endif
