/* SPDX-License-Identifier: MIT */
/*
 * The table of the driver's functions is filled when the first function of the runtime is called,
 * as a program of the driver API would do it.  A function that the driver lacks answers
 * CUDA_ERROR_NOT_SUPPORTED.
 */
#include "base/common.h"

#include "cudart/driver.h"

#include "base/dl.h"
#include "base/log_line.h"

#include <pthread.h>
#include <string.h>

struct driver driver;

static pthread_once_t driver_once = PTHREAD_ONCE_INIT;
static cudaError_t driver_state;

/* Stands for any function that the driver lacks, whatever its arguments are. */
static CUresult driver_lacks(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static const struct dl_row driver_rows[] = {
#define X(name, parameters) {#name, offsetof(struct driver, name), false},
#include "cudart/driver.def"
#undef X
};

/* A child of fork cannot use a driver that its parent has initialized. */
static void driver_on_fork(void)
{
	driver_state = driver_state ? driver_state : cudaErrorInitializationError;
}

static void driver_open(void)
{
	char why[256];
	void *object = dl_open("libcuda.so.1", why, sizeof(why));
	if (!object) {
		log_line("cudart", "no driver: %s", why);
		driver_state = cudaErrorInsufficientDriver;
		return;
	}
	dl_fill(object, driver_rows, countof(driver_rows), &driver);
	for (size_t i = 0; i < countof(driver_rows); i++) {
		void *slot = (char *)&driver + driver_rows[i].slot;
		static void *const none;
		if (memcmp(slot, &none, sizeof(none)) == 0) {
			CUresult (*lacks)(void) = driver_lacks;
			log_line("cudart", "the driver has no %s", driver_rows[i].symbol);
			memcpy(slot, &lacks, sizeof(lacks));
		}
	}
	driver_state = driver_error(driver.cuInit(0));
	pthread_atfork(NULL, NULL, driver_on_fork);
}

cudaError_t driver_load(void)
{
	pthread_once(&driver_once, driver_open);
	return driver_state;
}

cudaError_t driver_error(CUresult result)
{
	return (cudaError_t)result;
}
