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

/* The pip that installs wheels where the search looks. */
enum find_pip {
	FIND_PIP_ENVIRONMENT, /* of an environment: of `venv` or conda */
	FIND_PIP_USER,        /* of the system's Python */
	FIND_PIP_MARKED,      /* likewise, and the distribution marks it as not for pip (PEP 668) */
};

/* How to get a library: a hint for each pip.  Hints are never freed, so each has its text. */
#define FIND_HINT(command, note, variable)                                                         \
	command note ", or install the CUDA toolkit, or set " variable " to the library or its "   \
		     "folder"
#define FIND_PIP_NOTE " (Debian's package of pip is python3-pip)"
#define FIND_HINTS(wheel, variable)                                                                \
	{                                                                                          \
		[FIND_PIP_ENVIRONMENT] = FIND_HINT("pip install " wheel, "", variable),            \
		[FIND_PIP_USER] =                                                                  \
			FIND_HINT("pip install --user " wheel, FIND_PIP_NOTE, variable),           \
		[FIND_PIP_MARKED] = FIND_HINT("pip install --user --break-system-packages " wheel, \
			FIND_PIP_NOTE, variable),                                                  \
	}

struct find_what {
	const char *file;           /* "libnvrtc.so": files that begin so */
	const char *variable;       /* "KUDZU_NVRTC" */
	const char *const *sonames; /* for the loader, best first; NULL ends the list */
	/* Whether this open library is the one; else find_note why not.  May set no_memory. */
	bool (*take)(struct find *find, void *object, const char *path);
	const char *const *hints;   /* FIND_HINTS, for find_failed */
};

struct find {
	const struct find_what *what;
	void *arg;       /* take's */
	bool look_only;  /* open nothing: the first file with such a name is it; what only the
	                    loader could find is not looked for */
	char *path;      /* of that file; freed with mem_free */
	bool found;
	bool no_memory;
	struct str log;  /* what was tried, and why it is not it */
};

/* Look everywhere until `take` is content.  `log` is the caller's, begun or empty. */
void find_library(struct find *find);

/* Look in one more place, a folder or a library, that the caller knows of. */
void find_in(struct find *find, const char *named);

/* Say that it was not found: KZ_NO_COMPILER with the log and how to install it, or that memory ran
 * out.  "NVRTC", and what it is: "runtime compiler". */
kz_status find_failed(struct find *find, const char *name, const char *what_it_is, kz_error *err);

/* A line of the log, once: what was tried and why it is not it. */
void find_note(struct find *find, const char *path, const char *why);

#endif
