/* SPDX-License-Identifier: MIT */
/* The devices to test and the stub driver; see support.h. */
#include "base/common.h"

#include "support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STUB KZ_TEST_BUILD "/libcuda-stub.so"
#define CPU_DRIVER KZ_TEST_BUILD "/libkudzu-cpu.so"

static char list[64];
static const char *names[4];
static int count = -1;

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Device files, of Linux and of its subsystem on Windows: asking the driver would start it. */
static void find_devices(char *out, size_t size)
{
	const char *chosen = getenv("KUDZU_TEST_DEVICES");
	const char *driver = getenv("KUDZU_CPU_DRIVER");
	if (chosen) {
		snprintf(out, size, "%s", chosen);
		return;
	}
	bool cpu = exists(driver && *driver ? driver : CPU_DRIVER);
	bool cuda = exists("/dev/nvidiactl") || exists("/dev/dxg");
	snprintf(out, size, "%s%s%s", cpu ? "cpu" : "", cpu && cuda ? "," : "", cuda ? "cuda" : "");
}

int support_device_count(void)
{
	if (count >= 0) {
		return count;
	}
	char *rest;
	count = 0;
	find_devices(list, sizeof(list));
	fprintf(stderr, "devices to test: %s\n", list[0] ? list : "none but the stub");
	for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if ((size_t)count < countof(names)) {
			names[count++] = name;
		}
	}
	return count;
}

const char *support_device_name(int index)
{
	ck_assert_int_lt(index, support_device_count());
	return names[index];
}

void support_use_real(void)
{
	const char *driver = getenv("KUDZU_CUDA_DRIVER");
	if (driver && strcmp(driver, STUB) == 0) {
		unsetenv("KUDZU_CUDA_DRIVER");
	}
}

void support_select(int index)
{
	setenv("KUDZU_DEVICE", support_device_name(index), 1);
}

static void *stub_symbol(const char *name)
{
	static void *object;
	if (!object) {
		object = dlopen(STUB, RTLD_NOW | RTLD_LOCAL);
		ck_assert_msg(object != NULL, "%s", dlerror());
	}
	void *symbol = dlsym(object, name);
	ck_assert_ptr_nonnull(symbol);
	return symbol;
}

void support_stub(const char *script)
{
	stub_script_fn *run = (stub_script_fn *)stub_symbol("stub_script");
	setenv("KUDZU_CUDA_DRIVER", STUB, 1);
	unsetenv("KUDZU_CPU_AS_GPU"); /* cuda:0 is the stub's */
	run(script);
}

/* Looked up once: a forked child must not call the loader, whose lock a thread of its parent may
 * have had. */
long support_stub_calls(const char *name)
{
	static stub_calls_fn *calls;
	if (!calls) {
		calls = (stub_calls_fn *)stub_symbol("stub_calls");
	}
	return calls(name);
}

long support_stub_live(enum stub_kind kind)
{
	stub_live_fn *live = (stub_live_fn *)stub_symbol("stub_live");
	return live((int)kind);
}

long support_stub_work(const char *name, void *stream)
{
	stub_work_fn *work = (stub_work_fn *)stub_symbol("stub_work");
	return work(name, stream);
}

kz_array *support_array_of(kz_device *dev, kz_dtype dtype, const double *values, int64_t size)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *wide, *array;
	ok(kz_array_from(&wide, dev, KZ_F64, KZ_SHAPE(size), values, 8 * size, &err));
	ok(kz_array_astype(&array, wide, dtype, &err));
	kz_array_release(wide);
	return array;
}

void *support_read(kz_array *array, kz_dtype dtype)
{
	kz_error err = KZ_ERROR_INIT;
	int64_t size = kz_array_count(array) * kz_dtype_size(dtype);
	void *host = malloc((size_t)size + 1);
	kz_array *wide;
	ok(kz_array_astype(&wide, array, dtype, &err));
	ok(kz_array_get(wide, host, size, &err));
	kz_array_release(wide);
	return host;
}
