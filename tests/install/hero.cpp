// SPDX-License-Identifier: MIT
//
// The doublify program in C++17: the public macros work there too.

#include <kudzu/kudzu.h>

#include <cstdio>

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
