/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_REPORTS_H
#define LIB_CORE_REPORTS_H

/* Checks of kernels, as KUDZU_CHECK and KZ_OPTION_CHECK turn them on; and profiles of them. */
#include "base/common.h"

#include <kudzu/error.h>

struct kz_device;

/* Whether a check or a profile may be on, so that code shall have line information. */
bool reports_want_lines(void);
/* KZ_UNSUPPORTED if KUDZU_CHECK asks for checks that the device does not have, or KUDZU_PROFILE
 * for a profile. */
kz_status reports_check_device(const struct kz_device *dev, kz_error *err);
/* Always an error: the device has no checks. */
kz_status reports_refuse(const struct kz_device *dev, kz_error *err);
/* A program has turned a check on by KZ_OPTION_CHECK, or all of them off. */
void reports_note_option(bool is_on);

#endif
