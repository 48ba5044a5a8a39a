/* SPDX-License-Identifier: MIT */
/*
 * A program with libkudzu.a in it, which runs a kernel on the CPU device and says what it had to
 * load for that: LLVM, if the kernel was not in the cache.  tests/security/check gives it rights
 * that its caller lacks, and puts other people's files beside it.
 */
#define _GNU_SOURCE
#include <kudzu/kudzu.h>

#include <link.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry answer(.param .u64 p)\n{\n"
	"	.reg .u64 %a; .reg .u32 %x;\n"
	"	ld.param.u64 %a, [p];\n	mov.u32 %x, 42;\n	st.global.u32 [%a], %x;\n"
	"	ret;\n"
	"}\n";

/* In the place of the C library's: in the password database, too, home is $HOME. */
int getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
	(void)buffer;
	(void)size;
	*entry = (struct passwd){.pw_uid = uid, .pw_dir = getenv("HOME")};
	*found = entry;
	return 0;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *name)
{
	(void)size;
	return strstr(info->dlpi_name, name) != NULL;
}

static const char *has_loaded(const char *name)
{
	return dl_iterate_phdr(search_object, (void *)name) ? "yes" : "no";
}

static kz_status run_kernel(kz_device *dev, kz_error *err)
{
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_array *array = NULL;
	int32_t number = 0;
	kz_status st;
	if (!(st = kz_module_load(&mod, dev, ptx, sizeof(ptx), err))
	    && !(st = kz_module_kernel(&kernel, mod, "answer", err))
	    && !(st = kz_array_from(&array, dev, KZ_I32, KZ_SHAPE(1), &number, 4, err))
	    && !(st = kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, err,
		KZ_ARGS(array)))) {
		st = kz_array_get(array, &number, sizeof(number), err);
		printf("answer: %d\n", number);
	}
	kz_array_release(array);
	kz_module_release(mod);
	return st;
}

static void print_diagnosis(void)
{
	kz_diagnosis *diagnosis = NULL;
	if (kz_diagnose(&diagnosis, NULL)) {
		return;
	}
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		const kz_finding *finding = kz_diagnosis_finding(diagnosis, i);
		printf("%s: %s\n", finding->topic, finding->text);
	}
	kz_diagnosis_release(diagnosis);
}

/* Two sources, so that it is worth while to start processes. */
static kz_status warm_up(kz_device *dev, kz_error *err)
{
	kz_warm_up_source sources[] = {
		{"__global__ void f(int *p) { *p = 1; }", NULL},
		{"__global__ void g(int *p) { *p = 2; }", NULL},
	};
	return kz_warm_up(dev, sources, 2, 2, NULL, err);
}

int main(int argc, char **argv)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	uid_t user = geteuid();
	/* File capabilities leave all ids alike, so that only AT_SECURE tells. */
	if (getuid() != user && setresuid(user, user, user) != 0) {
		return EXIT_FAILURE;
	}
	printf("secure: %lu\n", getauxval(AT_SECURE));
	kz_status st = kz_device_open(&dev, "cpu", &err);
	if (!st) {
		st = argc > 1 && strcmp(argv[1], "warm") == 0 ? warm_up(dev, &err)
			: run_kernel(dev, &err);
	}
	if (st) {
		printf("error: %s\n%s", kz_error_message(&err), kz_error_log(&err));
	}
	printf("LLVM: %s\n", has_loaded("libkudzu-cpu-llvm.so"));
	if (argc > 1 && strcmp(argv[1], "diagnose") == 0) {
		print_diagnosis();
		printf("stub: %s\n", has_loaded("libcuda-stub.so"));
	}
	kz_device_close(dev);
	kz_error_clear(&err);
	return EXIT_SUCCESS;
}
