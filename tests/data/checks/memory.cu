// SPDX-License-Identifier: MIT
// Kernels with one wrong access each, at the line that ends in the kernel's name, and kernels that
// look as if they had one.  They run with 64 threads; `in` and `out` have 64 elements, and n is 1.
#include "planted.h"

#define KERNEL(name) extern "C" __global__ void name(int *out, const int *in, int n)
#define T ((int)threadIdx.x)

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
	unsigned to = (unsigned)__cvta_generic_to_shared(&a[T FIX(* n) BUG(+ n)]);
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
