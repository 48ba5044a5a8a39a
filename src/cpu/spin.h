/* SPDX-License-Identifier: MIT */
#ifndef CPU_SPIN_H
#define CPU_SPIN_H

/* Loops in which threads may wait for what others do. */
#include "ptx.h"

/* Set spins[block] for their headers.  False: no memory. */
bool spin_find(const struct ptx_func *func, bool *spins);

#endif
