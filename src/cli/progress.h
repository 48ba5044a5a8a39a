/* SPDX-License-Identifier: MIT */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

/* A line on a terminal that says what takes so long.  It is on standard error, only if that is a
 * terminal, from the first second on; progress_end removes it.  One at a time. */
void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);

#endif
