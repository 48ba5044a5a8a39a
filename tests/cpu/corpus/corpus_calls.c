/* SPDX-License-Identifier: MIT */
/* Cases of the corpus: functions, tables of them, printf, assert, malloc. */
#include "base/common.h"

#include "corpus.h"
#include "cpu/support/driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void run_functions(void)
{
	enum { N = 70 };
	float x[N], got_x[N], want_x[N];
	int s[N], got_s[N], want_s[N], n = 11;
	for (int i = 0; i < N; i++) {
		float v = x[i] = (float)(corpus_u32() % 200) - 100;
		s[i] = (int)(corpus_u32() % 3);
		want_s[i] = fib(n);
		float y = s[i] == 0 ? v * 2 : s[i] == 1 ? v + 3 : v * v - 1;
		int a3 = 3 + i + ((want_s[i] & 7) == 3);
		want_x[i] = (float)((double)y + (a3 + 2.0 * i));
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), ds = corpus_put(s, sizeof(s));
	corpus_launch("fn", corpus_line(1, N), (void *[]){&dx, &ds, &n});
	corpus_get(dx, got_x, sizeof(got_x));
	corpus_get(ds, got_s, sizeof(got_s));
	corpus_same(got_s, want_s, N, sizeof(*got_s));
	corpus_same(got_x, want_x, N, sizeof(*got_x));
}

static void run_virtual(void)
{
	enum { N = 70 };
	float x[N], got[N], want[N];
	int k = 41;
	for (int i = 0; i < N; i++) {
		x[i] = (float)i / 4;
		want[i] = k > i ? x[i] * 3 : x[i] - 5;
	}
	CUdeviceptr d = corpus_put(x, sizeof(x));
	corpus_launch("virt", corpus_line(1, N), (void *[]){&d, &k});
	corpus_get(d, got, sizeof(got));
	corpus_same(got, want, N, sizeof(*got));
}

/* What goes to a file descriptor meanwhile lands in a file. */
static struct cu_capture {
	FILE *file;
	int number;
	int saved;
} capture;

static void capture_start(int number)
{
	fflush(stdout);
	capture = (struct cu_capture){tmpfile(), number, dup(number)};
	ck_assert_ptr_nonnull(capture.file);
	ck_assert_int_ge(dup2(fileno(capture.file), number), 0);
}

static const char *capture_stop(void)
{
	static char text[16384];
	fflush(stdout);
	ck_assert_int_ge(dup2(capture.saved, capture.number), 0);
	close(capture.saved);
	rewind(capture.file);
	size_t size = fread(text, 1, sizeof(text) - 1, capture.file);
	text[size] = '\0';
	fclose(capture.file);
	return text;
}

static CUresult print(const int x[3], unsigned grid, unsigned block, CUdeviceptr *where)
{
	float f = 1.5f;
	double d = 1e10;
	int64_t l = -123456789012;
	CUdeviceptr dx = corpus_put(x, 3 * sizeof(*x)), s = corpus_put("text", 5);
	*where = dx;
	return corpus_try("pf", corpus_line(grid, block), (void *[]){&dx, &f, &d, &s, &l});
}

static int occurrences(const char *text, const char *line)
{
	int count = 0;
	for (const char *at = text; (at = strstr(at, line)) != NULL; at += strlen(line)) {
		count++;
	}
	return count;
}

/* Every line of every thread is there once, whole, in any order. */
static void run_printf(void)
{
	enum { GRID = 2, BLOCK = 40 };
	static const int x[3] = {0, 0, 0};
	CUdeviceptr at;
	size_t length = 0;
	capture_start(STDOUT_FILENO);
	CUresult code = print(x, GRID, BLOCK, &at);
	const char *text = capture_stop();
	ck_assert_int_eq(code, CUDA_SUCCESS);
	for (unsigned t = 0; t < GRID * BLOCK; t++) {
		char line[160];
		length += (size_t)snprintf(line, sizeof(line),
			"t %u %u %f %g lit -123456789012 c %p %%\n", t % BLOCK, t / BLOCK, 1.5,
			1e10, (void *)(uintptr_t)at);
		ck_assert_msg(occurrences(text, line) == 1, "%s: '%s' is not once in '%s'",
			corpus_where(), line, text);
	}
	ck_assert_int_eq(occurrences(text, "plain\n"), GRID * BLOCK);
	ck_assert_uint_eq(strlen(text), length + GRID * BLOCK * strlen("plain\n"));
}

static void run_assert(void)
{
	if (driver_ends_with_a_fault()) {
		return;
	}
	static const int x[3] = {3, 0, 0};
	CUdeviceptr at;
	capture_start(STDOUT_FILENO);
	struct cu_capture out = capture;
	capture_start(STDERR_FILENO);
	CUresult code = print(x, 1, 33, &at);
	const char *text = capture_stop();
	ck_assert_int_eq(code, CUDA_ERROR_ASSERT);
	ck_assert_msg(strstr(text, "07_printf.cu:3: pf: block: [0,0,0], thread: [") != NULL,
		"%s: %s", corpus_where(), text);
	ck_assert_msg(strstr(text, "Assertion `x[0]!=3` failed.") != NULL, "%s: %s",
		corpus_where(), text);
	capture = out;
	text = capture_stop();
	ck_assert_int_eq(occurrences(text, "plain\n"), 0);
	/* The context is lost. */
	ck_assert_int_eq(corpus_sync(), CUDA_ERROR_ASSERT);
}

static void run_trap(void)
{
	if (driver_ends_with_a_fault()) {
		return;
	}
	static const int x[3] = {0, 7, 0};
	CUdeviceptr at;
	capture_start(STDOUT_FILENO);
	CUresult code = print(x, 1, 1, &at);
	const char *text = capture_stop();
	ck_assert_int_eq(occurrences(text, "plain\n"), 1);
	ck_assert(code == CUDA_ERROR_ILLEGAL_INSTRUCTION || code == CUDA_ERROR_LAUNCH_FAILED);
	ck_assert_int_eq(corpus_sync(), code);
}

/* What it stores are pointers to memory that it gave back: not NULL, aligned, no two of the threads
 * that ran at once the same - but which threads did is not known. */
static void run_malloc(void)
{
	enum { N = 64 };
	uint64_t p[2 * N];
	int n = 4;
	CUdeviceptr d = corpus_room(sizeof(p));
	for (int round = 0; round < 3; round++, n += 6) {
		corpus_launch("ml", corpus_line(1, N), (void *[]){&d, &n});
		corpus_peek(d, p, sizeof(p));
		for (int i = 0; i < 2 * N; i++) {
			ck_assert_msg(p[i] != 0 && p[i] % 16 == 0, "%s: pointer %d is %#llx",
				corpus_where(), i, (unsigned long long)p[i]);
		}
	}
}

const struct corpus_case corpus_calls[] = {
	{"07_printf", "pf", run_printf, 0, 0},
	{"07_printf", "pf, assert", run_assert, 0, 0},
	{"07_printf", "pf, trap", run_trap, 0, 0},
	{"14_switch_call", "fn", run_functions, 0, 0},
	{"14_switch_call", "virt", run_virtual, 0, 0},
	{"19_malloc", "ml", run_malloc, 0, 0},
	{0},
};
