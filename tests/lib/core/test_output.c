/* SPDX-License-Identifier: MIT */
/* src/lib/core/output.c: printf and failed assertions go to a function or a file that the program
 * names. */
#include "base/common.h"

#include "lib/core/device.h"
#include "support/device_test.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/resource.h>
#include <unistd.h>

static const char source[] =
	"__global__ void say(int n) { printf(\"%d of %s\\n\", n, \"many\"); }\n"
	"__global__ void fail(int n) { assert(n > 5); }\n";

/* What a function of ours has got; the device calls it from threads of its own. */
static struct got {
	char text[4096];
	size_t length;
	int calls[2];
} got;

static void keep(void *user, kz_output_kind kind, const char *text, int64_t size)
{
	struct got *to = user;
	size_t length = (size_t)size < sizeof(to->text) - to->length - 1 ? (size_t)size : 0;
	memcpy(to->text + to->length, text, length);
	to->length += length;
	to->calls[kind]++;
}

static kz_module *mod;

static void launch(const char *name, int blocks, int n)
{
	kz_kernel *kernel;
	ok(kz_module_kernel(&kernel, mod, name, &err));
	ok(kz_launch(kernel, kz_dim(blocks, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(n)));
}

/* A GPU's driver has no such function, which the program is told. */
static bool compile(void)
{
	if (!dev->ptx_only) {
		fails(kz_device_set_output(dev, keep, &got, &err), KZ_UNSUPPORTED,
			"writes what kernels print to standard output itself");
		ok(kz_device_set_output(dev, NULL, NULL, &err));
		return false;
	}
	memset(&got, 0, sizeof(got));
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	return true;
}

/* Run with standard output and standard error in a file; what was written there, static. */
static const char *launch_into_file(const char *name)
{
	static char text[4096];
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	ck_assert_int_ge(dup2(fileno(file), STDOUT_FILENO), 0);
	launch(name, 1, 3);
	ok(kz_device_synchronize(dev, &err));
	fflush(stdout);
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	close(saved);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

KERNEL_TEST(a_function_gets_each_text_of_printf_whole)
{
	if (!compile()) {
		return;
	}
	ok(kz_device_set_output(dev, keep, &got, &err));
	launch("say", 100, 7);
	ok(kz_device_synchronize(dev, &err));
	ck_assert_int_eq(got.calls[KZ_OUTPUT_PRINTF], 100);
	ck_assert_int_eq(got.calls[KZ_OUTPUT_ASSERT], 0);
	ck_assert_uint_eq(got.length, 100 * strlen("7 of many\n"));
	for (size_t at = 0; at < got.length; at += strlen("7 of many\n")) {
		ck_assert_int_eq(strncmp(got.text + at, "7 of many\n", strlen("7 of many\n")), 0);
	}
	kz_module_release(mod);
}

static kz_error errors[5];

/* What would wait for the kernel that waits for this. */
static void call_library(void *user, kz_output_kind kind, const char *text, int64_t size)
{
	kz_buffer *buffer = NULL;
	int64_t free;
	keep(user, kind, text, size);
	(void)!kz_device_synchronize(dev, &errors[0]);
	(void)!kz_stream_synchronize(kz_device_stream(dev), &errors[1]);
	(void)!kz_device_set_output(dev, NULL, NULL, &errors[2]);
	(void)!kz_buffer_create(&buffer, dev, 1 << 30, &errors[3]);
	(void)!kz_device_memory(dev, &free, NULL, &errors[4]);
}

KERNEL_TEST(a_function_must_not_call_the_library)
{
	if (!compile()) {
		return;
	}
	ok(kz_device_set_output(dev, call_library, &got, &err));
	launch("say", 2, 7);
	ok(kz_device_synchronize(dev, &err));
	for (size_t i = 0; i < countof(errors); i++) {
		ck_assert_msg(errors[i].status == KZ_PERMISSION, "%zu: %s", i, errors[i].message);
		kz_error_clear(&errors[i]);
	}
	ck_assert_int_eq(got.calls[KZ_OUTPUT_PRINTF], 2);
	ok(kz_device_set_output(dev, NULL, NULL, &err));
	kz_module_release(mod);
}

KERNEL_TEST(a_file_gets_it_and_null_is_standard_output_again)
{
	char *text = NULL;
	size_t size = 0;
	if (!compile()) {
		return;
	}
	FILE *file = open_memstream(&text, &size);
	ok(kz_device_set_output_file(dev, file, &err));
	ck_assert_str_eq(launch_into_file("say"), "");
	ok(kz_device_set_output_file(dev, NULL, &err));
	ck_assert_str_eq(launch_into_file("say"), "3 of many\n");
	fclose(file);
	ck_assert_str_eq(text, "3 of many\n");
	free(text);
	kz_module_release(mod);
}

/* --- Text that is lost --- */

/* Descriptors that cannot be written to: a full disk, a pipe that nobody reads, a file at its
 * limit. */
static int open_full(void)
{
	return open("/dev/full", O_WRONLY);
}

static int open_unread_pipe(void)
{
	int pipes[2];
	ck_assert_int_eq(pipe(pipes), 0);
	close(pipes[0]);
	return pipes[1];
}

static int open_limited(void)
{
	const struct rlimit limit = {1 << 20, RLIM_INFINITY}; /* Check writes files, too */
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	int fd = dup(fileno(file));
	ck_assert_int_eq(lseek(fd, 1 << 20, SEEK_SET), 1 << 20);
	return fd;
}

static const struct {
	int (*open)(void);
	const char *reason;
} losses[] = {
	{open_full, "No space left on device"},
	{open_unread_pipe, "Broken pipe"},
	{open_limited, "File too large"}
};

/* One text stays in the buffer until the flush, and many do not. */
static void check_loss(int blocks, const char *reason)
{
	const struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	launch("say", blocks, 7);
	fails(kz_device_synchronize(dev, &err), KZ_IO, reason);
	launch("say", blocks, 7);
	fails(kz_stream_synchronize(kz_device_stream(dev), &err), KZ_IO,
		"text that kernels of cpu printed is lost");
	ok(kz_device_synchronize(dev, &err));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void lose_text(size_t index, int blocks)
{
	int fd = losses[index].open();
	FILE *file = fdopen(fd, "w");
	ck_assert_ptr_nonnull(file);
	ok(kz_device_set_output_file(dev, file, &err));
	check_loss(blocks, losses[index].reason);
	ok(kz_device_set_output_file(dev, NULL, &err));
	__fpurge(file);
	fclose(file);
	int saved = dup(STDOUT_FILENO);
	fflush(stdout);
	fd = losses[index].open();
	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	check_loss(blocks, losses[index].reason);
	__fpurge(stdout);
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	close(saved);
	close(fd);
}

KERNEL_TEST(text_that_cannot_be_written_is_reported_once)
{
	if (!compile()) {
		return;
	}
	for (size_t i = 0; i < countof(losses); i++) {
		lose_text(i, 1);
		lose_text(i, 1000);
	}
	kz_module_release(mod);
}

/* The program's function decides what becomes of it. */
KERNEL_TEST(text_that_a_function_gets_is_not_lost)
{
	if (!compile()) {
		return;
	}
	int saved = dup(STDOUT_FILENO), fd = open_full();
	fflush(stdout);
	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	ok(kz_device_set_output(dev, keep, &got, &err));
	launch("say", 3, 7);
	ok(kz_device_synchronize(dev, &err));
	ck_assert_int_eq(got.calls[KZ_OUTPUT_PRINTF], 3);
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	close(saved);
	close(fd);
	kz_module_release(mod);
}

/* The program keeps the context, which so outlives the device. */
KERNEL_TEST(a_device_that_is_opened_again_has_standard_output)
{
	CUcontext context;
	if (!compile()) {
		return;
	}
	const struct drv *drv = dev->drv;
	ck_assert_int_eq(drv->DevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	ok(kz_device_set_output(dev, keep, &got, &err));
	kz_module_release(mod);
	support_close(dev);
	open_kernels(_i);
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ck_assert_str_eq(launch_into_file("say"), "3 of many\n");
	ck_assert_uint_eq(got.length, 0);
	ck_assert_int_eq(drv->DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
	kz_module_release(mod);
}

/* The context is lost, so the device is closed without support_close's checks. */
START_TEST(an_assertion_that_fails_says_where)
{
	open_kernels(_i);
	if (compile()) {
		kz_kernel *kernel;
		ok(kz_device_set_output(dev, keep, &got, &err));
		ok(kz_module_kernel(&kernel, mod, "fail", &err));
		kz_status st = kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(5));
		st = st ? st : kz_device_synchronize(dev, &err);
		ck_assert_int_ne(st, KZ_OK);
		kz_error_clear(&err);
		ck_assert_int_eq(got.calls[KZ_OUTPUT_ASSERT], 1);
		ck_assert_ptr_nonnull(strstr(got.text,
			"thread: [0,0,0] Assertion `n > 5` failed.\n"));
		ck_assert_int_ne(kz_device_set_output(dev, keep, &got, &err), KZ_OK);
		kz_error_clear(&err);
		kz_module_release(mod);
	}
	kz_device_close(dev);
}
END_TEST

STUB_TEST(other_drivers_write_themselves, "")
{
	fails(kz_device_set_output(dev, keep, &got, &err), KZ_UNSUPPORTED, "the driver of cuda:0");
	fails(kz_device_set_output_file(dev, stdout, &err), KZ_UNSUPPORTED, "itself");
	ok(kz_device_set_output_file(dev, NULL, &err));
	ck_assert_int_eq(support_stub_calls("cuGetExportTable"), 0);
	fails(kz_device_set_output(NULL, keep, NULL, &err), KZ_INVALID, "expected a device");
}

SUITE(output)
{
	Suite *s = suite_create("output");
	TCase *tc = suite_add_case(s, "kernels");
	tcase_add_tests(tc, support_device_count(), a_function_gets_each_text_of_printf_whole,
		a_file_gets_it_and_null_is_standard_output_again,
		a_device_that_is_opened_again_has_standard_output,
		an_assertion_that_fails_says_where, a_function_must_not_call_the_library,
		text_that_cannot_be_written_is_reported_once,
		text_that_a_function_gets_is_not_lost);
	tc = suite_add_case(s, "mistakes");
	tcase_add_test(tc, other_drivers_write_themselves);
	return s;
}
