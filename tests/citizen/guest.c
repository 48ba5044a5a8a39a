/* SPDX-License-Identifier: MIT */
/*
 * usage: guest sandbox|signals|compiling|locale|errors|exec|leave
 *
 * What a program expects of a library that lives in it: it runs where no process may be started, it
 * gives signals back as they were, its numbers do not depend on the locale, it prints nothing, what
 * it has open is not handed on, and the program may end at any time.
 * tests/citizen/check runs it, in the surroundings that each needs.
 */
#define _GNU_SOURCE
#include <kudzu/kudzu.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

static int failures;

static void fail(int line, const char *what)
{
	fprintf(stderr, "guest.c:%d: expected %s\n", line, what);
	failures++;
}

static void check_ok(int line, kz_error *err)
{
	if (kz_error_status(err)) {
		fprintf(stderr, "guest.c:%d: ", line);
		kz_error_print(err, stderr);
		kz_error_clear(err);
		failures++;
	}
}
#define CHECK_OK(call) ((call) ? check_ok(__LINE__, &err) : (void)0)

static const char twice[] = "__global__ void twice(float *a) { a[threadIdx.x] *= 2; }";

/* Compile a kernel and run it. */
static void run_kernel(kz_device *dev)
{
	float host[4] = {1, 2, 3, 4};
	kz_error err = KZ_ERROR_INIT;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	if (!kz_module_compile(&mod, dev, twice, NULL, &err)
	    && !kz_module_kernel(&kernel, mod, "twice", &err)) {
		CHECK_OK(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(4, 1, 1), NULL, &err,
			KZ_ARGS(KZ_INOUT(host, sizeof(host)))));
	}
	check_ok(__LINE__, &err);
	CHECK(host[3] == 8);
	kz_module_release(mod);
}

/*
 * From here on the kernel of the system ends the process for starting another one: by execve, by
 * fork, or by a clone that makes no thread.  clone3 has its flags in memory, where a filter cannot
 * look: it is said not to exist, and the C library takes clone.
 */
static int forbid_processes(void)
{
	static const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#define ON(number, action) \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)
		ON(SYS_execve, SECCOMP_RET_KILL_PROCESS),
		ON(SYS_execveat, SECCOMP_RET_KILL_PROCESS),
#ifdef SYS_fork
		ON(SYS_fork, SECCOMP_RET_KILL_PROCESS),
		ON(SYS_vfork, SECCOMP_RET_KILL_PROCESS),
#endif
#ifdef SYS_clone3
		ON(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS),
#endif
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x10000 /* CLONE_THREAD */, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter),
		(struct sock_filter *)filter};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
		&& prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void sandbox(kz_device *dev)
{
	if (!forbid_processes()) {
		puts("no seccomp here: not tested");
	}
	run_kernel(dev);
}

static sigjmp_buf back;
static volatile sig_atomic_t seen;

static void on_signal(int number)
{
	seen = number;
	siglongjmp(back, 1);
}

static void fault_here(void)
{
	static volatile int *volatile nowhere;
	seen = 0;
	if (!sigsetjmp(back, 1)) {
		*nowhere = 1;
	}
	CHECK(seen == SIGSEGV);
}

enum { SIGNALS = 65 };

static void handlers_now(void (*out[SIGNALS])(int), sigset_t *mask)
{
	for (int i = 1; i < SIGNALS; i++) {
		struct sigaction action = {0};
		sigaction(i, NULL, &action);
		out[i] = action.sa_handler;
	}
	sigprocmask(SIG_SETMASK, NULL, mask);
}

/* The handlers of a program get its own faults while a device is open, and are back when it is not.
 * SIGURG, by which kernels that run too long are interrupted, stays from the first such kernel
 * on. */
static void signals(kz_device *none)
{
	void (*before[SIGNALS])(int) = {0}, (*after[SIGNALS])(int) = {0};
	sigset_t mask, mask_after;
	kz_device *dev = NULL;
	kz_error err = KZ_ERROR_INIT;
	(void)none;
	signal(SIGSEGV, on_signal);
	signal(SIGUSR1, SIG_IGN);
	handlers_now(before, &mask);
	CHECK_OK(kz_device_open(&dev, "cpu", &err));
	run_kernel(dev);
	handlers_now(after, &mask_after);
	for (int i = 1; i < SIGNALS; i++) {
		int ours = i == SIGSEGV || i == SIGBUS || i == SIGFPE || i == SIGILL;
		CHECK((after[i] != before[i]) == ours);
	}
	fault_here();
	run_kernel(dev);
	fault_here();
	kz_device_close(dev);
	handlers_now(after, &mask_after);
	CHECK(memcmp(before, after, sizeof(before)) == 0);
	for (int i = 1; i < SIGNALS; i++) {
		CHECK(sigismember(&mask, i) == sigismember(&mask_after, i));
	}
	fault_here();
}

