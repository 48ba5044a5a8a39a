/* SPDX-License-Identifier: MIT */
#ifndef CPU_PROFILE_PROFILE_H
#define CPU_PROFILE_PROFILE_H

/*
 * cpu/profile makes the profile that KUDZU_PROFILE asks for.  Each kernel of a PTX text has a
 * struct profile_kernel as long as the process lives, with the sums of all its launches.  Each
 * piece of code that is compiled for the kernel has a struct profile_code, which counts its
 * samples.
 */
#include "cpu/ptx/ptx.h"

#include <pthread.h>
#include <stdatomic.h>

struct profile_code;

/* KUDZU_PROFILE names a file: open it.  False, with the reason as one line: it cannot be written.
 * Only the first call of a process does something. */
bool profile_begin(char *why, size_t size);
/* Write what there is so far.  It is written when the process ends, too.  False: errno says why. */
bool profile_write(void);

/* Code of a kernel that has basic blocks, as it was loaded. */
struct profile_object {
	const struct ptx_module *module;
	const struct ptx_func *func;
	uint32_t width;        /* lanes per call */
	const void *object;    /* the object file */
	size_t size;
	uintptr_t entry;       /* where the code begins, */
	size_t text_size;      /* and its size; 0: it is not known */
};

/* NULL: no memory. */
struct profile_code *profile_code_create(const struct profile_object *object);
/* The code will be gone; NULL is fine. */
void profile_code_release(struct profile_code *code);

/* How many counters a worker has for a launch; 0: the code has none. */
size_t profile_count(const struct profile_code *code);

/* An access of a kernel: its line of PTX, the number of its place in the source, and its first
 * counter. */
struct profile_access {
	uint32_t ptx_line, place, first;
};
/* Get the first access from the instruction `*next` on, and move `*next` past it; false: no more
 * accesses follow. */
bool profile_next_access(const struct profile_code *code, size_t *next, struct profile_access *out);

/* A launch that has ended. */
struct profile_launch {
	const char *name;          /* of the kernel */
	uint64_t blocks, threads;  /* of the grid; of a block */
	uint64_t wall_ns;          /* from its beginning to its end, */
	uint64_t busy_ns;          /* and the times of all its workers */
};
void profile_add_launch(struct profile_code *code, const struct profile_launch *launch);
/* What a worker has counted in it. */
void profile_add_counters(struct profile_code *code, const uint64_t *counters);

/* Sampling, profile_sample.c: the calling thread runs this code from now on; NULL: none.  Within
 * the calls, the stack down from `stack` belongs to the code and what it calls. */
void profile_run(struct profile_code *code, const void *stack);

#endif
