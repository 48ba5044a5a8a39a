/* SPDX-License-Identifier: MIT */
#ifndef LIB_CUDA_CODES_H
#define LIB_CUDA_CODES_H

/* What the native codes of the driver, NVRTC, nvJitLink, cuBLAS, cuSOLVER and cuFFT mean. */
#include "base/error.h"

#include <kudzu/error.h>

struct native_code {
	kz_domain domain;
	int number;
	const char *name; /* "CUDA_ERROR_OUT_OF_MEMORY" */
	kz_status status;
	uint32_t flags;   /* KZ_ERROR_... bits */
	const char *text; /* "out of device memory" */
	const char *hint; /* what to do; NULL for success */
};

/* NULL if the tables do not have it. */
const struct native_code *codes_find(kz_domain domain, int number);
/* The codes of a domain, success included; 0 for a domain without a table. */
int codes_count(kz_domain domain);

/* Make a native failure an error value: "WHAT: text", or "CALL: text" where what is NULL.  call is
 * static text.  Returns the code's status, KZ_UNKNOWN for a code that the tables do not have. */
kz_status codes_fail(kz_domain domain, int code, const char *call, const char *what, kz_error *err);

/* Add a native code, which the tables have, to a failure that was just set with a message, and
 * perhaps advice, of its own. */
void codes_add(kz_domain domain, int code, const char *call, kz_error *err);

#endif
