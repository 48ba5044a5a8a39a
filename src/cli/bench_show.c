/* SPDX-License-Identifier: MIT */
/* The output of `kudzu bench`: a line for each configuration, or JSON. */
#define _GNU_SOURCE
#include "cli/bench.h"

#include "cli/report.h"

#include <inttypes.h>
#include <stdio.h>

/* Bytes and milliseconds as GB/s; 0: unknown. */
static double bench_show_speed(const struct bench_report *report, const kz_tune_result *result)
{
	return result->repeats > 0 && result->time.median_ms > 0
		? 1e-6 * (double)report->bytes / result->time.median_ms : 0;
}

static void bench_show_times(const struct bench_report *report, const kz_tune_result *result)
{
	const double times[] = {result->time.median_ms, result->time.q1_ms, result->time.q3_ms,
		result->time.min_ms};
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		char text[32];
		run_format_time(text, sizeof(text), times[i]);
		printf("%-10s", text);
	}
	if (report->bytes > 0) {
		double speed = bench_show_speed(report, result);
		printf("%-8.3g", speed);
		if (report->peak.gbps > 0) {
			printf("%3.0f %%    ", 100 * speed / report->peak.gbps);
		}
	}
	fputs(result->text, stdout);
	if (result->outcome == KZ_TUNE_SLOWER) {
		printf("  (given up after %" PRId64 " launch%s)", result->repeats,
			result->repeats == 1 ? "" : "es");
	}
	putchar('\n');
}

void bench_show(const struct bench_report *report)
{
	const kz_dim3 *size = &report->bench->size;
	bool has_peak = report->bytes > 0 && report->peak.gbps > 0;
	printf("%s, size %" PRId64 ",%" PRId64 ",%" PRId64 ", on %s, %" PRId64 " launches each\n",
		kz_kernel_name(report->kernel), size->x, size->y, size->z,
		kz_device_model(report->dev), report->bench->repeats);
	printf("%-10s%-10s%-10s%-10s%s%s%s\n", "median", "25 %", "75 %", "fastest",
		report->bytes > 0 ? "GB/s    " : "", has_peak ? "of peak  " : "", "configuration");
	for (int64_t i = 0; i < kz_tuning_count(report->tuning); i++) {
		const kz_tune_result *result = kz_tuning_result(report->tuning, i);
		if (result->repeats > 0) {
			bench_show_times(report, result);
		} else {
			printf("%s: %s\n", result->text, result->message);
		}
	}
	if (has_peak) {
		printf("peak: %.3g GB/s read and written by the fastest of %" PRId64 " copies of %"
			PRId64 " MiB on this device, in this run\n", report->peak.gbps,
			report->peak.count, report->peak.size >> 20);
		printf("GB/s: %" PRId64 " bytes for each launch, %s\n", report->bytes,
			report->bench->bytes ? "by --bytes"
			: "if it touches each array once; --bytes says what it really moves");
		if (bench_show_speed(report, kz_tuning_result(report->tuning, 0))
		    > report->peak.gbps) {
			printf("more than 100 %%: the arrays fit into a cache of the device\n");
		}
	}
}

static void bench_show_json_extents(const char *name, const kz_dim3 *extents)
{
	printf("\"%s\": [%" PRId64 ", %" PRId64 ", %" PRId64 "]", name, extents->x, extents->y,
		extents->z);
}

static void bench_show_json_result(const struct bench_report *report, const kz_tune_result *result)
{
	static const char *const outcomes[] = {[KZ_TUNE_TIMED] = "timed",
		[KZ_TUNE_SLOWER] = "given up", [KZ_TUNE_WRONG] = "wrong",
		[KZ_TUNE_FAILED] = "failed"};
	printf("    {\"configuration\": ");
	report_json_string(result->text);
	printf(", ");
	bench_show_json_extents("block", &result->block);
	printf(", ");
	bench_show_json_extents("grid", &result->grid);
	printf(", \"outcome\": \"%s\"", outcomes[result->outcome]);
	if (result->repeats > 0) {
		double speed = bench_show_speed(report, result);
		printf(",\n      \"launches\": %" PRId64 ", \"min_ms\": %.9g, \"q1_ms\": %.9g, "
			"\"median_ms\": %.9g, \"q3_ms\": %.9g, \"max_ms\": %.9g", result->repeats,
			result->time.min_ms, result->time.q1_ms, result->time.median_ms,
			result->time.q3_ms, result->time.max_ms);
		if (report->bytes > 0 && report->peak.gbps > 0) {
			printf(", \"gbps\": %.6g, \"share_of_peak\": %.6g", speed,
				speed / report->peak.gbps);
		}
	} else {
		printf(", \"message\": ");
		report_json_string(result->message);
	}
	putchar('}');
}

void bench_show_json(const struct bench_report *report)
{
	int64_t count = kz_tuning_count(report->tuning);
	printf("{\n  \"kernel\": ");
	report_json_string(kz_kernel_name(report->kernel));
	printf(",\n  \"device\": ");
	report_json_string(kz_device_name(report->dev));
	printf(",\n  \"model\": ");
	report_json_string(kz_device_model(report->dev));
	printf(",\n  ");
	bench_show_json_extents("size", &report->bench->size);
	printf(",\n  \"bytes\": %" PRId64, report->bytes);
	if (report->peak.gbps > 0) {
		printf(",\n  \"peak_gbps\": %.6g,\n  \"peak_copy_bytes\": %" PRId64,
			report->peak.gbps, report->peak.size);
	}
	printf(",\n  \"results\": [\n");
	for (int64_t i = 0; i < count; i++) {
		bench_show_json_result(report, kz_tuning_result(report->tuning, i));
		printf("%s\n", i + 1 < count ? "," : "");
	}
	printf("  ]\n}\n");
}
