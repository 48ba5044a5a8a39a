/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_SIGNATURE_H
#define LIB_RTC_SIGNATURE_H

/* What a mangled name (Itanium C++ ABI) tells about a kernel. */
#include "base/str.h"
#include "lib/rtc/compile.h"

struct signature {
	char *name;               /* "ns::scale<float, 4>" */
	struct rtc_param *params; /* kind, size and type; offset -1 */
	size_t count;
	bool params_known;        /* false: the parameter list is not (all) readable */
};

/*
 * Read the name and the parameters of a function: "_Z5scaleIfLi4EEvPT_".  With `probe`, read the
 * function type that is the template argument of a variable instead: "_Z3sigIFvPfiEE".  A name that
 * is not mangled is taken as it is, without parameters.
 *
 * What the grammar here does not cover (expressions, local names, lambdas) is left unknown, never
 * guessed.  False when memory runs out; then nothing is left in *out.
 */
bool signature_read(struct signature *out, const char *mangled, bool probe);

/*
 * Read the type that is the template argument of a variable: "_Z3sigIA16_fE", or a reference to it,
 * "_Z3sigIRA16_fE", is "float [16]".  Kind and size are those of one element of an array.  A type
 * that is not covered is no text.  False when memory runs out.
 */
bool signature_read_type(struct rtc_param *out, const char *mangled);

/* Append "helper(float)" for a symbol; the symbol itself if it cannot be read. */
void signature_say(struct str *out, const char *symbol, size_t len);

void signature_free(struct signature *signature);
void signature_free_params(struct rtc_param *params, size_t count);

#endif
