/* SPDX-License-Identifier: MIT */
/* src/lib/comm: wrong arguments, members that fail, memory that runs out, NCCL's failures. */
#include "lib/comm/comm_test.h"

#include "base/alloc.h"

#include <kudzu/linalg.h>
#include <kudzu/view.h>

#include <sys/wait.h>
#include <unistd.h>

static double number(int member, int64_t i)
{
	return (double)(member + i);
}

/* Arguments */

COMM_TEST(communicators_of_wrong_devices_are_refused)
{
	kz_device *twice[] = {devices[0], devices[1], devices[0]};
	kz_device *none[] = {devices[0], NULL};
	kz_comm_options options = KZ_COMM_OPTIONS_INIT;
	kz_comm_id id = {"1"};
	kz_comm *made = NULL;
	fails(kz_comm_create(&made, twice, 3, NULL, &err), KZ_INVALID,
		"kz_comm_create: expected different devices, got cpu as members 0 and 2 "
		"(KUDZU_CPU_DEVICES makes more)");
	fails(kz_comm_create(&made, none, 2, NULL, &err), KZ_INVALID,
		"expected a device, got NULL");
	fails(kz_comm_create(&made, devices, 0, NULL, &err), KZ_INVALID,
		"expected 1 to 64 devices, got 0");
	fails(kz_comm_create(&made, NULL, 4, NULL, &err), KZ_INVALID, "got 0");
	fails(kz_comm_create(NULL, devices, 4, NULL, &err), KZ_INVALID, "out is NULL");
	options.engine = 3;
	fails(kz_comm_create(&made, devices, 4, &options, &err), KZ_INVALID,
		"expected an engine from 0 to 2, got 3");
	options.engine = KZ_COMM_OWN;
	options.id = &id;
	options.count = 6;
	options.first = 3;
	fails(kz_comm_create(&made, devices, 4, &options, &err), KZ_INVALID,
		"members 3 to 6 are not among 6");
	options.first = INT32_MAX;
	fails(kz_comm_create(&made, devices, 4, &options, &err), KZ_INVALID,
		"members 2147483647 to 2147483650 are not among 6");
	options.first = 2;
	fails(kz_comm_create(&made, devices, 4, &options, &err), KZ_UNSUPPORTED,
		"members in several processes need NCCL");
	options.size = 3;
	fails(kz_comm_create(&made, devices, 4, &options, &err), KZ_INVALID, "kz_comm_options");
	ck_assert_ptr_null(made);
}

COMM_TEST(a_device_of_another_driver_is_refused)
{
	kz_device *mixed[] = {devices[0], NULL};
	kz_comm *made = NULL;
	support_stub("");
	ok(kz_device_open(&mixed[1], "cuda:0", &err));
	fails(kz_comm_create(&made, mixed, 2, NULL, &err), KZ_INVALID,
		"cpu and cuda:0 have different drivers");
	kz_device_close(mixed[1]);
}

