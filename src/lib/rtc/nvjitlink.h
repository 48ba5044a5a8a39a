/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_NVJITLINK_H
#define LIB_RTC_NVJITLINK_H

/*
 * nvJitLink, found (see find.h; by KUDZU_NVJITLINK, else beside what KUDZU_NVRTC names, or the
 * sonames libnvJitLink.so.13, .12, libnvJitLink.so) and loaded when something is first linked.
 */
#include "base/error.h"

typedef int nvJitLinkResult;
typedef struct nvJitLink *nvJitLinkHandle;

/* What nvJitLinkAddData is told of an input. */
enum nvjitlink_input {
	NVJITLINK_CUBIN = 1,
	NVJITLINK_PTX,
	NVJITLINK_LTO,
	NVJITLINK_FATBIN,
	NVJITLINK_OBJECT,
	NVJITLINK_LIBRARY
};

struct nvjitlink {
	nvJitLinkResult (*Create)(nvJitLinkHandle *handle, uint32_t option_count,
		const char **options);
	nvJitLinkResult (*Destroy)(nvJitLinkHandle *handle);
	nvJitLinkResult (*AddData)(nvJitLinkHandle handle, int type, const void *data, size_t size,
		const char *name);
	nvJitLinkResult (*Complete)(nvJitLinkHandle handle);
	nvJitLinkResult (*GetLinkedCubinSize)(nvJitLinkHandle handle, size_t *size);
	nvJitLinkResult (*GetLinkedCubin)(nvJitLinkHandle handle, char *cubin);
	nvJitLinkResult (*GetLinkedPtxSize)(nvJitLinkHandle handle, size_t *size);
	nvJitLinkResult (*GetLinkedPtx)(nvJitLinkHandle handle, char *ptx);
	nvJitLinkResult (*GetErrorLogSize)(nvJitLinkHandle handle, size_t *size);
	nvJitLinkResult (*GetErrorLog)(nvJitLinkHandle handle, char *log);
	nvJitLinkResult (*GetInfoLogSize)(nvJitLinkHandle handle, size_t *size);
	nvJitLinkResult (*GetInfoLog)(nvJitLinkHandle handle, char *log);
	/* Optional: NULL in the first versions. */
	nvJitLinkResult (*Version)(unsigned *major, unsigned *minor);

	unsigned major; /* 0 if it cannot tell */
	unsigned minor;
	char *path;
};

/* Load it once per process; the table stays.  KZ_NO_COMPILER, with everything that was tried in the
 * log and the remedy in the hint.  Any thread. */
kz_status nvjitlink_open(const struct nvjitlink **out, kz_error *err);

#endif
