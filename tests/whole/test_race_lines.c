/* SPDX-License-Identifier: MIT */
/*
 * The check `race` at words around what a warp reads: elements of all sizes, side by side or in
 * half warps at one row, that begin anywhere in a line of shadow memory, one row or several that
 * follow each other, by all lanes or some.  The reference is here: a write is a race if a thread
 * other than the writer reads some of its bytes.
 */
#include "base/common.h"

#include "support/suite.h"
#include "support/support.h"

#include <kudzu/kudzu.h>

#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, SOME_LANES = 21 };

static const char source[] =
	"template <typename T> __device__ bool any(T v) { return v; }\n"
	"__device__ bool any(uint4 v) { return v.x | v.y | v.z | v.w; }\n"
	"template <typename T, int ROW, int ROWS, bool IS_SHARED>\n"
	"__global__ void lines(char *global, int from, int at, int readers, int lanes,\n"
	"	int writer)\n"
	"{\n"
	"	extern __shared__ char shared[];\n"
	"	int t = threadIdx.y * 16 + threadIdx.x;\n"
	"	int first = ROW == 16 ? threadIdx.x : t - readers * 32;\n"
	"	char *m = IS_SHARED ? shared : global;\n"
	"	if (IS_SHARED) {\n"
	"		for (int i = t * 4; i < 4096; i += 256) {\n"
	"			*(int *)(m + i) = 0;\n"
	"		}\n"
	"		__syncthreads();\n"
	"	}\n"
	"	if (t == writer && t / 32 < readers) {\n"
	"		*(int *)(m + at) = 0;\n"
	"	}\n"
	"	if (t / 32 == readers && t % 32 < lanes) {\n"
	"		bool has_any = false;\n"
	"#pragma unroll\n"
	"		for (int i = 0; i < ROWS; i++) {\n"
	"			has_any |= any(((T *)(m + from))[first + i * ROW]);\n"
	"		}\n"
	"		if (has_any) {\n"
	"			global[4090] = 0;\n"
	"		}\n"
	"	}\n"
	"	if (t == writer && t / 32 >= readers) {\n"
	"		*(int *)(m + at) = 0;\n"
	"	}\n"
	"}\n";

/* Thread 0 writes what it and thread 32 read.  It also writes another word of the line, twice, so
 * that its read comes before its write among the rows. */
static const char behind[] =
	"extern \"C\" __global__ void behind(int *out, int zero)\n"
	"{\n"
	"	__shared__ int m[32];\n"
	"	int t = threadIdx.x, v = 0;\n"
	"	if (t == 0) {\n"
	"		m[16] = t;\n"
	"		m[0] = 1;\n"
	"		v = m[zero];\n"
	"		m[16] = v;\n"
	"	}\n"
	"	if (t == 32) {\n"
	"		v = m[zero];\n"
	"	}\n"
	"	out[t] = v;\n"
	"}\n";

static const struct lines_type {
	const char *name;
	int size;
} types[] = {{"char", 1}, {"short", 2}, {"int", 4}, {"long long", 8}, {"uint4", 16}};

static kz_error err;
static int64_t count;

static void lines_count(void *user, const kz_report *report)
{
	(void)user;
	count += report->count;
}

/* The read of warp 1 races with the write, and not with a read. */
static void lines_look(void *user, const kz_report *report)
{
	lines_count(user, report);
	ck_assert_int_eq(report->sides[0].thread[0], 32);
	ck_assert_msg(strstr(report->text, "a write by"), "%s", report->text);
}

/* A launch by two warps of 16 by 2 threads: one reads, one thread writes a word. */
struct lines_launch {
	int size, row, rows, from, at, readers, lanes, writer;
};

static bool lines_expect(const struct lines_launch *l)
{
	bool is_race = false;
	for (int i = 0; i < l->rows * 32; i++) {
		const int t = l->readers * 32 + i % 32;
		const int at = l->from + (t % l->row + i / 32 * l->row) * l->size;
		is_race |= t != l->writer && t % 32 < l->lanes && at < l->at + 4
			&& l->at < at + l->size;
	}
	return is_race;
}