COMM_TEST(lists_that_do_not_match_are_refused)
{
	kz_array *a[MEMBERS], *b[MEMBERS], *doubles[MEMBERS], *other;
	comm_test_make(a, KZ_F32, 12, number);
	comm_test_make(b, KZ_F32, 13, number);
	comm_test_make(doubles, KZ_F64, 12, number);
	fails(kz_comm_all_reduce(comm, b, a, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"kz_comm_all_reduce: argument 'into': expected 12 elements of float32, got 13 of "
		"float32 for member 0");
	other = a[2];
	a[2] = doubles[2];
	fails(kz_comm_all_reduce(comm, a, a, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"argument 'from': expected 12 elements of float32, got 12 of float64 for member 2");
	a[2] = a[1];
	fails(kz_comm_all_reduce(comm, a, a, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"member 2 is cpu:2, and its array is on cpu:1");
	a[2] = NULL;
	fails(kz_comm_broadcast(comm, a, 0, NULL, &err), KZ_INVALID,
		"argument 'arrays': expected an array, got NULL");
	a[2] = other;
	fails(kz_comm_all_reduce(comm, a, NULL, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"argument 'from': expected a list of arrays, got NULL");
	fails(kz_comm_all_gather(comm, NULL, a, NULL, &err), KZ_INVALID,
		"argument 'into': expected a list of arrays, got NULL");
	fails(kz_comm_broadcast(comm, NULL, 0, NULL, &err), KZ_INVALID,
		"argument 'arrays': expected a list of arrays, got NULL");
	fails(kz_comm_reduce_scatter(comm, a, b, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"argument 'from': expected a multiple of 4 elements, one part for each member, got "
		"13");
	fails(kz_comm_reduce(comm, NULL, a, KZ_REDUCE_SUM, 1, NULL, &err), KZ_INVALID,
		"argument 'into': expected an array, got NULL");
	fails(kz_comm_broadcast(comm, a, 4, NULL, &err), KZ_INVALID,
		"argument 'root': expected a member from 0 to 3, got 4");
	fails(kz_comm_all_reduce(comm, a, a, KZ_REDUCE_VAR, NULL, &err), KZ_INVALID,
		"argument 'op': expected KZ_REDUCE_SUM, _PROD, _MIN, _MAX or _MEAN, got 10");
	fails(kz_comm_all_reduce(comm, a, a, (kz_reduce_op)-1, NULL, &err), KZ_INVALID, "got -1");
	fails(kz_comm_all_reduce(NULL, a, a, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"expected a communicator, got NULL");
	comm_test_expect_all(a, number);
	comm_test_release(a);
	comm_test_release(b);
	comm_test_release(doubles);
}

COMM_TEST(streams_gaps_and_overlaps_are_refused)
{
	kz_stream *streams[MEMBERS] = {NULL, kz_device_stream(devices[0])};
	kz_array *a[MEMBERS], *parts[MEMBERS], *turned[MEMBERS];
	comm_test_make(a, KZ_F32, 12, number);
	fails(kz_comm_all_reduce(comm, a, a, KZ_REDUCE_SUM, streams, &err), KZ_INVALID,
		"expected a stream of cpu:1, got one of cpu");
	fails(kz_comm_all_to_all(comm, a, a, NULL, &err), KZ_INVALID,
		"the operand and the result of member 0 have bytes in common");
	for (int m = 0; m < members; m++) {
		ok(kz_array_slice(&parts[m], a[m], KZ_AT(KZ_SLICE(1, 4)), &err));
		ok(kz_array_slice(&turned[m], a[m], KZ_AT(KZ_SLICE(0, 12, 2)), &err));
	}
	fails(kz_comm_all_gather(comm, a, parts, NULL, &err), KZ_INVALID, "have bytes in common");
	fails(kz_comm_reduce_scatter(comm, parts, a, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"have bytes in common");
	fails(kz_comm_broadcast(comm, turned, 0, NULL, &err), KZ_INVALID,
		"the array of member 0 has gaps; kz_array_copy makes one without");
	comm_test_release(a);
	comm_test_release(parts);
	comm_test_release(turned);
}

COMM_TEST(messages_that_do_not_match_are_refused)
{
	kz_array *a[MEMBERS], *b[MEMBERS];
	comm_test_make(a, KZ_F32, 12, number);
	comm_test_make(b, KZ_F32, 11, number);
	fails(kz_comm_send(comm, a[0], 0, 1, NULL, &err), KZ_STATE,
		"messages need a group: kz_comm_group_begin");
	fails(kz_comm_group_end(comm, &err), KZ_STATE, "no group has begun");
	ok(kz_comm_group_begin(comm, &err));
	fails(kz_comm_group_begin(comm, &err), KZ_STATE, "a group has begun already");
	fails(kz_comm_synchronize(comm, &err), KZ_STATE, "the group has not ended");
	fails(kz_comm_send(comm, a[0], 0, 0, NULL, &err), KZ_INVALID,
		"expected two members, got 0 twice");
	fails(kz_comm_send(comm, a[0], 0, 9, NULL, &err), KZ_INVALID,
		"argument 'peer': expected a member from 0 to 3, got 9");
	fails(kz_comm_send(comm, a[0], 1, 2, NULL, &err), KZ_INVALID,
		"member 1 is cpu:1, and its array is on cpu");
	ok(kz_comm_receive(comm, a[1], 1, 0, NULL, &err));
	fails(kz_comm_group_end(comm, &err), KZ_INVALID,
		"kz_comm_group_end: member 1 receives from member 0, which does not send to it");
	ok(kz_comm_group_begin(comm, &err));
	ok(kz_comm_receive(comm, b[1], 1, 0, NULL, &err));
	ok(kz_comm_send(comm, a[0], 0, 1, NULL, &err));
	fails(kz_comm_group_end(comm, &err), KZ_INVALID,
		"member 0 sends 12 elements of float32 to member 1, which receives 11 of float32");
	comm_test_expect_all(a, number);
	ok(kz_comm_group_begin(comm, &err)); /* it is released with the group */
	ok(kz_comm_send(comm, a[0], 0, 1, NULL, &err));
	comm_test_release(a);
	comm_test_release(b);
}

/* Members that fail */

static const char bad_source[] =
	"__global__ void bad(float *x, long long cycles)\n"
	"{ long long begin = clock64(); while (clock64() - begin < cycles) { }\n"
	"*(float *)8 = x[0]; }\n";

/* A kernel on the device of member 1 that faults after some time. */
static void start_fault(kz_array *const arrays[MEMBERS], long long cycles)
{
	kz_module *module;
	kz_kernel *kernel;
	ok(kz_module_compile(&module, devices[1], bad_source, NULL, &err));
	ok(kz_module_kernel(&kernel, module, "bad", &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(arrays[1], cycles)));
	kz_module_release(module);
}

/* After the members' devices were closed, they can be opened and work. */
static void begin_again(void)
{
	kz_array *arrays[MEMBERS];
	kz_comm_release(comm);
	for (int m = 0; m < members; m++) {
		kz_device_close(devices[m]);
	}
	ck_assert(comm_test_open_devices());
	comm = comm_test_create(ENGINE_OWN, members);
	comm_test_make(arrays, KZ_F32, 12, number);
	ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_MIN, NULL, &err));
	ok(kz_comm_synchronize(comm, &err));
	comm_test_release(arrays);
}

START_TEST(a_fault_names_the_member_and_the_others_go_on)
{
	static const char text[] = "member 1 (cpu:1): ";
	kz_array *arrays[MEMBERS];
	float host[12];
	if (!comm_test_open_devices()) {
		return;
	}
	comm = comm_test_create(ENGINE_OWN, members);
	comm_test_make(arrays, KZ_F32, 12, number);
	start_fault(arrays, _i * 100000000LL);
	kz_status st = kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err);
	if (st) { /* the fault was there before */
		fails(st, KZ_FAULT, text);
	}
	fails(kz_comm_synchronize(comm, &err), KZ_FAULT, text);
	fails(kz_comm_synchronize(comm, &err), KZ_FAULT, text);
	fails(kz_comm_broadcast(comm, arrays, 0, NULL, &err), KZ_FAULT, text);
	fails(kz_comm_group_begin(comm, &err), KZ_FAULT, text);
	ok(kz_array_get(arrays[0], host, sizeof(host), &err));
	fails(kz_array_get(arrays[1], host, sizeof(host), &err), KZ_FAULT, "cpu:1 was lost");
	comm_test_release(arrays);
	begin_again();
	comm_test_close();
}
END_TEST

START_TEST(a_wait_ends_by_its_timeout_and_names_the_member)
{
	kz_comm_options options = KZ_COMM_OPTIONS_INIT;
	kz_array *arrays[MEMBERS];
	if (!comm_test_open_devices()) {
		return;
	}
	options.timeout_ms = 1;
	ok(kz_comm_create(&comm, devices, members, &options, &err));
	comm_test_make(arrays, KZ_F32, 12, number);
	start_fault(arrays, 1000000000LL);
	ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err));
	fails(kz_comm_synchronize(comm, &err), KZ_TIMEOUT,
		"member 1 (cpu:1) was not done within 1 ms");
	kz_status st;
	while ((st = kz_comm_synchronize(comm, &err)) == KZ_TIMEOUT) {
		kz_error_clear(&err);
	}
	fails(st, KZ_FAULT, "member 1 (cpu:1): ");
	comm_test_release(arrays);
	begin_again();
	comm_test_close();
}
END_TEST

COMM_TEST(a_call_without_memory_changes_nothing)
{
	kz_array *arrays[MEMBERS];
	bool is_done = false;
	comm_test_make(arrays, KZ_F32, 12, number);
	ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_MIN, NULL, &err)); /* compiled */
	comm_test_release(arrays);
	comm_test_make(arrays, KZ_F32, 12, number);
	for (long n = 0; !is_done; n++) {
		mem_fail_after(n);
		is_done = kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_MIN, NULL, &err)
			== KZ_OK;
		const bool has_failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(is_done, !has_failed);
		if (!is_done) {
			ck_assert_int_eq(err.status, KZ_NO_MEMORY);
			kz_error_clear(&err);
			comm_test_expect_all(arrays, number);
		}
	}
	comm_test_release(arrays);
}

