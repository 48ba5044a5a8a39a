/* SPDX-License-Identifier: MIT */
/*
 * More kernels of src/math/sort.c, behind sort.cuh, for KZ_SERIAL and keys of one part: a sort of long rows
 * whose passes stay in the cache.  A sample says how keys are distributed.  Its piecewise linear
 * distribution function makes a bucket of a key, so that buckets are about as large as each other.  The
 * keys are moved to their buckets, in order, and a thread sorts each bucket.
 *
 * A bucket is sorted by the highest bits in which its keys differ, three digits of them, and then by
 * insertion.  Where that takes too many steps it is sorted by all digits.
 */
#define CELLS 4096
#define SAMPLE 8192
#define BUCKETS_MOST 2048
#define CELL_BITS 16 /* of a key within its cell */

/* The distribution of a row: lowest key, its shift to a cell, and the bucket where each cell begins. */
struct kz_table {
	kz_bits low, high;
	int shift;
	unsigned first[CELLS + 1];
};

static __device__ inline unsigned kz_bucket(const kz_table &table, kz_bits bits)
{
	const kz_bits at = (kz_bits)((bits < table.low ? table.low : bits > table.high ? table.high : bits)
		- table.low);
	const unsigned cell = (unsigned)(at >> table.shift), first = table.first[cell];
	const kz_bits rest = (kz_bits)(at & (kz_bits)(((kz_bits)1 << table.shift) - 1));
	const unsigned part = table.shift > CELL_BITS ? (unsigned)(rest >> (table.shift - CELL_BITS))
		: (unsigned)(rest << (CELL_BITS - table.shift));
	return first + (part * (table.first[cell + 1] - first) >> CELL_BITS);
}

#define KZ_WIDE_TILE \
	const kz_i64 row = blockIdx.x / rows.tiles, tile = blockIdx.x % rows.tiles; \
	const kz_i64 begin = tile * WIDE_TILE, \
		end = begin + WIDE_TILE < rows.n ? begin + WIDE_TILE : rows.n

#ifdef KZ_SAMPLE
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, kz_table *tables, int buckets)
{
	kz_bits sample[SAMPLE];
	unsigned counts[CELLS];
	const kz_key *keys = rows.keys[0] + blockIdx.x * rows.n;
	kz_table &table = tables[blockIdx.x];
	kz_bits low = (kz_bits)~(kz_bits)0, high = 0;
	for (int i = 0; i < SAMPLE; i++) {
		const kz_bits bits = kz_order(keys[rows.n / SAMPLE * i].part[0], (kz_bits)rows.flip);
		sample[i] = bits;
		low = bits < low ? bits : low;
		high = bits > high ? bits : high;
	}
	int shift = 0;
	while ((kz_bits)(high - low) >> shift >= CELLS) {
		shift++;
	}
	for (int i = 0; i < CELLS; i++) {
		counts[i] = 0;
	}
	for (int i = 0; i < SAMPLE; i++) {
		counts[(kz_bits)(sample[i] - low) >> shift]++;
	}
	table.low = low;
	table.high = high;
	table.shift = shift;
	unsigned sum = 0;
	for (int i = 0; i <= CELLS; i++) {
		table.first[i] = (unsigned)((unsigned long long)sum * (buckets - 1) / SAMPLE);
		sum += i < CELLS ? counts[i] : 0;
	}
}
#endif

#ifdef KZ_BUCKET_COUNT
/* counts(row, bucket, tile) */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, const kz_table *tables,
	kz_i64 *counts, int buckets)
{
	KZ_WIDE_TILE;
	unsigned local[BUCKETS_MOST];
	const kz_key *keys = rows.keys[0] + row * rows.n;
	const kz_table &table = tables[row];
	for (int b = 0; b < buckets; b++) {
		local[b] = 0;
	}
	for (kz_i64 i = begin; i < end; i++) {
		local[kz_bucket(table, kz_order(keys[i].part[0], (kz_bits)rows.flip))]++;
	}
	for (int b = 0; b < buckets; b++) {
		counts[(row * buckets + b) * rows.tiles + tile] = local[b];
	}
}
#endif