static void lines_run(kz_device *dev, kz_kernel *kernel, kz_array *memory,
	const struct lines_launch *l)
{
	const int64_t before = count;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.shared_size = BYTES;
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(16, 4, 1), &options, &err,
		KZ_ARGS(memory, l->from, l->at, l->readers, l->lanes, l->writer)));
	ok(kz_device_synchronize(dev, &err));
	count = 0;
	ok(kz_device_reports(dev, lines_count, NULL, &err));
	ck_assert_msg((count > before) == lines_expect(l), "%d times %d of %d bytes from %d by %d "
		"lanes of warp %d, thread %d writes at %d: %d reports", l->rows, l->row, l->size,
		l->from, l->lanes, l->readers, l->writer, l->at, (int)(count - before));
}

static void lines_sweep(kz_device *dev, kz_kernel *kernel, int size, int row, int rows)
{
	static const int begins[] = {16, 32, 64, 80, 100, 112, 124};
	kz_array *memory;
	ok(kz_array_zeros(&memory, dev, KZ_I8, KZ_SHAPE(BYTES), &err));
	for (size_t i = 0; i < countof(begins); i++) {
		const int from = begins[i] / size * size, end = from + rows * row * size;
		for (int at = from / 4 * 4 - 8; at < end + 24; at += rows * 4) {
			for (int way = 0; way < 4; way++) { // the writer may be in either warp
				lines_run(dev, kernel, memory, &(struct lines_launch){size, row,
					rows, from, at, way % 2, at % 3 ? 32 : SOME_LANES,
					way / 2 * 32 + at / 4 * 7 % 32});
			}
		}
	}
	kz_array_release(memory);
}

START_TEST(a_race_is_reported_at_each_word_that_others_read)
{
	const struct lines_type *type = &types[_i / 16];
	const int row = _i & 1 ? 16 : 32, rows = _i & 8 ? 5 : 1;
	char name[64];
	kz_device *dev;
	kz_module *mod;
	kz_kernel *kernel;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	setenv("KUDZU_CHECK", "race", 1);
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	setenv("KUDZU_CPU_WIDTH", _i & 4 && row == 16 ? "1" : "32", 1);
	setenv("KUDZU_CPU_TIER", _i & 4 ? "once" : "2", 1); // for which the distances are known
	snprintf(name, sizeof(name), "lines<%s, %d, %d, %s>", type->name, row, rows,
		_i & 2 ? "true" : "false");
	options.instances = (const char *const[]){name, NULL};
	err = (kz_error)KZ_ERROR_INIT;
	ok(kz_device_open(&dev, "cpu", &err));
	ok(kz_module_compile(&mod, dev, source, &options, &err));
	ok(kz_module_kernel(&kernel, mod, name, &err));
	lines_sweep(dev, kernel, type->size, row, rows);
	kz_module_release(mod);
	kz_device_close(dev);
}
END_TEST

START_TEST(a_write_is_found_behind_other_rows_of_its_line)
{
	kz_device *dev;
	kz_module *mod;
	kz_kernel *kernel;
	kz_array *out;
	setenv("KUDZU_CHECK", "race", 1);
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	err = (kz_error)KZ_ERROR_INIT;
	ok(kz_device_open(&dev, "cpu", &err));
	ok(kz_module_compile(&mod, dev, behind, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "behind", &err));
	ok(kz_array_zeros(&out, dev, KZ_I32, KZ_SHAPE(64), &err));
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(64, 1, 1), NULL, &err, KZ_ARGS(out, 0)));
	ok(kz_device_synchronize(dev, &err));
	ok(kz_device_reports(dev, lines_look, NULL, &err));
	ck_assert_int_eq(count, 1);
	kz_array_release(out);
	kz_module_release(mod);
	kz_device_close(dev);
}
END_TEST

SUITE(race_lines)
{
	Suite *s = suite_create("race_lines");
	TCase *tc = suite_add_case(s, "words");
	if (support_device_count() > 0) {
		tcase_add_loop_test(tc, a_race_is_reported_at_each_word_that_others_read, 0,
			16 * (int)countof(types));
		tcase_add_test(tc, a_write_is_found_behind_other_rows_of_its_line);
	}
	return s;
}
