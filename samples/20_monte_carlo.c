/* SPDX-License-Identifier: MIT */
/*
 * Options are priced by a million random paths.  A European call needs the price at the end alone:
 * one array of normal numbers and one expression, and Black and Scholes have a formula to compare
 * with.  An Asian call pays by the mean over a year of weeks: a kernel walks each path and draws
 * its own numbers.  It uses the generator of the arrays, so with one step it gets the same price.
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

enum { PATHS = 1 << 20, BLOCK = 256, SEED = 2026, WEEKS = 52 };

static const float spot = 100, strike = 105, rate = 0.05F, volatility = 0.2F;

static const char source[] =
	"#include <kudzu/random.cuh>\n"
	"__global__ void walk(float *pays, int steps, float spot, float strike,\n"
	"	float rate, float volatility)\n"
	"{\n"
	"	long long path = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	kz_rng rng(2026, 0, path * ((steps + 3) / 4));   /* an offset has four numbers */\n"
	"	float drift = (rate - volatility * volatility / 2) / steps;\n"
	"	float size = volatility * sqrtf(1.0f / steps), log_price = 0, sum = 0;\n"
	"	for (int i = 0; i < steps; i++) {\n"
	"		log_price += drift + size * rng.normal();\n"
	"		sum += spot * expf(log_price);\n"
	"	}\n"
	"	pays[path] = expf(-rate) * fmaxf(sum / steps - strike, 0);\n"
	"}\n";

static double black_scholes(void)
{
	double up = (log(spot / strike) + rate + volatility * volatility / 2) / volatility;
	double down = up - volatility;
	return spot * erfc(-up / sqrt(2)) / 2 - strike * exp(-rate) * erfc(-down / sqrt(2)) / 2;
}

/* The price is the mean of what the paths pay; its error falls with the root of their number. */
static void report(const char *name, kz_array *pays)
{
	float mean = 0, deviation = 0;
	CHECK(kz_mean_get(&mean, pays, &err));
	CHECK(kz_std_get(&deviation, pays, &err));
	printf("%s: %.2f +- %.2f\n", name, mean, deviation / sqrt(PATHS));
}

static void price_european(kz_device *dev)
{
	kz_random *rng = NULL;
	kz_array *z = NULL, *pays = NULL;
	CHECK(kz_random_create(&rng, dev, SEED, 0, &err));
	CHECK(kz_random_normal(&z, rng, KZ_F32, KZ_SHAPE(PATHS), 0, 1, &err));
	CHECK(kz_eval(&pays, "exp(-r) * maximum(s * exp(r - v*v/2 + v*z) - k, 0)", NULL, &err,
		KZ_VARS(z, KZ_VAR("s", spot), KZ_VAR("k", strike), KZ_VAR("r", rate),
			KZ_VAR("v", volatility))));
	report("European call, arrays", pays);
	printf("European call, Black and Scholes: %.2f\n", black_scholes());
	kz_release_all(pays, z, rng);
}

static void price_paths(const char *name, kz_kernel *walk, kz_array *pays, int steps)
{
	CHECK(kz_launch(walk, KZ_DIM(PATHS / BLOCK), KZ_DIM(BLOCK), NULL, &err,
		KZ_ARGS(pays, steps, spot, strike, rate, volatility)));
	report(name, pays);
}

int main(void)
{
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *walk = NULL;
	kz_array *pays = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_module_compile(&mod, dev, source, NULL, &err));
	CHECK(kz_module_kernel(&walk, mod, "walk", &err));
	CHECK(kz_array_create(&pays, dev, KZ_F32, KZ_SHAPE(PATHS), &err));
	price_european(dev);
	price_paths("European call, a kernel", walk, pays, 1);
	price_paths("Asian call, a kernel", walk, pays, WEEKS);
	kz_release_all(pays, mod, dev);
	return 0;
}
