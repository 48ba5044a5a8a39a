/* SPDX-License-Identifier: MIT */
#ifndef LIB_MODULE_DIAGNOSE_H
#define LIB_MODULE_DIAGNOSE_H

/* Findings of upper layers for kz_diagnose. */
#include <kudzu/diagnose.h>

#include <stdbool.h>

/* Add a finding.  Text is copied, but for the topic; `fix` and `log` may be NULL or "" */
void diagnose_add(kz_diagnosis *diagnosis, kz_verdict verdict, const char *topic, const char *text,
	const char *fix, const char *log);

/* Looks at the libraries for linear algebra.  src/lib/linalg has them, which is above this
 * folder. */
typedef void diagnose_fn(kz_diagnosis *diagnosis, bool has_cpu, bool has_gpu);
extern diagnose_fn *const diagnose_libraries;

#endif
