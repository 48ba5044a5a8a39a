/* SPDX-License-Identifier: MIT */
/*
 * Surfaces: loads, stores and reductions at texels of an image.  An unformatted access moves bytes.
 * A formatted store converts each channel; integers and normalized ones saturate.
 */
#include "base/common.h"

#include "cpu/runtime/rt_half.h"
#include "cpu/runtime/texture_fetch.h"

#include <math.h>
#include <string.h>

/* Check one coordinate, or clamp it.  False if it lies outside and is not clamped. */
static bool surface_bring_inside(int64_t *at, int64_t last, uint32_t bounds)
{
	bool is_inside = *at >= 0 && *at <= last;
	if (!is_inside && bounds == SURFACE_CLAMP) {
		*at = *at < 0 ? 0 : last;
		return true;
	}
	return is_inside;
}

/* The position of an access: x in bytes, then row and slice. */
static void surface_locate(const struct surface_request *r, int64_t at[3], uint32_t unit)
{
	at[0] = (int64_t)r->at[0] * unit;
	at[1] = 0;
	at[2] = 0;
	switch ((enum geometry)r->geometry) {
	case GEOMETRY_1D:
		break;
	case GEOMETRY_2D:
		at[1] = r->at[1];
		break;
	case GEOMETRY_3D:
		at[1] = r->at[1];
		at[2] = r->at[2];
		break;
	case GEOMETRY_1D_LAYERED:
		at[2] = r->layer;
		break;
	default:
		at[1] = r->at[1];
		at[2] = r->layer;
		break;
	}
}

static double surface_clamp(double value, double low, double high)
{
	return isnan(value) ? 0 : value < low ? low : value > high ? high : value;
}

/* Convert the 32 bits of a channel to the bits that are stored. */
static uint32_t surface_encode(const struct texel_format *format, uint32_t bits)
{
	float real;
	memcpy(&real, &bits, sizeof(real));
	uint32_t unsigned_max = UINT32_MAX >> (32 - format->bits);
	int32_t signed_max = (int32_t)(unsigned_max >> 1);
	if (format->kind == TEXEL_FLOAT) {
		return format->bits == 16 ? rt_float_to_half(real) : bits;
	}
	if (format->is_normalized) {
		bool is_signed = format->kind == TEXEL_SINT;
		double most = is_signed ? (double)signed_max : (double)unsigned_max;
		return (uint32_t)(int32_t)nearbyint(surface_clamp(real, is_signed ? -1 : 0, 1)
			* most);
	}
	if (format->kind == TEXEL_UINT) {
		return bits < unsigned_max ? bits : unsigned_max;
	}
	int32_t value = (int32_t)bits;
	value = value > signed_max ? signed_max : value;
	return (uint32_t)(value < -signed_max - 1 ? -signed_max - 1 : value);
}

static void surface_store_formatted(const struct texel_format *format,
	const struct surface_request *r, uint8_t *to)
{
	unsigned size = format->bits / 8u;
	for (unsigned c = 0; c < format->channels && c < r->count; c++) {
		uint32_t bits;
		memcpy(&bits, r->data + c * sizeof(bits), sizeof(bits));
		bits = surface_encode(format, bits);
		memcpy(to + c * size, &bits, size);
	}
}

struct reduction {
	enum surface_op op;
	bool is_signed;
	bool is_wide;
	uint64_t value;
};

static uint64_t surface_combine(const struct reduction *r, uint64_t a)
{
	uint64_t b = r->value;
	bool is_less = r->is_wide ? (r->is_signed ? (int64_t)a < (int64_t)b : a < b)
		: r->is_signed ? (int32_t)a < (int32_t)b : (uint32_t)a < (uint32_t)b;
	switch (r->op) {
	case SURFACE_ADD:
		return a + b;
	case SURFACE_MIN:
		return is_less ? a : b;
	case SURFACE_MAX:
		return is_less ? b : a;
	case SURFACE_AND:
		return a & b;
	default:
		return a | b;
	}
}

static void surface_reduce(const struct reduction *r, uint8_t *to)
{
	if (r->is_wide) {
		uint64_t *place = (uint64_t *)(void *)to;
		uint64_t old = __atomic_load_n(place, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(place, &old, surface_combine(r, old), true,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		}
		return;
	}
	uint32_t *place = (uint32_t *)(void *)to;
	uint32_t old = __atomic_load_n(place, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(place, &old, (uint32_t)surface_combine(r, old), true,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
	}
}

/* Access the texels at a position; all of them exist. */
static void surface_access_place(const struct surface *surface, struct surface_request *r,
	uint8_t *place)
{
	const struct texel_format *format = &surface->format;
	struct reduction reduction = {.op = r->op, .is_wide = r->size == 8};
	switch ((enum surface_op)r->op) {
	case SURFACE_LOAD:
		memcpy(r->data, place, r->size * r->count);
		break;
	case SURFACE_STORE:
		if (r->is_formatted) {
			surface_store_formatted(format, r, place);
		} else {
			memcpy(place, r->data, r->size * r->count);
		}
		break;
	default:
		reduction.is_signed = r->is_formatted ? format->kind == TEXEL_SINT : r->is_signed;
		memcpy(&reduction.value, r->data, r->size);
		surface_reduce(&reduction, place);
		break;
	}
}

enum surface_result surface_access(const struct surface *surface, struct surface_request *r)
{
	const struct image *image = &surface->image;
	uint32_t texel = texel_size(&surface->format);
	uint32_t size = r->is_formatted ? texel : r->size * r->count;
	int64_t row = (int64_t)image->width * texel;
	int64_t at[3];
	surface_locate(r, at, r->is_formatted ? texel : 1);
	if (r->is_formatted && r->op != SURFACE_STORE && texel != r->size) {
		return SURFACE_MISMATCH;
	}
	if (at[0] % size != 0) {
		return SURFACE_MISALIGNED;
	}
	bool is_inside = size <= row
		&& surface_bring_inside(&at[0], row - row % size - size, r->bounds)
		&& surface_bring_inside(&at[1], (int64_t)image->height - 1, r->bounds)
		&& surface_bring_inside(&at[2], (int64_t)image->slices - 1, r->bounds);
	if (!is_inside) {
		memset(r->data, 0, sizeof(r->data));
		return r->bounds == SURFACE_ZERO ? SURFACE_DONE : SURFACE_OUTSIDE;
	}
	surface_access_place(surface, r, image->data + (size_t)at[2] * image->slice_size
		+ (size_t)at[1] * image->pitch + (size_t)at[0]);
	return SURFACE_DONE;
}
