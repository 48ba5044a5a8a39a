/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_ERROR_H
#define KUDZU_ERROR_H

/*
 * Errors are values.  Every call that can fail returns a kz_status and takes a kz_error that the
 * caller owns; NULL is allowed where the status is enough.
 *
 *	kz_error err = KZ_ERROR_INIT;
 *	if (kz_device_open(&dev, NULL, &err)
 *	    || kz_module_compile(&mod, dev, source, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_error_clear(&err);
 *
 * A call always runs.  A call that fails fills in the error only if that still says KZ_OK, so a
 * chain reports its first failure.  A call that succeeds leaves the error alone.  An error that
 * is used again without kz_error_clear keeps the old failure: kz_error_print says how many failures
 * came later.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <kudzu/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What went wrong, in classes that are the same for every domain.  The numbers never change. */
typedef enum kz_status {
	KZ_OK = 0,            /**< success */
	KZ_INVALID = 1,       /**< an argument that the call can never accept */
	KZ_NO_MEMORY = 2,     /**< host memory ran out */
	KZ_DEVICE_MEMORY = 3, /**< device memory ran out */
	KZ_NOT_FOUND = 4,     /**< no such kernel, global, file or device */
	KZ_UNSUPPORTED = 5,   /**< this device, driver or build cannot do it */
	KZ_NO_DRIVER = 6,     /**< no usable driver */
	KZ_NO_DEVICE = 7,     /**< the driver has no usable device */
	KZ_NO_COMPILER = 8,   /**< NVRTC, or a part of it, is missing */
	KZ_COMPILE = 9,       /**< the source does not compile */
	KZ_LINK = 10,         /**< images do not link */
	KZ_BAD_IMAGE = 11,    /**< PTX or cubin that the device cannot load */
	KZ_VERSION = 12,      /**< driver, compiler and image do not fit together */
	KZ_ARGUMENT = 13,     /**< a kernel argument does not match the kernel's parameter */
	KZ_LAUNCH = 14,       /**< grid, block or shared memory beyond the device, or a failed
	                           launch */
	KZ_FAULT = 15,        /**< a kernel did something illegal; its context is lost */
	KZ_TIMEOUT = 16,      /**< the watchdog or a time limit ended the work */
	KZ_NOT_READY = 17,    /**< asked before the work is done */
	KZ_STATE = 18,        /**< not now: wrong stream, capture or context state */
	KZ_RANGE = 19,        /**< beyond the end of an allocation, or a size that overflows */
	KZ_IO = 20,           /**< a file or system call failed */
	KZ_PERMISSION = 21,   /**< not allowed */
	KZ_HARDWARE = 22,     /**< the device itself failed */
	KZ_NUMERIC = 23,      /**< the numbers do not allow a result (singular matrix) */
	KZ_UNKNOWN = 24       /**< a code that this version does not know; the number is kept */
} kz_status;

/** Who reported the failure.  The numbers never change. */
typedef enum kz_domain {
	KZ_DOMAIN_LIBRARY = 0,
	KZ_DOMAIN_DRIVER = 1,
	KZ_DOMAIN_NVRTC = 2,
	KZ_DOMAIN_NVJITLINK = 3,
	KZ_DOMAIN_PTX = 4,
	KZ_DOMAIN_LLVM = 5,
	KZ_DOMAIN_CUBLAS = 6,
	KZ_DOMAIN_CUSOLVER = 7,
	KZ_DOMAIN_CUFFT = 8,
	KZ_DOMAIN_CURAND = 9,
	KZ_DOMAIN_NCCL = 10,
	KZ_DOMAIN_MPI = 11,
	KZ_DOMAIN_OS = 12,
	KZ_DOMAIN_LAPACK = 13 /**< the code is LAPACK's `info` */
} kz_domain;

/** Bits of kz_error.flags. */
#define KZ_ERROR_STICKY 1u        /**< the device's context is lost; every later call on it fails */
#define KZ_ERROR_MAYBE_ASYNC 2u   /**< may belong to work that was started earlier */
#define KZ_ERROR_RETRYABLE 4u     /**< the same call may succeed later */
#define KZ_ERROR_INFORMATIONAL 8u /**< reports a state; the caller may ignore it */

/**
 * An error value.  Initialize it with KZ_ERROR_INIT, read its fields freely, and free what it holds
 * with kz_error_clear.  A text without "owned" is static and lives as long as the library.
 */
typedef struct kz_error {
	kz_status status;    /**< class of the failure; KZ_OK while nothing has failed */
	kz_domain domain;    /**< who reported it */
	int32_t code;        /**< the native code (CUresult, nvrtcResult, errno, ...), 0 if none */
	uint32_t flags;      /**< KZ_ERROR_... bits */
	const char *name;    /**< symbolic name of the native code, NULL if none */
	const char *call;    /**< the foreign or library call that failed, NULL if unknown */
	const char *hint;    /**< what to do about it, NULL if there is nothing to say */
	char *file;          /**< owned: source file where a kernel is at fault, NULL if none */
	int32_t line;        /**< line in that file from 1, 0 if unknown */
	int32_t column;      /**< byte column in that line from 1, 0 if unknown */
	char *log;           /**< owned: the full log of the compiler or driver, NULL if none;
	                          kz_diagnostics_create makes a list of it */
	char message[320];   /**< one line, no period, UTF-8 */
	uint64_t reserved[8]; /**< the library's; the first one counts later failures, the second is
	                           the address of the program's call while KUDZU_LEAKS is set, else
	                           0 */
} kz_error;

