/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/order/select.c: the element at a rank of each row, by a radix selection (MSD),
 * and the stable split of rows by such elements.
 *
 * Of each row is known between which keys the element lies, `low` to `high`.  A pass counts the
 * keys between them by their digit, which is what the highest 11 bits of `key - low` are, and keeps
 * them apart.  Then KZ_PICK sees which digit the rank falls into: its keys are the next `low` to
 * `high`.  The first pass reads the row; later ones read what was kept.
 *
 * A sample of a long row gives the first `low` and `high`: order statistics on both sides of the
 * rank, which leave few keys between them (Floyd and Rivest, 1975).  If the element is not between
 * them, the next pass reads the row again, for the keys on the side where it is.
 *
 * KZ_SERIAL: a tile is the work of one thread.  Rows are split in three steps: the counts of the
 * classes of each tile, the host's scan, and the move.  Else blocks have 256 threads, and rows are
 * split in one pass with a look-back: the selection has counted the keys before each element and
 * those equal to it, which tells where each class begins.
 *
 * Before this text: key_order.cuh; look_back.cuh for KZ_SPLIT without KZ_SERIAL; and which kernel
 * is wanted: KZ_SAMPLE, KZ_NARROW, KZ_PICK, KZ_GIVE, KZ_CLASSES, KZ_SPLIT; for the last two
 * KZ_RANKS, by how many elements rows are split.
 */
#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)
#define SPLIT_ITEMS 16 /* keys of a thread where rows are split in one pass */
typedef unsigned long long kz_u64;

/* What is known of an element of a row. */
struct kz_state {
	kz_u64 low, high;    /* it is between these keys, or both are its own */
	kz_u64 below, equal; /* how many keys of the row are below `low`; equal to the one found */
	kz_u64 next;         /* the least key that was seen above `high` */
	kz_u64 most;         /* the greatest key of the row */
	int shift;           /* of a digit */
	int reads_row;       /* the next pass does; else it reads what was kept */
	int found;
	int reserved;
};

struct kz_rows {
	KZ_POINTER(const kz_key) keys;
	KZ_POINTER(kz_bits) kept;     /* as many as keys: each tile's begin where the tile does */
	KZ_POINTER(unsigned) sizes;   /* (rows, tiles): how many were kept */
	KZ_POINTER(kz_u64) counts;    /* (rows, DIGITS), zeros between passes */
	KZ_POINTER(kz_state) states;  /* (ranks, rows) */
	kz_i64 n, tiles, rows;
	struct kz_order_of order;
};

/* Where the split elements go: (rows, most) each, what is after that nowhere; or NULL. */
struct kz_split {
	KZ_POINTER(kz_key) values;
	KZ_POINTER(kz_i64) indexes;
	kz_i64 most;
};

#ifdef __CUDACC_RTC__
#define GROUP 8 /* digits whose keys are added up before the rank is looked for */
#define MOST ((kz_bits)~(kz_bits)0)

#define KZ_BOUNDS __launch_bounds__(KZ_THREADS)
#ifdef KZ_SERIAL
#define KZ_SHARED
#define KZ_SYNC()
#define KZ_EACH(i, begin, end) for (kz_i64 i = begin; i < end; i++)
#define KZ_ADD(to, value) (*(to) += (value))
#else
#define WARPS (KZ_THREADS / 32)
#define KZ_SHARED __shared__
#define KZ_SYNC() __syncthreads()
#define KZ_EACH(i, begin, end) for (kz_i64 i = (begin) + threadIdx.x; i < end; i += KZ_THREADS)
#define KZ_ADD(to, value) atomicAdd(to, value)
#endif

#define KZ_TILE \
	const kz_i64 row = blockIdx.x / rows.tiles, tile = blockIdx.x % rows.tiles; \
	const kz_i64 begin = tile * KZ_TILE_SIZE, end = begin + KZ_TILE_SIZE < rows.n \
	? begin + KZ_TILE_SIZE : rows.n

static __device__ inline kz_bits kz_key_of(const kz_key &key, const kz_ordering &order)
{
	return kz_order(key.part[0], order);
}

#ifdef KZ_SERIAL
#define PIECE 256 /* keys that are looked at together, by vector instructions */