START_TEST(creating_without_memory_leaves_nothing)
{
	kz_comm *made = NULL;
	bool is_done = false;
	if (!comm_test_open_devices()) {
		return;
	}
	for (long n = 0; !is_done; n++) {
		mem_fail_after(n);
		is_done = kz_comm_create(&made, devices, members, NULL, &err) == KZ_OK;
		const bool has_failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_int_eq(is_done, !has_failed);
		ck_assert(is_done == !!made);
		kz_error_clear(&err);
	}
	kz_comm_release(made);
	comm_test_close();
}
END_TEST

/* Two GPUs of the stub, whose driver fails at a call with a code. */
static void stub_devices(kz_device *out[2], const char *script)
{
	char text[96];
	snprintf(text, sizeof(text), "devices=2;clear=1;%s", script);
	support_stub(text);
	err = (kz_error)KZ_ERROR_INIT;
	ok(kz_device_open(&out[0], "cuda:0", &err));
	ok(kz_device_open(&out[1], "cuda:1", &err));
}

static const struct stub_fault {
	const char *call;
	int code;
	kz_status status;
	const char *text;   /* of the first call of this kind */
} stub_faults[] = {
	{"cuLaunchKernel", CUDA_ERROR_OUT_OF_MEMORY, KZ_DEVICE_MEMORY, "member 0 (cuda:0): "},
	{"cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY, KZ_DEVICE_MEMORY, "member 1 (cuda:1): "},
	{"cuStreamWaitEvent", CUDA_ERROR_OUT_OF_MEMORY, KZ_DEVICE_MEMORY, "member 0 (cuda:0): "},
	{"cuLaunchKernel", CUDA_ERROR_ILLEGAL_ADDRESS, KZ_FAULT, "member 0 (cuda:0): "},
	{"cuEventRecord", CUDA_ERROR_LAUNCH_FAILED, KZ_FAULT, "member 1 (cuda:1): "},
};

/* A call of the driver fails within a collective, the first, the second, ... of its kind. */
START_TEST(a_driver_that_fails_within_a_call_names_the_member)
{
	const struct stub_fault *fault = &stub_faults[_i];
	const bool is_sticky = fault->status == KZ_FAULT;
	kz_device *gpus[2];
	kz_array *arrays[2];
	kz_comm_options options = KZ_COMM_OPTIONS_INIT;
	bool has_failed = true;
	options.engine = KZ_COMM_OWN;
	for (int n = 1; has_failed; n++) {
		char script[96];
		kz_comm *made = NULL;
		stub_devices(gpus, "");
		ok(kz_comm_create(&made, gpus, 2, &options, &err));
		for (int m = 0; m < 2; m++) {
			ok(kz_array_zeros(&arrays[m], gpus[m], KZ_F32, KZ_SHAPE(12), &err));
		}
		snprintf(script, sizeof(script), "devices=2;clear=1;fail=%s:%d@%d", fault->call,
			fault->code, n);
		support_stub(script);
		kz_status st = kz_comm_all_reduce(made, arrays, arrays, KZ_REDUCE_SUM, NULL, &err);
		has_failed = st != KZ_OK;
		if (has_failed) {
			fails(st, fault->status, n == 1 ? fault->text : "member ");
			st = kz_comm_all_reduce(made, arrays, arrays, KZ_REDUCE_SUM, NULL, &err);
			ck_assert_int_eq(st, is_sticky ? KZ_FAULT : KZ_OK);
			kz_error_clear(&err);
		}
		ck_assert_msg(has_failed || n > 1, "%s was not called", fault->call);
		for (int m = 0; m < 2; m++) {
			kz_array_release(arrays[m]);
		}
		kz_comm_release(made);
		kz_device_close(gpus[0]);
		kz_device_close(gpus[1]);
	}
	kz_error_clear(&err);
}
END_TEST

COMM_TEST(a_forked_process_is_told)
{
	kz_array *arrays[MEMBERS];
	int status;
	comm_test_make(arrays, KZ_F32, 12, number);
	ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err));
	ok(kz_comm_synchronize(comm, &err));
	pid_t child = fork();
	if (child == 0) {
		kz_status st = kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, NULL);
		kz_status waited = kz_comm_synchronize(comm, NULL);
		kz_comm_release(comm);
		_exit(st == KZ_STATE && waited == KZ_STATE ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err));
	comm_test_release(arrays);
}

