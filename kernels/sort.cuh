/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/order/sort.c: a stable radix sort of rows of n keys without gaps, from the
 * digit of the lowest 8 bits up (LSD).  A key stays as it is in memory; kz_digit makes of it, in
 * each pass, a digit in the wanted order.  A pass in which all keys have one digit moves nothing.
 *
 * The keys begin in buffer 0, the caller's, and go to and fro between buffers 1 and 2, and end in
 * buffer 1.
 *
 * This text has what all sorts share, and the kernels for KZ_SERIAL, where a tile is the work of
 * one thread, which goes through its keys in order: a pass counts the digits of each tile, the
 * host's scan makes places of the counts, and the pass moves the keys of each tile to their places.
 * `states` says for each row and pass where the keys are.  sort_sweep.cuh, which follows, has the
 * kernels for devices that run many threads at once; KZ_BUCKETS: sort_buckets.cuh follows.
 *
 * Before this text: key_order.cuh; KZ_PAYLOAD, 0 none, 1 indexes, 2 values; kz_value, the
 * payload's type.
 */
#define DIGITS 256
struct kz_rows {
	KZ_POINTER(kz_key) keys[3];
	KZ_POINTER(kz_value) values[3]; /* values[0] is there for KZ_PAYLOAD 2 only */
	KZ_POINTER(kz_i64) indexes;     /* the result for KZ_PAYLOAD 1 */
	kz_i64 n, tiles, rows;
	struct kz_order_of order;
	int first;            /* the buffer that the first pass fills, 1 or 2 */
	int keep_keys;        /* the keys are wanted */
};

#ifdef __CUDACC_RTC__
/* NVRTC unrolls what runs 256 times, and takes as long. */
#define KZ_NO_UNROLL _Pragma("unroll 1")
#define PART_PASSES ((int)sizeof(kz_bits))
#define KZ_PASSES (KZ_PARTS * PART_PASSES + KZ_PARTS - 1)

/* Where a row is: its keys, its payload. */
struct kz_place {
	kz_key *keys;
	kz_value *values;
};

static __device__ inline kz_place kz_find(const kz_rows &rows, kz_i64 row, int state)
{
	kz_key *keys = state == 0 ? rows.keys[0] : state == 1 ? rows.keys[1] : rows.keys[2];
	kz_value *values = state == 0 ? rows.values[0] : state == 1 ? rows.values[1]
		: rows.values[2];
	return kz_place{keys + row * rows.n, KZ_PAYLOAD ? values + row * rows.n : values};
}

#if KZ_PARTS == 1
static __device__ inline unsigned kz_digit(const kz_key &key, int pass,
	const kz_ordering &order)
{
	return (unsigned)(kz_order(key.part[0], order) >> (8 * pass)) & (DIGITS - 1);
}
#else
/* The imaginary part, the real part, and then which of them is NaN: numpy's order. */
static __device__ inline unsigned kz_digit(const kz_key &key, int pass,
	const kz_ordering &order)
{
	if (pass == 2 * PART_PASSES) {
		const unsigned nan = 2 * kz_is_nan(key.part[0], order) + kz_is_nan(key.part[1],
			order);
		return nan ^ ((unsigned)order.flip & 3);
	}
	const kz_bits bits = pass < PART_PASSES ? key.part[1] : key.part[0];
	return (unsigned)(kz_order(bits, order) >> (8 * (pass % PART_PASSES))) & (DIGITS - 1);
}
#endif

/* The payload of key i of a row. */
static __device__ inline kz_value kz_load(const kz_place &from, kz_i64 i, int state)
{
#if KZ_PAYLOAD == 1
	return state ? from.values[i] : (kz_value)i;
#elif KZ_PAYLOAD == 2
	return from.values[i];
#else
	return kz_value();
#endif
}

static __device__ inline void kz_store(const kz_place &to, kz_i64 i, const kz_key &key,
	const kz_value &value)
{
	to.keys[i] = key;
	if (KZ_PAYLOAD) {
		to.values[i] = value;
	}
}

#define KZ_BOUNDS __launch_bounds__(KZ_THREADS)
#ifdef KZ_SERIAL
#define KZ_EACH_DIGIT(d) KZ_NO_UNROLL for (int d = 0; d < DIGITS; d++)

/* What a pass does to a row. */
struct kz_step {
	kz_place from, to;
	int state, pass;      /* state: the buffer of `from` */
	kz_ordering order;
};

/* The buffer that a pass fills. */
static __device__ inline int kz_next(int state, int first)
{
	return state == 0 ? first : 3 - state;
}

/* Add the digits of keys `begin` to `end` up. */
static __device__ inline void kz_count(unsigned *counts, const kz_key *keys, kz_i64 begin,
	kz_i64 end, int pass,
	const kz_ordering &order)
{
	_Pragma("unroll 4") for (kz_i64 i = begin; i < end; i++) {
		counts[kz_digit(keys[i], pass, order)]++;
	}
}

/* Counts become places: each has the sum of those before it. */
static __device__ inline void kz_sum(kz_i64 *places, const unsigned *counts)
{
	kz_i64 sum = 0;
	KZ_EACH_DIGIT(d) {
		places[d] = sum;
		sum += counts[d];
	}
}

