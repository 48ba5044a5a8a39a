/* SPDX-License-Identifier: MIT */
/*
 * A call on a stack that is big enough for a compiler.
 *
 * The caller waits for the thread's end; the thread gives it a stack, not parallel work.
 *
 * Compilers have locks of their own.  A child that is forked while one is held would wait forever,
 * so a call in such a child fails.
 */
#include "base/common.h"

#include "lib/rtc/thread.h"

#include "base/stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int running; /* calls; in a child those of its parent, which never end there */
static atomic_int owner;   /* the process whose they are */

/*
 * NVRTC takes these by signal() while it compiles, and gives them back in the same way: without the
 * flags and masks that they had, and, if two compiles overlap, with its own handler.  So what they
 * were before the first of the calls that overlap is put back after the last.
 */
static const int taken[] = {SIGINT, SIGTERM, SIGXFSZ};
static struct sigaction before[countof(taken)];
static int guests; /* calls; guarded by lock, as is `before` */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void thread_keep_signals(void)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; guests == 0 && i < countof(taken); i++) {
		sigaction(taken[i], NULL, &before[i]);
	}
	guests++;
	pthread_mutex_unlock(&lock);
}

static void thread_restore_signals(void)
{
	pthread_mutex_lock(&lock);
	guests--;
	for (size_t i = 0; guests == 0 && i < countof(taken); i++) {
		sigaction(taken[i], &before[i], NULL);
	}
	pthread_mutex_unlock(&lock);
}

/* Count a call; false if this process was forked in the middle of one. */
static bool thread_begin(void)
{
	int pid = (int)getpid();
	if (atomic_load(&running) > 0 && atomic_load(&owner) != pid) {
		return false;
	}
	atomic_store(&owner, pid);
	atomic_fetch_add(&running, 1);
	thread_keep_signals();
	return true;
}

static void thread_end(void)
{
	thread_restore_signals();
	atomic_fetch_sub(&running, 1);
}

kz_status thread_run(void *(*work)(void *arg), void *arg, kz_error *err)
{
	if (!thread_begin()) {
		error_set(err, KZ_STATE, "this process was forked while another thread was "
			"compiling");
		error_add_hint(err, "fork before threads compile, or compile in the parent alone");
		return KZ_STATE;
	}
	int code = stack_run(work, arg);
	thread_end();
	if (code != 0) {
		return error_os(err, code, "pthread_create", "cannot start a thread to compile on");
	}
	return KZ_OK;
}