/* Questions of NULL, and releases of what was released. */
START_TEST(there_may_be_no_communicator)
{
	err = (kz_error)KZ_ERROR_INIT;
	ck_assert_int_eq(kz_comm_count(NULL), 0);
	ck_assert_int_eq(kz_comm_local_count(NULL), 0);
	ck_assert_int_eq(kz_comm_first(NULL), 0);
	ck_assert_int_eq(kz_comm_uses_nccl(NULL), 0);
	kz_comm_release(NULL);
	fails(kz_comm_synchronize(NULL, &err), KZ_INVALID, "expected a communicator, got NULL");
}
END_TEST

/* NCCL */

#define NCCL_TEST(name)                                                                            \
	static void name##_nccl(void);                                                             \
	START_TEST(name)                                                                           \
	{                                                                                          \
		if (!comm_test_is_cuda() && comm_test_open_devices()) {                            \
			comm = comm_test_create(ENGINE_NCCL, members);                             \
			name##_nccl();                                                             \
			comm_test_close();                                                         \
		}                                                                                  \
	}                                                                                          \
	END_TEST                                                                                   \
	static void name##_nccl(void)

NCCL_TEST(each_failure_of_nccl_is_an_error_value)
{
	static const char *const functions[] = {"ncclGroupStart", "ncclAllReduce", "ncclGroupEnd"};
	kz_array *arrays[MEMBERS];
	comm_test_make(arrays, KZ_F32, 12, number);
	for (size_t i = 0; i < countof(functions); i++) {
		char script[64];
		snprintf(script, sizeof(script), "%s:2", functions[i]);
		setenv("NCCL_STUB_FAIL", script, 1);
		fails(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err), KZ_IO,
			"a system call within NCCL failed");
		unsetenv("NCCL_STUB_FAIL");
	}
	comm_test_expect_all(arrays, number);
	comm_test_release(arrays);
}

