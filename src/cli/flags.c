/* SPDX-License-Identifier: MIT */
/*
 * kudzu --cflags --libs: how to compile and link with the library that this command runs with.
 * Both follow from where the library lies, so they are right in a Python environment, in a folder
 * that was moved, and in the build folder, too.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <kudzu/kudzu.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the library, freed with free; NULL if it is not known. */
static char *flags_library_folder(void)
{
	void *function = dlsym(RTLD_DEFAULT, "kz_version_string");
	Dl_info library;
	char *path = function && dladdr(function, &library) ? realpath(library.dli_fname, NULL)
		: NULL;
	if (path) {
		*strrchr(path, '/') = '\0';
	}
	return path;
}

/* The folder of the headers, freed with free; NULL if they are not there. */
static char *flags_header_folder(const char *libraries)
{
	/* lib, or lib/x86_64-linux-gnu and the build folder. */
	static const char *const places[] = {"../include", "../../include"};
	char path[PATH_MAX + 64];
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s/%s/kudzu/kudzu.h", libraries, places[i]);
		if (access(path, R_OK) == 0) {
			snprintf(path, sizeof(path), "%s/%s", libraries, places[i]);
			return realpath(path, NULL);
		}
	}
	return NULL;
}

int flags_print(bool compile, bool link)
{
	char *libraries = flags_library_folder();
	char *headers = libraries ? flags_header_folder(libraries) : NULL;
	int status = CLI_OK;
	if (!libraries) {
		fprintf(stderr, "kudzu: the folder of libkudzu is not known\n");
		status = CLI_FAILED;
	} else if (compile && !headers) {
		fprintf(stderr, "kudzu: kudzu/kudzu.h is neither in '%s/../include' nor in "
			"'%s/../../include'\n", libraries, libraries);
		status = CLI_FAILED;
	} else {
		if (compile) {
			printf("-I%s%s", headers, link ? " " : "\n");
		}
		if (link) {
			printf("-L%s -Wl,-rpath,%s -lkudzu\n", libraries, libraries);
		}
	}
	free(headers);
	free(libraries);
	return status;
}
