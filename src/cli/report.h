/* SPDX-License-Identifier: MIT */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

/* What commands say on standard error, and whether in colours. */
#include <kudzu/error.h>

#include <stdbool.h>

/* Whether a descriptor is a terminal that may get colours: NO_COLOR is not set. */
bool report_wants_colour(int fd);

/* Print an error, or a log of the compiler, on standard error, on a terminal in gcc's colours.
 * It is one write, so that the errors of two processes do not mix. */
void report_error(const kz_error *err);
void report_log(const char *log);

/* Text with the colours of gcc's diagnostics, or without; freed with free, NULL without memory. */
char *report_colour(const char *text, bool colour);

/* "kudzu run: MESSAGE", then the text with a caret under the part that it is about. */
void report_place(const char *command, const char *message, const char *text, size_t offset,
	size_t length);

/* Print a string of JSON on standard output; null for NULL.  What is not ASCII is UTF-8 already. */
void report_json_string(const char *text);

/* What an error means for the exit status: CLI_USAGE if other words on the command line would do
 * better, else CLI_FAILED. */
int report_status(const kz_error *err);

/* Fill in an error, as the library does when memory runs out; KZ_NO_MEMORY. */
kz_status report_no_memory(kz_error *err);

#endif
