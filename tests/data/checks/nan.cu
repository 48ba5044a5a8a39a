// SPDX-License-Identifier: MIT
// Kernels that make NaN or an infinity out of finite numbers, each at the line that ends in the
// kernel's name, and kernels in which that does no harm.  They run with 64 threads; `in` has 64
// zeros, `out` has room, and n is 1.
#include <cuda_fp16.h>

#include "planted.h"

#define KERNEL(name) extern "C" __global__ void name(int *out, const int *in, int n)
#define T ((int)threadIdx.x)
#define F ((float *)out)
#define D ((double *)out)
#define X ((float)in[T])
#define NOT_A_NUMBER __int_as_float(0x7fc00000)
#define INFINITE __int_as_float(0x7f800000)

KERNEL(nan_divide)
{
	float total = X;
	float mean = total / (X FIX(+ n)); // nan_divide
	F[T] = mean + 1;
}

KERNEL(nan_sqrt)
{
	F[T] = sqrtf(X BUG(- n)); // nan_sqrt
}

KERNEL(nan_log)
{
	F[T] = logf(X FIX(+ n)); // nan_log
}

KERNEL(nan_exp)
{
	float x = X + 100 FIX(- 50);
	F[T] = expf(x); // nan_exp
}

KERNEL(nan_double)
{
	double big = n * 1e200;
	D[T] = big * BUG(big) FIX(n); // nan_double
}

KERNEL(nan_convert)
{
	double big = n FIX(* 1e30) BUG(* 1e300);
	F[T] = (float)big; // nan_convert
}

KERNEL(nan_half)
{
	__half big = __int2half_rn(60000 * n FIX(- 50000));
	((__half *)out)[T] = __hadd(big, big); // nan_half
}

KERNEL(nan_sum)
{
	float sum = X;
	for (int i = 0; i < 50 * n; i++) {
		sum = sum * BUG(10) FIX(0.5f) + T + 1; // nan_sum
	}
	F[T] = sum;
}

__device__ float inverse(float x)
{
	return 1 / x; // nan_inlined
}

KERNEL(nan_inlined)
{
	F[T] = inverse(X FIX(+ n)) * 0.5f; // nan_inlined
}

KERNEL(nan_divergent)
{
	float x = T + 1;
	if (T % 2 == 1) {
		x = T / (X + (T BUG(- 33))); // nan_divergent
	}
	F[T] = x;
}

KERNEL(nan_shuffled)
{
	float x = 2.0f * T;
	x = rsqrtf(x FIX(+ n)); // nan_shuffled
	for (int lanes = 16; lanes > 0; lanes /= 2) {
		x += __shfl_down_sync(~0u, x, lanes);
	}
	if (T == 32) {
		F[0] = x;
	}
}

KERNEL(nan_shared)
{
	__shared__ float s[64];
	s[T] = T / (X + 63 - T FIX(+ n)); // nan_shared
	__syncthreads();
	F[T] = s[63 - T];
}

KERNEL(nan_log_of_negative)
{
	D[T] = log((double)(X BUG(- n) FIX(+ n))); // nan_log_of_negative
}

KERNEL(nan_power)
{
	F[T] = powf(n BUG(* -2), X + 0.5f); // nan_power
}

KERNEL(nan_remainder)
{
	D[T] = fmod((double)n, (double)(X FIX(+ n))); // nan_remainder
}

// Numbers that were wrong before the kernel.
KERNEL(good_input)
{
	const float none = in[T] + 0x7fc00000 == 0x7fc00000 ? NOT_A_NUMBER : n;
	F[T] = none * 2 + sqrtf(none) - none / 3;
}

KERNEL(good_infinite_input)
{
	const float big = in[T] == 0 ? INFINITE : n;
	F[T] = big - big + 1 / big;
}

KERNEL(good_minimum)
{
	float least = INFINITE;
	for (int i = 0; i < 64; i++) {
		least = fminf(least, in[i] + T);
	}
	F[T] = least;
}

KERNEL(good_selected)
{
	const float x = X;
	F[T] = x != 0 ? __fdividef(n, x) : 0;
}

KERNEL(good_branch)
{
	if (X != 0) {
		F[T] = n / X;
	}
}

KERNEL(good_functions)
{
	const float zero = X;
	F[T] = atan2f(zero, zero) + hypotf(zero, zero) + powf(zero, n) + fmodf(zero, n)
		+ expf(-200.0f * n) + (float)atan2((double)zero, (double)zero);
}

KERNEL(good_maximum)
{
	F[T] = fmaxf(n / X * 0, n);
}

KERNEL(good_no_hit)
{
	const float root = T - 32 - X;
	F[T] = root < 0 ? INFINITE : sqrtf(root);
}

KERNEL(good_compared)
{
	if (!(n / X > 5)) {
		out[T] = 1;
	}
}