static __device__ inline void kz_load(kz_bits *keys, const kz_key *from, int size,
	const kz_ordering &order)
{
	for (int i = 0; i < size; i++) {
		keys[i] = kz_key_of(from[i], order);
	}
}
#endif

/* So that `width >> shift` is a digit. */
static __device__ inline int kz_shift_of(kz_u64 width)
{
	const int bits = 64 - __clzll((long long)width);
	return bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
}

#ifdef KZ_SAMPLE
/* The element at a rank of a sample. */
static __device__ inline kz_bits kz_rank(const kz_bits *sample, kz_i64 samples, unsigned rank)
{
	KZ_SHARED unsigned counts[256];
	kz_bits found = 0;
	for (int shift = 8 * (int)sizeof(kz_bits) - 8; shift >= 0; shift -= 8) {
		KZ_EACH(d, 0, 256) {
			counts[d] = 0;
		}
		KZ_SYNC();
		KZ_EACH(i, 0, samples) {
			const kz_u64 digit = (kz_u64)(kz_bits)(sample[i] ^ found) >> shift;
			if (digit < 256) { /* it begins as the one that is looked for */
				KZ_ADD(&counts[digit], 1u);
			}
		}
		KZ_SYNC();
		int digit = 0;
		while (rank >= counts[digit]) {
			rank -= counts[digit++];
		}
		found = (kz_bits)(found | (kz_bits)((kz_bits)digit << shift));
		KZ_SYNC();
	}
	return found;
}

/* Begin with the elements at the ranks `first` and `last` of a sample; below 0: without it. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, kz_i64 samples, kz_i64 first,
	kz_i64 last)
{
	const kz_i64 row = blockIdx.x;
	const kz_key *keys = rows.keys + row * rows.n;
	kz_bits *sample = rows.kept + row * rows.n;
	KZ_EACH(d, 0, DIGITS) {
		rows.counts[row * DIGITS + d] = 0;
	}
	KZ_EACH(i, 0, samples) {
		sample[i] = kz_key_of(keys[rows.n / samples * i], rows.order);
	}
	KZ_SYNC();
	const kz_bits low = first < 0 ? (kz_bits)0 : kz_rank(sample, samples, (unsigned)first);
	const kz_bits high = last < 0 ? MOST : kz_rank(sample, samples, (unsigned)last);
	if (threadIdx.x == 0) {
		kz_state state = {low, high, 0, 0, ~0ull, 0, kz_shift_of((kz_bits)(high - low)), 1,
			0, 0};
		rows.states[row] = state;
	}
}
#endif

#ifdef KZ_NARROW
/* What a pass sees of a tile's keys. */
struct kz_seen {
	kz_u64 below;
	kz_bits next, most;
	unsigned kept;
};

/* `from` has a tile's keys, as they are in the row or as they were kept. */
struct kz_source {
	const kz_key *row;
	const kz_bits *kept;
	kz_i64 size;
	kz_ordering order;
};

#ifdef KZ_SERIAL
/* A piece is read, then looked at, and then what is between is put together. */
static __device__ inline kz_seen kz_narrow(unsigned *counts, kz_bits *kept, const kz_source &from,
	const kz_state &state)
{
	const kz_bits low = (kz_bits)state.low, high = (kz_bits)state.high,
		width = (kz_bits)(high - low);
	kz_bits keys[PIECE], held[PIECE];
	kz_seen seen = {0, MOST, 0, 0};
	for (kz_i64 first = 0; first < from.size; first += PIECE) {
		const int size = first + PIECE < from.size ? PIECE : (int)(from.size - first);
		unsigned below = 0, between = 0;
		kz_bits next = MOST, most = 0;
		if (from.row) {
			kz_load(keys, from.row + first, size, from.order);
		} else {
			for (int i = 0; i < size; i++) {
				keys[i] = from.kept[first + i];
			}
		}
		for (int i = 0; i < size; i++) {
			const kz_bits key = keys[i], above = key > high ? key : MOST;
			below += key < low;
			between += (kz_bits)(key - low) <= width;
			next = above < next ? above : next;
			most = key > most ? key : most;
		}
		seen.below += below;
		seen.next = next < seen.next ? next : seen.next;
		seen.most = most > seen.most ? most : seen.most;
		if (between == 0 || width == 0) {
			counts[0] += between;
			continue;
		}
		kz_bits *to = state.shift ? kept + seen.kept : held; /* else no pass follows */
		unsigned count = 0;
		for (int i = 0; i < size; i++) {
			to[count] = keys[i];
			count += (kz_bits)(keys[i] - low) <= width;
		}
		for (unsigned i = 0; i < between; i++) {
			counts[(kz_bits)(to[i] - low) >> state.shift]++;
		}
		seen.kept += state.shift ? between : 0;
	}
	return seen;
}

