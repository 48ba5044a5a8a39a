// SPDX-License-Identifier: MIT
// Kernels that use memory before it was written, each at the line that ends in the kernel's name,
// and kernels that only move such memory.  They run with 64 threads; `in` has 64 elements of which
// the first 32 are written, `out` has 64, and n is 1.
#include "planted.h"

#define KERNEL(name) extern "C" __global__ void name(int *out, const int *in, int n)
#define T ((int)threadIdx.x)

struct padded {
	char tag;
	long long value;
};

struct flagged {
	int flag;
	double value;
};

KERNEL(init_add)
{
	out[T] = in[T FIX(/ 2)] + n; // init_add
}

KERNEL(init_branch)
{
	if (in[T FIX(/ 2)] > 5) { // init_branch
		out[T] = 1;
	}
}

KERNEL(init_address)
{
	out[in[T FIX(/ 2)] & 63] = 1; // init_address
}

KERNEL(init_float)
{
	out[T] = (int)(((const float *)in)[T FIX(/ 2)] * 2); // init_float
}

KERNEL(init_shared)
{
	__shared__ int a[64];
	if (T < 32 FIX(+ 32)) {
		a[T] = T;
	}
	__syncthreads();
	out[T] = a[63 - T] + 1; // init_shared
}

KERNEL(init_tail)
{
	__shared__ int a[65];
	a[T] = T;
	__syncthreads();
	out[T] = a[T] - a[T BUG(+ n)]; // init_tail
}

KERNEL(init_local)
{
	int a[20], sum = 0;
	for (int i = 0; i < 18 + n FIX(+ n); i++) {
		a[i * 7 % 20] = i;
	}
	for (int i = 0; i < 20; i++) {
		sum += a[i * (n + 2) % 20]; // init_local
	}
	out[T] = sum;
}

KERNEL(init_loop)
{
	int sum = 0;
	for (int i = 0; i < 32 BUG(+ n); i++) {
		sum += in[i]; // init_loop
	}
	out[T] = sum;
}

KERNEL(init_atomic)
{
	atomicAdd((int *)in + T FIX(/ 2), 1); // init_atomic
}

KERNEL(init_histogram)
{
	__shared__ int h[64];
	FIX(h[T] = 0;)
	atomicAdd(&h[T], 1); // init_histogram
	__syncthreads();
	out[T] = h[T];
}

KERNEL(init_byte)
{
	out[T] = ((const unsigned char *)in)[T BUG(+ 96)] + n; // init_byte
}

KERNEL(init_short)
{
	out[T] = ((const short *)in)[T BUG(+ 32)] * 3; // init_short
}

KERNEL(init_long)
{
	out[T] = (int)(((const long long *)in)[T / FIX(4) BUG(2)] * 3); // init_long
}

KERNEL(init_double)
{
	out[T] = (int)(((const double *)in)[T / FIX(4) BUG(2)] * 3); // init_double
}

KERNEL(init_vector)
{
	int4 v = ((const int4 *)in)[T / FIX(8) BUG(4)]; // init_vector
	out[T] = v.y * v.z;
}

KERNEL(init_copied)
{
	__shared__ int a[64];
	a[T] = in[T FIX(/ 2)];
	__syncthreads();
	out[T] = a[63 - T] * 3; // init_copied
}

__device__ int load(const int *p, int i)
{
	return p[i]; // init_inlined
}

KERNEL(init_inlined)
{
	out[T] = load(in, T FIX(/ 2)) + 1;
}

KERNEL(init_divergent)
{
	if (T & 1) {
		out[T] = in[T FIX(/ 2)] * 3; // init_divergent
	}
}

KERNEL(init_shuffle)
{
	int v = in[T FIX(/ 2)]; // init_shuffle
	out[T] = v + __shfl_xor_sync(~0u, v, 1);
}

KERNEL(init_dynamic)
{
	extern __shared__ int d[];
	d[T BUG(/ 2)] = T;
	__syncthreads();
	out[T] = d[T] ^ 5; // init_dynamic
}

namespace ns {
template <typename E, int N>
__global__ void init_scale(int *out, const E *in, int n)
{
	out[T] = in[T FIX(/ 2)] * N + n; // ns::init_scale<int, 3>
}
template __global__ void init_scale<int, 3>(int *, const int *, int);
}

