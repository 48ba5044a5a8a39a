/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_HANDLE_H
#define CPU_OBJECT_HANDLE_H

/*
 * Handles: numbers that are never addresses, so that a stale one is found out.  A handle says of
 * what kind its object is.  Any thread may look one up at any time, without a lock.
 */
#include "base/common.h"

enum api_kind { API_CONTEXT = 1, API_MODULE, API_FUNCTION, API_STREAM, API_EVENT, API_LIBRARY,
	API_KERNEL, API_LINK, API_POOL, API_ARRAY, API_MIPMAP, API_TEXTURE, API_SURFACE,
	API_HOST, API_BLOCK, API_GRAPH, API_GRAPH_NODE, API_GRAPH_EXEC, API_USER_OBJECT,
	API_LOG_CALLBACK, API_CONDITION, API_KIND_END };

/* An object has one handle.  NULL when memory runs out. */
void *handle_create(enum api_kind kind, void *object);
/* The object, NULL if the handle is not one of a live object of that kind. */
void *handle_get(const void *handle, enum api_kind kind);
/* Whether there was an object of that kind with this handle, which has ended. */
bool handle_is_past(const void *handle, enum api_kind kind);
/* handle_get for a call that is about to end the object: the first one gets it, others get NULL. It
 * can still be found until handle_release. */
void *handle_claim(const void *handle, enum api_kind kind);
void handle_release(void *handle); /* NULL is fine */
/* Keep a handle that means nothing until it is resumed, for the next object. */
void handle_suspend(void *handle);
void handle_resume(void *handle, void *object);

#endif
