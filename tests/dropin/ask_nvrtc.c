/* SPDX-License-Identifier: MIT */
/*
 * Ask the NVRTC of a name, as dlopen takes it, for a cubin with some options, and print what it
 * gives.  With NAME "-" it is the library that this program needs, by the path that it has in
 * itself.
 * usage: ask_nvrtc NAME [OPTION...]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int nvrtcNewest(void) __attribute__((weak));

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);
	if (!function) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return function;
}

int main(int argc, char **argv)
{
	char cubin[256] = "";
	size_t size = 0;
	if (argc < 2) {
		return 2;
	}
	const int is_linked = strcmp(argv[1], "-") == 0;
	void *library = is_linked ? RTLD_DEFAULT : dlopen(argv[1], RTLD_NOW);
	if (!is_linked && !library) {
		printf("%s\n", dlerror());
		return 1;
	}
	int (*compile)(void *, int, char **) = find(library, "nvrtcCompileProgram");
	int (*get_size)(void *, size_t *) = find(library, "nvrtcGetCUBINSize");
	int (*get)(void *, char *) = find(library, "nvrtcGetCUBIN");
	int (*destroy)(void **) = find(library, "nvrtcDestroyProgram");
	int (*newest)(void) = is_linked ? nvrtcNewest : find(library, "nvrtcNewest");
	static char memory;
	void *program = &memory;
	if (compile(program, argc - 2, argv + 2) != 0 || get_size(program, &size) != 0
	    || (size > 0 && get(program, cubin) != 0) || newest() != 42) {
		printf("a call has failed\n");
		return 1;
	}
	printf("%zu %s\n", size, cubin);

	/* What a program asked for once counts neither for it nor for another at its address. */
	char *virtual_arch[] = {"-arch=compute_90"};
	if (compile(program, 1, virtual_arch) != 0 || get_size(program, &size) != 0 || size != 0
	    || compile(program, argc - 2, argv + 2) != 0 || destroy(&program) != 0 || program
	    || compile(program = &memory, 1, virtual_arch) != 0 || get_size(program, &size) != 0
	    || size != 0) {
		printf("a cubin for a virtual architecture\n");
		return 1;
	}
	return 0;
}
