/* SPDX-License-Identifier: MIT */
/*
 * The networks of the samples 15_red_neuronal and 16_iris in double, against the same rules in
 * loops over host memory, and against what PyTorch and numpy printed.
 */
#include "base/common.h"

#include "cpu/support/both_shapes.h"
#include "support/suite.h"

#include "../samples/iris.h"

#include <math.h>
#include <string.h>

/* Iris, all on the host: are the draws those of PyTorch? */

enum { TESTED = 30, TRAINED = 120, WEIGHTS = 151 };

static const int size[] = {4, 8, 9, 3}, place[] = {0, 40, 121};
static double w[WEIGHTS], gradient[WEIGHTS], inputs[4][9];

static void run_layers(const float *row)
{
	for (int i = 0; i < 4; i++) {
		inputs[0][i] = (double)row[i];
	}
	for (int l = 0; l < 3; l++) {
		for (int o = 0; o < size[l + 1]; o++) {
			double sum = w[place[l] + size[l] * size[l + 1] + o];
			for (int i = 0; i < size[l]; i++) {
				sum += w[place[l] + o * size[l] + i] * inputs[l][i];
			}
			inputs[l + 1][o] = l < 2 && sum < 0 ? 0 : sum;
		}
	}
}

/* The loss of a row; adds its share to the gradient. */
static double add_row(const float *row, int kind)
{
	double d[4][9] = {{0}}, total = 0;
	run_layers(row);
	for (int o = 0; o < 3; o++) {
		total += exp(inputs[3][o]);
	}
	for (int o = 0; o < 3; o++) {
		d[3][o] = (exp(inputs[3][o]) / total - (o == kind)) / TRAINED;
	}
	for (int l = 2; l >= 0; l--) {
		for (int o = 0; o < size[l + 1]; o++) {
			gradient[place[l] + size[l] * size[l + 1] + o] += d[l + 1][o];
			for (int i = 0; i < size[l]; i++) {
				const int at = place[l] + o * size[l] + i;
				gradient[at] += d[l + 1][o] * inputs[l][i];
				d[l][i] += inputs[l][i] > 0 ? w[at] * d[l + 1][o] : 0;
			}
		}
	}
	return log(total) - inputs[3][kind];
}

/* Adam's step `t`, as torch.optim.Adam(lr=0.01). */
static void take_step(int t)
{
	static double m[WEIGHTS], v[WEIGHTS];
	for (int k = 0; k < WEIGHTS; k++) {
		m[k] = 0.9 * m[k] + 0.1 * gradient[k];
		v[k] = 0.999 * v[k] + 0.001 * gradient[k] * gradient[k];
		w[k] -= 0.01 / (1 - pow(0.9, t)) * m[k] / (sqrt(v[k] / (1 - pow(0.999, t))) + 1e-8);
	}
}

START_TEST(the_draws_of_the_iris_course_give_its_losses)
{
	static const double published[] = {1.15071142, 0.93773186, 0.77982736, 0.60996711,
		0.40083539, 0.25436994, 0.15052448, 0.10086147, 0.08127660, 0.07230931};
	static float rows[IRIS_ROWS][IRIS_COLUMNS], drawn[WEIGHTS];
	int32_t kinds[IRIS_ROWS];
	kz_mt19937 rng;
	kz_mt19937_init(&rng, 32);
	for (int l = 0, count = 0; l < 3; l++) {
		const float bound = (float)(1 / sqrt(size[l]));
		count = (size[l] + 1) * size[l + 1];
		kz_mt19937_torch_uniform_f32(drawn + place[l], &rng, count, -bound, bound);
	}
	for (int k = 0; k < WEIGHTS; k++) {
		w[k] = (double)drawn[k];
	}
	iris_split(rows, kinds, 33);
	for (int epoch = 0; epoch < 100; epoch++) {
		double loss = 0;
		memset(gradient, 0, sizeof(gradient));
		for (int r = TESTED; r < IRIS_ROWS; r++) {
			loss += add_row(rows[r], kinds[r]) / TRAINED;
		}
		ck_assert(epoch % 10 || fabs(loss - published[epoch / 10]) < (epoch ? 4e-5 : 2e-7));
		take_step(epoch + 1);
	}
	for (int r = 0; r < TESTED; r++) {
		run_layers(rows[r]);
		const double *z = inputs[3];
		ck_assert_int_eq(z[2] > z[0] && z[2] > z[1] ? 2 : z[1] > z[0], kinds[r]);
	}
}
END_TEST

/* CapaGPU and RedNeuronalGPU as written: the literal rules on the device */

enum { LAYERS = 3, ROWS = IRIS_ROWS, MOST = 100 };

static const int wide[] = {4, 100, 100, 3};
static kz_array *W[LAYERS], *B[LAYERS], *Z[LAYERS + 1], *D[LAYERS];

