/* SPDX-License-Identifier: MIT */
/*
 * Texture fetches of a warp.
 *
 * Most textures have one level, and most fetches neither an offset nor a cube.  For these each step
 * is taken for all lanes before the next one, in arrays, and what depends on the texture is found
 * once.  All other fetches go lane by lane (texture_fetch.c).
 */
#include "base/common.h"

#include "cpu/runtime/texture_parts.h"

static struct texture_request texture_request_of(const struct texture_lanes *l, unsigned lane)
{
	struct texture_request r = {.geometry = l->geometry, .mode = l->mode,
		.wants_halves = l->wants_halves, .has_integers = l->has_integers,
		.component = l->component, .layer = l->layer[lane], .level = l->level[lane]};
	const unsigned given = l->geometry == GEOMETRY_CUBE || l->geometry == GEOMETRY_CUBE_LAYERED
		? 3 : texture_dimensions(&r);
	for (unsigned i = 0; i < given; i++) {
		r.at[i] = l->at[i][lane];
		r.dx[i] = l->mode == TEXTURE_GRAD ? l->dx[i][lane] : 0;
		r.dy[i] = l->mode == TEXTURE_GRAD ? l->dy[i][lane] : 0;
		r.offset[i] = l->has_offsets ? l->offset[i][lane] : 0;
	}
	return r;
}

/* What lanes read of a texture without levels, by a footprint that has no offset and no other face:
 * first where in memory, for each axis and step. */
struct plain {
	struct footprint f;
	uint32_t weights[3][TEXTURE_LANES];
	size_t offsets[3][2][TEXTURE_LANES];
	bool is_inside[3][2][TEXTURE_LANES];
	size_t slices[TEXTURE_LANES];
	uint32_t values[MOST_TAPS][4][TEXTURE_LANES];
	uint32_t tap_weights[MOST_TAPS][TEXTURE_LANES];
};

static bool texture_is_plain(const struct texture *t, const struct texture_lanes *l,
	const struct footprint *f, const struct texture_request *r)
{
	return t->level_count == 1 && l->mode != TEXTURE_GATHER && !l->has_offsets
		&& !texture_is_cube(r) && f->dimensions == texture_dimensions(r);
}

static void texture_place_lanes(struct plain *p, const struct texture_lanes *l, unsigned i,
	size_t pitch)
{
	struct axis *axis = &p->f.axes[i];
	const bool is_linear = p->f.is_linear;
	double at[TEXTURE_LANES];
	int32_t first[TEXTURE_LANES];
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		const double integer = l->at[i][lane].i, real = (double)l->at[i][lane].f;
		at[lane] = l->has_integers ? integer : real;
	}
	if (p->f.texture->sampler.is_normalized && !l->has_integers) {
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			at[lane] = texture_position(at[lane], axis, true);
		}
	} else {
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			at[lane] = texture_position(at[lane], axis, false);
		}
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		first[lane] = texture_place(at[lane], is_linear, &p->weights[i][lane]);
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		uint32_t index = 0;
		if (texture_is_edge(axis, first[lane])) {
			p->weights[i][lane] = 0;
		}
		for (unsigned step = 0; step <= is_linear; step++) {
			p->is_inside[i][step][lane] =
				texture_resolve(axis, (int64_t)first[lane] + step, &index);
			p->offsets[i][step][lane] = index * pitch;
		}
	}
}

/* Read a tap of the lanes in which it has a weight. */
static void texture_read_plain_tap(struct plain *p, unsigned tap, uint32_t set)
{
	const struct texture *t = p->f.texture;
	const bool is_float = t->format.kind == TEXEL_FLOAT && t->format.bits == 32;
	for (uint32_t left = set; left != 0; left &= left - 1) {
		const unsigned lane = (unsigned)__builtin_ctz(left);
		const uint8_t *texel = p->f.image->data + p->slices[lane];
		bool is_inside = true;
		for (unsigned i = 0; i < p->f.dimensions; i++) {
			texel += p->offsets[i][tap >> i & 1][lane];
			is_inside &= p->is_inside[i][tap >> i & 1][lane];
		}
		if (p->tap_weights[tap][lane] == 0) {
			continue;
		}
		for (unsigned c = 0; c < 4 && !is_inside; c++) {
			p->values[tap][c][lane] = texture_border(t, c);
		}
		for (unsigned c = 0; c < t->format.channels && is_inside; c++) {
			const uint32_t stored = texture_stored(texel, c, is_float ? 32
				: t->format.bits);
			p->values[tap][c][lane] = is_float ? stored : texture_decode(t, c, stored);
		}
	}
}

