/* SPDX-License-Identifier: MIT */
/*
 * Advice about managed memory.  Host and device share one memory, so nothing moves and no advice
 * has an effect.  Advice is checked and kept (mem/advice.c), so that programs can query it.
 */
#define _GNU_SOURCE
#include "base/common.h"

#include "cpu/abi/api.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The location that the number of a device stands for. */
static CUresult managed_read_device(const char *call, int device, struct memory_place *out)
{
	CUresult result = api_ready(call);
	*out = device == CU_DEVICE_CPU ? (struct memory_place){CU_MEM_LOCATION_TYPE_HOST, 0}
		: (struct memory_place){CU_MEM_LOCATION_TYPE_DEVICE, device};
	return result != CUDA_SUCCESS || device == CU_DEVICE_CPU ? result
		: api_check_device(call, device);
}

static bool managed_node_exists(int node)
{
	char path[64];
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
	return node == 0 || (node > 0 && access(path, F_OK) == 0);
}

static CUresult managed_read_location(const char *call, CUmemLocation location,
	struct memory_place *out)
{
	unsigned node = 0;
	CUresult result = api_ready(call);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	*out = (struct memory_place){(int)location.type, location.id};
	switch ((unsigned)location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return api_check_device(call, location.id);
	case CU_MEM_LOCATION_TYPE_HOST:
		out->id = 0;
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return managed_node_exists(location.id) ? CUDA_SUCCESS
			: api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: there is no NUMA node %d", call, location.id);
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		getcpu(NULL, &node);
		*out = (struct memory_place){CU_MEM_LOCATION_TYPE_HOST_NUMA, (int)node};
		return CUDA_SUCCESS;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown type of location %d", call,
			(int)location.type);
	}
}

