/* SPDX-License-Identifier: MIT */
/*
 * What belongs to a context: the list of its objects, the heap of its kernels, its memory.
 *
 * An object that a call ends is claimed first, so that no other call ends it too, and leaves the
 * list last.  Until then the context stays, which a thread that ends it in the meantime waits for.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

#include "cpu/stream/graph_memory.h"
#include "cpu/runtime/heap.h"

bool object_add(struct object *object, struct context *context, enum api_kind kind)
{
	object->handle = handle_create(kind, object);
	if (object->handle == NULL) {
		return false;
	}
	object->kind = kind;
	object->context = context;
	pthread_mutex_lock(&context->lock);
	object->next = context->objects;
	object->link = &context->objects;
	if (object->next != NULL) {
		object->next->link = &object->next;
	}
	context->objects = object;
	pthread_mutex_unlock(&context->lock);
	return true;
}

void object_remove(struct object *object)
{
	void *handle = object->handle;
	pthread_mutex_lock(&object->context->lock);
	*object->link = object->next;
	if (object->next != NULL) {
		object->next->link = object->link;
	}
	pthread_cond_broadcast(&object->context->has_fewer);
	pthread_mutex_unlock(&object->context->lock);
	handle_release(handle);
}

/* The newest object of a context: its handle and kind; false if there is none. */
static bool newest_object(struct context *context, void **handle, enum api_kind *kind)
{
	pthread_mutex_lock(&context->lock);
	const struct object *object = context->objects;
	if (object != NULL) {
		*handle = object->handle;
		*kind = object->kind;
	}
	pthread_mutex_unlock(&context->lock);
	return object != NULL;
}

/* Another thread ends the newest object. */
static void wait_for_end(struct context *context, const void *handle)
{
	pthread_mutex_lock(&context->lock);
	while (context->objects != NULL && context->objects->handle == handle) {
		pthread_cond_wait(&context->has_fewer, &context->lock);
	}
	pthread_mutex_unlock(&context->lock);
}

static void end_object(struct context *context, void *handle, enum api_kind kind)
{
	static void (*const frees[])(struct object *object) = {
		[API_MODULE] = module_free, [API_HOST] = host_free, [API_ARRAY] = array_free,
		[API_MIPMAP] = mipmap_free, [API_TEXTURE] = texture_free,
		[API_SURFACE] = texture_free
	};
	if (kind == API_STREAM) {
		stream_free(handle);
		return;
	}
	if (kind == API_EVENT) {
		event_free(handle);
		return;
	}
	// Parts are older than what they are a part of, and gone with it.
	struct object *object = handle_claim(handle, kind);
	if (object != NULL) {
		frees[kind](object);
	} else {
		wait_for_end(context, handle);
	}
}

void context_clear(struct context *context)
{
	void *handle;
	enum api_kind kind;
	context_drain(context);
	while (newest_object(context, &handle, &kind)) {
		end_object(context, handle, kind);
	}
	context_reap(context);
	heap_release(context->host.heap);
	context->host.heap = NULL;
	graph_memory_forget(context);
	memory_free_owner(context->device->memory, context);
}

bool context_open_heap(struct context *context)
{
	struct memory *memory = context->device->memory;
	const struct memory_range wish = {.kind = MEMORY_MODULE, .owner = context,
		.size = context->limits[CU_LIMIT_MALLOC_HEAP_SIZE]};
	pthread_mutex_lock(&context->lock);
	if (context->host.heap == NULL) {
		uint64_t base = memory_alloc(memory, &wish);
		context->host.heap = base != 0 ? heap_create(base, wish.size) : NULL;
		if (base != 0 && context->host.heap == NULL) {
			memory_free(memory, base, MEMORY_MODULE);
		}
	}
	bool ok = context->host.heap != NULL;
	pthread_mutex_unlock(&context->lock);
	return ok;
}
