/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_DIAGNOSE_H
#define KUDZU_DIAGNOSE_H

/*
 * Find out why something does not work: whether kernels can run here, and what is wrong with a
 * source.
 *
 *	kz_diagnosis *diagnosis = NULL;
 *	if (kz_diagnose(&diagnosis, &err) == KZ_OK) {
 *		for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
 *			const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
 *			printf("%s: %s\n", finding->topic, finding->text);
 *		}
 *	}
 *	kz_diagnosis_release(diagnosis);
 *
 * `kudzu doctor` prints this.  It works with nothing installed, and changes nothing.
 *
 * Diagnostics are a compiler's log as data, for editors and other programs that show errors in
 * their own way.  The log is that of an error, of an image or of a module.
 *
 *	if (kz_compile(&image, source, NULL, &err) == KZ_COMPILE
 *	    && kz_diagnostics_create(&list, err.log, NULL) == KZ_OK) {
 *		for (int64_t i = 0; i < kz_diagnostics_count(list); i++) {
 *			const kz_diagnostic *d = kz_diagnostics_get(list, i);
 *			show(d->line, d->column, d->message);
 *		}
 *	}
 *	kz_diagnostics_release(list);
 */
#include <kudzu/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This machine */

/** The result of a finding.  The numbers never change. */
typedef enum kz_verdict {
	KZ_VERDICT_OK = 0,      /**< as it should be */
	KZ_VERDICT_NOTE = 1,    /**< missing, but nothing needs it here */
	KZ_VERDICT_PROBLEM = 2  /**< something does not work; `fix` says what to do */
} kz_verdict;

/** One finding.  All text is borrowed from the diagnosis. */
typedef struct kz_finding {
	kz_verdict verdict; /**< as it should be, missing, broken */
	const char *topic; /**< "driver", "device", "nvrtc", "llvm", "blas", "cublas", "cache",
	                        ... */
	const char *text;  /**< what was found, one line */
	const char *fix;   /**< what to do; NULL if nothing; a problem always has it */
	const char *log;   /**< lines of the dynamic loader or the driver; NULL if there are none */
} kz_finding;

/** A list of findings. */
typedef struct kz_diagnosis kz_diagnosis;

/**
 * Look at drivers, devices, NVRTC, headers, LLVM, the libraries for linear algebra (BLAS and LAPACK
 * for the CPU device, cuBLAS, cuSOLVER and cuFFT for GPUs) and the cache folder.
 *
 * @return KZ_OK whatever was found; KZ_NO_MEMORY; KZ_INVALID without `out`.
 * Ownership: release it with kz_diagnosis_release.
 */
KZ_API KZ_NODISCARD kz_status kz_diagnose(kz_diagnosis **out, kz_error *err);

/** Free a diagnosis.  NULL is fine. */
KZ_API void kz_diagnosis_release(kz_diagnosis *diagnosis);

/** Return the number of findings. */
KZ_API int64_t kz_diagnosis_count(const kz_diagnosis *diagnosis);

/** Return finding `index`, NULL beyond the last.  Borrowed from the diagnosis. */
KZ_API const kz_finding *kz_diagnosis_finding(const kz_diagnosis *diagnosis, int64_t index);

/** Return 1 if there is a compiler and kz_device_open with NULL succeeds, else 0. */
KZ_API int kz_diagnosis_usable(const kz_diagnosis *diagnosis);

/* A compiler's log */

/** The severity of a diagnostic.  The numbers never change. */
typedef enum kz_severity {
	KZ_SEVERITY_ERROR = 1,
	KZ_SEVERITY_WARNING = 2,
	KZ_SEVERITY_NOTE = 3 /**< belongs to the error or warning before it, if there is one */
} kz_severity;

/** One diagnostic.  Later versions may add fields at the end. */
typedef struct kz_diagnostic {
	kz_severity severity; /**< error, warning, note */
	int32_t line;        /**< from 1; 0 if unknown */
	int32_t column;      /**< byte of the line, from 1; 0 if unknown */
	const char *file;    /**< as given to the compiler, or as it found it; NULL if unknown */
	const char *code;    /**< the compiler's number, "177-D"; NULL if it gave none */
	const char *message; /**< one line, no period */
	const char *details; /**< more lines of the message, "argument types are: ..."; NULL if
	                          none */
	const char *excerpt; /**< the line of source, with "..." if it is cut; NULL if unknown */
	const char *hint;    /**< what to do about it; NULL if there is nothing to say */
} kz_diagnostic;

/** A list of diagnostics; opaque. */
typedef struct kz_diagnostics kz_diagnostics;

/**
 * Read a log.
 *
 * @param out set to the list, NULL on failure.
 * @param log kz_error.log, or the result of kz_image_log or kz_module_log.  NULL and "" give an
 *        empty list.
 * @return KZ_OK; KZ_NO_MEMORY; KZ_INVALID.
 * Ownership: the list holds copies; release it with kz_diagnostics_release.
 */
KZ_API KZ_NODISCARD kz_status kz_diagnostics_create(kz_diagnostics **out, const char *log,
	kz_error *err);

/** Return the number of diagnostics. */
KZ_API int64_t kz_diagnostics_count(const kz_diagnostics *list);

/**
 * Return diagnostic `index`, in the order of the log; NULL beyond the last.  Borrowed from the
 * list.
 */
KZ_API const kz_diagnostic *kz_diagnostics_get(const kz_diagnostics *list, int64_t index);

/** Free a list.  NULL is fine. */
KZ_API void kz_diagnostics_release(kz_diagnostics *list);

#ifdef __cplusplus
}
#endif

#endif
