/* SPDX-License-Identifier: MIT */
/*
 * Reductions where a block is one thread, which goes through all lanes; after reduce.cuh.
 *
 *	KZ_LINEAR     any order gives the same bits: one thread goes from element to element,
 *	              and combines in kz_wide
 *	KZ_RISING     of positions: a later row has larger indexes, so a value gives way to a better
 *	              one only, and values and rows are vectors, not pairs
 */

/* body(i, slot) for lanes i.
 *
 * Lanes mostly are a power of two.  A group of them is a loop of known length, which becomes
 * vectors: of a loop of any length a compiler makes vectors of several registers each, and does
 * what is left one by one, which may be all.  It is left to it where lanes are many, or pairs of
 * numbers. */
template <class Body> __device__ __forceinline__ void kz_each_lane(long long count, Body body)
{
	long long first = 0;
#if defined(KZ_COLUMNS) || (defined(KZ_POSITION) && !defined(KZ_RISING))
	_Pragma("unroll 1") for (; first < count; first++) {
		body(first, first);
	}
#else
	_Pragma("unroll 1") for (; first + KZ_GROUP <= count; first += KZ_GROUP) {
		_Pragma("unroll 1") for (int i = 0; i < KZ_GROUP; i++) {
			body(first + i, first + i);
		}
	}
	/* Counted in bits, which no compiler makes a vector of. */
	unsigned left = first < count ? (1u << (int)(count - first)) - 1 : 0;
	_Pragma("unroll 1") for (; left > 0; left >>= 1, first++) {
		body(first, first);
	}
#endif
}

/* map(row, i) is an element. */
template <class Map> __device__ __forceinline__ kz_acc kz_four(Map map, long long row, long long i)
{
	return kz_combine(kz_combine(map(row, i), map(row + 1, i)),
		kz_combine(map(row + 2, i), map(row + 3, i)));
}

/* Eight rows into the slots. */
template <class Map>
__device__ __forceinline__ void kz_eight(kz_acc *slots, const kz_task &task, Map map, long long row)
{
#ifdef KZ_COLUMNS
	/* Rows lie far apart, often by the same place in the cache: not more at once than it has
	 * ways. */
	kz_acc first[KZ_WIDTH];
	kz_each_lane(task.width, [&](long long i, long long slot) {
		first[i] = kz_four(map, row, i);
	});
	kz_each_lane(task.width, [&](long long i, long long slot) {
		slots[i] = kz_combine(slots[i], kz_combine(first[i], kz_four(map, row + 4, i)));
	});
#else
	kz_each_lane(task.width, [&](long long i, long long slot) {
		slots[slot] = kz_combine(slots[slot],
			kz_combine(kz_four(map, row, i), kz_four(map, row + 4, i)));
	});
#endif
}

#ifdef KZ_LINEAR
template <class Map>
__device__ __forceinline__ void kz_accumulate(kz_acc *slots, const kz_task &task, Map map)
{
	const long long count = task.rows * task.width + task.rest;
	kz_wide all = map(0, 0);
	_Pragma("unroll 1") for (long long i = 1; i < count; i++) {
		all = kz_combine(all, (kz_wide)map(0, i));
	}
	slots[0] = (kz_acc)all;
}
#elif defined(KZ_RISING)
/* The better one of a lane's value and those of `count` rows more. */
template <int count, class Map> __device__ __forceinline__ void kz_add_rows(kz_value *values,
	kz_place *places, const kz_task &task, long long width, Map map, long long row)
{
	kz_each_lane(width, [&](long long i, long long slot) {
		kz_value value = values[slot];
		kz_place place = places[slot];
		_Pragma("unroll") for (int k = 0; k < count; k++) {
			const kz_value other = map(row + k, i).value;
			const bool stays = kz_stays(value, other);
			value = stays ? value : other;
			place = stays ? place : (kz_place)((row + k) * task.width);
		}
		values[slot] = value;
		places[slot] = place;
	});
}

