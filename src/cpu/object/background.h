/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_BACKGROUND_H
#define CPU_OBJECT_BACKGROUND_H

/*
 * A thread that compiles while the program goes on.  It does one job after the other and ends when
 * none is left.  Before the process ends it is waited for, because LLVM must not run longer.
 */
#include "base/common.h"

struct background_job {
	void (*run)(struct background_job *job);
	const void *owner;     /* to whom it belongs */
	struct background_job *next;
	char *environment;     /* what the job reads (env_copy) */
};

/* Have a job done, with the environment variables as they are now.  The job must stay where it is
 * until then.  False: there is no thread for it, no memory, or the process ends. */
bool background_add(struct background_job *job);
/* Forget the jobs of an owner, and wait for the one that runs. */
void background_cancel(const void *owner);
/* Wait for the jobs of an owner. */
void background_wait(const void *owner);

#endif
