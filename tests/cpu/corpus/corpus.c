/* SPDX-License-Identifier: MIT */
/* See corpus.h. */
#include "base/common.h"

#include "corpus.h"

#include "cpu/support/api.h"

#include "base/str.h"
#include "support/count.h"
#include "support/store_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GUARD 64
#define GUARD_BYTE 0xa5

static const int archs[CORPUS_ARCHS] = {75, 80, 90, 100};

/* The ways to run a kernel.  The first is the reference for the others.  LLVM makes code for each
 * width; at the second way of a width it comes from the cache, to the same results. */
static const struct way {
	const char *width;
	const char *workers;
} ways[] = {
	{"1", "1"},
	{"1", "2"},
	{"32", "2"},
	{"32", "1"},
	{"16", "2"},
};

static struct corpus {
	const struct corpus_case *of;
	int arch;
	char where[128];
	CUmodule module;
	uint32_t random;
	struct buffer {
		CUdeviceptr address;
		size_t size;
	} buffers[64];
	size_t buffer_count;
	/* All bytes that corpus_get has read, the first way. */
	uint8_t *record;
	size_t recorded;
	size_t compared; /* of them, this way */
	bool is_first;
} corpus;

int corpus_arch(void)
{
	return corpus.arch;
}

const char *corpus_where(void)
{
	return corpus.where;
}

static void expect(CUresult code, const char *what)
{
	if (code != CUDA_SUCCESS) {
		ck_abort_msg("%s: %s: error %d: %s", corpus.where, what, code, api_last_log());
	}
}

uint32_t corpus_u32(void)
{
	corpus.random = corpus.random * 1664525u + 1013904223u;
	return corpus.random ^ corpus.random >> 15;
}

uint64_t corpus_u64(void)
{
	uint64_t high = corpus_u32();
	return high << 32 | corpus_u32();
}

float corpus_float(float low, float high)
{
	return low + (high - low) * ((float)(corpus_u32() >> 8) * 0x1p-24f);
}

double corpus_double(double low, double high)
{
	return low + (high - low) * ((double)(corpus_u64() >> 11) * 0x1p-53);
}

void corpus_floats(float *out, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		out[i] = corpus_float(-0.25f, 0.75f);
	}
}

CUdeviceptr corpus_room(size_t size)
{
	struct corpus *c = &corpus;
	CUdeviceptr address;
	ck_assert_uint_lt(c->buffer_count, countof(c->buffers));
	expect(cuMemAlloc_v2(&address, size + GUARD), "cuMemAlloc");
	expect(cuMemsetD8_v2(address, GUARD_BYTE, size + GUARD), "cuMemsetD8");
	c->buffers[c->buffer_count++] = (struct buffer){address, size};
	return address;
}

void corpus_set(CUdeviceptr address, const void *data, size_t size)
{
	expect(cuMemcpyHtoD_v2(address, data, size), "cuMemcpyHtoD");
}

CUdeviceptr corpus_put(const void *data, size_t size)
{
	CUdeviceptr address = corpus_room(size);
	corpus_set(address, data, size);
	return address;
}

/* Nothing was written after any buffer. */
static void check_guards(void)
{
	struct corpus *c = &corpus;
	for (size_t i = 0; i < c->buffer_count; i++) {
		uint8_t guard[GUARD];
		expect(cuMemcpyDtoH_v2(guard, c->buffers[i].address + c->buffers[i].size, GUARD),
			"cuMemcpyDtoH");
		for (size_t k = 0; k < GUARD; k++) {
			ck_assert_msg(guard[k] == GUARD_BYTE, "%s: byte %zu behind buffer %zu",
				c->where, k, i);
		}
	}
}

void corpus_peek(CUdeviceptr address, void *out, size_t size)
{
	expect(cuMemcpyDtoH_v2(out, address, size), "cuMemcpyDtoH");
}

void corpus_get(CUdeviceptr address, void *out, size_t size)
{
	struct corpus *c = &corpus;
	corpus_peek(address, out, size);
	if (c->is_first) {
		c->record = realloc(c->record, c->recorded + size);
		ck_assert_ptr_nonnull(c->record);
		memcpy(c->record + c->recorded, out, size);
		c->recorded += size;
		return;
	}
	ck_assert_uint_le(c->compared + size, c->recorded);
	const uint8_t *bytes = out;
	for (size_t i = 0; i < size; i++) {
		ck_assert_msg(bytes[i] == c->record[c->compared + i],
			"%s: byte %zu is %#x, but was %#x at width %s with %s worker", c->where, i,
			bytes[i], c->record[c->compared + i], ways[0].width, ways[0].workers);
	}
	c->compared += size;
}

CUdeviceptr corpus_global(const char *name, size_t size)
{
	CUdeviceptr address;
	size_t found;
	expect(cuModuleGetGlobal_v2(&address, &found, corpus.module, name), name);
	ck_assert_uint_eq(found, size);
	return address;
}

struct corpus_size corpus_line(unsigned grid, unsigned block)
{
	return (struct corpus_size){{grid, 1, 1}, {block, 1, 1}, 0, false};
}

CUresult corpus_sync(void)
{
	return cuCtxSynchronize();
}

CUresult corpus_try(const char *kernel, struct corpus_size size, void **args)
{
	CUfunction function;
	expect(cuModuleGetFunction(&function, corpus.module, kernel), kernel);
	const unsigned *grid = size.grid, *block = size.block;
	CUresult code = size.cooperative
		? cuLaunchCooperativeKernel(function, grid[0], grid[1], grid[2], block[0],
			block[1], block[2], size.shared, NULL, args)
		: cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
			size.shared, NULL, args, NULL);
	return code != CUDA_SUCCESS ? code : corpus_sync();
}

