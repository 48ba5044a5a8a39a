/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/sparse/sparse*.c.  One of KZ_CHECK, KZ_ROWS, ... says which kernel is wanted.
 *
 * A matrix of `rows` rows has values, kz_element, the columns of these, kz_index, and either the
 * pointers of its rows (CSR: row r has the places pointers[r] to before pointers[r + 1]) or the row
 * of each value (COO).
 *
 * KZ_SERIAL: a block is one thread; else 256, and 32 for KZ_PLACE.  No kernel's result
 * depends on that, or on how many blocks run at once: each sum has one order, and no float is added
 * atomically.
 *
 * The text before this one has kz_index, kz_element as it is in memory and kz_value as it is
 * computed, KZ_LOAD and KZ_STORE between these, KZ_ZERO, and KZ_MADD(c, a, b), which is c + a * b.
 */
#define KZ_DIGITS 256 /* of a pass of a sort, without KZ_SERIAL */

#ifdef __CUDACC_RTC__
typedef long long kz_i64;
#define KZ_BOUNDS __launch_bounds__(KZ_THREADS)
#ifdef KZ_SERIAL
#define KZ_FOR(i, first, end) for (kz_i64 i = first; i < end; i++)
#else
#define KZ_FOR(i, first, end) for (kz_i64 i = first + threadIdx.x; i < end; i += blockDim.x)
#endif
#define KZ_RANGE(count, per) \
	const kz_i64 begin = (kz_i64)blockIdx.x * per; \
	const kz_i64 end = begin + per < count ? begin + per : count
#define KZ_CHUNK(count) KZ_RANGE(count, KZ_TILE_SIZE)

/* The first place in `count` ascending numbers that is not below `key`. */
static __device__ inline kz_i64 kz_lower(const kz_index *at, kz_i64 count, kz_i64 key)
{
	kz_i64 low = 0, high = count;
	while (low < high) {
		const kz_i64 middle = (low + high) / 2;
		if (at[middle] < key) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

#ifdef KZ_CHECK
/* The first pointer that is wrong; *bad begins as the largest number. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(unsigned long long *bad, const kz_index *pointers,
	kz_i64 rows, kz_i64 count)
{
	KZ_CHUNK(rows + 1);
	KZ_FOR(i, begin, end) {
		const kz_i64 least = i ? pointers[i - 1] : 0;
		const kz_i64 most = i ? count : 0;
		const bool is_short = i == rows && pointers[i] != count;
		if (pointers[i] < least || pointers[i] > most || is_short) {
			atomicMin(bad, (unsigned long long)i);
		}
	}
}
#endif

#ifdef KZ_ORDER
/* The first entry that belongs before the one before it; *bad begins as the largest number. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(unsigned long long *bad, const kz_index *row_of,
	const kz_index *columns, kz_i64 count)
{
	KZ_CHUNK(count);
	KZ_FOR(i, (begin > 1 ? begin : 1), end) {
		if (row_of[i] < row_of[i - 1]
		    || (row_of[i] == row_of[i - 1] && columns[i] < columns[i - 1])) {
			atomicMin(bad, (unsigned long long)i);
#ifdef KZ_SERIAL
			return;
#endif
		}
	}
}
#endif

#ifdef KZ_ROWS
/* The row of each place. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_index *to, const kz_index *pointers, kz_i64 rows,
	kz_i64 count)
{
	KZ_CHUNK(count);
#ifdef KZ_SERIAL
	kz_i64 row = kz_lower(pointers, rows + 1, begin + 1) - 1;
#endif
	KZ_FOR(i, begin, end) {
#ifdef KZ_SERIAL
		while (pointers[row + 1] <= i) {
			row++;
		}
#else
		const kz_i64 row = kz_lower(pointers, rows + 1, i + 1) - 1;
#endif
		to[i] = (kz_index)row;
	}
}
#endif

#ifdef KZ_POINTERS
/* The pointers of rows whose places are in order. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_index *pointers, const kz_index *row_of,
	kz_i64 rows, kz_i64 count)
{
	KZ_CHUNK(rows + 1);
#ifdef KZ_SERIAL
	kz_i64 at = kz_lower(row_of, count, begin);
#endif
	KZ_FOR(i, begin, end) {
#ifdef KZ_SERIAL
		while (at < count && row_of[at] < i) {
			at++;
		}
#else
		const kz_i64 at = kz_lower(row_of, count, i);
#endif
		pointers[i] = (kz_index)at;
	}
}
#endif

/*
 * A stable radix sort takes one digit of the keys at a time.  A block has `per` entries, in their
 * order.  KZ_SERIAL: there are few blocks, and up to as many digits as keys, so that one pass may
 * do.  Else a block keeps its 256 digits in shared memory.
 */
#define KZ_DIGIT(key) ((kz_i64)((key) >> shift) & (digits - 1))

#ifdef KZ_COUNT
/* counts[digit * blocks + block], which begin as 0 */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_index *counts, const kz_index *keys, kz_i64 count,
	kz_i64 shift, kz_i64 digits, kz_i64 per)
{
	KZ_RANGE(count, per);
#ifdef KZ_SERIAL
	KZ_FOR(i, begin, end) {
		counts[KZ_DIGIT(keys[i]) * gridDim.x + blockIdx.x]++;
	}
#else
	__shared__ int found[KZ_DIGITS];
	KZ_FOR(d, 0, digits) {
		found[d] = 0;
	}
	__syncthreads();
	KZ_FOR(i, begin, end) {
		atomicAdd(found + KZ_DIGIT(keys[i]), 1);
	}
	__syncthreads();
	KZ_FOR(d, 0, digits) {
		counts[d * gridDim.x + blockIdx.x] = found[d];
	}
#endif
}
#endif

#ifdef KZ_PLACE
/* The entries in the order of this digit.  offsets[digit * blocks + block] is where the first
 * goes. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to_data, kz_index *to_keys,
	kz_index *to_others, kz_index *offsets, const kz_element *data, const kz_index *keys,
	const kz_index *others, kz_i64 count, kz_i64 shift, kz_i64 digits, kz_i64 per)
{
	KZ_RANGE(count, per);
#ifdef KZ_SERIAL
	KZ_FOR(i, begin, end) {
		const kz_i64 to = offsets[KZ_DIGIT(keys[i]) * gridDim.x + blockIdx.x]++;
		to_data[to] = data[i];
		to_keys[to] = keys[i];
		to_others[to] = others[i];
	}
#else
	/* 32 at a time: lanes of one digit go side by side, the lowest first. */
	__shared__ kz_i64 next[KZ_DIGITS];
	KZ_FOR(d, 0, digits) {
		next[d] = offsets[d * gridDim.x + blockIdx.x];
	}
	__syncthreads();
	for (kz_i64 base = begin; base < end; base += 32) {
		const kz_i64 i = base + threadIdx.x;
		const bool is_in = i < end;
		const int digit = is_in ? (int)KZ_DIGIT(keys[i]) : KZ_DIGITS;
		const unsigned same = __match_any_sync(~0u, digit);
		const int before = __popc(same & ((1u << threadIdx.x) - 1));
		if (is_in) {
			const kz_i64 to = next[digit] + before;
			to_data[to] = data[i];
			to_keys[to] = keys[i];
			to_others[to] = others[i];
		}
		__syncwarp();
		if (is_in && before == 0) {
			next[digit] += __popc(same);
		}
		__syncwarp();
	}
#endif
}
#endif