/* Compile some sources that are not in the cache. */
static void *compile_some(void *number)
{
	for (int i = 0; i < 4; i++) {
		char source[100];
		kz_error err = KZ_ERROR_INIT;
		kz_image *image = NULL;
		snprintf(source, sizeof(source), "__global__ void k(int *a) { a[0] = %d; }",
			100 * *(const int *)number + i);
		CHECK_OK(kz_compile(&image, source, NULL, &err));
		kz_image_release(image);
	}
	return NULL;
}

/* A kernel that faults is an error value, while other threads compile too. */
static void fault_kernel(kz_image *image)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	if (!kz_device_open(&dev, "cpu", &err) && !kz_module_load_image(&mod, dev, image, &err)
	    && !kz_module_kernel(&kernel, mod, "wild", &err)
	    && !kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(NULL))) {
		CHECK(kz_device_synchronize(dev, NULL) == KZ_FAULT);
	}
	check_ok(__LINE__, &err);
	kz_module_release(mod);
	kz_device_close(dev);
}

/* Never called. */
static void on_information(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
}

/* NVRTC takes signals while it compiles, and gives them back without their flags and masks. */
static void compiling(kz_device *none)
{
	enum { THREADS = 3 };
	static const int numbers[THREADS] = {1, 2, 3};
	static const int used[] = {SIGINT, SIGTERM, SIGXFSZ, SIGABRT, SIGFPE};
	struct sigaction before[SIGNALS], after, own = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
	pthread_t threads[THREADS];
	kz_error err = KZ_ERROR_INIT;
	kz_image *wild = NULL;
	(void)none;
	own.sa_sigaction = on_information;
	sigaddset(&own.sa_mask, SIGUSR1);
	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++) {
		CHECK(sigaction(used[i], &own, NULL) == 0);
	}
	for (int i = 1; i < SIGNALS; i++) {
		sigaction(i, NULL, &before[i]);
	}
	CHECK_OK(kz_compile(&wild, "__global__ void wild(int *a) { a[1 << 30] = 1; }", NULL, &err));
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&threads[i], NULL, compile_some, (void *)&numbers[i]) == 0);
	}
	for (int i = 0; i < 20; i++) {
		fault_kernel(wild);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	for (int i = 1; i < SIGNALS; i++) {
		if (sigaction(i, NULL, &after) == 0 && (after.sa_sigaction != before[i].sa_sigaction
			|| (before[i].sa_handler != SIG_DFL && after.sa_flags != before[i].sa_flags)
			|| sigismember(&after.sa_mask, SIGUSR1) != sigismember(&before[i].sa_mask,
				SIGUSR1))) {
			fail(__LINE__, strsignal(i));
		}
	}
	kz_image_release(wild);
}

static void check_text(int line, const char *what, const char *expected)
{
	if (strcmp(what, expected) != 0) {
		fprintf(stderr, "guest.c:%d: expected %s, got %s\n", line, expected, what);
		failures++;
	}
}
#define CHECK_TEXT(what, expected) check_text(__LINE__, what, expected)

static void eval_and_print(kz_device *dev)
{
	double host[2] = {1, 3};
	char text[64];
	kz_error err = KZ_ERROR_INIT;
	kz_array *a = NULL, *b = NULL;
	CHECK_OK(kz_array_from(&a, dev, KZ_F64, KZ_SHAPE(2), host, sizeof(host), &err));
	CHECK_OK(kz_eval(&b, "0.5*a + 1e-1", NULL, &err, KZ_VARS(a)));
	CHECK_OK(kz_array_format(b, text, sizeof(text), NULL, &err));
	CHECK_TEXT(text, "[0.6 1.6]\n");
	kz_array_release(a);
	kz_array_release(b);
}

/* "cpu: ..., 1.5 GiB" */
static void diagnose(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_diagnosis *diagnosis = NULL;
	int found = 0;
	CHECK_OK(kz_diagnose(&diagnosis, &err));
	for (int64_t i = 0; i < kz_diagnosis_count(diagnosis); i++) {
		const char *text = kz_diagnosis_finding(diagnosis, i)->text;
		const char *unit = strstr(text, " GiB");
		found += unit && unit - text > 2 && unit[-2] == '.';
	}
	CHECK(found > 0);
	kz_diagnosis_release(diagnosis);
}

/* The lexer of PTX reads decimals, its messages have them. */
static void refuse_ptx(kz_device *dev)
{
	static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k()\n{\n\t.reg .b64 %rd<2>;\n\tst.u32 [%rd1+1.5], 0;\n}\n";
	kz_error err = KZ_ERROR_INIT;
	kz_module *mod = NULL;
	CHECK(kz_module_load(&mod, dev, ptx, sizeof(ptx) - 1, &err) == KZ_BAD_IMAGE);
	CHECK(strstr(kz_error_message(&err), "1.5") != NULL);
	kz_error_clear(&err);
	kz_module_release(mod);
}

