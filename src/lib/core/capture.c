/* SPDX-License-Identifier: MIT */
/*
 * Captures that go on, and sets of what graphs use.
 *
 * Several threads may put work into one capture, so a lock guards its set.  Launches that are not
 * captured never come here.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/capture.h"
#include "lib/core/memory.h"

#include <string.h>

/* Sets */

static size_t capture_uses_slot(const struct uses *uses, const void *object)
{
	size_t mask = 2 * uses->room - 1;
	size_t i = (size_t)(((uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
	while (uses->slots[i] && uses->items[uses->slots[i] - 1].object != object) {
		i = (i + 1) & mask;
	}
	return i;
}

/* Fill the table anew. */
static void capture_uses_index(struct uses *uses)
{
	memset(uses->slots, 0, 2 * uses->room * sizeof(*uses->slots));
	for (size_t i = 0; i < uses->count; i++) {
		uses->slots[capture_uses_slot(uses, uses->items[i].object)] = i + 1;
	}
}

static bool capture_uses_grow(struct uses *uses)
{
	if (uses->count < uses->room) {
		return true;
	}
	size_t room = uses->room ? 2 * uses->room : 16;
	struct use *items = mem_realloc(uses->items, room * sizeof(*items));
	if (!items) {
		return false;
	}
	uses->items = items;
	size_t *slots = mem_realloc(uses->slots, 2 * room * sizeof(*slots));
	if (!slots) {
		return false;
	}
	uses->slots = slots;
	uses->room = room;
	capture_uses_index(uses);
	return true;
}

/* The place of an object in the list, plus 1; 0: it is not there. */
static size_t capture_uses_place(const struct uses *uses, const void *object)
{
	return uses->slots ? uses->slots[capture_uses_slot(uses, object)] : 0;
}

struct use *uses_find(const struct uses *uses, const void *object)
{
	size_t place = capture_uses_place(uses, object);
	return place ? &uses->items[place - 1] : NULL;
}

struct use *uses_add(struct uses *uses, void *object, const struct use_kind *kind)
{
	size_t place = capture_uses_place(uses, object);
	if (!place) {
		if (!capture_uses_grow(uses)) {
			return NULL;
		}
		size_t slot = capture_uses_slot(uses, object);
		place = ++uses->count;
		uses->items[place - 1] = (struct use){.object = object, .kind = kind};
		uses->slots[slot] = place;
		kind->retain(object);
	}
	uses->items[place - 1].count++;
	return &uses->items[place - 1];
}

void uses_remove(struct uses *uses, void *object)
{
	struct use *use = uses_find(uses, object);
	if (--use->count == 0) {
		const struct use_kind *kind = use->kind;
		*use = uses->items[--uses->count];
		capture_uses_index(uses);
		kind->release(object);
	}
}

bool uses_join(struct uses *to, const struct uses *from)
{
	bool ok = true;
	for (size_t i = 0; ok && i < from->count; i++) {
		struct use *use = uses_add(to, from->items[i].object, from->items[i].kind);
		ok = use;
		if (use) {
			use->count += from->items[i].count - 1;
		}
	}
	return ok;
}

bool uses_copy(struct uses *to, const struct uses *from)
{
	bool ok = uses_join(to, from);
	if (!ok) {
		uses_release(to);
	}
	return ok;
}

void uses_release(struct uses *uses)
{
	while (uses->count > 0) {
		struct use *use = &uses->items[--uses->count];
		use->kind->release(use->object);
	}
	mem_free(uses->items);
	mem_free(uses->slots);
	*uses = (struct uses){0};
}

/* Nodes */

struct kz_node *node_create(CUgraphNodeType type, const char *name, size_t used_room)
{
	struct kz_node *node = mem_zalloc(1, sizeof(*node) + used_room * sizeof(struct memory *));
	char *copy = mem_strdup(name);
	if (!node || !copy) {
		mem_free(node);
		mem_free(copy);
		return NULL;
	}
	node->tag = OBJECT_NODE;
	node->type = type;
	node->name = copy;
	node->used = (struct memory **)(node + 1);
	node->used_room = used_room;
	return node;
}

void node_free(struct kz_node *node)
{
	if (node) {
		mem_free(node->name);
		if (object_is(node, OBJECT_NODE)) {
			mem_free(node);
		} else {
			object_free(node);
		}
	}
}

/* Captures */

struct capture *capture_retain(struct capture *capture)
{
	atomic_fetch_add(&capture->refs, 1);
	return capture;
}

void capture_release(struct capture *capture)
{
	if (capture && refs_drop(&capture->refs)) {
		pthread_mutex_destroy(&capture->lock);
		mem_free(capture);
	}
}

kz_status capture_join(struct capture *capture, struct kz_stream *stream, kz_error *err)
{
	/* What others wait for, while this stream cannot be waited for. */
	struct kz_device *dev = stream->device;
	CUresult code = dev->drv->EventRecord(stream->order, stream->handle);
	if (code != CUDA_SUCCESS) {
		return device_fail(dev, code, "cuEventRecord", err);
	}
	pthread_mutex_lock(&capture->lock);
	stream->next_captured = capture->streams;
	capture->streams = stream_retain(stream);
	pthread_mutex_unlock(&capture->lock);
	if (dev != capture->device) {
		atomic_fetch_add(&dev->captures, 1);
	}
	atomic_store(&stream->capture, capture);
	return KZ_OK;
}

static struct kz_stream *capture_part(struct capture *capture)
{
	atomic_store(&capture->is_over, true);
	pthread_mutex_lock(&capture->lock);
	struct kz_stream *streams = capture->streams;
	capture->streams = NULL;
	for (struct kz_stream *stream = streams; stream; stream = stream->next_captured) {
		atomic_store(&stream->capture, NULL);
		if (stream->device != capture->device) {
			atomic_fetch_sub(&stream->device->captures, 1);
		}
	}
	pthread_mutex_unlock(&capture->lock);
	return streams;
}

/* The driver makes the edges: one stream of the capture waits for another. */
static kz_status capture_order(struct capture *capture, struct kz_stream *later,
	struct kz_stream *earlier, kz_error *err)
{
	const struct drv *drv = capture->device->drv;
	kz_status st = device_ok(earlier->device,
		drv->EventRecord(capture->order, earlier->handle), "cuEventRecord", err);
	return st ? st : device_ok(later->device,
		drv->StreamWaitEvent(later->handle, capture->order, 0), "cuStreamWaitEvent", err);
}

kz_status capture_use(struct capture *capture, struct memory *memory, struct kz_stream *stream,
	const struct use_kind *kind, kz_error *err)
{
	kz_status st = KZ_OK;
	pthread_mutex_lock(&capture->lock);
	struct use *use = uses_add(&capture->uses, memory, kind);
	if (!use) {
		st = error_no_memory(err);
	} else if (use->count == 1) {
		atomic_fetch_add(&memory->captures, 1);
	} else if (use->last != stream) {
		st = capture_order(capture, stream, use->last, err);
	}
	if (use) {
		use->last = stream;
	}
	pthread_mutex_unlock(&capture->lock);
	return st;
}

kz_status capture_keep(struct capture *capture, void *object, const struct use_kind *kind,
	kz_error *err)
{
	pthread_mutex_lock(&capture->lock);
	struct use *use = uses_add(&capture->uses, object, kind);
	pthread_mutex_unlock(&capture->lock);
	return use ? KZ_OK : error_no_memory(err);
}

kz_status capture_add_node(struct capture *capture, struct kz_stream *stream,
	struct kz_node *node, kz_error *err)
{
	CUstreamCaptureStatus status;
	const CUgraphNode *nodes = NULL;
	const CUgraphEdgeData *edges = NULL;
	size_t count = 0;
	CUresult code = stream->device->drv->StreamGetCaptureInfo(stream->handle, &status, NULL,
		NULL, &nodes, &edges, &count);
	if (code == CUDA_SUCCESS && count == 1) {
		/* What the next node will depend on is the last one. */
		node->handle = nodes[0];
		pthread_mutex_lock(&capture->lock);
		*capture->last_node = node;
		capture->last_node = &node->next;
		pthread_mutex_unlock(&capture->lock);
		return KZ_OK;
	}
	/* An older driver cannot tell: then the node has no name. */
	node_free(node);
	return code == DRV_MISSING ? KZ_OK
		: device_ok(stream->device, code, "cuStreamGetCaptureInfo", err);
}

/* Begin and end; the context is current */

kz_status capture_create(struct capture **out, struct kz_stream *stream, bool relaxed,
	kz_error *err)
{
	struct kz_device *dev = stream->device;
	struct capture *capture = mem_zalloc(1, sizeof(*capture));
	if (!capture) {
		return error_no_memory(err);
	}
	kz_status st = device_ok(dev, dev->drv->EventCreate(&capture->order,
		CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
	if (st) {
		mem_free(capture);
		return st;
	}
	atomic_init(&capture->refs, 1);
	pthread_mutex_init(&capture->lock, NULL);
	capture->device = dev;
	capture->origin = stream;
	capture->thread = pthread_self();
	capture->is_relaxed = relaxed;
	capture->last_node = &capture->nodes;
	atomic_fetch_add(&dev->captures, 1);
	*out = capture;
	return KZ_OK;
}

struct kz_stream *capture_close(struct capture *capture, bool living)
{
	struct kz_device *dev = capture->device;
	struct kz_stream *streams = capture_part(capture);
	for (size_t i = 0; i < capture->uses.count; i++) {
		if (capture->uses.items[i].kind->is_memory) {
			struct memory *memory = capture->uses.items[i].object;
			atomic_fetch_sub(&memory->captures, 1);
		}
	}
	atomic_fetch_sub(&dev->captures, 1);
	if (living) {
		device_released(dev, dev->drv->EventDestroy(capture->order), "cuEventDestroy");
	}
	return streams;
}

void capture_forget(struct capture *capture)
{
	while (capture->nodes) {
		struct kz_node *node = capture->nodes;
		capture->nodes = node->next;
		node_free(node);
	}
	uses_release(&capture->uses);
	capture_release(capture);
}

kz_status capture_stop(CUgraph *out, struct capture *capture, kz_error *err)
{
	struct kz_device *dev = capture->device;
	*out = NULL;
	CUresult code = dev->drv->StreamEndCapture(capture->origin->handle, out);
	if (code == CUDA_ERROR_STREAM_CAPTURE_UNJOINED) {
		bool mine = error_is_clean(err);
		error_set(err, KZ_STATE,
			"kz_graph_end: a stream that joined the capture was not joined back");
		if (mine) {
			error_add_hint(err, "record an event in it, and let the first stream wait "
				"for that");
			codes_add(KZ_DOMAIN_DRIVER, (int)code, "cuStreamEndCapture", err);
		}
		return KZ_STATE;
	}
	return device_ok(dev, code, "cuStreamEndCapture", err);
}

struct kz_stream *capture_abort(struct capture *capture)
{
	struct kz_device *dev = capture->device;
	struct device_scope scope;
	CUgraph handle;
	bool is_living = device_enter_quietly(dev, &scope);
	if (is_living && capture_stop(&handle, capture, NULL) == KZ_OK) {
		device_released(dev, dev->drv->GraphDestroy(handle), "cuGraphDestroy");
	}
	struct kz_stream *streams = capture_close(capture, is_living);
	capture_forget(capture);
	if (is_living) {
		device_leave(dev, &scope);
	}
	return streams;
}

kz_status capture_refuse_stream(const struct kz_stream *stream, kz_error *err)
{
	return error_set(err, KZ_STATE,
		"a stream of %s captures a graph, and this call cannot be "
		"captured: end the capture first", stream->device->name);
}
