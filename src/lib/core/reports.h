/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_REPORTS_H
#define LIB_CORE_REPORTS_H

/* Checks of kernels, which KUDZU_CHECK and KZ_OPTION_CHECK turn on, and profiles of kernels. */
#include "base/common.h"

#include <kudzu/error.h>

struct kz_device;

/* Whether a check or a profile may be on, so that code needs line information. */
bool reports_want_lines(void);
/* KZ_UNSUPPORTED if KUDZU_CHECK or KUDZU_PROFILE is set and the device, a GPU, has neither checks
 * nor profiles. */
kz_status reports_check_device(const struct kz_device *dev, kz_error *err);
/* Fail with KZ_UNSUPPORTED: the device has no checks. */
kz_status reports_refuse(const struct kz_device *dev, kz_error *err);
/* A program has turned a check on by KZ_OPTION_CHECK, or all of them off. */
void reports_note_option(bool is_on);

#endif