void corpus_launch(const char *kernel, struct corpus_size size, void **args)
{
	expect(corpus_try(kernel, size, args), kernel);
}

void corpus_same(const void *got, const void *want, size_t count, size_t element)
{
	ck_assert_uint_le(element, sizeof(uint64_t[2]));
	for (size_t i = 0; i < count; i++) {
		uint64_t a[2] = {0}, b[2] = {0};
		memcpy(a, (const char *)got + i * element, element);
		memcpy(b, (const char *)want + i * element, element);
		ck_assert_msg(a[0] == b[0] && a[1] == b[1],
			"%s: element %zu: got %#llx, expected %#llx", corpus.where, i,
			(unsigned long long)a[0], (unsigned long long)b[0]);
	}
}

void corpus_near(const char *what, size_t index, double got, double want, double within)
{
	ck_assert_msg(fabs(got - want) <= within,
		"%s: %s of element %zu: got %.17g, expected %.17g within %g", corpus.where, what,
		index, got, want, within);
}

/* The PTX of a source, zero-terminated; NULL if it was not built. */
static char *read_ptx(const char *source, int arch)
{
	char path[512];
	snprintf(path, sizeof(path), KZ_TEST_PTX "/%s.%d.ptx", source, arch);
	FILE *file = fopen(path, "rb");
	ck_assert_msg(file != NULL, "no %s", path);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	long size = ftell(file);
	ck_assert_int_gt(size, 0);
	rewind(file);
	char *text = malloc((size_t)size + 1);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
	text[size] = '\0';
	fclose(file);
	return text;
}

/* Does the architecture before give the same code? */
static bool is_repeated(const char *source, int arch_index, int before_index)
{
	char *one = read_ptx(source, archs[arch_index]);
	char *before = read_ptx(source, archs[before_index]);
	const char *a = strstr(one, ".address_size"), *b = strstr(before, ".address_size");
	bool same = a && b && strcmp(a, b) == 0;
	free(one);
	free(before);
	return same;
}

static void run_way(const char *ptx, const struct way *way, bool is_cached)
{
	struct corpus *c = &corpus;
	unsigned long made = driver_compiled();
	snprintf(c->where, sizeof(c->where), "%s %s compute_%d width %s workers %s", c->of->source,
		c->of->kernel, c->arch, way->width, way->workers);
	setenv("KUDZU_CPU_WIDTH", way->width, 1);
	setenv("KUDZU_CPU_THREADS", way->workers, 1);
	setup();
	expect(cuModuleLoadData(&c->module, ptx), "cuModuleLoadData");
	c->random = 1;
	c->buffer_count = 0;
	c->compared = 0;
	c->is_first = c->record == NULL;
	c->of->run();
	if (corpus_sync() == CUDA_SUCCESS) {
		check_guards();
	}
	ck_assert_msg(c->is_first || c->compared == c->recorded, "%s: fewer results", c->where);
	ck_assert_msg(!is_cached || driver_compiled() == made, "%s: compiled again", c->where);
	teardown();
}

static bool is_for(const struct corpus_case *c, int arch_index)
{
	return arch_index >= 0 && arch_index < CORPUS_ARCHS && archs[arch_index] >= c->from
		&& (!c->until || archs[arch_index] <= c->until);
}

/* The oldest and the newest dialect of PTX have what those between have, as a rule: one of the two
 * is tried, which depends on the kernel's name. */
static bool is_left_out(const struct corpus_case *c, int arch_index)
{
	bool has_older = is_for(c, arch_index - 1), has_newer = is_for(c, arch_index + 1);
	unsigned name = 0;
	for (const char *at = c->kernel; *at; at++) {
		name = 31 * name + (unsigned char)*at;
	}
	bool is_oldest_tried = support_is_tried((int)(name % 1000), 1000, 500, 500);
	return driver_is_ours && support_how_many(0, 1, 1)
		&& ((has_older && has_newer) || (is_oldest_tried ? has_older : has_newer));
}

/* The one that is tried before this one; less than 0: none. */
static int tried_before(const struct corpus_case *c, int arch_index)
{
	int before = arch_index - 1;
	while (is_for(c, before) && is_left_out(c, before)) {
		before--;
	}
	return is_for(c, before) ? before : -1;
}

void corpus_run(const struct corpus_case *c, int arch_index)
{
	int arch = archs[arch_index];
	bool is_brief = getenv("KUDZU_TEST_BRIEF") != NULL;
	int before = tried_before(c, arch_index);
	if (!is_for(c, arch_index) || is_left_out(c, arch_index) || !driver_runs(arch)
	    || (before >= 0 && is_repeated(c->source, arch_index, before))) {
		return;
	}
	driver_keep();
	char *ptx = read_ptx(c->source, arch);
	corpus = (struct corpus){.of = c, .arch = arch};
	store_folder_create();
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", store_path, 1);
	size_t first = is_brief ? 1 : 0;
	size_t count = driver_is_ours ? countof(ways) : 1;
	for (size_t i = first; i < count; i++) {
		bool is_cached = i > first && strcmp(ways[i].width, ways[i - 1].width) == 0;
		run_way(ptx, &ways[i], is_cached);
	}
	store_folder_remove();
	free(corpus.record);
	free(ptx);
}

void corpus_refused(const char *source, int arch, const char *text)
{
	CUmodule module;
	char *ptx = read_ptx(source, arch);
	setup();
	FAILS(NOT_SUPPORTED, cuModuleLoadData(&module, ptx));
	check_log("ptxas application ptx input, line ");
	check_log(text);
	teardown();
	free(ptx);
}
