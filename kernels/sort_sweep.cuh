/* SPDX-License-Identifier: MIT */
/*
 * More kernels of src/lib/order/sort.c, after sort.cuh, for devices that run many threads at once:
 * one pass over the keys for each digit (Onesweep: Adinets and Merrill, "Onesweep: A Faster Least
 * Significant Digit Radix Sort for GPUs", 2022).
 *
 * kz_kernel reads the keys once and counts the digits of all passes.  kz_plan turns the counts into
 * the places where the keys of each digit begin.  It also says which passes have something to move,
 * and from which buffer to which, so that the last one fills the results.  Then each pass is one
 * launch of kz_sweep: a tile ranks its keys, learns by a look-back (look_back.cuh) how many keys of
 * each digit the tiles before it have, and puts its keys in order in shared memory.  So the keys of
 * a digit are written side by side.
 *
 * KZ_ROWS: there is only kz_kernel, in which a block sorts some rows that fit in its tile together.
 * The keys stay in the block until all passes are done, and the number of the row is the last
 * digit.
 *
 * A warp has KZ_ITEMS times 32 keys of a tile in a row, so that the order in which a warp ranks its
 * keys is their own.  A place of a tile that has no key counts as a key of the last digit after
 * all others.
 */
#ifndef KZ_ROWS
struct kz_sweeps { /* what the passes share; zeros at first */
	KZ_POINTER(kz_word) counts;      /* (rows, passes, DIGITS): and then where a digit's keys
	                                    begin */
	KZ_POINTER(kz_word) words;       /* (rows, tiles, DIGITS), of the look-backs */
	KZ_POINTER(unsigned) tickets;    /* (passes) */
	KZ_POINTER(unsigned char) steps; /* (rows, passes): kz_step_of() */
};
#endif

#ifdef __CUDACC_RTC__
#define WARPS (KZ_THREADS / 32)
#define TILE (KZ_THREADS * KZ_ITEMS)
#define ALL_LANES 0xffffffffu
static_assert(KZ_THREADS >= DIGITS, "each digit has a thread");

/* The sum of the values of all threads before; `sums` are each warp's. */
template <class T> static __device__ inline T kz_sum_before(T mine, T (&sums)[WARPS])
{
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	T sum = mine;
	_Pragma("unroll") for (int step = 1; step < 32; step *= 2) {
		const T before = __shfl_up_sync(ALL_LANES, sum, step);
		sum += lane >= step ? before : 0;
	}
	if (lane == 31) {
		sums[warp] = sum;
	}
	__syncthreads();
	for (int w = 0; w < warp; w++) {
		sum += sums[w];
	}
	return sum - mine;
}

/* Shared memory of a tile: counts of digits, or keys, or values, on their way. */
struct kz_room {
	union {
		unsigned counts[WARPS][DIGITS];
		kz_key keys[TILE];
		kz_value values[TILE];
		unsigned short origins[TILE];
	};
	unsigned starts[DIGITS]; /* where the keys of a digit begin in the tile */
	unsigned sums[WARPS];
};

/* The lanes of the warp that have the same digit. */
static __device__ inline unsigned kz_same_digit(unsigned digit)
{
	unsigned same = ALL_LANES;
	_Pragma("unroll") for (int bit = 1; bit < DIGITS; bit *= 2) {
		const unsigned ones = __ballot_sync(ALL_LANES, digit & bit);
		same &= digit & bit ? ones : ~ones;
	}
	return same;
}

/* Rank the `each` digits of each thread among those of its warp: a digit becomes the digit, and
 * above its bits how many keys of the warp before have it.  Thread d gets how many keys of the tile
 * have digit d, and room.counts how many those of the warps before. */
