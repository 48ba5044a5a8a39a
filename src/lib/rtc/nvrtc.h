/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_NVRTC_H
#define LIB_RTC_NVRTC_H

/*
 * NVRTC, found (see find.h; by KUDZU_NVRTC, or the sonames libnvrtc.so.13, .12, .11.2, libnvrtc.so)
 * and loaded at run time.  libnvrtc-builtins is loaded first, by its absolute path, for libnvrtc
 * cannot find it itself.
 */
#include "base/error.h"

typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

/* What nvrtcGetBundledHeadersInfo tells of the CUDA headers that NVRTC carries, from 13.3 on. */
struct nvrtc_bundle {
	int is_there;
	size_t packed_size, size; /* bytes */
	int major, minor;         /* of CUDA */
	unsigned file_count;
};

struct nvrtc {
	nvrtcResult (*Version)(int *major, int *minor);
	nvrtcResult (*CreateProgram)(nvrtcProgram *program, const char *source, const char *name,
		int header_count, const char *const *headers, const char *const *header_names);
	nvrtcResult (*DestroyProgram)(nvrtcProgram *program);
	nvrtcResult (*CompileProgram)(nvrtcProgram program, int option_count,
		const char *const *options);
	nvrtcResult (*GetPTXSize)(nvrtcProgram program, size_t *size);
	nvrtcResult (*GetPTX)(nvrtcProgram program, char *ptx);
	nvrtcResult (*GetProgramLogSize)(nvrtcProgram program, size_t *size);
	nvrtcResult (*GetProgramLog)(nvrtcProgram program, char *log);
	nvrtcResult (*AddNameExpression)(nvrtcProgram program, const char *expression);
	nvrtcResult (*GetLoweredName)(nvrtcProgram program, const char *expression,
		const char **lowered);
	/* Optional: NULL where this NVRTC lacks them. */
	nvrtcResult (*GetCUBINSize)(nvrtcProgram program, size_t *size);
	nvrtcResult (*GetCUBIN)(nvrtcProgram program, char *cubin);
	nvrtcResult (*GetLTOIRSize)(nvrtcProgram program, size_t *size);
	nvrtcResult (*GetLTOIR)(nvrtcProgram program, char *lto);
	nvrtcResult (*GetPCHCreateStatus)(nvrtcProgram program);
	nvrtcResult (*GetPCHHeapSizeRequired)(nvrtcProgram program, size_t *size);
	nvrtcResult (*GetPCHHeapSize)(size_t *size);
	nvrtcResult (*SetPCHHeapSize)(size_t size); /* these four, or none */
	nvrtcResult (*GetNumSupportedArchs)(int *count);
	nvrtcResult (*GetSupportedArchs)(int *archs);
	nvrtcResult (*InstallBundledHeaders)(const char *folder, unsigned flags, const char **why);
	nvrtcResult (*GetBundledHeadersInfo)(struct nvrtc_bundle *info, const char **why);

	int major;
	int minor;
	int archs[64];        /* 75, 80, 86, ...; ascending; empty if this NVRTC cannot tell */
	int arch_count;
	char *path;           /* the library that was loaded */
	char *builtins;       /* its builtins, NULL if none was found */
	char **include_dirs;  /* CUDA headers that go with it: include, include/cccl; may be none */
	size_t include_count;
	char *header_version; /* of cuda.h there, "13.0"; NULL if there is none */
};

/*
 * Load NVRTC once per process; the table stays.  KZ_NO_COMPILER, with everything that was tried in
 * the log and the remedy in the hint.  Any thread.
 */
kz_status nvrtc_open(const struct nvrtc **out, kz_error *err);

/* What nvrtc_open has loaded, NULL before. */
const struct nvrtc *nvrtc_loaded(void);

/* Whether it carries CUDA's headers, and which. */
bool nvrtc_bundle(struct nvrtc_bundle *out, const struct nvrtc *nvrtc);
/* Write them to a folder and its subfolder "cccl".  KZ_IO with NVRTC's reason: there may be files
 * then. */
kz_status nvrtc_install_headers(const struct nvrtc *nvrtc, const char *folder, kz_error *err);

/*
 * Look where nvrtc_open would, but load nothing, which would take some milliseconds: the path and
 * the include folders.  It is the same library unless the file is not a library, or another one is
 * loaded; compare the paths once it must be loaded.  False if only the loader could find it, or if
 * there is none.
 */
struct nvrtc_place {
	char *path;
	char **include_dirs;
	size_t include_count;
};
bool nvrtc_locate(struct nvrtc_place *out);
void nvrtc_place_free(struct nvrtc_place *place);

#endif
