/* SPDX-License-Identifier: MIT */
/*
 * More kernels of src/lib/order/sort.c, after sort.cuh, for KZ_SERIAL and keys of one part of 4 or
 * 8 bytes: a sort of long rows whose passes stay in the cache.  A sample says how keys are
 * distributed.  Its piecewise linear distribution function makes a bucket of a key, so that buckets
 * are about as large as each other.  The keys are moved to their buckets, in order, and a thread
 * sorts each bucket.
 *
 * Zeros have a bucket of their own, and so have NaN: they are in order as they come.  All other
 * keys become their ranks (kz_rank) on the way to their buckets, which are sorted as unsigned
 * numbers, and become keys again at the end.
 *
 * The move collects a line of the cache for each bucket, and stores whole lines past the cache.  A
 * bucket is sorted by the highest bits in which its ranks differ, two digits of them, and then by
 * insertion.  Where that takes too many steps it is sorted by all digits.
 */
#define WIDE_TILE 262144    /* keys of a thread */
#define CELLS 4096
#define BUCKETS_MOST 2048
#define OWN_BUCKETS 4       /* as many more, for zeros, NaN, and what lies between */

#ifdef __CUDACC_RTC__
#define SAMPLE 8192
#define CELL_BITS 16        /* of a key within its cell */
#define CHUNK 512
#define LINE 64             /* bytes of the cache's */
#define SCRATCH_SIZE 393216 /* bytes for a bucket while it is sorted */
#define DIGIT_BITS 11

/* The distribution of a row.  A key's distance from the lowest one, shifted, is its cell and
 * CELL_BITS of its place in there.  A cell has the number of its first bucket in the upper half,
 * and how many there are before the next cell's first one. */
struct kz_table {
	kz_bits low, high;
	int right, left;
	unsigned cells[CELLS];
};

static __device__ inline unsigned kz_bucket(const kz_table &table, kz_bits number)
{
	const kz_bits at = (number < table.low ? table.low : number > table.high ? table.high
		: number)
		- table.low;
	const unsigned place = (unsigned)(at >> table.right) << table.left;
	const unsigned cell = table.cells[place >> CELL_BITS];
	return (cell >> 16) + ((place & ((1u << CELL_BITS) - 1)) * (cell & 0xffff) >> CELL_BITS);
}

/* Bucket numbers with a gap for each of two numbers. */
struct kz_own {
	kz_bits zero, nan;
	__device__ kz_own(const kz_ordering &order) : zero(order.flip),
		nan((kz_bits)((order.infinity + 1) ^ order.flip)) {}
};

static __device__ inline unsigned kz_bucket_of(const kz_table &table, kz_bits number,
	const kz_own &own)
{
	return kz_bucket(table, number) + (number >= own.zero) + (number > own.zero)
		+ (number >= own.nan) + (number > own.nan);
}

#define KZ_WIDE_TILE \
	const kz_i64 row = blockIdx.x / rows.tiles, tile = blockIdx.x % rows.tiles; \
	const kz_i64 begin = tile * WIDE_TILE, \
		end = begin + WIDE_TILE < rows.n ? begin + WIDE_TILE : rows.n

extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, kz_table *tables, int buckets)
{
	kz_bits sample[SAMPLE];
	unsigned counts[CELLS];
	const kz_key *keys = rows.keys[0] + blockIdx.x * rows.n;
	const kz_ordering order = rows.order;
	kz_table &table = tables[blockIdx.x];
	kz_bits low = (kz_bits)~(kz_bits)0, high = 0;
	KZ_NO_UNROLL for (int i = 0; i < SAMPLE; i++) {
		const kz_bits number = kz_order(keys[rows.n / SAMPLE * i].part[0], order);
		sample[i] = number;
		low = number < low ? number : low;
		high = number > high ? number : high;
	}
	int shift = 0;
	while ((kz_bits)(high - low) >> shift >= CELLS) {
		shift++;
	}
	KZ_NO_UNROLL for (int i = 0; i < CELLS; i++) {
		counts[i] = 0;
	}
	KZ_NO_UNROLL for (int i = 0; i < SAMPLE; i++) {
		counts[(kz_bits)(sample[i] - low) >> shift]++;
	}
	table.low = low;
	table.high = high;
	table.right = shift > CELL_BITS ? shift - CELL_BITS : 0;
	table.left = shift < CELL_BITS ? CELL_BITS - shift : 0;
	unsigned sum = 0, first = 0;
	KZ_NO_UNROLL for (int i = 0; i < CELLS; i++) {
		sum += counts[i];
		const unsigned next = (unsigned)((unsigned long long)sum * (buckets - 1) / SAMPLE);
		table.cells[i] = first << 16 | (next - first);
		first = next;
	}
}