#ifdef KZ_HEADS
/* Whether a place has another row or column than the one before. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_i64 *heads, const kz_index *row_of,
	const kz_index *columns, kz_i64 count)
{
	KZ_CHUNK(count);
	KZ_FOR(i, begin, end) {
		heads[i] = i == 0 || row_of[i] != row_of[i - 1] || columns[i] != columns[i - 1];
	}
}
#endif

#ifdef KZ_MERGE
/* Places of one row and column become one; numbers[i] counts the heads up to place i. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to_data, kz_index *to_row_of,
	kz_index *to_columns, const kz_element *data, const kz_index *row_of,
	const kz_index *columns, const kz_i64 *numbers, kz_i64 count)
{
	KZ_CHUNK(count);
	KZ_FOR(i, begin, end) {
		const kz_i64 number = numbers[i];
		if (i == 0 || numbers[i - 1] != number) {
			kz_value sum = KZ_LOAD(data[i]);
			for (kz_i64 j = i + 1; j < count && numbers[j] == number; j++) {
				sum = sum + KZ_LOAD(data[j]);
			}
			to_data[number - 1] = KZ_STORE(sum);
			to_row_of[number - 1] = row_of[i];
			to_columns[number - 1] = columns[i];
		}
	}
}
#endif

/* What follows is of CSR matrices.  A block has `per` rows. */

