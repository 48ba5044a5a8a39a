/* SPDX-License-Identifier: MIT */
#ifndef DROPIN_FRONT_H
#define DROPIN_FRONT_H

/* What the libraries in front of NVIDIA's have in common. */
#include "base/common.h"
#include "base/dl.h"

#define FRONT_EXPORT __attribute__((visibility("default")))

/* Fill a table with functions of NVIDIA's library, which the library in front needs under another
 * name (audit.c).  False, and a line for KUDZU_LOG, if it is not loaded or lacks a needed one. */
bool front_fill(const char *part, const struct dl_row *rows, size_t count, void *table);
/* The same of the CPU device's driver. */
bool front_fill_driver(const char *part, const struct dl_row *rows, size_t count, void *table);

/* The lock of what a library in front keeps of NVIDIA's objects. */
void front_lock(void);
void front_unlock(void);
/* Have each fork wait for that lock, so that a child can take it, whatever other threads did.  Once
 * in each library. */
void front_watch_forks(void);

#endif
