/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "lib/order/key_order.h"
#include "lib/ops/device_code.h"

struct kz_order_of key_order_of(kz_dtype dtype, bool descending)
{
	const kz_dtype part = dtype_part(dtype);
	const bool is_float = dtype_is_float(part), is_signed = is_float || dtype_is_signed(part);
	const uint64_t infinity = part == KZ_F16 ? 0x7c00 : part == KZ_BF16 ? 0x7f80
		: part == KZ_F32 ? 0x7f800000 : UINT64_C(0x7ff) << 52;
	const int bits = key_order_bits(dtype);
	assert(bits > 0 || !is_signed);
	return (struct kz_order_of){
		.floats = is_float ? UINT64_MAX : 0,
		.infinity = is_float ? infinity : UINT64_MAX,
		.flip = (is_signed ? UINT64_C(1) << (bits - 1) : 0)
			^ (descending ? UINT64_MAX : 0),
	};
}

int key_order_bits(kz_dtype dtype)
{
	const kz_dtype part = dtype_part(dtype);
	return dtype_is_number(part) ? 8 * (int)kz_dtype_size(part) : 0;
}

int key_order_parts(kz_dtype dtype)
{
	return dtype_is_complex(dtype) ? 2 : 1;
}

const char *key_order_word(int64_t size)
{
	return size == 1 ? "unsigned char" : size == 2 ? "unsigned short"
		: size == 4 ? "unsigned int" : size == 8 ? "unsigned long long" : "ulonglong2";
}

void key_order_write(struct str *source, int bits, int parts)
{
	str_addf(source, "typedef %s kz_bits;\n#define KZ_PARTS %d\n#line 1 \"key_order.cuh\"\n",
		key_order_word(bits / 8), parts);
	str_add(source, device_key_order);
}
