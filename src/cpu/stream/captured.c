/* SPDX-License-Identifier: MIT */
/*
 * What streams and events have of a capture.  A frontier is a short list of nodes, each once.  A
 * capture lives as long as a stream or an event refers to it.
 */
#include "base/common.h"

#include "cpu/stream/captured.h"

#include "base/alloc.h"
#include "cpu/object/log.h"

bool frontier_reserve(struct frontier *frontier, size_t capacity)
{
	size_t size;
	if (capacity <= frontier->capacity) {
		return true;
	}
	capacity = capacity < 2 * frontier->capacity ? 2 * frontier->capacity : capacity;
	void *nodes = size_mul(&size, capacity, sizeof(*frontier->nodes))
		? mem_realloc(frontier->nodes, size) : NULL;
	if (!nodes) {
		return false;
	}
	frontier->nodes = nodes;
	void *data = size_mul(&size, capacity, sizeof(*frontier->data))
		? mem_realloc(frontier->data, size) : NULL;
	if (!data) {
		return false;
	}
	frontier->data = data;
	frontier->capacity = capacity;
	return true;
}

void frontier_free(struct frontier *frontier)
{
	mem_free(frontier->nodes);
	mem_free(frontier->data);
	*frontier = (struct frontier){0};
}

bool frontier_add(struct frontier *frontier, const CUgraphNode *nodes, const CUgraphEdgeData *data,
	size_t count)
{
	static const CUgraphEdgeData plain;
	if (!frontier_reserve(frontier, frontier->count + count)) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (at < frontier->count && frontier->nodes[at] != nodes[i]) {
			at++;
		}
		if (at == frontier->count) {
			frontier->nodes[at] = nodes[i];
			frontier->data[at] = data ? data[i] : plain;
			frontier->count++;
		}
	}
	return true;
}

bool frontier_is_lossy(const struct frontier *frontier)
{
	bool lossy = false;
	for (size_t i = 0; i < frontier->count; i++) {
		lossy |= frontier->data[i].from_port != 0 || frontier->data[i].type != 0;
	}
	return lossy;
}

/* --- References to captures --- */

void cu_capture_release(struct cu_capture *capture)
{
	if (--capture->refs == 0) {
		frontier_free(&capture->gone);
		mem_free(capture);
	}
}

void captured_forget(struct captured *captured)
{
	if (captured->capture) {
		cu_capture_release(captured->capture);
		captured->capture = NULL;
		frontier_free(&captured->frontier);
	}
}

CUresult captured_check(const char *call, struct captured *captured)
{
	if (!captured->capture) {
		return CUDA_SUCCESS;
	}
	captured->capture->is_invalid = true;
	return api_fail(CUDA_ERROR_CAPTURED_EVENT, "%s: the event was recorded in a capture", call);
}
