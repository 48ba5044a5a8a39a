/* SPDX-License-Identifier: MIT */
#ifndef CPU_FAULT_H
#define CPU_FAULT_H

/*
 * Hardware faults of compiled code come back as a jump:
 *
 *	if (sigsetjmp(catch.env, 0) == 0) {
 *		fault_arm(&catch);
 *		... run kernels ...
 *	} else {
 *		... catch.signal, catch.address ...
 *	}
 *	fault_disarm();
 *
 * Faults of threads that are not armed go to whoever handled them before.
 */
#include "../base/common.h"

#include <setjmp.h>
#include <signal.h>

struct fault_catch {
	sigjmp_buf env;
	int signal;
	uintptr_t address; /* 0 where the hardware does not say */
	bool has_address;
};

/* Install the handlers, and take them away again if they are still the current ones. */
bool fault_install(void);
void fault_remove(void);

/* This thread only.  A fault whose signal is blocked ends the process.  True if one of them was
 * blocked: then the mask in *old is to be put back. */
bool fault_unblock(sigset_t *old);
void fault_arm(struct fault_catch *target);
void fault_disarm(void);

#endif
