/* SPDX-License-Identifier: MIT */
/*
 * The output of `kudzu run`: parameters with an example, arrays, times.
 *
 * The example is a call that works as it stands.  It has one block of 256 threads, arrays of 256
 * elements, and 16 for every integer, which is the side of a square of 256.  Structs are arrays of
 * zeros, long enough for all but huge ones.
 */
#define _GNU_SOURCE
#include "cli/run.h"

#include "cli/picture.h"
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLE_COUNT = 256, EXAMPLE_NUMBER = 16, STRUCT_SIZE = 256 };

/* Parameters */

/* The names of types; that of a pointer is without its star. */
static const struct {
	const char *type;
	const char *ours;
	bool is_float;
} spellings[] = {
	{"float", "f32", true}, {"double", "f64", true}, {"__half", "f16", true},
	{"__nv_bfloat16", "bf16", true}, {"__nv_fp8_e4m3", "e4m3", true},
	{"__nv_fp8_e5m2", "e5m2", true}, {"bool", "bool", false}, {"char", "i8", false},
	{"signed char", "i8", false}, {"unsigned char", "u8", false}, {"short", "i16", false},
	{"unsigned short", "u16", false}, {"int", "i32", false}, {"unsigned int", "u32", false},
	{"long", "i64", false}, {"unsigned long", "u64", false}, {"long long", "i64", false},
	{"unsigned long long", "u64", false}, {"void", "u8", false},
	{"float2", "f32", true}, {"float4", "f32", true}, {"int2", "i32", false},
	{"int4", "i32", false}, {"double2", "f64", true},
};

/* The index of a type of which length bytes are given; -1 for one that is not listed. */
static int show_find_spelling(const char *type, size_t length)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
		if (strlen(spellings[i].type) == length
		    && strncmp(spellings[i].type, type, length) == 0) {
			return (int)i;
		}
	}
	return -1;
}

static bool show_is_input(const char *type)
{
	return strncmp(type, "const ", 6) == 0 && strchr(type, '*');
}

/* The example for a pointer, whose type is without its star.  An array that the kernel may write
 * is 0, unless there is nothing else to read. */
static void show_pointer_example(
	char *out, size_t size, const char *type, size_t length, bool inputs)
{
	bool constant = strncmp(type, "const ", 6) == 0;
	int index = show_find_spelling(type + (constant ? 6 : 0), length - (constant ? 6 : 0));
	if (memchr(type, '*', length)) {
		snprintf(out, size, "?"); /* a pointer to pointers */
	} else if (index < 0) {
		snprintf(out, size, "u8[%d]=0", EXAMPLE_COUNT * STRUCT_SIZE);
	} else {
		const char *name = spellings[index].ours;
		bool small = strcmp(name, "bool") == 0 || strcmp(name, "i8") == 0;
		snprintf(out, size, "%s[%d]%s", name, EXAMPLE_COUNT,
			!constant && inputs ? "=0" : small ? "=1" : "=arange");
	}
}

/* An argument for a parameter; "?" if none can be guessed. */
static void show_example(char *out, size_t size, const char *type, bool inputs)
{
	size_t length = strlen(type);
	if (length > 0 && type[length - 1] == '*') {
		length -= length > 1 && type[length - 2] == ' ' ? 2 : 1;
		show_pointer_example(out, size, type, length, inputs);
		return;
	}
	int index = show_find_spelling(type, length);
	const char *name = index < 0 ? "" : spellings[index].ours;
	char last = length > 0 ? type[length - 1] : '\0';
	if (index < 0 || strcmp(type, "void") == 0) {
		snprintf(out, size, "?");
	} else if (last == '2' || last == '4') {
		snprintf(out, size, "%s:1,2%s", name, last == '4' ? ",3,4" : "");
	} else {
		snprintf(out, size, "%s:%d", name, strcmp(name, "bool") == 0 ? 1
			: spellings[index].is_float ? 2 : EXAMPLE_NUMBER);
	}
}

