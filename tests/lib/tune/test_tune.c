/* SPDX-License-Identifier: MIT */
/* src/lib/tune: configurations, trials, and what is kept of them.  Where a kernel must be the
 * fastest the others take a hundred thousand times as long. */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/cache/cache.h"
#include "lib/tune/tune_kept.h"
#include "support/device_test.h"
#include "support/store_folder.h"

#include <kudzu/tune.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* `count` adds one to each element, ITEMS of a thread; `spin` takes ROUNDS steps to add ADD. */
static const char source[] =
	"#ifndef ITEMS\n#define ITEMS 1\n#endif\n#ifndef MOST\n#define MOST 1024\n#endif\n"
	"#ifndef ROUNDS\n#define ROUNDS 1\n#endif\n#ifndef ADD\n#define ADD 1\n#endif\n"
	"__global__ void __launch_bounds__(MOST) count(int *out, int n)\n"
	"{ for (int k = 0; k < ITEMS; k++) {\n"
	"  int i = (blockIdx.x * ITEMS + k) * blockDim.x + threadIdx.x; if (i < n) out[i]++; } }\n"
	"__device__ int step(int x) { return x * 1664525 + 1013904223; }\n"
	"__global__ void spin(int *out, int n)\n"
	"{ int x = n; for (int k = 0; k < ROUNDS; k++) x = step(x);\n"
	"  if (blockIdx.x == 0) out[threadIdx.x] += x == 12345 ? 7 : ADD; }\n"
	"template <class T, int N> __global__ void typed(T *out, int n)\n"
	"{ if (blockIdx.x == 0) out[threadIdx.x] = N; }\n"
	"template <int N> __global__ void times(int *out, int n)\n"
	"{ int x = n; for (int k = 0; k < N * N * N * N * N; k++) x = step(x);\n"
	"  if (blockIdx.x == 0) out[threadIdx.x] = x == 12345 ? 7 : N; }\n";

enum { COUNT = 1000 };

static kz_array *out;
static kz_tuning *tuning;
static kz_tunable tunable;
static kz_tune_options how;
static const kz_dim3 problem = {COUNT, 1, 1};

static void begin_in_folder(int index)
{
	open_kernels(index);
	ok(kz_array_zeros(&out, dev, KZ_I32, KZ_SHAPE(COUNT), &err));
	tunable = (kz_tunable)KZ_TUNABLE_INIT;
	tunable.source = source;
	how = (kz_tune_options)KZ_TUNE_OPTIONS_INIT;
	how.processes = 1;
	how.repeats = 3;
}

static void use_folder(void)
{
	setenv("KUDZU_CPU_DEVICES", "2", 1);
	store_folder_create();
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	setenv("KUDZU_CACHE", "1", 1);
}

static void begin(int index)
{
	use_folder();
	begin_in_folder(index);
}

static void end(void)
{
	kz_tuning_release(tuning);
	tuning = NULL;
	kz_array_release(out);
	teardown();
	store_folder_remove();
}

#define TUNE_TEST(name) TEST_BETWEEN(begin(_i), end(), name)
#define TABLE(...) set_table((const kz_tune_parameter[]){__VA_ARGS__}, \
	sizeof((const kz_tune_parameter[]){__VA_ARGS__}) / sizeof(kz_tune_parameter))

static void set_table(const kz_tune_parameter *parameters, size_t count)
{
	static kz_tune_parameter kept[8];
	memcpy(kept, parameters, count * sizeof(*kept));
	tunable.parameters = kept;
	tunable.parameter_count = (int64_t)count;
}

static const int64_t rounds[] = {100000, 1}, warps[] = {32, 64};
#define SPINS {KZ_TUNE_MACRO, 0, "ROUNDS", 2, rounds, NULL}
#define WARPS {KZ_TUNE_BLOCK_X, 0, NULL, 2, warps, NULL}

static kz_status tune(const char *kernel)
{
	tunable.kernel = kernel;
	kz_tuning_release(tuning);
	return kz_tune(&tuning, dev, &tunable, problem, &how, &err, KZ_ARGS(out, (int)COUNT));
}

static kz_status find(void)
{
	kz_tuning_release(tuning);
	return kz_tuning_find(&tuning, dev, &tunable, problem, &err);
}

static const kz_tune_result *result(int64_t index)
{
	return kz_tuning_result(tuning, index);
}

static kz_tuning_info info(void)
{
	kz_tuning_info said = KZ_TUNING_INFO_INIT;
	ok(kz_tuning_describe(tuning, &said, &err));
	return said;
}

