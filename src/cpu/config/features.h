/* SPDX-License-Identifier: MIT */
#ifndef CPU_CONFIG_FEATURES_H
#define CPU_CONFIG_FEATURES_H

/* Which instructions compiled code may use: all instructions that the processor has, or only the
 * ones of an older processor, as KUDZU_CPU_FEATURES says. */
#include "base/str.h"

/* The values of the setting. */
enum features_level {
	FEATURES_SSE2 = 1, /* every x86-64 */
	FEATURES_SSE4,
	FEATURES_AVX,      /* without FMA */
	FEATURES_AVX2,
	FEATURES_AVX512,
	FEATURES_NATIVE,   /* whatever there is */
	FEATURES_COUNT
};

/* Read a level as users write it.  False if this kind of processor has no level of that name. */
bool features_parse(const char *text, uint64_t *out);

/* The processor's features as LLVM spells them, "+avx,-avx2", without those above the level. */
void features_limit(struct str *out, const char *host, enum features_level level);

/* Whether a level has, on this processor, fused multiply-add. */
bool features_fuse(enum features_level level);

/* Add the processor's features and the level to a key: the bytes differ if compiled code may
 * differ. */
void features_describe(struct str *out, enum features_level level);

#endif
