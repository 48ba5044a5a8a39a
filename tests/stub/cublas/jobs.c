/* SPDX-License-Identifier: MIT */
/* What the jobs compute, by the BLAS and LAPACK of this machine. */
#include "stub/cublas/stub.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct linalg_number number(const struct stub_job *job, const double from[2])
{
	struct linalg_number out;
	for (int part = 0; part < 2; part++) {
		if (job->type == LINALG_D || job->type == LINALG_Z) {
			out.d[part] = from[part];
		} else {
			out.f[part] = (float)from[part];
		}
	}
	return out;
}

static size_t size_of(enum linalg_type type)
{
	return (const size_t[]){4, 8, 8, 16, 2, 2}[type];
}

static void put_info(const struct stub_job *job, const struct host_library *library, int64_t info)
{
	*job->info = library->parts[HOST_LAPACK].is_wide ? (int)info : (int32_t)info;
}

/* Work space for the library: as much as it asks for is not known here, so enough for all. */
static void *get_work(const struct stub_job *job, int64_t *count)
{
	int64_t n = job->n[0] > job->n[1] ? job->n[0] : job->n[1];
	*count = 8 * n * n + 256 * n + 1024;
	return calloc((size_t)*count, 16);
}

/* Products */

static float half_get(enum linalg_type type, const uint16_t *from)
{
	float out;
	if (type == LINALG_B) {
		uint32_t bits = (uint32_t)*from << 16;
		memcpy(&out, &bits, sizeof(out));
	} else {
		int exponent = *from >> 10 & 31, mantissa = *from & 1023;
		out = ldexpf((float)(exponent ? mantissa + 1024 : mantissa),
			(exponent ? exponent : 1) - 25);
		out = *from >> 15 ? -out : out;
	}
	return out;
}

static void half_put(enum linalg_type type, uint16_t *to, float value)
{
	if (type == LINALG_B) {
		uint32_t bits;
		memcpy(&bits, &value, sizeof(bits));
		*to = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
	} else {
		int exponent;
		(void)frexpf(value, &exponent);
		exponent = exponent < -13 ? -13 : exponent;
		long mantissa = lrintf(ldexpf(fabsf(value), 11 - exponent));
		long bits = mantissa < 1024 ? mantissa : ((exponent + 14) << 10) + mantissa - 1024;
		*to = (uint16_t)(bits | (value < 0 ? 0x8000 : 0));
	}
}

static void gemm_halves(const struct stub_job *job, const uint16_t *a, const uint16_t *b,
	uint16_t *c)
{
	bool is_a = job->letters[0] == 'N', is_b = job->letters[1] == 'N';
	for (int64_t j = 0; j < job->n[1]; j++) {
		for (int64_t i = 0; i < job->n[0]; i++) {
			float sum = 0;
			uint16_t *to = c + j * job->ld[2] + i;
			for (int64_t k = 0; k < job->n[2]; k++) {
				sum += half_get(job->type,
					a + (is_a ? k * job->ld[0] + i : i * job->ld[0] + k))
					* half_get(job->type, b + (is_b ? j * job->ld[1] + k
						: k * job->ld[1] + j));
			}
			sum *= (float)job->alpha[0];
			sum += job->beta[0] != 0 ? (float)job->beta[0] * half_get(job->type, to)
				: 0;
			half_put(job->type, to, sum);
		}
	}
}

void stub_gemm(const struct stub_job *job, const struct host_library *library)
{
	struct linalg_number alpha = number(job, job->alpha), beta = number(job, job->beta);
	for (int64_t i = 0; i < job->count; i++) {
		char *at[3];
		for (int p = 0; p < 3; p++) {
			at[p] = (char *)job->p[p] + i * job->next[p] * (int64_t)size_of(job->type);
		}
		if (job->type == LINALG_H || job->type == LINALG_B) {
			gemm_halves(job, (const uint16_t *)at[0], (const uint16_t *)at[1],
				(uint16_t *)at[2]);
		} else {
			library->gemm[job->type](&job->letters[0], &job->letters[1], &job->n[0],
				&job->n[1], &job->n[2], &alpha, at[0], &job->ld[0], at[1],
				&job->ld[1], &beta, at[2], &job->ld[2], 1, 1);
		}
	}
}

