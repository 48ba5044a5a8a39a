/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_FIND_H
#define LIB_RTC_FIND_H

/*
 * NVIDIA's libraries, found at run time.  Where one is looked for, in this order:
 *   what its variable (KUDZU_NVRTC ...) names: a library, or a folder that holds one,
 *   the toolkit: CUDA_PATH, CUDA_HOME, then /usr/local/cuda and the versioned folders beside it,
 *   NVIDIA's Python wheels: in the environment where libkudzu.so lies, then below VIRTUAL_ENV,
 *     CONDA_PREFIX, the user's packages, and /usr/local,
 *   the dynamic loader, by soname.
 */
#include "base/error.h"
#include "base/str.h"

#if defined(__aarch64__)
#define FIND_TARGET "sbsa-linux"
#else
#define FIND_TARGET "x86_64-linux"
#endif

struct find;

struct find_what {
	const char *file;           /* "libnvrtc.so": files that begin so */
	const char *variable;       /* "KUDZU_NVRTC" */
	const char *const *sonames; /* for the loader, best first; NULL ends the list */
	/* Whether this open library is the one; else find_note why not.  May set no_memory. */
	bool (*take)(struct find *find, void *object, const char *path);
};

struct find {
	const struct find_what *what;
	void *arg;       /* take's */
	bool look_only;  /* open nothing: the first file with such a name is it; what only the
	                    loader could find is not looked for */
	char *path;      /* of that file; freed with mem_free */
	bool found;
	bool no_memory;
	struct str log;  /* a line for each thing that was tried */
};

/* Look everywhere until `take` is content.  `log` is the caller's, begun or empty. */
void find_library(struct find *find);

/* Look in one more place, a folder or a library, that the caller knows of. */
void find_in(struct find *find, const char *named);

/* Say that it was not found: KZ_NO_COMPILER with the log, or that memory ran out.  "NVRTC", and
 * what it is: "runtime compiler". */
kz_status find_failed(struct find *find, const char *name, const char *what_it_is, const char *hint,
	kz_error *err);

/* A line of the log: what was tried and why it is not it. */
void find_note(struct find *find, const char *path, const char *why);

#endif
