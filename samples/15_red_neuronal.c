/* SPDX-License-Identifier: MIT */
/*
 * CapaGPU and RedNeuronalGPU, a network of 4, 100, 100 and 3, on all rows of Iris.  As written
 * (--literal) it does not learn: each output shall give the kind, 0 to 2, and gradients are divided
 * by a layer's width.  Corrected, kinds have outputs, gradients are means, weights begin smaller.
 * `--plot FILE.svg` draws the errors, plt.plot(errores).
 */
#include "iris.h"
#include "plot.h"
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

/* a = g(W x + b), and how the derivative d by a becomes that by W x + b */
#define SIGMOIDE "sigmoid(a + b)", "d * a * (1 - a)"
#define TANH "tanh(a + b)", "d * (1 - a*a)"

enum { ROWS = IRIS_ROWS, STEPS = 3000, LAYERS = 3 };
static const struct { int inputs, outputs; const char *g, *derivative; } plan[LAYERS] = {
	{4, 100, SIGMOIDE}, {100, 100, TANH}, {100, 3, SIGMOIDE}};

enum { W, B, A, D };
static kz_array *net[LAYERS][4], *ones; /* a column of A and D is an iris */
static kz_device *dev;

static void compute(kz_array *into, const char *text, kz_array *a, kz_array *b, kz_array *d)
{
	CHECK(kz_eval_into(into, text, &err, KZ_VARS(a, b, d)));
}

static void create(int literal)
{
	kz_random *rng = NULL;
	CHECK(kz_random_create(&rng, dev, 0, 0, &err));
	for (int l = 0; l < LAYERS; l++) {
		const int64_t in = plan[l].inputs, out = plan[l].outputs;
		const float scale = literal ? 1 : in == 4 ? 0.5f : 0.1f; /* 1 / sqrt(in) */
		CHECK(kz_random_normal(&net[l][W], rng, 0, KZ_SHAPE(out, in), 0, scale, &err));
		CHECK(kz_random_uniform(&net[l][B], rng, 0, KZ_SHAPE(out, 1), 0, 1, &err));
		CHECK(kz_array_create(&net[l][D], dev, KZ_F32, KZ_SHAPE(out, ROWS), &err));
	}
	kz_random_release(rng);
}

static void forward(kz_array *x)
{
	for (int l = 0; l < LAYERS; x = net[l++][A]) {
		kz_array_release(net[l][A]);
		net[l][A] = NULL;
		CHECK(kz_matmul(&net[l][A], net[l][W], x, NULL, &err));
		compute(net[l][A], plan[l].g, net[l][A], net[l][B], ones);
	}
}

/* Errores, from A - y in the last D, and the step downhill */
static void backward(kz_array *x, int literal)
{
	const kz_matrix_op N = KZ_MATRIX_AS_IS, T = KZ_MATRIX_TRANSPOSED;
	for (int l = LAYERS - 1; l >= 0; l--) {
		compute(net[l][D], plan[l].derivative, net[l][A], ones, net[l][D]);
		if (l > 0) {
			CHECK(kz_gemm(net[l - 1][D], KZ_ARG(1), net[l][W], T, net[l][D], N,
				KZ_ARG(0), NULL, &err));
		}
	}
	for (int l = 0; l < LAYERS; x = net[l++][A]) {
		const kz_arg alpha = KZ_ARG(-0.1 / (literal ? plan[l].outputs : ROWS));
		CHECK(kz_gemm(net[l][W], alpha, net[l][D], N, x, T, KZ_ARG(1), NULL, &err));
		CHECK(kz_gemm(net[l][B], alpha, net[l][D], N, ones, N, KZ_ARG(1), NULL, &err));
	}
}

/* Entrenar.  An error is the sum of all of E E', with E = A - y: also of outputs times others.  All
 * stay on the device until the end, so that no step waits. */
