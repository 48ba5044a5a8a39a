// SPDX-License-Identifier: MIT
// Kernels with one wrong access each, at the line that ends in the kernel's name, and kernels that
// look as if they had one.  They run with 64 threads; `in` and `out` have 64 elements, and n is 1.
#include "planted.h"

#define KERNEL(name) extern "C" __global__ void name(int *out, const int *in, int n)
#define T ((int)threadIdx.x)
#define AT(pointer) ((unsigned)__cvta_generic_to_shared(pointer))

__constant__ int table[16];
__device__ int counters[8], after_counters[8];

struct pair {
	int first, second;
};

KERNEL(read_after)
{
	out[T] = in[T FIX(* n) BUG(+ n)]; // read_after
}

KERNEL(read_before)
{
	out[T] = in[T FIX(* n) BUG(- n)]; // read_before
}

KERNEL(write_after)
{
	out[T FIX(* n) BUG(+ n)] = T; // write_after
}

KERNEL(write_before)
{
	out[T FIX(* n) BUG(- n)] = T; // write_before
}

KERNEL(read_vector)
{
	int4 v = ((const int4 *)in)[T FIX(/ 4)]; // read_vector
	out[T] = v.x + v.w;
}

KERNEL(misaligned)
{
	out[T] = *(const int *)((const char *)in + FIX(4 * T) BUG(n + T)); // misaligned
}

KERNEL(shared_after)
{
	__shared__ int a[64], b[64];
	a[T] = T;
	b[T] = T;
	__syncthreads();
	out[T] = a[T FIX(* n) BUG(+ n)] + b[63 - T]; // shared_after
}

KERNEL(shared_before)
{
	__shared__ int a[64], b[64];
	a[T] = T;
	__syncthreads();
	b[T FIX(* n) BUG(- n)] = a[63 - T]; // shared_before
	__syncthreads();
	out[T] = b[63 - T];
}

KERNEL(dynamic_after)
{
	extern __shared__ int d[];
	d[T FIX(* n) BUG(+ n)] = T; // dynamic_after
	__syncthreads();
	out[T] = d[63 - T];
}

KERNEL(local_after)
{
	int a[16 FIX(+ 1)];
	for (int i = 0; i < 16 + n; i++) {
		a[i * 3 % 17] = in[i]; // local_after
	}
	out[T] = a[in[T] & 15];
}

KERNEL(constant_after)
{
	out[T] = table[T FIX(/ 4)]; // constant_after
}

KERNEL(variable_after)
{
	counters[T FIX(/ 8)] = T; // variable_after
	after_counters[0] = 1;
}

KERNEL(atomic_after)
{
	atomicAdd(&out[T FIX(* n) BUG(+ n)], 1); // atomic_after
}

KERNEL(shared_atomic)
{
	__shared__ int h[32], g[32];
	h[T & 31] = 0;
	g[T & 31] = 0;
	__syncthreads();
	atomicAdd(&h[T FIX(/ 2)], 1); // shared_atomic
	__syncthreads();
	out[T] = h[T & 31] + g[T & 31];
}

KERNEL(freed)
{
	out[T] = in[T]; // freed
}

KERNEL(host)
{
	out[T] = in[T]; // host
}

KERNEL(null)
{
	out[T] = in[T]; // null
}

KERNEL(loop)
{
	int sum = 0;
	for (int i = 0; i <= 63 BUG(+ n); i++) {
		sum += in[i]; // loop
	}
	out[T] = sum;
}

__device__ int load(const int *p, int i)
{
	return p[i]; // inlined
}

KERNEL(inlined)
{
	out[T] = load(in, T FIX(* n) BUG(+ n)) + 1;
}

namespace ns {
template <typename E>
struct view {
	E *data;
	__device__ E operator[](int i) const
	{
		return data[i]; // member_function
	}
};
}

KERNEL(member_function)
{
	ns::view<const int> view = {in};
	out[T] = view[T FIX(* n) BUG(+ n)] + 1;
}

namespace ns {
__shared__ int tile[64];
}

KERNEL(namespace_after)
{
	ns::tile[T FIX(* n) BUG(+ n)] = T; // namespace_after
	__syncthreads();
	out[T] = ns::tile[63 - T];
}

KERNEL(async)
{
	__shared__ int a[64], b[64];
	unsigned to = AT(&a[T FIX(* n) BUG(+ n)]);
	b[T] = 0;
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + T)); // async
	asm volatile("cp.async.wait_all;");
	__syncthreads();
	out[T] = a[T] + b[T];
}

KERNEL(divergent)
{
	if (T & 1) {
		out[T BUG(+ 62)] = T; // divergent
	}
}

