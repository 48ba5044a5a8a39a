/* SPDX-License-Identifier: MIT */
#ifndef CPU_MEM_CAPACITY_H
#define CPU_MEM_CAPACITY_H

/* The size of the memory of the device. */
#include "base/common.h"

/* KUDZU_CPU_MEMORY.  Without it the physical memory, or less if a control group or a limit of this
 * process allows less. */
size_t capacity_bytes(void);

/* The address space that the device may reserve: a quarter of the limit of the process, or
 * SIZE_MAX. */
size_t capacity_addresses(void);

/* The lowest limit of a control group and all groups above it: the least number in the files of
 * that name in root/path and in the folders above.  SIZE_MAX if there is no limit. */
size_t capacity_of_group(const char *root, const char *path, const char *file);

#endif
