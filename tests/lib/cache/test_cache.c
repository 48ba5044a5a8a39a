/* SPDX-License-Identifier: MIT */
/*
 * The cache as programs see it: what was compiled once is compiled no more, by no process, and what
 * differs in anything is.  Each test has a folder of its own, and each compile that is to find
 * nothing in memory a process of its own.
 */
#include "base/common.h"

#include "base/file.h"
#include "base/alloc.h"
#include "lib/module/image_cache.h"
#include "lib/cache/cache.h"
#include "lib/rtc/nvrtc.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[512];
static kz_error err;

static void setup(void)
{
	err = (kz_error)KZ_ERROR_INIT;
	snprintf(folder, sizeof(folder), "%s/cache-test-XXXXXX", KZ_TEST_BUILD);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("KUDZU_CACHE_DIR", folder, 1);
	unsetenv("KUDZU_CACHE");
}

static void teardown(void)
{
	char command[600];
	kz_error_clear(&err);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* What a process has to say about a compile. */
struct told {
	int64_t compiles;
	int64_t disk_hits;
	int value; /* that the kernel writes; -1 without one */
	char log[512];
	char name[64];
};

struct wish {
	const char *source;
	const kz_compile_options *options;
};

static void write_text(const char *name, const char *text)
{
	char path[700];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void tell_counts(struct told *told)
{
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	ok(kz_cache_stats(&figures, &err));
	told->compiles = figures.compiles;
	told->disk_hits = figures.disk_hits;
}

static void compile_image(struct told *told, const struct wish *wish)
{
	kz_image *image = NULL;
	ok(kz_compile(&image, wish->source, wish->options, &err));
	snprintf(told->log, sizeof(told->log), "%s", kz_image_log(image));
	snprintf(told->name, sizeof(told->name), "%s",
		kz_image_kernel_count(image) ? kz_image_kernel_name(image, 0) : "");
	/* The kernels of these tests write one constant. */
	const char *store = strstr(kz_image_data(image, NULL), "mov.b32");
	store = store ? store : strstr(kz_image_data(image, NULL), "mov.u32");
	told->value = store ? (int)strtol(strchr(store, ',') + 1, NULL, 10) : -1;
	kz_image_release(image);
	tell_counts(told);
}

/* Compile in a process of its own. */
static struct told compile(const struct wish *wish)
{
	struct told told;
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct told before = {0};
		memset(&told, 0, sizeof(told));
		image_cache_clear(); /* what the parent knows */
		tell_counts(&before);
		compile_image(&told, wish);
		told.compiles -= before.compiles;
		told.disk_hits -= before.disk_hits;
		_exit(write(ends[1], &told, sizeof(told)) == (ssize_t)sizeof(told) ? 0 : 1);
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &told, sizeof(told)), (ssize_t)sizeof(told));
	close(ends[0]);
	waitpid(child, NULL, 0);
	return told;
}

static bool hits(const struct wish *wish)
{
	struct told told = compile(wish);
	ck_assert_int_eq(told.compiles + told.disk_hits, 1);
	return told.disk_hits == 1;
}

#define K(value) "extern \"C\" __global__ void k(int *p) { *p = " value "; }\n"

START_TEST(the_second_process_compiles_nothing)
{
	struct wish wish = {"template<class T> __global__ void k(T *p) { int unused; *p = 5; }\n",
		NULL};
	static const char *const instances[] = {"k<int>", NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	options.instances = instances;
	wish.options = &options;
	struct told first = compile(&wish), second = compile(&wish);
	ck_assert_int_eq(first.compiles, 1);
	ck_assert_int_eq(second.compiles, 0);
	ck_assert_int_eq(second.disk_hits, 1);
	ck_assert_int_eq(second.value, 5);
	ck_assert_str_eq(second.name, "k<int>");
	ck_assert_str_eq(second.log, first.log);
	ck_assert_ptr_nonnull(strstr(second.log, "unused"));
}
END_TEST

static bool has_nvrtc(void)
{
	char line[512];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");
	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps)) {
		found |= strstr(line, "/libnvrtc") != NULL;
	}
	fclose(maps);
	return found;
}