NCCL_TEST(a_failure_of_another_process_ends_the_communicator)
{
	kz_array *arrays[MEMBERS];
	comm_test_make(arrays, KZ_F32, 12, number);
	ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err));
	setenv("NCCL_STUB_ASYNC", "2:6", 1);
	fails(kz_comm_synchronize(comm, &err), KZ_HARDWARE, "member 2 (cpu:2): "
		"ncclCommGetAsyncError: a member in another process failed, or cannot be reached");
	unsetenv("NCCL_STUB_ASYNC");
	fails(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err), KZ_HARDWARE,
		"member 2 (cpu:2): ");
	kz_comm_release(comm);
	comm = NULL;
	ck_assert_int_eq(nccl->aborted, members);
	comm_test_release(arrays);
}

NCCL_TEST(members_may_be_in_several_processes)
{
	kz_comm_options options = KZ_COMM_OPTIONS_INIT;
	kz_array *arrays[MEMBERS];
	kz_comm_id id;
	kz_comm *made;
	ok(kz_comm_id_create(&id, &err));
	options.id = &id;
	options.first = 3;
	options.count = 7;
	ok(kz_comm_create(&made, devices, members, &options, &err));
	ck_assert_int_eq(kz_comm_count(made), 7);
	ck_assert_int_eq(kz_comm_local_count(made), 4);
	ck_assert_int_eq(kz_comm_first(made), 3);
	comm_test_make(arrays, KZ_F32, 14, number);
	fails(kz_comm_reduce(made, arrays[0], arrays, KZ_REDUCE_SUM, 1, NULL, &err), KZ_INVALID,
		"expected NULL, since member 1 is in another process");
	fails(kz_comm_reduce_scatter(made, arrays, arrays, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"expected 2 elements of float32, got 14 of float32 for member 3");
	ok(kz_comm_group_begin(made, &err));
	fails(kz_comm_send(made, arrays[0], 1, 4, NULL, &err), KZ_INVALID,
		"member 1 is in another process");
	ok(kz_comm_group_end(made, &err));
	/* The stub has no other processes. */
	fails(kz_comm_all_reduce(made, arrays, arrays, KZ_REDUCE_SUM, NULL, &err), KZ_INVALID,
		"ncclGroupEnd: NCCL cannot be used so");
	kz_comm_release(made);
	comm_test_release(arrays);
}

START_TEST(nccl_that_is_missing_is_named)
{
	kz_comm_options options = KZ_COMM_OPTIONS_INIT;
	kz_comm_id id;
	if (!comm_test_open_devices()) {
		return;
	}
	setenv("KUDZU_NCCL", "none", 1);
	options.engine = KZ_COMM_NCCL;
	fails(kz_comm_create(&comm, devices, members, &options, &err), KZ_NOT_FOUND,
		"NCCL was not found");
	setenv("KUDZU_NCCL", KZ_TEST_BUILD "/libcuda-stub.so", 1);
	ck_assert_int_eq(kz_comm_id_create(&id, &err), KZ_NOT_FOUND);
	ck_assert_ptr_nonnull(strstr(err.log, "not NCCL, it lacks ncclGetVersion"));
	ck_assert_ptr_nonnull(strstr(err.hint, "nvidia-nccl-cu12"));
	kz_error_clear(&err);
	unsetenv("KUDZU_NCCL");
	comm_test_close();
}
END_TEST

SUITE(comm_errors)
{
	Suite *s = suite_create("comm_errors");
	TCase *tc = suite_add_case(s, "arguments");
	if (!comm_test_is_cuda()) { /* the texts name CPU devices */
		tcase_add_test(tc, communicators_of_wrong_devices_are_refused);
		tcase_add_test(tc, a_device_of_another_driver_is_refused);
		tcase_add_loop_test(tc, lists_that_do_not_match_are_refused, 0, ENGINES);
		tcase_add_loop_test(tc, streams_gaps_and_overlaps_are_refused, 0, ENGINES);
		tcase_add_loop_test(tc, messages_that_do_not_match_are_refused, 0, ENGINES);
		tcase_add_test(tc, there_may_be_no_communicator);
	}
	tc = suite_add_case(s, "failures");
	if (!comm_test_is_cuda()) {
		tcase_add_loop_test(tc, a_fault_names_the_member_and_the_others_go_on, 0, 2);
		tcase_add_test(tc, a_wait_ends_by_its_timeout_and_names_the_member);
		tcase_add_test(tc, a_forked_process_is_told);
	}
	tcase_add_loop_test(tc, a_driver_that_fails_within_a_call_names_the_member, 0,
		(int)countof(stub_faults));
	tcase_add_test(tc, a_call_without_memory_changes_nothing);
	tcase_add_test(tc, creating_without_memory_leaves_nothing);
	tc = suite_add_case(s, "nccl");
	tcase_add_test(tc, each_failure_of_nccl_is_an_error_value);
	tcase_add_test(tc, a_failure_of_another_process_ends_the_communicator);
	tcase_add_test(tc, members_may_be_in_several_processes);
	tcase_add_test(tc, nccl_that_is_missing_is_named);
	return s;
}
