/* SPDX-License-Identifier: MIT */
/*
 * Features of processors, by LLVM's names for them.  A level has the features of all levels before
 * it.  A feature that no level names is used at the level "native" only.  avx512fp16 is not used at
 * all: with it LLVM 14 ends the process at some vectors of 16-bit integers, "Cannot select: v32i16
 * = X86ISD::VZEXT_MOVL".
 */
#include "cpu/config/features.h"

#include <pthread.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
static const bool has_levels = true;
#else
#include <sys/auxv.h>
static const bool has_levels = false;
#endif

static const struct {
	const char *name;
	const char *features; /* each between spaces */
} levels[FEATURES_COUNT] = {
	[FEATURES_SSE2] = {"sse2", " 64bit cmov cx16 cx8 fxsr mmx sahf sse sse2 x87 "},
	[FEATURES_SSE4] = {"sse4", " crc32 popcnt sse3 sse4.1 sse4.2 ssse3 "},
	[FEATURES_AVX] = {"avx", " aes avx pclmul xsave "},
	[FEATURES_AVX2] = {"avx2", " avx2 bmi bmi2 f16c fma fsgsbase lzcnt movbe "},
	[FEATURES_AVX512] = {"avx512", " adx avx512bw avx512cd avx512dq avx512f avx512vl evex512 "},
	[FEATURES_NATIVE] = {"native", ""},
};

static const char broken[] = "avx512fp16";

bool features_parse(const char *text, uint64_t *out)
{
	for (size_t i = has_levels ? FEATURES_SSE2 : FEATURES_NATIVE; i < FEATURES_COUNT; i++) {
		if (strcmp(text, levels[i].name) == 0) {
			*out = i;
			return true;
		}
	}
	return false;
}

static bool features_has(enum features_level level, const char *name, size_t len)
{
	for (size_t i = FEATURES_SSE2; i <= level; i++) {
		const char *at = levels[i].features;
		while ((at = strchr(at, ' ')) && at[1] != '\0') {
			at++;
			if (strncmp(at, name, len) == 0 && at[len] == ' ') {
				return true;
			}
		}
	}
	const bool is_broken = len == strlen(broken) && memcmp(name, broken, len) == 0;
	return level == FEATURES_NATIVE && !is_broken;
}

void features_limit(struct str *out, const char *host, enum features_level level)
{
	for (const char *at = host; *at != '\0';) {
		size_t len = strcspn(at, ",");
		if (len > 1) {
			bool on = *at == '+' && features_has(level, at + 1, len - 1);
			str_addf(out, "%s%c%.*s", out->len > 0 ? "," : "", on ? '+' : '-',
				(int)len - 1, at + 1);
		}
		at += len + (at[len] == ',');
	}
}

#ifdef __x86_64__
/* What CPUID says of instructions, and which registers the operating system saves.  CPUID is slow
 * in a virtual machine, so the number of leaves is asked once.  The number of extended leaves is
 * not asked: every processor of 64 bits has the one that is used. */
enum { LEAVES = 6 };
static uint64_t words[2 * LEAVES + 1];

static void features_read_processor(void)
{
	unsigned a = 0, b = 0, c = 0, d = 0;
	static const unsigned leaves[LEAVES][2] = {{1, 0}, {7, 0}, {7, 1}, {0x19, 0}, {0x24, 0},
		{0x80000001, 0}};
	const unsigned last = __get_cpuid_max(0, NULL), extended = 0x80000000;
	for (size_t i = 0; i < LEAVES; i++) {
		a = b = c = d = 0;
		if (leaves[i][0] <= last || leaves[i][0] >= extended) {
			__cpuid_count(leaves[i][0], leaves[i][1], a, b, c, d);
		}
		/* EBX of leaf 1 says which core this is. */
		words[2 * i] = i == 0 ? a : (uint64_t)a << 32 | b;
		words[2 * i + 1] = (uint64_t)c << 32 | d;
	}
	if ((words[1] >> 32 & bit_OSXSAVE) != 0) {
		__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
		words[2 * LEAVES] = (uint64_t)d << 32 | a;
	}
}

static bool features_processor_fuses(void)
{
	return (words[1] >> 32 & bit_FMA) != 0;
}
#else
static uint64_t words[2];

static void features_read_processor(void)
{
	words[0] = getauxval(AT_HWCAP);
	words[1] = getauxval(AT_HWCAP2);
}

static bool features_processor_fuses(void)
{
	return true;
}
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;

bool features_fuse(enum features_level level)
{
	pthread_once(&once, features_read_processor);
	return features_has(level, "fma", 3) && features_processor_fuses();
}

void features_describe(struct str *out, enum features_level level)
{
	pthread_once(&once, features_read_processor);
	str_addf(out, "%s ", levels[level].name);
	str_addn(out, (const char *)words, sizeof(words));
}