void stub_trsm(const struct stub_job *job, const struct host_library *library)
{
	struct linalg_number alpha = number(job, job->alpha);
	library->trsm[job->type](&job->letters[0], &job->letters[1], &job->letters[2],
		&job->letters[3], &job->n[0], &job->n[1], &alpha, job->p[0], &job->ld[0], job->p[1],
		&job->ld[1], 1, 1, 1, 1);
}

/* c(m, n) = a(n, m)^H */
void stub_geam(const struct stub_job *job, const struct host_library *library)
{
	size_t size = size_of(job->type);
	bool is_complex = job->type == LINALG_C || job->type == LINALG_Z;
	(void)library;
	for (int64_t j = 0; j < job->n[1]; j++) {
		for (int64_t i = 0; i < job->n[0]; i++) {
			char *to = (char *)job->p[1] + (size_t)(j * job->ld[1] + i) * size;
			memcpy(to, (char *)job->p[0] + (size_t)(i * job->ld[0] + j) * size, size);
			if (is_complex && job->type == LINALG_C) {
				((float *)to)[1] = -((float *)to)[1];
			} else if (is_complex) {
				((double *)to)[1] = -((double *)to)[1];
			}
		}
	}
}

/* Factors.  The library's pivots may be wide. */

/* cuSOLVER's LU factorizations have lost a NaN. */
static void lose_nan(const struct stub_job *job)
{
	bool is_double = job->type == LINALG_D || job->type == LINALG_Z;
	int64_t parts = linalg_is_complex(job->type) ? 2 : 1;
	for (int64_t j = 0; j < job->n[1]; j++) {
		for (int64_t i = j * job->ld[0] * parts; i < (j * job->ld[0] + job->n[0]) * parts;
			i++) {
			double *d = (double *)job->p[0] + i;
			float *f = (float *)job->p[0] + i;
			if (is_double) {
				*d = isnan(*d) ? 0 : *d;
			} else {
				*f = isnan(*f) ? 0 : *f;
			}
		}
	}
}

void stub_getrf(const struct stub_job *job, const struct host_library *library)
{
	int64_t least = job->n[0] < job->n[1] ? job->n[0] : job->n[1], info = 0;
	int64_t *pivots = calloc((size_t)least, sizeof(*pivots));
	bool is_wide = library->parts[HOST_LAPACK].is_wide;
	lose_nan(job);
	library->getrf[job->type](&job->n[0], &job->n[1], job->p[0], &job->ld[0], pivots, &info);
	for (int64_t i = 0; i < least; i++) {
		((int32_t *)job->p[1])[i] = is_wide ? (int32_t)pivots[i] : ((int32_t *)pivots)[i];
	}
	put_info(job, library, info);
	free(pivots);
}

void stub_getrs(const struct stub_job *job, const struct host_library *library)
{
	int64_t info = 0, *pivots = calloc((size_t)job->n[0], sizeof(*pivots));
	bool is_wide = library->parts[HOST_LAPACK].is_wide;
	for (int64_t i = 0; i < job->n[0]; i++) {
		int32_t pivot = ((int32_t *)job->p[1])[i];
		if (is_wide) {
			pivots[i] = pivot;
		} else {
			((int32_t *)pivots)[i] = pivot;
		}
	}
	library->getrs[job->type](&job->letters[0], &job->n[0], &job->n[1], job->p[0], &job->ld[0],
		pivots, job->p[2], &job->ld[1], &info, 1);
	put_info(job, library, info);
	free(pivots);
}

void stub_potrf(const struct stub_job *job, const struct host_library *library)
{
	int64_t info = 0;
	library->potrf[job->type](&job->letters[0], &job->n[0], job->p[0], &job->ld[0], &info, 1);
	put_info(job, library, info);
}

void stub_geqrf(const struct stub_job *job, const struct host_library *library)
{
	int64_t info = 0, count;
	void *work = get_work(job, &count);
	library->geqrf[job->type](&job->n[0], &job->n[1], job->p[0], &job->ld[0], job->p[1], work,
		&count, &info);
	put_info(job, library, info);
	free(work);
}

void stub_orgqr(const struct stub_job *job, const struct host_library *library)
{
	int64_t info = 0, count;
	void *work = get_work(job, &count);
	library->orgqr[job->type](&job->n[0], &job->n[1], &job->n[2], job->p[0], &job->ld[0],
		job->p[1], work, &count, &info);
	put_info(job, library, info);
	free(work);
}

/* Functions that differ between real and complex */

