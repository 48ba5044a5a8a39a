/* SPDX-License-Identifier: MIT */
/*
 * Reductions of generated kernels.  Before this file come kz_acc, kz_combine(a, b), and
 *
 *	KZ_OPERANDS   the result, the arrays and, for positions, the index
 *	KZ_DIMS       room for extents that are kept
 *	KZ_RESULT     the bytes of a result
 *	KZ_WIDTH      the most lanes of a task
 *	KZ_COLUMNS    each lane is a result of its own; else all are combined to one
 *	KZ_SERIAL     a block is one thread, which goes through all lanes: reduce_serial.cuh has
 *	              the rest, else reduce_threads.cuh
 *
 * A task is a block of elements, rows of lanes: lane i gets elements i of all rows, the first one
 * and then eight at a time, of which a tree makes one; then the lanes are combined by a tree.  So
 * the order of operations depends on the sizes alone: not on the device, nor on how many threads it
 * has.
 */
#define KZ_GROUP 16 /* lanes that are combined together */
struct kz_extents_head {
	long long tasks, chunks, tiles; /* a task for each tile of each chunk of each kept place */
	long long count, chunk;         /* along what is reduced: in all, of one task */
	long long lanes, width;         /* a power of two; columns: how many there are in all */
	long long first_index;
	long long final;                /* the last pass: results; else what is yet to be
	                                   combined */
};

#ifdef __CUDACC_RTC__
struct kz_operand {
	long long lane, row, tile, chunk; /* from one to the next; bytes, but for the index */
	long long strides[KZ_DIMS];
};
struct kz_extents : kz_extents_head {
	long long ndim, dims[KZ_DIMS];
	double number;                  /* of the last step */
	kz_operand operands[KZ_OPERANDS];
};
struct kz_task {
	long long offset[KZ_OPERANDS];
	long long width, rows, rest;    /* rows of `width` lanes, and a last one of `rest` */
};

/* at % by, and `at` becomes at / by.  Threads mostly have small numbers, whose division is
 * short. */
__device__ inline long long kz_split(long long &at, long long by)
{
	const long long whole = at;
#ifndef KZ_SERIAL
	if (((unsigned long long)at | (unsigned long long)by) >> 32 == 0) {
		at = (unsigned)at / (unsigned)by;
		return (unsigned)whole - (unsigned)at * (unsigned)by;
	}
#endif
	at /= by;
	return whole % by;
}

__device__ inline kz_task kz_find_task(const kz_extents &extents, long long at)
{
	kz_task task;
	long long tile = 0, chunk = 0;
#ifdef KZ_COLUMNS
	if (extents.tiles > 1) {
		tile = kz_split(at, extents.tiles);
	}
#endif
	if (extents.chunks > 1) {
		chunk = kz_split(at, extents.chunks);
	}
	_Pragma("unroll") for (int k = 0; k < KZ_OPERANDS; k++) {
		task.offset[k] = tile * extents.operands[k].tile
			+ chunk * extents.operands[k].chunk;
	}
	_Pragma("unroll 1") for (long long d = extents.ndim - 1; d >= 0; d--) {
		const long long place = d ? kz_split(at, extents.dims[d]) : at;
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
#endif
