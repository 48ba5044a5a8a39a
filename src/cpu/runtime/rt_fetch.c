/* SPDX-License-Identifier: MIT */
/*
 * The functions that tex, suld, sust, sured and the queries of compiled kernels call.  They look up
 * the object of a handle; texture_fetch.c and surface.c do the work.  A wrong handle ends the
 * launch.
 */
#include "base/common.h"

#include "cpu/runtime/rt.h"
#include "cpu/runtime/texture_fetch.h"
#include "base/cuda_abi.h"

static void rt_fetch_fail_handle(struct rt_warp *warp, uint64_t handle, const char *what)
{
	rt_fail(warp, CUDA_ERROR_ILLEGAL_ADDRESS, "0x%llx is not a live %s object",
		(unsigned long long)handle, what);
}

static const struct texture *rt_fetch_find_texture(struct rt_warp *warp, uint64_t handle)
{
	const struct rt_host *host = warp->launch->host;
	const struct texture *t = host ? host->find_texture(handle) : NULL;
	if (unlikely(!t)) {
		rt_fetch_fail_handle(warp, handle, "texture");
	}
	return t;
}

static const struct surface *rt_fetch_find_surface(struct rt_warp *warp, uint64_t handle)
{
	const struct rt_host *host = warp->launch->host;
	const struct surface *s = host ? host->find_surface(handle) : NULL;
	if (unlikely(!s)) {
		rt_fetch_fail_handle(warp, handle, "surface");
	}
	return s;
}

/* Where there are several devices: whether kernels may access the memory of a texture or a
 * surface, which is the memory of one device as a whole. */
static bool rt_fetch_may_access(struct rt_warp *warp, const void *data)
{
	const struct rt_launch *launch = warp->launch;
	const uint64_t at = (uintptr_t)data;
	if (likely(!launch->check) || !launch->host->may_access
	    || launch->host->may_access(launch->host, at, 1, NULL)) {
		return true;
	}
	rt_fail(warp, CUDA_ERROR_ILLEGAL_ADDRESS, "access to a texture or a surface at 0x%llx in "
		"the memory of another device, to which access is not enabled",
		(unsigned long long)at);
	return false;
}

/* Whether all of the memory of an image is still there, where KUDZU_CHECK=memory asks. */
static bool rt_fetch_is_live(struct rt_warp *warp, unsigned lane, const struct image *image,
	const struct texel_format *format, enum rt_access kind)
{
	const struct rt_launch *launch = warp->launch;
	const uint64_t at = (uintptr_t)image->data;
	const uint64_t size = (image->slices - 1) * image->slice_size
		+ (image->height - 1) * image->pitch + (uint64_t)image->width * texel_size(format);
	if (likely(!launch->check)) {
		return true;
	}
	const struct rt_range range = warp->ranges[RT_IMAGES];
	if (range.size >= size && at - range.begin <= range.size - size) {
		return true;
	}
	warp->at[lane] = at;
	warp->gathers = 1u << lane;
	warp->access = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	return rt_check(warp, rt_pack_access(kind, false, 1, RT_IMAGES), RT_NO_VAR) == 0;
}

/* Lanes may have different textures: those that have the same are served together.  The first one
 * that fails, as a bit; 0: none does. */
uint32_t rt_texture(struct rt_warp *warp, struct texture_lanes *lanes, uint32_t set)
{
	while (set != 0) {
		const unsigned first = (unsigned)__builtin_ctz(set);
		const struct texture *t = rt_fetch_find_texture(warp, lanes->handles[first]);
		uint32_t same = 0;
		if (!t || !rt_fetch_may_access(warp, t->levels[0].data)
		    || !rt_fetch_is_live(warp, first, &t->levels[0], &t->format, RT_READS)) {
			return 1u << first;
		}
		for (uint32_t left = set; left != 0; left &= left - 1) {
			const unsigned lane = (unsigned)__builtin_ctz(left);
			const bool is_same = lanes->handles[lane] == lanes->handles[first];
			same |= (uint32_t)is_same << lane;
		}
		texture_read_lanes(t, lanes, same);
		set &= ~same;
	}
	return 0;
}