/* The sum of the taps of each lane. */
static void texture_add_lanes(const struct plain *p, unsigned channel, unsigned count,
	uint32_t set, uint32_t out[TEXTURE_LANES])
{
	const struct texture *t = p->f.texture;
	if (t->format.kind == TEXEL_FLOAT && t->format.bits == 32) {
		double sum[TEXTURE_LANES] = {0};
		for (unsigned tap = 0; tap < count; tap++) {
			for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
				sum[lane] += (double)(int32_t)p->tap_weights[tap][lane] / WEIGHT_ONE
					* (double)rt_bits_float(p->values[tap][channel][lane]);
			}
		}
		for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
			out[lane] = texture_finish_float(sum[lane]);
		}
		return;
	}
	for (uint32_t left = set; left != 0; left &= left - 1) {
		const unsigned lane = (unsigned)__builtin_ctz(left);
		struct taps taps;
		taps.count = count > QUAD ? MOST_TAPS : QUAD;
		for (unsigned tap = 0; tap < taps.count; tap++) {
			taps.weights[tap] = tap < count ? p->tap_weights[tap][lane] : 0;
			taps.values[tap][channel] = tap < count
				? p->values[tap][channel][lane] : 0;
		}
		out[lane] = texture_add(t, channel, &taps);
	}
}

static void texture_read_plain(struct plain *p, struct texture_lanes *l, uint32_t set)
{
	const struct image *image = p->f.image;
	const unsigned dimensions = p->f.dimensions;
	const unsigned count = p->f.is_linear ? 1u << dimensions : 1;
	const size_t pitches[3] = {texel_size(&p->f.texture->format), image->pitch,
		image->slice_size};
	memset(p->weights, 0, sizeof(p->weights));
	memset(p->values, 0, count * sizeof(p->values[0]));
	for (unsigned i = 0; i < dimensions; i++) {
		texture_place_lanes(p, l, i, pitches[i]);
	}
	for (unsigned lane = 0; lane < TEXTURE_LANES; lane++) {
		uint32_t all[MOST_TAPS];
		const struct texture_request r = {.geometry = l->geometry, .layer = l->layer[lane]};
		p->slices[lane] = dimensions < 3
			? texture_slice_of(&r, image) * image->slice_size : 0;
		texture_weigh(p->weights[0][lane], p->weights[1][lane], p->weights[2][lane],
			WEIGHT_ONE, all, 1);
		for (unsigned tap = 0; tap < count; tap++) {
			p->tap_weights[tap][lane] = all[tap];
		}
	}
	for (unsigned tap = 0; tap < count; tap++) {
		texture_read_plain_tap(p, tap, set);
	}
	for (unsigned c = 0; c < 4; c++) {
		if (count == 1) {
			memcpy(l->out[c], p->values[0][c], sizeof(l->out[c]));
		} else {
			texture_add_lanes(p, c, count, set, l->out[c]);
		}
	}
}

/* For some lanes, if they are not too few, and if the texture and the fetch are plain. */
static bool texture_try_plain(const struct texture *t, struct texture_lanes *l, uint32_t set)
{
	enum { FEW = 4 };
	struct plain p;
	if (__builtin_popcount(set) <= FEW) {
		return false;
	}
	const struct texture_request r = texture_request_of(l, (unsigned)__builtin_ctz(set));
	texture_place_all(&p.f, t, &t->levels[0], &r);
	const bool is_plain = texture_is_plain(t, l, &p.f, &r);
	if (is_plain) {
		texture_read_plain(&p, l, set);
	}
	return is_plain;
}

void texture_read_lanes(const struct texture *t, struct texture_lanes *l, uint32_t set)
{
	const bool is_read = texture_try_plain(t, l, set);
	const bool is_done = is_read && !l->wants_halves && t->format.kind != TEXEL_SINT;
	for (uint32_t left = is_done ? 0 : set; left != 0; left &= left - 1) {
		const unsigned lane = (unsigned)__builtin_ctz(left);
		uint32_t out[4];
		for (unsigned c = 0; c < 4; c++) {
			out[c] = l->out[c][lane];
		}
		if (is_read) {
			texture_finish(t, l->wants_halves, out);
		} else {
			const struct texture_request r = texture_request_of(l, lane);
			texture_read(t, &r, out);
		}
		for (unsigned c = 0; c < 4; c++) {
			l->out[c][lane] = out[c];
		}
	}
}