#ifdef KZ_BUCKET_MOVE
/* `places` are the running sums of the counts within a row; keys go to buffer 2. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, const kz_table *tables,
	const kz_i64 *places, int buckets)
{
	KZ_WIDE_TILE;
	kz_i64 local[BUCKETS_MOST];
	const kz_place from = kz_find(rows, row, 0), to = kz_find(rows, row, 2);
	const kz_table &table = tables[row];
	for (int b = 0; b < buckets; b++) {
		local[b] = places[(row * buckets + b) * rows.tiles + tile];
	}
	for (kz_i64 i = begin; i < end; i++) {
		const kz_key key = from.keys[i];
		const unsigned bucket = kz_bucket(table, kz_order(key.part[0], (kz_bits)rows.flip));
		kz_store(to, local[bucket]++, key, kz_load(from, i, 0));
	}
}
#endif

#ifdef KZ_BUCKET_SORT
/* Sort by the digit at `shift`, from one buffer to the other; false: all keys have the same one. */
static __device__ inline bool kz_sort_digit(const kz_place &to, const kz_place &from, kz_i64 n,
	int shift, kz_bits flip)
{
	unsigned counts[DIGITS];
	for (int d = 0; d < DIGITS; d++) {
		counts[d] = 0;
	}
	for (kz_i64 i = 0; i < n; i++) {
		counts[(unsigned)(kz_order(from.keys[i].part[0], flip) >> shift) & (DIGITS - 1)]++;
	}
	if (counts[(unsigned)(kz_order(from.keys[0].part[0], flip) >> shift) & (DIGITS - 1)] == n) {
		return false;
	}
	unsigned sum = 0;
	for (int d = 0; d < DIGITS; d++) {
		const unsigned count = counts[d];
		counts[d] = sum;
		sum += count;
	}
	for (kz_i64 i = 0; i < n; i++) {
		const kz_key key = from.keys[i];
		kz_store(to, counts[(unsigned)(kz_order(key.part[0], flip) >> shift) & (DIGITS - 1)]++, key,
			kz_load(from, i, 2));
	}
	return true;
}

/* Sort what is nearly sorted; false: it takes too many steps, and some are done. */
static __device__ inline bool kz_insert(const kz_place &at, kz_i64 n, kz_bits flip)
{
	kz_i64 steps = 0;
	kz_bits last = kz_order(at.keys[0].part[0], flip);
	for (kz_i64 i = 1; i < n; i++) {
		const kz_key key = at.keys[i];
		const kz_bits bits = kz_order(key.part[0], flip);
		if (bits >= last) {
			last = bits;
			continue;
		}
		const kz_value value = kz_load(at, i, 2);
		kz_i64 k = i;
		for (; k > 0 && kz_order(at.keys[k - 1].part[0], flip) > bits; k--) {
			kz_store(at, k, at.keys[k - 1], kz_load(at, k - 1, 2));
		}
		kz_store(at, k, key, value);
		steps += i - k;
		if (steps > 4 * n) {
			return false;
		}
	}
	return true;
}

/* Sort a bucket, which is in buffer 2; the buffer where it is then. */
static __device__ inline int kz_sort_bucket(const kz_place (&buffers)[3], kz_i64 n, kz_bits flip)
{
	kz_bits differ = 0;
	int state = 2;
	const kz_bits first = kz_order(buffers[2].keys[0].part[0], flip);
	for (kz_i64 i = 1; i < n; i++) {
		differ |= (kz_bits)(kz_order(buffers[2].keys[i].part[0], flip) ^ first);
	}
	if (!differ) {
		return state;
	}
	const int top = 64 - __clzll((unsigned long long)differ);
	const int low = top > 24 ? top - 24 : 0;
	if (n > 32) {
		for (int shift = low; shift < top; shift += 8) {
			state = kz_sort_digit(buffers[3 - state], buffers[state], n, shift, flip) ? 3 - state
				: state;
		}
	}
	if ((low || n <= 32) && !kz_insert(buffers[state], n, flip)) {
		for (int shift = 0; shift < top; shift += 8) {
			state = kz_sort_digit(buffers[3 - state], buffers[state], n, shift, flip) ? 3 - state
				: state;
		}
	}
	return state;
}

extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, const kz_i64 *places, int buckets)
{
	const kz_i64 row = blockIdx.x / buckets, bucket = blockIdx.x % buckets;
	const kz_i64 *all = places + row * buckets * rows.tiles;
	const kz_i64 begin = all[bucket * rows.tiles];
	const kz_i64 end = bucket + 1 < buckets ? all[(bucket + 1) * rows.tiles] : rows.n;
	if (begin == end) {
		return;
	}
	kz_place buffers[3];
	for (int i = 0; i < 3; i++) {
		buffers[i] = kz_find(rows, row, i);
		buffers[i].keys += begin;
		buffers[i].values += KZ_PAYLOAD ? begin : 0;
	}
	kz_give(rows, row, begin, end, kz_sort_bucket(buffers, end - begin, (kz_bits)rows.flip));
}
#endif
