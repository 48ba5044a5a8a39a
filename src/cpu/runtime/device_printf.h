/* SPDX-License-Identifier: MIT */
#ifndef CPU_RUNTIME_DEVICE_PRINTF_H
#define CPU_RUNTIME_DEVICE_PRINTF_H

/* printf of kernels. */
#include "base/common.h"

/* Takes a text; false: it cannot, and errno says why. */
typedef bool print_write_fn(void *to, const char *text, size_t size);

/* Print arguments as kernels store them: one after the other, each aligned to its size of 4 or 8
 * bytes.  The whole text is written at once.  Returns the number of arguments, -1 if there is no
 * format, or PRINT_LOST if the text cannot be made or written; then errno says why. */
#define PRINT_LOST (-2)
int print_device(print_write_fn *write, void *to, const char *format, const uint8_t *args);

#endif
