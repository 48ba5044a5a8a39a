/* SPDX-License-Identifier: MIT */
/*
 * Principal components of a CSV file: how its columns vary together, along which directions they
 * vary most, and where the rows are in these directions.
 *
 *	30_pca [FILE.csv]      with a line of names, four columns of numbers, and then anything.
 *	                       The default is samples/iris.csv: 50 rows of each of three kinds.
 *
 * Components need a LAPACK library on the CPU device (`kudzu doctor`).  The time of the covariances
 * goes to stderr.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { VARIABLES = 4, KINDS = 3 };

/* The columns of numbers, and their names, one after the other. */
static kz_array *read_table(kz_device *dev, const char *path, char *names, int64_t size)
{
	const int64_t columns[VARIABLES] = {0, 1, 2, 3};
	kz_array *x = NULL;
	CHECK(kz_csv_load(&x, dev, path, KZ_WITH(kz_csv_options, .header = 1, .columns = columns,
		.column_count = VARIABLES, .names = names, .names_size = size), &err));
	return x;
}

/* An array of `rows` rows. */
static void print_table(const char *title, const char *names, kz_array *table, int rows)
{
	double host[VARIABLES * VARIABLES];
	CHECK(kz_array_get(table, host, rows * VARIABLES * (int64_t)sizeof(*host), &err));
	printf("%s\n", title);
	for (int i = 0; i < rows; i++) {
		printf("%14s", names);
		for (int j = 0; j < VARIABLES; j++) {
			printf("%9.4f", host[i * VARIABLES + j]);
		}
		printf("\n");
		names += *names ? strlen(names) + 1 : 0;
	}
}

/* How the columns vary together. */
static void show_covariances(kz_array *x, const char *names)
{
	kz_array *covariances = NULL, *correlations = NULL;
	CHECK(kz_cov(&covariances, x, KZ_WITH(kz_cov_options, .columns = 1), &err));
	CHECK(kz_corrcoef(&correlations, x, KZ_WITH(kz_cov_options, .columns = 1), &err));
	print_table("covariances", names, covariances, VARIABLES);
	print_table("correlations", names, correlations, VARIABLES);

	/* A measured call is repeated, so it writes into an array that is there. */
	kz_device *dev = kz_array_device(x);
	kz_timing t = KZ_TIMING_INIT;
	CHECK(kz_time(&t, kz_device_stream(dev), 20, kz_cov(NULL, x, KZ_WITH(kz_cov_options,
		.columns = 1, .into = covariances), &err), &err));
	fprintf(stderr, "%s: covariances in %.3f ms (half of the times from %.3f to %.3f ms)\n",
		kz_device_name(dev), t.host.median_ms, t.host.q1_ms, t.host.q3_ms);
	kz_release_all(covariances, correlations);
}

/* The scores are the centred rows in the directions of the loadings. */
static void check_scores(kz_array *x, kz_array *mean, kz_array *loadings, kz_array *scores)
{
	kz_array *centred = NULL, *product = NULL, *apart = NULL;
	double largest = 0;
	CHECK(kz_subtract(&centred, x, mean, &err));
	CHECK(kz_matmul_op(&product, centred, KZ_MATRIX_AS_IS, loadings, KZ_MATRIX_TRANSPOSED, NULL,
		&err));
	CHECK(kz_eval(&apart, "abs(product - scores)", NULL, &err, KZ_VARS(product, scores)));
	CHECK(kz_max_get(&largest, apart, &err));
	printf("scores by hand: %s 1e-12 apart\n", largest < 1e-12 ? "below" : "ABOVE");
	kz_release_all(centred, product, apart);
}

static void show_components(kz_array *x)
{
	double variance[VARIABLES], total = 0, sum = 0;
	kz_array *scores = NULL, *loadings = NULL, *variances = NULL, *mean = NULL;
	kz_array *kinds = NULL, *means = NULL;
	CHECK(kz_pca(&scores, &loadings, &variances, &mean, x, 0, NULL, &err));
	CHECK(kz_array_get(variances, variance, sizeof(variance), &err));
	CHECK(kz_sum_get(&total, variances, &err));
	print_table("components, one in each row", "", loadings, VARIABLES);
	for (int i = 0; i < VARIABLES; i++) {
		sum += variance[i];
		printf("variance %.4f: %.1f %% of all with those before\n", variance[i],
			100 * sum / total);
	}
	check_scores(x, mean, loadings, scores);

	/* (rows, components) as (kinds, rows of each, components) */
	CHECK(kz_array_reshape(&kinds, scores, KZ_SHAPE(KINDS, -1, VARIABLES), &err));
	CHECK(kz_mean(&means, kinds, KZ_AXES(1), &err));
	print_table("mean score of each third of the rows", "", means, KINDS);
	kz_release_all(scores, loadings, variances, mean, kinds, means);
}

int main(int argc, char **argv)
{
	char names[256];
	kz_device *dev = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	kz_array *x = read_table(dev, argc > 1 ? argv[1] : "samples/iris.csv", names,
		sizeof(names));
	show_covariances(x, names);
	show_components(x);
	kz_release_all(x, dev);
	return 0;
}
