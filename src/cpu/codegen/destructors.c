/* SPDX-License-Identifier: MIT */
/*
 * LLVM's static objects are never destroyed.
 *
 * exit() destroys first what was made last, and a function of LLVM makes its static objects when it
 * first runs.  Where that is the thread which compiles in the background, they would be gone before
 * exit() comes to the handler that waits for the thread (cpu/object/background.c).  The linker lets
 * what C++ registers for exit() come here (--wrap in the Makefile).  That does not reach a shared
 * LLVM, which is started in another way (jit_llvm_start).
 */
#include "base/common.h"

#include "cpu/codegen/destructors.h"

static bool destructors_stay;

int __real___cxa_atexit(void (*function)(void *), void *object, void *library);
int __wrap___cxa_atexit(void (*function)(void *), void *object, void *library);

/* atexit comes here, too, with no object.  LLVM's first objects are made while it is loaded. */
int __wrap___cxa_atexit(void (*function)(void *), void *object, void *library)
{
	if (!object) {
		return __real___cxa_atexit(function, object, library);
	}
	if (!destructors_stay) {
		destructors_stay = true;
	}
	return 0;
}

bool destructors_are_left_out(void)
{
	return destructors_stay;
}
