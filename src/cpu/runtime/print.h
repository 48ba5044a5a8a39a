/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_PRINT_H
#define CPU_RUNTIME_PRINT_H

/* printf of kernels. */
#include "base/common.h"

#include <stdio.h>

/* Write what a format says of arguments that are laid out as kernels do: one behind the other, each
 * aligned to its size of 4 or 8 bytes.  The whole text is written at once.  The number of
 * arguments; -1 if there is no format, -2 if it cannot be written. */
int print_device(FILE *out, const char *format, const uint8_t *args);

#endif