static const int *values(void)
{
	static int host[COUNT];
	ok(kz_array_get(out, host, sizeof(host), &err));
	return host;
}

TUNE_TEST(the_fastest_configuration_is_the_first_and_is_launched)
{
	TABLE(SPINS, WARPS);
	ok(tune("spin"));
	ck_assert_int_eq(kz_tuning_count(tuning), 4);
	for (int i = 0; i < 4; i++) {
		ck_assert_ptr_nonnull(strstr(result(i)->text,
			i < 2 ? "ROUNDS=1 " : "ROUNDS=100000 "));
		ck_assert_int_ge(result(i)->repeats, 1);
		const kz_spread *time = &result(i)->time;
		ck_assert(time->min_ms <= time->q1_ms && time->q1_ms <= time->median_ms
			&& time->median_ms <= time->q3_ms && time->q3_ms <= time->max_ms);
	}
	ck_assert_int_eq(result(0)->values[0], 1);
	ck_assert_int_eq(result(0)->outcome, KZ_TUNE_TIMED);
	ck_assert_int_eq(result(0)->repeats, 3);
	ck_assert_ptr_null(result(4));
	ck_assert_int_eq(values()[0], 0); /* the trials have left nothing */
	ok(kz_tuning_launch(tuning, kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(out, (int)COUNT)));
	ck_assert_int_eq(values()[0], 1);
	ck_assert_str_eq(kz_kernel_name(kz_tuning_kernel(tuning)), "spin");
	ck_assert_int_eq(info().tried, 4);
	ck_assert_int_eq(info().kept, 0);
}

/* Each element was counted once: with another grid some would be left out. */
static int counted_once(void *user, const kz_tune_config *config)
{
	int64_t items = kz_tune_value(config, "ITEMS"), threads = config->block.x * items;
	*(int *)user += 1;
	ck_assert_int_eq(config->grid.x, (COUNT + threads - 1) / threads);
	ck_assert_int_eq(kz_tune_value(config, "block_x"), config->block.x);
	ck_assert_int_eq(kz_tune_value(config, "nothing"), 0);
	for (int i = 0; i < COUNT; i++) {
		if (values()[i] != 1) {
			return 0;
		}
	}
	return 1;
}

TUNE_TEST(the_grid_follows_from_the_block_and_the_elements_of_a_thread)
{
	static const int64_t blocks[] = {7, 64, 4096}, items[] = {1, 3};
	int checks = 0;
	TABLE({KZ_TUNE_BLOCK_X, 0, NULL, 3, blocks, NULL},
		{KZ_TUNE_MACRO, 1, "ITEMS", 2, items, NULL});
	how.check = counted_once;
	how.user = &checks;
	ok(tune("count"));
	ck_assert_int_eq(checks, 4);
	ck_assert_int_eq(kz_tuning_count(tuning), 4);
	ck_assert_int_eq(info().configurations, 6);
	ck_assert_int_eq(info().skipped, 2); /* blocks of 4096 threads */
	for (int i = 0; i < 4; i++) {
		ck_assert_int_ne(result(i)->outcome, KZ_TUNE_WRONG);
	}
	ok(kz_tuning_launch(tuning, kz_dim(500, 1, 1), NULL, &err, KZ_ARGS(out, 500)));
	ck_assert(values()[0] == 1 && values()[499] == 1 && values()[500] == 0);
}

TUNE_TEST(a_configuration_that_is_clearly_slower_is_given_up)
{
	static const int64_t fast_first[] = {1, 100000};
	TABLE({KZ_TUNE_MACRO, 0, "ROUNDS", 2, fast_first, NULL}, WARPS);
	ok(tune("spin"));
	for (int i = 2; i < 4; i++) {
		ck_assert_int_eq(result(i)->outcome, KZ_TUNE_SLOWER);
		ck_assert_int_eq(result(i)->repeats, 1);
	}
}

TUNE_TEST(instances_of_a_template_are_tried)
{
	static const int64_t n[] = {10, 1};
	TABLE({KZ_TUNE_TEMPLATE, 0, "N", 2, n, NULL});
	tunable.block.x = 32;
	ok(tune("times"));
	ck_assert_str_eq(result(0)->text, "N=1");
	ck_assert_int_eq(result(0)->block.x, 32);
	ck_assert_str_eq(kz_kernel_name(kz_tuning_kernel(tuning)), "times<1>");
}