/* A word as the shell takes it: in quotes if it is not plain. */
static void show_print_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"_-+=:,./@%[]";
	/* Brackets are a pattern, which stands for itself where no file matches. */
	if (*word && strspn(word, plain) == strlen(word) && !strchr(word, '[')) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++) {
		fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, stdout);
	}
	putchar('\'');
}

static void show_print_options(const struct run *run)
{
	const char *const *lists[] = {run->source.include_dirs, run->source.defines};
	for (size_t k = 0; k < 2; k++) {
		for (const char *const *item = lists[k]; *item; item++) {
			printf(" -%c ", "ID"[k]);
			show_print_word(*item);
		}
	}
	const char *const values[] = {run->device, run->source.compile.arch,
		run->source.compile.std};
	static const char *const names[] = {"device", "arch", "std"};
	for (size_t k = 0; k < 3; k++) {
		if (values[k]) {
			printf(" --%s ", names[k]);
			show_print_word(values[k]);
		}
	}
}

static void show_print_example(const struct run *run, kz_kernel *kernel, bool alone,
	const struct parameters *parameters, const char *source)
{
	kz_kernel_info info = KZ_KERNEL_INFO_INIT;
	bool guessed = true, inputs = false;
	char text[64];
	int threads = kz_kernel_describe(kernel, &info, NULL) == KZ_OK
		&& info.max_threads_per_block < EXAMPLE_COUNT ? info.max_threads_per_block
		: EXAMPLE_COUNT;
	bool square = threads == EXAMPLE_COUNT && source && strstr(source, "threadIdx.y");
	printf("  kudzu run ");
	show_print_word(run->file);
	show_print_options(run);
	if (!alone) {
		printf(" --kernel ");
		show_print_word(kz_kernel_name(kernel));
	}
	printf(square ? " --grid 1 --block 16,16" : " --grid 1 --block %d", threads);
	for (size_t i = 0; i < parameters->count; i++) {
		inputs = inputs || show_is_input(parameters->items[i].type);
	}
	for (size_t i = 0; i < parameters->count; i++) {
		show_example(text, sizeof(text), parameters->items[i].type, inputs);
		putchar(' ');
		show_print_word(text);
		guessed = guessed && strcmp(text, "?") != 0;
	}
	printf("%s\n", guessed ? "" : "   # with an argument for each '?'");
}

static void show_list_kernel(
	const struct run *run, kz_kernel *kernel, bool alone, const char *source)
{
	struct parameters parameters;
	int width = 0;
	parameters_read(&parameters, kz_kernel_signature(kernel), source);
	printf("%s\n", kz_kernel_signature(kernel));
	for (size_t i = 0; i < parameters.count; i++) {
		int length = (int)strlen(parameters.items[i].name);
		width = length > width ? length : width;
	}
	for (size_t i = 0; i < parameters.count; i++) {
		const struct parameter *parameter = &parameters.items[i];
		printf("  %-*s  %s\n", width, parameter->name,
			*parameter->type ? parameter->type : "(type not known)");
	}
	show_print_example(run, kernel, alone, &parameters, source);
}

void run_list(const struct run *run, kz_module *mod, const struct source *source)
{
	const char *text = source->is_image ? NULL : source->data;
	int64_t count = kz_module_kernel_count(mod);
	for (int64_t i = 0; i < (run->kernel ? 1 : count); i++) {
		const char *name = run->kernel ? run->kernel : kz_module_kernel_name(mod, i);
		kz_kernel *kernel = NULL;
		if (kz_module_kernel(&kernel, mod, name, NULL) == KZ_OK) {
			show_list_kernel(run, kernel, count == 1 && !run->kernel, text);
		}
	}
}

/* Arrays */

/* "x = [0. 1. 2.]", the lines below the first one moved to the right as well. */
static kz_status show_print_array(const char *name, kz_array *array, kz_error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	if (!file) {
		return report_no_memory(err);
	}
	kz_status st = kz_array_print(array, file, err);
	if (fclose(file) && st == KZ_OK) {
		st = report_no_memory(err);
	}
	int indent = (int)strlen(name) + 3;
	for (char *line = text, *end; st == KZ_OK && *line; line = end) {
		end = line + strcspn(line, "\n");
		int length = (int)(end - line);
		if (line == text) {
			printf("%s = %.*s\n", name, length, line);
		} else {
			printf("%*s%.*s\n", length ? indent : 0, "", length, line);
		}
		end += *end == '\n';
	}
	free(text);
	return st;
}

