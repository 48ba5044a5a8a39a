/* SPDX-License-Identifier: MIT */
#ifndef LIB_CACHE_PCH_H
#define LIB_CACHE_PCH_H

/*
 * Precompiled headers: NVRTC keeps in memory what it made of the headers that a source begins with,
 * for the next source of this process that begins with the same.  Best effort: what does not work
 * out is done without.
 */
#include "base/store.h"
#include "lib/rtc/compile.h"

/*
 * rtc_compile, with a folder for precompiled headers where the request asks for them, or where it
 * saves time: many headers, which this process has compiled twice without a warning.  With such
 * headers the image is the same as without.
 */
kz_status pch_compile(struct rtc_image *out, const struct rtc_request *request,
	const struct source_facts *facts, kz_error *err);

/* Remove what processes have left that were killed. */
void pch_clear(struct store *store);

/* What a set of headers that nobody asked to precompile may take on disk; tests change it. */
extern int64_t pch_size_most;

#endif
