/* SPDX-License-Identifier: MIT */
/*
 * kudzu cpu: becomes another program, for which the CPU device's driver is the CUDA driver.
 *
 * `make` and `make install` put the driver under NVIDIA's names into a folder beside it,
 * kudzu-cpu/libcuda.so.1: as a link or, in a wheel, which cannot hold links, as a library that
 * needs the driver.  This command puts that folder in front of LD_LIBRARY_PATH, and its
 * libkudzu-audit.so, which redirects other ways to the same names, in front of LD_AUDIT.  It makes
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
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* The path comes first; what the variable said before stays after it. */
static bool cpu_put_in_front(const char *variable, const char *path)
{
	const char *old = secure_getenv(variable);
	char *paths;
	if (asprintf(&paths, "%s%s%s", path, old && *old ? ":" : "", old ? old : "") < 0) {
		return false;
	}
	bool ok = setenv(variable, paths, 1) == 0;
	free(paths);
	return ok;
}

/* Let programs find what is in the folder: libraries, and a compiler. */
static bool cpu_lead_to(const char *folder)
{
	char auditor[PATH_MAX + 64], programs[PATH_MAX + 64];
	snprintf(auditor, sizeof(auditor), "%s/libkudzu-audit.so", folder);
	snprintf(programs, sizeof(programs), "%s/bin", folder);
	return cpu_put_in_front("LD_LIBRARY_PATH", folder)
		&& (access(auditor, R_OK) != 0 || cpu_put_in_front("LD_AUDIT", auditor))
		&& (access(programs, X_OK) != 0 || cpu_put_in_front("PATH", programs));
}

/* Open the file that execvp will run; -1 if there is none. */
static int cpu_open_program(const char *program)
{
	const char *folders = strchr(program, '/') ? "" : secure_getenv("PATH");
	char path[PATH_MAX];
	for (const char *at = folders ? folders : ""; at;
		at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		int length = (int)strcspn(at, ":");
		const int size = snprintf(path, sizeof(path), "%.*s%s%s", length, at,
			length ? "/" : "", program);
		if (size < PATH_MAX && access(path, X_OK) == 0) {
			return open(path, O_RDONLY | O_CLOEXEC);
		}
	}
	return -1;
}

/* The first letter stands apart, so that this command does not have the word itself. */
static bool cpu_has_word(const char *data, size_t size, char first, const char *rest)
{
	const char *at = data + 1, *found;
	while ((found = memmem(at, (size_t)(data + size - at), rest, strlen(rest)))) {
		if (found[-1] == first) {
			return true;
		}
		at = found + 1;
	}
	return false;
}

/* Whether an executable has NVIDIA's runtime in it, which asks the driver for its functions; the
 * runtime of devices, which nvcc -rdc links, has the names of errors alone.  Ours, which may be
 * there instead, has a message (cudart/register.c). */
static bool cpu_has_runtime(const char *data, size_t size)
{
	return size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0
		&& cpu_has_word(data, size, 'c', "udaErrorCudartUnloading")
		&& cpu_has_word(data, size, 'c', "uGetProcAddress_v2")
		&& !cpu_has_word(data, size, 'a', " fat binary of the program cannot be loaded");
}

