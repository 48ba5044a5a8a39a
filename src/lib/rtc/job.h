/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_JOB_H
#define LIB_RTC_JOB_H

/* One call of NVRTC: what goes in, what comes out. */
#include "lib/rtc/compile.h"
#include "lib/rtc/nvrtc.h"
#include "lib/rtc/source_scan.h"

/* The file of the line that is added after the source, as diagnostics would name it. */
#define JOB_TAIL_FILE "kudzu/probe"

/* The option of rtc_request.fast_compile. */
#define JOB_FAST_COMPILE "--Ofast-compile"

#define JOB_INVALID_OPTION 5
#define JOB_COMPILATION 6
#define JOB_BUILTINS 7

enum name_purpose {
	NAME_INSTANCE,  /* a template instance that the caller asks for */
	NAME_KERNEL,    /* a kernel that NVRTC would leave out: static, in an unnamed namespace; or
	                   one that the image does not name */
	NAME_PROBE,     /* its mangled name has the parameter types of `kernel` */
	NAME_VARIABLE   /* its mangled name has the type of the variable `kernel` */
};

/* A name expression. */
struct job_name {
	enum name_purpose purpose;
	char *expression;
	const char *kernel; /* borrowed: as the user says it */
	char *lowered;      /* after the compile */
};

struct job {
	const struct nvrtc *nvrtc;
	const struct rtc_request *request;
	const struct source_facts *facts; /* of the source */
	char arch[24];
	bool is_lto;        /* LTO-IR is wanted: the architecture is "lto_90" */
	bool prelude;       /* include it */
	bool locate;        /* add line information, to tell where PTX comes from */
	bool tail;          /* add the line that the probes need */
	const char *pch;    /* the folder of precompiled headers, the request's; NULL: none */
	struct job_name *names;
	size_t name_count;

	/* Results. */
	int code;           /* an nvrtcResult */
	const char *call;   /* that returned it */
	char *log;
	char *ptx;          /* zero-terminated; NULL if there is none; also one that ptxas
	                       refuses */
	char *cubin;        /* NULL if there is none */
	size_t cubin_size;
	char *lto;          /* NULL if there is none */
	size_t lto_size;
	bool no_memory;
	unsigned extras;    /* which of our own optional options it was given, as bits */
};

/* The name of the source in diagnostics. */
static inline const char *job_source_name(const struct job *job)
{
	return job->request->name ? job->request->name : "kernel.cu";
}

/* Fill in the names from the request and the facts of its source. */
kz_status job_prepare(struct job *job, kz_error *err);

/* Compile, on a thread of its own.  Not KZ_OK: the compile did not take place.  What NVRTC says is
 * in the results. */
kz_status job_run(struct job *job, kz_error *err);

/* Make the heap of precompiled headers as large as it may be: one that grows forgets all of
 * them. */
void job_reserve_heap(const struct nvrtc *nvrtc);

/* Do without a name from now on. */
void job_drop_name(struct job *job, size_t index);

/* Forget the results, for another run. */
void job_reset(struct job *job);
void job_finish(struct job *job);

#endif