START_TEST(a_hit_loads_no_compiler)
{
	const struct wish wish = {K("31"), NULL};
	struct told told;
	ck_assert_int_eq(compile(&wish).compiles, 1);
	compile_image(&told, &wish);
	ck_assert_int_eq(told.disk_hits, 1);
	ck_assert_int_eq(told.value, 31);
	ck_assert(!has_nvrtc());
	compile_image(&told, &(struct wish){K("32"), NULL});
	ck_assert(has_nvrtc());
}
END_TEST

/* What looks like the newest NVRTC and is none: who compiles is another, under whose name nothing
 * can be kept without loading both. */
START_TEST(what_another_compiler_made_is_not_kept)
{
	const struct wish wish = {K("33"), NULL};
	struct nvrtc_place place;
	char text[9000], link[700];
	ck_assert(nvrtc_locate(&place));
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	write_text("libnvrtc.so.99", text);
	snprintf(link, sizeof(link), "%s/libnvrtc.so.1", folder);
	ck_assert_int_eq(symlink(place.path, link), 0);
	setenv("KUDZU_NVRTC", folder, 1);
	nvrtc_place_free(&place);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(compile(&wish).compiles, 1);
	}
}
END_TEST

START_TEST(the_second_compile_of_a_process_is_from_memory)
{
	struct told told = {0};
	struct wish wish = {K("7"), NULL};
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	compile_image(&told, &wish);
	compile_image(&told, &wish);
	ok(kz_cache_stats(&figures, &err));
	ck_assert_int_eq(figures.compiles, 1);
	ck_assert_int_eq(figures.memory_hits, 1);
	ck_assert_int_eq(figures.memory_count, 1);
	ck_assert_int_gt(figures.memory_size, 0);
	ck_assert_int_eq(figures.stored, 2); /* and the hash of NVRTC */
	ck_assert_str_eq(figures.folder, folder);
	ck_assert_ptr_null(figures.why_off);
}
END_TEST

enum { LONG = 100000 };

/* A source of so many bytes, which all differ in the last one. */
static char *long_source(char last)
{
	char *source = mem_alloc(LONG + 1);
	int len = snprintf(source, LONG, "%s//", K("7"));
	memset(source + len, ' ', (size_t)(LONG - len));
	source[LONG - 1] = last;
	source[LONG] = '\0';
	return source;
}

/* Each has a source of its own, which is gone once it has an image; the others may wait for
 * that. */
static void *compile_long(void *arg)
{
	char *source = long_source('a');
	kz_image *image = NULL;
	kz_status st = kz_compile(&image, source, NULL, NULL);
	memset(source, 'x', LONG);
	mem_free(source);
	bool good = st == KZ_OK && kz_image_kernel_count(image) == 1
		&& strcmp(kz_image_kernel_name(image, 0), "k") == 0;
	kz_image_release(image);
	return good ? arg : NULL;
}

START_TEST(threads_ask_for_one_long_source_at_once)
{
	enum { THREADS = 4, ROUNDS = 8 };
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t threads[THREADS];
		void *good;
		for (int i = 0; i < THREADS; i++) {
			ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_long, &err), 0);
		}
		for (int i = 0; i < THREADS; i++) {
			pthread_join(threads[i], &good);
			ck_assert_ptr_nonnull(good);
		}
		image_cache_clear();
	}
	ok(kz_cache_stats(&figures, &err));
	ck_assert_int_eq(figures.compiles, 1);
	ck_assert_int_eq(figures.disk_hits + figures.memory_hits, THREADS * ROUNDS - 1);
}
END_TEST

static const char *const one_define[] = {"N=1", NULL};
static const char *const other_define[] = {"N=2", NULL};
static const char *const instance[] = {"t<int>", NULL};
static const char *const option[] = {"--fmad=false", NULL};
static const char *const names[] = {"m.h", NULL};
static const char *const text_1[] = {"#define M 1\n", NULL};
static const char *const text_2[] = {"#define M 2\n", NULL};