static __device__ inline unsigned kz_rank_digits(unsigned (&digits)[KZ_ITEMS], int each,
	kz_room &room)
{
	const int t = threadIdx.x, lane = t % 32;
	unsigned *counts = room.counts[t / 32], total = 0;
	for (int d = lane; d < DIGITS; d += 32) {
		counts[d] = 0;
	}
	__syncwarp();
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		if (k < each) {
			const unsigned digit = digits[k], same = kz_same_digit(digit);
			const unsigned before = __popc(same & ((1u << lane) - 1));
			const unsigned earlier = counts[digit];
			__syncwarp();
			if (before == 0) {
				counts[digit] = earlier + __popc(same);
			}
			__syncwarp();
			digits[k] = (earlier + before) * DIGITS + digit;
		}
	}
	__syncthreads();
	if (t < DIGITS) {
		for (int w = 0; w < WARPS; w++) {
			const unsigned count = room.counts[w][t];
			room.counts[w][t] = total;
			total += count;
		}
	}
	return total;
}

/* After kz_rank_digits, whose result is `total`: ranks become places in the tile.  The result is
 * the first place of digit d for thread d.  Then the room is free. */
static __device__ inline unsigned kz_place_keys(unsigned (&ranks)[KZ_ITEMS], int each,
	unsigned total, kz_room &room)
{
	const unsigned start = kz_sum_before(total, room.sums);
	if (threadIdx.x < DIGITS) {
		room.starts[threadIdx.x] = start;
	}
	__syncthreads();
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		if (k < each) {
			const unsigned digit = ranks[k] % DIGITS;
			ranks[k] = ranks[k] / DIGITS + room.starts[digit]
				+ room.counts[threadIdx.x / 32][digit];
		}
	}
	__syncthreads();
	return start;
}

#ifdef KZ_ROWS
/* Item k of a thread, where each has so many. */
#define KZ_AT(k, each) ((int)(threadIdx.x / 32 * (each) + (k)) * 32 + (int)threadIdx.x % 32)

/* Bring items to their places in the tile. */
template <class T> static __device__ inline void kz_exchange(T (&items)[KZ_ITEMS],
	const unsigned (&places)[KZ_ITEMS], int each, T *room)
{
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		if (k < each) {
			room[places[k]] = items[k];
		}
	}
	__syncthreads();
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		if (k < each) {
			items[k] = room[KZ_AT(k, each)];
		}
	}
	__syncthreads();
}

/* A block has `per` rows, at most DIGITS, that fit in its tile. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, int per)
{
	__shared__ kz_room room;
	const kz_i64 row = (kz_i64)blockIdx.x * per;
	const kz_place from = kz_find(rows, row, 0), to = kz_find(rows, row, 1);
	const kz_ordering order = rows.order;
	const int t = threadIdx.x, n = (int)rows.n;
	const int size = n * (int)(row + per < rows.rows ? per : rows.rows - row);
	const int each = (size + KZ_THREADS - 1) / KZ_THREADS;
	kz_key keys[KZ_ITEMS];
	unsigned short origins[KZ_ITEMS];
	unsigned places[KZ_ITEMS];
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		if (k < each) {
			const int i = KZ_AT(k, each);
			origins[k] = (unsigned short)i;
			keys[k] = i < size ? from.keys[i] : kz_key();
		}
	}
	KZ_NO_UNROLL for (int pass = 0; pass < KZ_PASSES + (per > 1); pass++) {
		_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
			if (k < each) {
				places[k] = KZ_AT(k, each) >= size ? DIGITS - 1
					: pass < KZ_PASSES ? kz_digit(keys[k], pass, order)
					: origins[k] / n;
			}
		}
		const unsigned total = kz_rank_digits(places, each, room);
		const unsigned all = t == DIGITS - 1 ? each * KZ_THREADS : size;
		if (__syncthreads_or(t < DIGITS && total == all)) {
			continue;
		}
		kz_place_keys(places, each, total, room);
		kz_exchange(keys, places, each, room.keys);
		kz_exchange(origins, places, each, room.origins);
	}
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		const int i = KZ_AT(k, each);
		if (k >= each || i >= size) {
			continue;
		}
		if (rows.keep_keys) {
			to.keys[i] = keys[k];
		}
#if KZ_PAYLOAD == 1
		rows.indexes[row * n + i] = origins[k] - i / n * n;
#elif KZ_PAYLOAD == 2
		to.values[i] = from.values[origins[k]];
#endif
	}
}

#else /* KZ_ROWS */
/* What a pass does to a row: its two buffers, whether it fills the results, and the round of the
 * look-back.  0: it has nothing to move. */
