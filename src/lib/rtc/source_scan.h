/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_SOURCE_SCAN_H
#define LIB_RTC_SOURCE_SCAN_H

/* What CUDA C++ source tells without being compiled. */
#include "lib/rtc/includes.h"

struct source_kernel {
	char *name;       /* qualified: "ns::k" */
	bool extern_c;    /* its symbol says nothing about its parameters */
	bool internal;    /* static, or in an unnamed namespace: emitted only when asked for */
	bool is_template;
};

/* A brace that closes nothing, or is not closed. */
enum source_brace { SOURCE_BRACES_MATCH, SOURCE_BRACE_OPENS, SOURCE_BRACE_CLOSES };

struct source_facts {
	struct source_kernel *kernels; /* each name once */
	size_t kernel_count;
	char **variables; /* __device__, __constant__, __managed__: qualified names, no templates */
	size_t variable_count;
	bool is_complete; /* all braces are closed: a line may be added at the end */
	bool has_prelude_word; /* it may need the prelude, see headers.h */
	struct includes includes;
	/* The first brace that closes nothing, or the last one that is not closed.  Braces that
	 * depend on an #if count as matching. */
	enum source_brace brace;
	size_t brace_at;
};

/* False when memory runs out; then nothing is left in *out. */
bool source_scan(struct source_facts *out, const char *source);
void source_free(struct source_facts *facts);

#endif