/* One digit after the point, in double as in the file. */
static double feature(int row, int column)
{
	return round(10 * (double)iris[row][column]) / 10;
}

static void set(kz_array *into, const char *text, kz_array *a, kz_array *b, kz_array *d)
{
	kz_op_options options = KZ_OP_OPTIONS_INIT;
	options.into = into;
	ok(kz_eval(NULL, text, &options, &err, KZ_VARS(a, b, d)));
}

/* numpy.random.seed(0); W = randn(out, in) and b = rand(out, 1) for each layer */
static void make_network(double host_w[LAYERS][MOST * MOST], double host_b[LAYERS][MOST])
{
	kz_mt19937 rng;
	static double x[4 * ROWS];
	kz_mt19937_init(&rng, 0);
	for (int i = 0; i < 4 * ROWS; i++) {
		x[i] = feature(i % ROWS, i / ROWS);
	}
	ok(kz_array_from(&Z[0], dev, KZ_F64, KZ_SHAPE(4, ROWS), x, sizeof(x), &err));
	for (int l = 0; l < LAYERS; l++) {
		const int in = wide[l], out = wide[l + 1];
		for (int i = 0; i < in * out; i++) {
			host_w[l][i] = kz_mt19937_normal(&rng);
		}
		for (int o = 0; o < out; o++) {
			host_b[l][o] = kz_mt19937_double(&rng);
		}
		ok(kz_array_from(&W[l], dev, KZ_F64, KZ_SHAPE(out, in), host_w[l], 8 * in * out,
			&err));
		ok(kz_array_from(&B[l], dev, KZ_F64, KZ_SHAPE(out, 1), host_b[l], 8 * out, &err));
		ok(kz_array_zeros(&Z[l + 1], dev, KZ_F64, KZ_SHAPE(out, ROWS), &err));
		ok(kz_array_zeros(&D[l], dev, KZ_F64, KZ_SHAPE(out, ROWS), &err));
	}
}

static void release_network(void)
{
	for (int l = 0; l < LAYERS; l++) {
		release_arrays(W[l], B[l], Z[l + 1], D[l]);
	}
	kz_array_release(Z[0]);
}

/* One iteration; returns the error that `errores` gets. */
static double iterate(kz_array *y, kz_array *ones)
{
	const kz_matrix_op N = KZ_MATRIX_AS_IS, T = KZ_MATRIX_TRANSPOSED;
	kz_array *sums;
	double norm = 0;
	for (int l = 0; l < LAYERS; l++) {
		ok(kz_gemm(Z[l + 1], KZ_ARG(1), W[l], N, Z[l], N, KZ_ARG(0), NULL, &err));
		set(Z[l + 1], l == 1 ? "tanh(a + b)" : "sigmoid(a + b)", Z[l + 1], B[l], y);
	}
	set(D[2], "a - d", Z[3], y, y);
	ok(kz_sum(&sums, D[2], KZ_AXES(0), &err));
	ok(kz_reduce_get_as(&norm, KZ_F64, KZ_REDUCE_NORM, sums, NULL, &err));
	kz_array_release(sums);
	for (int l = 2; l >= 0; l--) {
		set(D[l], l == 1 ? "d * (1 - a*a)" : "d * a * (1 - a)", Z[l + 1], y, D[l]);
		if (l) {
			ok(kz_gemm(D[l - 1], KZ_ARG(1), W[l], T, D[l], N, KZ_ARG(0), NULL, &err));
		}
	}
	for (int l = 0; l < LAYERS; l++) {
		const kz_arg alpha = KZ_ARG(-0.1 / wide[l + 1]);
		ok(kz_gemm(W[l], alpha, D[l], N, Z[l], T, KZ_ARG(1), NULL, &err));
		ok(kz_gemm(B[l], alpha, D[l], N, ones, N, KZ_ARG(1), NULL, &err));
	}
	return norm * norm / ROWS;
}

/* The same iteration with loops. */
static void iterate_on_host(double host_w[LAYERS][MOST * MOST], double host_b[LAYERS][MOST])
{
	static double before[LAYERS][MOST * MOST], a[LAYERS + 1][MOST], d[LAYERS + 1][MOST];
	static double bias[LAYERS][MOST];
	memcpy(before, host_w, sizeof(before));
	memcpy(bias, host_b, sizeof(bias));
	for (int r = 0; r < ROWS; r++) {
		memset(d, 0, sizeof(d));
		for (int i = 0; i < 4; i++) {
			a[0][i] = feature(r, i);
		}
		for (int l = 0; l < LAYERS; l++) {
			for (int o = 0; o < wide[l + 1]; o++) {
				double z = bias[l][o];
				for (int i = 0; i < wide[l]; i++) {
					z += before[l][o * wide[l] + i] * a[l][i];
				}
				a[l + 1][o] = l == 1 ? tanh(z) : 1 / (1 + exp(-z));
			}
		}
		for (int o = 0; o < 3; o++) {
			d[3][o] = a[3][o] - r / IRIS_OF_A_KIND;
		}
		for (int l = LAYERS - 1; l >= 0; l--) {
			for (int o = 0; o < wide[l + 1]; o++) {
				const double t = a[l + 1][o];
				const double dz = d[l + 1][o] * (l == 1 ? 1 - t * t : t * (1 - t));
				host_b[l][o] -= 0.1 / wide[l + 1] * dz;
				for (int i = 0; i < wide[l]; i++) {
					const int at = o * wide[l] + i;
					d[l][i] += before[l][at] * dz;
					host_w[l][at] -= 0.1 / wide[l + 1] * dz * a[l][i];
				}
			}
		}
	}
}

