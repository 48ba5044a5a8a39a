/* SPDX-License-Identifier: MIT */
/*
 * The table of exported functions, which cuGetProcAddress searches, and stubs for the functions
 * that the driver does not have.  A stub returns CUDA_ERROR_NOT_SUPPORTED.  The stubs exist because
 * loaders of the driver give up at the first missing symbol.
 */
#include "base/common.h"

#include "cpu/abi/api.h"
#include "cpu/abi/exports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stub ignores its arguments; the caller removes them from the stack. */
#define I(name, since)
#define N(name, since) \
	API(name, void) \
	{ \
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the CPU device does not have it", \
			__func__); \
	}
#define G(name, since) \
	static CUresult stub_##name(void) \
	{ \
		return api_fail(CUDA_ERROR_NOT_SUPPORTED, "%s: the CPU device does not have it", \
			#name); \
	}
#include "cpu/abi/exports.def"
#undef I
#undef N

/* The compiler gets other names, so that the types, which do not matter here, cannot clash. */
#define I(name, since) extern void at_##name(void) __asm__(#name);
#define N(name, since) I(name, since)
#include "cpu/abi/exports.def"
#undef I

#define I(name, since) {#name, since, at_##name},
#define G(name, since) {#name, since, (void (*)(void))stub_##name},
const struct api_export api_exports[] = {
#include "cpu/abi/exports.def"
};

const size_t api_export_count = countof(api_exports);

static int exports_compare_name(const void *key, const void *row)
{
	return strcmp(key, ((const struct api_export *)row)->name);
}

static const struct api_export *find_export(const char *base, int version, const char *suffix)
{
	char name[128];
	char number[8] = "";
	if (version > 1) {
		snprintf(number, sizeof(number), "_v%d", version);
	}
	int len = snprintf(name, sizeof(name), "%s%s%s", base, number, suffix);
	if (len < 0 || (size_t)len >= sizeof(name)) {
		return NULL;
	}
	return bsearch(name, api_exports, api_export_count, sizeof(*api_exports),
		exports_compare_name);
}

/* The newest version of a function that a program built for a version of CUDA knows. */
static const struct api_export *exports_find_version(const char *base, int cuda_version,
	const char *suffix, bool *exists)
{
	const struct api_export *best = NULL;
	for (int version = 1; version < 10; version++) {
		const struct api_export *row = find_export(base, version, suffix);
		if (row) {
			*exists = true;
			best = row->since <= cuda_version ? row : best;
		}
	}
	return best;
}

API(cuGetProcAddress_v2, const char *symbol, void **out, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	static const char *const suffixes[] = {"_ptsz", "_ptds", ""};
	if (!symbol || !out) {
		return api_null(__func__, "an argument");
	}
	if (version > CUDA_VERSION || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
		return api_fail(CUDA_ERROR_INVALID_VALUE,
			"%s: this driver is of CUDA %d; asked for '%s' of %d, flags %llu", __func__,
			CUDA_VERSION, symbol, version, (unsigned long long)flags);
	}
	const struct api_export *row = NULL;
	bool exists = false;
	size_t i = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? 0 : 2;
	for (; !exists && i < countof(suffixes); i++) {
		row = exports_find_version(symbol, version, suffixes[i], &exists);
	}
	*out = NULL;
	if (row) {
		memcpy(out, &row->address, sizeof(*out));
	}
	if (status) {
		*status = row ? CU_GET_PROC_ADDRESS_SUCCESS
			: exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			: CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	}
	return CUDA_SUCCESS;
}

API(cuGetProcAddress, const char *symbol, void **out, int version, cuuint64_t flags)
{
	CUresult result = cuGetProcAddress_v2(symbol, out, version, flags, NULL);
	if (result == CUDA_SUCCESS && !*out) {
		return api_fail(CUDA_ERROR_NOT_FOUND, "%s: there is no '%s' in CUDA %d", __func__,
			symbol, version);
	}
	return result;
}
