/* SPDX-License-Identifier: MIT */
#ifndef BASE_EXIT_GATE_H
#define BASE_EXIT_GATE_H

/*
 * Compilers have objects that exit() destroys, while other threads of the process go on.  A
 * compiler is loaded and called between these two: exit() waits for those who are inside, and then
 * nobody gets in.
 *
 *	if (!exit_gate_enter()) ...	// the process ends
 *	...
 *	exit_gate_leave();
 *
 * A child of fork has nobody to wait for.
 */
#include "base/error.h"

bool exit_gate_enter(void);
/* The same; KZ_STATE if the process ends. */
kz_status exit_gate_pass(kz_error *err);
void exit_gate_leave(void);

#endif
