/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_FAULT_H
#define CPU_MEM_FAULT_H

/*
 * Hardware faults of compiled code come back as a jump:
 *
 *	if (sigsetjmp(catch.env, 0) == 0) {
 *		fault_arm(&catch);
 *		... run kernels ...
 *	} else {
 *		... catch.signal, catch.address ...
 *	}
 *	fault_disarm(&catch);
 *
 * Faults of threads that are not armed go to whoever handled them before.
 */
#include "base/common.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

/* The signal of fault_interrupt: one that by default is ignored, so that a late one does no harm. */
#define FAULT_INTERRUPT SIGURG

struct fault_catch {
	sigjmp_buf env;
	atomic_int state;  /* not armed, armed, being interrupted */
	pthread_t thread;
	volatile sig_atomic_t is_late; /* interrupted while it held */
	int signal;        /* a fault's, or FAULT_INTERRUPT */
	uintptr_t address; /* 0 where the hardware does not say */
	bool has_address;
};

/* Install the handlers, and take them away again if they are still the current ones. */
bool fault_install(void);
void fault_remove(void);

/* This thread only.  A fault whose signal is blocked ends the process.  True if one of them was
 * blocked: then the mask in *old is to be put back. */
bool fault_unblock(sigset_t *old);
/* Whether fault_unblock has nothing to do on this thread, which asks the system each time: nothing
 * is blocked, and until this is called again no code but ours runs on it.  What was. */
bool fault_stay_open(bool open);
void fault_arm(struct fault_catch *target);
void fault_disarm(struct fault_catch *target);

/* Make the thread that has armed a target jump to it, if it has and is in compiled code.  From any
 * other thread. */
void fault_interrupt(struct fault_catch *target);
/* Around C code that compiled code calls and that must not be left in the middle: it has a lock, or
 * calls what may have one. */
void fault_hold(void);
void fault_release(void);

#endif
