/* SPDX-License-Identifier: MIT */
/* src/lib/core/ipc.c: memory that processes share.  The other process is forked before a device is
 * open. */
#include "base/common.h"

#include "base/alloc.h"
#include "support/device_test.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3000, OFFSET = 1000 };

static bool is_foreign; /* the child belongs to another user, as far as the parent can see */

/* The child shares a view of a buffer, waits, and then wants to see what the parent wrote. */
static _Noreturn void run_child(int index, int from, int to)
{
	static char host[SIZE];
	kz_buffer *first = NULL, *buffer = NULL, *view = NULL;
	kz_buffer_handle handle;
	char byte;
	if (is_foreign) {
		prctl(PR_SET_DUMPABLE, 0); /* then only root may look into it */
	}
	memset(host, 'c', SIZE);
	dev = support_open(index);
	bool good = !kz_buffer_create(&first, dev, 100, &err) /* so that the other is not the
	                                                         first */
		&& !kz_buffer_create(&buffer, dev, SIZE, &err)
		&& !kz_copy_htod(buffer, 0, host, SIZE, &err)
		&& !kz_copy_htod(buffer, OFFSET, "shared", 6, &err)
		&& !kz_buffer_view(&view, buffer, OFFSET, SIZE - OFFSET, &err)
		&& !kz_buffer_export(&handle, view, &err)
		&& write(to, &handle, sizeof(handle)) == sizeof(handle) && read(from, &byte, 1) == 1
		&& !kz_copy_dtoh(host, SIZE, buffer, 0, &err)
		&& memcmp(host + OFFSET - 1, "cparent", 7) == 0 && host[SIZE - 1] == 'z';
	kz_buffer_release(view);
	kz_buffer_release(buffer);
	kz_buffer_release(first);
	kz_device_close(dev);
	_exit(good ? 0 : 1);
}

struct child {
	pid_t process;
	int to;
	kz_buffer_handle handle;
};

static void start_child(struct child *child, int index)
{
	int to_child[2], to_parent[2];
	ck_assert(!pipe(to_child) && !pipe(to_parent));
	child->process = fork();
	if (child->process == 0) {
		run_child(index, to_child[0], to_parent[1]);
	}
	close(to_parent[1]); /* a child that fails ends the read below */
	ck_assert_int_eq(read(to_parent[0], &child->handle, sizeof(child->handle)),
		sizeof(child->handle));
	close(to_parent[0]);
	child->to = to_child[1];
}

