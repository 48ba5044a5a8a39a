/* SPDX-License-Identifier: MIT */
/*
 * kudzu cpu: becomes another program, for which the CPU device's driver is the CUDA driver.
 *
 * `make` and `make install` put the driver under NVIDIA's names into a folder beside it,
 * kudzu-cpu/libcuda.so.1: as a link or, in a wheel, which cannot hold links, as a library that
 * needs the driver.  This command puts that folder in front of LD_LIBRARY_PATH, and makes
 * nothing that would have to be removed.  It opens the CPU device to learn which driver the
 * library takes, so there is one rule for where that is looked for, and for whose files are
 * trusted (src/lib/cuda/drv.c).
 */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/report.h"

#include <kudzu/kudzu.h>

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SONAME "libkudzu-cpu.so"
#define FOLDER "kudzu-cpu"

/* The driver that the library loads, and its path, freed with free; NULL after a message. */
static char *cpu_driver_path(void **driver)
{
	kz_device *dev = NULL;
	kz_error err = KZ_ERROR_INIT;
	if (kz_device_open(&dev, "cpu", &err)) {
		report_error(&err);
		kz_error_clear(&err);
		return NULL;
	}
	/* The library has loaded it; this finds it by its soname. */
	*driver = dlopen(SONAME, RTLD_NOLOAD | RTLD_LAZY);
	struct link_map *map = NULL;
	char *path = *driver && dlinfo(*driver, RTLD_DI_LINKMAP, &map) == 0
		? realpath(map->l_name, NULL) : NULL;
	if (!path) {
		fprintf(stderr, "kudzu cpu: the CPU device's driver is not " SONAME "\n");
	}
	kz_device_close(dev);
	return path;
}

/* Whether a file is the driver, by a link or as a library that needs it. */
static bool cpu_is_driver(const char *path, void *driver)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	return library && dlsym(library, "cuInit") == dlsym(driver, "cuInit");
}

/* The folder beside the driver that has it under NVIDIA's name; false after a message. */
static bool cpu_find_folder(char *out, size_t size)
{
	char path[PATH_MAX + 32];
	void *loaded;
	char *driver = cpu_driver_path(&loaded);
	if (!driver) {
		return false;
	}
	snprintf(out, size, "%.*s/" FOLDER, (int)(strrchr(driver, '/') - driver), driver);
	snprintf(path, sizeof(path), "%s/libcuda.so.1", out);
	const char *wrong = !cpu_is_driver(path, loaded) ? "is not the driver beside it"
		: strpbrk(out, ":;") ?
			"cannot be in LD_LIBRARY_PATH, where ':' and ';' separate folders" : NULL;
	if (wrong) {
		fprintf(stderr, "kudzu cpu: '%s' %s\n", path, wrong);
	}
	free(driver);
	return !wrong;
}

/* The folder comes first; what the variable said before stays after it. */
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

/* Open the file that execvp will run; -1 if there is none. */
static int cpu_open_program(const char *program)
{
	const char *folders = strchr(program, '/') ? "" : secure_getenv("PATH");
	char path[PATH_MAX];
	for (const char *at = folders ? folders : ""; at;
		at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		int length = (int)strcspn(at, ":");
		snprintf(path, sizeof(path), "%.*s%s%s", length, at, length ? "/" : "", program);
		if (access(path, X_OK) == 0) {
			return open(path, O_RDONLY | O_CLOEXEC);
		}
	}
	return -1;
}

/* Whether an executable names the runtime's library, or has the runtime in it. */
static bool cpu_has_runtime(const char *data, size_t size)
{
	/* The first letters stand apart, so that this command does not have the words itself. */
	static const struct {
		char first;
		const char *rest;
	} words[] = {{'l', "ibcudart.so."}, {'c', "udaErrorCudartUnloading"}};
	if (size < SELFMAG || memcmp(data, ELFMAG, SELFMAG) != 0) {
		return false;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *at = data + 1, *found;
		while ((found = memmem(at, (size_t)(data + size - at), words[i].rest,
			strlen(words[i].rest)))) {
			if (found[-1] == words[i].first) {
				return true;
			}
			at = found + 1;
		}
	}
	return false;
}

/* The runtime itself only says "invalid argument". */
static void cpu_note_runtime(const char *program)
{
	int file = cpu_open_program(program);
	struct stat state;
	if (file >= 0 && fstat(file, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 0) {
		size_t size = (size_t)state.st_size;
		char *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
		if (data != MAP_FAILED) {
			if (cpu_has_runtime(data, size)) {
				fprintf(stderr, "kudzu cpu: note: '%s' uses the CUDA runtime, "
					"which needs a GPU and NVIDIA's driver; programs of the "
					"driver API run here\n", program);
			}
			munmap(data, size);
		}
	}
	if (file >= 0) {
		close(file);
	}
}

/* Take "--devices N" or "--devices=N" off the front; false after a message. */
static bool cpu_read_devices(char ***program)
{
	static const char option[] = "--devices";
	const size_t len = strlen(option);
	const char *word = **program, *count = NULL;
	if (!word || strncmp(word, option, len) != 0 || (word[len] != '=' && word[len] != '\0')) {
		return true;
	}
	++*program;
	if (word[len] == '=') {
		count = word + len + 1;
	} else if (**program) {
		count = *(*program)++;
	}
	if (!count || !*count) {
		fprintf(stderr, "kudzu cpu: --devices needs a number\n");
		return false;
	}
	if (setenv("KUDZU_CPU_DEVICES", count, 1) != 0) {
		fprintf(stderr, "kudzu cpu: out of memory\n");
		return false;
	}
	return true;
}

int cpu_main(int argc, char **argv)
{
	char **program = argv + 1;
	(void)argc;
	if (!cpu_read_devices(&program)) {
		return CLI_USAGE;
	}
	if (*program && strcmp(*program, "--") == 0) {
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
	cpu_note_runtime(*program);
	execvp(*program, program);
	int code = errno;
	fprintf(stderr, "kudzu cpu: cannot run '%s': %s\n", *program, strerror(code));
	return code == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}
