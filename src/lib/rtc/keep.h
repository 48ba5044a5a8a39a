/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_KEEP_H
#define LIB_RTC_KEEP_H

/* Sources in files, for debuggers and profilers: the code names the file of each line. */
#include "base/error.h"

/*
 * The absolute path of a file that has the source, *path, freed with mem_free: the file `name`, if
 * it does; else one in the folder "sources" of the cache, which is written if need be and stays.
 * `name` may be NULL.
 */
kz_status keep_source(char **path, const char *source, const char *name, kz_error *err);
/* The same path; nothing is written. */
kz_status keep_path(char **path, const char *source, const char *name, kz_error *err);

/* Bytes of all files in "sources"; tests change it. */
extern int64_t keep_size_max;

#endif
