/* SPDX-License-Identifier: MIT */
/* System calls that the system refuses; see system_refusal.h. */
#include "base/common.h"

#include "cpu/mem/system_refusal.h"

#include <errno.h>

static _Thread_local struct refusal refusal_noted;

void refusal_note(const char *call)
{
	switch (errno) {
	case ENOMEM:
	case ENOSPC:
	case EAGAIN:
	case EMFILE:
	case ENFILE:
		return;
	default:
		refusal_noted = (struct refusal){call, errno};
	}
}

bool refusal_take(struct refusal *out)
{
	*out = refusal_noted;
	refusal_noted = (struct refusal){0};
	return out->call;
}