static __device__ inline unsigned char kz_step_of(int from, int to, bool is_last, int round)
{
	return (unsigned char)(from | to << 2 | is_last << 4 | (round & 1) << 5);
}

/* Each row has `parts` blocks. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, const kz_sweeps sweeps,
	kz_i64 parts)
{
	enum { BATCH = 4 }; /* loads that a thread waits for at once */
	__shared__ unsigned counts[KZ_PASSES * DIGITS];
	const kz_i64 row = blockIdx.x / parts, part = blockIdx.x % parts;
	const kz_key *keys = kz_find(rows, row, 0).keys;
	const kz_ordering order = rows.order;
	for (int i = threadIdx.x; i < KZ_PASSES * DIGITS; i += KZ_THREADS) {
		counts[i] = 0;
	}
	__syncthreads();
	for (kz_i64 first = part * BATCH * KZ_THREADS; first < rows.n;
		first += parts * BATCH * KZ_THREADS) {
		kz_key batch[BATCH];
		_Pragma("unroll") for (int k = 0; k < BATCH; k++) {
			const kz_i64 i = first + k * KZ_THREADS + threadIdx.x;
			batch[k] = keys[i < rows.n ? i : 0];
		}
		KZ_NO_UNROLL for (int pass = 0; pass < KZ_PASSES; pass++) {
			_Pragma("unroll") for (int k = 0; k < BATCH; k++) {
				const bool is_key = first + k * KZ_THREADS + threadIdx.x < rows.n;
				const unsigned digit = is_key ? kz_digit(batch[k], pass, order)
					: DIGITS;
				/* Atomic additions of one word wait for each other. */
				const unsigned common = __shfl_sync(ALL_LANES, digit, 0);
				const bool same = __all_sync(ALL_LANES, digit == common);
				if (same ? is_key && threadIdx.x % 32 == 0 : is_key) {
					atomicAdd(&counts[pass * DIGITS + digit], same ? 32 : 1);
				}
			}
		}
	}
	__syncthreads();
	for (int i = threadIdx.x; i < KZ_PASSES * DIGITS; i += KZ_THREADS) {
		if (counts[i]) {
			atomicAdd(&sweeps.counts[row * KZ_PASSES * DIGITS + i], (kz_word)counts[i]);
		}
	}
}

/* A block has a row. */
extern "C" __global__ void KZ_BOUNDS kz_plan(const kz_rows rows, const kz_sweeps sweeps)
{
	__shared__ kz_word sums[WARPS];
	const kz_i64 first = (kz_i64)blockIdx.x * KZ_PASSES;
	const int t = threadIdx.x;
	unsigned moving = 0; /* a bit for each pass */
	KZ_NO_UNROLL for (int pass = 0; pass < KZ_PASSES; pass++) {
		kz_word *counts = sweeps.counts + (first + pass) * DIGITS;
		const kz_word count = t < DIGITS ? counts[t] : 0;
		const bool same = __syncthreads_or(count == (kz_word)rows.n);
		const kz_word start = kz_sum_before(count, sums);
		if (t < DIGITS) {
			counts[t] = start;
		}
		moving |= (unsigned)!same << pass;
	}
	if (t == 0) {
		moving = moving ? moving : 1; /* the results have to be filled */
		int left = __popc(moving), from = 0, round = 0;
		KZ_NO_UNROLL for (int pass = 0; pass < KZ_PASSES; pass++) {
			if (moving >> pass & 1) {
				const int to = --left % 2 ? 2 : 1;
				sweeps.steps[first + pass] = kz_step_of(from, to, left == 0,
					round++);
				from = to;
			}
		}
	}
}

