/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_LEAKS_H
#define LIB_CORE_LEAKS_H

/* The report of live objects.  object.h has what creators and releases call. */
#include "lib/core/device.h"

#include <kudzu/leaks.h>

struct kz_array;

/* The bytes of an array's elements.  Arrays are above this folder; src/lib/kudzu.c sets the
 * function. */
typedef int64_t leaks_size_fn(const struct kz_array *array);
extern leaks_size_fn *const leaks_array_size;

/* Keep the list, and make the file, that KUDZU_LEAKS asks for, once in a process. */
kz_status leaks_begin_asked(kz_error *err);
/* The last handle on a device is closed, or the last object of it is gone: write that to the
 * file. */
void leaks_report_close(struct kz_device *dev);
void leaks_report_end(struct kz_device *dev);
/* In a child, which has no objects of its own yet. */
void leaks_on_fork(void);
/* Tell each live object of a device, of all for NULL, whose handle a result replaced, once; NULL
 * when memory runs out. */
typedef void leaks_loss_fn(const struct kz_leak *leak, uint64_t ns, int thread);
void leaks_tell_losses(const struct kz_device *dev, leaks_loss_fn *tell);
/* The part of kz_device_print_leaks that says what was created where; nothing without a list. */
kz_status leaks_print(struct kz_device *dev, FILE *stream, kz_error *err);

#endif
