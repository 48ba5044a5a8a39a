/* SPDX-License-Identifier: MIT */
/* What nvcc's code registers, and when it can be used. */
#include "base/common.h"

#include "program.h"

#include "support/suite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct program program;
static const dim3 one = {1, 1, 1};

enum { COUNT = 100 };

/* add<<<1, 128>>>(a, b, sum, COUNT), as nvcc writes it: sum is scale * 3 * i. */
static cudaError_t add(float *sum)
{
	float a[COUNT], b[COUNT];
	float *on_device[3];
	int n = COUNT;
	for (int i = 0; i < COUNT; i++) {
		a[i] = (float)i;
		b[i] = 2 * (float)i;
	}
	for (int i = 0; i < 3; i++) {
		program_ok(cudaMalloc((void **)&on_device[i], sizeof(a)));
	}
	program_ok(cudaMemcpy(on_device[0], a, sizeof(a), cudaMemcpyHostToDevice));
	program_ok(cudaMemcpy(on_device[1], b, sizeof(b), cudaMemcpyHostToDevice));
	void *values[] = {&on_device[0], &on_device[1], &on_device[2], &n};
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
	ck_assert_uint_eq(__cudaPushCallConfiguration(one, (dim3){128, 1, 1}, 0, NULL), 0);
	program_ok(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
	const cudaError_t code = cudaLaunchKernel(program_add, grid, block, values, shared, stream);
	if (!code) {
		program_ok(cudaMemcpy(sum, on_device[2], sizeof(a), cudaMemcpyDeviceToHost));
	}
	for (int i = 0; i < 3; i++) {
		program_ok(cudaFree(on_device[i]));
	}
	return code;
}

START_TEST(a_kernel_runs_by_its_address_on_the_host)
{
	float sum[COUNT];
	program_start(&program);
	program_ok(add(sum));
	for (int i = 0; i < COUNT; i++) {
		ck_assert_float_eq(sum[i], 3 * (float)i);
	}
}
END_TEST

START_TEST(a_stub_of_cuda_13_launches_by_a_kernel)
{
	CUkernel kernel = NULL;
	unsigned counter = 0;
	program_start(&program);
	program_ok(__cudaGetKernel(&kernel, program_count));
	ck_assert_ptr_nonnull(kernel);
	program_ok(__cudaLaunchKernel(kernel, (dim3){3, 1, 1}, (dim3){2, 1, 1}, NULL, 0, NULL));
	program_ok(cudaMemcpyFromSymbol(&counter, &program_counter, 4, 0, cudaMemcpyDefault));
	ck_assert_uint_eq(counter, 6);
}
END_TEST

START_TEST(variables_are_known_by_their_addresses)
{
	float sum[COUNT], scale = 10;
	size_t size;
	void *address;
	program_start(&program);
	program_ok(cudaMemcpyToSymbol(&program_scale, &scale, 4, 0, cudaMemcpyHostToDevice));
	program_ok(add(sum));
	ck_assert_float_eq(sum[7], 210);
	program_ok(cudaGetSymbolSize(&size, &program_counter));
	ck_assert_uint_eq(size, 4);
	program_ok(cudaGetSymbolAddress(&address, &program_scale));
	scale = 0;
	program_ok(cudaMemcpy(&scale, address, 4, cudaMemcpyDeviceToHost));
	ck_assert_float_eq(scale, 10);
	program_fails(cudaMemcpyToSymbol(&program_scale, &scale, 4, 1, 1), cudaErrorInvalidValue);
	program_fails(cudaMemcpyToSymbol(&program_scale, &scale, 1, 8, 1), cudaErrorInvalidValue);
	program_fails(cudaGetSymbolSize(&size, &program), cudaErrorInvalidSymbol);
	program_fails(cudaGetSymbolSize(&size, program_add), cudaErrorInvalidSymbol);
}
END_TEST

START_TEST(a_managed_variable_is_where_host_code_looks)
{
	void *address;
	program_start(&program);
	ck_assert_int_eq(__cudaInitModule(program.handle), 1);
	ck_assert_ptr_nonnull(program_shared);
	ck_assert_uint_eq(*program_shared, 40);
	program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
	program_ok(cudaDeviceSynchronize());
	ck_assert_uint_eq(*program_shared, 41);
	program_ok(cudaGetSymbolAddress(&address, program_shared));
	ck_assert_ptr_eq(address, program_shared);
}
END_TEST

START_TEST(a_launch_before_registration_has_ended_finds_what_is_there)
{
	CUkernel kernel = (CUkernel)(void *)&program;
	float sum[COUNT];
	program_fails(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL),
		cudaErrorInvalidDeviceFunction);
	program_open(&program);
	program_fails(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL),
		cudaErrorInvalidDeviceFunction);
	program_fails(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
	program_fails(__cudaGetKernel(&kernel, program_count), cudaErrorInvalidDeviceFunction);
	ck_assert_ptr_null(kernel);
	program_fails(__cudaLaunchKernel(kernel, one, one, NULL, 0, NULL),
		cudaErrorInvalidDeviceFunction);
	program_fails(cudaGetKernel(&kernel, program_count), cudaErrorInvalidDeviceFunction);
	program_fails(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
	program_register(&program);
	program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
	program_ok(add(sum));
	program_ok(cudaGetLastError());
}
END_TEST

START_TEST(what_is_unregistered_is_forgotten)
{
	static struct program other;
	float sum[COUNT];
	program_start(&program);
	program_ok(add(sum));
	__cudaUnregisterFatBinary(program.handle);
	program_fails(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL),
		cudaErrorInvalidDeviceFunction);
	program_start(&other);
	program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
	program_ok(cudaDeviceSynchronize());
	__cudaUnregisterFatBinary(other.handle);
	__cudaUnregisterFatBinary(NULL);
}
END_TEST