TUNE_TEST(the_arguments_of_a_template_are_in_the_order_of_the_table)
{
	static const char *const types[] = {"float", "int", "unsigned int"};
	static const int64_t n[] = {5};
	TABLE({KZ_TUNE_TEMPLATE, 0, "T", 3, NULL, types}, WARPS,
		{KZ_TUNE_TEMPLATE, 0, NULL, 1, n, NULL});
	ok(tune("typed"));
	ck_assert_int_eq(kz_tuning_count(tuning), 6);
	for (int i = 0; i < 6; i++) { /* the array is of int32 */
		bool is_float = strncmp(result(i)->text, "T=float ", 8) == 0;
		ck_assert_int_eq(is_float, i >= 4);
		ck_assert_int_eq(result(i)->status, is_float ? KZ_ARGUMENT : KZ_OK);
	}
	ck_assert_str_eq(result(5)->text, "T=float block_x=64 argument=5");
	ok(kz_tuning_launch(tuning, kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(out, 1)));
	ck_assert_int_eq(values()[0], 5);
}

/* This program is the worker, too; see main.c. */
static void use_workers(void)
{
	static char program[4096];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	ck_assert_int_gt(len, 0);
	program[len] = '\0';
	setenv("KUDZU_COMMAND", program, 1);
	how.processes = 2;
}

TUNE_TEST(workers_compile_the_configurations)
{
	static const char *const words[] = {"1", "one", "2"};
	struct cache_counts before, after;
	TABLE({KZ_TUNE_MACRO, 0, "ADD", 3, NULL, words}, WARPS);
	use_workers();
	cache_counts(&before);
	ok(tune("spin"));
	cache_counts(&after);
	ck_assert_int_eq(after.compiles - before.compiles, 1); /* for the error of "one" */
	for (int i = 4; i < 6; i++) {
		ck_assert_int_eq(result(i)->status, KZ_COMPILE);
		ck_assert_ptr_nonnull(strstr(result(i)->message, "\"one\" is undefined"));
	}
}

TUNE_TEST(failures_are_entries_with_their_error)
{
	static const char *const words[] = {"1", "one", "2"};
	static const int64_t most[] = {64, 1024}, blocks[] = {128};
	TABLE({KZ_TUNE_MACRO, 0, "ADD", 3, NULL, words}, {KZ_TUNE_MACRO, 0, "MOST", 2, most, NULL},
		{KZ_TUNE_BLOCK_X, 0, "THREADS", 1, blocks, NULL});
	ok(tune("count"));
	ck_assert_int_eq(kz_tuning_count(tuning), 6);
	for (int i = 0; i < 6; i++) {
		bool compiles = !strstr(result(i)->text, "ADD=one");
		bool fits = !strstr(result(i)->text, "MOST=64 ");
		bool works = compiles && fits;
		ck_assert_int_eq(i < 2, works);
		ck_assert_int_eq(result(i)->status, !compiles ? KZ_COMPILE : fits ? KZ_OK
			: KZ_LAUNCH);
		ck_assert_int_eq(!result(i)->message, works);
		ck_assert(compiles || strstr(result(i)->message, "one"));
	}
}

static int is_two(void *user, const kz_tune_config *config)
{
	(void)user;
	ck_assert_ptr_nonnull(config->text);
	return values()[0] == 2; /* after one launch */
}

TUNE_TEST(a_wrong_configuration_is_never_the_best)
{
	static const char *const adds[] = {"1", "2+0*(ROUNDS)"};
	TABLE({KZ_TUNE_MACRO, 0, "ADD", 2, NULL, adds}, SPINS, WARPS);
	how.check = is_two;
	ok(tune("spin"));
	ck_assert_ptr_nonnull(strstr(result(0)->text, "ADD=2+0*(ROUNDS) ROUNDS=1 "));
	for (int i = 4; i < 8; i++) {
		ck_assert_int_eq(result(i)->outcome, KZ_TUNE_WRONG);
		ck_assert_int_eq(result(i)->repeats, 0);
	}
}

TUNE_TEST(if_nothing_works_the_first_error_is_given)
{
	static const char *const words[] = {"one", "two"};
	TABLE({KZ_TUNE_MACRO, 0, "ADD", 2, NULL, words});
	fails(tune("spin"), KZ_COMPILE, "no configuration works; ADD=one of 'spin': ");
	ck_assert_ptr_null(tuning);
	ck_assert_int_eq(tune("spin"), KZ_COMPILE);
	ck_assert(err.line > 0 && err.log && strstr(err.log, "\"one\" is undefined"));
	kz_error_clear(&err);
	fails(tune("none"), KZ_COMPILE, "ADD=one");
	TABLE(SPINS);
	fails(tune("none"), KZ_NOT_FOUND, "'none'");
	how.check = is_two;
	fails(tune("spin"), KZ_NOT_FOUND, "'check' refuses all 2");
	tunable.block.x = 5000;
	fails(tune("spin"), KZ_INVALID, "no configuration of 'spin' is possible: all 2");
}

