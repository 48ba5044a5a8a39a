/* SPDX-License-Identifier: MIT */
#ifndef CUDART_LOG_H
#define CUDART_LOG_H

/* What the runtime says on stderr. */
#include "base/common.h"

/* If KUDZU_LOG is set: one line. */
void log_line(const char *format, ...) printf_like(1, 2);
/* In any case: what a program needs to hear to run at all. */
void log_always(const char *format, ...) printf_like(1, 2);

#endif