/* counts(row, bucket, tile), and the number of each key's bucket */
extern "C" __global__ void KZ_BOUNDS kz_count_buckets(const kz_rows rows, const kz_table *tables,
	kz_i64 *counts, unsigned short *numbers, int buckets)
{
	KZ_WIDE_TILE;
	unsigned local[BUCKETS_MOST + OWN_BUCKETS];
	unsigned short chunk[CHUNK];
	const kz_ordering order = rows.order;
	const kz_own own = order;
	const kz_table &table = tables[row];
	KZ_NO_UNROLL for (int b = 0; b < buckets + OWN_BUCKETS; b++) {
		local[b] = 0;
	}
	for (kz_i64 at = begin; at < end; at += CHUNK) {
		const kz_key *keys = rows.keys[0] + row * rows.n + at;
		unsigned short *to = numbers + row * rows.n + at;
		const int n = end - at < CHUNK ? (int)(end - at) : CHUNK;
		for (int i = 0; i < n; i++) { /* by vectors */
			chunk[i] = (unsigned short)kz_bucket_of(table,
				kz_order(keys[i].part[0], order), own);
		}
		_Pragma("unroll 4") for (int i = 0; i < n; i++) {
			local[chunk[i]]++;
		}
		for (int i = 0; i < n; i++) {
			to[i] = chunk[i];
		}
	}
	KZ_NO_UNROLL for (int b = 0; b < buckets + OWN_BUCKETS; b++) {
		counts[(row * (buckets + OWN_BUCKETS) + b) * rows.tiles + tile] = local[b];
	}
}

/* Elements on their way to places that follow each other in each bucket, a line of each. */
template<class T> struct kz_lines {
	enum { COUNT = LINE / sizeof(T) };
	__align__(16) T lines[BUCKETS_MOST + OWN_BUCKETS][COUNT];
	T *to;
	unsigned skew; /* of the first element within its line */

	__device__ void begin(T *array)
	{
		to = array;
		skew = (unsigned)((size_t)array / sizeof(T)) % COUNT;
	}

	/* Store those of a line that lie at places from `first` to before `end`. */
	__device__ void store(unsigned bucket, kz_i64 first, kz_i64 end)
	{
		const T *line = lines[bucket];
		for (kz_i64 i = first; i < end; i++) {
			to[i] = line[(unsigned)(i + skew) % COUNT];
		}
	}

	/* `first`: the bucket's first place of this tile. */
	__device__ void put(unsigned bucket, kz_i64 place, const kz_i64 *first, const T &value)
	{
		const unsigned at = (unsigned)(place + skew) % COUNT;
		lines[bucket][at] = value;
		if (at == COUNT - 1) {
			const kz_i64 start = place - (COUNT - 1);
			if (start >= *first) {
				const uint4 *from = (const uint4 *)lines[bucket];
				uint4 *line = (uint4 *)(to + start);
				_Pragma("unroll") for (int i = 0; i < LINE / 16; i++) {
					__stcs(line + i, from[i]);
				}
			} else {
				store(bucket, *first, place + 1);
			}
		}
	}

	/* Store what is left. */
	__device__ void finish(unsigned bucket, kz_i64 first, kz_i64 end)
	{
		const kz_i64 start = end - (unsigned)(end + skew) % COUNT;
		store(bucket, start < first ? first : start, end);
	}
};