#define BASE .size = sizeof(kz_compile_options)
static const kz_compile_options variants[] = {
	{BASE},
	{BASE, .name = "other.cu"},
	{BASE, .defines = one_define},
	{BASE, .defines = other_define},
	{BASE, .instances = instance},
	{BASE, .nvrtc_options = option},
	{BASE, .arch = "compute_80"},
	{BASE, .arch = "sm_80"},
	{BASE, .line_info = 1},
	{BASE, .debug = 1},
	{BASE, .fast_math = 1},
	{BASE, .no_prelude = 1},
	{BASE, .header_names = names, .header_texts = text_1},
	{BASE, .header_names = names, .header_texts = text_2},
};

static const char varied[] = "template<class T> __global__ void t(T *p) { *p = 1; }\n" K("3");

START_TEST(each_option_that_changes_is_a_miss)
{
	char why[1000];
	for (size_t i = 0; i < countof(variants); i++) {
		struct wish wish = {varied, &variants[i]};
		ok(kz_cache_why(why, sizeof(why), NULL, varied, &variants[i], &err));
		ck_assert_msg(strncmp(why, "miss", 4) == 0, "%zu: %s", i, why);
		ck_assert_msg(!hits(&wish), "%zu", i);
		ok(kz_cache_why(why, sizeof(why), NULL, varied, &variants[i], &err));
		ck_assert_str_eq(why, "hit\n");
		ck_assert_msg(hits(&wish), "%zu", i);
	}
}
END_TEST

START_TEST(another_source_is_a_miss_and_why_says_where)
{
	char why[1000];
	struct wish wish = {"\n\n" K("3"), NULL};
	ck_assert(!hits(&wish));
	ok(kz_cache_why(why, sizeof(why), NULL, "\n\n" K("4"), NULL, &err));
	ck_assert_str_eq(why, "miss: compared with the entry that is most like it, of "
		"'kernel.cu',\n"
		"the source differs from line 3 on\n");
	wish.source = "\n\n" K("4");
	ck_assert(!hits(&wish));
	ck_assert_int_eq(compile(&wish).value, 4);
}
END_TEST

