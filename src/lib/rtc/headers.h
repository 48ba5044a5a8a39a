/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_HEADERS_H
#define LIB_RTC_HEADERS_H

/* The headers that NVRTC is given in memory: the prelude, and stand-ins for those of C and C++. */
#include "lib/rtc/compile.h"

/* The name that the prelude is included by; diagnostics mention it. */
#define HEADERS_PRELUDE "kudzu/prelude.h"

/* kernels/random.cuh, which kernels include as <kudzu/random.cuh>. */
extern const char headers_random[] __attribute__((__visibility__("hidden")));

/* The headers for nvrtcCreateProgram; the arrays are freed, the texts are borrowed. */
struct headers {
	const char **names;
	const char **texts;
	int count;
};

/* The request's own headers and, where it is wanted, the prelude with its stand-ins.  A header that
 * the caller provides too, in memory or in an include folder, is left to the caller. */
kz_status headers_collect(struct headers *out, const struct rtc_request *request, bool prelude,
	kz_error *err);
void headers_free(struct headers *headers);

/* Whether a part of a source has a word that may be one of the prelude: wrong only in that
 * direction. */
bool headers_has_prelude_word(const char *from, const char *to);
/* Whether a compile may need the prelude: whether its source has such a word is known. */
bool headers_want_prelude(const struct rtc_request *request, bool has_prelude_word);

/* The header of libcu++ that a stand-in of this name includes if it is installed, else NULL. */
const char *headers_libcxx(const struct rtc_request *request, const char *name);

/* Whether the prelude has a macro of that name. */
bool headers_has_macro(const char *word, size_t len);

#endif
