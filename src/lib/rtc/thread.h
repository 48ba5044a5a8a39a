/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_THREAD_H
#define LIB_RTC_THREAD_H

/* Compilers need more stack than a caller's thread may have. */
#include "base/error.h"

/* Run work(arg) on a thread with a big stack and without signals, and wait for its end.  Not KZ_OK:
 * there was no thread to be had; KZ_STATE: the process was forked in the middle of such a call. */
kz_status thread_run(void *(*work)(void *arg), void *arg, kz_error *err);

#endif
