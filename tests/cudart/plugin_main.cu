// SPDX-License-Identifier: MIT
// usage: plugin_main PLUGIN...: opens, uses and closes plugin.cu's libraries, and opens them again.
#include <cstdio>
#include <cuda_runtime.h>
#include <dlfcn.h>

static __managed__ int total = 1;

__global__ void raise_total()
{
	total++;
}

static bool use(const char *path, bool stays_open)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		printf("%s\n", dlerror());
		return false;
	}
	auto raise = (int (*)(int))dlsym(plugin, "plugin_raise");
	bool ok = raise(5) == 105 && raise(7) == 112;
	return (stays_open || dlclose(plugin) == 0) && ok;
}

int main(int count, char **paths)
{
	bool ok = count > 1;
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i < count; i++) {
			ok = ok && use(paths[i], round == 2);
		}
		raise_total<<<1, 1>>>();
		ok = ok && cudaDeviceSynchronize() == cudaSuccess && total == round + 2;
	}
	puts(ok ? "PASSED" : "FAILED");
	return !ok;
}
