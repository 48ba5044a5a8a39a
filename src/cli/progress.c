/* SPDX-License-Identifier: MIT */
/*
 * "kudzu run: compiling 'big.cu', 3 s": a thread writes the line anew each second, for the library
 * is within a call of NVRTC meanwhile.  A line that cannot be shown is no failure.
 */
#define _GNU_SOURCE
#include "cli/progress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	pthread_t thread;
	bool runs, ends;
	char text[256];
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *progress_run(void *unused)
{
	struct timespec next;
	(void)unused;
	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&progress.lock);
	for (int seconds = 1; !progress.ends; seconds++) {
		next.tv_sec++;
		while (!progress.ends
		    && !pthread_cond_timedwait(&progress.ended, &progress.lock, &next)) {
		}
		if (!progress.ends) {
			fprintf(stderr, "\r%s, %d s", progress.text, seconds);
		} else if (seconds > 1) {
			fputs("\r\033[K", stderr);
		}
	}
	pthread_mutex_unlock(&progress.lock);
	return NULL;
}

void progress_begin(const char *format, ...)
{
	pthread_condattr_t clock;
	va_list args;
	if (progress.runs || !isatty(STDERR_FILENO)) {
		return;
	}
	va_start(args, format);
	vsnprintf(progress.text, sizeof(progress.text), format, args);
	va_end(args);
	progress.ends = false;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&progress.ended, &clock);
	pthread_condattr_destroy(&clock);
	progress.runs = pthread_create(&progress.thread, NULL, progress_run, NULL) == 0;
}

void progress_end(void)
{
	if (!progress.runs) {
		return;
	}
	pthread_mutex_lock(&progress.lock);
	progress.ends = true;
	pthread_cond_signal(&progress.ended);
	pthread_mutex_unlock(&progress.lock);
	pthread_join(progress.thread, NULL);
	pthread_cond_destroy(&progress.ended);
	progress.runs = false;
}
