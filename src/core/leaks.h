/* SPDX-License-Identifier: MIT */
#ifndef CORE_LEAKS_H
#define CORE_LEAKS_H

/* The report of live objects.  object.h has what creators and releases call. */
#include "core/device.h"

/* Keep the list, and make the file, that KUDZU_LEAKS asks for, once in a process. */
kz_status leaks_begin_asked(kz_error *err);
/* The last handle on a device is closed, or the last object of it is gone: write that to the file. */
void leaks_report_close(struct kz_device *dev);
void leaks_report_end(struct kz_device *dev);
/* The part of kz_device_print_leaks that says what was created where; nothing without a list. */
kz_status leaks_print(struct kz_device *dev, FILE *stream, kz_error *err);

#endif
