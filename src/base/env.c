/* SPDX-License-Identifier: MIT */
/* Environment variables, which a privileged process ignores. */
#include "base/env.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* What this thread reads in place of the process's: strings NAME=VALUE, an empty one ends them. */
static _Thread_local const char *env_of_thread;

bool env_is_privileged(void)
{
	return getauxval(AT_SECURE) != 0;
}

char *env_copy(void)
{
	size_t size = 1;
	for (char **at = environ; at && *at; at++) {
		size += strlen(*at) + 1;
	}
	char *copy = mem_alloc(size), *end = copy;
	for (char **at = environ; copy && at && *at; at++) {
		end = stpcpy(end, *at) + 1;
	}
	if (copy) {
		*end = '\0';
	}
	return copy;
}

void env_use(const char *copy)
{
	env_of_thread = copy;
}

const char *env_get(const char *name)
{
	if (env_is_privileged()) {
		return NULL;
	}
	if (!env_of_thread) {
		return getenv(name);
	}
	const size_t length = strlen(name);
	const char *at = env_of_thread;
	while (*at && (strncmp(at, name, length) != 0 || at[length] != '=')) {
		at += strlen(at) + 1;
	}
	return *at ? at + length + 1 : NULL;
}
