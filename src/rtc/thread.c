/* SPDX-License-Identifier: MIT */
/*
 * A call on a stack that is big enough for a compiler, whatever the caller's is.  The caller waits:
 * the thread is not there for work at the same time.
 */
#include "../base/common.h"

#include "thread.h"

#include <pthread.h>
#include <signal.h>

#define STACK_SIZE ((size_t)32 << 20)

kz_status thread_run(void *(*work)(void *arg), void *arg, kz_error *err)
{
	pthread_t thread;
	pthread_attr_t attributes;
	sigset_t all;
	sigset_t old;
	int cancel;
	int code = pthread_attr_init(&attributes);
	if (code == 0) {
		/* Signals are for the caller's threads. */
		sigfillset(&all);
		pthread_attr_setstacksize(&attributes, STACK_SIZE);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		code = pthread_create(&thread, &attributes, work, arg);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		pthread_attr_destroy(&attributes);
	}
	if (code != 0) {
		return error_os(err, code, "pthread_create", "cannot start a thread to compile on");
	}
	/* Cancelled here, we would leave the thread with a call that is gone. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_join(thread, NULL);
	pthread_setcancelstate(cancel, NULL);
	return KZ_OK;
}