static CUresult find_managed(const char *call, CUdeviceptr address, size_t size,
	struct context **context)
{
	struct memory_range range;
	CUresult result = api_enter(call, context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	if (size == 0 || !memory_find((*context)->device->memory, address, &range)
	    || range.kind != MEMORY_MANAGED
	    || size > range.size - (address - range.address)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %zu bytes at 0x%llx are not managed memory", call, size, address);
	}
	return CUDA_SUCCESS;
}

static CUresult managed_change_advice(const char *call, struct context *context,
	CUdeviceptr address, size_t size, const struct advice_change *change)
{
	return memory_advise(context->device->memory, address, size, change) ? CUDA_SUCCESS
		: api_no_memory(call);
}

static CUresult managed_advise(const char *call, CUdeviceptr address, size_t size,
	CUmem_advise kind, struct memory_place place)
{
	struct context *context;
	struct advice_change change = {.on = true};
	CUresult result = find_managed(call, address, size, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	switch ((unsigned)kind) {
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		change.on = false;
		// fallthrough
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
		change.what = ADVICE_READ_MOSTLY;
		break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		change.place = place;
		// fallthrough
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		change.what = ADVICE_PREFERRED;
		break;
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		change.on = false;
		// fallthrough
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
		change.what = place.type == CU_MEM_LOCATION_TYPE_DEVICE ? ADVICE_BY_DEVICE
			: ADVICE_BY_HOST;
		change.place = place;
		break;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown advice %d", call, (int)kind);
	}
	return managed_change_advice(call, context, address, size, &change);
}

/* Advice that needs no location may come with any. */
static bool managed_needs_place(CUmem_advise kind)
{
	return kind == CU_MEM_ADVISE_SET_PREFERRED_LOCATION
		|| kind == CU_MEM_ADVISE_SET_ACCESSED_BY || kind == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

API(cuMemAdvise, CUdeviceptr address, size_t size, CUmem_advise kind, CUdevice device)
{
	struct memory_place place = {0};
	CUresult result = managed_needs_place(kind) ? managed_read_device(__func__, device, &place)
		: CUDA_SUCCESS;
	return result == CUDA_SUCCESS ? managed_advise(__func__, address, size, kind, place)
		: result;
}

API(cuMemAdvise_v2, CUdeviceptr address, size_t size, CUmem_advise kind, CUmemLocation location)
{
	struct memory_place place = {0};
	CUresult result = managed_needs_place(kind)
		? managed_read_location(__func__, location, &place) : CUDA_SUCCESS;
	return result == CUDA_SUCCESS ? managed_advise(__func__, address, size, kind, place)
		: result;
}

static CUresult managed_prefetch(const char *call, CUdeviceptr address, size_t size,
	struct memory_place place, CUstream stream)
{
	const struct work nothing = {.kind = WORK_EMPTY};
	const struct advice_change change = {.what = ADVICE_PREFETCHED, .place = place};
	struct context *context;
	CUresult result = find_managed(call, address, size, &context);
	if (result == CUDA_SUCCESS) {
		result = stream_enqueue(call, context, stream, &nothing, ENQUEUE_ASYNC, false);
	}
	return result == CUDA_SUCCESS ? managed_change_advice(call, context, address, size, &change)
		: result;
}

API(cuMemPrefetchAsync, CUdeviceptr address, size_t size, CUdevice device, CUstream stream)
{
	struct memory_place place;
	CUresult result = managed_read_device(__func__, device, &place);
	return result == CUDA_SUCCESS ? managed_prefetch(__func__, address, size, place, stream)
		: result;
}
API_PER_THREAD(cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync,
	(CUdeviceptr address, size_t size, CUdevice device, CUstream stream),
	(address, size, device, stream));

API(cuMemPrefetchAsync_v2, CUdeviceptr address, size_t size, CUmemLocation location,
	unsigned int flags, CUstream stream)
{
	struct memory_place place;
	CUresult result = managed_read_location(__func__, location, &place);
	if (result == CUDA_SUCCESS && flags != 0) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: flags must be 0", __func__);
	}
	return result == CUDA_SUCCESS ? managed_prefetch(__func__, address, size, place, stream)
		: result;
}
API_PER_THREAD(cuMemPrefetchAsync_v2_ptsz, cuMemPrefetchAsync_v2,
	(CUdeviceptr address, size_t size, CUmemLocation location, unsigned int flags,
	CUstream stream),
	(address, size, location, flags, stream));

/* The list of devices that access the memory, filled up with CU_DEVICE_INVALID. */
static void managed_list_accessors(int *out, size_t count, const struct memory_advice *advice)
{
	size_t used = 0;
	for (int device = 0; device < device_count() && used < count; device++) {
		if (advice->accessed_by & 1u << device) {
			out[used++] = device;
		}
	}
	if (advice->accessed_by_host && used < count) {
		out[used++] = CU_DEVICE_CPU;
	}
	while (used < count) {
		out[used++] = CU_DEVICE_INVALID;
	}
}

/* A location in the old form, which has no NUMA nodes. */
static int managed_device_of(struct memory_place place)
{
	return place.type == 0 ? CU_DEVICE_INVALID
		: place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : CU_DEVICE_CPU;
}

static CUresult managed_get_attribute(const char *call, int *out, size_t size,
	CUmem_range_attribute attribute, const struct memory_advice *advice)
{
	bool is_list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
	if (!out || size == 0 || size % sizeof(int) != 0
	    || (!is_list && size != sizeof(int))) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: %zu bytes for attribute %d", call,
			size, (int)attribute);
	}
	switch ((unsigned)attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*out = advice->read_mostly;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		*out = managed_device_of(advice->preferred);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		*out = advice->preferred.type;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		*out = advice->preferred.id;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		managed_list_accessors(out, size / sizeof(int), advice);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*out = managed_device_of(advice->prefetched);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*out = advice->prefetched.type;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*out = advice->prefetched.id;
		return CUDA_SUCCESS;
	default:
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: unknown attribute %d", call,
			(int)attribute);
	}
}