static int end_child(const struct child *child)
{
	int status;
	ck_assert_int_eq(write(child->to, "", 1), 1);
	ck_assert_int_eq(waitpid(child->process, &status, 0), child->process);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(two_processes_use_the_same_memory)
{
	struct child child;
	kz_buffer *buffer = NULL;
	char host[6];
	start_child(&child, _i);
	open_kernels(_i);
	ok(kz_buffer_import(&buffer, dev, &child.handle, &err));
	ck_assert_int_eq(kz_buffer_size(buffer), SIZE - OFFSET);
	ok(kz_copy_dtoh(host, 6, buffer, 0, &err));
	ck_assert_mem_eq(host, "shared", 6);
	ok(kz_copy_htod(buffer, 0, "parent", 6, &err));
	ok(kz_fill(buffer, SIZE - OFFSET - 4, 4, "z", 1, NULL, &err));
	kz_buffer_release(buffer); /* waits for the fill */
	ck_assert_int_eq(end_child(&child), 0);
	teardown();
}
END_TEST

/* An array of the buffer, in a kernel; a second view of the segment at the same time. */
START_TEST(arrays_and_kernels_use_the_memory_of_another_process)
{
	struct child child;
	kz_buffer *buffer = NULL, *again = NULL;
	kz_array *array = NULL, *sum = NULL;
	int64_t total = 0;
	start_child(&child, _i);
	open_kernels(_i);
	ok(kz_buffer_import(&buffer, dev, &child.handle, &err));
	ok(kz_buffer_import(&again, dev, &child.handle, &err));
	ok(kz_array_wrap(&array, buffer, KZ_U8, KZ_SHAPE(SIZE - OFFSET - 6), NULL, 6, &err));
	ok(kz_sum(&sum, array, KZ_ALL_AXES, &err));
	ok(kz_array_get(sum, &total, kz_array_size(sum), &err));
	ck_assert_int_eq(total, (int64_t)(SIZE - OFFSET - 6) * 'c');
	kz_buffer_release(buffer);
	release_arrays(array, sum);
	ok(kz_copy_htod(again, 0, "parent", 6, &err));
	ok(kz_fill(again, SIZE - OFFSET - 4, 4, "z", 1, NULL, &err));
	kz_buffer_release(again);
	ck_assert_int_eq(end_child(&child), 0);
	teardown();
}
END_TEST

START_TEST(a_damaged_handle_is_refused)
{
	struct child child;
	kz_buffer *buffer = NULL;
	start_child(&child, _i);
	open_kernels(_i);
	kz_buffer_handle handle = child.handle;
	handle.size += (int64_t)1 << 40;
	fails(kz_buffer_import(&buffer, dev, &handle, &err), KZ_RANGE,
		"do not lie in an allocation of");
	handle = child.handle;
	handle.offset = INT64_MAX;
	fails(kz_buffer_import(&buffer, dev, &handle, &err), KZ_RANGE,
		"do not lie in an allocation of");
	memset(&handle.allocation, 0x5a, sizeof(handle.allocation));
	ck_assert_int_ne(kz_buffer_import(&buffer, dev, &handle, &err), KZ_OK);
	kz_error_clear(&err);
	ck_assert_ptr_null(buffer);
	ok(kz_buffer_import(&buffer, dev, &child.handle, &err));
	kz_buffer_release(buffer);
	ck_assert_int_eq(end_child(&child), 1); /* nobody wrote */
	fails(kz_buffer_import(&buffer, dev, &child.handle, &err), KZ_INVALID,
		"cuIpcOpenMemHandle");
	teardown();
}
END_TEST

/* As root the test becomes somebody else. */
START_TEST(memory_of_another_user_s_process_is_not_permitted)
{
	struct child child;
	kz_buffer *buffer = NULL;
	if (strcmp(support_device_name(_i), "cpu") != 0) {
		return;
	}
	is_foreign = true;
	start_child(&child, _i);
	open_kernels(_i);
	ck_assert(geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
	ck_assert_int_eq(kz_buffer_import(&buffer, dev, &child.handle, &err), KZ_PERMISSION);
	ck_assert_ptr_nonnull(strstr(err.log, "belongs to another user"));
	kz_error_clear(&err);
	ck_assert_int_eq(end_child(&child), 1); /* nobody wrote */
	teardown();
}
END_TEST

KERNEL_TEST(memory_that_cannot_be_shared_is_told)
{
	kz_buffer *managed = NULL, *mapped = NULL, *none = NULL, *lone = NULL;
	kz_pinned *pinned = NULL;
	kz_buffer_handle handle = {.size = 7};
	kz_buffer *buffer = create_buffer(64), *mine = NULL;
	ok(kz_managed_create(&managed, dev, 64, &err));
	fails(kz_buffer_export(&handle, managed, &err), KZ_UNSUPPORTED, "cannot share this memory");
	ck_assert_int_eq(handle.size, 0);
	ok(kz_pinned_create(&pinned, dev, 64, &err));
	ok(kz_pinned_buffer(&mapped, pinned, &err));
	fails(kz_buffer_export(&handle, mapped, &err), KZ_UNSUPPORTED, "cannot share this memory");
	none = create_buffer(0);
	fails(kz_buffer_export(&handle, none, &err), KZ_INVALID, "of 1 byte or more to share");
	ok(kz_device_use_pool(dev, 0, &err));
	ok(kz_buffer_create(&lone, dev, 5000000, &err));
	fails(kz_buffer_export(&handle, lone, &err), KZ_UNSUPPORTED,
		"expected memory from a pool or from cuMemAlloc");
	ok(kz_device_use_pool(dev, 1, &err));
	/* Its own memory has an address here already. */
	ok(kz_buffer_export(&handle, buffer, &err));
	ck_assert_int_eq(kz_buffer_import(&mine, dev, &handle, &err), err.status);
	ck_assert_int_ne(err.status, KZ_OK);
	ck_assert_ptr_null(mine);
	kz_error_clear(&err);
	release_buffers(managed, mapped, none, lone, buffer);
	kz_pinned_release(pinned);
}

STUB_TEST(what_is_no_buffer_and_no_handle_is_told, "")
{
	kz_buffer *buffer = create_buffer(64), *out = NULL;
	kz_buffer_handle handle = {.size = 0};
	fails(kz_buffer_export(NULL, buffer, &err), KZ_INVALID, "out is NULL");
	fails(kz_buffer_export(&handle, NULL, &err), KZ_INVALID, "expected a buffer");
	fails(kz_buffer_import(&out, dev, &handle, &err), KZ_INVALID,
		"got one with size 0, offset 0");
	ok(kz_buffer_export(&handle, buffer, &err));
	fails(kz_buffer_import(NULL, dev, &handle, &err), KZ_INVALID, "out is NULL");
	fails(kz_buffer_import(&out, NULL, &handle, &err), KZ_INVALID, "expected a device");
	fails(kz_buffer_import(&out, dev, NULL, &err), KZ_INVALID, "expected a handle of a buffer");
	handle.offset = -1;
	fails(kz_buffer_import(&out, dev, &handle, &err), KZ_INVALID, "offset -1");
	kz_buffer_release(buffer);
}

STUB_TEST(importing_without_memory_leaves_nothing, "")
{
	kz_buffer *buffer = create_buffer(64), *out = NULL;
	kz_buffer_handle handle;
	kz_status st = KZ_NO_MEMORY;
	ok(kz_buffer_export(&handle, buffer, &err));
	for (long n = 0; st == KZ_NO_MEMORY && n < 20; n++) {
		mem_fail_after(n);
		st = kz_buffer_import(&out, dev, &handle, &err);
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		ck_assert_int_eq(support_stub_live(STUB_IMPORT), st == KZ_OK);
		kz_error_clear(&err);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_uint_eq(kz_buffer_address(out), kz_buffer_address(buffer));
	release_buffers(out, buffer);
	ck_assert_int_eq(support_stub_live(STUB_IMPORT), 0);
}

SUITE(ipc)
{
	Suite *s = suite_create("ipc");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), two_processes_use_the_same_memory,
		arrays_and_kernels_use_the_memory_of_another_process, a_damaged_handle_is_refused,
		memory_of_another_user_s_process_is_not_permitted,
		memory_that_cannot_be_shared_is_told);
	tc = suite_add_case(s, "stub");
	tcase_add_tests(tc, 1, what_is_no_buffer_and_no_handle_is_told,
		importing_without_memory_leaves_nothing);
	return s;
}
