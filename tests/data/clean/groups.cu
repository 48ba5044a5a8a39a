// SPDX-License-Identifier: MIT
// Cooperative groups, and what libcu++ has for the threads of a block.
// kudzu run --kernel 'tiles<1>' --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel 'tiles<4>' --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel 'tiles<32>' --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel 'wide_tiles<64>' --grid 1 --block 256 i32[256]=arange i32[256]
// kudzu run --kernel 'wide_tiles<128>' --grid 1 --block 256 i32[256]=arange i32[256]
// kudzu run --kernel 'wide_tiles<256>' --grid 1 --block 256 i32[256]=arange i32[256]
// kudzu run --kernel 'scans<8>' --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel 'scans<32>' --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel coalesced --grid 1 --block 96 i32[96]=arange i32[3]=0
// kudzu run --kernel partitions --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel copies --grid 1 --block 128 i32[1024]=arange i32[1024]
// kudzu run --kernel once --grid 1 --block 128 i32[1]=0
// kudzu run --kernel barriers --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel pipelines --grid 1 --block 128 i32[1024]=arange i32[128]
// kudzu run --kernel latches --grid 1 --block 128 i32[128]=arange i32[128]
// kudzu run --kernel semaphores --grid 1 --block 128 i32[1]=0
// kudzu run --kernel flags --grid 2 --block 32 i32[64]=arange i32[64]=0 i32[1]=0
// kudzu run --kernel ring --cooperative --grid 4 --block 64 i32[256]=arange i32[256]
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

namespace cg = cooperative_groups;

#define T ((int)threadIdx.x)

template <class group> __device__ int all_of(const group &g, int value)
{
	int sum = cg::reduce(g, value, cg::plus<int>());
	int most = cg::reduce(g, value, cg::greater<int>());
	g.sync();
	int first = g.shfl(value, 0);
	return sum + most + first + (g.any(value > 100) ? 1 : 0) + (g.all(value < 100) ? 2 : 0);
}

template <int size> __global__ void tiles(const int *in, int *out)
{
	cg::thread_block block = cg::this_thread_block();
	auto tile = cg::tiled_partition<size>(block);
	out[T] = all_of(tile, in[T]) + (int)tile.meta_group_rank() + tile.shfl_down(in[T], 1)
		+ tile.shfl_xor(in[T], size / 2) + (int)tile.ballot(in[T] & 1);
}

template <int size> __global__ void wide_tiles(const int *in, int *out)
{
	__shared__ cg::block_tile_memory<256> memory;
	cg::thread_block block = cg::this_thread_block(memory);
	auto tile = cg::tiled_partition<size>(block);
	int sum = 0;
	for (int i = 0; i < 3; i++) {
		sum += all_of(tile, in[T] + i);
	}
	out[T] = sum;
}

template <int size> __global__ void scans(const int *in, int *out)
{
	auto tile = cg::tiled_partition<size>(cg::this_thread_block());
	out[T] = cg::inclusive_scan(tile, in[T]) + cg::exclusive_scan(tile, in[T]);
}

__global__ void coalesced(const int *in, int *out)
{
	if (in[T] % 3 == 1) {
		auto active = cg::coalesced_threads();
		int sum = cg::reduce(active, in[T], cg::plus<int>());
		int upto = cg::inclusive_scan(active, 1);
		if (active.thread_rank() == active.size() - 1) {
			atomicAdd(&out[T / 32], sum + upto);
		}
	}
}

__global__ void partitions(const int *in, int *out)
{
	auto warp = cg::tiled_partition<32>(cg::this_thread_block());
	auto same = cg::labeled_partition(warp, in[T] % 5);
	auto half = cg::binary_partition(warp, in[T] % 3 == 0);
	out[T] = cg::reduce(same, in[T], cg::plus<int>()) + cg::reduce(half, 1, cg::plus<int>());
}

__global__ void copies(const int *in, int *out)
{
	__shared__ int now[256], next[256];
	auto block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	cg::memcpy_async(block, now, in, sizeof(now));
	cg::memcpy_async(block, next, in + 256, sizeof(next));
	cg::wait_prior<1>(block);
	for (int i = T; i < 256; i += 128) {
		out[i] = now[255 - i];
	}
	cg::wait(block);
	for (int i = T; i < 256; i += 128) {
		out[256 + i] = next[255 - i];
	}
	block.sync();
	int *mine = now + T / 32 * 64;
	cg::memcpy_async(warp, mine, in + 512 + T / 32 * 64, 64 * sizeof(int));
	cg::wait(warp);
	out[512 + T] = mine[T % 32] + mine[63 - T % 32];
}

__global__ void once(int *out)
{
	auto block = cg::this_thread_block();
	__shared__ int value;
	cg::invoke_one(block, [&] { value = 7; });
	block.sync();
	auto warp = cg::tiled_partition<32>(block);
	int mine = cg::invoke_one_broadcast(warp, [&] { return value + 1; });
	atomicAdd(out, mine);
}

__global__ void barriers(const int *in, int *out)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> filled, read;
	__shared__ int buffer[128];
	if (T == 0) {
		init(&filled, 128);
		init(&read, 128);
	}
	__syncthreads();
	int sum = 0;
	for (int i = 0; i < 3; i++) {
		buffer[T] = in[T] + i;
		auto token = filled.arrive();
		filled.wait(cuda::std::move(token));
		sum += buffer[127 - T];
		read.arrive_and_wait();
	}
	out[T] = sum;
}

__global__ void pipelines(const int *in, int *out)
{
	constexpr int stages = 2;
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
	__shared__ int buffer[stages][128];
	auto block = cg::this_thread_block();
	auto pipeline = cuda::make_pipeline(block, &state);
	int sum = 0, filled = 0;
	for (int i = 0; i < 8; i++) {
		for (; filled < 8 && filled < i + stages; filled++) {
			pipeline.producer_acquire();
			cuda::memcpy_async(block, buffer[filled % stages], in + 128 * filled,
				sizeof(buffer[0]), pipeline);
			pipeline.producer_commit();
		}
		pipeline.consumer_wait();
		sum += buffer[i % stages][127 - T];
		pipeline.consumer_release();
	}
	out[T] = sum;
}

__global__ void latches(const int *in, int *out)
{
	__shared__ cuda::latch<cuda::thread_scope_block> *latch;
	__shared__ alignas(cuda::latch<cuda::thread_scope_block>) char memory[64];
	__shared__ int buffer[128];
	if (T == 0) {
		latch = new (memory) cuda::latch<cuda::thread_scope_block>(128);
	}
	__syncthreads();
	buffer[T] = in[T];
	latch->arrive_and_wait();
	out[T] = buffer[127 - T];
}

__device__ cuda::binary_semaphore<cuda::thread_scope_device> turn(1);

__global__ void semaphores(int *out)
{
	turn.acquire();
	*out += T;
	turn.release();
}

__global__ void flags(const int *in, int *out, int *flag)
{
	cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
	if (blockIdx.x == 0) {
		out[T] = in[T];
		ready.fetch_add(1, cuda::memory_order_release);
	} else {
		while (ready.load(cuda::memory_order_acquire) != 32) {
		}
		out[32 + T] = out[31 - T];
	}
}

__global__ void ring(int *values, int *out)
{
	auto grid = cg::this_grid();
	int i = (int)grid.thread_rank(), n = (int)grid.size();
	for (int round = 0; round < 3; round++) {
		int next = values[(i + 32) % n];
		grid.sync();
		values[i] = next + round;
		grid.sync();
	}
	out[i] = values[n - 1 - i];
}