static void check_close(kz_array *array, const double *want, int64_t count)
{
	static double got[MOST * MOST];
	double most = 0;
	ok(kz_array_get(array, got, 8 * count, &err));
	for (int64_t i = 0; i < count; i++) {
		most = fmax(most, fabs(want[i]));
	}
	for (int64_t i = 0; i < count; i++) {
		ck_assert_double_eq_tol(got[i], want[i], 1e-10 * most);
	}
}

/* The errors are those of the class in numpy after numpy.random.seed(0), at iterations 1, 2 and
 * 50. */
DEVICE_TEST(the_literal_network_is_that_of_the_seed)
{
	static double host_w[LAYERS][MOST * MOST], host_b[LAYERS][MOST], kinds[ROWS], error[50];
	kz_array *y, *ones;
	for (int r = 0; r < ROWS; r++) {
		kinds[r] = r / IRIS_OF_A_KIND;
	}
	make_network(host_w, host_b);
	ok(kz_array_from(&y, dev, KZ_F64, KZ_SHAPE(1, ROWS), kinds, sizeof(kinds), &err));
	ok(kz_array_ones(&ones, dev, KZ_F64, KZ_SHAPE(ROWS, 1), &err));
	for (int i = 0; i < 50; i++) {
		error[i] = iterate(y, ones);
		if (i == 0) {
			iterate_on_host(host_w, host_b);
		}
		for (int l = 0; i == 0 && l < LAYERS; l++) {
			check_close(W[l], host_w[l], wide[l] * wide[l + 1]);
			check_close(B[l], host_b[l], wide[l + 1]);
		}
	}
	ck_assert_double_eq_tol(error[0], 9.126196608901523, 1e-8);
	ck_assert_double_eq_tol(error[1], 7.0003268065510795, 1e-8);
	ck_assert_double_eq_tol(error[49], 7.000168402229294, 1e-8);
	release_network();
	release_arrays(y, ones);
}

/* Where the notebook's (e^z - e^-z) / (e^z + e^-z) overflows, too. */
DEVICE_TEST(activations_have_their_values_and_derivatives)
{
	static const double z[] = {-1e4, -711, -3, -1e-8, 0, 0.5, 2, 40, 711, 1e4};
	enum { COUNT = sizeof(z) / sizeof(z[0]) };
	static const char *const texts[] = {"sigmoid(x)", "tanh(x)",
		"sigmoid(x) * (1 - sigmoid(x))", "1 - tanh(x)**2"};
	for (int i = 0; i < 8; i++) {
		double got[COUNT];
		kz_array *doubles, *x, *y, *out;
		ok(kz_array_from(&doubles, dev, KZ_F64, KZ_SHAPE(COUNT), z, sizeof(z), &err));
		ok(kz_array_astype(&x, doubles, i < 4 ? KZ_F64 : KZ_F32, &err));
		ok(kz_eval(&y, texts[i % 4], NULL, &err, KZ_VARS(x)));
		ok(kz_array_astype(&out, y, KZ_F64, &err));
		ok(kz_array_get(out, got, sizeof(got), &err));
		for (int k = 0; k < COUNT; k++) {
			const double s = 1 / (1 + exp(-z[k])), t = tanh(z[k]);
			const double want[] = {s, t, s * (1 - s), 1 - t * t};
			ck_assert_double_eq_tol(got[k], want[i % 4], i < 4 ? 1e-12 : 1e-6);
		}
		release_arrays(doubles, x, y, out);
	}
	kz_array *x, *y = NULL;
	ok(kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(2), &err));
	fails(kz_eval(&y, "Lrelu(x)", NULL, &err, KZ_VARS(x)), KZ_COMPILE, "no function 'Lrelu'");
	ck_assert_ptr_null(y);
	kz_array_release(x);
}

SUITE(seeds)
{
	Suite *suite = suite_create("seeds");
	TCase *tcase = suite_add_case(suite, "networks");
	tcase_add_test(tcase, the_draws_of_the_iris_course_give_its_losses);
	tcase_add_tests(tcase, both_shapes_count(), the_literal_network_is_that_of_the_seed,
		activations_have_their_values_and_derivatives);
	return suite;
}
