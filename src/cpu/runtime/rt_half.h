/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_RT_HALF_H
#define CPU_RUNTIME_RT_HALF_H

/* 16-bit floats (f16) and f32, as bits, without branches: loops over them become vectors. */
#include "base/common.h"

#include <string.h>

static inline uint32_t rt_float_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float rt_bits_float(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The bits of a half, read as bits of an f32, are the number times 2^-112, subnormals included.  A
 * NaN keeps its bits. */
static inline uint32_t rt_half_to_float(uint32_t half)
{
	int32_t size = (int32_t)((half & 0x7fff) << 13);
	uint32_t finite = rt_float_bits(rt_bits_float((uint32_t)size) * 0x1p112f);
	uint32_t special = size < 0x7c00 << 13 ? 0 : 0x7f800000;
	return finite | special | (half & 0x8000) << 16;
}

/* The half nearest to a value, ties to even; 0x7fff for a NaN.  Adding 0.5 to a number below 2^-14
 * rounds it where the last bit of a subnormal half is. */
static inline uint32_t rt_float_to_half(float value)
{
	uint32_t bits = rt_float_bits(value), size = bits & 0x7fffffff;
	uint32_t tiny = rt_float_bits(rt_bits_float(size) + 0.5f) - rt_float_bits(0.5f);
	uint32_t normal = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
	normal = size < 0x47800000 ? normal : 0x7c00;
	uint32_t half = (size < 113u << 23 ? tiny : normal) | (bits >> 16 & 0x8000);
	return size > 0x7f800000 ? 0x7fff : half;
}

#endif