TUNE_TEST(the_first_error_of_many_configurations_is_given)
{
	static const char *const words[] = {"one"};
	static int64_t blocks[100]; /* the table of trials grows after the first one */
	for (int i = 0; i < 100; i++) {
		blocks[i] = i + 1;
	}
	TABLE({KZ_TUNE_MACRO, 0, "ADD", 1, NULL, words},
		{KZ_TUNE_BLOCK_X, 0, NULL, 100, blocks, NULL});
	fails(tune("spin"), KZ_COMPILE,
		"no configuration works; ADD=one block_x=1 of 'spin': ");
	ck_assert_int_eq(tune("spin"), KZ_COMPILE);
	ck_assert_ptr_nonnull(strstr(kz_error_message(&err), "\"one\" is undefined"));
	kz_error_clear(&err);
}

static int only_small(void *user, kz_tune_config *config)
{
	config->grid = kz_dim(2, 1, 1);
	config->shared_size = *(const int *)user;
	return config->block.x < 64 && config->problem.x <= COUNT;
}

TUNE_TEST(the_program_restricts_and_changes_configurations)
{
	int shared = 64;
	TABLE(WARPS);
	tunable.accept = only_small;
	tunable.user = &shared;
	ok(tune("count"));
	ck_assert_int_eq(kz_tuning_count(tuning), 1);
	ck_assert_int_eq(info().skipped, 1);
	ck_assert(result(0)->grid.x == 2 && result(0)->shared_size == 64);
	ok(kz_tuning_launch(tuning, problem, NULL, &err, KZ_ARGS(out, (int)COUNT)));
	ck_assert(values()[63] == 1 && values()[64] == 0); /* two blocks of 32 */
	fails(kz_tuning_launch(tuning, kz_dim(COUNT + 1, 1, 1), NULL, &err, KZ_ARGS(out, 1)),
		KZ_INVALID, "'accept' refuses the size (1001, 1, 1)");
}

TUNE_TEST(what_the_kernel_changes_is_put_back)
{
	kz_buffer *buffer = NULL;
	int first[2] = {10, 20}, seen[2];
	TABLE(WARPS);
	ok(kz_buffer_create(&buffer, dev, sizeof(first), &err));
	ok(kz_copy_htod(buffer, 0, first, sizeof(first), &err));
	tunable.kernel = "count";
	for (int restore = KZ_TUNE_RESTORE_CONFIG; restore <= KZ_TUNE_RESTORE_NEVER; restore++) {
		how.restore = restore;
		ok(kz_tune(&tuning, dev, &tunable, problem, &how, &err, KZ_ARGS(buffer, 2)));
		ok(kz_copy_dtoh(seen, sizeof(seen), buffer, 0, &err));
		/* 2 warm-ups and 3 repeats of 2 configurations */
		ck_assert_int_eq(seen[1], restore == KZ_TUNE_RESTORE_NEVER
			? 20 + (int)info().launches : 20);
		kz_tuning_release(tuning);
		tuning = NULL;
	}
	kz_buffer_release(buffer);
}

TUNE_TEST(a_view_is_put_back_and_the_rest_left_alone)
{
	kz_array *view = NULL;
	TABLE(WARPS);
	ok(kz_array_slice(&view, out, KZ_AT(KZ_SLICE(0, 10, 1)), &err));
	tunable.kernel = "count";
	ok(kz_tune(&tuning, dev, &tunable, problem, &how, &err, KZ_ARGS(view, 10)));
	ck_assert(values()[9] == 0 && values()[10] == 0);
	kz_array_release(view);
}

/* Memory of a second CPU device. */
TUNE_TEST(arrays_of_a_peer_are_put_back)
{
	kz_device *peer = NULL;
	kz_array *array = NULL;
	kz_buffer *buffer = NULL;
	int one[COUNT] = {1}, seen[COUNT];
	if (kz_device_open(&peer, "cpu:1", NULL) || kz_device_is_cuda(dev)) {
		kz_device_close(peer);
		return;
	}
	ok(kz_device_enable_peer_access(dev, peer, &err));
	ok(kz_array_from(&array, peer, KZ_FROM(one), &err));
	ok(kz_buffer_create(&buffer, peer, sizeof(one), &err));
	ok(kz_copy_htod(buffer, 0, one, sizeof(one), &err));
	TABLE(WARPS);
	tunable.kernel = "count";
	for (int i = 0; i < 2; i++) {
		kz_arg arg = i ? KZ_ARG(buffer) : KZ_ARG(array);
		kz_tuning_release(tuning);
		ok(kz_tune(&tuning, dev, &tunable, problem, &how, &err, KZ_ARGS(arg, (int)COUNT)));
	}
	ok(kz_array_get(array, seen, sizeof(seen), &err));
	ck_assert(seen[0] == 1 && seen[1] == 0);
	ok(kz_copy_dtoh(seen, sizeof(seen), buffer, 0, &err));
	ck_assert(seen[0] == 1 && seen[1] == 0);
	kz_buffer_release(buffer);
	kz_array_release(array);
	kz_device_close(peer);
}

