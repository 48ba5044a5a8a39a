/* SPDX-License-Identifier: MIT */
#ifndef RTC_PCH_H
#define RTC_PCH_H

/*
 * Precompiled headers: NVRTC keeps in memory what it made of the headers that a source begins with,
 * for the next source of this process that begins with the same.  Best effort: what does not work
 * out is done without.
 */
#include "rtc/compile.h"
#include "rtc/nvrtc.h"

/* The folder to name in --pch-dir for a request, freed with mem_free; NULL: do without. */
char *pch_folder(const struct nvrtc *nvrtc, const struct rtc_request *request);

/* Around each compile that has such a folder; the second makes room if there was too little. */
void pch_begin(void);
void pch_end(const struct nvrtc *nvrtc, nvrtcProgram program);

#endif