/* Move the keys of a tile to the places of their digits, and these on. */
static __device__ inline void kz_move(kz_i64 *places, const kz_step &step, kz_i64 begin, kz_i64 end)
{
	_Pragma("unroll 4") for (kz_i64 i = begin; i < end; i++) {
		const kz_key key = step.from.keys[i];
		kz_store(step.to, places[kz_digit(key, step.pass, step.order)]++, key,
			kz_load(step.from, i, step.state));
	}
}

/* Bring keys `begin` to `end` of a row, and their payload, to where the caller wants them. */
static __device__ inline void kz_give(const kz_rows &rows, kz_i64 row, kz_i64 begin, kz_i64 end,
	int state)
{
	const kz_place from = kz_find(rows, row, state), to = kz_find(rows, row, 1);
	if (rows.keep_keys && state != 1) {
		for (kz_i64 i = begin; i < end; i++) {
			to.keys[i] = from.keys[i];
		}
	}
#if KZ_PAYLOAD == 1
	for (kz_i64 i = begin; i < end; i++) {
		rows.indexes[row * rows.n + i] = (kz_i64)kz_load(from, i, state);
	}
#elif KZ_PAYLOAD == 2
	if (state != 1) {
		for (kz_i64 i = begin; i < end; i++) {
			to.values[i] = from.values[i];
		}
	}
#endif
}

#define KZ_TILE \
	const kz_i64 row = blockIdx.x / rows.tiles, tile = blockIdx.x % rows.tiles; \
	const kz_i64 begin = tile * KZ_TILE_SIZE, end = begin + KZ_TILE_SIZE < rows.n \
	? begin + KZ_TILE_SIZE : rows.n

#ifndef KZ_BUCKETS
/* counts(row, digit, tile) */
extern "C" __global__ void KZ_BOUNDS kz_count_tile(const kz_rows rows, kz_i64 *counts,
	const unsigned char *states, int pass)
{
	unsigned local[DIGITS];
	KZ_TILE;
	const int state = pass ? states[row * (KZ_PASSES + 1) + pass] : 0;
	KZ_EACH_DIGIT(d) {
		local[d] = 0;
	}
	kz_count(local, kz_find(rows, row, state).keys, begin, end, pass, rows.order);
	KZ_EACH_DIGIT(d) {
		counts[(row * DIGITS + d) * rows.tiles + tile] = local[d];
	}
}

/* `places` are the running sums of the counts within a row. */
extern "C" __global__ void KZ_BOUNDS kz_move_tile(const kz_rows rows, const kz_i64 *places,
	unsigned char *states, int pass)
{
	kz_i64 local[DIGITS];
	KZ_TILE;
	unsigned char *mine = states + row * (KZ_PASSES + 1) + pass;
	const int state = pass ? mine[0] : 0;
	const kz_place from = kz_find(rows, row, state);
	const kz_i64 *all = places + row * DIGITS * rows.tiles;
	const int digit = (int)kz_digit(from.keys[0], pass, rows.order);
	const bool same = all[digit * rows.tiles] == 0
		&& (digit == DIGITS - 1 || all[(digit + 1) * rows.tiles] == rows.n);
	const int next = same ? state : kz_next(state, rows.first);
	if (tile == 0) {
		mine[1] = (unsigned char)next;
	}
	if (same) {
		return;
	}
	KZ_EACH_DIGIT(d) {
		local[d] = all[d * rows.tiles + tile];
	}
	const kz_step step = {from, kz_find(rows, row, next), state, pass, rows.order};
	kz_move(local, step, begin, end);
}

extern "C" __global__ void KZ_BOUNDS kz_finish(const kz_rows rows, const unsigned char *states)
{
	KZ_TILE;
	kz_give(rows, row, begin, end, states[row * (KZ_PASSES + 1) + KZ_PASSES]);
}

/* All passes of a row; a block has `per` rows. */
static __device__ inline int kz_pass(const kz_rows &rows, kz_i64 row, int state, int pass,
	unsigned *counts, kz_i64 *places)
{
	const kz_place from = kz_find(rows, row, state);
	KZ_EACH_DIGIT(d) {
		counts[d] = 0;
	}
	kz_count(counts, from.keys, 0, rows.n, pass, rows.order);
	const bool same = counts[kz_digit(from.keys[0], pass, rows.order)] == rows.n;
	if (same) {
		return state;
	}
	const int next = kz_next(state, rows.first);
	const kz_step step = {from, kz_find(rows, row, next), state, pass, rows.order};
	kz_sum(places, counts);
	for (kz_i64 begin = 0; begin < rows.n; begin += KZ_TILE_SIZE) {
		const kz_i64 end = begin + KZ_TILE_SIZE < rows.n ? begin + KZ_TILE_SIZE : rows.n;
		kz_move(places, step, begin, end);
	}
	return next;
}

extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, kz_i64 per)
{
	unsigned counts[DIGITS];
	kz_i64 places[DIGITS];
	const kz_i64 first = blockIdx.x * per, last = first + per < rows.rows ? first + per
		: rows.rows;
	for (kz_i64 row = first; row < last; row++) {
		int state = 0;
		KZ_NO_UNROLL for (int pass = 0; pass < KZ_PASSES; pass++) {
			state = kz_pass(rows, row, state, pass, counts, places);
		}
		kz_give(rows, row, 0, rows.n, state);
	}
}
#endif /* KZ_BUCKETS */
#endif /* KZ_SERIAL */
#endif
