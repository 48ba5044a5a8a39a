/* SPDX-License-Identifier: MIT */
/*
 * kudzu bench: times a kernel of a file with different blocks and macros.
 *
 * The arguments are those of `kudzu run`, and kz_tune does the trials.  The blocks are a list of
 * extents and no product of them, so a function refuses the combinations that are not in the list.
 * How fast memory can be is measured by copies in the same run.
 */
#define _GNU_SOURCE
#include "cli/bench.h"

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char name[] = "kudzu bench"; /* getopt's messages begin with it */

#define MAX_REPEATS 1000000
#define PEAK_SIZE (INT64_C(256) << 20)
#define PEAK_COPIES 4

/* The command line */

static bool bench_read_block(struct bench *bench, const char *text)
{
	if (bench->block_count == BENCH_SHAPES) {
		fprintf(stderr, "%s: more than %d times --block\n", name, BENCH_SHAPES);
		return false;
	}
	return run_read_dim(&bench->blocks[bench->block_count++], "block", text);
}

/* "TILE=1,2,4": the text is taken apart. */
static bool bench_read_try(struct bench *bench, char *text)
{
	char *equals = strchr(text, '=');
	size_t count = 1;
	if (!equals || equals == text || equals[1] == '\0') {
		fprintf(stderr, "%s: --try: expected MACRO=TEXT,TEXT, as in TILE=1,2,4, got '%s'\n",
			name, text);
		return false;
	}
	if (bench->try_count == BENCH_TRIES) {
		fprintf(stderr, "%s: more than %d times --try\n", name, BENCH_TRIES);
		return false;
	}
	for (const char *at = equals; *at; at++) {
		count += *at == ',';
	}
	const char **words = calloc(count, sizeof(*words));
	if (!words) {
		fprintf(stderr, "%s: out of memory\n", name);
		return false;
	}
	*equals = '\0';
	char *rest = equals + 1;
	for (size_t i = 0; i < count; i++) {
		words[i] = strsep(&rest, ",");
	}
	bench->tries[bench->try_count++] = (kz_tune_parameter){.kind = KZ_TUNE_MACRO,
		.name = text, .count = (int64_t)count, .words = words};
	return true;
}

static bool bench_read_option(struct bench *bench, int option, char *value)
{
	struct run *run = &bench->run;
	switch (option) {
	case 'k':
		run->kernel = value;
		return true;
	case 'g':
		return run->has_grid = run_read_dim(&run->grid, "grid", value);
	case 'b':
		return bench_read_block(bench, value);
	case 'z':
		return bench->has_size = run_read_dim(&bench->size, "size", value);
	case 'y':
		return bench_read_try(bench, value);
	case 'm':
		return run_read_count(&run->shared_size, 0, INT64_MAX, "shared", value,
			"bytes, 0 or more");
	case 'r':
		return run_read_count(&bench->repeats, 1, MAX_REPEATS, "repeat", value,
			"1 to 1000000 launches");
	case 'n':
		return run_read_count(&bench->bytes, 1, INT64_MAX, "bytes", value,
			"bytes, 1 or more");
	case 'j':
		return bench->json = true;
	case 'd':
		run->device = value;
		return true;
	default:
		return source_options_take(&run->source, option, value);
	}
}

