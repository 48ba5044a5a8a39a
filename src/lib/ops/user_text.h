/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_USER_TEXT_H
#define LIB_OPS_USER_TEXT_H

/* Expressions and statements of users in sources that the library generates. */
#include "base/str.h"

#include <kudzu/error.h>

/*
 * Add a text after a #line, so that the compiler's places are places in it: "NAME: WHAT".  Its
 * first character is in the first column.  `end` follows the text on its last line, or on the next
 * one if a comment ends the text.
 */
void user_text_add(struct str *source, const char *name, const char *what, const char *text,
	const char *end);

/*
 * A source did not compile.  A brace too many or too few in a user's text makes the compiler report
 * an error after that text, in code that the user has never seen.  If that happened, make the
 * brace the error.  The error is the one that compiling the source has set; NULL is fine.
 */
void user_text_explain(kz_error *err, const char *name, const char *source);

#endif
