/* SPDX-License-Identifier: MIT */
/*
 * jitify's worker of bench_peers; peers.h has the orders that it obeys.
 *
 *	peers_jitify cpu|cuda FOLDER      FOLDER is for the cache of compiled kernels
 *
 * A source is a Program with a ProgramCache, as the manual of jitify2 has it.  That keeps cubins,
 * which the CPU device refuses: there only launches are measured, of PTX that is not linked.
 * jitify copies nothing.  What it does not have is answered by "none".
 */
#include "peers.h"

#include <jitify2.hpp>

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

namespace {

/* What a program that uses jitify calls of the driver itself. */
struct Driver {
	CUresult (*init)(unsigned) = nullptr;
	CUresult (*retain)(CUcontext *, CUdevice) = nullptr;
	CUresult (*set_current)(CUcontext) = nullptr;
	CUresult (*synchronize)() = nullptr;
	CUresult (*allocate)(CUdeviceptr *, size_t) = nullptr;
	CUresult (*htod)(CUdeviceptr, const void *, size_t) = nullptr;
	CUresult (*dtoh)(void *, CUdeviceptr, size_t) = nullptr;

	bool open()
	{
		void *object = dlopen("libcuda.so.1", RTLD_NOW);
		auto find = [object](auto &function, const char *name) {
			function = reinterpret_cast<std::decay_t<decltype(function)>>(
				dlsym(object, name));
			return function != nullptr;
		};
		CUcontext context = nullptr;
		return object && find(init, "cuInit")
			&& find(retain, "cuDevicePrimaryCtxRetain")
			&& find(set_current, "cuCtxSetCurrent")
			&& find(synchronize, "cuCtxSynchronize")
			&& find(allocate, "cuMemAlloc_v2") && find(htod, "cuMemcpyHtoD_v2")
			&& find(dtoh, "cuMemcpyDtoH_v2") && !init(0) && !retain(&context, 0)
			&& !set_current(context);
	}
};

class Worker {
public:
	Worker(bool is_gpu, std::string folder) : is_gpu_(is_gpu), folder_(std::move(folder)) {}

	bool open()
	{
		const float one = 1;
		return driver_.open()
			&& !driver_.allocate(&numbers_, PEERS_THREADS * sizeof(int))
			&& !driver_.allocate(&x_, sizeof(float))
			&& !driver_.allocate(&y_, sizeof(float))
			&& !driver_.htod(x_, &one, sizeof(one));
	}

	bool compiles() const { return is_gpu_; }

	/* The seconds of one call; throws what jitify throws, and a message for a wrong result. */
	double compile(int number)
	{
		std::string source(sizeof(PEERS_NUMBERED) + 16, '\0');
		source.resize(
			snprintf(source.data(), source.size(), PEERS_NUMBERED, number));
		int got[PEERS_THREADS] = {0};
		const double start = now();
		cache("numbered" + std::to_string(number), source)
			.get_kernel("numbered")
			->configure(1, PEERS_THREADS)
			->launch(numbers_, int(PEERS_THREADS));
		check(driver_.synchronize());
		const double seconds = now() - start;
		check(driver_.dtoh(got, numbers_, sizeof(got)));
		check(got[PEERS_THREADS - 1] != number + PEERS_THREADS - 1);
		return seconds;
	}

	double launch(bool six, int calls)
	{
		const float zero = 0;
		float got = 0;
		jitify2::Kernel kernel = launched(six ? "six" : "one");
		check(driver_.htod(y_, &zero, sizeof(zero)));
		check(driver_.synchronize());
		const double start = now();
		for (int i = 0; i < calls; i++) {
			if (six) {
				kernel->configure(1, 1)->launch(2.0f, x_, y_, 1, 1LL, 0.5);
			} else {
				kernel->configure(1, 1)->launch(y_);
			}
		}
		const double seconds = (now() - start) / calls;
		check(driver_.dtoh(&got, y_, sizeof(got)));
		check(got != float(calls));
		return seconds;
	}

private:
	using Cache = jitify2::ProgramCache<>;

	static double now()
	{
		return std::chrono::duration<double>(
			std::chrono::steady_clock::now().time_since_epoch()).count();
	}

	static void check(bool wrong)
	{
		if (wrong) {
			throw std::runtime_error("wrong result");
		}
	}

	/* A program keeps a cache for each of its sources. */
	Cache &cache(const std::string &name, const std::string &source)
	{
		std::unique_ptr<Cache> &found = caches_[name];
		if (!found) {
			found = std::make_unique<Cache>(100,
				*jitify2::Program(name, source)->preprocess(), nullptr, folder_);
		}
		return *found;
	}

	jitify2::Kernel launched(const std::string &name)
	{
		if (is_gpu_) {
			return cache("launched", PEERS_LAUNCHED).get_kernel(name);
		}
		jitify2::Kernel &found = kernels_[name];
		if (!found) {
			auto compiled = jitify2::Program("launched", PEERS_LAUNCHED)
				->preprocess({"-arch=compute_89"})->compile(name);
			found = jitify2::LoadedProgram::load(compiled->ptx(),
				compiled->lowered_name_map())->get_kernel(name);
		}
		return found;
	}

	bool is_gpu_;
	std::string folder_;
	Driver driver_;
	CUdeviceptr numbers_ = 0, x_ = 0, y_ = 0;
	std::map<std::string, std::unique_ptr<Cache>> caches_;
	std::map<std::string, jitify2::Kernel> kernels_;
};

void obey(Worker &worker, const char *line)
{
	int first, calls;
	if (worker.compiles() && sscanf(line, "compile %d", &first) == 1) {
		printf("ok %.9g\n", worker.compile(first));
	} else if (sscanf(line, "launch %d %d", &first, &calls) == 2) {
		printf("ok %.9g\n", worker.launch(first == 6, calls));
	} else {
		puts("none");
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: peers_jitify cpu|cuda FOLDER\n");
		return 2;
	}
	Worker worker(std::string(argv[1]) == "cuda", argv[2]);
	char line[80];
	const bool opened = worker.open();
	puts(opened ? "ready jitify2" : "absent not measured: no driver");
	fflush(stdout);
	while (opened && fgets(line, sizeof(line), stdin)) {
		try {
			obey(worker, line);
		} catch (const std::exception &error) {
			const std::string text = error.what();
			printf("failed %s\n", text.substr(0, text.find('\n')).c_str());
		}
		fflush(stdout);
	}
	return 0;
}
