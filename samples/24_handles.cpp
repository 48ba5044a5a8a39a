// SPDX-License-Identifier: MIT
//
// Kudzu from C++17: <kudzu/kudzu.hpp> has handles that release themselves and turns failures into
// exceptions; all else is the C API.  A class owns a device, a module and two arrays, so it needs
// no destructor, and a constructor that throws half-way leaks nothing.  A struct goes to a kernel
// by value.  Balls fall for a second, with a formula to compare with, and the error of a kernel
// that does not compile is caught.

#include <kudzu/kudzu.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

// The kernel's struct, with the same members.
struct step {
	float seconds;
	float gravity;
};

static const char source[] = R"(
struct step { float seconds, gravity; };

__global__ void fall(float *height, float *speed, step s, int steps, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		for (int k = 0; k < steps; k++) {
			speed[i] += s.gravity * s.seconds;
			height[i] -= speed[i] * s.seconds;
		}
	}
}
)";

class balls {
public:
	explicit balls(const std::vector<float> &heights)
		: dev(kz::make(kz_device_open, nullptr)),
		  mod(kz::make(kz_module_compile, dev, source, nullptr)),
		  fall(kz::make(kz_module_kernel, mod, "fall")),
		  height(kz::from(dev, heights)),
		  speed(kz::make(kz_array_zeros_like, height, 0))
	{
		std::fprintf(stderr, "on %s\n", kz_device_name(dev));
	}

	void advance(const step &s, int steps)
	{
		const int n = static_cast<int>(kz_array_count(height));
		kz::launch_1d(fall, n, nullptr, height, speed, s, steps, n);
	}

	// An operation of the library on the array: the macros of C take handles, too.
	double highest() const
	{
		auto above = kz::make(kz_eval, "maximum(height, 0)", nullptr, KZ_VARS(height));
		return kz::get<double>(kz_reduce_get_as, KZ_REDUCE_MAX, above, nullptr);
	}

	std::vector<float> heights() const
	{
		std::vector<float> host(static_cast<size_t>(kz_array_count(height)));
		kz::call(kz_array_get, height, host.data(), kz_array_size(height));
		return host;
	}

	// Compile another kernel, with a name for the compiler's messages.
	void compile(const char *text) const
	{
		kz::make(kz_module_compile, dev, text,
			kz::with(KZ_COMPILE_OPTIONS_INIT, &kz_compile_options::name, "bounce.cu"));
	}

private:
	kz::handle<kz_device> dev; // released last
	kz::handle<kz_module> mod;
	kz_kernel *fall; // of the module
	kz::handle<kz_array> height, speed;
};

int main()
{
	try {
		std::vector<float> start(1000);
		for (size_t i = 0; i < start.size(); i++) {
			start[i] = 10 + 0.01f * static_cast<float>(i);
		}
		balls all(start);
		const step s = {0.001f, 9.81f};
		const int steps = 1000;
		all.advance(s, steps);

		// k steps fall by g dt^2 (1 + 2 + ... + k).
		const double expected = 9.81 * 1e-6 * steps * (steps + 1) / 2;
		double worst = 0;
		const std::vector<float> now = all.heights();
		for (size_t i = 0; i < now.size(); i++) {
			worst = std::fmax(worst, std::fabs(start[i] - now[i] - expected));
		}
		std::printf("after 1 s they are %.2f m lower; by the formula %.2f m%s\n",
			start[0] - now[0], expected, worst < 1e-3 ? "" : ", which is not the same");
		std::printf("the highest ball is at %.2f m\n", all.highest());

		all.compile("__global__ void bounce(float *height)\n"
			"{\n\t*height = -hieght[0];\n}\n");
	} catch (const kz::error &e) {
		std::printf("%s\n", e.what());
		return e.status() == KZ_COMPILE ? 0 : 1;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what());
		return 1;
	}
	return 0;
}
