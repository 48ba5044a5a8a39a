/* SPDX-License-Identifier: MIT */
/*
 * User objects.  The program has references to one, and so have graphs; when the last of both has
 * gone, a function of the program destroys what it stands for, on the thread that released it.
 * Like a host function of a stream, that function must not call the driver.
 */
#include "base/common.h"

#include "cpu/stream/user_object.h"

#include "base/alloc.h"
#include "cpu/object/handle.h"
#include "cpu/object/log.h"

#include <pthread.h>

struct user_object {
	CUuserObject handle;
	pthread_mutex_t lock;
	size_t own;             /* references of the program */
	size_t kept;            /* references of graphs */
	CUhostFn destroy;
	void *data;
};

/* The lock is held, which this gives back.  Without other locks. */
static void user_object_unlock_or_end(struct user_object *object)
{
	bool is_over = object->own == 0 && object->kept == 0;
	pthread_mutex_unlock(&object->lock);
	if (!is_over) {
		return;
	}
	handle_release(object->handle);
	api_set_in_callback(true);
	object->destroy(object->data);
	api_set_in_callback(false);
	pthread_mutex_destroy(&object->lock);
	mem_free(object);
}

CUuserObject user_object_create(void *data, CUhostFn destroy, size_t count)
{
	struct user_object *object = mem_zalloc(1, sizeof(*object));
	if (!object || !(object->handle = handle_create(API_USER_OBJECT, object))) {
		mem_free(object);
		return NULL;
	}
	pthread_mutex_init(&object->lock, NULL);
	object->own = count;
	object->destroy = destroy;
	object->data = data;
	return object->handle;
}

bool user_object_retain(struct user_object *object, size_t count)
{
	pthread_mutex_lock(&object->lock);
	bool ok = size_add(&object->own, object->own, count);
	pthread_mutex_unlock(&object->lock);
	return ok;
}

bool user_object_release(struct user_object *object, size_t count)
{
	pthread_mutex_lock(&object->lock);
	if (count > object->own) {
		pthread_mutex_unlock(&object->lock);
		return false;
	}
	object->own -= count;
	user_object_unlock_or_end(object);
	return true;
}

bool user_object_keep(struct user_object *object, size_t count)
{
	pthread_mutex_lock(&object->lock);
	bool ok = size_add(&object->kept, object->kept, count);
	pthread_mutex_unlock(&object->lock);
	return ok;
}

void user_object_drop(struct user_object *object, size_t count)
{
	pthread_mutex_lock(&object->lock);
	object->kept -= count;
	user_object_unlock_or_end(object);
}

bool user_object_move(struct user_object *object, size_t count)
{
	pthread_mutex_lock(&object->lock);
	bool ok = count <= object->own && size_add(&object->kept, object->kept, count);
	object->own -= ok ? count : 0;
	pthread_mutex_unlock(&object->lock);
	return ok;
}