/* A block moves a tile.  A key's place in the row is its place in the tile, in the order of the
 * digits, and its digit's offset. */
extern "C" __global__ void __launch_bounds__(KZ_THREADS, 2) kz_sweep(const kz_rows rows,
	const kz_sweeps sweeps, int pass)
{
	__shared__ kz_room room;
	__shared__ kz_word offsets[DIGITS];
	const unsigned at = kz_take_ticket(sweeps.tickets + pass), tiles = (unsigned)rows.tiles;
	const kz_i64 row = at / tiles, tile = at % tiles, begin = tile * TILE;
	const int t = threadIdx.x, first = t / 32 * (KZ_ITEMS * 32) + t % 32;
	const int size = rows.n - begin < TILE ? (int)(rows.n - begin) : TILE;
	const unsigned step = sweeps.steps[row * KZ_PASSES + pass];
	if (step == 0) {
		return;
	}
	const int state = step & 3;
	const unsigned is_last = step >> 4 & 1, round = step >> 5;
	const kz_place from = kz_find(rows, row, state), to = kz_find(rows, row, step >> 2 & 3);
	const kz_ordering order = rows.order;
	kz_key keys[KZ_ITEMS];
	unsigned places[KZ_ITEMS];
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		keys[k] = first + k * 32 < size ? from.keys[begin + first + k * 32] : kz_key();
	}
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		places[k] = first + k * 32 < size ? kz_digit(keys[k], pass, order) : DIGITS - 1;
	}
	const unsigned total = kz_rank_digits(places, KZ_ITEMS, room);
	kz_word *word = sweeps.words + (kz_i64)at * DIGITS + t;
	if (t < DIGITS) {
		kz_publish(word, total, tile, round);
	}
	const unsigned start = kz_place_keys(places, KZ_ITEMS, total, room);
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		room.keys[places[k]] = keys[k];
	}
#if KZ_PAYLOAD
	kz_value values[KZ_ITEMS];
	unsigned digits[(KZ_ITEMS + 3) / 4]; /* four each, of the places that this thread writes */
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		values[k] = first + k * 32 < size ? kz_load(from, begin + first + k * 32, state)
			: kz_value();
	}
#endif
	if (t < DIGITS) {
		const kz_word before = kz_look_back(word, total, tile, DIGITS, round);
		offsets[t] = sweeps.counts[(row * KZ_PASSES + pass) * DIGITS + t] + before - start;
	}
	__syncthreads();
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		const int i = k * KZ_THREADS + t;
		const kz_key key = room.keys[i];
		const unsigned digit = i < size ? kz_digit(key, pass, order) : 0;
		if (i < size && (rows.keep_keys || !is_last)) {
			to.keys[(kz_word)(offsets[digit] + i)] = key;
		}
#if KZ_PAYLOAD
		digits[k / 4] = (k % 4 ? digits[k / 4] : 0) | digit << 8 * (k % 4);
#endif
	}
#if KZ_PAYLOAD
	__syncthreads();
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		room.values[places[k]] = values[k];
	}
	__syncthreads();
	_Pragma("unroll") for (int k = 0; k < KZ_ITEMS; k++) {
		const int i = k * KZ_THREADS + t;
		const kz_word place = offsets[digits[k / 4] >> 8 * (k % 4) & (DIGITS - 1)] + i;
		if (i < size) {
#if KZ_PAYLOAD == 1
			if (is_last) {
				rows.indexes[row * rows.n + place] = (kz_i64)room.values[i];
				continue;
			}
#endif
			to.values[place] = room.values[i];
		}
	}
#endif
}
#endif
#endif
