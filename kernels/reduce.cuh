/* SPDX-License-Identifier: MIT */
/*
 * Reductions of generated kernels.  Before this file come kz_acc, kz_combine(a, b), and
 *
 *	KZ_OPERANDS   the result, the arrays and, for positions, the index
 *	KZ_DIMS       room for extents that are kept
 *	KZ_RESULT     the bytes of a result
 *	KZ_WIDTH      the most lanes of a task
 *	KZ_COLUMNS    each lane is a result of its own; else all are combined to one
 *	KZ_SERIAL     a block is one thread, which goes through all lanes; else a thread is a lane
 *	KZ_LINEAR     any order gives the same bits: one thread goes from element to element,
 *	              and combines in kz_wide
 *
 * A task is a block of elements, rows of lanes: lane i gets elements i of all rows, the first one and
 * then eight at a time, of which a tree makes one; then the lanes are combined by a tree.  So the order of
 * operations depends on the sizes alone: not on the device, nor on how many threads it has.
 */
struct kz_operand {
	long long lane, row, tile, chunk; /* from one to the next; bytes, but for the index */
	long long strides[KZ_DIMS];
};
struct kz_extents {
	long long tasks, chunks, tiles; /* a task for each tile of each chunk of each kept place */
	long long count, chunk;         /* along what is reduced: in all, of one task */
	long long lanes, width;         /* a power of two; columns: how many there are in all */
	long long first_index;
	long long final;                /* the last pass: results; else what is yet to be combined */
	long long ndim, dims[KZ_DIMS];
	double divisor;
	kz_operand operands[KZ_OPERANDS];
};
struct kz_task {
	long long offset[KZ_OPERANDS];
	long long width, rows, rest;    /* rows of `width` lanes, and a last one of `rest` */
};

__device__ inline kz_task kz_find_task(const kz_extents &extents, long long at)
{
	kz_task task;
	long long tile = 0, chunk = 0;
#ifdef KZ_COLUMNS
	if (extents.tiles > 1) {
		tile = at % extents.tiles;
		at /= extents.tiles;
	}
#endif
	if (extents.chunks > 1) {
		chunk = at % extents.chunks;
		at /= extents.chunks;
	}
	_Pragma("unroll") for (int k = 0; k < KZ_OPERANDS; k++) {
		task.offset[k] = tile * extents.operands[k].tile + chunk * extents.operands[k].chunk;
	}
	for (long long d = extents.ndim - 1; d >= 0; d--) {
		const long long place = d ? at % extents.dims[d] : at;
		at = d ? at / extents.dims[d] : 0;
		_Pragma("unroll") for (int k = 0; k < KZ_OPERANDS; k++) {
			task.offset[k] += place * extents.operands[k].strides[d];
		}
	}
	const long long left = extents.count - chunk * extents.chunk;
	const long long count = left < extents.chunk ? left : extents.chunk;
#ifdef KZ_COLUMNS
	const long long width = extents.width - tile * extents.lanes;
	task.width = width < extents.lanes ? width : extents.lanes;
	task.rows = count;
	task.rest = 0;
#else
	const int shift = 63 - __clzll(extents.lanes);
	task.rows = count >> shift;
	task.rest = count & (extents.lanes - 1);
	task.width = extents.lanes;
	if (task.rows == 0) {
		task.rows = 1;
		task.width = task.rest;
		task.rest = 0;
	}
#endif
	return task;
}

/* body(i, slot) for lanes i; a thread has slots for those that it goes through.
 *
 * Lanes mostly are a power of two.  A group of them is a loop of known length, which becomes vectors:
 * of a loop of any length a compiler makes vectors of several registers each, and does what is left
 * one by one, which may be all.  It is left to it where lanes are many, or pairs of numbers. */
#ifdef KZ_SERIAL
#define KZ_SLOTS KZ_WIDTH
#define KZ_GROUP 16
template <class Body> __device__ __forceinline__ void kz_each_lane(long long count, Body body)
{
	long long first = 0;
#if defined(KZ_COLUMNS) || defined(KZ_POSITION)
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
#else
#define KZ_SLOTS 1
template <class Body> __device__ __forceinline__ void kz_each_lane(long long count, Body body)
{
	if (threadIdx.x < count) {
		body(threadIdx.x, 0);
	}
}
#endif

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
#if defined(KZ_SERIAL) && defined(KZ_COLUMNS)
	/* Rows lie far apart, often by the same place in the cache: not more at once than it has ways. */
	kz_acc first[KZ_SLOTS];
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
		kz_each_lane(row < task.rows ? task.width : task.rest, [&](long long i, long long slot) {
			slots[slot] = kz_combine(slots[slot], map(row, i));
		});
	}
}
#endif

#ifdef KZ_COLUMNS
template <class Put> __device__ __forceinline__ void kz_finish_task(const kz_extents &extents,
	kz_acc *slots, const kz_task &task, Put put)
{
	/* Results mostly lie side by side, but only a step that is a number in the text lets stores be as
	 * wide as loads are: to scatter a vector takes longer than to sum it. */
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
#ifdef KZ_LINEAR
	put(task.offset[0], slots[0]);
#elif defined(KZ_SERIAL)
	long long half = extents.lanes / 2;
#ifdef KZ_POSITION
	const long long least = 1;
#else
	const long long least = task.width < KZ_GROUP ? 1 : KZ_GROUP; /* then, all of a group are left */
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
#else
	__shared__ kz_acc all[KZ_WIDTH];
	kz_acc *lanes = all + threadIdx.y * blockDim.x;
	const long long i = threadIdx.x;
	if (i < task.width) {
		lanes[i] = slots[0];
	}
	for (long long half = extents.lanes / 2; half > 0; half /= 2) {
		__syncthreads();
		if (i < half && i + half < task.width) {
			lanes[i] = kz_combine(lanes[i], lanes[i + half]);
		}
	}
	if (i == 0 && task.width > 0) {
		put(task.offset[0], lanes[0]);
	}
	__syncthreads();
#endif
}
#endif

/* All tasks of this block; begin(task) gives the map of one. */
template <class Begin, class Put>
__device__ __forceinline__ void kz_reduce(const kz_extents &extents, Begin begin, Put put)
{
	kz_acc slots[KZ_SLOTS];
#ifdef KZ_SERIAL
	const long long share = (extents.tasks + gridDim.x - 1) / gridDim.x;
	const long long last = share * (blockIdx.x + 1);
	const long long end = last < extents.tasks ? last : extents.tasks;
	_Pragma("unroll 1") for (long long at = share * blockIdx.x; at < end; at++) {
		const kz_task task = kz_find_task(extents, at);
		kz_accumulate(slots, task, begin(task));
		kz_finish_task(extents, slots, task, put);
	}
#else
	const long long step = (long long)gridDim.x * blockDim.y;
	for (long long first = (long long)blockIdx.x * blockDim.y; first < extents.tasks; first += step) {
		const long long at = first + threadIdx.y;
		kz_task task = kz_find_task(extents, at < extents.tasks ? at : 0);
		if (at >= extents.tasks) {
			task.width = 0;
			task.rows = 0;
			task.rest = 0;
		}
		kz_accumulate(slots, task, begin(task));
		kz_finish_task(extents, slots, task, put);
	}
#endif
}