uint32_t rt_surface(struct rt_warp *warp, uint64_t handle, struct surface_request *request,
	uint32_t *unused)
{
	static const struct {
		CUresult code;
		const char *text;
	} failures[] = {
		[SURFACE_OUTSIDE] = {CUDA_ERROR_LAUNCH_FAILED, "access outside of a surface"},
		[SURFACE_MISALIGNED] = {CUDA_ERROR_MISALIGNED_ADDRESS,
			"access to a surface at a byte that is not a multiple of its size"},
		[SURFACE_MISMATCH] = {CUDA_ERROR_LAUNCH_FAILED,
			"reduction of another size than the surface's elements"},
	};
	(void)unused;
	const struct surface *s = rt_fetch_find_surface(warp, handle);
	const unsigned lane = warp->lane < RT_MAX_WIDTH ? warp->lane : 0;
	if (!s || !rt_fetch_may_access(warp, s->image.data)
	    || !rt_fetch_is_live(warp, lane, &s->image, &s->format,
		    request->op == SURFACE_LOAD ? RT_READS : RT_WRITES)) {
		return 0;
	}
	enum surface_result result = surface_access(s, request);
	if (result != SURFACE_DONE) {
		rt_fail(warp, failures[result].code, "%s", failures[result].text);
	}
	return result == SURFACE_DONE;
}

/* PTX ISA 5.3: the numbers of OpenCL for the types and orders of channels. */
static uint32_t rt_fetch_channel_type(const struct texel_format *format, bool is_normalized)
{
	uint32_t size = format->bits / 16; /* 0, 1, 2 */
	switch (format->kind) {
	case TEXEL_UINT:
		return (is_normalized ? 0x10d2 : 0x10da) + size;
	case TEXEL_SINT:
		return (is_normalized ? 0x10d0 : 0x10d7) + size;
	default:
		return format->bits == 16 ? 0x10dd : 0x10de;
	}
}

static uint32_t rt_fetch_channel_order(const struct texel_format *format)
{
	return format->channels == 1 ? 0x10b0 : format->channels == 2 ? 0x10b2 : 0x10b5;
}

/* The queries that textures and surfaces share. */
static uint32_t rt_fetch_query_image(const struct image *image, uint32_t layers, uint32_t what)
{
	switch ((enum rt_query_what)what) {
	case RT_QUERY_WIDTH:
		return image->width;
	case RT_QUERY_HEIGHT:
		return image->height;
	case RT_QUERY_DEPTH:
		return layers > 0 ? 1 : image->slices;
	case RT_QUERY_ARRAY_SIZE:
		return layers;
	case RT_QUERY_SAMPLES:
		return 1;
	default:
		return 0;
	}
}

static uint32_t rt_fetch_query_texture(const struct texture *texture, const struct rt_query *query)
{
	const struct sampler *sampler = &texture->sampler;
	uint32_t last = texture->level_count - 1, level;
	switch ((enum rt_query_what)query->what) {
	case RT_QUERY_CHANNEL_TYPE:
		return rt_fetch_channel_type(&texture->format, !texture_reads_integers(texture));
	case RT_QUERY_CHANNEL_ORDER:
		return rt_fetch_channel_order(&texture->format);
	case RT_QUERY_NORMALIZED:
		return sampler->is_normalized;
	case RT_QUERY_LEVELS:
		return texture->level_count;
	case RT_QUERY_FILTER:
		return sampler->is_linear;
	case RT_QUERY_ADDRESS_0:
	case RT_QUERY_ADDRESS_1:
	case RT_QUERY_ADDRESS_2:
		return sampler->address[query->what - RT_QUERY_ADDRESS_0];
	default:
		level = query->level < last ? query->level : last;
		return rt_fetch_query_image(&texture->levels[level], texture->layers, query->what);
	}
}

static uint32_t rt_fetch_query_surface(const struct surface *s, uint32_t what)
{
	switch ((enum rt_query_what)what) {
	case RT_QUERY_CHANNEL_TYPE:
		return rt_fetch_channel_type(&s->format, s->format.is_normalized);
	case RT_QUERY_CHANNEL_ORDER:
		return rt_fetch_channel_order(&s->format);
	default:
		return rt_fetch_query_image(&s->image, s->layers, what);
	}
}

uint32_t rt_query(struct rt_warp *warp, uint64_t handle, const struct rt_query *query,
	uint32_t *out)
{
	if (query->is_surface) {
		const struct surface *s = rt_fetch_find_surface(warp, handle);
		if (s) {
			*out = rt_fetch_query_surface(s, query->what);
		}
		return !!s;
	}
	const struct texture *t = rt_fetch_find_texture(warp, handle);
	if (t) {
		*out = rt_fetch_query_texture(t, query);
	}
	return !!t;
}
