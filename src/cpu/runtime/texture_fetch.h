/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_TEXTURE_FETCH_H
#define CPU_RUNTIME_TEXTURE_FETCH_H

/*
 * The texture unit as plain C: images in memory, samplers, and what tex, tld4, suld, sust and sured
 * do with them.  Nothing here knows of handles or of the driver's functions.
 *
 * An image is rows in slices.  The instruction, not the image, says whether slices are the depth of
 * a volume, the layers of an array or the faces of cubes.  So every instruction can read every
 * image, and none reads outside of it.
 */
#include "base/common.h"

enum texel_kind { TEXEL_UINT, TEXEL_SINT, TEXEL_FLOAT };

struct texel_format {
	enum texel_kind kind;
	uint8_t bits;               /* of a channel: 8, 16 or 32 */
	uint8_t channels;           /* 1, 2 or 4 */
	bool is_normalized;         /* integers that stand for [0, 1] or [-1, 1], whatever is
	                               asked */
};

static inline uint32_t texel_size(const struct texel_format *format)
{
	return (uint32_t)format->bits / 8 * format->channels;
}

struct image {
	uint8_t *data;
	uint32_t width;             /* in texels; all three at least 1 */
	uint32_t height;
	uint32_t slices;
	size_t pitch;               /* bytes from row to row */
	size_t slice_size;          /* bytes from slice to slice */
};

/* As in CUaddress_mode. */
enum address_mode { ADDRESS_WRAP, ADDRESS_CLAMP, ADDRESS_MIRROR, ADDRESS_BORDER };

struct sampler {
	enum address_mode address[3];
	bool is_linear;
	bool is_normalized;         /* coordinates go from 0 to 1 */
	bool reads_integers;        /* small integers stay integers */
	bool is_srgb;
	bool is_seamless;           /* filters across the faces of a cube */
	bool is_mip_linear;
	bool has_steep_levels;      /* the faster blend of two levels, in the middle half between
	                               them */
	float bias;
	float min_level;
	float max_level;
	uint32_t border[4];         /* bits of what is read outside */
};

enum { TEXTURE_MAX_LEVELS = 18 };

struct texture {
	struct texel_format format;
	struct sampler sampler;
	uint32_t level_count;
	struct image levels[TEXTURE_MAX_LEVELS];
	uint32_t layers;            /* for queries; 0 if it has none */
};

enum geometry {
	GEOMETRY_1D, GEOMETRY_2D, GEOMETRY_3D, GEOMETRY_1D_LAYERED, GEOMETRY_2D_LAYERED,
	GEOMETRY_CUBE, GEOMETRY_CUBE_LAYERED
};

enum texture_mode { TEXTURE_BASE, TEXTURE_LEVEL, TEXTURE_GRAD, TEXTURE_GATHER };

union coordinate {
	float f;
	int32_t i;
};

/* The operands of tex and tld4. */
struct texture_request {
	uint32_t geometry;
	uint32_t mode;
	uint32_t wants_halves;      /* floats in 16 bits */
	uint32_t has_integers;      /* coordinates and level are s32: texels, never filtered */
	uint32_t component;         /* gathered: 0 to 3 */
	uint32_t layer;
	union coordinate at[3];
	union coordinate level;
	float dx[3];
	float dy[3];
	int32_t offset[3];          /* in texels */
};

/* The same of the lanes of a warp.  Compiled code fills in what the instruction has. */
enum { TEXTURE_LANES = 32 };
struct texture_lanes {
	uint32_t geometry, mode, wants_halves, has_integers, component;
	uint32_t has_offsets;
	uint64_t handles[TEXTURE_LANES];
	uint32_t layer[TEXTURE_LANES];
	union coordinate at[3][TEXTURE_LANES];
	union coordinate level[TEXTURE_LANES];
	float dx[3][TEXTURE_LANES];
	float dy[3][TEXTURE_LANES];
	int32_t offset[3][TEXTURE_LANES];
	uint32_t out[4][TEXTURE_LANES];
};

/* Whether texels are read as integers, and not as floats. */
bool texture_reads_integers(const struct texture *texture);
/* Four channels, as bits of integers or floats.  A channel that the texel does not have is 0, alpha
 * too. */
void texture_read(const struct texture *texture, const struct texture_request *request,
	uint32_t out[4]);
/* The same for a set of lanes. */
void texture_read_lanes(const struct texture *texture, struct texture_lanes *lanes, uint32_t set);

/* --- Surfaces --- */

struct surface {
	struct texel_format format;
	struct image image;
	uint32_t layers;            /* for queries; 0 if it has none */
};

enum surface_op {
	SURFACE_LOAD, SURFACE_STORE, SURFACE_ADD, SURFACE_MIN, SURFACE_MAX, SURFACE_AND, SURFACE_OR
};

enum surface_bounds { SURFACE_TRAP, SURFACE_CLAMP, SURFACE_ZERO };

/* The operands of suld, sust and sured; `data` is read or written.  Compiled code fills one in. */
struct surface_request {
	uint32_t geometry;
	uint32_t op;
	uint32_t bounds;
	uint32_t is_formatted;      /* x counts texels and data is converted; else x counts bytes */
	uint32_t size;              /* of one element of the data, in bytes */
	uint32_t count;             /* elements */
	uint32_t is_signed;         /* SURFACE_MIN, SURFACE_MAX */
	uint32_t layer;
	int32_t at[3];
	_Alignas(16) uint8_t data[16];
};

enum surface_result {
	SURFACE_DONE,
	SURFACE_OUTSIDE,
	SURFACE_MISALIGNED,
	SURFACE_MISMATCH    /* a formatted reduction of another size than the texels have */
};

enum surface_result surface_access(const struct surface *surface,
	struct surface_request *request);

#endif
