/* SPDX-License-Identifier: MIT */
/*
 * kudzu cpu: becomes another program, for which the CPU device's driver is the CUDA driver.
 *
 * `make` and `make install` put the driver under NVIDIA's names into a folder beside it,
 * kudzu-cpu/libcuda.so.1.  This command puts that folder in front of LD_LIBRARY_PATH, and makes
 * nothing that would have to be removed.  It opens the CPU device to learn which driver the library
 * takes, so there is one rule for where that is looked for, and for whose files are trusted
 * (src/drv/drv.c).
 */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/report.h"

#include <kudzu/kudzu.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SONAME "libkudzu-cpu.so"
#define FOLDER "kudzu-cpu"

/* The path of the driver that the library loads, freed with free; NULL after a message. */
static char *cpu_driver_path(void)
{
	kz_device *dev = NULL;
	kz_error err = KZ_ERROR_INIT;
	if (kz_device_open(&dev, "cpu", &err)) {
		report_error(&err);
		kz_error_clear(&err);
		return NULL;
	}
	/* The library has loaded it; this finds it by its soname. */
	void *driver = dlopen(SONAME, RTLD_NOLOAD | RTLD_LAZY);
	struct link_map *map = NULL;
	char *path = driver && dlinfo(driver, RTLD_DI_LINKMAP, &map) == 0 ? realpath(map->l_name, NULL)
		: NULL;
	if (!path) {
		fprintf(stderr, "kudzu cpu: the CPU device's driver is not " SONAME "\n");
	}
	kz_device_close(dev);
	return path;
}

/* The folder beside the driver that has it under NVIDIA's name; false after a message. */
static bool cpu_find_folder(char *out, size_t size)
{
	char link[PATH_MAX + 32];
	char *driver = cpu_driver_path();
	if (!driver) {
		return false;
	}
	snprintf(out, size, "%.*s/" FOLDER, (int)(strrchr(driver, '/') - driver), driver);
	snprintf(link, sizeof(link), "%s/libcuda.so.1", out);
	char *real = realpath(link, NULL);
	const char *wrong = !real || strcmp(real, driver) != 0 ? "is not a link to the driver beside it"
		: strpbrk(out, ":;") ? "cannot be in LD_LIBRARY_PATH: its marks part folders" : NULL;
	if (wrong) {
		fprintf(stderr, "kudzu cpu: '%s' %s\n", link, wrong);
	}
	free(real);
	free(driver);
	return !wrong;
}

/* The folder comes first; what the variable said before stays behind it. */
static bool cpu_put_in_front(const char *folder)
{
	const char *old = secure_getenv("LD_LIBRARY_PATH");
	char *path;
	if (asprintf(&path, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "") < 0) {
		return false;
	}
	bool ok = setenv("LD_LIBRARY_PATH", path, 1) == 0;
	free(path);
	return ok;
}

int cpu_main(int argc, char **argv)
{
	char **program = argv + 1;
	if (argc > 1 && strcmp(*program, "--") == 0) {
		program++;
	}
	if (!*program) {
		fprintf(stderr, "kudzu cpu: no program given; see `kudzu help cpu`\n");
		return CLI_USAGE;
	}
	char folder[PATH_MAX + 16];
	if (!cpu_find_folder(folder, sizeof(folder))) {
		return CLI_FAILED;
	}
	if (!cpu_put_in_front(folder)) {
		fprintf(stderr, "kudzu cpu: out of memory\n");
		return CLI_FAILED;
	}
	execvp(*program, program);
	int code = errno;
	fprintf(stderr, "kudzu cpu: cannot run '%s': %s\n", *program, strerror(code));
	return code == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}
