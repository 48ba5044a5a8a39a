// SPDX-License-Identifier: MIT
// Kernels whose warps touch much more of global memory than they need, each at the line that ends
// in the kernel's name, and kernels that do not.  They run with 64 threads; `in` has 64 elements,
// `out` has 4096, and n is 1.
#include "planted.h"

#define KERNEL(name) extern "C" __global__ void name(int *out, const int *in, int n)
#define T ((int)threadIdx.x)

struct particle {
	int mass, place[7];
};

KERNEL(coalesce_stride)
{
	const int x = out[T * BUG(32) FIX(n)]; // coalesce_stride
	out[T] = x + n;
}

KERNEL(coalesce_rows)
{
	int sum = 0;
	for (int i = 0; i < 64; i++) {
		sum += out[BUG(T * 64 + i) FIX(i * 64 + T)]; // coalesce_rows
	}
	__syncthreads();
	out[T] = sum;
}

KERNEL(coalesce_write)
{
	out[T BUG(* 16)] = in[T]; // coalesce_write
}

KERNEL(coalesce_struct)
{
	const struct particle *all = (const struct particle *)out;
	const int mass = BUG(all[T].mass) FIX(out[T]); // coalesce_struct
	out[2048 + T] = mass;
}

KERNEL(coalesce_pairs)
{
	out[1024 + T BUG(* 2)] = in[T]; // coalesce_pairs
}

KERNEL(coalesce_mixed)
{
	const int x = out[T BUG(* 1237 & 4095)]; // coalesce_mixed
	out[T] = x * 2;
}

KERNEL(coalesce_atomic)
{
	atomicAdd(&out[T BUG(* 32)], n); // coalesce_atomic
}

KERNEL(coalesce_vector)
{
	const int4 x = ((const int4 *)out)[T BUG(* 8)]; // coalesce_vector
	out[T] = x.x + x.y + x.z + x.w;
}

KERNEL(coalesce_double)
{
	double *all = (double *)out;
	all[T BUG(* 4)] = n; // coalesce_double
}

KERNEL(coalesce_bytes)
{
	const char *all = (const char *)out;
	const int x = all[T BUG(* 64)]; // coalesce_bytes
	out[T] = x;
}

__device__ int load(const int *from, int i)
{
	return from[i]; // coalesce_inlined
}

KERNEL(coalesce_inlined)
{
	out[T] = load(out, T BUG(* 17)); // coalesce_inlined
}

KERNEL(coalesce_divergent)
{
	if (T & 1) {
		out[T BUG(* 33)] = n; // coalesce_divergent
	}
}

KERNEL(good_row)
{
	out[T] = in[T];
}

KERNEL(good_broadcast)
{
	out[T] = in[n] + in[T / 32];
}

KERNEL(good_reverse)
{
	out[63 - T] = in[T ^ 5];
}

KERNEL(good_offset)
{
	out[T] = out[T + 1 + 64 * n];
}

KERNEL(good_wide)
{
	((int4 *)out)[T] = make_int4(T, n, n, n);
	((double2 *)out)[T + 64] = make_double2(T, n);
}

KERNEL(good_small)
{
	((char *)out)[T] = (char)in[T];
	((short *)out)[T + 512] = (short)n;
}

KERNEL(good_few)
{
	if (T == 0) {
		out[n * 1000] = n;
	}
}

KERNEL(good_shared)
{
	__shared__ int s[2048];
	s[T * 32] = in[T];
	__syncthreads();
	out[T] = s[(63 - T) * 32];
}

KERNEL(good_local)
{
	int own[16];
	for (int i = 0; i < 16; i++) {
		own[i] = in[i] + T;
	}
	out[T] = own[in[T] & 15];
}
