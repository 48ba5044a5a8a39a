/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_SYSTEM_REFUSAL_H
#define CPU_MEM_SYSTEM_REFUSAL_H

/*
 * System calls that the system refuses: a sandbox does not allow them, a limit on file sizes does.
 *
 * Functions that return no memory note such a call where it fails, with errno as it left it.  The
 * call of the driver that fails because of that takes the note, and names the system call, so that
 * nobody looks for memory that is not missing.  A note belongs to its thread.
 */
#include "base/common.h"

struct refusal {
	const char *call; /* static; NULL: there is none */
	int error;
};

/* Note a call that has failed, unless it failed for want of memory or of descriptors. */
void refusal_note(const char *call);
/* Take the note off; false if there is no note. */
bool refusal_take(struct refusal *out);

#endif
