/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_LINK_LOG_H
#define LIB_RTC_LINK_LOG_H

/* What linkers say: nvJitLink, the driver, we ourselves.  Symbols are shown as C++ writes them. */
#include "base/error.h"
#include "base/str.h"

/* Add what a linker says of a symbol that is defined twice. */
void link_log_twice(struct str *log, const char *symbol, size_t len, const char *where,
	const char *first);

/* A linker's own failure; NULL where there is none. */
struct link_failure {
	kz_domain domain;
	int code;
	const char *call; /* static text */
};

/* Make an error of a log.  KZ_LINK with the symbol if one is undefined or defined twice; KZ_VERSION
 * with both versions if PTX is too new; otherwise what the native code means.  The error has the
 * whole log. */
kz_status link_log_fail(const char *log, const struct link_failure *failure, kz_error *err);

/* Whether a log speaks of an error. */
bool link_log_is_bad(const char *log);

#endif
