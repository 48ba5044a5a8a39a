/* SPDX-License-Identifier: MIT */
/*
 * kudzu run --check: writes just outside of the arrays.
 *
 * Every array lies between two zones of a known pattern, which are looked at after the launch.  As
 * float and double it is a tiny number, which almost any operation changes.  What is farther away
 * than a zone is the device's to notice, for which each array is an allocation of its own
 * (KUDZU_POOL=0).
 */
#include "run.h"

#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE 4096 /* bytes, on each side of an array */

static const unsigned char pattern = 0xa5;

kz_status run_guard(struct run_values *values, size_t index, kz_device *dev, kz_error *err)
{
	kz_array *array = values->arrays[index], *guarded = NULL;
	int64_t size = kz_array_size(array);
	int64_t all = ZONE + size + ZONE;
	kz_shape shape = kz_array_shape(array);
	kz_status st = kz_buffer_create(&values->zones[index], dev, all, err);
	if (st || (st = kz_fill(values->zones[index], 0, all, &pattern, 1, NULL, err))
	    || (st = kz_array_wrap(&guarded, values->zones[index], kz_array_dtype(array), shape,
			NULL, ZONE, err))
	    || (st = kz_array_assign(guarded, array, err))) {
		kz_array_release(guarded);
		return st;
	}
	kz_array_release(array);
	values->arrays[index] = guarded;
	return KZ_OK;
}

/* The first byte of a zone that is not the pattern; -1: all are. */
static int64_t changed_at(const unsigned char *zone)
{
	for (int64_t i = 0; i < ZONE; i++) {
		if (zone[i] != pattern) {
			return i;
		}
	}
	return -1;
}

/* Says that element `at`, counted from the first one, was written. */
static kz_status report_write(size_t index, const char *name, kz_array *array, int64_t at,
	kz_error *err)
{
	err->status = KZ_FAULT;
	snprintf(err->message, sizeof(err->message), "argument %zu, '%s', has %" PRId64
		" elements, and the kernel has written %s[%" PRId64 "]", index + 1, name,
		kz_array_count(array), name, at);
	return KZ_FAULT;
}

static kz_status check_array(const struct run_values *values, size_t index, const char *name,
	kz_error *err)
{
	kz_array *array = values->arrays[index];
	int64_t size = kz_array_size(array), each = kz_dtype_size(kz_array_dtype(array));
	unsigned char zone[ZONE];
	kz_status st = kz_copy_dtoh(zone, ZONE, values->zones[index], ZONE + size, err);
	int64_t at = st ? -1 : changed_at(zone);
	if (at >= 0) {
		return report_write(index, name, array, (size + at) / each, err);
	}
	st = st ? st : kz_copy_dtoh(zone, ZONE, values->zones[index], 0, err);
	at = st ? -1 : changed_at(zone);
	return at >= 0 ? report_write(index, name, array, -((ZONE - at + each - 1) / each), err) : st;
}

kz_status run_guard_check(const struct run_values *values, const struct parameters *parameters,
	kz_error *err)
{
	kz_status st = KZ_OK;
	for (size_t i = 0; i < RUN_MAX && st == KZ_OK; i++) {
		char number[32];
		snprintf(number, sizeof(number), "arg%zu", i + 1);
		if (values->zones[i]) {
			st = check_array(values, i, i < parameters->count ? parameters->items[i].name
				: number, err);
		}
	}
	return st;
}
