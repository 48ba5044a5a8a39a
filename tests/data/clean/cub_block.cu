// SPDX-License-Identifier: MIT
// CUB's algorithms of a block, each alone and then once more with the same temporary memory.
// kudzu run --kernel 'reduce<cub::BLOCK_REDUCE_RAKING>' --grid 1 --block 128 i32[128]=arange i32[1]
// kudzu run --kernel 'reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>' --grid 1 --block 128 i32[128]=arange i32[1]
// kudzu run --kernel 'reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>' --grid 1 --block 128 i32[128]=arange i32[1]
// kudzu run --kernel 'scan<cub::BLOCK_SCAN_RAKING>' --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel 'scan<cub::BLOCK_SCAN_RAKING_MEMOIZE>' --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel 'scan<cub::BLOCK_SCAN_WARP_SCANS>' --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel radix_sort --grid 1 --block 128 i32[512]=random i32[512]
// kudzu run --kernel merge_sort --grid 1 --block 128 i32[512]=random
// kudzu run --kernel 'transpose<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>' --grid 1 --block 128 i32[512]=arange
// kudzu run --kernel 'transpose<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>' --grid 1 --block 128 i32[512]=arange
// kudzu run --kernel 'transpose<cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>' --grid 1 --block 128 i32[512]=arange
// kudzu run --kernel 'transpose<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>' --grid 1 --block 128 i32[512]=arange
// kudzu run --kernel 'transpose<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>' --grid 1 --block 128 i32[512]=arange
// kudzu run --kernel exchange --grid 1 --block 128 i32[512]=arange
// kudzu run --kernel 'histogram<cub::BLOCK_HISTO_SORT>' --grid 1 --block 128 i32[512]=arange i32[64]
// kudzu run --kernel 'histogram<cub::BLOCK_HISTO_ATOMIC>' --grid 1 --block 128 i32[512]=arange i32[64]
// kudzu run --kernel neighbours --grid 1 --block 128 i32[512]=arange i32[512]
// kudzu run --kernel shuffle --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel run_length_decode --grid 1 --block 128 i32[128]=arange i32[512]
// kudzu run --kernel radix_rank --grid 1 --block 128 i32[512]=random i32[512]
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>

#define BLOCK 128
#define EACH 4
#define T ((int)threadIdx.x)

struct maximum {
	__device__ int operator()(int a, int b) const
	{
		return a > b ? a : b;
	}
};

struct less {
	__device__ bool operator()(int a, int b) const
	{
		return a < b;
	}
};

struct minus {
	__device__ int operator()(int a, int b) const
	{
		return a - b;
	}
};

struct differ {
	__device__ bool operator()(int a, int b) const
	{
		return a / 3 != b / 3;
	}
};

template <cub::BlockReduceAlgorithm algorithm> __global__ void reduce(const int *in, int *out)
{
	using block = cub::BlockReduce<int, BLOCK, algorithm>;
	__shared__ typename block::TempStorage memory;
	int sum = block(memory).Sum(in[T]);
	__syncthreads();
	int most = block(memory).Reduce(in[T], maximum());
	__syncthreads();
	int few = block(memory).Sum(in[T], 50);
	if (T == 0) {
		*out = sum + most + few;
	}
}

template <cub::BlockScanAlgorithm algorithm> __global__ void scan(const int *in, int *out)
{
	using block = cub::BlockScan<int, BLOCK, algorithm>;
	__shared__ typename block::TempStorage memory;
	int before, upto, total;
	block(memory).ExclusiveSum(in[T], before, total);
	__syncthreads();
	block(memory).InclusiveScan(in[T], upto, maximum());
	out[T] = before + upto + total;
}

__global__ void radix_sort(int *keys, int *values)
{
	using block = cub::BlockRadixSort<int, BLOCK, EACH, int>;
	__shared__ typename block::TempStorage memory;
	int key[EACH], value[EACH];
	for (int i = 0; i < EACH; i++) {
		key[i] = keys[EACH * T + i];
		value[i] = EACH * T + i;
	}
	block(memory).Sort(key, value);
	__syncthreads();
	block(memory).SortDescendingBlockedToStriped(key, value, 3, 20);
	for (int i = 0; i < EACH; i++) {
		keys[T + BLOCK * i] = key[i];
		values[T + BLOCK * i] = value[i];
	}
}

__global__ void merge_sort(int *keys)
{
	using block = cub::BlockMergeSort<int, BLOCK, EACH>;
	__shared__ typename block::TempStorage memory;
	int key[EACH];
	for (int i = 0; i < EACH; i++) {
		key[i] = keys[EACH * T + i];
	}
	block(memory).Sort(key, less());
	__syncthreads();
	block(memory).StableSort(key, less(), 400, 1 << 30);
	for (int i = 0; i < EACH; i++) {
		keys[EACH * T + i] = key[i];
	}
}

