/* SPDX-License-Identifier: MIT */
/*
 * Link PTX by nvJitLink, which needs no context, and run what it hands out as a cubin; link LTO
 * code; limit registers; read the logs of links that fail; make the mistakes that NVIDIA's library
 * answers with a number of its own.
 * usage: jitlink LIBRARY
 */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

enum { CUBIN = 1, PTX = 2, LTOIR = 3, ANY = 10 };

static const char caller[] = HEAD
	".extern .func (.param .b32 r) plus(.param .b32 x);\n"
	".visible .entry call(.param .u64 p)\n"
	"{\n"
	"	.reg .b64 %d<2>;\n"
	"	.reg .b32 %r<2>;\n"
	"	.param .b32 x;\n"
	"	.param .b32 r;\n"
	"	ld.param.u64 %d1, [p];\n"
	"	st.param.b32 [x], 5;\n"
	"	call (r), plus, (x);\n"
	"	ld.param.b32 %r1, [r];\n"
	"	st.global.u32 [%d1], %r1;\n"
	"	ret;\n"
	"}\n";
static const char callee[] = HEAD
	".visible .func (.param .b32 r) plus(.param .b32 x)\n"
	"{\n"
	"	.reg .b32 %r<2>;\n"
	"	ld.param.b32 %r1, [x];\n"
	"	add.u32 %r1, %r1, 1;\n"
	"	st.param.b32 [r], %r1;\n"
	"	ret;\n"
	"}\n";
static const char lto_code[] = "\355CN\177 and so on", elf[] = "\177ELF and so on";

static int (*create)(void **, uint32_t, const char **);
static int (*destroy)(void **);
static int (*add)(void *, int, const void *, size_t, const char *);
static int (*complete)(void *);
static int (*cubin_size)(void *, size_t *);
static int (*cubin)(void *, void *);
static int (*error_size)(void *, size_t *);
static int (*error)(void *, char *);
static int (*version)(unsigned *, unsigned *);

static char image[4096], log_text[4096];

static void expect(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "expected: %s; the log: %s\n", what, log_text);
		exit(1);
	}
}

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);
	expect(function != NULL, name);
	return function;
}

static void *begin(uint32_t count, const char **options)
{
	void *link = NULL;
	expect(create(&link, count, options) == 0 && link, "a link");
	return link;
}

static void read_log(void *link)
{
	size_t size = 0;
	expect(error_size(link, &size) == 0 && size <= sizeof(log_text), "the log's size");
	expect(error(link, log_text) == 0 && strlen(log_text) < size, "the log");
}

/* Finish a link, whose kernel stores `want`. */
static void finish(void *link, int want)
{
	size_t size = 0;
	expect(complete(link) == 0, "the link completes");
	expect(cubin_size(link, &size) == 0 && size > 0 && size <= sizeof(image), "a size");
	memset(image, 'x', sizeof(image));
	expect(cubin(link, image) == 0 && image[size - 1] == '\0', "PTX that ends with a zero");
	expect(destroy(&link) == 0 && !link, "the end of the link");

	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr out;
	int got = 0;
	void *arguments[] = {&out};
	check(cuInit(0));
	check(cuDeviceGet(&device, 0));
	check(cuDevicePrimaryCtxRetain(&context, device));
	check(cuCtxPushCurrent(context));
	check(cuModuleLoadData(&module, image));
	check(cuModuleGetFunction(&function, module, "call"));
	check(cuMemAlloc(&out, sizeof(got)));
	check(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
	check(cuMemcpyDtoH(&got, out, sizeof(got)));
	expect(got == want, "the kernel's result");
	check(cuMemFree(out));
	check(cuModuleUnload(module));
	check(cuCtxPopCurrent(&context));
	check(cuDevicePrimaryCtxRelease(device));
}

static void limit_registers(void)
{
	static const struct {
		const char *option, *expected; /* NULL: no limit */
	} rows[] = {
		{"-maxrregcount=40", ".maxnreg 40\n"}, {"-maxrregcount= 0x28", ".maxnreg 40\n"},
		{"-maxrregcount=0", ".maxnreg 24\n"}, {"-maxrregcount=-1", NULL},
	};
	void *link;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *options[] = {"-arch=sm_90", rows[i].option};
		link = begin(2, options);
		expect(add(link, PTX, caller, sizeof(caller), "a") == 0
			&& add(link, PTX, callee, sizeof(callee), "b") == 0, "PTX");
		expect(complete(link) == 0 && cubin(link, image) == 0, "a limit");
		expect(rows[i].expected ? strstr(image, rows[i].expected) != NULL
			: !strstr(image, ".maxnreg"), rows[i].option);
		destroy(&link);
	}
	const char *bad = "-maxrregcount=many";
	expect(create(&link, 1, &bad) == 1 && link, "a limit that is not a number");
	read_log(link);
	expect(strstr(log_text, "-maxrregcount=many: error   : expected a number") != NULL, "why");
	expect(add(link, PTX, caller, sizeof(caller), "a") == 6 && complete(link) == 6, "no link");
	destroy(&link);
}