/* What is written to stderr in the meantime. */
static int begin_capture(FILE **file)
{
	const int old = dup(STDERR_FILENO);
	*file = tmpfile();
	ck_assert_ptr_nonnull(*file);
	dup2(fileno(*file), STDERR_FILENO);
	return old;
}

static void end_capture(int old, FILE *file, char *text, size_t size)
{
	dup2(old, STDERR_FILENO);
	close(old);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

START_TEST(a_fat_binary_without_ptx_says_what_it_has_and_what_it_needs)
{
	char said[1000];
	FILE *file;
	CUkernel kernel = (CUkernel)(void *)&program;
	memset(&program, 0, sizeof(program));
	program_put(&program, 2, 80, "\177ELF", 5);
	program_put(&program, 2, 90, "\177ELF", 5);
	program.wrapper.magic = 0x466243b1;
	program.wrapper.version = 1;
	program.wrapper.data = program.image;
	program.handle = __cudaRegisterFatBinary(&program.wrapper);
	program_register(&program);
	const int old = begin_capture(&file);
	const cudaError_t code = cudaLaunchKernel(program_count, one, one, NULL, 0, NULL);
	const cudaError_t stub = __cudaGetKernel(&kernel, program_count);
	const cudaError_t later = __cudaLaunchKernel(kernel, one, one, NULL, 0, NULL);
	end_capture(old, file, said, sizeof(said));
	program_fails(code, cudaErrorNoKernelImageForDevice);
	program_fails(stub, cudaErrorNoKernelImageForDevice);
	ck_assert_ptr_null(kernel);
	program_fails(later, cudaErrorNoKernelImageForDevice);
	ck_assert_ptr_nonnull(strstr(said, "sm_80, sm_90"));
	ck_assert_ptr_nonnull(strstr(said, "-gencode arch=compute_89,code=compute_89"));
	ck_assert_msg(strchr(said, '\n') == said + strlen(said) - 1, "not one line: %s", said);
}
END_TEST

START_TEST(what_is_no_fat_binary_is_refused)
{
	int wrong[8] = {0};
	ck_assert_ptr_null(__cudaRegisterFatBinary(NULL));
	ck_assert_ptr_null(__cudaRegisterFatBinary(wrong));
	__cudaRegisterFunction(NULL, (const char *)(uintptr_t)program_add, NULL, "add", -1, NULL,
		NULL, NULL, NULL, NULL);
	program_fails(cudaLaunchKernel(program_add, one, one, NULL, 0, NULL),
		cudaErrorInvalidDeviceFunction);
	memset(&program, 0, sizeof(program));
	program.wrapper.magic = 0x466243b1;
	program.wrapper.version = 1;
	program.wrapper.data = "neither";
	program.handle = __cudaRegisterFatBinary(&program.wrapper);
	program_register(&program);
	ck_assert_int_ne(cudaLaunchKernel(program_add, one, one, NULL, 0, NULL), cudaSuccess);
	ck_assert_int_eq(__cudaInitModule(program.handle), 0);
}
END_TEST

/* --- Processes --- */

/* The exit status of a child that does this. */
static int child_of(void (*work)(void))
{
	int status = -1;
	const pid_t child = fork();
	if (child == 0) {
		work();
		exit(0);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void unregister_at_exit(void)
{
	__cudaUnregisterFatBinary(program.handle);
}

/* As in a program, where nvcc's code hands this to atexit before the driver is loaded. */
static void leave_with_work_in_flight(void)
{
	program_start(&program);
	atexit(unregister_at_exit);
	for (int i = 0; i < 100; i++) {
		if (cudaLaunchKernel(program_count, (dim3){100, 1, 1}, one, NULL, 0, NULL)) {
			_exit(1);
		}
	}
}

START_TEST(a_program_ends_with_work_in_flight)
{
	ck_assert_int_eq(child_of(leave_with_work_in_flight), 0);
}
END_TEST

static void use_after_fork(void)
{
	void *memory;
	_exit(cudaMalloc(&memory, 100) == cudaErrorInitializationError
		&& cudaLaunchKernel(program_count, one, one, NULL, 0, NULL)
			== cudaErrorInitializationError ? 0 : 1);
}

static void use_at_last(void)
{
	float sum[COUNT];
	program_start(&program);
	_exit(add(sum) == cudaSuccess && sum[1] == 3 ? 0 : 1);
}

START_TEST(a_child_of_a_program_that_has_used_a_device_is_told)
{
	float sum[COUNT];
	ck_assert_int_eq(child_of(use_at_last), 0); /* before any use the child may */
	program_start(&program);
	program_ok(add(sum));
	ck_assert_int_eq(child_of(use_after_fork), 0);
	program_ok(add(sum));
}
END_TEST

/* atexit calls these in the opposite order: after the kernels are unregistered. */
static void *memory_at_exit;

static void free_at_exit(void)
{
	if (cudaFree(memory_at_exit)
	    || cudaLaunchKernel(program_count, one, one, NULL, 0, NULL)
		!= cudaErrorInvalidDeviceFunction) {
		_exit(1);
	}
}

static void use_after_unregistering(void)
{
	atexit(free_at_exit);
	leave_with_work_in_flight();
	if (cudaMalloc(&memory_at_exit, 100)) {
		_exit(1);
	}
}

START_TEST(memory_may_be_freed_after_kernels_are_unregistered)
{
	ck_assert_int_eq(child_of(use_after_unregistering), 0);
}
END_TEST

/* A thread launches until the process is gone. */
static void *launch_for_ever(void *data)
{
	for (;;) {
		if (cudaLaunchKernel(program_count, one, one, NULL, 0, NULL) == cudaSuccess) {
			atomic_store((atomic_bool *)data, true);
		}
	}
	return NULL;
}

static void leave_a_thread_at_work(void)
{
	static atomic_bool has_launched;
	pthread_t thread;
	program_start(&program);
	atexit(unregister_at_exit);
	if (pthread_create(&thread, NULL, launch_for_ever, &has_launched)) {
		_exit(1);
	}
	while (!atomic_load(&has_launched)) {
		sched_yield();
	}
}

START_TEST(a_program_ends_while_another_thread_launches)
{
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(child_of(leave_a_thread_at_work), 0);
	}
}
END_TEST

/* Heap memory that is left is used up, and no more is to be had, until the limit is lifted. */
static void register_without_memory(void)
{
	struct rlimit none, before;
	program_open(&program);
	getrlimit(RLIMIT_AS, &before);
	none = before;
	none.rlim_cur = 1;
	setrlimit(RLIMIT_AS, &none);
	for (size_t size = 1 << 16; size > 0; size /= 2) {
		while (malloc(size)) {
		}
	}
	static struct program other;
	memcpy(&other, &program, sizeof(other));
	other.wrapper.data = other.image;
	other.handle = __cudaRegisterFatBinary(&other.wrapper);
	const bool is_lost = !other.handle;
	__cudaRegisterFunction(other.handle, (const char *)(uintptr_t)program_add, NULL, "add", -1,
		NULL, NULL, NULL, NULL, NULL);
	setrlimit(RLIMIT_AS, &before);
	__cudaRegisterFunction(program.handle, (const char *)(uintptr_t)program_count, NULL,
		"count", -1, NULL, NULL, NULL, NULL, NULL);
	_exit(is_lost
		&& cudaLaunchKernel(program_add, one, one, NULL, 0, NULL)
			== cudaErrorMemoryAllocation
		&& cudaGetSymbolSize(&(size_t){0}, &program_scale) == cudaErrorMemoryAllocation
		&& cudaLaunchKernel(program_count, one, one, NULL, 0, NULL) == cudaSuccess
		? 0 : 1);
}

/* A sanitizer has a heap of its own, which ends the process. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HEAP_CAN_RUN_OUT = 0 };
#else
enum { HEAP_CAN_RUN_OUT = 1 };
#endif

START_TEST(what_could_not_be_registered_is_out_of_memory)
{
	if (HEAP_CAN_RUN_OUT) {
		ck_assert_int_eq(child_of(register_without_memory), 0);
	}
}
END_TEST

/* --- Libraries --- */

#define RUNTIME_HERE (KZ_CUDART == 12 ? "libcudart.so.12" : "libcudart.so.13")
#define RUNTIME_OTHER (KZ_CUDART == 12 ? "libcudart.so.13" : "libcudart.so.12")

START_TEST(two_runtimes_share_a_process)
{
	void *memory;
	int version = 0, mine = 0;
	unsigned value = 0;
	program_start(&program);
	void *other = dlopen(RUNTIME_OTHER, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(other, "%s", dlerror());
	typedef cudaError_t peek_call(void);
	typedef cudaError_t version_call(int *version);
	typedef cudaError_t allocate_call(void **out, size_t size);
	typedef cudaError_t fill_call(void *memory, int value, size_t size);
	peek_call *peek = (peek_call *)dlsym(other, "cudaPeekAtLastError");
	version_call *get_version = (version_call *)dlsym(other, "cudaRuntimeGetVersion");
	allocate_call *allocate = (allocate_call *)dlsym(other, "cudaMalloc");
	fill_call *fill = (fill_call *)dlsym(other, "cudaMemset");
	program_ok(get_version(&version));
	program_ok(cudaRuntimeGetVersion(&mine));
	ck_assert_int_eq(version / 1000 + mine / 1000, 25);
	program_ok(allocate(&memory, 4));
	program_ok(fill(memory, 1, 4));
	program_ok(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost));
	ck_assert_uint_eq(value, 0x01010101);
	program_fails(cudaSetDevice(1000), cudaErrorInvalidDevice);
	program_ok(peek()); /* each has its own last error */
	program_ok(cudaFree(memory));
	dlclose(other);
	program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
	program_ok(cudaDeviceSynchronize());
}
END_TEST

START_TEST(a_runtime_may_be_closed_and_opened_again)
{
	for (int i = 0; i < 3; i++) {
		void *memory = NULL;
		void *runtime = dlopen(RUNTIME_OTHER, RTLD_NOW | RTLD_LOCAL);
		ck_assert_msg(runtime, "%s", dlerror());
		typedef cudaError_t allocate_call(void **out, size_t size);
		allocate_call *allocate = (allocate_call *)dlsym(runtime, "cudaMalloc");
		ck_assert_int_eq(allocate(&memory, 4), cudaSuccess);
		dlclose(runtime);
	}
}
END_TEST

/* --- Libraries with kernels --- */

#define PLUGIN_HERE (KZ_CUDART == 12 ? "plugin12.so" : "plugin13.so")
#define PLUGIN_OTHER (KZ_CUDART == 12 ? "plugin13.so" : "plugin12.so")

typedef cudaError_t plugin_count_call(unsigned blocks, unsigned *counter, unsigned *managed);
typedef cudaError_t plugin_start_call(unsigned blocks);
typedef const void *plugin_kernel_call(void);

static void *open_plugin(const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", KZ_TEST_BUILD, name);
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(plugin, "%s", dlerror());
	return plugin;
}

static void close_plugin(void *plugin, const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", KZ_TEST_BUILD, name);
	ck_assert_int_eq(dlclose(plugin), 0);
	ck_assert_ptr_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
}

/* Its variables have their first values, and grow. */
static void check_plugin(void *plugin)
{
	unsigned counter = 0, managed = 0;
	plugin_count_call *count = (plugin_count_call *)dlsym(plugin, "plugin_count");
	program_ok(count(3, &counter, &managed));
	ck_assert_uint_eq(counter, 3);
	ck_assert_uint_eq(managed, 43);
	program_ok(count(2, &counter, &managed));
	ck_assert_uint_eq(counter, 5);
	ck_assert_uint_eq(managed, 45);
}

START_TEST(a_plugin_can_be_closed_and_opened_again)
{
	float sum[COUNT];
	for (int i = 0; i < 3; i++) {
		void *plugin = open_plugin(PLUGIN_HERE);
		plugin_kernel_call *kernel = (plugin_kernel_call *)dlsym(plugin, "plugin_kernel");
		const void *host = kernel();
		check_plugin(plugin);
		program_ok(cudaLaunchKernel(host, one, one, NULL, 0, NULL));
		close_plugin(plugin, PLUGIN_HERE);
		program_fails(cudaLaunchKernel(host, one, one, NULL, 0, NULL),
			cudaErrorInvalidDeviceFunction);
		program_ok(cudaDeviceSynchronize());
	}
	program_start(&program);
	program_ok(add(sum));
}
END_TEST

START_TEST(a_plugin_is_closed_while_its_kernels_run)
{
	float sum[COUNT];
	program_start(&program);
	for (int i = 0; i < 3; i++) {
		void *plugin = open_plugin(PLUGIN_HERE);
		plugin_start_call *start = (plugin_start_call *)dlsym(plugin, "plugin_start");
		for (int j = 0; j < 20; j++) {
			program_ok(start(1000));
		}
		close_plugin(plugin, PLUGIN_HERE);
		program_ok(cudaDeviceSynchronize());
		program_ok(add(sum));
	}
}
END_TEST

START_TEST(a_plugin_may_have_another_runtime)
{
	unsigned counter = 0;
	float sum[COUNT];
	program_start(&program);
	for (int i = 0; i < 2; i++) {
		void *here = open_plugin(PLUGIN_HERE), *other = open_plugin(PLUGIN_OTHER);
		check_plugin(other);
		check_plugin(here);
		program_ok(add(sum));
		program_ok(cudaMemcpyFromSymbol(&counter, &program_counter, 4, 0,
			cudaMemcpyDeviceToHost));
		ck_assert_uint_eq(counter, 0);
		close_plugin(other, PLUGIN_OTHER);
		program_ok(add(sum));
		other = open_plugin(PLUGIN_OTHER);
		check_plugin(other);
		close_plugin(here, PLUGIN_HERE);
		close_plugin(other, PLUGIN_OTHER);
	}
}
END_TEST

static void leave_plugin_at_work(const char *name)
{
	void *plugin = open_plugin(name);
	plugin_start_call *start = (plugin_start_call *)dlsym(plugin, "plugin_start");
	for (int i = 0; i < 20; i++) {
		program_ok(start(1000));
	}
}

static void leave_plugins_at_work(void)
{
	leave_plugin_at_work(PLUGIN_HERE);
	leave_plugin_at_work(PLUGIN_OTHER);
}

START_TEST(a_program_ends_with_plugins_at_work)
{
	ck_assert_int_eq(child_of(leave_plugins_at_work), 0);
}
END_TEST

/* --- A plugin is closed while another thread launches for the first time --- */

static atomic_int launcher; /* its number, once it is about to launch */
static atomic_bool has_launched;

static void *launch_first(void *unused)
{
	(void)unused;
	atomic_store(&launcher, (int)gettid());
	program_ok(cudaLaunchKernel(program_count, one, one, NULL, 0, NULL));
	atomic_store(&has_launched, true);
	return NULL;
}

/* Whether a thread of this process waits for something. */
static bool thread_sleeps(int thread)
{
	char path[64], text[256] = "";
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	FILE *file = fopen(path, "r");
	const char *end = file && fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	if (file) {
		fclose(file);
	}
	return end && strncmp(end, ") S", 3) == 0;
}

/* The dynamic linker's lock is held.  The thread needs it to load the compiler, so it sleeps in the
 * end; it may do so for a moment before that. */
static void let_another_thread_launch(void)
{
	static pthread_t thread;
	if (pthread_create(&thread, NULL, launch_first, NULL)) {
		_exit(1);
	}
	for (int times = 0; times < 100 && !atomic_load(&has_launched);) {
		const int number = atomic_load(&launcher);
		times = number != 0 && thread_sleeps(number) ? times + 1 : 0;
		sched_yield();
	}
	pthread_detach(thread);
}

static void close_while_another_thread_launches(void)
{
	void *memory;
	alarm(60);
	setenv("KUDZU_CACHE", "0", 1); /* the compiler is needed */
	program_start(&program);
	program_ok(cudaMalloc(&memory, 4));
	void *plugin = open_plugin(PLUGIN_HERE);
	void (**at_close)(void) = (void (**)(void))dlsym(plugin, "plugin_at_close");
	*at_close = let_another_thread_launch;
	close_plugin(plugin, PLUGIN_HERE);
	while (!atomic_load(&has_launched)) {
		sched_yield();
	}
	program_ok(cudaDeviceSynchronize());
}

START_TEST(a_plugin_is_closed_while_another_thread_launches)
{
	ck_assert_int_eq(child_of(close_while_another_thread_launches), 0);
}
END_TEST

SUITE(cudart_register)
{
	Suite *suite = suite_create("cudart_register");
	TCase *tc = suite_add_case(suite, "symbols");
	tcase_add_test(tc, a_kernel_runs_by_its_address_on_the_host);
	tcase_add_test(tc, a_stub_of_cuda_13_launches_by_a_kernel);
	tcase_add_test(tc, variables_are_known_by_their_addresses);
	tcase_add_test(tc, a_managed_variable_is_where_host_code_looks);
	tcase_add_test(tc, a_launch_before_registration_has_ended_finds_what_is_there);
	tcase_add_test(tc, what_is_unregistered_is_forgotten);
	tc = suite_add_case(suite, "refusals");
	tcase_add_test(tc, a_fat_binary_without_ptx_says_what_it_has_and_what_it_needs);
	tcase_add_test(tc, what_is_no_fat_binary_is_refused);
	tc = suite_add_case(suite, "processes");
	tcase_add_test(tc, a_program_ends_with_work_in_flight);
	tcase_add_test(tc, a_child_of_a_program_that_has_used_a_device_is_told);
	tcase_add_test(tc, memory_may_be_freed_after_kernels_are_unregistered);
	tcase_add_test(tc, a_program_ends_while_another_thread_launches);
	tcase_add_test(tc, what_could_not_be_registered_is_out_of_memory);
	tc = suite_add_case(suite, "libraries");
	tcase_add_test(tc, two_runtimes_share_a_process);
	tcase_add_test(tc, a_runtime_may_be_closed_and_opened_again);
	tc = suite_add_case(suite, "plugins");
	tcase_add_test(tc, a_plugin_can_be_closed_and_opened_again);
	tcase_add_test(tc, a_plugin_is_closed_while_its_kernels_run);
	tcase_add_test(tc, a_plugin_may_have_another_runtime);
	tcase_add_test(tc, a_program_ends_with_plugins_at_work);
	tcase_add_test(tc, a_plugin_is_closed_while_another_thread_launches);
	return suite;
}
