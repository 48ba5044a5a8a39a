/* SPDX-License-Identifier: MIT */
/* What kernels can use: one small kernel for each; docs/kernels.md shows the parts. */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 64, BLOCKS = 4, COUNT = THREADS * BLOCKS };

static const char source[] =
	/* part: shared-kernel */
	"extern __shared__ float partial[];           // its size is given at the launch\n"
	"__global__ void sum_blocks(const float *a, float *out)\n"
	"{\n"
	"	__shared__ float scale;                   // its size is known\n"
	"	int t = threadIdx.x;\n"
	"	if (t == 0) {\n"
	"		scale = 0.5f;\n"
	"	}\n"
	"	partial[t] = a[blockIdx.x * blockDim.x + t];\n"
	"	for (int n = blockDim.x / 2; n > 0; n /= 2) {\n"
	"		__syncthreads();\n"
	"		if (t < n) {\n"
	"			partial[t] += partial[t + n];\n"
	"		}\n"
	"	}\n"
	"	if (t == 0) {\n"
	"		out[blockIdx.x] = scale * partial[0];\n"
	"	}\n"
	"}\n"
	/* part: template-kernel */
	"template <class T, int N>\n"
	"__global__ void power(T *a)\n"
	"{\n"
	"	T x = a[threadIdx.x], result = 1;\n"
	"	for (int i = 0; i < N; i++) {\n"
	"		result *= x;\n"
	"	}\n"
	"	a[threadIdx.x] = result;\n"
	"}\n"
	/* part: atomic-kernel */
	"__device__ int found;                        // a variable of the module\n"
	"__global__ void count_even(const int *a, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n && a[i] % 2 == 0) {\n"
	"		atomicAdd(&found, 1);\n"
	"	}\n"
	"}\n"
	/* part: print-kernel */
	"__global__ void report(const float *a, int n)\n"
	"{\n"
	"	int i = threadIdx.x;\n"
	"	assert(i < n);                            // a failure ends the launch: KZ_FAULT\n"
	"	if (a[i] > 2) {\n"
	"		printf(\"a[%d] = %g\\n\", i, a[i]);\n"
	"	}\n"
	"}\n"
	/* part: end */
	;

/* part: random-kernel */
static const char random_source[] =
	"#include <kudzu/random.cuh>\n"
	"__global__ void roll(int *faces, unsigned long long seed)\n"
	"{\n"
	"	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	kz_rng rng(seed, i);                      // each thread has a stream of its own\n"
	"	faces[i] = (int)rng.integer(1, 7);        // 1 to 6\n"
	"}\n";
/* part: end */

/* part: grid-kernel */
static const char grid_source[] =
	"#include <cooperative_groups.h>\n"
	"namespace cg = cooperative_groups;\n"
	"__global__ void smooth(float *a, float *b, int steps)\n"
	"{\n"
	"	cg::grid_group grid = cg::this_grid();\n"
	"	int n = grid.size(), i = grid.thread_rank();\n"
	"	for (int s = 0; s < steps; s++) {\n"
	"		b[i] = (a[(i + n - 1) % n] + a[i] + a[(i + 1) % n]) / 3;\n"
	"		grid.sync();                      // all blocks\n"
	"		a[i] = b[i];\n"
	"		grid.sync();\n"
	"	}\n"
	"}\n";
/* part: end */

static kz_status find(kz_kernel **out, kz_module *mod, const char *name, kz_error *err)
{
	return kz_module_kernel(out, mod, name, err);
}

static kz_status run_shared(kz_device *dev, kz_module *mod, kz_error *err)
{
	float host[BLOCKS];
	kz_kernel *sum_blocks = NULL;
	kz_array *a = NULL, *sums = NULL;
	kz_status st;
	if ((st = find(&sum_blocks, mod, "sum_blocks", err))
	    || (st = kz_array_ones(&a, dev, KZ_F32, KZ_SHAPE(COUNT), err))
	    || (st = kz_array_create(&sums, dev, KZ_F32, KZ_SHAPE(BLOCKS), err))) {
		goto out;
	}
	/* part: shared */
	st = kz_launch(sum_blocks, KZ_DIM(BLOCKS), KZ_DIM(THREADS),
		KZ_WITH(kz_launch_options, .shared_size = THREADS * sizeof(float)), err,
		KZ_ARGS(a, sums));
	/* part: end */
	st = st ? st : kz_array_get(sums, host, sizeof(host), err);
	if (!st) {
		printf("shared: %g %g %g %g\n", host[0], host[1], host[2], host[3]);
	}
out:
	kz_array_release(a);
	kz_array_release(sums);
	return st;
}

