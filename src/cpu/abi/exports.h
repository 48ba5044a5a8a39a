/* SPDX-License-Identifier: MIT */
#ifndef CPU_ABI_EXPORTS_H
#define CPU_ABI_EXPORTS_H

#include "base/common.h"

/* All exported functions, sorted by name. */
struct api_export {
	const char *name;
	int since;          /* the CUDA version that brought it */
	void (*address)(void);
};
extern const struct api_export api_exports[];
extern const size_t api_export_count;

#endif
