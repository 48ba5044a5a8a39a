/* SPDX-License-Identifier: MIT */
/*
 * Kernels of src/lib/order/histogram.c: how often each bin occurs.  Elements are divided into
 * tiles, by the sizes alone.  A tile has rows of counters of its own, and element i counts in row i
 * % KZ_WAYS, so that equal neighbours do not wait for each other.  The last counter of a row has
 * what no bin has.  Then KZ_COMBINE adds the rows up in their order, which is why sums of weights
 * have the same bits on every device.
 *
 * Before this text come kz_stored, an element in memory, and
 *
 *	KZ_UNIFORM    bins of equal width: kz_load(kz_stored) is a value, and
 *	              kz_edge(kz_stored_edge) an edge, both as doubles; else an element is the
 *	              number of its bin
 *	KZ_WEIGHTED   elements count what they weigh; else 1
 *	KZ_SERIAL     one thread has a tile.  Else a block of 256 has it.  Without weights its
 *	              threads share one row, in shared memory (KZ_SHARED) if that has room.  With
 *	              weights each has a bin, and goes through all elements of the tile in
 *	              their order
 */
typedef long long kz_i64;
typedef unsigned long long kz_u64;
struct kz_plan {
	kz_i64 count, tile, tiles, bins;
	double low, scale; /* bins from `low`, 1 / scale wide; scale may be infinite */
	double slack;      /* how far from an edge, in bins, the quotient alone tells the bin */
};

/* Of elements that are bins: the greatest, and ~i of the first that is negative; at first 0. */
struct kz_seen { kz_u64 most, negative; };

#ifdef __CUDACC_RTC__
#ifdef KZ_WEIGHTED
typedef double kz_count;
#else
typedef kz_u64 kz_count;
#endif
#define PIECE 1024 /* elements that are in the cache, or in shared memory, at once */

#ifdef KZ_COMBINE
extern "C" __global__ void kz_kernel(kz_count *to, const kz_count *tables, kz_i64 rows,
	kz_i64 slots, kz_i64 bins)
{
	const kz_i64 step = (kz_i64)gridDim.x * blockDim.x;
	for (kz_i64 bin = (kz_i64)blockIdx.x * blockDim.x + threadIdx.x; bin < bins; bin += step) {
		kz_count sum = 0;
		for (kz_i64 row = 0; row < rows; row++) {
			sum += tables[row * slots + bin];
		}
		to[bin] = sum;
	}
}
#else

#ifndef KZ_UNIFORM
typedef void kz_stored_edge;
#else
/* The quotient is where the bin would be without rounding; where it is close to an edge, or is no
 * number, it does not tell. */
static __device__ inline double kz_quotient(double x, const kz_plan &plan)
{
	return (x - plan.low) * plan.scale;
}

static __device__ inline bool kz_is_doubtful(double quotient, const kz_plan &plan)
{
	return !(fabs(quotient - rint(quotient)) > plan.slack);
}

/* A bin from 0 to the last, whatever the quotient is. */
static __device__ inline int kz_guess(double quotient, int last)
{
	return quotient >= last ? last : quotient > 0 ? (int)quotient : 0;
}

/* The last bin whose lower edge is not above x, which lies between the outer edges. */
static __device__ inline int kz_bisect(double x, const kz_stored_edge *edges, int last)
{
	int least = 0, most = last;
	while (least < most) {
		const int middle = most - (most - least) / 2;
		const bool below = x < kz_edge(edges[middle]);
		most = below ? middle - 1 : most;
		least = below ? least : middle;
	}
	return least;
}

static __device__ inline bool kz_is_inside(double x, const kz_stored_edge *edges,
	const kz_plan &plan)
{
	return x >= kz_edge(edges[0]) && x <= kz_edge(edges[plan.bins]);
}

/* The bin by the edges: the one that the quotient tells, or a neighbour of it. */
static __device__ inline int kz_near_bin(double x, const kz_stored_edge *edges, const kz_plan &plan)
{
	const int last = (int)plan.bins - 1, near = kz_guess(kz_quotient(x, plan), last);
	const double lower = kz_edge(edges[near]), upper = kz_edge(edges[near + 1]);
	const int bin = near + ((x >= upper) & (near < last)) - (x < lower);
	return kz_is_inside(x, edges, plan) ? bin : last + 1;
}