/* Print an array, or its picture if --plot asks for that, and save it if --out or --plot do. */
static kz_status show_array(const struct run *run, size_t index, const char *name, kz_array *array,
	kz_error *err)
{
	char number[32];
	bool is_drawn = false;
	kz_status st = KZ_OK;
	snprintf(number, sizeof(number), "arg%zu", index + 1);
	for (int i = 0; i < run->out_count && st == KZ_OK; i++) {
		const struct run_out *out = &run->outs[i];
		if (strcmp(out->name, name) != 0 && strcmp(out->name, number) != 0) {
			continue;
		}
		is_drawn = is_drawn || !out->path;
		st = out->is_plot ? plot_show(name, array, out->path, err)
			: kz_array_save(array, out->path, err);
	}
	return st || is_drawn ? st : show_print_array(name, array, err);
}

kz_status run_show(const struct run *run, const struct run_values *values,
	const struct parameters *parameters, kz_error *err)
{
	kz_status st = KZ_OK;
	for (size_t i = 0; i < run->count && st == KZ_OK; i++) {
		if (values->arrays[i]) {
			st = show_array(run, i, parameters->items[i].name, values->arrays[i], err);
		}
	}
	return st;
}

/* Times */

static int show_compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

void run_format_time(char *out, size_t size, double ms)
{
	if (ms < 1) {
		snprintf(out, size, "%.3g us", 1e3 * ms);
	} else if (ms < 1e3) {
		snprintf(out, size, "%.3g ms", ms);
	} else {
		snprintf(out, size, "%.3g s", 1e-3 * ms);
	}
}

static void show_print_time(double ms)
{
	char text[32];
	run_format_time(text, sizeof(text), ms);
	fputs(text, stdout);
}

static void show_print_bytes(double bytes)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
	size_t unit = 0;
	while (bytes >= 1000 && unit + 1 < sizeof(units) / sizeof(*units)) {
		bytes /= 1000;
		unit++;
	}
	printf("%.4g %s", bytes, units[unit]);
}

static void show_print_times(double *times, int64_t count, int64_t size)
{
	qsort(times, (size_t)count, sizeof(*times), show_compare);
	double median = count % 2 ? times[count / 2]
		: (times[count / 2 - 1] + times[count / 2]) / 2;
	printf("%" PRId64 " launch%s: median ", count, count == 1 ? "" : "es");
	show_print_time(median);
	printf(", min ");
	show_print_time(times[0]);
	if (size > 0 && median > 0) {
		printf("; ");
		show_print_bytes((double)size);
		printf(" of arrays, %.3g GB/s if each is touched once",
			1e-6 * (double)size / median);
	}
	putchar('\n');
}

kz_status run_time(const struct run *run, kz_device *dev, kz_kernel *kernel,
	const struct run_values *values, kz_error *err)
{
	kz_event *start = NULL, *stop = NULL;
	kz_status st;
	double *times = calloc((size_t)run->times, sizeof(*times));
	if (!times) {
		return report_no_memory(err);
	}
	st = kz_event_create(&start, dev, err);
	st = st ? st : kz_event_create(&stop, dev, err);
	for (int64_t i = 0; i < run->times && st == KZ_OK; i++) {
		if (!(st = kz_event_record(start, NULL, err))
		    && !(st = run_launch(run, kernel, values, err))
		    && !(st = kz_event_record(stop, NULL, err))
		    && !(st = kz_event_synchronize(stop, err))) {
			st = kz_event_elapsed_ms(&times[i], start, stop, err);
		}
	}
	if (st == KZ_OK) {
		show_print_times(times, run->times, run_values_size(values));
	}
	kz_event_release(start);
	kz_event_release(stop);
	free(times);
	return st;
}
