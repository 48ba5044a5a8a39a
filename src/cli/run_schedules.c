/* SPDX-License-Identifier: MIT */
/*
 * kudzu run --schedules: whether the results depend on the order in which threads run.
 *
 * The first run uses the usual order, and its arrays are kept.  The later runs use the orders of
 * the seeds 1, 2, ... (KUDZU_CPU_SCHEDULE), each with new arrays on a newly opened device.  Their
 * arrays are compared with the first ones byte for byte, and only differences are shown.
 */
#define _GNU_SOURCE
#include "cli/run.h"

#include "cli/cli.h"
#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 10 }; /* seeds, the others are counted */

void run_schedules_set(struct run *run, int64_t seed)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRId64, seed);
	run->seed = seed;
	run->is_rehearsal = seed > 0;
	if (seed > 0) {
		setenv("KUDZU_CPU_SCHEDULE", text, 1);
	} else {
		run->differing = 0;
		unsetenv("KUDZU_CPU_SCHEDULE");
	}
}

static void schedules_drop(void *user, kz_output_kind kind, const char *text, int64_t size)
{
	(void)user;
	(void)kind;
	(void)text;
	(void)size;
}

kz_status run_schedules_mute(const struct run *run, kz_device *dev, kz_error *err)
{
	return run->seed > 0 ? kz_device_set_output(dev, schedules_drop, NULL, err) : KZ_OK;
}

/* "3.5", of an element in host memory. */
static kz_status schedules_format(char *out, int64_t size, kz_device *dev, kz_dtype dtype,
	const char *element, kz_error *err)
{
	kz_array *array = NULL;
	kz_status st = kz_array_from(&array, dev, dtype, KZ_SHAPE(), element,
		kz_dtype_size(dtype), err);
	st = st ? st : kz_array_format(array, out, size, NULL, err);
	if (st == KZ_OK) {
		out[strcspn(out, "\n")] = '\0';
	}
	kz_array_release(array);
	return st;
}

/* "[3][5]", of an element that has so many before it. */
static void schedules_print_index(kz_shape shape, int64_t at)
{
	int64_t count = 1;
	for (int axis = 0; axis < shape.ndim; axis++) {
		count *= shape.dims[axis];
	}
	for (int axis = 0; axis < shape.ndim; axis++) {
		count /= shape.dims[axis];
		fprintf(stderr, "[%" PRId64 "]", at / count);
		at %= count;
	}
}

/* Say that the order of a seed gives another result. */
static bool schedules_note(struct run *run)
{
	run->first_seed = run->differing++ == 0 ? run->seed : run->first_seed;
	if (run->differing <= SHOWN) {
		fprintf(stderr, "kudzu run: seed %" PRId64 ": ", run->seed);
	}
	return run->differing <= SHOWN;
}

static kz_status schedules_compare(struct run *run, kz_array *array, const char *name,
	const char *usual, const char *now, kz_error *err)
{
	const int64_t each = kz_dtype_size(kz_array_dtype(array));
	const int64_t size = kz_array_size(array);
	int64_t at = 0;
	char texts[2][128];
	while (at < size && memcmp(usual + at, now + at, (size_t)each) == 0) {
		at += each;
	}
	if (at >= size || !schedules_note(run)) {
		return KZ_OK;
	}
	kz_status st = KZ_OK;
	for (int i = 0; i < 2 && st == KZ_OK; i++) {
		st = schedules_format(texts[i], sizeof(texts[i]), kz_array_device(array),
			kz_array_dtype(array), (i ? usual : now) + at, err);
	}
	if (st == KZ_OK) {
		fputs(name, stderr);
		schedules_print_index(kz_array_shape(array), at / each);
		fprintf(stderr, " is %s; it is %s in the usual order\n", texts[0], texts[1]);
	}
	return st;
}

/* Keep an array of the usual run, or compare it with what was kept. */
static kz_status schedules_take(struct run *run, size_t index, kz_array *array, const char *name,
	kz_error *err)
{
	const int64_t size = kz_array_size(array);
	char *bytes = malloc((size_t)size + 1);
	if (!bytes) {
		return report_no_memory(err);
	}
	kz_status st = kz_array_get(array, bytes, size, err);
	if (st == KZ_OK && run->seed > 0) {
		st = schedules_compare(run, array, name, run->kept[index], bytes, err);
	} else if (st == KZ_OK) {
		free(run->kept[index]);
		run->kept[index] = bytes;
		return KZ_OK;
	}
	free(bytes);
	return st;
}

kz_status run_schedules_note(struct run *run, const struct run_values *values,
	const struct parameters *parameters, kz_error *err)
{
	const int64_t before = run->differing;
	kz_status st = KZ_OK;
	for (size_t i = 0; i < run->count && run->differing == before && st == KZ_OK; i++) {
		if (values->arrays[i]) {
			st = schedules_take(run, i, values->arrays[i], parameters->items[i].name,
				err);
		}
	}
	return st;
}

int run_schedules_fail(struct run *run, kz_error *err)
{
	if (schedules_note(run)) {
		fprintf(stderr, "%s\n", err->log ? err->log : err->message);
	}
	kz_error_clear(err);
	return CLI_OK;
}

int run_schedules_end(const struct run *run)
{
	const int64_t count = run->schedules;
	if (run->differing == 0) {
		fprintf(stderr, "kudzu run: the result is the same in %" PRId64 " orders\n", count);
		return CLI_OK;
	}
	fprintf(stderr, "kudzu run: %" PRId64 " of %" PRId64 " seeds give another result; "
		"KUDZU_CPU_SCHEDULE=%" PRId64 " repeats the first\n", run->differing, count,
		run->first_seed);
	return CLI_FAILED;
}

void run_schedules_finish(struct run *run)
{
	for (size_t i = 0; i < RUN_MAX; i++) {
		free(run->kept[i]);
	}
}