template <cub::BlockLoadAlgorithm load, cub::BlockStoreAlgorithm store>
__global__ void transpose(int *data)
{
	using in = cub::BlockLoad<int, BLOCK, EACH, load>;
	using out = cub::BlockStore<int, BLOCK, EACH, store>;
	__shared__ union {
		typename in::TempStorage in;
		typename out::TempStorage out;
	} memory;
	int item[EACH];
	in(memory.in).Load(data, item);
	__syncthreads();
	for (int i = 0; i < EACH; i++) {
		item[i] += i;
	}
	out(memory.out).Store(data, item);
	__syncthreads();
	in(memory.in).Load(data, item, 300, 0);
	__syncthreads();
	out(memory.out).Store(data, item, 300);
}

__global__ void exchange(int *data)
{
	using block = cub::BlockExchange<int, BLOCK, EACH>;
	__shared__ typename block::TempStorage memory;
	int item[EACH], rank[EACH];
	for (int i = 0; i < EACH; i++) {
		item[i] = data[EACH * T + i];
		rank[i] = BLOCK * EACH - 1 - (EACH * T + i);
	}
	block(memory).BlockedToStriped(item);
	__syncthreads();
	block(memory).StripedToBlocked(item);
	__syncthreads();
	block(memory).BlockedToWarpStriped(item);
	__syncthreads();
	block(memory).WarpStripedToBlocked(item);
	__syncthreads();
	block(memory).ScatterToBlocked(item, item, rank);
	__syncthreads();
	block(memory).ScatterToStriped(item, item, rank);
	for (int i = 0; i < EACH; i++) {
		data[T + BLOCK * i] = item[i];
	}
}

template <cub::BlockHistogramAlgorithm algorithm> __global__ void histogram(const int *in, int *out)
{
	using block = cub::BlockHistogram<unsigned char, BLOCK, EACH, 64, algorithm>;
	__shared__ typename block::TempStorage memory;
	__shared__ int counts[64];
	unsigned char item[EACH];
	for (int i = 0; i < EACH; i++) {
		item[i] = in[EACH * T + i] & 63;
	}
	block(memory).Histogram(item, counts);
	__syncthreads();
	block(memory).Composite(item, counts);
	__syncthreads();
	if (T < 64) {
		out[T] = counts[T];
	}
}

__global__ void neighbours(const int *in, int *out)
{
	using flags = cub::BlockDiscontinuity<int, BLOCK>;
	using differences = cub::BlockAdjacentDifference<int, BLOCK>;
	__shared__ union {
		flags::TempStorage flags;
		differences::TempStorage differences;
	} memory;
	int item[EACH], head[EACH], tail[EACH], difference[EACH];
	for (int i = 0; i < EACH; i++) {
		item[i] = in[EACH * T + i];
	}
	flags(memory.flags).FlagHeadsAndTails(head, tail, item, differ());
	__syncthreads();
	differences(memory.differences).SubtractLeft(item, difference, minus());
	__syncthreads();
	differences(memory.differences).SubtractRight(item, item, minus());
	for (int i = 0; i < EACH; i++) {
		out[EACH * T + i] = head[i] + 2 * tail[i] + 4 * difference[i] + 8 * item[i];
	}
}

__global__ void shuffle(const int *in, int *out)
{
	using block = cub::BlockShuffle<int, BLOCK>;
	__shared__ block::TempStorage memory;
	int offset = 0, rotated, up[1], last[1] = {in[T]};
	block(memory).Offset(in[T], offset, 1);
	__syncthreads();
	block(memory).Rotate(in[T], rotated, 5);
	__syncthreads();
	block(memory).Up(last, up);
	out[T] = (T < BLOCK - 1 ? offset : 0) + rotated + (T > 0 ? up[0] : 0);
}

__global__ void run_length_decode(const int *in, int *out)
{
	using block = cub::BlockRunLengthDecode<int, BLOCK, 1, EACH>;
	__shared__ block::TempStorage memory;
	int value[1] = {in[T]}, length[1] = {1 + T % 7}, total, item[EACH];
	block runs(memory, value, length, total);
	for (int at = 0; at < total; at += BLOCK * EACH) {
		runs.RunLengthDecode(item, at);
		for (int i = 0; i < EACH; i++) {
			out[EACH * T + i] = item[i];
		}
		__syncthreads();
	}
}

__global__ void radix_rank(const int *in, int *out)
{
	using block = cub::BlockRadixRankMatch<BLOCK, 5, false>;
	__shared__ block::TempStorage memory;
	unsigned key[EACH];
	int rank[EACH];
	for (int i = 0; i < EACH; i++) {
		key[i] = (unsigned)in[EACH * T + i];
	}
	block(memory).RankKeys(key, rank, cub::BFEDigitExtractor<unsigned>(2, 5));
	for (int i = 0; i < EACH; i++) {
		out[EACH * T + i] = rank[i];
	}
}