/* What a kernel prints goes to the program's own output, where tests/citizen/check looks. */
static void print_from_kernel(kz_device *dev)
{
	static const char source[] = "#include <stdio.h>\n"
		"__global__ void tell(float x) { printf(\"%.2f %g\\n\", x, 0.25); }";
	kz_error err = KZ_ERROR_INIT;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	if (!kz_module_compile(&mod, dev, source, NULL, &err)
	    && !kz_module_kernel(&kernel, mod, "tell", &err)
	    && !kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(1.5f))) {
		CHECK_OK(kz_device_synchronize(dev, &err));
	}
	check_ok(__LINE__, &err);
	kz_module_release(mod);
}

static void locale(kz_device *dev)
{
	char comma[8];
	CHECK(setlocale(LC_ALL, "") != NULL);
	snprintf(comma, sizeof(comma), "%.1f", 1.5);
	CHECK_TEXT(comma, "1,5"); /* else nothing is tested */
	run_kernel(dev);
	eval_and_print(dev);
	diagnose();
	refuse_ptx(dev);
	print_from_kernel(dev);
}

/* Failures of every kind, told to nobody but the caller. */
static void errors(kz_device *dev)
{
	static const char wild[] = "__global__ void wild(int *a) { a[1 << 30] = 1; }";
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_array *a = NULL;
	CHECK(kz_device_open(NULL, NULL, NULL) == KZ_INVALID);
	CHECK(kz_module_compile(&mod, dev, "#warning w\nint x = y;", NULL, NULL) == KZ_COMPILE);
	CHECK(kz_module_load(&mod, dev, ".version 7.0\n.target", 21, NULL) == KZ_BAD_IMAGE);
	CHECK(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(-1), NULL) == KZ_INVALID);
	CHECK(kz_array_zeros(&a, dev, KZ_F32, KZ_SHAPE(4), NULL) == KZ_OK);
	CHECK(kz_module_compile(&mod, dev, wild, NULL, NULL) == KZ_OK);
	CHECK(kz_module_kernel(&kernel, mod, "tame", NULL) == KZ_NOT_FOUND);
	CHECK(kz_module_kernel(&kernel, mod, "wild", NULL) == KZ_OK);
	CHECK(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, NULL, KZ_ARGS(1))
		== KZ_ARGUMENT);
	CHECK(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, NULL, KZ_ARGS(NULL))
		== KZ_OK);
	CHECK(kz_device_synchronize(dev, NULL) == KZ_FAULT);
	kz_array_release(a);
	kz_module_release(mod);
}

/* A program that is started has none of the library's descriptors. */
static void exec(kz_device *none)
{
	enum { FDS = 256 };
	int before[FDS];
	kz_device *dev = NULL;
	kz_error err = KZ_ERROR_INIT;
	(void)none;
	for (int fd = 0; fd < FDS; fd++) {
		before[fd] = fcntl(fd, F_GETFD);
	}
	CHECK_OK(kz_device_open(&dev, "cpu", &err));
	run_kernel(dev);
	for (int fd = 0; fd < FDS; fd++) {
		int flags = fcntl(fd, F_GETFD);
		CHECK(flags == before[fd] || (flags & FD_CLOEXEC));
	}
	kz_device_close(dev);
}

/* The end comes while kernels run, with everything open. */
static void leave(kz_device *dev)
{
	static const char source[] = "__global__ void wait(volatile int *a)\n"
		"{ while (*a == 0) { } }";
	kz_error err = KZ_ERROR_INIT;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_array *a = NULL;
	if (!kz_module_compile(&mod, dev, source, NULL, &err)
	    && !kz_module_kernel(&kernel, mod, "wait", &err)
	    && !kz_array_zeros(&a, dev, KZ_I32, KZ_SHAPE(1), &err)) {
		CHECK_OK(kz_launch(kernel, kz_dim(8, 1, 1), kz_dim(32, 1, 1), NULL, &err,
			KZ_ARGS(a)));
	}
	check_ok(__LINE__, &err);
	exit(failures != 0);
}

static const struct {
	const char *name;
	void (*run)(kz_device *dev);
	int opens; /* its own device */
} parts[] = {
	{"sandbox", sandbox, 0}, {"signals", signals, 1}, {"compiling", compiling, 1},
	{"locale", locale, 0}, {"errors", errors, 0},
	{"exec", exec, 1}, {"leave", leave, 0},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(parts) / sizeof(*parts); i++) {
		if (strcmp(parts[i].name, argv[1]) == 0) {
			kz_device *dev = NULL;
			kz_error err = KZ_ERROR_INIT;
			if (!parts[i].opens) {
				CHECK_OK(kz_device_open(&dev, "cpu", &err));
			}
			parts[i].run(dev);
			kz_device_close(dev);
			return failures != 0;
		}
	}
	fprintf(stderr, "usage: guest sandbox|signals|locale|errors|exec|leave\n");
	return 2;
}