API(cuMemRangeGetAttribute, void *out, size_t out_size, CUmem_range_attribute attribute,
	CUdeviceptr address, size_t size)
{
	struct context *context;
	CUresult result = find_managed(__func__, address, size, &context);
	if (result != CUDA_SUCCESS) {
		return result;
	}
	struct memory_advice advice = memory_get_advice(context->device->memory, address, size);
	return managed_get_attribute(__func__, out, out_size, attribute, &advice);
}

API(cuMemRangeGetAttributes, void **out, size_t *out_sizes, CUmem_range_attribute *attributes,
	size_t count, CUdeviceptr address, size_t size)
{
	struct context *context;
	struct memory_advice advice;
	CUresult result = find_managed(__func__, address, size, &context);
	if (result == CUDA_SUCCESS && (count == 0 || !out || !out_sizes || !attributes)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE, "%s: no attributes are requested",
			__func__);
	}
	if (result == CUDA_SUCCESS) {
		advice = memory_get_advice(context->device->memory, address, size);
	}
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
		result = managed_get_attribute(__func__, out[i], out_sizes[i], attributes[i],
			&advice);
	}
	return result;
}

/* --- Where memory is --- */

/* Managed memory is where it was prefetched last.  Nothing moves, so this is all that a program can
 * know of it. */
static CUmemLocation managed_sample(struct device_memory *memory, uint64_t address)
{
	const struct memory_place place = memory_get_advice(memory, address, 1).prefetched;
	return place.type == CU_MEM_LOCATION_TYPE_NONE
		? (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}
		: (CUmemLocation){(CUmemLocationType)place.type, place.id};
}

/* The location that most samples of [start, end) have. */
static CUmemLocation managed_most_common(struct device_memory *memory, uint64_t start,
	uint64_t end, size_t step)
{
	struct {
		CUmemLocation location;
		size_t count;
	} votes[64] = {{{CU_MEM_LOCATION_TYPE_NONE, 0}, 0}};
	size_t best = 0;
	for (uint64_t at = start; at < end; at += step) {
		const CUmemLocation sample = managed_sample(memory, at);
		size_t i = 0;
		while (i < countof(votes) - 1 && votes[i].count > 0
		       && (votes[i].location.type != sample.type
			   || votes[i].location.id != sample.id)) {
			i++;
		}
		votes[i].location = sample;
		votes[i].count++;
		best = votes[i].count > votes[best].count ? i : best;
	}
	return votes[best].location;
}

/* Managed memory, or memory of the program that is not registered. */
static CUresult managed_check_location(const char *call, struct context *context,
	CUdeviceptr address, size_t size)
{
	struct memory_range range;
	if (memory_covers(context->device->memory, address) || host_find(address, &range)) {
		return find_managed(call, address, size, &context);
	}
	return address + size > address && host_is_mapped(address, size) ? CUDA_SUCCESS
		: api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: there is no memory at some of the addresses", call);
}

API(cuMemGetLocationInfo, CUdeviceptr address, size_t size, size_t summary, size_t sampling,
	CUmemLocation *out)
{
	struct context *context;
	CUresult result = api_need(api_enter(__func__, &context), __func__, out);
	if (result == CUDA_SUCCESS && (summary == 0 || summary > size || sampling > summary)) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: %zu bytes in parts of %zu, a sample every %zu bytes", __func__, size,
			summary, sampling);
	}
	if (result == CUDA_SUCCESS) {
		result = managed_check_location(__func__, context, address, size);
	}
	// All of a page is at one place.
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t at = 0, i = 0; result == CUDA_SUCCESS && at < size; i++) {
		const size_t part = size - at < summary ? size - at : summary;
		out[i] = managed_most_common(context->device->memory, address + at,
			address + at + part, sampling > page ? sampling : page);
		at += part;
	}
	return result;
}
