/* SPDX-License-Identifier: MIT */
#include "base/common.h"

#include "core/dtype.h"
#include "math/key_order.h"
#include "ops/device_code.h"

enum { UNSIGNED, SIGNED, FLOATING };

struct key_order key_order_of(kz_dtype dtype)
{
	const kz_dtype part = dtype_part(dtype);
	struct key_order order = {
		.bits = part < KZ_DTYPE_STRUCT ? 8 * (int)kz_dtype_size(part) : 0,
		.parts = dtype_is_complex(dtype) ? 2 : 1,
		.kind = dtype_is_float(part) ? FLOATING : part >= KZ_I8 && part <= KZ_I64 ? SIGNED : UNSIGNED,
	};
	if (order.kind == FLOATING) {
		order.infinity = part == KZ_F16 ? 0x7c00 : part == KZ_BF16 ? 0x7f80
			: part == KZ_F32 ? 0x7f800000 : UINT64_C(0x7ff) << 52;
	}
	return order;
}

struct key_order_value key_order_value(kz_dtype dtype, bool descending)
{
	const struct key_order order = key_order_of(dtype);
	const bool floats = order.kind == FLOATING;
	const uint64_t sign = order.kind == UNSIGNED ? 0 : UINT64_C(1) << (order.bits - 1);
	return (struct key_order_value){floats ? UINT64_MAX : 0, floats ? order.infinity : UINT64_MAX,
		sign ^ (descending ? UINT64_MAX : 0)};
}

const char *key_order_word(int64_t size)
{
	return size == 1 ? "unsigned char" : size == 2 ? "unsigned short"
		: size == 4 ? "unsigned int" : size == 8 ? "unsigned long long" : "ulonglong2";
}

void key_order_write(struct str *source, kz_dtype dtype)
{
	const struct key_order order = key_order_of(dtype);
	str_addf(source, "typedef %s kz_bits;\n#define KZ_PARTS %d\n#define KZ_ORDER %d\n"
		"#define KZ_INFINITY 0x%llxull\n#line 1 \"key_order.cuh\"\n", key_order_word(order.bits / 8),
		order.parts, order.kind, (unsigned long long)order.infinity);
	str_add(source, device_key_order);
}

void key_order_write_sized(struct str *source, int bits, int parts)
{
	str_addf(source, "typedef %s kz_bits;\n#define KZ_PARTS %d\n#line 1 \"key_order.cuh\"\n",
		key_order_word(bits / 8), parts);
	str_add(source, device_key_order);
}
