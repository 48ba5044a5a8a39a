/* SPDX-License-Identifier: MIT */
/*
 * How much stack a thread has left, and a bigger one.
 *
 * The C library knows where a thread's stack lies.  Each thread asks it once, since it reads a file
 * for the first thread of the process.
 */
#include "base/common.h"

#include "base/stack.h"

#include <pthread.h>
#include <signal.h>

#define STACK_BIG ((size_t)32 << 20)

static _Thread_local struct {
	const char *low, *high; /* NULL: not known yet */
} stack_mine;

/* A stack that the C library does not tell counts as big. */
static __attribute__((cold, noinline)) void stack_ask(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t size;
	stack_mine.low = NULL;
	stack_mine.high = (const char *)UINTPTR_MAX;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
		return;
	}
	if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
		stack_mine.low = low;
		stack_mine.high = stack_mine.low + size;
	}
	pthread_attr_destroy(&attributes);
}

/* Of a thread that has not asked yet `high` is below all. */
static bool stack_holds(const char *here, size_t size)
{
	return here < stack_mine.high && here >= stack_mine.low
		&& (size_t)(here - stack_mine.low) >= size;
}

bool stack_has_room(size_t size)
{
	const char *here = __builtin_frame_address(0);
	if (likely(stack_holds(here, size))) {
		return true;
	}
	if (!stack_mine.high) {
		stack_ask();
	}
	return stack_holds(here, size);
}

int stack_run(void *(*work)(void *arg), void *arg)
{
	pthread_t thread;
	pthread_attr_t attributes;
	sigset_t all;
	sigset_t old;
	int cancel;
	int code = pthread_attr_init(&attributes);
	if (code != 0) {
		return code;
	}
	/* Signals are for the caller's threads. */
	sigfillset(&all);
	pthread_attr_setstacksize(&attributes, STACK_BIG);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	code = pthread_create(&thread, &attributes, work, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	if (code != 0) {
		return code;
	}
	/* Cancelled here, we would leave the thread with a call that is gone. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_join(thread, NULL);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}
