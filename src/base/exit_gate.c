/* SPDX-License-Identifier: MIT */
/*
 * See exit_gate.h.
 *
 * exit() calls what was registered last first, and the gate must close before a compiler's objects
 * go.  Some of them are made when it is loaded, others when a part of it first runs.  So the gate
 * is registered again after the first call, the second, the fourth and so on.  Not covered is the
 * time in which a compiler is being loaded: exit() may destroy what it has made until then.
 */
#include "base/common.h"

#include "base/exit_gate.h"

#include <pthread.h>
#include <stdlib.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int inside;
	unsigned passed;
	bool is_watched;
	bool is_over;
} exit_gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void exit_gate_close(void)
{
	pthread_mutex_lock(&exit_gate.lock);
	exit_gate.is_over = true;
	while (exit_gate.inside > 0) {
		pthread_cond_wait(&exit_gate.changed, &exit_gate.lock);
	}
	pthread_mutex_unlock(&exit_gate.lock);
}

static void exit_gate_on_fork(void)
{
	pthread_mutex_init(&exit_gate.lock, NULL);
	pthread_cond_init(&exit_gate.changed, NULL);
	exit_gate.inside = 0;
}

static void exit_gate_watch_forks(void)
{
	pthread_atfork(NULL, NULL, exit_gate_on_fork);
}

bool exit_gate_enter(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, exit_gate_watch_forks);
	pthread_mutex_lock(&exit_gate.lock);
	bool is_open = !exit_gate.is_over;
	if (!exit_gate.is_watched) {
		exit_gate.is_watched = true;
		atexit(exit_gate_close);
	}
	exit_gate.inside += is_open;
	pthread_mutex_unlock(&exit_gate.lock);
	return is_open;
}

kz_status exit_gate_pass(kz_error *err)
{
	if (exit_gate_enter()) {
		return KZ_OK;
	}
	bool mine = error_is_clean(err);
	error_set(err, KZ_STATE, "cannot compile: the process is ending");
	if (mine) {
		error_add_hint(err, "compile before exit() is called");
	}
	return KZ_STATE;
}

void exit_gate_leave(void)
{
	pthread_mutex_lock(&exit_gate.lock);
	exit_gate.passed++;
	if ((exit_gate.passed & (exit_gate.passed - 1)) == 0) {
		atexit(exit_gate_close);
	}
	if (--exit_gate.inside == 0) {
		pthread_cond_broadcast(&exit_gate.changed);
	}
	pthread_mutex_unlock(&exit_gate.lock);
}
