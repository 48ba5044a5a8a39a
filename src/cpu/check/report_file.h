/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_REPORT_FILE_H
#define CPU_CHECK_REPORT_FILE_H

/* Writes reports to a file that programs can read. */
#include "base/kudzu_abi.h"

#include <sys/types.h>

struct report_file {
	const char *path;       /* XML for JUnit if it ends in ".xml", else JSON */
	const char *run;        /* whose processes share the file; another run's is written anew */
	pid_t process;
	unsigned checks;        /* a set */
	const struct kudzu_report *reports; /* of this process */
	size_t count;
	const struct kudzu_report *rest; /* one of them, which stands for all that were dropped,
	                                    or NULL */
};

/* Write the reports of a process, in the place of those that it has written before.  False: errno
 * says why, or memory has run out. */
bool report_file_write(const struct report_file *file);

#endif
