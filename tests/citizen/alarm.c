/* SPDX-License-Identifier: MIT */
/*
 * For LD_PRELOAD: each process that is forked gets a thousand SIGALRM a second, whose handler does
 * not restart system calls.  Check forks for each test, so suites run under them (make
 * check-signals).
 *
 * The timer is one that exec takes away, and the program that is started then has none.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <time.h>

static void on_alarm(int number)
{
	(void)number;
}

static void begin(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec often = {{0, 1000000}, {0, 1000000}};
	timer_t timer;
	if (sigaction(SIGALRM, &action, NULL) == 0
	    && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) {
		timer_settime(timer, 0, &often, NULL);
	}
}

__attribute__((constructor)) static void watch(void)
{
	pthread_atfork(NULL, NULL, begin);
}