/** The initial value of a kz_error. */
#ifdef __cplusplus
#define KZ_ERROR_INIT {}
#else
#define KZ_ERROR_INIT {0}
#endif

/**
 * Free what an error holds and make it reusable.
 *
 * @param err the error; NULL and a cleared one are fine.
 */
KZ_API void kz_error_clear(kz_error *err);

/**
 * Print an error for a person: what failed, where, and what to do.
 *
 * A compile error prints as gcc does: `name:line:column: error: ...`, the line, a caret.  If the
 * error has a log, all of it follows.  While KUDZU_LEAKS is set there is a line with the file and
 * line of the program's call (leaks.h).  The last line says how many calls failed later with this
 * error, if any did.
 *
 * @param err the error.  NULL, and an error that says KZ_OK, print nothing.
 * @param stream where to print; nothing happens for NULL.
 */
KZ_API void kz_error_print(const kz_error *err, FILE *stream);

/**
 * Write what kz_error_print prints into a buffer, as snprintf does.
 *
 * @param err the error, may be NULL.
 * @param buffer host memory; NULL to learn the length.
 * @param size bytes at `buffer`, with the terminating zero.
 * @return the length of the whole text in bytes, without the terminating zero.
 */
KZ_API size_t kz_error_format(const kz_error *err, char *buffer, size_t size);

/** Return err->status, for callers that cannot read the struct; KZ_OK for NULL. */
KZ_API kz_status kz_error_status(const kz_error *err);

/** Return err->message; "" for NULL.  Ownership: borrowed until the error changes. */
KZ_API const char *kz_error_message(const kz_error *err);

/*
 * The fields, for callers that cannot read the struct.  A text is borrowed until the error changes.
 * For NULL each returns what it returns for an error that says KZ_OK.
 */
KZ_API kz_domain kz_error_domain(const kz_error *err);       /**< Return err->domain. */
KZ_API int32_t kz_error_code(const kz_error *err);           /**< Return err->code. */
KZ_API uint32_t kz_error_flags(const kz_error *err);         /**< Return err->flags. */
KZ_API const char *kz_error_name(const kz_error *err);       /**< Return err->name; "" for none. */
KZ_API const char *kz_error_call(const kz_error *err);       /**< Return err->call; "" for none. */
KZ_API const char *kz_error_hint(const kz_error *err);       /**< Return err->hint; "" for none. */
KZ_API const char *kz_error_file(const kz_error *err);       /**< Return err->file; "" for none. */
KZ_API int32_t kz_error_line(const kz_error *err);           /**< Return err->line. */
KZ_API int32_t kz_error_column(const kz_error *err);         /**< Return err->column. */
KZ_API const char *kz_error_log(const kz_error *err);        /**< Return err->log; "" for none. */

/**
 * Allocate an error value, initialized by KZ_ERROR_INIT, for callers that cannot declare one.
 *
 * @return the error; NULL when memory runs out.  Every function accepts that NULL.
 * Ownership: release it with kz_error_release.
 */
KZ_API kz_error *kz_error_create(void);

/** Clear and free an error of kz_error_create.  NULL is fine. */
KZ_API void kz_error_release(kz_error *err);

/** Return the name of a status, "KZ_INVALID"; "KZ_UNKNOWN" for any other number.  Static. */
KZ_API const char *kz_status_name(kz_status status);

/** Return what a status means in a few words, "invalid argument".  Static. */
KZ_API const char *kz_status_string(kz_status status);

/** Return the name of a domain, "driver"; "unknown" for any other number.  Static. */
KZ_API const char *kz_domain_name(kz_domain domain);

/**
 * Look up a native code in the built-in tables.
 *
 * @param name set to the symbolic name, "CUDA_ERROR_OUT_OF_MEMORY", or NULL if unknown; static.
 * @param text set to its meaning in a few words, or NULL if unknown; static.  Both may be NULL.
 * @param domain the domain of the code.
 * @param code the native number.
 * @return the status class of the code; KZ_UNKNOWN if the tables do not have it.
 */
KZ_API kz_status kz_native_code(const char **name, const char **text, kz_domain domain, int code);

/** Return what to do about a native code; "" for success and for an unknown code.  Static. */
KZ_API const char *kz_native_code_hint(kz_domain domain, int code);

/** Return the number of native codes known for a domain, success included; 0 if none. */
KZ_API int kz_native_code_count(kz_domain domain);

#ifdef __cplusplus
}
#endif

#endif