/* `places` are the running sums of the counts within a row; keys go to buffer 2. */
extern "C" __global__ void KZ_BOUNDS kz_move_buckets(const kz_rows rows, const kz_table *tables,
	const kz_i64 *places, const unsigned short *numbers, int buckets)
{
	KZ_WIDE_TILE;
	kz_i64 local[BUCKETS_MOST + OWN_BUCKETS];
	kz_lines<kz_bits> keys;
	const kz_ordering order = rows.order;
	const kz_place from = kz_find(rows, row, 0), to = kz_find(rows, row, 2);
	const kz_i64 *first = places + row * (buckets + OWN_BUCKETS) * rows.tiles + tile;
	keys.begin((kz_bits *)to.keys);
#if KZ_PAYLOAD
	kz_lines<kz_value> values;
	values.begin(to.values);
#endif
	KZ_NO_UNROLL for (int b = 0; b < buckets + OWN_BUCKETS; b++) {
		local[b] = first[b * rows.tiles];
	}
	numbers += row * rows.n;
	for (kz_i64 i = begin; i < end; i++) {
		const unsigned bucket = numbers[i];
		const kz_i64 place = local[bucket]++;
		keys.put(bucket, place, first + bucket * rows.tiles,
			kz_rank(from.keys[i].part[0], order));
#if KZ_PAYLOAD
		values.put(bucket, place, first + bucket * rows.tiles, kz_load(from, i, 0));
#endif
	}
	KZ_NO_UNROLL for (int b = 0; b < buckets + OWN_BUCKETS; b++) {
		keys.finish(b, first[b * rows.tiles], local[b]);
#if KZ_PAYLOAD
		values.finish(b, first[b * rows.tiles], local[b]);
#endif
	}
}

/* Ranks, and their payload. */
struct kz_ranks {
	kz_bits *ranks;
	kz_value *values;
};

static __device__ inline void kz_put(const kz_ranks &to, kz_i64 i, const kz_ranks &from, kz_i64 k)
{
	to.ranks[i] = from.ranks[k];
	if (KZ_PAYLOAD) {
		to.values[i] = from.values[k];
	}
}

#define DIGIT_COUNT (1 << DIGIT_BITS)

/* Counts become places: each has the sum of those before it. */
static __device__ inline void kz_sum_counts(unsigned *counts, unsigned mask)
{
	unsigned sum = 0;
	KZ_NO_UNROLL for (unsigned d = 0; d <= mask; d++) {
		const unsigned count = counts[d];
		counts[d] = sum;
		sum += count;
	}
}

/* Move ranks to the places of their digits. */
static __device__ inline void kz_move_ranks(const kz_ranks &to, const kz_ranks &from, kz_i64 n,
	unsigned *places, int shift, unsigned mask)
{
	_Pragma("unroll 4") for (kz_i64 i = 0; i < n; i++) {
		kz_put(to, places[(unsigned)(from.ranks[i] >> shift) & mask]++, from, i);
	}
}

/* Sort by the bits from `low` to before `top`, above which all are the same: two digits of `width`
 * bits are counted at a time, by which the ranks move to one of the others and to the other. */
static __device__ inline void kz_sort_bits(kz_ranks *at, const kz_ranks (&others)[2], kz_i64 n,
	int low, int top, int width)
{
	unsigned counts[2][DIGIT_COUNT];
	const unsigned mask = (1u << width) - 1;
	for (int shift = low; shift < top; shift += 2 * width) {
		const bool both = shift + width < top;
		const int second = both ? shift + width : shift;
		KZ_NO_UNROLL for (unsigned d = 0; d <= mask; d++) {
			counts[0][d] = counts[1][d] = 0;
		}
		_Pragma("unroll 4") for (kz_i64 i = 0; i < n; i++) {
			const kz_bits rank = at->ranks[i];
			counts[0][(unsigned)(rank >> shift) & mask]++;
			counts[1][(unsigned)(rank >> second) & mask]++;
		}
		kz_sum_counts(counts[0], mask);
		kz_move_ranks(others[0], *at, n, counts[0], shift, mask);
		*at = others[0];
		if (both) {
			kz_sum_counts(counts[1], mask);
			kz_move_ranks(others[1], *at, n, counts[1], second, mask);
			*at = others[1];
		}
	}
}

/* Sort what is nearly sorted; false: it takes too many steps, and some are done. */
static __device__ inline bool kz_insert(const kz_ranks &at, kz_i64 n)
{
	kz_i64 steps = 0;
	kz_bits last = at.ranks[0];
	for (kz_i64 i = 1; i < n; i++) {
		const kz_bits rank = at.ranks[i];
		if (rank >= last) {
			last = rank;
			continue;
		}
		const kz_value value = KZ_PAYLOAD ? at.values[i] : kz_value();
		kz_i64 k = i;
		for (; k > 0 && at.ranks[k - 1] > rank; k--) {
			kz_put(at, k, at, k - 1);
		}
		at.ranks[k] = rank;
		if (KZ_PAYLOAD) {
			at.values[k] = value;
		}
		steps += i - k;
		if (steps > 16 * n) {
			return false;
		}
	}
	return true;
}

