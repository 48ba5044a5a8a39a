/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_DIAGNOSE_H
#define KUDZU_DIAGNOSE_H

/*
 * Find out whether kernels can run here, and if not, why.  `kudzu doctor` prints this.
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
 * It works with nothing installed, and changes nothing.
 */
#include <kudzu/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a finding.  The numbers never change. */
typedef enum kz_verdict {
	KZ_VERDICT_OK = 0,      /**< as it should be */
	KZ_VERDICT_NOTE = 1,    /**< missing, but nothing needs it here */
	KZ_VERDICT_PROBLEM = 2  /**< something does not work; `fix` says what to do */
} kz_verdict;

/** One finding.  All text is borrowed from the diagnosis. */
typedef struct kz_finding {
	kz_verdict verdict; /**< as it should be, missing, broken */
	const char *topic; /**< "driver", "device", "nvrtc", "llvm", "blas", "cublas", "cache", ... */
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

#ifdef __cplusplus
}
#endif

#endif