KERNEL(member)
{
	out[T] = ((const pair *)in)[T / 2 BUG(+ n)].second; // member
}

KERNEL(heap_after)
{
	int *own = (int *)malloc(20);
	for (int i = 0; i < 5 * n BUG(+ 1); i++) {
		own[i] = in[i]; // heap_after
	}
	out[T] = own[n];
	free(own);
}

KERNEL(heap_freed)
{
	int *own = (int *)malloc(16);
	own[n] = in[T];
	BUG(free(own);)
	out[T] = own[n]; // heap_freed
	FIX(free(own);)
}

KERNEL(heap_freed_twice)
{
	int *own = (int *)malloc(16);
	own[n] = in[T];
	out[T] = own[n];
	free(own);
	BUG(free(own);) // heap_freed_twice
}

KERNEL(ldmatrix_after)
{
	__shared__ __align__(16) int a[128], b[128];
	int r[4];
	for (int i = T; i < 128; i += 64) {
		a[i] = b[i] = i;
	}
	__syncthreads();
	const int *row = a + 4 * ((T & 31) * n BUG(+ n));
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(AT(row))); // ldmatrix_after
	out[T] = r[0] + r[1] + r[2] + r[3] + b[T];
}

KERNEL(stmatrix_before)
{
	__shared__ __align__(16) int b[32], a[32];
	int *row = a + 4 * ((T & 7) BUG(- 1));
	a[T & 31] = b[T & 31] = 0;
	__syncwarp();
	asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(AT(row)), "r"(T)); // stmatrix_before
	__syncwarp();
	out[T] = a[T & 31] + b[T & 31];
}

KERNEL(wmma_after)
{
	int r;
	asm volatile("wmma.load.a.sync.aligned.row.m8n8k32.global.u4 {%0}, [%1], %2;" : "=r"(r) : "l"(in + 32), "r"(32 BUG(+ 32))); // wmma_after
	out[T] = r;
}

KERNEL(copy_tail)
{
	__shared__ int a[64];
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(AT(a + T)), "l"(in + T + 32), "r"(T FIX(+ 1) < 33 ? 4 : 0)); // copy_tail
	asm volatile("cp.async.wait_all;");
	__syncthreads();
	out[T] = a[63 - T];
}

KERNEL(bulk_after)
{
	__shared__ __align__(16) int a[64];
	__shared__ long long done;
	if (T == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(AT(&done)));
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(AT(&done)));
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(AT(a)), "l"(in BUG(+ 4)), "r"(256), "r"(AT(&done)) : "memory"); // bulk_after
	}
	__syncthreads();
	out[T] = a[T];
}

KERNEL(bulk_too_long)
{
	__shared__ __align__(16) int a[60], b[64];
	a[T % 60] = b[T] = T;
	__syncthreads();
	if (T == 0) {
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(out), "r"(AT(a)), "r"(240 BUG(+ 16)) : "memory"); // bulk_too_long
		asm volatile("cp.async.bulk.commit_group;");
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
	}
}

KERNEL(mbarrier_after)
{
	__shared__ long long done[2], after;
	if (T == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(AT(&done[n BUG(+ n)]))); // mbarrier_after
		after = 1;
		out[0] = (int)after;
	}
}

KERNEL(good_matrix)
{
	__shared__ __align__(16) int a[64];
	int r, q;
	a[T] = in[T];
	__syncthreads();
	const int *row = a + 4 * (T & 31); // of which only the first 16 lanes have one
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r), "=r"(q) : "r"(AT(row)));
	out[T] = r + q;
}

KERNEL(good_shared)
{
	__shared__ int a[64];
	a[T] = T;
	__syncthreads();
	out[T] = a[63 - T] * 3;
}

KERNEL(good_local)
{
	int a[16];
	for (int i = 0; i < 16; i++) {
		a[i * 3 % 16] = i;
	}
	out[T] = a[(T + n) & 15] * 3;
}

KERNEL(good_bounds)
{
	if (T + n < 64) {
		out[T] = in[T + n] * 3;
	}
}

KERNEL(good_atomics)
{
	__shared__ int h[4];
	if (T < 4) {
		h[T] = 0;
	}
	__syncthreads();
	atomicAdd(&h[T & 3], 1);
	__syncthreads();
	atomicMax(&out[T], h[T & 3]);
}

KERNEL(good_dynamic)
{
	extern __shared__ int d[];
	int *half = d + 32;
	d[T] = T;
	__syncthreads();
	out[T] = half[-32 + T] + half[31 - T / 2];
}

KERNEL(good_last)
{
	out[63 - T] = in[T & 31] + table[T & 15] + counters[T & 7];
}