/* The runtime itself only says "invalid argument". */
static void cpu_note_runtime(const char *program, const char *folder)
{
	int file = cpu_open_program(program);
	struct stat state;
	if (file >= 0 && fstat(file, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 0) {
		size_t size = (size_t)state.st_size;
		char *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
		if (data != MAP_FAILED) {
			if (cpu_has_runtime(data, size)) {
				fprintf(stderr, "kudzu cpu: note: '%s' has NVIDIA's CUDA "
					"runtime in it, which works with NVIDIA's driver only; "
					"link it with nvcc --cudart shared, or with nvcc -L%s "
					"for Kudzu's runtime\n", program, folder);
			}
			munmap(data, size);
		}
	}
	if (file >= 0) {
		close(file);
	}
}

/* Take "--name VALUE" or "--name=VALUE" off the front, the value to *value; false after a message.
 * With `may_lack`, "--name" alone has the value "". */
static bool cpu_take_option(char ***program, const char *option, bool may_lack, const char **value)
{
	const size_t len = strlen(option);
	const char *word = **program;
	if (!word || strncmp(word, option, len) != 0 || (word[len] != '=' && word[len] != '\0')) {
		return true;
	}
	++*program;
	if (word[len] == '=') {
		*value = word + len + 1;
	} else if (may_lack) {
		*value = "";
		return true;
	} else if (**program) {
		*value = *(*program)++;
	}
	if (!*value || !**value) {
		fprintf(stderr, "kudzu cpu: %s needs a value\n", option);
		return false;
	}
	return true;
}

static bool cpu_set(const char *variable, const char *value)
{
	if (value && setenv(variable, value, 1) != 0) {
		fprintf(stderr, "kudzu cpu: out of memory\n");
		return false;
	}
	return true;
}

/* --- --check --- */

/* How many reports the processes of the program have counted in a file; -1: no check was active in
 * any of them. */
static int cpu_count_reports(int tally)
{
	char marks[4096];
	bool is_active = false;
	int count = 0;
	for (ssize_t got; (got = read(tally, marks, sizeof(marks))) > 0;) {
		is_active = true;
		for (ssize_t i = 0; i < got; i++) {
			count += marks[i] == '!';
		}
	}
	return is_active ? count : -1;
}

/* The exit status of --check, when the program has ended. */
static int cpu_check_status(int tally, int status)
{
	const int count = cpu_count_reports(tally);
	if (count < 0) {
		fprintf(stderr, "kudzu cpu: the check was not active: the program has not opened "
			"the CPU device\n");
		return CLI_INACTIVE;
	}
	if (count > 0) {
		fprintf(stderr, "kudzu cpu: the check has found %d bug%s\n", count,
			count == 1 ? "" : "s");
		return CLI_REPORTS;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int cpu_become(char **program)
{
	execvp(*program, program);
	int code = errno;
	fprintf(stderr, "kudzu cpu: cannot run '%s': %s\n", *program, strerror(code));
	return code == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}

/* Make the file in which all processes of the program count their reports, and tell them of it; -1
 * after a message. */
static int cpu_open_tally(char *path, size_t size)
{
	const char *folder = secure_getenv("TMPDIR");
	snprintf(path, size, "%s/kudzu-tally-XXXXXX", folder && *folder ? folder : "/tmp");
	const int tally = mkostemp(path, O_CLOEXEC);
	if (tally < 0) {
		fprintf(stderr, "kudzu cpu: cannot make '%s': %s\n", path, strerror(errno));
	} else if (!cpu_set("KUDZU_CHECK_TALLY", path)) {
		unlink(path);
		close(tally);
		return -1;
	}
	return tally;
}

/* Run the program as a child, and return what is known of it.  Signals of the terminal are the
 * child's. */
static int cpu_run_child(char **program, int tally)
{
	int status = 0;
	const pid_t child = fork();
	if (child == 0) {
		_exit(cpu_become(program));
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		fprintf(stderr, "kudzu cpu: cannot run '%s': %s\n", *program, strerror(errno));
		return CLI_CANNOT_RUN;
	}
	if (WIFEXITED(status) && (WEXITSTATUS(status) == CLI_NOT_FOUND
		|| WEXITSTATUS(status) == CLI_CANNOT_RUN)) {
		return WEXITSTATUS(status);
	}
	return cpu_check_status(tally, status);
}

static int cpu_run_checked(char **program, const char *file)
{
	char path[PATH_MAX];
	if (file && unlink(file) != 0 && errno != ENOENT) {
		fprintf(stderr, "kudzu cpu: cannot write '%s': %s\n", file, strerror(errno));
		return CLI_FAILED;
	}
	const int tally = cpu_set("KUDZU_CHECK_REPORT", file) ? cpu_open_tally(path, sizeof(path))
		: -1;
	if (tally < 0) {
		return CLI_FAILED;
	}
	const int status = cpu_run_child(program, tally);
	unlink(path);
	close(tally);
	return status;
}

int cpu_main(int argc, char **argv)
{
	char **program = argv + 1, **before;
	const char *devices = NULL, *checks = NULL, *file = NULL;
	(void)argc;
	do {
		before = program;
		if (!cpu_take_option(&program, "--devices", false, &devices)
		    || !cpu_take_option(&program, "--check", true, &checks)
		    || !cpu_take_option(&program, "--report", false, &file)) {
			return CLI_USAGE;
		}
	} while (program != before);
	if (!cpu_set("KUDZU_CPU_DEVICES", devices)
	    || !cpu_set("KUDZU_CHECK", checks && !*checks ? "memory" : checks)) {
		return CLI_FAILED;
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
	if (!cpu_lead_to(folder)) {
		fprintf(stderr, "kudzu cpu: out of memory\n");
		return CLI_FAILED;
	}
	cpu_note_runtime(*program, folder);
	return checks ? cpu_run_checked(program, file) : cpu_become(program);
}
