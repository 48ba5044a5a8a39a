/* SPDX-License-Identifier: MIT */
#ifndef BASE_STACK_H
#define BASE_STACK_H

/* The stack of a thread, which need not have room for a compiler, or for the code of a kernel. */
#include <stdbool.h>
#include <stddef.h>

/* Whether the calling thread's stack has this much left; false also on a stack that is not the
 * thread's own, such as a coroutine's. */
bool stack_has_room(size_t size);

/* Run work(arg) on a thread with a big stack and without signals, and wait for its end.  Returns 0,
 * or errno's number if no thread can be had. */
int stack_run(void *(*work)(void *arg), void *arg);

#endif