#else /* KZ_SERIAL */
#define ITEMS 4

/* What is kept is in no order.  It may be where it comes from, after what all threads have
 * read. */
static __device__ inline kz_seen kz_narrow(unsigned *counts, kz_bits *kept, const kz_source &from,
	const kz_state &state)
{
	__shared__ unsigned size;
	__shared__ kz_u64 below, next, most;
	const kz_bits low = (kz_bits)state.low, high = (kz_bits)state.high,
		width = (kz_bits)(high - low);
	kz_seen mine = {0, MOST, 0, 0};
	if (threadIdx.x == 0) {
		size = 0;
		below = most = 0;
		next = MOST;
	}
	for (kz_i64 first = 0; first < from.size; first += KZ_THREADS * ITEMS) {
		kz_bits keys[ITEMS];
		_Pragma("unroll") for (int k = 0; k < ITEMS; k++) {
			const kz_i64 i = first + k * KZ_THREADS + threadIdx.x;
			keys[k] = i >= from.size ? (kz_bits)0 : from.row
				? kz_key_of(from.row[i], from.order) : from.kept[i];
		}
		__syncthreads();
		_Pragma("unroll") for (int k = 0; k < ITEMS; k++) {
			const kz_bits key = keys[k];
			if (first + k * KZ_THREADS + threadIdx.x >= from.size) {
				continue;
			}
			mine.below += key < low;
			mine.next = key > high && key < mine.next ? key : mine.next;
			mine.most = key > mine.most ? key : mine.most;
			if ((kz_bits)(key - low) <= width) {
				atomicAdd(&counts[(kz_bits)(key - low) >> state.shift], 1u);
				if (state.shift) {
					kept[atomicAdd(&size, 1u)] = key;
				}
			}
		}
	}
	__syncthreads();
	atomicAdd(&below, mine.below);
	atomicMin(&next, (kz_u64)mine.next);
	atomicMax(&most, (kz_u64)mine.most);
	__syncthreads();
	return kz_seen{below, (kz_bits)next, (kz_bits)most, size};
}
#endif

extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows)
{
	KZ_SHARED unsigned counts[DIGITS];
	KZ_TILE;
	kz_state *shared_state = rows.states + row;
	const kz_state state = *shared_state;
	if (state.found) {
		return;
	}
	kz_bits *kept = rows.kept + row * rows.n + begin;
	kz_source from = {state.reads_row ? rows.keys + row * rows.n + begin : (const kz_key *)0,
		kept, state.reads_row ? end - begin : (kz_i64)rows.sizes[blockIdx.x], rows.order};
	KZ_EACH(d, 0, DIGITS) {
		counts[d] = 0;
	}
	KZ_SYNC();
	const kz_seen seen = kz_narrow(counts, kept, from, state);
	if (threadIdx.x == 0) {
		rows.sizes[blockIdx.x] = seen.kept;
		if (state.reads_row) {
			atomicAdd(&shared_state->below, seen.below);
			atomicMax(&shared_state->most, (kz_u64)seen.most);
		}
		if (seen.next < MOST) {
			atomicMin(&shared_state->next, (kz_u64)seen.next);
		}
	}
	KZ_EACH(d, 0, DIGITS) {
		if (counts[d]) {
			atomicAdd(&rows.counts[row * DIGITS + d], (kz_u64)counts[d]);
		}
	}
}
#endif

#ifdef KZ_PICK
/* The digit into which the rank falls; what is before it is added to `below`. */
static __device__ inline int kz_find_digit(kz_u64 *below, const kz_u64 *counts, const kz_u64 *sums,
	kz_u64 rank)
{
	int group = 0;
	while (rank >= *below + sums[group]) {
		*below += sums[group++];
	}
	int digit = group * GROUP;
	while (rank >= *below + counts[digit]) {
		*below += counts[digit++];
	}
	return digit;
}