#ifdef KZ_DENSE
/* Add values to a row-major array of zeros. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *data,
	const kz_index *columns, const kz_index *pointers, kz_i64 rows, kz_i64 width, kz_i64 per)
{
	KZ_RANGE(rows, per);
	KZ_FOR(row, begin, end) {
		kz_element *line = to + row * width;
		for (kz_i64 j = pointers[row]; j < pointers[row + 1]; j++) {
			line[columns[j]] = KZ_STORE(KZ_LOAD(line[columns[j]]) + KZ_LOAD(data[j]));
		}
	}
}
#endif

#ifdef KZ_DIAGONAL
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, const kz_element *data,
	const kz_index *columns, const kz_index *pointers, kz_i64 rows, kz_i64 width, kz_i64 per)
{
	KZ_RANGE(rows, per);
	KZ_FOR(row, begin, end) {
		kz_value sum = KZ_ZERO;
		for (kz_i64 j = pointers[row]; j < pointers[row + 1]; j++) {
			if (columns[j] == row) {
				sum = sum + KZ_LOAD(data[j]);
			}
		}
		to[row] = KZ_STORE(sum);
	}
}
#endif

#ifdef KZ_VECTOR
/*
 * y = a x.  A row has KZ_LANES sums, each of every KZ_LANES-th product, which become one by halves.
 * Lanes are threads, or elements of an array that is a vector.
 */
#ifdef KZ_SERIAL
static __device__ __forceinline__ kz_value kz_row(const kz_element *data, const kz_index *columns,
	const kz_element *x, kz_i64 begin, kz_i64 end)
{
	kz_value sums[KZ_LANES];
	kz_i64 j = begin;
#pragma unroll
	for (int k = 0; k < KZ_LANES; k++) {
		sums[k] = KZ_ZERO;
	}
	for (; j + KZ_LANES <= end; j += KZ_LANES) {
#pragma unroll
		for (int k = 0; k < KZ_LANES; k++) {
			sums[k] = KZ_MADD(sums[k], KZ_LOAD(data[j + k]),
				KZ_LOAD(x[columns[j + k]]));
		}
	}
#pragma unroll
	for (int k = 0; k < KZ_LANES - 1; k++) {
		if (j + k < end) {
			sums[k] = KZ_MADD(sums[k], KZ_LOAD(data[j + k]),
				KZ_LOAD(x[columns[j + k]]));
		}
	}
#pragma unroll
	for (int half = KZ_LANES / 2; half > 0; half /= 2) {
#pragma unroll
		for (int k = 0; k < half; k++) {
			sums[k] = sums[k] + sums[k + half];
		}
	}
	return sums[0];
}

extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *y, const kz_element *data,
	const kz_index *columns, const kz_index *pointers, const kz_element *x, kz_i64 rows,
	kz_i64 per)
{
	KZ_RANGE(rows, per);
	kz_i64 from = pointers[begin];
	for (kz_i64 row = begin; row < end; row++) {
		const kz_i64 to = pointers[row + 1];
		y[row] = KZ_STORE(kz_row(data, columns, x, from, to));
		from = to;
	}
}
#else
template <class T> static __device__ inline T kz_down(T value, int lanes)
{
	return __shfl_down_sync(~0u, value, lanes, KZ_LANES);
}
#ifdef KZ_IS_COMPLEX
template <class T> static __device__ inline kz_complex<T> kz_down(kz_complex<T> value, int lanes)
{
	return kz_make(kz_down(value.re, lanes), kz_down(value.im, lanes));
}
#endif

extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *y, const kz_element *data,
	const kz_index *columns, const kz_index *pointers, const kz_element *x, kz_i64 rows,
	kz_i64 per)
{
	const kz_i64 row = (kz_i64)blockIdx.x * per + threadIdx.x / KZ_LANES;
	const int lane = threadIdx.x % KZ_LANES;
	const kz_i64 end = row < rows ? pointers[row + 1] : 0;
	kz_value sum = KZ_ZERO;
	for (kz_i64 j = row < rows ? pointers[row] + lane : 0; j < end; j += KZ_LANES) {
		sum = KZ_MADD(sum, KZ_LOAD(data[j]), KZ_LOAD(x[columns[j]]));
	}
#pragma unroll
	for (int half = KZ_LANES / 2; half > 0; half /= 2) {
		sum = sum + kz_down(sum, half);
	}
	if (row < rows && lane == 0) {
		y[row] = KZ_STORE(sum);
	}
}
#endif
#endif

#ifdef KZ_MATRIX
/* y = a x for row-major x and y of `width` columns.  Products are added in the order of the row. */
#ifdef KZ_SERIAL
template <int count> static __device__ __forceinline__ void kz_tile(kz_element *y,
	const kz_element *data,
	const kz_index *columns, const kz_element *x, kz_i64 begin, kz_i64 end, kz_i64 width)
{
	kz_value sums[count];
#pragma unroll
	for (int k = 0; k < count; k++) {
		sums[k] = KZ_ZERO;
	}
	for (kz_i64 j = begin; j < end; j++) {
		const kz_element *from = x + columns[j] * width;
		const kz_value value = KZ_LOAD(data[j]);
#pragma unroll
		for (int k = 0; k < count; k++) {
			sums[k] = KZ_MADD(sums[k], value, KZ_LOAD(from[k]));
		}
	}
#pragma unroll
	for (int k = 0; k < count; k++) {
		y[k] = KZ_STORE(sums[k]);
	}
}

extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *y, const kz_element *data,
	const kz_index *columns, const kz_index *pointers, const kz_element *x, kz_i64 rows,
	kz_i64 width, kz_i64 per)
{
	KZ_RANGE(rows, per);
	for (kz_i64 row = begin; row < end; row++) {
		const kz_i64 from = pointers[row], to = pointers[row + 1];
		kz_element *line = y + row * width;
		kz_i64 k = 0;
		for (; k + 16 <= width; k += 16) {
			kz_tile<16>(line + k, data, columns, x + k, from, to, width);
		}
		for (; k + 4 <= width; k += 4) {
			kz_tile<4>(line + k, data, columns, x + k, from, to, width);
		}
		for (; k < width; k++) {
			kz_tile<1>(line + k, data, columns, x + k, from, to, width);
		}
	}
}
#else
/* Threads of x are columns, those of y rows. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *y, const kz_element *data,
	const kz_index *columns, const kz_index *pointers, const kz_element *x, kz_i64 rows,
	kz_i64 width, kz_i64 per)
{
	const kz_i64 row = (kz_i64)blockIdx.x * per + threadIdx.y,
		step = (kz_i64)gridDim.y * blockDim.x;
	if (row >= rows) {
		return;
	}
	const kz_i64 begin = pointers[row], end = pointers[row + 1];
	for (kz_i64 k = (kz_i64)blockIdx.y * blockDim.x + threadIdx.x; k < width; k += step) {
		kz_value sum = KZ_ZERO;
		for (kz_i64 j = begin; j < end; j++) {
			sum = KZ_MADD(sum, KZ_LOAD(data[j]), KZ_LOAD(x[columns[j] * width + k]));
		}
		y[row * width + k] = KZ_STORE(sum);
	}
}
#endif
#endif

/*
 * y = op(a) x on a serial device, without op(a).  A block has `per` entries, and a y of its own in
 * `parts`, which begins as 0: size kz_values.  They are added up afterwards, in the order of the
 * blocks.
 */
#if defined(KZ_SCATTER) || defined(KZ_SCATTER_ROWS)
static __device__ __forceinline__ void kz_scatter(kz_value *y, kz_value value, const kz_element *x,
	kz_i64 width)
{
	for (kz_i64 k = 0; k < width; k++) {
		y[k] = KZ_MADD(y[k], value, KZ_LOAD(x[k]));
	}
}
#endif

#ifdef KZ_SCATTER
/* Entries of COO: the product of place `sources` of x is added to place `targets` of y. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_value *parts, const kz_element *data,
	const kz_index *targets, const kz_index *sources, const kz_element *x, kz_i64 count,
	kz_i64 size, kz_i64 width, kz_i64 per)
{
	KZ_RANGE(count, per);
	kz_value *y = parts + blockIdx.x * size;
	if (width == 1) {
		KZ_FOR(i, begin, end) {
			kz_scatter(y + targets[i], KZ_LOAD(data[i]), x + sources[i], 1);
		}
		return;
	}
	KZ_FOR(i, begin, end) {
		kz_scatter(y + targets[i] * width, KZ_LOAD(data[i]), x + sources[i] * width, width);
	}
}
#endif

#ifdef KZ_SCATTER_ROWS
/* Entries of CSR, transposed: columns are the targets, and rows the sources. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_value *parts, const kz_element *data,
	const kz_index *columns, const kz_index *pointers, const kz_element *x, kz_i64 rows,
	kz_i64 count, kz_i64 size, kz_i64 width, kz_i64 per)
{
	KZ_RANGE(count, per);
	kz_value *y = parts + blockIdx.x * size;
	kz_i64 row = kz_lower(pointers, rows + 1, begin + 1) - 1;
	for (kz_i64 i = begin; i < end; row++) {
		const kz_i64 last = pointers[row + 1] < end ? pointers[row + 1] : end;
		if (width == 1) {
			const kz_value from = KZ_LOAD(x[row]);
			for (; i < last; i++) {
				y[columns[i]] = KZ_MADD(y[columns[i]], KZ_LOAD(data[i]), from);
			}
		}
		for (; i < last; i++) {
			kz_scatter(y + columns[i] * width, KZ_LOAD(data[i]), x + row * width,
				width);
		}
	}
}
#endif

#ifdef KZ_PARTS
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *y, const kz_value *parts, kz_i64 size,
	kz_i64 blocks)
{
	KZ_CHUNK(size);
	KZ_FOR(i, begin, end) {
		kz_value sum = parts[i];
		for (kz_i64 k = 1; k < blocks; k++) {
			sum = sum + parts[k * size + i];
		}
		y[i] = KZ_STORE(sum);
	}
}
#endif
#endif
