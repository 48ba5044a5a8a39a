/* SPDX-License-Identifier: MIT */
/*
 * Writes the profile as JSON: for each kernel its sums, and a row for each place in a source from
 * which it has instructions.  docs/profiling.md describes the members.
 */
#include "base/common.h"

#include "cpu/profile/profile_kernel.h"

#include "base/alloc.h"
#include "base/str.h"
#include "cpu/config/settings.h"
#include "cpu/ir/counters.h"

#include <inttypes.h>

/* --- Samples --- */

/* The line of PTX that the byte of some code is of; 0: it is not known. */
static uint32_t write_line_at(const struct profile_code *code, uint32_t offset)
{
	size_t low = 0, high = code->row_count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (code->rows[middle].offset <= offset) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low > 0 ? code->rows[low - 1].ptx_line : 0;
}

size_t profile_find_place(const struct profile_kernel *kernel, uint32_t ptx_line)
{
	for (size_t i = 0; i < kernel->inst_count; i++) {
		if (kernel->insts[i].ptx_line == ptx_line) {
			return kernel->insts[i].place;
		}
	}
	return SIZE_MAX;
}

/* Add the samples of some code to those of the kernel's places; the result is how many hit none. */
static uint64_t write_add_samples(uint64_t *places, const struct profile_code *code)
{
	uint64_t elsewhere = atomic_load(&code->elsewhere);
	for (size_t i = 0; i < code->size; i++) {
		const unsigned samples = atomic_load_explicit(&code->samples[i],
			memory_order_relaxed);
		if (samples == 0) {
			continue;
		}
		const size_t place = profile_find_place(code->kernel,
			write_line_at(code, (uint32_t)i));
		if (place == SIZE_MAX) {
			elsewhere += samples;
		} else {
			places[place] += samples;
		}
	}
	return elsewhere;
}

void profile_keep_samples(struct profile_code *code)
{
	struct profile_kernel *kernel = code->kernel;
	kernel->elsewhere += write_add_samples(kernel->samples, code);
}

/* --- Sums --- */

/* What the instructions of a place have done. */
struct write_sums {
	uint64_t instructions, thread_instructions;
	uint64_t global_bytes, shared_bytes, local_bytes;
	uint64_t requests, lines;
	uint64_t barrier_waits, atomics, contended;
};

static void write_add_access(struct write_sums *s, const struct profile_inst *inst,
	const uint64_t *counters)
{
	const uint64_t threads = counters[COUNTERS_THREADS];
	const uint64_t bytes = threads * inst->bytes;
	switch ((enum ptx_space)inst->space) {
	case PTX_SHARED:
		s->shared_bytes += bytes;
		break;
	case PTX_LOCAL:
		s->local_bytes += bytes;
		break;
	case PTX_GLOBAL:
	case PTX_GENERIC:
		s->requests += counters[COUNTERS_REQUESTS];
		s->lines += counters[COUNTERS_LINES];
		s->global_bytes += bytes;
		break;
	default:
		break;
	}
	if (inst->is_atomic) {
		s->atomics += threads;
		s->contended += counters[COUNTERS_CONTENDED];
	}
}

static void write_sum(struct write_sums *places, const struct profile_kernel *kernel)
{
	for (size_t i = 0; i < kernel->inst_count; i++) {
		const struct profile_inst *inst = &kernel->insts[i];
		const uint64_t *block = &kernel->counters[counters_of_block(inst->block)];
		struct write_sums *s = &places[inst->place];
		s->instructions += block[COUNTERS_WARPS];
		s->thread_instructions += block[COUNTERS_LANES];
		s->barrier_waits += inst->is_barrier ? block[COUNTERS_WARPS] : 0;
		if (inst->access != 0) {
			write_add_access(s, inst, &kernel->counters[inst->access]);
		}
	}
}

/* --- JSON --- */

static void write_number(struct str *out, const char *name, uint64_t number)
{
	str_addf(out, ",\"%s\":%" PRIu64, name, number);
}

/* {"file":...,"line":... */
static void write_begin_place(struct str *out, const struct profile_place *place)
{
	str_add(out, "{\"file\":");
	str_add_json(out, place->file ? place->file : "");
	write_number(out, "line", place->line);
	if (place->function) {
		str_add(out, ",\"function\":");
		str_add_json(out, place->function);
	}
}

/* The calls in whose place this was put, the innermost first. */
static void write_callers(struct str *out, const struct profile_kernel *kernel, size_t caller)
{
	str_add(out, ",\"callers\":[");
	for (bool first = true; caller > 0; first = false) {
		const struct profile_place *place = &kernel->places[caller - 1];
		str_add(out, first ? "" : ",");
		write_begin_place(out, place);
		str_addc(out, '}');
		caller = place->caller;
	}
	str_addc(out, ']');
}

static void write_line(struct str *out, const struct profile_kernel *kernel, size_t place,
	const struct write_sums *s, uint64_t samples)
{
	write_begin_place(out, &kernel->places[place]);
	if (kernel->places[place].caller > 0) {
		write_callers(out, kernel, kernel->places[place].caller);
	}
#define X(name) write_number(out, #name, s->name);
	X(instructions) X(thread_instructions) X(global_bytes) X(shared_bytes) X(local_bytes)
	X(requests) X(lines) X(barrier_waits) X(atomics) X(contended)
#undef X
	write_number(out, "samples", samples);
	str_addc(out, '}');
}

static void write_kernel(struct str *out, const struct profile_kernel *kernel)
{
	const size_t count = kernel->place_count + 1;
	struct write_sums *sums = mem_zalloc(count, sizeof(*sums));
	uint64_t *samples = mem_zalloc(count, sizeof(*samples));
	if (!sums || !samples) {
		out->failed = true;
		mem_free(sums);
		mem_free(samples);
		return;
	}
	uint64_t elsewhere = kernel->elsewhere;
	write_sum(sums, kernel);
	for (size_t i = 0; i < kernel->place_count; i++) {
		samples[i] = kernel->samples[i];
	}
	for (const struct profile_code *code = kernel->codes; code; code = code->next) {
		elsewhere += write_add_samples(samples, code);
	}
	str_add(out, "{\"name\":");
	str_add_json(out, kernel->name[0] ? kernel->name : kernel->symbol);
	str_add(out, ",\"symbol\":");
	str_add_json(out, kernel->symbol);
#define X(name) write_number(out, #name, kernel->name);
	X(launches) X(blocks) X(threads) X(width) X(wall_ns) X(busy_ns)
#undef X
	write_number(out, "samples_elsewhere", elsewhere);
	str_add(out, ",\"lines\":[");
	for (size_t i = 0, written = 0; i < kernel->place_count; i++) {
		if (sums[i].instructions > 0 || samples[i] > 0) {
			str_add(out, written++ > 0 ? ",\n\t\t" : "\n\t\t");
			write_line(out, kernel, i, &sums[i], samples[i]);
		}
	}
	str_add(out, "]}");
	mem_free(sums);
	mem_free(samples);
}

void profile_write_all(struct str *out, const struct profile_kernel *kernels)
{
	const unsigned what = settings_profile();
	str_addf(out, "{\"kudzu_profile\":1,\"counts\":%s,\"time\":%s,\"kernels\":[",
		what & PROFILE_COUNTS ? "true" : "false", what & PROFILE_TIME ? "true" : "false");
	for (bool first = true; kernels; kernels = kernels->next) {
		if (kernels->launches > 0) {
			str_add(out, first ? "\n\t" : ",\n\t");
			write_kernel(out, kernels);
			first = false;
		}
	}
	str_add(out, "]}\n");
}
