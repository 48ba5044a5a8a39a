/* SPDX-License-Identifier: MIT */
/*
 * The exported functions as a table, for cuGetProcAddress, and those of them that we do not have:
 * each answers CUDA_ERROR_NOT_SUPPORTED.  They exist because loaders of the driver give up when
 * the first symbol is missing.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

/* Arguments are ignored: the caller takes them off the stack. */
#define I(name, since)
#define N(name, since) \
	API(name, void) \
	{ \
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the CPU device does not have it", \
			__func__); \
	}
#include "cpu/abi/exports.def"
#undef I
#undef N

/* Under another name for the compiler, so that types, which do not matter here, do not clash. */
#define I(name, since) extern void at_##name(void) __asm__(#name);
#define N(name, since) I(name, since)
#include "cpu/abi/exports.def"
#undef I

#define I(name, since) {#name, since, at_##name},
const struct api_export api_exports[] = {
#include "cpu/abi/exports.def"
};

const size_t api_export_count = countof(api_exports);
