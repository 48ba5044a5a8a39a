/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_CU_OBJECT_H
#define CPU_OBJECT_CU_OBJECT_H

/*
 * cpu/object has what the driver gives out handles for: devices, contexts, modules, functions,
 * pools, and the table of handles itself.
 *
 * This header: what belongs to a context and ends with it: modules, streams, events, arrays and
 * more.  Each begins with a struct object, which is in the list of its context.
 */
#include "cpu/object/handle.h"

struct context;
struct object;

/* Ends an object that is claimed, and still in its context's list. */
typedef void object_destructor(struct object *object);

struct object {
	enum api_kind kind;
	bool is_part;           /* of another object, which ends it */
	void *handle;
	struct context *context;
	object_destructor *destroy; /* NULL: context_clear ends it */
	struct object *next;
	struct object **link;   /* what points to this one */
};

/* Give an object its handle and put it into a context's list. */
bool object_add(struct object *object, struct context *context, enum api_kind kind,
	object_destructor *destroy);
/* For a call that ends an object; NULL if the handle is not valid, another call ends the object, or
 * it is a part of a library. */
struct object *object_claim(const void *handle, enum api_kind kind, bool *is_part);
/* The last thing before it is freed: as long as a context has objects, it stays. */
void object_remove(struct object *object);

/* To clear a context: its newest object, as the handle and the kind; false if it has none. */
bool object_newest(struct context *context, void **handle, enum api_kind *kind);
/* End an object; if another thread is about to, wait until it has. */
void object_end(struct context *context, void *handle, enum api_kind kind);

#endif
