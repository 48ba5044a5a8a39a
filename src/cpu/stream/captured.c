/* SPDX-License-Identifier: MIT */
/*
 * What streams and events have of a capture.  A tail is a short list of
 * nodes, each once.  A capture lives as long as a stream or an event refers to it.
 */
#include "base/common.h"

#include "cpu/stream/captured.h"

#include "base/alloc.h"
#include "cpu/object/log.h"

bool tail_reserve(struct tail *tail, size_t room)
{
	size_t size;
	if (room <= tail->room) {
		return true;
	}
	room = room < 2 * tail->room ? 2 * tail->room : room;
	void *nodes = size_mul(&size, room, sizeof(*tail->nodes)) ? mem_realloc(tail->nodes, size)
		: NULL;
	if (!nodes) {
		return false;
	}
	tail->nodes = nodes;
	void *data = size_mul(&size, room, sizeof(*tail->data)) ? mem_realloc(tail->data, size)
		: NULL;
	if (!data) {
		return false;
	}
	tail->data = data;
	tail->room = room;
	return true;
}

void tail_free(struct tail *tail)
{
	mem_free(tail->nodes);
	mem_free(tail->data);
	*tail = (struct tail){0};
}

bool tail_add(struct tail *tail, const CUgraphNode *nodes, const CUgraphEdgeData *data,
	size_t count)
{
	static const CUgraphEdgeData plain;
	if (!tail_reserve(tail, tail->count + count)) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (at < tail->count && tail->nodes[at] != nodes[i]) {
			at++;
		}
		if (at == tail->count) {
			tail->nodes[at] = nodes[i];
			tail->data[at] = data ? data[i] : plain;
			tail->count++;
		}
	}
	return true;
}

bool tail_is_lossy(const struct tail *tail)
{
	bool lossy = false;
	for (size_t i = 0; i < tail->count; i++) {
		lossy |= tail->data[i].from_port != 0 || tail->data[i].type != 0;
	}
	return lossy;
}

/* --- References to captures --- */

void capture_release(struct capture *capture)
{
	if (--capture->refs == 0) {
		tail_free(&capture->gone);
		mem_free(capture);
	}
}

void captured_forget(struct captured *captured)
{
	if (captured->capture) {
		capture_release(captured->capture);
		captured->capture = NULL;
		tail_free(&captured->tail);
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
