/* SPDX-License-Identifier: MIT */
#ifndef BASE_LOG_LINE_H
#define BASE_LOG_LINE_H

/*
 * What a library under a name of NVIDIA's (the CUDA runtime, NVML, those in front of NVRTC and
 * nvJitLink) says on stderr.  Its callers know its functions by NVIDIA's documentation alone, and
 * many print nothing but "not supported".  libkudzu and the driver print nothing.
 */
#include "base/common.h"

/* If KUDZU_LOG is set: one line, "kudzu PART: ...". */
void log_line(const char *part, const char *format, ...) printf_like(2, 3);
/* In any case: what a program needs to hear to run at all. */
void log_line_always(const char *part, const char *format, ...) printf_like(2, 3);

#endif