/* A program that asks for PTX gets that of its LTO code as it is.  Else that is linked, and if it
 * is linked with other code, the log says which functions are lost. */
static void link_lto_code(void *library)
{
	const char *options[] = {"-arch=sm_90", "-lto", "-ptx"};
	int (*ptx_size)(void *, size_t *) = find(library, "nvJitLinkGetLinkedPtxSize");
	int (*ptx)(void *, char *) = find(library, "nvJitLinkGetLinkedPtx");
	for (uint32_t count = 2; count <= 3; count++) {
		size_t size = 0;
		void *link = begin(count, options);
		expect(add(link, LTOIR, lto_code, sizeof(lto_code), "a") == 0
			&& add(link, LTOIR, lto_code, sizeof(lto_code), "b") == 0, "LTO code");
		expect(complete(link) == (count == 3 ? 0 : 6), "a name may be undefined in PTX");
		if (count == 3) {
			expect(ptx_size(link, &size) == 0 && size <= sizeof(image)
				&& ptx(link, image) == 0 && strlen(image) + 1 == size
				&& strstr(image, "\tcall beyond;") != NULL, "NVIDIA's PTX");
		} else {
			read_log(link);
			expect(strstr(log_text, "'beyond' in 'LTO code'") != NULL
				&& !strstr(log_text, "keeps only"), "the name alone");
		}
		destroy(&link);
	}
	void *link = begin(2, options);
	expect(add(link, LTOIR, lto_code, sizeof(lto_code), "a") == 0
		&& add(link, LTOIR, lto_code, sizeof(lto_code), "b") == 0
		&& add(link, PTX, caller, sizeof(caller), "c") == 0, "LTO code and PTX");
	expect(complete(link) == 6, "a name is undefined");
	read_log(link);
	expect(strstr(log_text, "keeps only what the kernels in LTO code use") != NULL, "a reason");
	destroy(&link);
}

/* The numbers are those of nvJitLink 13.0 and 13.5. */
static void make_mistakes(void *library)
{
	const char *options[] = {"-arch=sm_90", "-lto"};
	int (*newer)(void *) = find(library, "nvJitLinkOfTomorrow");
	size_t size = 1;
	void *link = begin(1, options), *none = NULL;
	expect(error_size(link, &size) == 0 && size == 0, "an empty log has no size");
	log_text[0] = 'x';
	expect(error(link, log_text) == 0 && log_text[0] == 'x', "nothing to write");
	expect(newer(link) == 0, "NVIDIA's handle");
	expect(complete(link) == 0, "a link without inputs");
	expect(cubin_size(link, &size) == 0 && size > 0, "its image");
	expect(complete(link) == 6, "a link is completed once");
	expect(add(link, PTX, caller, sizeof(caller), "a") == 6, "nothing is added then");
	expect(add(NULL, PTX, caller, sizeof(caller), "a") == 10, "no handle");
	expect(add(link, PTX, NULL, 4, "a") == 3, "no data");
	expect(complete(NULL) == 10 && destroy(NULL) == 10 && destroy(&none) == 10, "no handle");
	expect(complete(&size) == 3, "not a handle");
	int (*ltoir_size)(void *, size_t *) = find(library, "nvJitLinkGetLinkedLTOIRSize");
	expect(ltoir_size(link, &size) == 3, "a function that NVIDIA's library lacks");
	destroy(&link);
	link = begin(2, options);
	expect(complete(link) == 6, "an empty link with -lto is NVIDIA's");
	destroy(&link);
}

