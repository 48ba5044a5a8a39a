/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_COMPILE_H
#define LIB_RTC_COMPILE_H

/*
 * rtc turns CUDA C into images by one call of NVRTC, and images into one by nvJitLink.  It finds
 * both libraries, reads what they say, and knows nothing of devices or caches.
 *
 * This header: CUDA C text -> an image that a driver can load, with what is known about its
 * kernels.
 */
#include "base/error.h"
#include "lib/rtc/source_scan.h"

/* What the C type of a kernel parameter is, as far as a launch must know it. */
enum param_kind {
	PARAM_UNKNOWN, /* only the size is known */
	PARAM_BOOL,
	PARAM_INT,     /* signed, size bytes */
	PARAM_UINT,
	PARAM_FLOAT,   /* size 2, 4 or 8 */
	PARAM_POINTER,
	PARAM_STRUCT,  /* struct, union, class, vector type, array in a struct ... */
	PARAM_ENUM     /* size 1, 2, 4 or 8; whether it has a sign is in no image */
};

struct rtc_param {
	enum param_kind kind;
	int64_t size;     /* bytes; -1 while unknown (a struct before the image was read) */
	int64_t offset;   /* in the parameter block; -1 while unknown */
	char *type;       /* as C++ writes it: "const float *", "unsigned int"; NULL unknown */
};

struct rtc_kernel {
	char *name;       /* as the user says it: "scale<float, 4>", "ns::k", "saxpy" */
	char *lowered;    /* the symbol in the image: "_Z5scaleIfLi4EEvPf" */
	struct rtc_param *params;
	size_t param_count;
	bool params_known;  /* the count above is a fact; else only the driver can tell */
};

enum variable_space { VARIABLE_GLOBAL, VARIABLE_CONSTANT, VARIABLE_MANAGED };

/* A __device__, __constant__ or __managed__ variable of the module. */
struct rtc_variable {
	char *name;         /* "ns::table" */
	char *lowered;      /* the symbol in the image */
	char *type;         /* as C++ writes it: "float [16]"; NULL unknown */
	int64_t size;       /* bytes of all of it */
	int64_t align;      /* 0 unknown */
	enum variable_space space;
	enum param_kind kind;    /* of one element of an array, PARAM_UNKNOWN without a type */
	int64_t element_size;    /* bytes of it; -1 unknown */
};

struct rtc_image {
	char *data;         /* PTX (zero-terminated), cubin or LTO-IR */
	size_t size;        /* PTX: without the zero */
	bool is_ptx;
	bool is_lto;        /* LTO-IR: for the linker */
	char arch[24];      /* "compute_89", "sm_90", "lto_90" */
	char *log;          /* warnings of a compile that succeeded, rendered; NULL if none */
	struct rtc_kernel *kernels;
	size_t kernel_count;
	struct rtc_variable *variables;
	size_t variable_count;
	char *templates;    /* kernel templates of the source, a line each; NULL if there are
	                       none */
	char *aliases;      /* further names by which instances were asked for, each with the symbol
	                     * after it, a line each; NULL if there are none */
	char *packed;       /* not NULL: data and texts lie in this, and nobody changes the image;
	                     * the parameters of its kernels lie after these */
};

struct rtc_request {
	const char *source;
	const char *name;                  /* file name for diagnostics; NULL: "kernel.cu" */
	const char *const *include_dirs;
	size_t include_count;
	const char *const *header_names;   /* in-memory headers */
	const char *const *header_texts;
	size_t header_count;
	const char *const *defines;        /* "N=4", "DEBUG" */
	size_t define_count;
	const char *const *instances;      /* template instances: "scale<float, 4>" */
	size_t instance_count;
	const char *const *options;        /* as NVRTC takes them, last */
	size_t option_count;
	const char *arch;                  /* "sm_90", "compute_75", "lto_90"; NULL: from
	                                      device_cc */
	int device_cc;                     /* 89; 0: without a device, the oldest there is */
	bool ptx_only;                     /* the device loads no cubin */
	bool line_info;
	bool debug;
	bool fast_math;
	bool no_prelude;
	bool relocatable;                  /* -rdc=true */
	bool pch;                          /* precompile the headers that the source begins with:
	                                    * for pch_compile */
	int fast_compile;                  /* 0 to 3: 0, min, mid, max */
	int max_registers;                 /* 0: no limit */
	const char *std;                   /* "c++20"; NULL: NVRTC's default */
	const char *const *bundle_dirs;    /* folders of the CUDA headers that NVRTC carries, in the
	                                    * cache: see cache/cuda_bundle.h */
	size_t bundle_count;
	const char *bundle_note;           /* why there are none, for people; NULL: nobody needs
	                                    * them, or this NVRTC has none */
	const char *pch_folder;            /* where precompiled headers are; NULL: use none.  It
	                                    * follows from the rest, see pch_compile */
	bool *pch_failed;                  /* set if the compile had to do without them; NULL: say
	                                    * nothing */
};

/*
 * Compile a request that has passed rtc_request_check; source_scan has found the facts of its
 * source.  On failure nothing is left in *out; KZ_COMPILE carries the place of the first error and
 * the rendered diagnostics as the log.  KZ_NO_COMPILER, KZ_VERSION (the device is too old for this
 * NVRTC), KZ_INVALID (an option that NVRTC does not know), KZ_NOT_FOUND (no such template instance,
 * or more than one), KZ_UNSUPPORTED (the options make neither PTX nor a cubin), KZ_NO_MEMORY.
 */
kz_status rtc_compile(struct rtc_image *out, const struct rtc_request *request,
	const struct source_facts *facts, kz_error *err);

/* Check a request as far as that is possible without a compiler: KZ_INVALID.  The maker
 * of a request calls this once; the functions that take one rely on it. */
kz_status rtc_request_check(const struct rtc_request *request, kz_error *err);

/* Read what an image from elsewhere says about its kernels: PTX .entry texts, cubin .nv.info.
 * Takes a copy of the data.  KZ_BAD_IMAGE if it is neither. */
kz_status rtc_image_inspect(struct rtc_image *out, const void *data, size_t size, kz_error *err);

/* Copy the types of parameters from another image, of which this one was made.  False when memory
 * runs out. */
bool rtc_image_adopt(struct rtc_image *image, const struct rtc_image *from);

void rtc_image_free(struct rtc_image *image);

/* Find a kernel by the name that the user says: as written, by symbol, with white space that does
 * not matter ignored.  An instance has the compiler's name, too: what was asked for as
 * "k<uint32_t>" is "k<unsigned int>" as well.  One of several overloads is told by its parameters,
 * "k(float *)".  Namespaces may be left out, as those that are inline are, if one kernel alone
 * fits.  NULL if there is none. */
const struct rtc_kernel *rtc_image_kernel(const struct rtc_image *image, const char *name);

/* The nearest name in the list to a misspelt one, NULL if none is near. */
const char *rtc_image_nearest(const struct rtc_image *image, const char *name);

/* Find a variable as rtc_image_kernel does a kernel; NULL if there is none. */
const struct rtc_variable *rtc_image_variable(const struct rtc_image *image, const char *name);

/* Choose the target for a device among what NVRTC knows, archs ascending: machine code that the
 * device runs; with ptx_only or without such code, PTX for the newest that is not newer.  Fills
 * "sm_90" or "compute_90". */
kz_status rtc_choose_arch(char out[24], const int *archs, int count, int device_cc, bool ptx_only,
	kz_error *err);

#endif
