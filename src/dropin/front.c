/* SPDX-License-Identifier: MIT */
/*
 * How a library in front finds NVIDIA's: that is loaded already, for the library in front needs it.
 * libnvrtc.so.13 needs kudzu-real-libnvrtc.so.13, so the name follows from our own.
 */
#include "base/common.h"

#include "dropin/front.h"

#include "base/alloc.h"
#include "base/log_line.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t front_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool front_take(const char *part, void *library, const char *name,
	const struct dl_row *rows, size_t count, void *table)
{
	const char *missing = dl_fill(library, rows, count, table);
	if (missing) {
		log_line(part, "%s has no %s", name, missing);
	}
	return !missing;
}

bool front_fill(const char *part, const struct dl_row *rows, size_t count, void *table)
{
	static const char here;
	char name[64];
	char *path = dl_path(&here);
	const char *base = path ? strrchr(path, '/') : NULL;
	snprintf(name, sizeof(name), "kudzu-real-%s", base ? base + 1 : "");
	mem_free(path);
	void *real = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	if (!real) {
		log_line(part, "NVIDIA's library is not loaded: %s", dlerror());
	}
	return real && front_take(part, real, "NVIDIA's library", rows, count, table);
}

bool front_fill_driver(const char *part, const struct dl_row *rows, size_t count, void *table)
{
	char why[256];
	void *driver = dl_open("libcuda.so.1", why, sizeof(why));
	if (!driver) {
		log_line(part, "the driver cannot be loaded: %s", why);
	}
	return driver && front_take(part, driver, "the driver", rows, count, table);
}

void front_lock(void)
{
	pthread_mutex_lock(&front_mutex);
}

void front_unlock(void)
{
	pthread_mutex_unlock(&front_mutex);
}

void front_watch_forks(void)
{
	pthread_atfork(front_lock, front_unlock, front_unlock);
}