/* The bin by the edges alone, where bins are so narrow that edges are equal. */
static __device__ inline int kz_far_bin(double x, const kz_stored_edge *edges, const kz_plan &plan)
{
	const int last = (int)plan.bins - 1;
	return kz_is_inside(x, edges, plan) ? kz_bisect(x, edges, last) : last + 1;
}

static __device__ inline bool kz_is_near(const kz_plan &plan)
{
	return plan.slack < 1;
}
#endif

#if defined(KZ_SERIAL) && defined(KZ_UNIFORM)
/* The bins of a piece.  The quotients do for nearly all elements; those of a piece with doubtful
 * ones are found once more, by the edges.  Returns how many were doubtful. */
static __device__ inline int kz_find_bins(int *at, const kz_stored *from, int size,
	const kz_stored_edge *edges, const kz_plan &plan, bool exact)
{
	const double lowest = kz_edge(edges[0]), highest = kz_edge(edges[plan.bins]);
	const int bins = (int)plan.bins;
	int doubtful = 0;
	for (int i = 0; i < size && !exact; i++) {
		const double x = kz_load(from[i]), quotient = kz_quotient(x, plan);
		const bool inside = x >= lowest && x <= highest;
		doubtful += inside && kz_is_doubtful(quotient, plan);
		at[i] = inside ? kz_guess(quotient, bins - 1) : bins;
	}
	const int again = exact || doubtful ? size : 0;
	for (int i = 0; i < again && kz_is_near(plan); i++) {
		at[i] = kz_near_bin(kz_load(from[i]), edges, plan);
	}
	for (int i = 0; i < again && !kz_is_near(plan); i++) {
		at[i] = kz_far_bin(kz_load(from[i]), edges, plan);
	}
	return exact ? size : doubtful;
}
#endif

#ifdef KZ_SERIAL
/* Whether all of a piece are bins; elements that are not are noted. */
static __device__ inline bool kz_check(const kz_stored *from, kz_i64 first, int size,
	const kz_plan &plan, kz_u64 &most, kz_seen *seen)
{
#ifndef KZ_UNIFORM
	kz_stored least = from[first], greatest = from[first];
	for (int i = 1; i < size; i++) {
		least = from[first + i] < least ? from[first + i] : least;
		greatest = from[first + i] > greatest ? from[first + i] : greatest;
	}
	if (least < 0) {
		kz_i64 i = first;
		while (from[i] >= 0) {
			i++;
		}
		atomicMax(&seen->negative, ~(kz_u64)i);
		return false;
	}
	most = (kz_u64)greatest > most ? (kz_u64)greatest : most;
	return (kz_u64)greatest <= (kz_u64)plan.bins;
#else
	return true;
#endif
}

extern "C" __global__ void __launch_bounds__(1) kz_kernel(kz_count *tables, const kz_stored *from,
	const double *weights, kz_seen *seen, const kz_stored_edge *edges,
	const __grid_constant__ kz_plan plan)
{
	const kz_i64 slots = plan.bins + 1, begin = (kz_i64)blockIdx.x * plan.tile;
	const kz_i64 end = begin + plan.tile < plan.count ? begin + plan.tile : plan.count;
	kz_count *row = tables + (kz_i64)blockIdx.x * KZ_WAYS * slots;
	kz_u64 most = 0;
#ifdef KZ_UNIFORM
	int at[PIECE];
	bool exact = false;
#endif
	for (kz_i64 i = 0; i < KZ_WAYS * slots; i++) {
		row[i] = 0;
	}
	for (kz_i64 first = begin; first < end; first += PIECE) {
		const int size = first + PIECE < end ? PIECE : (int)(end - first);
		if (!kz_check(from, first, size, plan, most, seen)) {
			continue;
		}
#ifdef KZ_UNIFORM
		exact = kz_find_bins(at, from + first, size, edges, plan, exact) > PIECE / 8;
#define KZ_AT(i) at[i]
#else
#define KZ_AT(i) (kz_i64)from[first + (i)]
#endif
#ifdef KZ_WEIGHTED
#define KZ_COUNT(i, way) row[(way) * slots + KZ_AT(i)] += weights[first + (i)]
#else
#define KZ_COUNT(i, way) row[(way) * slots + KZ_AT(i)]++
#endif
		int i = 0;
		for (; i + KZ_WAYS <= size; i += KZ_WAYS) {
			_Pragma("unroll") for (int way = 0; way < KZ_WAYS; way++) {
				KZ_COUNT(i + way, way);
			}
		}
		for (int way = 0; i < size; i++, way++) {
			KZ_COUNT(i, way);
		}
	}
	if (most > 0) {
		atomicMax(&seen->most, most);
	}
}

