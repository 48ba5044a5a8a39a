/* SPDX-License-Identifier: MIT */
/*
 * A book of options, priced by Monte Carlo in one launch.  It teaches the pattern "a block for each
 * problem": a block has an option, its threads walk over the paths and draw their own numbers, and
 * a sum in shared memory makes one price of them.  The option is a struct, in an array of structs.
 *
 * Each path comes with its mirror image, which makes the error smaller.  The same numbers give
 * delta, the change of the price with that of the share.  The formula of Black and Scholes says
 * what all prices should be, and the error of a mean says how far away from that it may be.
 */
#include <kudzu/kudzu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { OPTIONS = 256, THREADS = 128, PATHS = 1 << 14 };

/* The kernel declares the same structs. */
struct option {
	float spot, strike, rate, volatility, years;
	int is_put;
};
struct result {
	float price, error, delta;
};

static const char source[] =
	"#include <kudzu/random.cuh>\n"
	"struct option { float spot, strike, rate, volatility, years; int is_put; };\n"
	"struct result { float price, error, delta; };\n"
	"\n"
	"__device__ float sum_block(float x)\n"
	"{\n"
	"	__shared__ float part[THREADS];\n"
	"	__syncthreads();\n"
	"	part[threadIdx.x] = x;\n"
	"	for (int n = THREADS / 2; n > 0; n /= 2) {\n"
	"		__syncthreads();\n"
	"		if (threadIdx.x < n) {\n"
	"			part[threadIdx.x] += part[threadIdx.x + n];\n"
	"		}\n"
	"	}\n"
	"	__syncthreads();\n"
	"	return part[0];\n"
	"}\n"
	"\n"
	"__global__ void price(const option *options, result *results, int paths)\n"
	"{\n"
	"	const option o = options[blockIdx.x];\n"
	"	const float sign = o.is_put ? -1 : 1, root = o.volatility * sqrtf(o.years);\n"
	"	const float drift = o.rate * o.years - root * root / 2;\n"
	"	float sum = 0, squares = 0, delta = 0;\n"
	"	kz_rng rng(2026, blockIdx.x * THREADS + threadIdx.x);\n"
	"	for (int i = threadIdx.x; i < paths; i += THREADS) {\n"
	"		const float z = root * rng.normal();\n"
	"		const float up = expf(drift + z), down = expf(drift - z);\n"
	"		const float a = fmaxf(sign * (o.spot * up - o.strike), 0);\n"
	"		const float b = fmaxf(sign * (o.spot * down - o.strike), 0);\n"
	"		const float mean = (a + b) / 2;\n"
	"		sum += mean;\n"
	"		squares += mean * mean;\n"
	"		delta += sign * ((a > 0 ? up : 0) + (b > 0 ? down : 0)) / 2;\n"
	"	}\n"
	"	sum = sum_block(sum) / paths;\n"
	"	squares = sum_block(squares) / paths;\n"
	"	delta = sum_block(delta) / paths;\n"
	"	if (threadIdx.x == 0) {\n"
	"		const float discount = expf(-o.rate * o.years);\n"
	"		results[blockIdx.x].price = discount * sum;\n"
	"		results[blockIdx.x].error =\n"
	"			discount * sqrtf(fmaxf(squares - sum * sum, 0) / paths);\n"
	"		results[blockIdx.x].delta = discount * delta;\n"
	"	}\n"
	"}\n";

static double normal(double x)
{
	return erfc(-x / sqrt(2)) / 2;
}

/* The formula. */
static struct result black_scholes(const struct option *o)
{
	const double root = o->volatility * sqrt(o->years), sign = o->is_put ? -1 : 1;
	const double d1 = log(o->spot / o->strike) / root + o->rate * o->years / root + root / 2;
	const double now = o->strike * exp(-o->rate * o->years);
	const struct result r = {
		(float)(sign * (o->spot * normal(sign * d1) - now * normal(sign * (d1 - root)))), 0,
		(float)(sign * normal(sign * d1)),
	};
	return r;
}

static void make_book(struct option *book)
{
	for (int i = 0; i < OPTIONS; i++) {
		const struct option o = {
			.spot = 100, .strike = 80 + 5.0F * (float)(i / 2 % 8), .rate = 0.03F,
			.volatility = 0.1F + 0.1F * (float)(i / 16 % 4),
			.years = 0.25F * (float)(1 + i / 64), .is_put = i % 2,
		};
		book[i] = o;
	}
}

static void price_book(struct result *results, kz_device *dev, const struct option *book)
{
	kz_module *mod = NULL;
	kz_kernel *price = NULL;
	kz_buffer *from = NULL, *to = NULL;
	const int64_t size = OPTIONS * (int64_t)sizeof(*book);
	char threads[32];
	snprintf(threads, sizeof(threads), "THREADS=%d", THREADS);
	CHECK(kz_module_compile(&mod, dev, source,
		KZ_WITH(kz_compile_options, .name = "black_scholes.cu",
			.defines = (const char *const[]){threads, NULL}), &err));
	CHECK(kz_module_kernel(&price, mod, "price", &err));
	CHECK(kz_buffer_create(&from, dev, size, &err));
	CHECK(kz_buffer_create(&to, dev, OPTIONS * (int64_t)sizeof(*results), &err));
	CHECK(kz_copy_htod(from, 0, book, size, &err));
	CHECK(kz_launch(price, KZ_DIM(OPTIONS), KZ_DIM(THREADS), NULL, &err,
		KZ_ARGS(from, to, (int)PATHS)));
	CHECK(kz_copy_dtoh(results, OPTIONS * (int64_t)sizeof(*results), to, 0, &err));
	kz_release_all(to, from, mod);
}

int main(void)
{
	static struct option book[OPTIONS];
	static struct result results[OPTIONS];
	kz_device *dev = NULL;
	int near = 0, right = 0;
	make_book(book);
	CHECK(kz_device_open(&dev, NULL, &err));
	price_book(results, dev, book);

	printf("option           formula: price, delta\n");
	for (int i = 0; i < OPTIONS; i++) {
		const struct result expected = black_scholes(&book[i]);
		const double away = fabs(results[i].price - expected.price);
		near += away <= 4 * results[i].error + 1e-3;
		right += fabs(results[i].delta - expected.delta) < 0.02;
		if (i % 37 == 8) {
			printf("%-4s %3.0f, %.2f years %10.3f %10.3f\n",
				book[i].is_put ? "put" : "call", book[i].strike, book[i].years,
				expected.price, expected.delta);
			fprintf(stderr, "  by paths: %.3f +- %.3f, %.3f\n", results[i].price,
				results[i].error, results[i].delta);
		}
	}
	printf("%d of %d prices are within four errors of the formula\n", near, OPTIONS);
	printf("%d of %d deltas are within 0.02\n", right, OPTIONS);
	kz_device_close(dev);
	return 0;
}