static kz_status run_template(kz_module *mod, kz_error *err)
{
	double x[3] = {1, 2, 3};
	/* part: template */
	kz_kernel *cube = NULL;
	kz_status st = kz_module_kernel(&cube, mod, "power<double, 3>", err);
	if (!st) {
		st = kz_launch(cube, KZ_DIM(1), KZ_DIM(3), NULL, err,
			KZ_ARGS(KZ_INOUT(x, sizeof(x))));
	}
	/* part: end */
	if (!st) {
		printf("template: %g %g %g\n", x[0], x[1], x[2]);
	}
	return st;
}

static kz_status run_atomics(kz_module *mod, kz_error *err)
{
	const int numbers[] = {1, 2, 4, 5, 6};
	kz_kernel *count_even = NULL;
	kz_status st = find(&count_even, mod, "count_even", err);
	if (st) {
		return st;
	}
	/* part: atomic */
	int found = 0;
	if ((st = kz_module_set_global(mod, "found", &found, sizeof(found), err))
	    || (st = kz_launch_1d(count_even, 5, NULL, err,
			KZ_ARGS(KZ_IN(numbers, sizeof(numbers)), 5)))
	    || (st = kz_module_get_global(mod, "found", &found, sizeof(found), err))) {
		return st;
	}
	/* part: end */
	printf("atomics: %d\n", found);
	return KZ_OK;
}

static kz_status run_print(kz_module *mod, kz_error *err)
{
	const float a[] = {1, 3, 2};
	kz_kernel *report = NULL;
	kz_status st = find(&report, mod, "report", err);
	fflush(stdout);   /* what the kernel prints comes after it */
	return st ? st : kz_launch(report, KZ_DIM(1), KZ_DIM(3), NULL, err,
		KZ_ARGS(KZ_IN(a, sizeof(a)), 3));
}

static kz_status run_random(kz_device *dev, kz_error *err)
{
	int faces[1024], counts[7] = {0};
	kz_module *mod = NULL;
	kz_kernel *roll = NULL;
	kz_status st;
	(void)((st = kz_module_compile(&mod, dev, random_source, NULL, err))
	    || (st = find(&roll, mod, "roll", err))
	    || (st = kz_launch(roll, KZ_DIM(16), KZ_DIM(64), NULL, err,
			KZ_ARGS(KZ_OUT(faces, sizeof(faces)), 7u))));
	for (int i = 0; i < 1024 && !st; i++) {
		counts[faces[i] >= 1 && faces[i] <= 6 ? faces[i] : 0]++;
	}
	if (!st) {
		printf("random: %d %d %d %d %d %d\n", counts[1], counts[2], counts[3], counts[4],
			counts[5], counts[6]);
	}
	kz_module_release(mod);
	return st;
}

/* Returns KZ_OK without CUDA's headers, too: this kernel alone needs them. */
static kz_status run_grid(kz_device *dev, kz_error *err)
{
	float a[COUNT] = {[0] = 27}, b[COUNT];
	kz_module *mod = NULL;
	kz_kernel *smooth = NULL;
	kz_status st = kz_module_compile(&mod, dev, grid_source, NULL, err);
	if (st == KZ_COMPILE && strstr(kz_error_message(err), "cooperative_groups.h")) {
		kz_error_print(err, stderr);
		kz_error_clear(err);
		return KZ_OK;
	}
	if (st || (st = find(&smooth, mod, "smooth", err))) {
		goto out;
	}
	/* part: grid */
	st = kz_launch(smooth, KZ_DIM(BLOCKS), KZ_DIM(THREADS),
		KZ_WITH(kz_launch_options, .cooperative = 1), err,
		KZ_ARGS(KZ_INOUT(a, sizeof(a)), KZ_OUT(b, sizeof(b)), 3));
	/* part: end */
	if (!st && !(a[0] == 7 && a[1] == 6 && a[COUNT - 1] == 6)) {
		printf("smooth: %g %g %g is wrong\n", a[COUNT - 1], a[0], a[1]);
	}
out:
	kz_module_release(mod);
	return st;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	int failed = kz_device_open(&dev, NULL, &err) != KZ_OK;
	/* part: compile */
	const char *const instances[] = {"power<float, 2>", "power<double, 3>", NULL};
	failed = failed || kz_module_compile(&mod, dev, source, KZ_WITH(kz_compile_options,
		.name = "kernels.cu", .instances = instances), &err);
	/* part: end */
	failed = failed || run_shared(dev, mod, &err) || run_template(mod, &err)
		|| run_atomics(mod, &err) || run_print(mod, &err) || run_random(dev, &err)
		|| run_grid(dev, &err);
	kz_error_print(&err, stderr);
	kz_error_clear(&err);
	kz_module_release(mod);
	kz_device_close(dev);
	return failed;
}
