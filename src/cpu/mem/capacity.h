/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_CAPACITY_H
#define CPU_MEM_CAPACITY_H

/* How much memory the device has. */
#include "base/common.h"

/* What KUDZU_CPU_MEMORY says; without it the physical memory, or less where a control group or a
 * limit of this process allows less. */
size_t capacity_bytes(void);

/* How many addresses the device may take: a quarter of what the process may have, SIZE_MAX for no limit. */
size_t capacity_addresses(void);

/* The lowest limit on the way from a control group up to the root: the numbers in the files of
 * that name in root/path and in the folders above it; SIZE_MAX if there is none. */
size_t capacity_of_group(const char *root, const char *path, const char *file);

#endif
