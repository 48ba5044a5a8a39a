/* SPDX-License-Identifier: MIT */
/*
 * The list of a context's objects.
 *
 * An object that a call ends is claimed first, so that no other call ends it too, and leaves the
 * list last.  Until then the context stays, which a thread that ends it in the meantime waits for.
 */
#include "base/common.h"

#include "cpu/object/cu_object.h"

#include "cpu/object/context.h"

bool object_add(struct object *object, struct context *context, enum api_kind kind,
	object_destructor *destroy)
{
	object->handle = handle_create(kind, object);
	if (!object->handle) {
		return false;
	}
	object->kind = kind;
	object->context = context;
	object->destroy = destroy;
	pthread_mutex_lock(&context->lock);
	object->next = context->objects;
	object->link = &context->objects;
	if (object->next) {
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
	if (object->next) {
		object->next->link = object->link;
	}
	pthread_cond_broadcast(&object->context->has_fewer);
	pthread_mutex_unlock(&object->context->lock);
	handle_release(handle);
}

bool object_newest(struct context *context, void **handle, enum api_kind *kind)
{
	pthread_mutex_lock(&context->lock);
	const struct object *object = context->objects;
	if (object) {
		*handle = object->handle;
		*kind = object->kind;
	}
	pthread_mutex_unlock(&context->lock);
	return object;
}

/* Another thread ends the newest object. */
static void object_wait_for_end(struct context *context, const void *handle)
{
	pthread_mutex_lock(&context->lock);
	while (context->objects && context->objects->handle == handle) {
		pthread_cond_wait(&context->has_fewer, &context->lock);
	}
	pthread_mutex_unlock(&context->lock);
}

void object_end(struct context *context, void *handle, enum api_kind kind)
{
	// Parts are older than what they are a part of, and gone with it.
	struct object *object = handle_claim(handle, kind);
	if (object) {
		object->destroy(object);
	} else {
		object_wait_for_end(context, handle);
	}
}
