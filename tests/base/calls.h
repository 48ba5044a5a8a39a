/* SPDX-License-Identifier: MIT */
#ifndef CALLS_H
#define CALLS_H

/*
 * System calls that go wrong when a test says so.  The linker puts these in the place of the C
 * library's (--wrap) in everything that the runner is made of; those are the ones that a store
 * makes.  They count, and one of them, or all from one on, does something else.  Of one thread.
 */
#include <stdbool.h>

enum calls_action {
	CALLS_PASS,        /* only count */
	CALLS_FAIL,        /* fail with the error, and do nothing */
	CALLS_FAIL_LATE,   /* do it, and say that it failed */
	CALLS_HALF,        /* read or write less than was asked for; others pass */
	CALLS_FULL,        /* pwrite: a disk that is full, where a file ends at byte `at` at most */
	CALLS_EXIT,        /* end the process instead */
	CALLS_EXIT_LATE    /* and after it */
};

/* From now on; `at` counts from 0. */
void calls_begin(enum calls_action action, int error, long at, bool for_ever);
/* Pass again; how many calls there were. */
long calls_end(void);
/* The name of the call that went wrong first, "" if none did. */
const char *calls_victim(void);

#endif
