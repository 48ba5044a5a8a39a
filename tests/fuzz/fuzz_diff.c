/* SPDX-License-Identifier: MIT */
/*
 * fuzz_diff SECONDS [SEED]: random programs against their interpretation, until the time is over.
 * Seeds by the hundred are, in turn, PTX, CUDA C for compute_75, PTX, CUDA C for compute_100. Every
 * batch of them runs in a process of its own, which may crash or hang: the seed that it is at
 * is in memory that both see, the PTX in a file that has no name.  A crash is told with what was
 * being done and where it happened, for another driver has a compiler that may be what crashes.
 * Ends with how many programs ran and how many failed.
 */
#include "cpu/random/diff.h"
#include "cpu/support/driver.h"

#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH 100
#define PATIENCE 120 /* seconds for one program */
#define FRAMES 24
/* A compiler of machine code calls itself, as deep as a program is strange. */
#define STACK_SIZE (64 << 20)

struct progress {
	_Atomic uint64_t seed;    /* being tried */
	_Atomic uint64_t ran;
	_Atomic uint64_t failed;
	_Atomic uint64_t refused;
	time_t end;
	int text_fd;
};

/* Say where it crashes, and let it. */
static void tell_crash(int number)
{
	void *frames[FRAMES];
	dprintf(STDOUT_FILENO, "%s while %s a program; the innermost calls:\n", strsignal(number),
		diff_doing);
	backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDOUT_FILENO);
	signal(number, SIG_DFL);
	raise(number);
}

/* On a stack of its own, for the usual one may be used up. */
static void watch_crashes(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
	static char stack[1 << 16];
	void *frame;
	struct sigaction action = {.sa_handler = tell_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
	backtrace(&frame, 1); /* loads what it needs */
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
	for (size_t i = 0; i < countof(numbers); i++) {
		sigaction(numbers[i], &action, NULL);
	}
}

/* The PTX that a process has left. */
static void print_text(int fd)
{
	char text[4096];
	ssize_t got;
	for (off_t at = 0; (got = pread(fd, text, sizeof(text), at)) > 0; at += got) {
		fwrite(text, 1, (size_t)got, stdout);
	}
}

static void run_batch(struct progress *progress, uint64_t seed)
{
	static diff_print *const prints[] = {diff_ptx, diff_cuda_75, diff_ptx, diff_cuda_100};
	struct diff diff;
	watch_crashes();
	progress->seed = seed;
	diff_print *print = prints[seed / BATCH % countof(prints)];
	print = print == diff_cuda_100 && !driver_runs(100) ? diff_cuda_75 : print;
	unsigned features = GEN_HAS_PTX | (print == diff_ptx ? 0 : GEN_HAS_CUDA);
	features &= print == diff_cuda_75 ? ~(unsigned)GEN_HAS_REDUX : ~0u;
	if (!diff_init(&diff, print, features)) {
		printf("%s", diff.report.data);
		exit(EXIT_FAILURE);
	}
	diff.text_fd = progress->text_fd;
	uint64_t end = (seed / BATCH + 1) * BATCH;
	for (; seed < end && !diff.lost && time(NULL) < progress->end; seed++) {
		progress->seed = seed;
		alarm(PATIENCE);
		if (!diff_try(&diff, seed)) {
			progress->failed++;
			printf("%s\n", diff.report.data);
			str_clear(&diff.report);
		}
		progress->ran++;
	}
	progress->refused += diff.refused;
	diff_free(&diff);
	fflush(stdout);
	_exit(EXIT_SUCCESS);
}

/* The seed to go on with. */
static uint64_t watch_batch(struct progress *progress, uint64_t seed)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		run_batch(progress, seed);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		perror("fuzz_diff");
		exit(EXIT_FAILURE);
	}
	if (WIFSIGNALED(status)) {
		progress->failed++;
		progress->ran++;
		printf("seed %" PRIu64 ": %s\n", progress->seed, WTERMSIG(status) == SIGALRM
			? "does not end" : strsignal(WTERMSIG(status)));
		print_text(progress->text_fd);
	} else if (WEXITSTATUS(status) != EXIT_SUCCESS) {
		exit(EXIT_FAILURE);
	}
	return progress->seed + 1;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 20;
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED) {
		perror("fuzz_diff");
		return EXIT_FAILURE;
	}
	struct rlimit stack = {0};
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_SIZE) {
		stack.rlim_cur = stack.rlim_max < STACK_SIZE ? stack.rlim_max : STACK_SIZE;
		setrlimit(RLIMIT_STACK, &stack);
	}
	progress->text_fd = memfd_create("program", MFD_CLOEXEC);
	progress->end = time(NULL) + (argc > 1 ? atol(argv[1]) : 60);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (uint64_t seed = first; time(NULL) < progress->end;) {
		seed = watch_batch(progress, seed);
	}
	printf("%" PRIu64 " programs from seed %" PRIu64 ", %" PRIu64 " failed", progress->ran,
		first, progress->failed);
	if (progress->refused > 0) {
		printf(", %" PRIu64 " did not load", progress->refused);
	}
	putchar('\n');
	return progress->failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
