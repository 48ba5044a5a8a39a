/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_SOURCE_SCAN_H
#define LIB_RTC_SOURCE_SCAN_H

/* What CUDA C++ source tells about its kernels without being compiled. */
#include "base/common.h"

struct scan_kernel {
	char *name;       /* qualified: "ns::k" */
	bool extern_c;    /* its symbol says nothing about its parameters */
	bool internal;    /* static, or in an unnamed namespace: emitted only when asked for */
	bool is_template;
};

struct scan {
	struct scan_kernel *kernels; /* each name once */
	size_t count;
	char **variables; /* __device__, __constant__, __managed__: qualified names, no templates */
	size_t variable_count;
	bool complete; /* all braces are closed: a line may be added at the end */
};

/* False when memory runs out; then nothing is left in *out. */
bool scan_source(struct scan *out, const char *source);
void scan_free(struct scan *scan);

/* A brace without its counterpart. */
struct scan_brace {
	const char *at;
	bool is_open;
};

/* Find the first brace of a text that closes nothing, or the last one that is not closed.  False if
 * there is none, or if it depends on an #if. */
bool scan_find_brace(struct scan_brace *out, const char *text);

#endif
