/* SPDX-License-Identifier: MIT */
/* Environment variables, which a privileged process ignores. */
#include "base/env.h"

#include <stdlib.h>
#include <sys/auxv.h>

bool env_is_privileged(void)
{
	return getauxval(AT_SECURE) != 0;
}

const char *env_get(const char *name)
{
	return env_is_privileged() ? NULL : getenv(name);
}
