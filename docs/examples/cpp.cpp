// SPDX-License-Identifier: MIT
// Kudzu from C++; docs/cpp.md shows the parts.

/* part: saxpy */
#include <kudzu/kudzu.hpp>

#include <cstdio>
#include <vector>

static const char source[] = R"(
__global__ void saxpy(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		y[i] += a * x[i];
	}
}
)";

static void saxpy(const std::vector<float> &host)
{
	const int n = static_cast<int>(host.size());
	auto dev = kz::make(kz_device_open, nullptr);
	auto mod = kz::make(kz_module_compile, dev, source, nullptr);
	kz_kernel *kernel = kz::make(kz_module_kernel, mod, "saxpy");
	auto x = kz::from(dev, host);
	auto y = kz::make(kz_array_ones, dev, KZ_F32, KZ_SHAPE(n));
	kz::launch_1d(kernel, n, nullptr, 2.0f, x, y, n);
	kz::call(kz_array_print, y, stdout);
}
/* part: end */

/* part: struct-kernel */
struct shift {
	float by;
	int first;
};

static const char shift_source[] = R"(
struct shift { float by; int first; };
__global__ void move(float *a, shift s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= s.first && i < n) {
		a[i] += s.by;
	}
}
)";
/* part: end */

static void launch(kz_device *dev)
{
	auto mod = kz::make(kz_module_compile, dev, shift_source, nullptr);
	kz_kernel *move = kz::make(kz_module_kernel, mod, "move");
	const int n = 8;
	auto a = kz::make(kz_array_zeros, dev, KZ_F32, KZ_SHAPE(n));
	/* part: launch */
	auto stream = kz::make(kz_stream_create, dev, 0);
	kz::launch(move, KZ_DIM(1), KZ_DIM(32),
		kz::with(KZ_LAUNCH_OPTIONS_INIT, &kz_launch_options::stream, stream),
		a, shift{0.5f, 2}, n);
	kz::call(kz_launch_2d, move, 8, 1, nullptr, kz::args(a, shift{1, 4}, n));
	/* part: end */
	kz::call(kz_array_print, a, stdout);
}

static void compute(kz_device *dev)
{
	/* part: compute */
	const float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
	auto a = kz::from(dev, rows);
	auto b = kz::make(kz_eval, "2*a + 1", nullptr, KZ_VARS(a));
	auto c = kz::make(kz_apply, KZ_OP_MULTIPLY, nullptr, KZ_ARGS(a, b));
	kz::handle<kz_array> d, u, s, vh;
	kz::call([&](kz_error *err) { return kz_maximum(d.out(), c, 20, err); });
	kz::call(kz_svd, u.out(), s.out(), vh.out(), a, 0, nullptr);
	double largest = kz::get<double>(kz_reduce_get_as, KZ_REDUCE_MAX, d, nullptr);
	float corner = kz::get<float>(kz_array_item_as, b, KZ_AT(-1, -1));
	/* part: end */
	std::printf("%g %g %d\n", largest, corner, static_cast<int>(kz_array_count(s)));
}

/* part: mistakes */
static void show(void (*f)(kz_device *), kz_device *dev)
{
	try {
		f(dev);
	} catch (const kz::error &e) {
		std::printf("%s: %s\n", kz_status_name(e.status()), e.what());
	}
}

static void misspell(kz_device *dev)
{
	kz::make(kz_module_compile, dev, "__global__ void f(int *a)\n{\n\t*a = b;\n}\n", nullptr);
}

static void pass_a_double(kz_device *dev)
{
	auto mod = kz::make(kz_module_compile, dev, source, nullptr);
	kz_kernel *kernel = kz::make(kz_module_kernel, mod, "saxpy");
	kz::launch_1d(kernel, 1, nullptr, 0.1, nullptr, nullptr, 1);
}
/* part: end */

int main()
{
	try {
		saxpy({1, 2, 3, 4, 5, 6, 7, 8});
		auto dev = kz::make(kz_device_open, nullptr);
		launch(dev);
		compute(dev);
		show(misspell, dev);
		show(pass_a_double, dev);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what());
		return 1;
	}
	return 0;
}
