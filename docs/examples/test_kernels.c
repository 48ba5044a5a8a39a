/* SPDX-License-Identifier: MIT */
/* Tests of a kernel with Check; docs/test-your-kernels.md shows them. */
#include <check.h>
#include <kudzu/kudzu.h>
#include <stdlib.h>

/* part: kernel */
static const char source[] =
	"__global__ void saxpy(int n, float a, const float *x, float *y)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		y[i] += a * x[i];\n"
	"	}\n"
	"}\n";
/* part: fixture */
static kz_error err = KZ_ERROR_INIT;
/* A call that fails ends its test with all that kz_error_print prints, and clears the error. */
#define OK(call) do { \
		if (call) { \
			char text[4096]; \
			kz_error_format(&err, text, sizeof(text)); \
			kz_error_clear(&err); \
			ck_abort_msg("%s", text); \
		} \
	} while (0)
static kz_device *dev;
static kz_module *mod;
static kz_kernel *saxpy;

/* Check forks before each test, and no device survives a fork: a checked fixture runs after it. */
static void setup(void)
{
	OK(kz_device_open(&dev, NULL, &err));
	OK(kz_module_compile(&mod, dev, source, NULL, &err));
	OK(kz_module_kernel(&saxpy, mod, "saxpy", &err));
}

static void teardown(void)
{
	kz_module_release(mod);
	kz_device_close(dev);
}
/* part: tests */
static const int counts[] = {1, 255, 256, 257, 100000};

START_TEST(saxpy_agrees_with_c)
{
	const int n = counts[_i];
	float *x = malloc(n * sizeof(*x)), *y = malloc(n * sizeof(*y));
	for (int i = 0; i < n; i++) {
		x[i] = (float)i;
		y[i] = (float)(n - i);
	}
	OK(kz_launch_1d(saxpy, n, NULL, &err, KZ_ARGS(n, 2.0f,
		KZ_IN(x, n * sizeof(*x)), KZ_INOUT(y, n * sizeof(*y)))));
	for (int i = 0; i < n; i++) {
		ck_assert_float_eq_tol(y[i], (float)(n - i) + 2 * (float)i, 1e-3f);
	}
	free(x);
	free(y);
}
END_TEST

START_TEST(saxpy_leaves_the_rest_alone)
{
	float x[4] = {1, 1, 1, 1}, y[4] = {0};
	OK(kz_launch_1d(saxpy, 2, NULL, &err, KZ_ARGS(2, 1.0f,
		KZ_IN(x, sizeof(x)), KZ_INOUT(y, sizeof(y)))));
	ck_assert_float_eq(y[1], 1);
	ck_assert_float_eq(y[2], 0);
}
END_TEST
/* part: main */
int main(void)
{
	Suite *suite = suite_create("saxpy");
	TCase *tc = tcase_create("kernel");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, saxpy_agrees_with_c, 0, sizeof(counts) / sizeof(*counts));
	tcase_add_test(tc, saxpy_leaves_the_rest_alone);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
/* part: end */
