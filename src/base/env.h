/* SPDX-License-Identifier: MIT */
#ifndef BASE_ENV_H
#define BASE_ENV_H

/*
 * Environment variables, read safely.
 *
 * The user who starts a program chooses its environment.  A privileged program has rights that its
 * caller lacks: it is setuid, setgid or has file capabilities.  In such a program no variable may
 * say what is loaded, read or written, so here all of them are unset.  No other file of the library
 * or the driver calls getenv; .ci/check-env sees to that.
 */
#include "base/common.h"

/* Whether the kernel gave this process rights that its caller lacks (AT_SECURE).  The kernel
 * decides when the program starts; what the process does to its ids later changes nothing. */
bool env_is_privileged(void);

/* The value of a variable; NULL if it is not set or the process is privileged. */
const char *env_get(const char *name);

/*
 * For threads that work while the program goes on: it may call setenv, which must not happen while
 * another thread reads the environment.  So such a thread gets a copy of what was set when it was
 * asked to work, and its env_get reads that.
 */
char *env_copy(void); /* freed with mem_free; NULL: no memory */
/* From now on this thread reads a copy, which must live until then; NULL: the process's again. */
void env_use(const char *copy);

#endif
