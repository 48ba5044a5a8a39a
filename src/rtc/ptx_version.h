/* SPDX-License-Identifier: MIT */
#ifndef RTC_PTX_VERSION_H
#define RTC_PTX_VERSION_H

/* Versions of the PTX ISA, and the drivers that know them. */
#include "base/common.h"

struct ptx_release {
	int ptx;     /* 90: PTX ISA 9.0 */
	int cuda;    /* as cuDriverGetVersion says it: 13000 */
	int driver;  /* branch of the Linux driver: 580 */
};

/* What `.version 9.0` says, 90; 0 if the text does not begin so. */
int ptx_version_of(const char *text);

/* The release that brought a version; NULL for one that is not in the table. */
const struct ptx_release *ptx_release_of(int ptx);

/* The newest version that a driver knows, 0 if it is older than the table. */
int ptx_version_of_driver(int cuda);

#endif
