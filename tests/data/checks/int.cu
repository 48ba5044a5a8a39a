// SPDX-License-Identifier: MIT
// Kernels with integers that do not fit, shifts by too much and divisions by zero, each at the line
// that ends in the kernel's name, and kernels that only look so.  They run with 64 threads; `in`
// has 64 zeros, `out` has room, and n is 1.
#include "planted.h"

#define KERNEL(name) extern "C" __global__ void name(int *out, const int *in, int n)
#define T ((int)threadIdx.x)
#define MOST 0x7fffffff
#define LEAST (-MOST - 1)

KERNEL(int_index)
{
	const int rows = in[T] + 50000, columns = n * 50000 FIX(- 10000);
	const int at = rows * columns; // int_index
	out[max(at, T) & 63] = n;
}

KERNEL(int_sum)
{
	int sum = in[T] + MOST - 62 FIX(- 1);
	sum = sum + T; // int_sum
	out[T] = sum / 2;
}

KERNEL(int_difference)
{
	const int a = in[T] + LEAST FIX(+ 1);
	((float *)out)[T] = a - n; // int_difference
}

KERNEL(int_negation)
{
	const int a = in[T] + LEAST FIX(+ 1);
	out[T] = max(-a, T); // int_negation
}

KERNEL(int_absolute)
{
	const int a = in[T] + LEAST FIX(+ 1);
	out[T] = min(abs(a), T); // int_absolute
}

KERNEL(int_long)
{
	const long long a = in[T] + (1LL << 40);
	const long long b = a * (a FIX(>> 20)); // int_long
	out[T] = b < n * 1000LL;
}

KERNEL(int_shift)
{
	out[T] = 1 << (T FIX(& 31)); // int_shift
}

KERNEL(int_shift_of_long)
{
	out[T] = (int)(0xffffLL * n >> (T BUG(+ n))); // int_shift_of_long
}

KERNEL(int_product)
{
	const int a = max(in[T], n * 600000000 FIX(/ 4));
	const int b = a * 4; // int_product
	((float *)out)[T] = b;
}

KERNEL(int_bit_test)
{
	if (n << (T BUG(- 1) FIX(& 31)) & 8) { // int_bit_test
		out[T] = 1;
	}
}

KERNEL(int_division)
{
	out[T] = T / (in[T] FIX(+ n)); // int_division
}

KERNEL(int_remainder)
{
	out[T] = 100 % ((unsigned)T FIX(+ n)); // int_remainder
}

KERNEL(int_quotient)
{
	const int a = in[T] + LEAST FIX(+ 1);
	out[T] = a / (in[T] - n); // int_quotient
}

KERNEL(int_loop)
{
	int product = in[T] + 1;
	for (int i = 1; i <= 12 BUG(+ n); i++) {
		product = product * i; // int_loop
	}
	out[product % 64] = 1;
}

__device__ int area(int width, int height)
{
	return width * height; // int_inlined
}

KERNEL(int_inlined)
{
	const int all = area((T + 1) << 10, 1 << 15 FIX(>> 1)); // int_inlined
	out[T] = all < n;
}

// What wraps on purpose, or may.
KERNEL(good_hash)
{
	unsigned hash = 2166136261u;
	for (int i = 0; i < 8; i++) {
		hash = (hash ^ (unsigned)(in[T] + T * i & 255)) * 16777619u;
	}
	out[hash % 64] = (int)(hash >> 8);
}

KERNEL(good_mixed)
{
	unsigned long long h = (unsigned long long)(in[T] + T) + 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	out[(h ^ h >> 31) & 63] = (int)(h >> 32);
}

KERNEL(good_random)
{
	unsigned seed = (unsigned)(in[T] + T);
	for (int i = 0; i < 10; i++) {
		seed = seed * 1664525u + 1013904223u;
	}
	((float *)out)[T] = (seed >> 8) * 0x1p-24f;
	out[64 + T] = seed & 0x80000000u ? 1 : 2;
}

KERNEL(good_unsigned_index)
{
	const unsigned back = (unsigned)in[T] - (unsigned)n;
	out[back + 65 > 64 ? back + 1u : 0] = 1;
}

KERNEL(good_rotation)
{
	const unsigned x = (unsigned)(in[T] + 12345);
	out[T] = (int)__funnelshift_l(x, x, T);
}

KERNEL(good_guarded_shift)
{
	out[T] = T < 32 ? n << T : 0;
	if (T < 32 && (0x55555555 >> T & 1)) {
		out[64 + T] = 1;
	}
}

KERNEL(good_guarded_division)
{
	out[T] = in[T] != 0 ? T / in[T] : -1;
}

KERNEL(good_range_test)
{
	const int x = in[T] + LEAST + T;
	out[T] = (unsigned)(x - 10) < 20u;
}

KERNEL(good_long_shift)
{
	__int128 x = in[T] + 1;
	x <<= T + T;
	out[T] = (int)(x >> 64) + (int)x;
}

KERNEL(good_float_bits)
{
	const float x = (float)(in[T] + T + 1);
	((float *)out)[T] = logf(x) + powf(x, -3) + sinf(x * 1e6f) + (float)cos(x * 1e8);
}