void stub_gesvd(const struct stub_job *job, const struct host_library *library)
{
	typedef void real_fn(const char *, const int64_t *, const int64_t *, void *,
		const int64_t *,
		void *, void *, const int64_t *, void *, const int64_t *, void *, const int64_t *,
		void *, int64_t *, size_t);
	typedef void complex_fn(const char *, const int64_t *, const int64_t *, void *,
		const int64_t *, void *, void *, const int64_t *, void *, const int64_t *, void *,
		const int64_t *, void *, void *, int64_t *, size_t);
	int64_t info = 0, count, *n = (int64_t *)job->n, *ld = (int64_t *)job->ld;
	void *work = get_work(job, &count), *rwork = get_work(job, &count);
	void *integers = get_work(job, &count);
	if (!linalg_is_complex(job->type)) {
		((real_fn *)library->gesdd[job->type])(job->letters, &n[0], &n[1], job->p[0],
			&ld[0],
			job->p[1], job->p[2], &ld[1], job->p[3], &ld[2], work, &count, integers,
			&info, 1);
	} else {
		((complex_fn *)library->gesdd[job->type])(job->letters, &n[0], &n[1], job->p[0],
			&ld[0], job->p[1], job->p[2], &ld[1], job->p[3], &ld[2], work, &count,
			rwork, integers, &info, 1);
	}
	memset(job->p[4], 0xaa,
		(size_t)n[1] * size_of(job->type) / (linalg_is_complex(job->type) ? 2 : 1));
	put_info(job, library, info);
	free(integers);
	free(rwork);
	free(work);
}

void stub_syevd(const struct stub_job *job, const struct host_library *library)
{
	typedef void real_fn(const char *, const char *, const int64_t *, void *, const int64_t *,
		void *, void *, const int64_t *, void *, const int64_t *, int64_t *, size_t,
		size_t);
	typedef void complex_fn(const char *, const char *, const int64_t *, void *,
		const int64_t *,
		void *, void *, const int64_t *, void *, const int64_t *, void *, const int64_t *,
		int64_t *, size_t, size_t);
	int64_t info = 0, count;
	void *work = get_work(job, &count), *rwork = get_work(job, &count);
	void *integers = get_work(job, &count);
	if (!linalg_is_complex(job->type)) {
		((real_fn *)library->syevd[job->type])(&job->letters[0], &job->letters[1],
			&job->n[0], job->p[0], &job->ld[0], job->p[1], work, &count, integers,
			&count, &info, 1, 1);
	} else {
		((complex_fn *)library->syevd[job->type])(&job->letters[0], &job->letters[1],
			&job->n[0], job->p[0], &job->ld[0], job->p[1], work, &count, rwork, &count,
			integers, &count, &info, 1, 1);
	}
	put_info(job, library, info);
	free(integers);
	free(rwork);
	free(work);
}

void stub_geev(const struct stub_job *job, const struct host_library *library)
{
	typedef void real_fn(const char *, const char *, const int64_t *, void *, const int64_t *,
		void *, void *, void *, const int64_t *, void *, const int64_t *, void *,
		const int64_t *, int64_t *, size_t, size_t);
	typedef void complex_fn(const char *, const char *, const int64_t *, void *,
		const int64_t *,
		void *, void *, const int64_t *, void *, const int64_t *, void *, const int64_t *,
		void *, int64_t *, size_t, size_t);
	int64_t info = 0, count, n = job->n[0], one = 1;
	void *work = get_work(job, &count), *rwork = get_work(job, &count);
	if (!linalg_is_complex(job->type)) {
		size_t size = size_of(job->type);
		char *imaginary = (char *)rwork + (size_t)n * size;
		((real_fn *)library->geev[job->type])("N", &job->letters[0], &n, job->p[0],
			&job->ld[0], rwork, imaginary, NULL, &one, job->p[2], &job->ld[1], work,
			&count, &info, 1, 1);
		for (int64_t i = 0; i < n; i++) {
			char *to = (char *)job->p[1] + 2 * (size_t)i * size;
			memcpy(to, (char *)rwork + (size_t)i * size, size);
			memcpy(to + size, imaginary + (size_t)i * size, size);
		}
	} else {
		((complex_fn *)library->geev[job->type])("N", &job->letters[0], &n, job->p[0],
			&job->ld[0], job->p[1], NULL, &one, job->p[2], &job->ld[1], work, &count,
			rwork, &info, 1, 1);
	}
	put_info(job, library, info);
	free(rwork);
	free(work);
}