/* Of lanes of elements in the order of their indexes: places count them. */
template <class Map>
__device__ __forceinline__ void kz_accumulate(kz_acc *slots, const kz_task &task, Map map)
{
	kz_value values[KZ_WIDTH];
	kz_place places[KZ_WIDTH];
	kz_each_lane(task.width, [&](long long i, long long slot) {
		values[slot] = map(0, i).value;
		places[slot] = 0;
	});
	long long row = task.rows % 8 != 0; /* or the first one once more: most are a multiple of
	                                       eight */
	_Pragma("unroll 1") for (; row + 8 <= task.rows; row += 8) {
		kz_add_rows<8>(values, places, task, task.width, map, row);
	}
	_Pragma("unroll 1") for (; row <= task.rows; row++) {
		kz_add_rows<1>(values, places, task, row < task.rows ? task.width : task.rest, map,
			row);
	}
	kz_each_lane(task.width, [&](long long i, long long slot) {
		places[slot] += (kz_place)i;
	});
	/* The first place of the best value.  Ranks are integers, of which LLVM makes vectors. */
	kz_place best = kz_rank(values[0]), first = KZ_LAST;
	kz_each_lane(task.width, [&](long long i, long long slot) {
		const kz_place rank = kz_rank(values[slot]);
		best = rank > best ? rank : best;
	});
	kz_each_lane(task.width, [&](long long i, long long slot) {
		const kz_place place = kz_rank(values[slot]) == best ? places[slot] : KZ_LAST;
		first = place < first ? place : first;
	});
	slots[0] = map(0, first);
}
#else
template <class Map>
__device__ __forceinline__ void kz_accumulate(kz_acc *slots, const kz_task &task, Map map)
{
	kz_each_lane(task.width, [&](long long i, long long slot) {
		slots[slot] = map(0, i);
	});
	long long row = 1;
	_Pragma("unroll 1") for (; row + 8 <= task.rows; row += 8) {
		kz_eight(slots, task, map, row);
	}
	_Pragma("unroll 1") for (; row <= task.rows; row++) {
		kz_each_lane(row < task.rows ? task.width : task.rest,
			[&](long long i, long long slot) {
			slots[slot] = kz_combine(slots[slot], map(row, i));
		});
	}
}
#endif

#ifdef KZ_COLUMNS
template <class Put> __device__ __forceinline__ void kz_finish_task(const kz_extents &extents,
	kz_acc *slots, const kz_task &task, Put put)
{
	/* Results mostly lie side by side, but only a step that is a number in the text lets stores
	 * be as wide as loads are: to scatter a vector takes longer than to sum it. */
	const long long lane = extents.operands[0].lane, to = task.offset[0];
	if (extents.final && lane == KZ_RESULT) {
		kz_each_lane(task.width, [&](long long i, long long slot) {
			put(to + i * KZ_RESULT, slots[slot]);
		});
	} else if (!extents.final && lane == sizeof(kz_acc)) {
		kz_each_lane(task.width, [&](long long i, long long slot) {
			put(to + i * (long long)sizeof(kz_acc), slots[slot]);
		});
	} else {
		kz_each_lane(task.width, [&](long long i, long long slot) {
			put(to + i * lane, slots[slot]);
		});
	}
}
#else
/* Lane i takes in lane i + half, then half of these do the same. */
template <class Put> __device__ __forceinline__ void kz_finish_task(const kz_extents &extents,
	kz_acc *slots, const kz_task &task, Put put)
{
#if defined(KZ_LINEAR) || defined(KZ_RISING)
	put(task.offset[0], slots[0]);
#else
	long long half = extents.lanes / 2;
#ifdef KZ_POSITION
	const long long least = 1;
#else
	const long long least = task.width < KZ_GROUP ? 1 : KZ_GROUP; /* then, all of a group are
	                                                                 left */
#endif
	_Pragma("unroll 1") for (; half >= least; half /= 2) {
		const long long most = task.width - half;
		kz_each_lane(most < half ? most : half, [&](long long i, long long slot) {
			slots[slot] = kz_combine(slots[slot], slots[slot + half]);
		});
	}
	if (half > 0) {
		_Pragma("unroll") for (int near = KZ_GROUP / 2; near > 0; near /= 2) {
			_Pragma("unroll") for (int i = 0; i < near; i++) {
				slots[i] = kz_combine(slots[i], slots[i + near]);
			}
		}
	}
	put(task.offset[0], slots[0]);
#endif
}
#endif

/* All tasks of this block; begin(task) gives the map of one. */
template <class Begin, class Put>
__device__ __forceinline__ void kz_reduce(const kz_extents &extents, Begin begin, Put put)
{
	kz_acc slots[KZ_WIDTH];
	const long long share = (extents.tasks + gridDim.x - 1) / gridDim.x;
	const long long last = share * (blockIdx.x + 1);
	const long long end = last < extents.tasks ? last : extents.tasks;
	_Pragma("unroll 1") for (long long at = share * blockIdx.x; at < end; at++) {
		const kz_task task = kz_find_task(extents, at);
		kz_accumulate(slots, task, begin(task));
		kz_finish_task(extents, slots, task, put);
	}
}
