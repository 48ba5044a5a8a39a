/* SPDX-License-Identifier: MIT */
/*
 * The common type of two types: numpy's table, written out, with bfloat16 beside float16 (together
 * they are float32).
 *
 * The rules behind it: bool gives way to everything.  Integers become the smallest type that holds
 * both, and float64 where there is none (int64 with uint64).  An integer with a float becomes a
 * float that holds 8-bit integers in 16 bits, 16-bit ones in 32, and larger ones in 64.  Complex
 * types follow their parts.
 */
#include "base/common.h"

#include "lib/core/dtype.h"

#define ROW(b, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128) \
	{0, KZ_##b, KZ_##i8, KZ_##i16, KZ_##i32, KZ_##i64, KZ_##u8, KZ_##u16, KZ_##u32, KZ_##u64, \
		KZ_##f16, KZ_##bf16, KZ_##f32, KZ_##f64, KZ_##c64, KZ_##c128}

/* clang-format off */
static const unsigned char table[16][16] = {
	[KZ_BOOL] = ROW(BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128),
	[KZ_I8] = ROW(I8, I8, I16, I32, I64, I16, I32, I64, F64, F16, BF16, F32, F64, C64, C128),
	[KZ_I16] = ROW(I16, I16, I16, I32, I64, I16, I32, I64, F64, F32, F32, F32, F64, C64, C128),
	[KZ_I32] = ROW(I32, I32, I32, I32, I64, I32, I32, I64, F64, F64, F64, F64, F64, C128, C128),
	[KZ_I64] = ROW(I64, I64, I64, I64, I64, I64, I64, I64, F64, F64, F64, F64, F64, C128, C128),
	[KZ_U8] = ROW(U8, I16, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128),
	[KZ_U16] = ROW(U16, I32, I32, I32, I64, U16, U16, U32, U64, F32, F32, F32, F64, C64, C128),
	[KZ_U32] = ROW(U32, I64, I64, I64, I64, U32, U32, U32, U64, F64, F64, F64, F64, C128, C128),
	[KZ_U64] = ROW(U64, F64, F64, F64, F64, U64, U64, U64, U64, F64, F64, F64, F64, C128, C128),
	[KZ_F16] = ROW(F16, F16, F32, F64, F64, F16, F32, F64, F64, F16, F32, F32, F64, C64, C128),
	[KZ_BF16] = ROW(BF16, BF16, F32, F64, F64, BF16, F32, F64, F64, F32, BF16, F32, F64, C64,
		C128),
	[KZ_F32] = ROW(F32, F32, F32, F64, F64, F32, F32, F64, F64, F32, F32, F32, F64, C64, C128),
	[KZ_F64] = ROW(F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, C128, C128),
	[KZ_C64] = ROW(C64, C64, C64, C128, C128, C64, C64, C128, C128, C64, C64, C64, C128, C64,
		C128),
	[KZ_C128] = ROW(C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128,
		C128, C128, C128),
};
/* clang-format on */

kz_dtype kz_dtype_promote(kz_dtype a, kz_dtype b)
{
	if (a < countof(table) && b < countof(table)) {
		return table[a][b];
	}
	return a == b && kz_dtype_size(a) ? a : 0;
}

int kz_dtype_can_cast(kz_dtype from, kz_dtype to)
{
	unsigned kind = dtype_kind(from);
	return kind & DTYPE_NUMBER ? dtype_is_number(to) && kind <= dtype_kind(to)
		: from == to && kz_dtype_size(from) != 0;
}
