// SPDX-License-Identifier: MIT
//
// The doublify program in C++17, and what else has macros: they work there too.

#include <kudzu/kudzu.h>

#include <cstdio>
#include <initializer_list>

static const char source[] = R"(
extern "C" __global__ void doublify(float *a)
{
	int i = threadIdx.x + threadIdx.y * 4;
	a[i] *= 2;
}
)";

namespace ns {
struct point {
	double x;
	unsigned id;
	bool seen;
};
} // namespace ns

static const char points[] =
	"namespace ns { struct point { double x; unsigned id; bool seen; }; }";

static bool layouts_agree(kz_error *err)
{
	return kz_layout_check(points, nullptr, KZ_LAYOUT(ns::point, x, id, seen), err) == KZ_OK;
}

static const char shift[] = R"(
struct step { int by; double factor; };
__global__ void shift(float *a, step s, float f, bool on, const int *none)
{
	if (on && !none)
		a[threadIdx.x] = a[threadIdx.x] * s.factor + s.by * f;
}
)";

struct step {
	int by;
	double factor;
};

// Values of every kind as arguments, by name and by list.
static kz_status shift_it(kz_device *dev, kz_array *a, kz_error *err)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_launch_options launch = KZ_LAUNCH_OPTIONS_INIT;
	kz_module *mod = nullptr;
	kz_kernel *kernel = nullptr;
	step by = {3, 2.0};
	kz_status st;
	const kz_array *same = a;
	options.name = "shift.cu";
	(st = kz_module_compile(&mod, dev, shift, &options, err))
		|| (st = kz_module_kernel(&kernel, mod, "shift", err))
		|| (st = kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(6, 1, 1), &launch, err,
			KZ_ARGS(KZ_STRIDED(same), KZ_VALUE(by), KZ_F(0.5), true, nullptr)));
	kz_module_release(mod);
	return st;
}

// Views, operations, reductions, expressions.
static bool arrays_work(kz_device *dev, kz_error *err)
{
	kz_array *a = nullptr, *part = nullptr, *sum = nullptr, *out = nullptr, *both = nullptr;
	const float start[6] = {0, 1, 2, 3, 4, 5};
	float host[2] = {0, 0};
	short n = 2;
	bool ok = !kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(2, 3), start, sizeof(start), err)
		&& !shift_it(dev, a, err)  // 2a + 1.5
		&& !kz_array_slice(&part, a, KZ_AT(KZ_ALL, KZ_SLICE(0, KZ_OMIT, 2)), err)
		&& !kz_sum(&sum, part, KZ_AXES(-1), err)
		&& !kz_eval(&out, "sum / n + half", nullptr, err,
			KZ_VARS(sum, n, KZ_VAR("half", 0.5)))
		&& !kz_array_concatenate(&both, KZ_ARRAYS(out, out), 0, nullptr, err)
		&& !kz_array_get(out, host, sizeof(host), err);
	for (kz_array *array : {a, part, sum, out, both}) {
		kz_array_release(array);
	}
	return ok && host[0] == 4 && host[1] == 10;
}

int main()
{
	float host[16];
	for (int i = 0; i < 16; i++) {
		host[i] = static_cast<float>(i);
	}

	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = nullptr;
	kz_module *mod = nullptr;
	kz_array *a = nullptr;
	kz_kernel *doublify = nullptr;

	if (!layouts_agree(&err)
	    || kz_device_open(&dev, nullptr, &err)
	    || !arrays_work(dev, &err)
	    || kz_module_compile(&mod, dev, source, nullptr, &err)
	    || kz_module_kernel(&doublify, mod, "doublify", &err)
	    || kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(4, 4), host, sizeof(host), &err)
	    || kz_launch(doublify, kz_dim(1, 1, 1), kz_dim(4, 4, 1), nullptr, &err, KZ_ARGS(a))
	    || kz_array_get(a, host, sizeof(host), &err)) {
		kz_error_print(&err, stderr);
	} else {
		std::printf("%g %g ... %g\n", host[0], host[1], host[15]);
	}

	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_array_release(a);
	kz_module_release(mod);
	kz_device_close(dev);
	return failed;
}