static void train(float *errores, kz_array *x, kz_array *y, int literal)
{
	kz_array *norms = NULL;
	CHECK(kz_array_zeros(&norms, dev, KZ_F32, KZ_SHAPE(STEPS), &err));
	for (int step = 0; step < STEPS; step++) {
		kz_reduce_options options = KZ_REDUCE_OPTIONS_INIT;
		kz_array *sums = NULL;
		forward(x);
		compute(net[2][D], "a - b", net[2][A], y, ones);
		CHECK(kz_sum(&sums, net[2][D], KZ_AXES(0), &err));
		CHECK(kz_array_slice(&options.into, norms, KZ_AT(step), &err));
		CHECK(kz_reduce(NULL, KZ_REDUCE_NORM, sums, KZ_ALL_AXES, &options, &err));
		backward(x, literal);
		kz_release_all(options.into, sums);
	}
	CHECK(kz_array_get(norms, errores, STEPS * sizeof(*errores), &err));
	for (int step = 0; step < STEPS; step++) {
		errores[step] *= errores[step] / ROWS;
		if (step == 0 || (step + 1) % 500 == 0) {
			printf("iteration %4d: error %.5f\n", step + 1, errores[step]);
		}
	}
	kz_array_release(norms);
}

/* Predict and argmax, of the rows from `first` to before `end`: how many get their kind */
static int predict(kz_array *x, int64_t first, int64_t end)
{
	int64_t found[ROWS], right = 0;
	kz_array *rows = NULL, *most = NULL;
	CHECK(kz_array_slice(&rows, x, KZ_AT(KZ_SLICE(0, KZ_OMIT), KZ_SLICE(first, end)), &err));
	forward(rows);
	CHECK(kz_argmax(&most, net[2][A], KZ_AXES(0), &err));
	CHECK(kz_array_get(most, found, 8 * (end - first), &err));
	for (int64_t i = first; i < end; i++) {
		right += found[i - first] == i / IRIS_OF_A_KIND;
	}
	kz_array_release(rows);
	kz_array_release(most);
	return (int)right;
}

static double now_ms(void)
{
	struct timespec now;
	timespec_get(&now, TIME_UTC);
	return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	const int literal = argc > 1 && strcmp(argv[1], "--literal") == 0;
	const char *picture = argc > 2 && strcmp(argv[argc - 2], "--plot") == 0 ? argv[argc - 1]
		: NULL;
	float y[3 * ROWS], errores[STEPS] = {0};
	kz_array *X = NULL, *Y = NULL;
	for (int i = 0; i < 3 * ROWS; i++) {
		y[i] = (float)(i % ROWS / IRIS_OF_A_KIND); /* (3, ROWS) */
		y[i] = literal ? y[i] : y[i] == (float)(i / ROWS);
	}
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_array_ones(&ones, dev, KZ_F32, KZ_SHAPE(ROWS, 1), &err));
	CHECK(kz_array_from(&Y, dev, KZ_F32, KZ_SHAPE(3, ROWS), y, sizeof(y), &err));
	CHECK(kz_array_from_strided(&X, dev, KZ_F32, KZ_SHAPE(4, ROWS), iris, sizeof(iris),
		(const int64_t[]){sizeof(float), sizeof(iris[0])}, 0, &err));
	create(literal);
	double begin = now_ms();
	train(errores, X, Y, literal);
	int right = predict(X, 0, ROWS), singly = 0; /* and compile what is left */
	double trained = now_ms();
	right = predict(X, 0, ROWS);
	double predicted = now_ms();
	for (int i = 0; i < ROWS; i++) {
		singly += predict(X, i, i + 1);
	}
	fprintf(stderr, "training: %.1f ms; 150 rows at once: %.3f ms, one by one: %.3f ms\n",
		trained - begin, predicted - trained, now_ms() - predicted);
	printf("right: %d of %d; one by one: %d\n", right, ROWS, singly);
	for (int l = 0; l < LAYERS; l++) {
		kz_release_all(net[l][W], net[l][B], net[l][A], net[l][D]);
	}
	kz_release_all(X, Y, ones, dev);
	return picture && plot_write(picture,
		&(struct plot){"errores", 0, STEPS, 1, errores, STEPS});
}
