/* SPDX-License-Identifier: MIT */
/*
 * LLVM's static objects are never destroyed.
 *
 * exit() destroys first what was made last, and a function of LLVM makes its static objects when it
 * first runs.  Where that is the thread which compiles in the background, they would be gone before
 * exit() comes to the handler that waits for the thread (cpu/object/background.c).  The linker lets
 * what C++ registers for exit() come here (--wrap in the Makefile).  That does not reach a shared
 * LLVM.
 */
#include "base/common.h"

int __real___cxa_atexit(void (*function)(void *), void *object, void *library);
int __wrap___cxa_atexit(void (*function)(void *), void *object, void *library);

/* atexit comes here, too, with no object. */
int __wrap___cxa_atexit(void (*function)(void *), void *object, void *library)
{
	return object ? 0 : __real___cxa_atexit(function, object, library);
}
