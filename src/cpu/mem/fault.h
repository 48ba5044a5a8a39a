/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_FAULT_H
#define CPU_MEM_FAULT_H

/*
 * Hardware faults of compiled code come back as a jump:
 *
 *	fault_init(&catch);
 *	if (sigsetjmp(catch.env, 0) == 0) {
 *		fault_arm(&catch);
 *		... run kernels ...
 *	} else {
 *		... catch.signal, catch.address ...
 *	}
 *	fault_disarm(&catch);
 *
 * Faults of threads that are not armed go to the handler of before.
 */
#include "base/common.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

/* The signal of fault_interrupt.  By default it is ignored, so that a late one does no harm. */
#define FAULT_INTERRUPT SIGURG

struct fault_catch {
	sigjmp_buf env;
	atomic_int state;  /* see fault.c */
	atomic_bool is_sending; /* fault_interrupt is about to send a signal */
	pthread_t thread;
	atomic_bool is_late; /* interrupted while it held */
	int signal;        /* a fault's, or FAULT_INTERRUPT */
	uintptr_t address; /* 0 where the hardware does not say */
	bool has_address;
	const char *call;  /* of the kernel that C code was doing, "printf"; NULL: none */
};

/* Install the handlers, and remove them if they are still the current ones. */
bool fault_install(void);
void fault_remove(void);

/* A fault whose signal is blocked ends the process, so unblock the signals of this thread.  True if
 * one was blocked: restore the mask in *old later. */
bool fault_unblock(sigset_t *old);
/* Say whether fault_unblock, which makes a system call, can be left out on this thread: no signal
 * is blocked, and until this is called again only our code runs here.  Returns the old value. */
bool fault_stay_open(bool open);
/* Before the first fault_arm, unless the target is zeros: what fault_arm leaves as it is. */
static inline void fault_init(struct fault_catch *target)
{
	atomic_init(&target->is_sending, false);
}
void fault_arm(struct fault_catch *target);
void fault_disarm(struct fault_catch *target);

/* Make another thread jump to its target, if it has armed the target and runs compiled code. */
void fault_interrupt(struct fault_catch *target);
/* Around C code that compiled code calls and that an interrupt must not leave in the middle,
 * because it holds a lock or calls a function that may hold one. */
void fault_hold(void);
void fault_release(void);
/* Name the call of a kernel that C code is doing from now on, for the message of a fault in it;
 * NULL: it is done. */
void fault_name(const char *call);

#endif
