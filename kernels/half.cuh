/* SPDX-License-Identifier: MIT */
/* float16 and bfloat16 of generated kernels: 16 bits in memory, floats that they can hold in
 * between. */
struct kz_f16 { unsigned short bits; };
struct kz_bf16 { unsigned short bits; };
__device__ inline float kz_float(kz_f16 a)
{
	float out;
	asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(a.bits));
	return out;
}
__device__ inline kz_f16 kz_half(float a)
{
	kz_f16 out;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(a));
	return out;
}
__device__ inline kz_f16 kz_half(double a)
{
	kz_f16 out;
	asm("cvt.rn.f16.f64 %0, %1;" : "=h"(out.bits) : "d"(a));
	return out;
}
__device__ inline float kz_float(kz_bf16 a) { return __int_as_float((int)a.bits << 16); }
/* To the nearest, halves to even; a NaN stays one. */
__device__ inline kz_bf16 kz_bhalf(float a)
{
	unsigned int bits = (unsigned int)__float_as_int(a);
	kz_bf16 out;
	out.bits = (unsigned short)(a != a ? bits >> 16 | 0x40
		: (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
	return out;
}
template <class T> __device__ kz_f16 kz_to_f16(T a) { return kz_half((float)a); }
template <> __device__ kz_f16 kz_to_f16(double a) { return kz_half(a); }
/* The float before a number, made odd if it is not that number: rounded, as if the number was. */
__device__ inline float kz_odd(float near, bool exact)
{
	return exact ? near : __int_as_float(__float_as_int(near) | 1);
}
__device__ inline float kz_odd(float a) { return a; }
__device__ inline float kz_odd(double a)
{
	float near = __double2float_rz(a);
	return kz_odd(near, near == a);
}
__device__ inline float kz_odd(unsigned long long a)
{
	float near = __ull2float_rz(a);
	return kz_odd(near, (unsigned long long)near == a);
}
template <class T> __device__ float kz_odd(T a)
{
	float near = __ll2float_rz((long long)a);
	return kz_odd(near, (long long)near == a);
}
template <class T> __device__ kz_bf16 kz_to_bf16(T a) { return kz_bhalf(kz_odd(a)); }