KERNEL(init_last)
{
	__shared__ int a[64];
	a[T] = T;
	__syncthreads();
	out[T] = a[T];
	if (T == 63) {
		out[0] += in[T FIX(/ 2)]; // init_last
	}
}

KERNEL(init_fixed_branch)
{
	__shared__ int h;
	if (in[T & 31] FIX(== 0 && T == 0) BUG(> 0)) {
		h = T;
	}
	__syncthreads();
	if (h > n) { // init_fixed_branch
		out[T] = 1;
	}
}

KERNEL(init_fixed_result)
{
	__shared__ int h[4];
	if (T < 3 FIX(+ 1)) {
		h[T] = T;
	}
	__syncthreads();
	out[T] = 3 * h[3] + n; // init_fixed_result
}

KERNEL(init_fixed_bits)
{
	__shared__ int h[4];
	if (T < 3 FIX(+ 1)) {
		h[T] = T;
	}
	__syncthreads();
	out[T] = (h[3] ^ n) >> 1; // init_fixed_bits
}

KERNEL(init_fixed_vector)
{
	__shared__ int4 h;
	FIX(h = make_int4(1, 2, 3, n);)
	BUG(((int *)&h)[n] = n;)
	__syncthreads();
	int4 v = h; // init_fixed_vector
	*(int2 *)(out + 2 * (T & 15)) = make_int2(v.x, v.w * 3);
}

KERNEL(init_counter)
{
	int old;
	asm volatile("{ .shared .align 4 .u32 count; "
		FIX("st.shared.u32 [count], 0; bar.sync 0; ")
		"atom.shared.add.u32 %0, [count], %1; }" : "=r"(old) : "r"(n)); // init_counter
	out[T] = old;
}

KERNEL(init_exchange)
{
	out[T] = atomicExch((int *)in + T FIX(/ 2), n) + n; // init_exchange
}

KERNEL(init_heap)
{
	int *own = (int *)malloc(8);
	own[0] = in[0];
	FIX(own[1] = 0;)
	out[T] = own[n] + 1; // init_heap
	free(own);
}

KERNEL(good_exchange)
{
	__shared__ int last;
	atomicExch(&last, T);
	__syncthreads();
	out[T] = atomicExch((int *)in + T, last);
}

KERNEL(good_copy)
{
	out[T] = in[T];
}

KERNEL(good_bytes)
{
	for (int i = 0; i < 4; i++) {
		((char *)out)[4 * T + i] = ((const char *)in)[4 * T + i];
	}
}

KERNEL(good_rotated)
{
	unsigned v = in[T], w;
	asm("bfe.u32 %0, %1, 8, 16; bfi.b32 %0, %0, %1, 16, 16;" : "=&r"(w) : "r"(v));
	out[T] = T & 1 ? w : v << 8 | v >> 24;
}

KERNEL(good_padding)
{
	if (T < 16) {
		((padded *)out)[T] = ((const padded *)in)[T];
	}
}

KERNEL(good_halves)
{
	__shared__ padded a[64];
	a[T].tag = (char)T;
	a[T].value = T;
	__syncthreads();
	padded p = a[63 - T];
	out[T] = p.tag + (int)p.value;
}

KERNEL(good_flag)
{
	__shared__ flagged a[64];
	flagged f = {T & 1, (double)T};
	a[T].flag = f.flag;
	a[T].value = f.value;
	__syncthreads();
	f = a[63 - T];
	out[T] = f.flag ? (int)f.value : 3;
}

KERNEL(good_vector)
{
	if (T < 16) {
		((int4 *)out)[T] = ((const int4 *)in)[T];
	}
}

KERNEL(good_select)
{
	int v = in[T];
	out[T] = n > 0 ? v : 7;
}

KERNEL(good_shuffle)
{
	out[T] = __shfl_xor_sync(~0u, in[T], 1);
}

KERNEL(good_guarded)
{
	if (T + n < 32) {
		out[T] = in[T + n] * 3;
	}
}

/* The compiler moves the load in front of the condition. */
KERNEL(good_fixed)
{
	__shared__ int h[2];
	if (n > 5) {
		h[0] = T;
		h[1] = T;
	}
	__syncthreads();
	int x = n > 5 ? h[0] * 2 : 7;
	if (n > 5 && h[1] == 9) {
		x++;
	}
	out[T] = x;
}
