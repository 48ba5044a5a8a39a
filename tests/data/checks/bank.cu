// SPDX-License-Identifier: MIT
// Kernels whose warps want different words of one bank of shared memory, each at the line that ends
// in the kernel's name, and kernels whose warps do not.  They run with 64 threads; `in` has 64
// zeros, `out` has 4096 elements, and n is 1.
#include "planted.h"

#define KERNEL(name) extern "C" __global__ void name(int *out, const int *in, int n)
#define T ((int)threadIdx.x)
#define SHARED(type, count) \
	__shared__ type s[count]; \
	((int *)s)[T] = in[T]; \
	__syncthreads()

struct color {
	int red, green, blue, alpha;
};

KERNEL(bank_pairs)
{
	SHARED(int, 2048);
	out[T] = s[T BUG(* 2)]; // bank_pairs
}

KERNEL(bank_column)
{
	SHARED(int, 2112);
	out[T] = s[T * 32 FIX(+ T)]; // bank_column
}

KERNEL(bank_write)
{
	SHARED(int, 2048);
	s[T BUG(* 8)] = T; // bank_write
	__syncthreads();
	out[T] = s[T];
}

KERNEL(bank_atomic)
{
	SHARED(int, 2048);
	atomicAdd(&s[T BUG(* 16)], n); // bank_atomic
	__syncthreads();
	out[T] = s[T];
}

KERNEL(bank_double)
{
	SHARED(double, 512);
	((double *)out)[T] = s[T BUG(* 4)]; // bank_double
}

KERNEL(bank_vector)
{
	SHARED(int4, 256);
	((int4 *)out)[T] = s[T BUG(* 2)]; // bank_vector
}

KERNEL(bank_transpose)
{
	__shared__ int s[32][32 FIX(+ 1)];
	for (int y = threadIdx.y; y < 32; y += blockDim.y) {
		s[y][T] = in[T] + y;
	}
	__syncthreads();
	for (int y = threadIdx.y; y < 32; y += blockDim.y) {
		out[y * 32 + T] = s[T][y]; // bank_transpose
	}
}

KERNEL(bank_struct)
{
	SHARED(struct color, 128);
	const int red = BUG(s[T].red) FIX(((int *)s)[T]); // bank_struct
	out[T] = red;
}

KERNEL(bank_generic)
{
	SHARED(int, 2048);
	const int *from = n == 1 ? s : in;
	out[T] = from[T BUG(* 32)]; // bank_generic
}

__device__ int load(const int *from, int i)
{
	return from[i]; // bank_inlined
}

KERNEL(bank_inlined)
{
	SHARED(int, 2048);
	out[T] = load(s, T BUG(* 4)); // bank_inlined
}

KERNEL(bank_dynamic)
{
	extern __shared__ int d[];
	d[T] = in[T];
	__syncthreads();
	out[T] = d[T BUG(* 2 % 64)]; // bank_dynamic
}

KERNEL(bank_short)
{
	SHARED(short, 4096);
	out[T] = s[T BUG(* 4)]; // bank_short
}

KERNEL(good_row)
{
	SHARED(int, 64);
	out[T] = s[63 - T] + s[T ^ 9];
}

KERNEL(good_broadcast)
{
	SHARED(int, 64);
	out[T] = s[n] + s[T / 8];
}

KERNEL(good_double)
{
	SHARED(double, 64);
	((double *)out)[T] = s[63 - T];
}

KERNEL(good_vector)
{
	SHARED(int4, 64);
	((int4 *)out)[T] = s[T];
}

KERNEL(good_small)
{
	SHARED(char, 256);
	out[T] = s[T] + ((short *)s)[T];
}

KERNEL(good_odd)
{
	SHARED(int, 2048);
	out[T] = s[T * 5] + s[T * 31];
}

KERNEL(good_same)
{
	SHARED(int, 64);
	atomicAdd(&s[n], n);
	__syncthreads();
	out[T] = s[T];
}

KERNEL(good_global)
{
	out[T * 32] = in[T];
}

KERNEL(good_few)
{
	SHARED(int, 64);
	if (T == 3) {
		out[T] = s[n];
	}
}