TUNE_TEST(an_empty_array_and_a_null_pointer_are_arguments)
{
	kz_array *empty = NULL;
	TABLE(WARPS);
	tunable.kernel = "count";
	ok(kz_array_zeros(&empty, dev, KZ_I32, KZ_SHAPE(0), &err));
	ok(kz_tune(&tuning, dev, &tunable, problem, &how, &err, KZ_ARGS(empty, 0)));
	kz_tuning_release(tuning);
	ok(kz_tune(&tuning, dev, &tunable, problem, &how, &err, KZ_ARGS(NULL, 0)));
	kz_array_release(empty);
}

TUNE_TEST(a_budget_spreads_the_trials_over_the_table)
{
	static const int64_t many[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	bool low = false, high = false;
	TABLE({KZ_TUNE_BLOCK_X, 0, NULL, 16, many, NULL});
	how.max_trials = 5;
	ok(tune("count"));
	ck_assert_int_eq(kz_tuning_count(tuning), 5);
	ck_assert_int_eq(info().left, 11);
	for (int i = 0; i < 5; i++) {
		low |= result(i)->block.x <= 4;
		high |= result(i)->block.x >= 10;
	}
	ck_assert(low && high);
	how.max_trials = 0;
	how.max_seconds = 1e-9; /* one is tried whatever the budget is */
	ok(tune("count"));
	ck_assert_int_eq(kz_tuning_count(tuning), 1);
	ck_assert_int_eq(info().left, 15);
}

/* What is kept */

TUNE_TEST(a_kept_result_is_found_without_trials)
{
	TABLE(SPINS, WARPS);
	tunable.kernel = "spin";
	fails(find(), KZ_NOT_FOUND, "nothing was kept for 'spin'");
	ok(tune("spin"));
	double median = result(0)->time.median_ms;
	ok(find());
	ck_assert_int_eq(kz_tuning_count(tuning), 1);
	ck_assert(result(0)->time.median_ms == median && result(0)->repeats == 3);
	ck_assert_int_eq(result(0)->values[0], 1);
	ck_assert(info().kept == 1 && info().tried == 0 && info().launches == 0);
	ok(kz_tuning_launch(tuning, problem, NULL, &err, KZ_ARGS(out, (int)COUNT)));
	how.use_kept = 1;
	ok(tune("spin"));
	ck_assert_int_eq(info().kept, 1);
	how.use_kept = 0;
	ok(tune("spin"));
	ck_assert_int_eq(info().tried, 4);
}

/* Each row changes what a tuning is found by. */
static void change(int row)
{
	static const int64_t other[] = {100000, 2};
	static const char *const defines[] = {"ADD=2", NULL};
	static kz_compile_options compile;
	compile = (kz_compile_options)KZ_COMPILE_OPTIONS_INIT;
	compile.defines = defines;
	switch (row) {
	case 0: tunable.label = "other"; break;
	case 1: tunable.compile = &compile; break;
	case 2: tunable.block.y = 2; break;
	case 3: TABLE({KZ_TUNE_MACRO, 0, "ROUNDS", 2, other, NULL}, WARPS); break;
	case 4: TABLE({KZ_TUNE_MACRO, 0, "ADD", 2, rounds, NULL}, WARPS); break;
	case 5: TABLE(WARPS, SPINS); break;
	case 6: tunable.shared_size = 16; break;
	default: tunable.kernel = "count"; break;
	}
}

TUNE_TEST(another_use_of_the_kernel_finds_nothing)
{
	TABLE(SPINS, WARPS);
	ok(tune("spin"));
	kz_tuning *none = NULL, *same = NULL;
	ok(kz_tuning_find(&same, dev, &tunable, kz_dim(513, 1, 1), &err));
	kz_tuning_release(same);
	fails(kz_tuning_find(&none, dev, &tunable, kz_dim(512, 1, 1), &err), KZ_NOT_FOUND, "kept");
	fails(kz_tuning_find(&none, dev, &tunable, kz_dim(COUNT, 2, 1), &err), KZ_NOT_FOUND, "");
	const kz_tunable kept = tunable;
	for (int row = 0; row < 8; row++) {
		tunable = kept;
		TABLE(SPINS, WARPS);
		change(row);
		fails(kz_tuning_find(&none, dev, &tunable, problem, &err), KZ_NOT_FOUND, "");
	}
}

TUNE_TEST(a_changed_header_is_another_source)
{
	static const char *names[] = {"memory.h", NULL}, *texts[] = {"#define PLUS 1\n", NULL};
	const char *const folders[] = {store_outside, NULL};
	kz_compile_options compile = KZ_COMPILE_OPTIONS_INIT;
	char path[128];
	TABLE({KZ_TUNE_MACRO, 0, "ROUNDS", 2, rounds, NULL}, WARPS);
	snprintf(path, sizeof(path), "%s/file.h", store_outside);
	ck_assert(file_put(path, "#define STEPS ROUNDS\n", 21));
	compile.header_names = names;
	compile.header_texts = texts;
	compile.include_dirs = folders;
	tunable.compile = &compile;
	tunable.source = "#include \"file.h\"\n#include \"memory.h\"\n"
		"__global__ void k(int *out, int n)\n"
		"{ if (blockIdx.x == 0) out[threadIdx.x] = STEPS + PLUS; }";
	ok(tune("k"));
	ok(find());
	texts[0] = "#define PLUS 2\n";
	fails(find(), KZ_NOT_FOUND, "nothing was kept");
	texts[0] = "#define PLUS 1\n";
	ok(find());
	ck_assert(file_put(path, "#define STEPS 0\n", 16));
	fails(find(), KZ_NOT_FOUND, "nothing was kept");
	unlink(path);
}

/* The key of the test's tuning. */
static struct str key_of_tuning(void)
{
	struct str key;
	struct tune_space space;
	ok(tune_space_init(&space, &tunable, &err));
	ok(tune_kept_key(&key, dev, &space, &tunable, problem, &err));
	tune_space_finish(&space);
	return key;
}

TUNE_TEST(a_damaged_entry_is_ignored_and_replaced)
{
	static const char *const wrong[] = {"", "short", "a value of another form, as an older "
		"version may have written it under this key"};
	TABLE(SPINS, WARPS);
	ok(tune("spin"));
	struct str key = key_of_tuning();
	struct store *store = store_default();
	for (size_t i = 0; i < countof(wrong); i++) {
		ck_assert(store_put(store, key.data, key.len, wrong[i], strlen(wrong[i])));
		fails(find(), KZ_NOT_FOUND, "nothing was kept");
	}
	/* place 9 of 2 */
	ck_assert(store_put(store, key.data, key.len, (char[56]){[52] = 9}, 56));
	fails(find(), KZ_NOT_FOUND, "nothing was kept");
	FILE *file = fopen(entry_path(key.data, key.len), "r+");
	ck_assert_ptr_nonnull(file);
	ck_assert(fseek(file, -3, SEEK_END) == 0 && fputc('!', file) == '!' && fclose(file) == 0);
	fails(find(), KZ_NOT_FOUND, "nothing was kept");
	how.use_kept = 1;
	ok(tune("spin"));
	ck_assert_int_eq(info().tried, 4);
	ok(find());
	str_free(&key);
}

TUNE_TEST(a_tuning_is_not_kept_if_the_program_does_not_want_it)
{
	TABLE(WARPS);
	how.keep_nothing = 1;
	ok(tune("count"));
	fails(find(), KZ_NOT_FOUND, "nothing was kept");
}

START_TEST(where_the_cache_is_off_nothing_is_kept)
{
	setenv("KUDZU_CACHE", "0", 1);
	begin_in_folder(_i);
	TABLE(WARPS);
	ok(tune("count"));
	fails(find(), KZ_NOT_FOUND, "nothing was kept for 'count': KUDZU_CACHE");
	kz_array_release(out);
	teardown();
}
END_TEST

/* The tuning of another process. */
START_TEST(a_later_process_finds_what_was_kept)
{
	use_folder();
	pid_t child = fork();
	if (child == 0) {
		begin_in_folder(_i);
		TABLE(SPINS, WARPS);
		_exit(tune("spin") == KZ_OK ? 0 : 1);
	}
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	open_kernels(_i);
	tunable = (kz_tunable)KZ_TUNABLE_INIT;
	tunable.source = source;
	tunable.kernel = "spin";
	TABLE(SPINS, WARPS);
	ok(find());
	ck_assert_ptr_nonnull(strstr(result(0)->text, "ROUNDS=1 "));
	ck_assert_int_eq(info().kept, 1);
	kz_tuning_release(tuning);
	teardown();
	store_folder_remove();
}
END_TEST

/* Refusals */

TUNE_TEST(nonsense_is_refused)
{
	static const int64_t zero[] = {0};
	static int64_t many[COUNT];
	static const char *const words[] = {"1"};
	static const struct {
		kz_tune_parameter parameter;
		const char *message;
	} rows[] = {
		{{KZ_TUNE_MACRO, 0, "UNUSED", 2, rounds, NULL}, "does not use a macro of this"},
		{{KZ_TUNE_MACRO, 0, "ROUND", 2, rounds, NULL}, "'ROUND': the source does not use"},
		{{KZ_TUNE_MACRO, 0, "ADD=1", 2, rounds, NULL}, "expected the name of a macro"},
		{{KZ_TUNE_MACRO, 0, NULL, 2, rounds, NULL}, "a macro needs a name"},
		{{KZ_TUNE_MACRO, 0, "ADD", 0, rounds, NULL}, "at least one value, got none"},
		{{KZ_TUNE_MACRO, 0, "ADD", 1, NULL, NULL}, "values or words, got neither"},
		{{KZ_TUNE_MACRO, 0, "ADD", 1, zero, words}, "either values or words, got both"},
		{{KZ_TUNE_MACRO, 1, "ADD", 1, zero, NULL}, "values of at least 1, got 0"},
		{{KZ_TUNE_MACRO, 4, "ADD", 2, rounds, NULL}, "an axis from 0 to 3"},
		{{KZ_TUNE_BLOCK_X, 0, NULL, 1, zero, NULL}, "values of at least 1, got 0"},
		{{KZ_TUNE_BLOCK_Y, 0, NULL, 1, NULL, words}, "expected numbers, got words"},
		{{KZ_TUNE_BLOCK_Z, 1, NULL, 2, warps, NULL}, "from 0 to 3, and 0 for a block"},
		{{0, 0, "ADD", 2, rounds, NULL}, "expected a kz_tune_kind, got 0"},
		{{6, 0, "ADD", 2, rounds, NULL}, "expected a kz_tune_kind, got 6"},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		set_table(&rows[i].parameter, 1);
		fails(tune("spin"), KZ_INVALID, rows[i].message);
	}
	for (int i = 0; i < COUNT; i++) {
		many[i] = i + 1;
	}
	TABLE({KZ_TUNE_TEMPLATE, 0, NULL, 2, warps, NULL});
	fails(tune("times<1>"), KZ_INVALID, "'times<1>', has the template's arguments already");
	tunable.parameter_count = 0;
	fails(tune("spin"), KZ_INVALID, "expected 1 to 64 parameters, got 0");
	TABLE({KZ_TUNE_BLOCK_X, 0, NULL, COUNT, many, NULL},
		{KZ_TUNE_BLOCK_Y, 0, NULL, COUNT, many, NULL},
		{KZ_TUNE_BLOCK_Z, 0, NULL, 2, warps, NULL});
	fails(tune("spin"), KZ_INVALID, "expected at most 1000000 configurations, got more");
	TABLE(WARPS, WARPS);
	fails(tune("spin"), KZ_INVALID, "'block_x' is there twice");
	TABLE(WARPS);
	fails(kz_tune(&tuning, dev, &tunable, kz_dim(0, 1, 1), NULL, &err, KZ_ARGS()), KZ_INVALID,
		"expected extents of at least 1, got (0, 1, 1)");
	fails(kz_tune(&tuning, dev, &tunable, problem, &how, &err, KZ_ARGS(KZ_OUT(&how, 4), 1)),
		KZ_ARGUMENT, "argument 1: a trial copies no host memory");
	how.repeats = -1;
	fails(tune("spin"), KZ_INVALID, "options.repeats: expected 0 to ");
	how.size = 3;
	fails(tune("spin"), KZ_INVALID, "kz_tune_options has size 3");
	fails(kz_tuning_find(&tuning, dev, NULL, problem, &err), KZ_INVALID, "expected a tunable");
	fails(kz_tune(&tuning, NULL, &tunable, problem, NULL, &err, KZ_ARGS()), KZ_INVALID,
		"expected a device");
}

TUNE_TEST(the_table_prints_a_line_for_each_configuration)
{
	static const char *const words[] = {"1", "one"};
	char text[512];
	int64_t length = 0;
	TABLE({KZ_TUNE_MACRO, 0, "ADD", 2, NULL, words});
	ok(tune("spin"));
	ok(kz_tuning_format(tuning, text, sizeof(text), &length, &err));
	ck_assert_uint_eq((size_t)length, strlen(text));
	ck_assert_ptr_nonnull(strstr(text, "]  ADD=1\n"));
	ck_assert_ptr_nonnull(strstr(text, "undefined  ADD=one\n"));
	ok(kz_tuning_format(tuning, text, 5, &length, &err));
	ck_assert_uint_eq(strlen(text), 4);
	fails(kz_tuning_print(tuning, NULL, &err), KZ_INVALID, "expected a FILE");
	fails(kz_tuning_format(NULL, text, 5, NULL, &err), KZ_INVALID, "expected a tuning");
}

TUNE_TEST(a_captured_stream_is_refused)
{
	kz_stream *stream = NULL;
	kz_launch_options launch = KZ_LAUNCH_OPTIONS_INIT;
	TABLE(WARPS);
	ok(kz_stream_create(&stream, dev, 0, &err));
	launch.stream = stream;
	how.launch = &launch;
	ok(tune("count"));
	ok(kz_graph_begin(stream, NULL, &err));
	fails(tune("count"), KZ_STATE, "captured");
	ok(kz_graph_abort(stream, &err));
	kz_stream_release(stream);
}

/* A device that is lost is no matter of one configuration. */
START_TEST(a_fault_ends_the_tuning)
{
	setenv("KUDZU_CACHE", "0", 1);
	open_stub("");
	ok(kz_array_zeros(&out, dev, KZ_I32, KZ_SHAPE(COUNT), &err));
	tunable = (kz_tunable)KZ_TUNABLE_INIT;
	tunable.source = source;
	tunable.kernel = "count";
	TABLE(WARPS);
	support_stub("fail=cuStreamSynchronize:700@2+");
	fails(kz_tune(&tuning, dev, &tunable, problem, NULL, &err, KZ_ARGS(out, 1)), KZ_FAULT,
		"configuration block_x=64 of 'count': ");
	ck_assert_ptr_null(tuning);
	kz_array_release(out);
	kz_device_close(dev);
}
END_TEST

TUNE_TEST(memory_that_runs_out_is_reported)
{
	volatile bool done = false;
	TABLE(WARPS, {KZ_TUNE_MACRO, 0, "MOST", 2, (const int64_t[]){512, 1024}, NULL});
	how.repeats = 1;
	ok(tune("count")); /* compiles */
	for (long n = 0; !done; n++) {
		kz_tuning_release(tuning);
		tuning = NULL;
		mem_fail_after(n);
		done = kz_tune(&tuning, dev, &tunable, problem, &how, &err,
			KZ_ARGS(out, (int)COUNT)) == KZ_OK;
		bool failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_msg(done || failed, "%s", err.message);
		ck_assert(done || !tuning);
		kz_error_clear(&err);
	}
}

SUITE(tune)
{
	Suite *s = suite_create("tune");
	TCase *tc = suite_add_case(s, "trials");
	const int devices = support_device_count();
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, devices, the_fastest_configuration_is_the_first_and_is_launched,
		a_configuration_that_is_clearly_slower_is_given_up,
		the_grid_follows_from_the_block_and_the_elements_of_a_thread,
		instances_of_a_template_are_tried,
		the_arguments_of_a_template_are_in_the_order_of_the_table,
		workers_compile_the_configurations, failures_are_entries_with_their_error,
		a_wrong_configuration_is_never_the_best, if_nothing_works_the_first_error_is_given,
		the_first_error_of_many_configurations_is_given,
		the_program_restricts_and_changes_configurations,
		what_the_kernel_changes_is_put_back, a_view_is_put_back_and_the_rest_left_alone,
		arrays_of_a_peer_are_put_back, an_empty_array_and_a_null_pointer_are_arguments,
		a_budget_spreads_the_trials_over_the_table);
	tc = suite_add_case(s, "kept");
	tcase_add_tests(tc, devices, a_kept_result_is_found_without_trials,
		another_use_of_the_kernel_finds_nothing, a_changed_header_is_another_source,
		a_damaged_entry_is_ignored_and_replaced,
		a_tuning_is_not_kept_if_the_program_does_not_want_it,
		a_later_process_finds_what_was_kept, where_the_cache_is_off_nothing_is_kept);
	tc = suite_add_case(s, "refusals");
	tcase_add_tests(tc, devices, nonsense_is_refused,
		the_table_prints_a_line_for_each_configuration, a_captured_stream_is_refused,
		memory_that_runs_out_is_reported);
	tcase_add_test(tc, a_fault_ends_the_tuning);
	return s;
}
