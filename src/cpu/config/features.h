/* SPDX-License-Identifier: MIT */
#ifndef CPU_CONFIG_FEATURES_H
#define CPU_CONFIG_FEATURES_H

/* Which instructions of the processor compiled code may use: all, or, by KUDZU_CPU_FEATURES, those
 * of older ones. */
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

/* As users write them.  False: no such level, or not for this kind of processor. */
bool features_parse(const char *text, uint64_t *out);

/* The processor's features as LLVM spells them, "+avx,-avx2", without those above the level. */
void features_limit(struct str *out, const char *host, enum features_level level);

/* Whether there is an instruction that multiplies, adds, and rounds once. */
bool features_fuse(enum features_level level);

/* The processor's features and the level, for keys: other bytes if compiled code may differ. */
void features_describe(struct str *out, enum features_level level);

#endif