static atomic_int is_over;

static void *ask_always(void *handle)
{
	size_t size;
	while (!is_over) {
		cubin_size(handle, &size);
	}
	return handle;
}

/* Children can ask, whatever other threads of the process were asking. */
static void fork_while_asked(void)
{
	static char unknown;
	pthread_t threads[2];
	for (int i = 0; i < 2; i++) {
		expect(pthread_create(&threads[i], NULL, ask_always, &unknown) == 0, "a thread");
	}
	for (int i = 0; i < 100; i++) {
		size_t size;
		int status;
		const pid_t child = fork();
		if (child == 0) {
			alarm(10);
			_exit(cubin_size(&unknown, &size));
		}
		expect(waitpid(child, &status, 0) == child && WIFEXITED(status)
			&& WEXITSTATUS(status) == 3, "a child that knows no such link");
	}
	is_over = 1;
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
	}
}

int main(int argc, char **argv)
{
	const char *options[] = {"-arch=sm_90", "-lto"}, *bad[] = {"-bad"};
	unsigned major, minor;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *link;
	expect(library != NULL, "nvJitLink");
	create = find(library, "nvJitLinkCreate");
	destroy = find(library, "__nvJitLinkDestroy_12_0");
	add = find(library, "__nvJitLinkAddData_13_5");
	complete = find(library, "nvJitLinkComplete");
	cubin_size = find(library, "nvJitLinkGetLinkedCubinSize");
	cubin = find(library, "nvJitLinkGetLinkedCubin");
	error_size = find(library, "nvJitLinkGetErrorLogSize");
	error = find(library, "nvJitLinkGetErrorLog");
	version = find(library, "nvJitLinkVersion");
	expect(version(&major, &minor) == 0 && major == 13 && minor == 77, "NVIDIA's version");

	link = begin(1, options);
	expect(add(link, PTX, caller, strlen(caller), "a") == 0, "PTX");
	expect(add(link, CUBIN, callee, sizeof(callee), "b") == 0, "PTX in place of a cubin");
	finish(link, 6);

	link = begin(2, options);
	expect(add(link, ANY, caller, sizeof(caller), NULL) == 0, "any kind");
	expect(add(link, LTOIR, lto_code, sizeof(lto_code), "b") == 0, "LTO code");
	finish(link, 42);

	link = begin(1, options);
	expect(add(link, LTOIR, lto_code, sizeof(lto_code), "b") == 18, "LTO code without -lto");
	expect(add(link, CUBIN, elf, sizeof(elf), "c") == 8, "a cubin is refused");
	expect(add(link, PTX, "hello", 5, "d") == 4, "what is not PTX is refused");
	expect(cubin_size(link, &(size_t){0}) == 6, "no cubin before the link is complete");
	read_log(link);
	expect(strstr(log_text, "b: error   : LTO code needs the option -lto") != NULL
		&& strstr(log_text, "c: error   : the CPU device links PTX") != NULL
		&& strstr(log_text, "expected '.version'") != NULL, "three errors");
	destroy(&link);

	link = begin(1, options);
	expect(add(link, PTX, caller, sizeof(caller), "a") == 0, "PTX");
	expect(complete(link) == 6, "a function that nothing defines");
	read_log(link);
	expect(strstr(log_text, "'plus'") != NULL, "its name");
	destroy(&link);

	expect(create(&link, 1, bad) == 1 && link, "NVIDIA's options");
	read_log(link);
	expect(strcmp(log_text, "unknown option -bad") == 0, "NVIDIA's log");
	destroy(&link);
	limit_registers();
	link_lto_code(library);
	make_mistakes(library);
	fork_while_asked();
	printf("PASSED\n");
	return 0;
}
