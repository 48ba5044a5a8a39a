/* SPDX-License-Identifier: MIT */
/*
 * Ask the NVRTC of a name, as dlopen takes it, for a cubin with some options, and print what it
 * gives.  With NAME "-" it is the library that this program needs, by the path that it has in
 * itself.
 * usage: ask_nvrtc NAME [OPTION...]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int (*get_size)(void *, size_t *);
static char memory;
static atomic_int is_over;

static void *ask_always(void *unused)
{
	size_t size;
	while (!is_over) {
		get_size(&memory, &size);
	}
	return unused;
}

/* Whether children can ask, though other threads of the process were asking. */
static int fork_while_asked(void)
{
	pthread_t threads[2];
	int status = 0;
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, ask_always, NULL);
	}
	for (int i = 0; i < 50 && status == 0; i++) {
		size_t size;
		const pid_t child = fork();
		if (child == 0) {
			alarm(10);
			_exit(get_size(&memory, &size));
		}
		waitpid(child, &status, 0);
	}
	is_over = 1;
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
	}
	return status == 0;
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
	*(void **)&get_size = find(library, "nvrtcGetCUBINSize");
	int (*get)(void *, char *) = find(library, "nvrtcGetCUBIN");
	int (*destroy)(void **) = find(library, "nvrtcDestroyProgram");
	int (*newest)(void) = is_linked ? nvrtcNewest : find(library, "nvrtcNewest");
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
	if (!fork_while_asked()) {
		printf("a child hangs\n");
		return 1;
	}
	return 0;
}