static bool bench_read_words(struct bench *bench, int argc, char **argv)
{
	static const struct option options[] = {
		{"kernel", required_argument, NULL, 'k'},
		{"grid", required_argument, NULL, 'g'},
		{"block", required_argument, NULL, 'b'},
		{"size", required_argument, NULL, 'z'},
		{"try", required_argument, NULL, 'y'},
		{"shared", required_argument, NULL, 'm'},
		{"repeat", required_argument, NULL, 'r'},
		{"bytes", required_argument, NULL, 'n'},
		{"json", no_argument, NULL, 'j'},
		{"device", required_argument, NULL, 'd'},
		{"arch", required_argument, NULL, 'a'},
		{"std", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	argv[0] = name;
	struct words words = words_begin(argc, argv);
	for (int c; (c = words_next(&words, "-k:a:I:D:", options)) != -1;) {
		if (!bench_read_option(bench, c, optarg)) {
			return false;
		}
	}
	return run_take_words(&bench->run, &words) && run_read_arguments(&bench->run);
}

/* What to try */

/* Without --block: what is usual for a line of elements, or for an area of them. */
static bool bench_choose_blocks(struct bench *bench, const char *source, int64_t elements)
{
	static const kz_dim3 lines[] = {
		{32, 1, 1}, {64, 1, 1}, {128, 1, 1}, {256, 1, 1}, {512, 1, 1}, {1024, 1, 1}};
	static const kz_dim3 areas[] = {{8, 8, 1}, {16, 8, 1}, {32, 4, 1}, {16, 16, 1}, {32, 8, 1},
		{64, 4, 1}, {32, 16, 1}, {32, 32, 1}};
	bool is_area = bench->size.y > 1 || strstr(source, "threadIdx.y");
	if (!bench->has_size && !bench->run.has_grid && (elements == 0 || is_area)) {
		fprintf(stderr, "%s: %s: say the size in elements by --size, or the blocks by "
			"--grid\n", name, is_area ? "the source has threadIdx.y"
			: "there is no array that has elements");
		return false;
	}
	if (!bench->has_size) {
		bench->size = kz_dim(elements > 0 ? elements : 1, 1, 1);
	}
	if (bench->block_count == 0) {
		memcpy(bench->blocks, is_area ? areas : lines,
			is_area ? sizeof(areas) : sizeof(lines));
		bench->block_count = is_area ? sizeof(areas) / sizeof(*areas)
			: sizeof(lines) / sizeof(*lines);
	}
	return true;
}

/* Whether the device can launch a block of the list. */
static bool bench_check_blocks(const struct bench *bench, kz_device *dev)
{
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	int64_t most = kz_device_describe(dev, &info, NULL) ? 0 : info.max_threads_per_block;
	for (int i = 0; i < bench->block_count; i++) {
		const kz_dim3 *block = &bench->blocks[i];
		if (block->x < 1 || block->y < 1 || block->z < 1) {
			fprintf(stderr, "%s: --block: each extent is at least 1\n", name);
			return false;
		}
		if (block->x <= most && block->y <= most / block->x
		    && block->z <= most / block->x / block->y) {
			return true;
		}
	}
	fprintf(stderr, "%s: --block: no block fits the device, which has at most %" PRId64
		" threads in one\n", name, most);
	return false;
}

/* Only blocks of the list, and the grid that the command line asks for. */
static int bench_accepts(void *user, kz_tune_config *config)
{
	const struct bench *bench = user;
	int i = 0;
	while (i < bench->block_count && (bench->blocks[i].x != config->block.x
			|| bench->blocks[i].y != config->block.y
			|| bench->blocks[i].z != config->block.z)) {
		i++;
	}
	if (bench->run.has_grid) {
		config->grid = bench->run.grid;
	}
	return i < bench->block_count;
}

static int64_t bench_extent(const kz_dim3 *block, int axis)
{
	return axis == 0 ? block->x : axis == 1 ? block->y : block->z;
}

/* The extents of the blocks along an axis, each once. */
static int64_t bench_list_extents(int64_t *out, const struct bench *bench, int axis)
{
	int64_t count = 0;
	for (int i = 0; i < bench->block_count; i++) {
		int64_t extent = bench_extent(&bench->blocks[i], axis), k = 0;
		while (k < count && out[k] != extent) {
			k++;
		}
		out[k] = extent;
		count += k == count;
	}
	return count;
}

/* Trials */

/* The fastest of some copies, the first of which is not counted: it touches new memory. */
static kz_status bench_measure_peak(struct bench_peak *out, kz_device *dev, kz_error *err)
{
	kz_buffer *from = NULL, *to = NULL;
	kz_event *start = NULL, *stop = NULL;
	int64_t free_size = 0;
	double least = 0, ms = 0;
	kz_status st = kz_device_memory(dev, &free_size, NULL, err);
	int64_t size = (free_size / 8 < PEAK_SIZE ? free_size / 8 : PEAK_SIZE) & ~INT64_C(4095);
	st = st ? st : kz_buffer_create(&from, dev, size, err);
	st = st ? st : kz_buffer_create(&to, dev, size, err);
	st = st ? st : kz_fill(from, 0, size, &(char){1}, 1, NULL, err);
	st = st ? st : kz_event_create(&start, dev, err);
	st = st ? st : kz_event_create(&stop, dev, err);
	for (int i = 0; i <= PEAK_COPIES && !st; i++) {
		if (!(st = kz_event_record(start, NULL, err))
		    && !(st = kz_copy_dtod(to, 0, from, 0, size, err))
		    && !(st = kz_event_record(stop, NULL, err))
		    && !(st = kz_event_synchronize(stop, err))
		    && !(st = kz_event_elapsed_ms(&ms, start, stop, err))) {
			least = i == 1 || (i > 1 && ms < least) ? ms : least;
		}
	}
	*out = (struct bench_peak){least > 0 ? 2e-6 * (double)size / least : 0, size, PEAK_COPIES};
	kz_event_release(start);
	kz_event_release(stop);
	kz_buffer_release(from);
	kz_buffer_release(to);
	return st;
}

static kz_status bench_tune(struct bench_report *report, struct bench *bench,
	const struct source *source, kz_args args, kz_error *err)
{
	int64_t extents[3][BENCH_SHAPES];
	kz_tune_parameter parameters[3 + BENCH_TRIES];
	kz_compile_options compile = bench->run.source.compile;
	kz_tunable tunable = KZ_TUNABLE_INIT;
	kz_tune_options options = KZ_TUNE_OPTIONS_INIT;
	int count = 0;
	for (int axis = 0; axis < 3; axis++) {
		int64_t different = bench_list_extents(extents[axis], bench, axis);
		if (axis == 0 || different > 1 || extents[axis][0] != 1) {
			parameters[count++] = (kz_tune_parameter){.kind = KZ_TUNE_BLOCK_X + axis,
				.count = different, .values = extents[axis]};
		}
	}
	memcpy(parameters + count, bench->tries,
		(size_t)bench->try_count * sizeof(*bench->tries));
	compile.name = source_name(source);
	tunable.source = source->data;
	tunable.kernel = kz_kernel_name(report->kernel);
	tunable.compile = &compile;
	tunable.parameters = parameters;
	tunable.parameter_count = count + bench->try_count;
	tunable.shared_size = bench->run.shared_size;
	tunable.accept = bench_accepts;
	tunable.user = bench;
	options.keep_nothing = 1;
	options.repeats = (int32_t)bench->repeats;
	progress_begin("kudzu bench: '%s'", tunable.kernel);
	kz_status st = kz_tune(&report->tuning, report->dev, &tunable, bench->size, &options, err,
		args);
	progress_end();
	return st;
}

static int bench_kernel(struct bench *bench, kz_device *dev, kz_kernel *kernel,
	const struct source *source)
{
	struct parameters parameters;
	struct run_values values;
	struct bench_report report = {.bench = bench, .dev = dev, .kernel = kernel};
	kz_error err = KZ_ERROR_INIT;
	int status = CLI_OK;
	parameters_read(&parameters, kz_kernel_signature(kernel), source->data);
	if (parameters.known && parameters.count != bench->run.count) {
		fprintf(stderr, "%s: '%s' takes %zu argument%s, got %zu; `kudzu run %s` lists "
			"them\n", name, kz_kernel_name(kernel), parameters.count,
			parameters.count == 1 ? "" : "s", bench->run.count, bench->run.file);
		return CLI_USAGE;
	}
	if (run_values_create(&values, dev, &bench->run, &parameters, &err)) {
		const char *word = bench->run.words[values.failed];
		report_place("bench", err.message, word, 0, strlen(word));
		status = report_status(&err);
		kz_error_clear(&err);
	} else if (!bench_choose_blocks(bench, source->data, run_values_count(&values))
		|| !bench_check_blocks(bench, dev)) {
		status = CLI_USAGE;
	} else {
		report.bytes = bench->bytes ? bench->bytes : run_values_size(&values);
		if ((report.bytes && bench_measure_peak(&report.peak, dev, &err))
		    || bench_tune(&report, bench, source,
			    (kz_args){values.args, bench->run.count}, &err)) {
			status = run_fail(&bench->run, &err);
		} else if (bench->json) {
			bench_show_json(&report);
		} else {
			bench_show(&report);
		}
	}
	kz_tuning_release(report.tuning);
	run_values_finish(&values);
	return status;
}

/* Compile with the first values of all macros, to know the parameters. */
static kz_status bench_load(kz_module **out, kz_device *dev, const struct bench *bench,
	const struct source *source, kz_error *err)
{
	const struct run *run = &bench->run;
	const char *instance = run->kernel && strchr(run->kernel, '<') ? run->kernel : NULL;
	struct source_options options = run->source;
	char *made[BENCH_TRIES] = {NULL};
	size_t given = 0;
	kz_status st = KZ_OK;
	while (options.defines[given]) {
		given++;
	}
	const char **defines = calloc(given + BENCH_TRIES + 1, sizeof(*defines));
	if (!defines) {
		return report_no_memory(err);
	}
	memcpy(defines, options.defines, given * sizeof(*defines));
	for (int i = 0; i < bench->try_count && !st; i++) {
		const kz_tune_parameter *macro = &bench->tries[i];
		st = asprintf(&made[i], "%s=%s", macro->name, macro->words[0]) < 0
			? report_no_memory(err) : KZ_OK;
		made[i] = st ? NULL : made[i];
		defines[given + (size_t)i] = made[i];
	}
	options.compile.defines = defines;
	st = st ? st : source_load(out, dev, source, &options, instance, err);
	for (int i = 0; i < bench->try_count; i++) {
		free(made[i]);
	}
	free(defines);
	return st;
}

static int bench_source(struct bench *bench, const struct source *source)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	int status;
	if (source->is_image) {
		fprintf(stderr, "%s: '%s' is an image; expected CUDA C++, which is compiled for "
			"each trial\n", name, bench->run.file);
		return CLI_USAGE;
	}
	if (kz_device_open(&dev, bench->run.device, &err)
	    || bench_load(&mod, dev, bench, source, &err)) {
		status = run_fail(&bench->run, &err);
	} else {
		report_log(kz_module_log(mod));
		status = run_find_kernel(&kernel, &bench->run, mod, source, true);
		status = status == CLI_OK ? bench_kernel(bench, dev, kernel, source) : status;
	}
	kz_module_release(mod);
	kz_device_close(dev);
	return status;
}

int bench_main(int argc, char **argv)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct source source;
	int status = CLI_USAGE;
	run_command = "bench";
	if (!bench || !source_options_init(&bench->run.source, argc)) {
		fprintf(stderr, "%s: out of memory\n", name);
		status = CLI_FAILED;
	} else {
		bench->repeats = 20;
		if (bench_read_words(bench, argc, argv)
		    && source_open(&source, "bench", bench->run.file)) {
			status = bench_source(bench, &source);
			source_close(&source);
		}
	}
	if (bench) {
		source_options_finish(&bench->run.source);
		for (int i = 0; i < bench->try_count; i++) {
			free((void *)bench->tries[i].words);
		}
	}
	free(bench);
	return status;
}
