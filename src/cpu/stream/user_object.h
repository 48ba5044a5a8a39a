/* SPDX-License-Identifier: MIT */
#ifndef CPU_STREAM_USER_OBJECT_H
#define CPU_STREAM_USER_OBJECT_H

/* User objects: counted references to something that a function of the program destroys. */
#include "base/common.h"
#include "base/cuda_abi.h"

struct user_object;

/* NULL when memory runs out. */
CUuserObject user_object_create(void *data, CUhostFn destroy, size_t count);

/* The references of the program.  False: too many, or fewer than these.  Releasing them may destroy
 * the object, so no lock may be held. */
bool user_object_retain(struct user_object *object, size_t count);
bool user_object_release(struct user_object *object, size_t count);

/* The references of graphs.  To move some is to make the program's a graph's; false if there are
 * not as many.  No lock may be held to drop them. */
bool user_object_keep(struct user_object *object, size_t count);
bool user_object_move(struct user_object *object, size_t count);
void user_object_drop(struct user_object *object, size_t count);

#endif
