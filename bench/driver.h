/* SPDX-License-Identifier: MIT */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

/* The CUDA driver by itself: the functions that are measured beside the library. */
#include "bench.h"

#include <dlfcn.h>

struct driver {
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*set_current)(void *context);
	int (*load)(void **module, const void *image);
	int (*find)(void **function, void *module, const char *name);
	int (*unload)(void *module);
	int (*launch)(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		unsigned bz, unsigned shared, void *stream, void **params, void **extra);
	void *context; /* of device 0; its reference is to be released */
};

/* The library has loaded it already.  ISO C has no cast from an object to a function pointer. */
static inline int driver_find(struct driver *driver)
{
	const char *path = getenv("KUDZU_CUDA_DRIVER");
	void *object = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (!object) {
		return -1;
	}
	*(void **)&driver->retain = dlsym(object, "cuDevicePrimaryCtxRetain");
	*(void **)&driver->release = dlsym(object, "cuDevicePrimaryCtxRelease_v2");
	*(void **)&driver->set_current = dlsym(object, "cuCtxSetCurrent");
	*(void **)&driver->load = dlsym(object, "cuModuleLoadData");
	*(void **)&driver->find = dlsym(object, "cuModuleGetFunction");
	*(void **)&driver->unload = dlsym(object, "cuModuleUnload");
	*(void **)&driver->launch = dlsym(object, "cuLaunchKernel");
	return driver->retain && driver->release && driver->set_current && driver->load
		&& driver->find && driver->unload && driver->launch
		? driver->retain(&driver->context, 0) : -1;
}

#endif
