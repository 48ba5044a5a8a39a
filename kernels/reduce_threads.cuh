/* SPDX-License-Identifier: MIT */
/*
 * Reductions where a thread has KZ_PACK lanes side by side, which it reads at once; after
 * reduce.cuh.
 *
 *	KZ_THREADS    the threads of a block: those of a task along x, tasks along y
 *
 * What takes the time is waiting for memory.  So up to eight rows are read before any is combined,
 * where they are no eight, too: the last rows of a task one by one may take longer than all others.
 *
 * A map has one(row, i), an element, and pack(to, row, i), KZ_PACK of them from i on.
 */

template <class T> struct alignas(KZ_PACK * sizeof(T)) kz_pack {
	T at[KZ_PACK];
};
struct kz_values {
	kz_acc at[KZ_PACK];
};

template <class One, class Pack> struct kz_map {
	One one;
	Pack pack;
};
template <class One, class Pack> __device__ __forceinline__ kz_map<One,
	Pack> kz_maps(One one, Pack pack)
{
	return {one, pack};
}

__device__ __forceinline__ void kz_take_in(kz_values &to, const kz_values &from)
{
	_Pragma("unroll") for (int j = 0; j < KZ_PACK; j++) {
		to.at[j] = kz_combine(to.at[j], from.at[j]);
	}
}

/* Eight rows, as a tree. */
template <class Map> __device__ __forceinline__ kz_values kz_eight(Map map, long long row,
	long long lane)
{
	kz_values v[8];
	_Pragma("unroll") for (int k = 0; k < 8; k++) {
		map.pack(v[k], row + k, lane);
	}
	_Pragma("unroll") for (int step = 1; step < 8; step *= 2) {
		_Pragma("unroll") for (int k = 0; k < 8; k += 2 * step) {
			kz_take_in(v[k], v[k + step]);
		}
	}
	return v[0];
}

/* Fewer than eight rows, one after the other; what is read beyond is the first once more. */
template <class Map> __device__ __forceinline__ void kz_few(kz_values &to, Map map, long long row,
	long long rows, long long lane)
{
	kz_values v[8];
	_Pragma("unroll") for (int k = 0; k < 8; k++) {
		map.pack(v[k], row + k < rows ? row + k : row, lane);
	}
	_Pragma("unroll") for (int k = 0; k < 8; k++) {
		if (row + k < rows) {
			kz_take_in(to, v[k]);
		}
	}
}

/* All rows of a lane, where they are no more than sixteen, of which all lanes have `whole`; what is
 * read beyond is the first once more.  In the order of kz_long, but waiting for memory once. */
template <class Map> __device__ __forceinline__ kz_acc kz_sixteen(Map map, long long rows,
	long long whole, long long lane)
{
	kz_acc v[16];
	_Pragma("unroll") for (int k = 0; k < 16; k++) {
		v[k] = map.one(k < rows ? k : 0, lane);
	}
	if (whole > 8) {
		_Pragma("unroll") for (int step = 1; step < 8; step *= 2) {
			_Pragma("unroll") for (int k = 1; k < 9; k += 2 * step) {
				v[k] = kz_combine(v[k], v[k + step]);
			}
		}
		v[0] = kz_combine(v[0], v[1]);
	}
	const int alone = whole > 8 ? 9 : 1;
	_Pragma("unroll") for (int k = 1; k < 16; k++) {
		if (k >= alone && k < rows) {
			v[0] = kz_combine(v[0], v[k]);
		}
	}
	return v[0];
}

/* The same for packs, of no more than eight rows and a last one. */
template <class Map> __device__ __forceinline__ void kz_short(kz_values &to, Map map,
	long long rows, bool with_last, long long lane)
{
	kz_values v[8], last;
	_Pragma("unroll") for (int k = 0; k < 8; k++) {
		map.pack(v[k], k < rows ? k : 0, lane);
	}
	if (with_last) {
		map.pack(last, rows, lane);
	}
	to = v[0];
	_Pragma("unroll") for (int k = 1; k < 8; k++) {
		if (k < rows) {
			kz_take_in(to, v[k]);
		}
	}
	if (with_last) {
		kz_take_in(to, last);
	}
}

