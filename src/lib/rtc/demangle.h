/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_DEMANGLE_H
#define LIB_RTC_DEMANGLE_H

/* Mangled names (Itanium C++ ABI) of functions, taken apart. */
#include "base/arena.h"
#include "lib/rtc/type.h"

struct demangled {
	const char *name;              /* "ns::scale<float, 4>"; NULL if it cannot be read */
	const struct node *arguments;  /* of the template, a NODE_PACK; NULL if it is none */
	const struct node *parameters; /* its list; NULL if they cannot (all) be read */
};

/* Read "_Z5scaleIfLi4EEvPT_".  What is not covered (expressions, local names, lambdas) is left
 * NULL, never guessed.  The results live in the arena.  False when memory runs out. */
bool demangle(struct demangled *out, const char *mangled, struct arena *arena);

#endif