/* Sort n ranks; where they are then. */
static __device__ inline void kz_sort_ranks(kz_ranks *at, const kz_ranks (&others)[2], kz_i64 n)
{
	kz_bits differ = 0;
	const kz_bits first = at->ranks[0];
	for (kz_i64 i = 1; i < n; i++) {
		differ |= at->ranks[i] ^ first;
	}
	const int top = 64 - __clzll((unsigned long long)differ);
	if (top == 0) {
		return;
	}
	int most = 62 - __clzll((unsigned long long)n); /* enough that few ranks have the same
	                                                   digits */
	most = most > DIGIT_BITS ? DIGIT_BITS : most;
	const int digits = top > most ? 2 : 1;
	const int width = top > 2 * most ? most : (top + digits - 1) / digits;
	const int low = top > digits * width ? top - digits * width : 0;
	if (n > 32) {
		kz_sort_bits(at, others, n, low, top, width);
	}
	if ((low || n <= 32) && !kz_insert(*at, n)) {
		const kz_ranks again[2] = {others[at->ranks == others[0].ranks],
			others[at->ranks != others[0].ranks]};
		kz_sort_bits(at, again, n, 0, top, DIGIT_BITS);
	}
}

/* Give keys and payload of a bucket to the caller: to `begin` of a row. */
static __device__ inline void kz_give_bucket(const kz_rows &rows, kz_i64 row, kz_i64 begin,
	kz_i64 n, const kz_ranks &from)
{
	const kz_ordering order = rows.order;
	const kz_place to = kz_find(rows, row, 1);
	if (rows.keep_keys) {
		kz_bits *keys = (kz_bits *)to.keys + begin;
		for (kz_i64 i = 0; i < n; i++) {
			keys[i] = kz_rank_back(from.ranks[i], order);
		}
	}
#if KZ_PAYLOAD == 1
	kz_i64 *indexes = rows.indexes + row * rows.n + begin;
	for (kz_i64 i = 0; i < n; i++) {
		indexes[i] = (kz_i64)from.values[i];
	}
#elif KZ_PAYLOAD == 2
	for (kz_i64 i = 0; i < n; i++) {
		to.values[begin + i] = from.values[i];
	}
#endif
}

extern "C" __global__ void KZ_BOUNDS kz_sort_buckets(const kz_rows rows, const kz_table *tables,
	const kz_i64 *places, int buckets)
{
	enum { ROOM = SCRATCH_SIZE / 2 / (sizeof(kz_key) + (KZ_PAYLOAD ? sizeof(kz_value) : 0)) };
	kz_bits ranks[2][ROOM];
	kz_value values[2][KZ_PAYLOAD ? ROOM : 1];
	const int count = buckets + OWN_BUCKETS;
	const kz_i64 row = blockIdx.x / count, bucket = blockIdx.x % count;
	const kz_i64 *all = places + row * count * rows.tiles;
	const kz_i64 begin = all[bucket * rows.tiles];
	const kz_i64 end = bucket + 1 < count ? all[(bucket + 1) * rows.tiles] : rows.n;
	const kz_i64 n = end - begin;
	if (n == 0) {
		return;
	}
	kz_ranks in[3];
	for (int i = 1; i < 3; i++) {
		const kz_place place = kz_find(rows, row, i);
		in[i].ranks = (kz_bits *)place.keys + begin;
		in[i].values = place.values + (KZ_PAYLOAD ? begin : 0);
	}
	const bool fits = n <= ROOM;
	const kz_ranks others[2] = {fits ? kz_ranks{ranks[0], values[0]} : in[1],
		fits ? kz_ranks{ranks[1], values[1]} : in[2]};
	kz_ranks at = in[2];
	const kz_own own = kz_ordering(rows.order);
	if (bucket != kz_bucket_of(tables[row], own.zero, own)
	    && bucket != kz_bucket_of(tables[row], own.nan, own)) {
		kz_sort_ranks(&at, others, n);
	}
	kz_give_bucket(rows, row, begin, n, at);
}
#endif
