/* SPDX-License-Identifier: MIT */
/* A library that has dgemm and dgetrf, as Fortran calls them, and nothing else of BLAS and
 * LAPACK. */
#include <math.h>

void dgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,
	const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
	const double *beta, double *c, const int *ldc);
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);

void dgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k,
	const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
	const double *beta, double *c, const int *ldc)
{
	for (long j = 0; j < *n; j++) {
		for (long i = 0; i < *m; i++) {
			double sum = 0;
			for (long l = 0; l < *k; l++) {
				sum += (*op_a == 'N' ? a[i + l * *lda] : a[l + i * *lda])
					* (*op_b == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);
			}
			c[i + j * *ldc] = *alpha * sum + (*beta != 0 ? *beta * c[i + j * *ldc] : 0);
		}
	}
}

void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info)
{
	int least = *m < *n ? *m : *n;
	*info = 0;
	for (long p = 0; p < least; p++) {
		long best = p;
		for (long i = p + 1; i < *m; i++) {
			best = fabs(a[i + p * *lda]) > fabs(a[best + p * *lda]) ? i : best;
		}
		pivots[p] = (int)best + 1;
		for (long j = 0; j < *n; j++) {
			double swapped = a[p + j * *lda];
			a[p + j * *lda] = a[best + j * *lda];
			a[best + j * *lda] = swapped;
		}
		if (a[p + p * *lda] == 0) {
			*info = *info ? *info : (int)p + 1;
			continue;
		}
		for (long i = p + 1; i < *m; i++) {
			a[i + p * *lda] /= a[p + p * *lda];
			for (long j = p + 1; j < *n; j++) {
				a[i + j * *lda] -= a[i + p * *lda] * a[p + j * *lda];
			}
		}
	}
}