/* The first digit from one on that some key has, or DIGITS. */
static __device__ inline int kz_next_digit(const kz_u64 *counts, const kz_u64 *sums, int digit)
{
	while (digit < DIGITS && (digit % GROUP ? counts[digit] : sums[digit / GROUP]) == 0) {
		digit += digit % GROUP ? 1 : GROUP;
	}
	while (digit < DIGITS && counts[digit] == 0) {
		digit++;
	}
	return digit;
}

/* Not where it was looked for: the next pass looks below or above, in the whole row. */
static __device__ inline void kz_look_again(kz_state &state, kz_u64 rank)
{
	if (rank < state.below) {
		state.high = state.low - 1;
		state.low = 0;
	} else {
		state.low = state.high + 1;
		state.high = MOST;
	}
	state.below = 0;
	state.next = ~0ull;
}

static __device__ inline void kz_pick(kz_state &state, const kz_u64 *counts, const kz_u64 *sums,
	kz_u64 rank)
{
	kz_u64 between = 0;
	for (int group = 0; group < DIGITS / GROUP; group++) {
		between += sums[group];
	}
	if (rank < state.below || rank >= state.below + between) {
		kz_look_again(state, rank);
	} else {
		const int digit = kz_find_digit(&state.below, counts, sums, rank);
		const kz_u64 first = state.low;
		state.low = first + ((kz_u64)digit << state.shift);
		state.reads_row = 0;
		if (state.shift == 0) {
			const int next = kz_next_digit(counts, sums, digit + 1);
			state.found = 1;
			state.high = state.low;
			state.equal = counts[digit];
			state.next = next < DIGITS ? first + next : state.next;
		} else {
			const kz_u64 width = (1ull << state.shift) - 1;
			state.high = state.high - state.low > width ? state.low + width
				: state.high;
		}
	}
	state.shift = kz_shift_of(state.high - state.low);
}

extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, kz_i64 rank)
{
	KZ_SHARED kz_u64 sums[DIGITS / GROUP];
	kz_u64 *counts = rows.counts + (kz_i64)blockIdx.x * DIGITS;
	kz_state *state = rows.states + blockIdx.x;
	if (state->found) {
		return;
	}
	KZ_SYNC();
	KZ_EACH(group, 0, DIGITS / GROUP) {
		kz_u64 sum = 0;
		for (int d = 0; d < GROUP; d++) {
			sum += counts[group * GROUP + d];
		}
		sums[group] = sum;
	}
	KZ_SYNC();
	if (threadIdx.x == 0) {
		kz_state known = *state;
		kz_pick(known, counts, sums, (kz_u64)rank);
		*state = known;
	}
	KZ_SYNC();
	KZ_EACH(d, 0, DIGITS) {
		counts[d] = 0;
	}
}
#endif

#ifdef KZ_GIVE
/* The element of a key: a zero is positive, and NaN has one form. */
static __device__ inline kz_bits kz_element(kz_u64 key, const kz_ordering &order)
{
	const kz_bits number = (kz_bits)((kz_bits)key ^ order.flip),
		negative = kz_negative(number, order);
	const kz_bits bits = (kz_bits)(((number ^ negative) - negative) | (negative & SIGN));
	return kz_is_nan(bits, order) ? (kz_bits)(SIGN - 1) : bits;
}

