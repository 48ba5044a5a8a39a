/* SPDX-License-Identifier: MIT */
/* Limits on file sizes, disks that are full, and sandboxes that refuse system calls. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/str.h"
#include "support/device_test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LIMIT = 4096 }; /* less than what each of the calls writes */

static char folder[32];
static char path[64];

static void set_up(void)
{
	strcpy(folder, "/tmp/kudzu-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
}

static void tear_down(void)
{
	unlink(path);
	rmdir(folder);
}

/* False: the library was built without the CPU device. */
static bool open_cpu(void)
{
	int index = 0;
	while (index < support_device_count() && strcmp(support_device_name(index), "cpu") != 0) {
		index++;
	}
	bool found = index < support_device_count();
	if (found) {
		open_kernels(index);
	}
	return found;
}

/* Limits on file sizes */

static void limit_files(bool limited)
{
	struct rlimit limit;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = limited ? LIMIT : limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Each call fails under the limit, leaves no file, and succeeds without it. */
#define LIMITED(call) do { \
		limit_files(true); \
		kz_status st = (call); \
		limit_files(false); \
		ck_assert_msg(st == KZ_IO, #call ": %d: %s", (int)st, err.message); \
		ck_assert_msg(err.code == EFBIG || strstr(err.log, "refuses ftruncate: File too " \
			"large"), \
			#call ": %d", (int)err.code); \
		kz_error_clear(&err); \
		ck_assert_int_ne(access(path, F_OK), 0); \
		ok(call); \
		unlink(path); \
	} while (0)

START_TEST(a_limit_on_file_sizes_makes_saving_fail)
{
	struct str ptx = STR_INIT;
	kz_array *array = NULL;
	kz_image *image = NULL;
	open_kernels(_i);
	str_add(&ptx, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; "
		"}\n");
	while (ptx.len <= LIMIT) {
		str_addf(&ptx, "// %zu\n", ptx.len);
	}
	ok(kz_image_create(&image, ptx.data, (int64_t)ptx.len, &err));
	ok(kz_array_zeros(&array, dev, KZ_F64, KZ_SHAPE(LIMIT), &err));
	LIMITED(kz_array_save(array, path, &err));
	LIMITED(kz_npz_save(path, &(kz_npz_item){"a", array}, 1, &err));
	LIMITED(kz_image_save(image, path, &err));
	LIMITED(kz_bundle_save(path, &image, 1, NULL, &err));
	kz_array_release(array);
	kz_image_release(image);
	str_free(&ptx);
	teardown();
}
END_TEST

/* The CPU device keeps memory that grows, or that others map, in files. */
START_TEST(a_limit_on_file_sizes_counts_for_memory_in_files)
{
	kz_buffer_handle handle;
	kz_buffer *growable = NULL;
	if (!open_cpu()) {
		return;
	}
	kz_buffer *buffer = create_buffer(10 * LIMIT);
	LIMITED(kz_buffer_create_growable(&growable, dev, 10 * LIMIT, 100 * LIMIT, &err));
	LIMITED(kz_buffer_export(&handle, buffer, &err));
	kz_buffer_release(growable);
	kz_buffer_release(buffer);
	teardown();
}
END_TEST

/* Disks that are full */

/* The text waits in the stream's buffer, so that only a flush meets the disk. */
START_TEST(printing_to_a_full_disk_fails)
{
	kz_array *array = NULL;
	kz_graph *graph = NULL;
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	setup(_i);
	ok(kz_array_zeros(&array, dev, KZ_F32, KZ_SHAPE(4), &err));
	ok(kz_graph_create(&graph, dev, &err));
	fails(kz_device_print_leaks(dev, full, &err), KZ_IO, "No space left");
	fails(kz_array_print(array, full, &err), KZ_IO, "No space left");
	fails(kz_graph_print(graph, full, &err), KZ_IO, "No space left");
	kz_graph_release(graph);
	kz_array_release(array);
	fclose(full);
	teardown();
}
END_TEST

/* Sandboxes */

static void refuse_call(int number, int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {countof(filter), filter};
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static const struct {
	const char *name;
	int number;
	bool grows, exports, events; /* what needs the call */
} calls[] = {
	{"memfd_create", SYS_memfd_create, true, true, true},
	{"ftruncate", SYS_ftruncate, true, true, true},
	{"getrandom", SYS_getrandom, false, true, true},
	{"pwrite", SYS_pwrite64, false, true, true},
};

/* The call fails because of a refused system call, which the error names. */
static void check_refused(kz_status st, const char *name, int error, bool needed)
{
	struct str text = STR_INIT;
	str_addf(&text, "the system refuses %s: %s", name, strerrordesc_np(error));
	ck_assert_msg(st == (needed ? KZ_IO : KZ_OK), "%s: %d: %s", name, (int)st, err.message);
	ck_assert_msg(!needed || strstr(err.log, text.data), "%s: %s", name, err.log);
	kz_error_clear(&err);
	str_free(&text);
}

START_TEST(system_calls_that_a_sandbox_refuses_are_named)
{
	const int error = _i % 2 ? ENOSYS : EPERM, row = _i / 2;
	kz_event_options options = KZ_EVENT_OPTIONS_INIT;
	kz_buffer_handle handle;
	kz_buffer *growable = NULL;
	kz_event *event = NULL;
	options.interprocess = options.disable_timing = 1;
	if (!open_cpu()) {
		return;
	}
	kz_buffer *buffer = create_buffer(100);
	ok(kz_fill(buffer, 0, 100, "z", 1, NULL, &err));
	refuse_call(calls[row].number, error);
	check_refused(kz_buffer_create_growable(&growable, dev, 100, 1000, &err), calls[row].name,
		error, calls[row].grows);
	check_refused(kz_buffer_export(&handle, buffer, &err), calls[row].name, error,
		calls[row].exports);
	check_refused(kz_event_create_with(&event, dev, &options, &err), calls[row].name, error,
		calls[row].events);
	kz_event_release(event);
	kz_buffer_release(growable);
	kz_buffer_release(buffer);
	teardown();
}
END_TEST

SUITE(system)
{
	Suite *s = suite_create("system");
	TCase *tc = suite_add_case(s, "limits");
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_tests(tc, support_device_count(), a_limit_on_file_sizes_makes_saving_fail);
	tcase_add_tests(tc, 1, a_limit_on_file_sizes_counts_for_memory_in_files);
	tcase_add_tests(tc, support_device_count() + 1, printing_to_a_full_disk_fails);
	tc = suite_add_case(s, "sandboxes");
	tcase_add_loop_test(tc, system_calls_that_a_sandbox_refuses_are_named, 0,
		2 * (int)countof(calls));
	return s;
}
