/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_REPORT_FILE_H
#define CPU_CHECK_REPORT_FILE_H

/* Writes reports to a file that programs can read. */
#include "base/kudzu_abi.h"

/* Write all reports of these checks, a set: as XML for JUnit if the name ends in ".xml", else as
 * JSON.  False: errno says why, or memory has run out. */
bool report_file_write(const char *path, unsigned checks, const struct kudzu_report *reports,
	size_t count);

#endif