/* Of each row the element at the rank, the one after it, and the last one: (3, rows). */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, kz_i64 rank, kz_bits *to)
{
	const kz_i64 step = (kz_i64)gridDim.x * blockDim.x;
	for (kz_i64 row = (kz_i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows.rows;
		row += step) {
		const kz_state &state = rows.states[row];
		const bool repeats = state.below + state.equal > (kz_u64)rank + 1
			|| rank + 1 == rows.n;
		to[row] = kz_element(state.low, rows.order);
		to[rows.rows + row] = kz_element(repeats ? state.low : state.next, rows.order);
		to[2 * rows.rows + row] = kz_element(state.most, rows.order);
	}
}
#endif

#ifdef KZ_RANKS
/*
 * Keys are below the first element, equal to it, between it and the second one, ...: a key's class
 * is the number of limits that it has reached.  These are each element, and what is next to it.
 */
#define CLASSES (2 * KZ_RANKS + 1)

/* The limits in their order; the result is how many there are, as nothing is next to the greatest
 * key. */
static __device__ inline int kz_limits(kz_bits *limits, const kz_rows &rows, kz_i64 row)
{
	int count = 0;
	for (int r = 0; r < KZ_RANKS; r++) {
		const kz_bits key = (kz_bits)rows.states[r * rows.rows + row].low;
		const bool is_new = r == 0
			|| key != (kz_bits)rows.states[(r - 1) * rows.rows + row].low;
		if (!is_new && key == MOST) {
			break;
		}
		limits[count++] = is_new ? key : (kz_bits)(key + 1);
		if (key == MOST) {
			break;
		}
		limits[count++] = (kz_bits)(key + 1);
	}
	return count;
}
#endif

#if defined(KZ_CLASSES) && defined(KZ_SERIAL)
/* counts(row, class, tile) */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, kz_i64 *counts)
{
	unsigned reached[CLASSES + 1] = {}; /* how many keys have reached as many limits */
	kz_bits limits[2 * KZ_RANKS], piece[PIECE];
	KZ_TILE;
	const kz_key *keys = rows.keys + row * rows.n + begin;
	const int limit_count = kz_limits(limits, rows, row);
	reached[0] = (unsigned)(end - begin);
	for (kz_i64 first = 0; first < end - begin; first += PIECE) {
		const int size = first + PIECE < end - begin ? PIECE : (int)(end - begin - first);
		kz_load(piece, keys + first, size, rows.order);
		for (int k = 0; k < limit_count; k++) {
			const kz_bits limit = limits[k];
			unsigned count = 0;
			for (int i = 0; i < size; i++) {
				count += piece[i] >= limit;
			}
			reached[k + 1] += count;
		}
	}
	for (int c = 0; c < CLASSES; c++) {
		counts[(row * CLASSES + c) * rows.tiles + tile] = reached[c] - reached[c + 1];
	}
}
#endif

#ifdef KZ_SPLIT
static __device__ inline int kz_class_of(kz_bits key, const kz_bits *limits, int limit_count)
{
	int reached = 0;
	_Pragma("unroll") for (int k = 0; k < 2 * KZ_RANKS; k++) {
		reached += (k < limit_count) & (key >= limits[k]);
	}
	return reached;
}

#ifdef KZ_SERIAL
/* The place of each class's first key in a tile; false: none of its keys goes anywhere. */
static __device__ inline bool kz_places(kz_i64 *places, const kz_i64 *all, const kz_rows &rows,
	kz_i64 tile, kz_i64 most)
{
	bool some = false;
	for (int c = 0; c < CLASSES; c++) {
		const kz_i64 at = c * rows.tiles + tile;
		const kz_i64 end = at + 1 < CLASSES * rows.tiles ? all[at + 1] : rows.n;
		places[c] = all[at];
		some = some || (all[at] < end && all[at] < most);
	}
	return some;
}

/* `places` are the running sums of the counts within a row. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, const kz_i64 *places,
	const kz_split to)
{
	kz_i64 local[CLASSES];
	kz_bits limits[2 * KZ_RANKS];
	KZ_TILE;
	const kz_key *keys = rows.keys + row * rows.n;
	const int limit_count = kz_limits(limits, rows, row);
	if (!kz_places(local, places + row * CLASSES * rows.tiles, rows, tile, to.most)) {
		return;
	}
	kz_bits piece[PIECE];
	int classes[PIECE];
	kz_i64 at[PIECE];
	for (kz_i64 first = begin; first < end; first += PIECE) {
		const int size = first + PIECE < end ? PIECE : (int)(end - first);
		kz_load(piece, keys + first, size, rows.order);
		int wanted = 0; /* classes whose next key goes somewhere */
		unsigned count = 0;
		while (wanted < CLASSES && local[wanted] < to.most) {
			wanted++;
		}
		for (int i = 0; i < size; i++) {
			classes[i] = kz_class_of(piece[i], limits, limit_count);
			count += classes[i] < wanted;
		}
		if (!count) {
			continue;
		}
		for (int i = 0; i < size; i++) {
			at[i] = local[classes[i]]++;
		}
		for (int i = 0; to.values && i < size; i++) {
			if (at[i] < to.most) {
				to.values[row * to.most + at[i]] = keys[first + i];
			}
		}
		for (int i = 0; to.indexes && i < size; i++) {
			if (at[i] < to.most) {
				to.indexes[row * to.most + at[i]] = first + i;
			}
		}
	}
}
#else
/* The place of a class's first key in the row. */
static __device__ inline kz_u64 kz_class_start(const kz_rows &rows, kz_i64 row, int class_number)
{
	const int r = (class_number - 1) / 2;
	if (class_number == 0) {
		return 0;
	}
	const kz_state *state = rows.states + r * rows.rows + row;
	const bool is_new = r == 0 || state->low != state[-rows.rows].low;
	return state->below + (class_number % 2 && is_new ? 0 : state->equal);
}