START_TEST(an_edited_header_is_a_miss_in_both_processes)
{
	const char *const include[] = {folder, NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	struct wish wish = {"#include \"v.h\"\n" K("V"), &options};
	struct told here = {0};
	char why[1000];
	options.include_dirs = include;
	write_text("v.h", "#include \"w.h\"\n");
	for (int i = 10; i < 16; i++) {
		char text[64];
		snprintf(text, sizeof(text), "#define V %d\n", i);
		write_text("w.h", text); /* of the same size, within one tick of the clock */
		ck_assert(!hits(&wish));
		ck_assert_int_eq(compile(&wish).value, i);
		ck_assert(hits(&wish));
		compile_image(&here, &wish); /* by this process, which remembers the last one */
		ck_assert_int_eq(here.value, i);
	}
	write_text("w.h", "#define V 99\n");
	ok(kz_cache_why(why, sizeof(why), NULL, wish.source, &options, &err));
	ck_assert_ptr_nonnull(strstr(why, "header '0:w.h' is new or has changed"));
}
END_TEST

START_TEST(a_header_that_appears_in_front_of_another_is_a_miss)
{
	char front[600];
	snprintf(front, sizeof(front), "%s/front", folder);
	const char *const include[] = {front, folder, NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	struct wish wish = {"#include <v.h>\n" K("V"), &options};
	struct told here = {0};
	options.include_dirs = include;
	ck_assert_int_eq(mkdir(front, 0755), 0);
	write_text("v.h", "#define V 1\n");
	compile_image(&here, &wish);
	ck_assert_int_eq(here.value, 1);
	write_text("front/v.h", "#define V 2\n");
	compile_image(&here, &wish);
	ck_assert_int_eq(here.value, 2);
	ck_assert_int_eq(compile(&wish).value, 2);
}
END_TEST

/* NVRTC reads another header than was hashed, and after the compile it is as before: the file
 * written anew, with its old times, or another one in its place or in an earlier folder for a
 * while. */
static nvrtcResult (*real_compile)(nvrtcProgram program, int count, const char *const *options);
static int way;

static nvrtcResult compile_another(nvrtcProgram program, int count, const char *const *options)
{
	struct stat before;
	char path[700], other[700];
	snprintf(path, sizeof(path), "%s/v.h", folder);
	snprintf(other, sizeof(other), "%s/other.h", folder);
	ck_assert_int_eq(stat(path, &before), 0);
	if (way == 3) {
		write_text("front/v.h", "#define V 2\n");
		nvrtcResult code = real_compile(program, count, options);
		snprintf(path, sizeof(path), "%s/front/v.h", folder);
		ck_assert_int_eq(unlink(path), 0);
		return code;
	}
	if (way == 2) {
		ck_assert_int_eq(rename(path, other), 0);
	}
	write_text("v.h", "#define V 2\n");
	nvrtcResult code = real_compile(program, count, options);
	if (way == 2) {
		ck_assert_int_eq(rename(other, path), 0);
	} else {
		write_text("v.h", "#define V 1\n");
	}
	if (way == 1) {
		const struct timespec times[] = {before.st_atim, before.st_mtim};
		ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	}
	return code;
}

START_TEST(a_header_that_changes_and_changes_back_leaves_no_image)
{
	char front[600];
	snprintf(front, sizeof(front), "%s/front", folder);
	mkdir(front, 0755);
	const char *const include[] = {front, folder, NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	const struct wish wish = {"#include <v.h>\n" K("V"), &options};
	const struct wish next = {"#include <v.h>\n" K("V * 1"), &options};
	const struct nvrtc *nvrtc;
	struct told here = {0};
	options.include_dirs = include;
	options.pch = _i >= 4;
	way = _i % 4;
	write_text("v.h", "#define V 1\n");
	ok(nvrtc_open(&nvrtc, &err));
	struct nvrtc *table = (struct nvrtc *)nvrtc;
	real_compile = table->CompileProgram;
	table->CompileProgram = compile_another;
	compile_image(&here, &wish);
	ck_assert_int_eq(here.value, 2);
	table->CompileProgram = real_compile;
	compile_image(&here, &next); /* with no precompiled header of the other one */
	ck_assert_int_eq(here.value, 1);
	ck_assert_int_eq(compile(&wish).value, 1);
	compile_image(&here, &wish);
	ck_assert_int_eq(here.value, 1);
	ck_assert(hits(&wish));
}
END_TEST

/* The folder's path is in no key, unless the compiler's words have it. */
START_TEST(a_project_may_move)
{
	static const char *const headers[] = {"#define V 1\n",
		"#define V 1\n__device__ inline void f() { int unused; }\n"};
	for (int warns = 0; warns < 2; warns++) {
		char there[600];
		snprintf(there, sizeof(there), "%s/%d", folder, warns);
		const char *include[] = {folder, NULL};
		kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
		struct wish wish = {"#include <v.h>\n" K("V"), &options};
		options.include_dirs = include;
		write_text("v.h", headers[warns]);
		ck_assert(!hits(&wish));
		struct told first = compile(&wish);
		ck_assert_int_eq(first.disk_hits, 1);
		ck_assert_int_eq(strstr(first.log, folder) != NULL, warns);
		ck_assert_int_eq(mkdir(there, 0755), 0);
		include[0] = there;
		snprintf(there + strlen(there), 8, "/v.h");
		write_text(there + strlen(folder) + 1, headers[warns]);
		*strrchr(there, '/') = '\0';
		ck_assert_int_eq(hits(&wish), !warns);
	}
}
END_TEST

START_TEST(what_no_key_can_hold_is_compiled_each_time)
{
	static const char *const sources[] = {
		"__device__ const char t[] = __TIME__;\n" K("1"),
		"__device__ const char t[] = __DATE__;\n" K("1"),
		"#define H \"v.h\"\n#include H\n" K("1"),
	};
	const char *const include[] = {folder, NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	char why[200];
	options.include_dirs = include;
	write_text("v.h", "");
	for (size_t i = 0; i < countof(sources); i++) {
		struct wish wish = {sources[i], &options};
		ck_assert(!hits(&wish));
		ck_assert(!hits(&wish));
		ok(kz_cache_why(why, sizeof(why), NULL, sources[i], &options, &err));
		ck_assert_msg(strncmp(why, "not cached: ", 12) == 0, "%s", why);
	}
}
END_TEST

START_TEST(a_source_that_does_not_compile_is_tried_again)
{
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	kz_image *image = NULL;
	for (int i = 0; i < 2; i++) {
		fails(kz_compile(&image, "__global__ void k() { x; }", NULL, &err), KZ_COMPILE,
			"x");
	}
	ok(kz_cache_stats(&figures, &err));
	ck_assert_int_eq(figures.compiles, 2);
	ck_assert_int_eq(figures.stored, 1); /* the hash of NVRTC */
	ck_assert_int_eq(figures.memory_count, 0);
}
END_TEST

START_TEST(without_a_folder_there_is_still_the_memory)
{
	static const struct {
		const char *variable;
		const char *value;
	} rows[] = {{"KUDZU_CACHE", "0"}, {"KUDZU_CACHE_DIR", "/proc/nowhere"},
	 {"KUDZU_CACHE_DIR", "/dev/null"}};
	struct wish wish = {K("6"), NULL};
	struct told told = {0};
	setenv(rows[_i].variable, rows[_i].value, 1);
	ck_assert(!hits(&wish));
	ck_assert(!hits(&wish));
	compile_image(&told, &wish);
	compile_image(&told, &wish);
	ck_assert_int_eq(told.compiles, 1);
	ck_assert_int_eq(told.value, 6);
}
END_TEST

static int count_entry(void *arg, const kz_cache_entry *entry)
{
	int *count = arg;
	if (strcmp(entry->kind, "nvrtc") == 0) {
		return 0;
	}
	ck_assert_str_eq(entry->kind, "image");
	ck_assert_str_eq(entry->name, "kernel.cu");
	ck_assert_int_gt(entry->size, 0);
	ck_assert_int_gt(entry->used_ns, 0);
	return ++*count == 2; /* enough */
}

static const struct {
	const char *variable, *value, *message;
} strange[] = {
	{"KUDZU_CACHE", "off", "KUDZU_CACHE is 'off': expected 0 or 1"},
	{"KUDZU_CACHE", "00", "KUDZU_CACHE is '00': expected 0 or 1"},
	{"KUDZU_CACHE_DIR", "relative", "KUDZU_CACHE_DIR is 'relative': expected an absolute path"},
	{"KUDZU_CACHE_SIZE", "lots", "KUDZU_CACHE_SIZE is 'lots': expected bytes above 0, such as "
		"500M"},
	{"KUDZU_CACHE_SIZE", "0", "KUDZU_CACHE_SIZE is '0': expected bytes above 0"},
};

START_TEST(a_variable_that_makes_no_sense_is_named_on_every_path)
{
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	kz_image *image = NULL;
	kz_device *dev = NULL;
	int count = 0;
	const char *message = strange[_i].message;
	setenv(strange[_i].variable, strange[_i].value, 1);
	fails(kz_compile(&image, K("1"), NULL, &err), KZ_INVALID, message);
	for (int i = 0; i < support_device_count(); i++) {
		kz_status st = kz_device_open(&dev, support_device_name(i), &err);
		ck_assert_int_eq(st, KZ_INVALID);
		ck_assert_msg(strstr(err.message, message) != NULL, "'%s'", err.message);
		kz_error_clear(&err);
	}
	support_stub("");
	fails(kz_device_open(&dev, "cuda:0", &err), KZ_INVALID, message);
	fails(kz_cache_clear(NULL, &err), KZ_INVALID, message);
	ok(kz_cache_stats(&figures, &err));
	ck_assert_ptr_nonnull(strstr(figures.why_off, message));
	fails(kz_cache_list(count_entry, &count, &err), KZ_STATE, message);
	setenv(strange[_i].variable, "", 1);
	ok(kz_compile(&image, K("1"), NULL, &err));
	kz_image_release(image);
}
END_TEST

START_TEST(many_processes_compile_once)
{
	struct wish wish = {K("8"), NULL};
	pid_t children[6];
	int compiles = 0;
	for (size_t i = 0; i < countof(children); i++) {
		children[i] = fork();
		if (children[i] == 0) {
			struct told told = {0};
			compile_image(&told, &wish);
			_exit(told.value == 8 ? (int)told.compiles : 100);
		}
	}
	for (size_t i = 0; i < countof(children); i++) {
		int status = 0;
		waitpid(children[i], &status, 0);
		ck_assert(WIFEXITED(status));
		compiles += WEXITSTATUS(status);
	}
	ck_assert_int_eq(compiles, 1);
}
END_TEST

START_TEST(the_entries_are_listed_and_cleared)
{
	static const char *const sources[] = {K("1"), K("2"), K("3")};
	int count = 0;
	int64_t removed = 0;
	kz_cache_figures figures = KZ_CACHE_FIGURES_INIT;
	for (size_t i = 0; i < countof(sources); i++) {
		struct told told = {0};
		struct wish wish = {sources[i], NULL};
		compile_image(&told, &wish);
	}
	ok(kz_cache_list(count_entry, &count, &err));
	ck_assert_int_eq(count, 2);
	ok(kz_cache_clear(&removed, &err));
	ck_assert_int_eq(removed, 4); /* and the hash of NVRTC */
	ok(kz_cache_stats(&figures, &err));
	ck_assert_int_eq(figures.memory_count, 0);
	ok(kz_cache_list(count_entry, &count, &err));
	ck_assert_int_eq(count, 2);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	kz_cache_figures figures = {.size = 1};
	char text[8];
	fails(kz_cache_stats(NULL, &err), KZ_INVALID, "kz_cache_figures");
	fails(kz_cache_stats(&figures, &err), KZ_INVALID, "kz_cache_figures has size 1");
	fails(kz_cache_list(NULL, NULL, &err), KZ_INVALID, "function");
	fails(kz_cache_why(NULL, 8, NULL, "", NULL, &err), KZ_INVALID, "got NULL");
	fails(kz_cache_why(text, sizeof(text), NULL, NULL, NULL, &err), KZ_INVALID, "source");
	ok(kz_cache_why(text, sizeof(text), NULL, "", NULL, &err));
	ck_assert_str_eq(text, "miss: t");
	setenv("KUDZU_CACHE", "0", 1);
}
END_TEST

START_TEST(any_failing_allocation_is_survived)
{
	const char *const include[] = {folder, NULL};
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *image = NULL;
	char why[200];
	bool failed = true;
	long n;
	options.include_dirs = include;
	write_text("v.h", "#define V 1\n");
	ok(kz_compile(&image, "#include <v.h>\n" K("V"), &options, &err));
	kz_image_release(image);
	for (n = 0; failed && n < 5000; n++) {
		image_cache_clear();
		mem_fail_after(n);
		kz_status st = kz_compile(&image, "#include <v.h>\n" K("V"), &options, &err);
		kz_status asked = kz_cache_why(why, sizeof(why), NULL, "#include <v.h>\n" K("2"),
			&options, NULL);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert(st == KZ_OK || (failed && st == KZ_NO_MEMORY));
		ck_assert(asked == KZ_OK || (failed && asked == KZ_NO_MEMORY));
		kz_image_release(image);
		kz_error_clear(&err);
	}
	ck_assert_int_gt(n, 20);
	ck_assert(!failed);
}
END_TEST

SUITE(cache)
{
	static const TTest *const *const tests[] = {
		&the_second_process_compiles_nothing, &a_hit_loads_no_compiler,
		&what_another_compiler_made_is_not_kept,
		&the_second_compile_of_a_process_is_from_memory,
		&threads_ask_for_one_long_source_at_once, &each_option_that_changes_is_a_miss,
		&another_source_is_a_miss_and_why_says_where,
		&an_edited_header_is_a_miss_in_both_processes,
		&a_header_that_appears_in_front_of_another_is_a_miss, &a_project_may_move,
		&what_no_key_can_hold_is_compiled_each_time,
		&a_source_that_does_not_compile_is_tried_again, &many_processes_compile_once,
		&the_entries_are_listed_and_cleared, &bad_arguments_are_refused,
		&any_failing_allocation_is_survived,
	};
	Suite *suite = suite_create("cache");
	TCase *tc = tcase_create("cache");
	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < countof(tests); i++) {
		tcase_add_test(tc, *tests[i]);
	}
	tcase_add_loop_test(tc, a_header_that_changes_and_changes_back_leaves_no_image, 0, 8);
	tcase_add_loop_test(tc, without_a_folder_there_is_still_the_memory, 0, 3);
	tcase_add_loop_test(tc, a_variable_that_makes_no_sense_is_named_on_every_path, 0,
		(int)countof(strange));
	suite_add_tcase(suite, tc);
	return suite;
}