#else /* KZ_SERIAL */

/* The bin of an element, the one after the last if it has none; elements that are not bins are
 * noted. */
static __device__ inline kz_i64 kz_find(const kz_stored *from, kz_i64 i,
	const kz_stored_edge *edges, const kz_plan &plan, kz_u64 &most, kz_seen *seen)
{
#ifdef KZ_UNIFORM
	const double x = kz_load(from[i]), quotient = kz_quotient(x, plan);
	return !kz_is_near(plan) ? kz_far_bin(x, edges, plan)
		: kz_is_doubtful(quotient, plan) ? kz_near_bin(x, edges, plan)
		: kz_is_inside(x, edges, plan) ? kz_guess(quotient, (int)plan.bins - 1) : plan.bins;
#else
	if (from[i] < 0) {
		atomicMax(&seen->negative, ~(kz_u64)i);
		return plan.bins;
	}
	most = (kz_u64)from[i] > most ? (kz_u64)from[i] : most;
	return (kz_u64)from[i] < (kz_u64)plan.bins ? (kz_i64)from[i] : plan.bins;
#endif
}

/* Once for each warp. */
static __device__ inline void kz_note(kz_seen *seen, kz_u64 most)
{
	for (int lane = 16; lane > 0; lane /= 2) {
		const kz_u64 other = __shfl_xor_sync(~0u, most, lane);
		most = other > most ? other : most;
	}
	if (threadIdx.x % 32 == 0 && most > 0) {
		atomicMax(&seen->most, most);
	}
}

extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_count *tables,
	const kz_stored *from, const double *weights, kz_seen *seen, const kz_stored_edge *edges,
	const __grid_constant__ kz_plan plan)
{
	const kz_i64 slots = plan.bins + 1, tile = blockIdx.x % plan.tiles,
		begin = tile * plan.tile;
	const kz_i64 end = begin + plan.tile < plan.count ? begin + plan.tile : plan.count;
	kz_u64 most = 0;
#ifdef KZ_WEIGHTED
	/* Of the blocks of a tile the k-th has the bins from 256 k on. */
	__shared__ kz_i64 at[PIECE];
	__shared__ double weight[PIECE];
	const kz_i64 mine = blockIdx.x / plan.tiles * blockDim.x + threadIdx.x;
	double sums[KZ_WAYS] = {};
	for (kz_i64 first = begin; first < end; first += PIECE) {
		const int size = first + PIECE < end ? PIECE : (int)(end - first);
		for (int i = threadIdx.x; i < size; i += blockDim.x) {
			at[i] = kz_find(from, first + i, edges, plan, most, seen);
			weight[i] = weights[first + i];
		}
		__syncthreads();
		for (int i = 0; i < size; i += KZ_WAYS) {
			_Pragma("unroll") for (int way = 0; way < KZ_WAYS; way++) {
				if (i + way < size && at[i + way] == mine) {
					sums[way] += weight[i + way];
				}
			}
		}
		__syncthreads();
	}
	for (int way = 0; way < KZ_WAYS && mine < slots; way++) {
		tables[(tile * KZ_WAYS + way) * slots + mine] = sums[way];
	}
#elif defined(KZ_SHARED)
	extern __shared__ unsigned int counts[];
	for (kz_i64 bin = threadIdx.x; bin < slots; bin += blockDim.x) {
		counts[bin] = 0;
	}
	__syncthreads();
	for (kz_i64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
		atomicAdd(counts + kz_find(from, i, edges, plan, most, seen), 1u);
	}
	__syncthreads();
	for (kz_i64 bin = threadIdx.x; bin < slots; bin += blockDim.x) {
		if (counts[bin]) {
			atomicAdd(tables + bin, (kz_u64)counts[bin]);
		}
	}
#else
	for (kz_i64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
		atomicAdd(tables + kz_find(from, i, edges, plan, most, seen), 1ull);
	}
#endif
	kz_note(seen, most);
}
#endif
#endif
#endif