/* The whole packs of many rows, of which all lanes have `whole`, and of a last one. */
template <class Map> __device__ __forceinline__ void kz_long(kz_values &to, Map map, long long rows,
	long long whole, bool with_last, long long lane)
{
	map.pack(to, 0, lane);
	long long row = 1;
	_Pragma("unroll 1") for (; row + 8 <= whole; row += 8) {
		kz_take_in(to, kz_eight(map, row, lane));
	}
	if (row < rows) {
		kz_few(to, map, row, rows, lane);
	}
	if (with_last) {
		kz_values last;
		map.pack(last, rows, lane);
		kz_take_in(to, last);
	}
}

/* Lanes from `lane` on; a pack that is not whole is at the end of the last row, or of the only
 * one. */
template <class Map> __device__ __forceinline__ void kz_accumulate(kz_values &to,
	const kz_task &task, Map map, long long lane)
{
	const long long rows = task.rows + (KZ_PACK == 1 && lane < task.rest);
	const bool with_last = KZ_PACK > 1 && lane + KZ_PACK <= task.rest;
	if (lane + KZ_PACK > task.width) {
	} else if (KZ_PACK == 1 && sizeof(kz_acc) <= 8 && rows <= 16) {
		to.at[0] = kz_sixteen(map, rows, task.rows, lane);
	} else if (KZ_PACK > 1 && sizeof(kz_values) <= 16 && rows <= 8) {
		kz_short(to, map, rows, with_last, lane);
	} else {
		kz_long(to, map, rows, task.rows, with_last, lane);
	}
#if KZ_PACK > 1
	if (!with_last) {
		const bool only = lane + KZ_PACK > task.width;
		const long long end = only ? task.width : task.rest;
		_Pragma("unroll") for (int j = 0; j < KZ_PACK; j++) {
			if (lane + j < end) {
				const kz_acc last = map.one(only ? 0 : task.rows, lane + j);
				to.at[j] = only ? last : kz_combine(to.at[j], last);
			}
		}
	}
#endif
}

#ifdef KZ_COLUMNS
template <class Put> __device__ __forceinline__ void kz_finish_task(const kz_extents &extents,
	kz_values &values, const kz_task &task, long long lane, Put put)
{
	_Pragma("unroll") for (int j = 0; j < KZ_PACK; j++) {
		if (lane + j < task.width) {
			put(task.offset[0] + (lane + j) * extents.operands[0].lane, values.at[j]);
		}
	}
}
#else
/* Wait for the threads that write what this one reads. */
__device__ __forceinline__ void kz_wait(bool near)
{
	if (near) {
		__syncwarp();
	} else {
		__syncthreads();
	}
}

/* Lane i takes in lane i + half, then half of these do the same. */
template <class Put> __device__ __forceinline__ void kz_finish_task(const kz_extents &extents,
	kz_values &values, const kz_task &task, long long lane, Put put)
{
	__shared__ kz_acc all[KZ_THREADS * KZ_PACK];
	kz_acc *lanes = all + threadIdx.y * (int)extents.lanes;
	const bool near = blockDim.x <= 32;
	const int width = (int)task.width;
	_Pragma("unroll") for (int j = 0; j < KZ_PACK; j++) {
		if (lane + j < width) {
			lanes[lane + j] = values.at[j];
		}
	}
	for (int half = (int)extents.lanes / 2; half > 0; half /= 2) {
		kz_wait(near || half < 32);
		for (int i = threadIdx.x; i < half && i + half < width; i += blockDim.x) {
			lanes[i] = kz_combine(lanes[i], lanes[i + half]);
		}
	}
	if (threadIdx.x == 0 && width > 0) {
		put(task.offset[0], lanes[0]);
	}
	kz_wait(near);
}
#endif

/* All tasks of this block; begin(task) gives the map of one. */
template <class Begin, class Put>
__device__ __forceinline__ void kz_reduce(const kz_extents &extents, Begin begin, Put put)
{
	const long long lane = threadIdx.x * KZ_PACK;
	const long long step = (long long)gridDim.x * blockDim.y;
	for (long long first = (long long)blockIdx.x * blockDim.y; first < extents.tasks;
		first += step) {
		const long long at = first + threadIdx.y;
		kz_values values;
		kz_task task = kz_find_task(extents, at < extents.tasks ? at : 0);
		if (at >= extents.tasks) {
			task.width = 0;
			task.rows = 0;
			task.rest = 0;
		}
		kz_accumulate(values, task, begin(task), lane);
		kz_finish_task(extents, values, task, lane, put);
	}
}