/* A warp has SPLIT_ITEMS times 32 keys in a row.  `words`, of the look-backs: (rows, tiles,
 * CLASSES), and then the ticket; zeros. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(const kz_rows rows, kz_u64 *words, const kz_split to)
{
	__shared__ kz_u64 starts[CLASSES];
	__shared__ unsigned counts[CLASSES][WARPS];
	kz_u64 *tickets = words + rows.rows * rows.tiles * CLASSES;
	const unsigned at = kz_take_ticket((unsigned *)tickets), tiles = (unsigned)rows.tiles;
	const kz_i64 row = at / tiles, tile = at % tiles;
	const int t = threadIdx.x, warp = t / 32, lane = t % 32;
	const kz_i64 first = tile * (SPLIT_ITEMS * KZ_THREADS) + warp * (SPLIT_ITEMS * 32) + lane;
	const kz_key *keys = rows.keys + row * rows.n;
	kz_bits limits[2 * KZ_RANKS];
	kz_key key[SPLIT_ITEMS];
	int classes[SPLIT_ITEMS];
	unsigned ranks[SPLIT_ITEMS], mine[CLASSES] = {};
	const int limit_count = kz_limits(limits, rows, row);
	_Pragma("unroll") for (int k = 0; k < SPLIT_ITEMS; k++) {
		key[k] = first + k * 32 < rows.n ? keys[first + k * 32] : kz_key();
	}
	/* The rank of a key among those of its class in the warp. */
	_Pragma("unroll") for (int k = 0; k < SPLIT_ITEMS; k++) {
		classes[k] = first + k * 32 < rows.n
			? kz_class_of(kz_key_of(key[k], rows.order), limits, limit_count) : -1;
		_Pragma("unroll") for (int c = 0; c < CLASSES; c++) {
			const unsigned same = __ballot_sync(~0u, classes[k] == c);
			if (classes[k] == c) {
				ranks[k] = mine[c] + __popc(same & ((1u << lane) - 1));
			}
			mine[c] += __popc(same);
		}
	}
	_Pragma("unroll") for (int c = 0; c < CLASSES; c++) {
		if (lane == 0) {
			counts[c][warp] = mine[c];
		}
	}
	__syncthreads();
	if (t < CLASSES) {
		unsigned sum = 0;
		for (int w = 0; w < WARPS; w++) {
			const unsigned count = counts[t][w];
			counts[t][w] = sum;
			sum += count;
		}
		kz_u64 *word = words + (kz_i64)at * CLASSES + t;
		kz_publish(word, sum, tile, 0);
		starts[t] = kz_class_start(rows, row, t)
			+ kz_look_back(word, sum, tile, CLASSES, 0);
	}
	__syncthreads();
	_Pragma("unroll") for (int k = 0; k < SPLIT_ITEMS; k++) {
		if (classes[k] < 0) {
			continue;
		}
		const kz_i64 place = starts[classes[k]] + counts[classes[k]][warp] + ranks[k];
		if (place < to.most && to.values) {
			to.values[row * to.most + place] = key[k];
		}
		if (place < to.most && to.indexes) {
			to.indexes[row * to.most + place] = first + k * 32;
		}
	}
}
#endif
#endif
#endif
