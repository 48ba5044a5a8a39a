/* SPDX-License-Identifier: MIT */
/*
 * kudzu cpu: becomes another program, for which the CPU device's driver is the CUDA driver.
 *
 * The driver lies under NVIDIA's names in a folder of its own, kudzu-cpu/libcuda.so.1 beside
 * libkudzu.so, put there by `make` and `make install`; so all there is to do is to put that folder
 * in front of LD_LIBRARY_PATH.  Nothing is made at run time, and nothing has to be removed.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <kudzu/kudzu.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "kudzu-cpu"
#define DRIVER FOLDER "/libcuda.so.1"

/* The absolute path of what lies beside a file, freed with free; NULL if it is not there. */
static char *find_beside(const char *file, const char *name)
{
	char *real = realpath(file, NULL);
	char *found = NULL;
	if (real) {
		*strrchr(real, '/') = '\0';
		size_t size = strlen(real) + 1 + strlen(name) + 1;
		found = malloc(size);
		if (found) {
			snprintf(found, size, "%s/%s", real, name);
		}
		if (found && access(found, R_OK) != 0) {
			free(found);
			found = NULL;
		}
		free(real);
	}
	return found;
}

/* The folder with the driver under NVIDIA's name: where KUDZU_CPU_DRIVER says, else beside the
 * library. */
static char *find_folder(void)
{
	const char *chosen = secure_getenv("KUDZU_CPU_DRIVER");
	const char *beside = chosen;
	Dl_info info;
	if ((!chosen || !*chosen) && dladdr((void *)kz_version_string, &info)) {
		beside = info.dli_fname;
	}
	char *driver = beside ? find_beside(beside, DRIVER) : NULL;
	if (driver && strpbrk(driver, ":;")) {
		fprintf(stderr, "kudzu cpu: LD_LIBRARY_PATH cannot name '%s': its marks part folders\n",
			driver);
		free(driver);
		return NULL;
	}
	if (driver) {
		*strrchr(driver, '/') = '\0';
	} else {
		fprintf(stderr, "kudzu cpu: there is no %s beside '%s'; was Kudzu built without"
			" the CPU device?\n", DRIVER, beside ? beside : "the library");
	}
	return driver;
}

/* The folder comes first, what the variable said before stays behind it. */
static bool put_in_front(const char *folder)
{
	const char *old = secure_getenv("LD_LIBRARY_PATH");
	size_t size = strlen(folder) + 1 + (old ? strlen(old) : 0) + 1;
	char *path = malloc(size);
	if (!path) {
		return false;
	}
	snprintf(path, size, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "");
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
	char *folder = find_folder();
	if (!folder) {
		return CLI_FAILED;
	}
	bool ok = put_in_front(folder);
	free(folder);
	if (!ok) {
		fprintf(stderr, "kudzu cpu: out of memory\n");
		return CLI_FAILED;
	}
	execvp(*program, program);
	int code = errno;
	fprintf(stderr, "kudzu cpu: cannot run '%s': %s\n", *program, strerror(code));
	return code == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}
