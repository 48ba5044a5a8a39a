/* SPDX-License-Identifier: MIT */
/* The kernels of sparse matrices: their text, and their launch. */
#include "base/common.h"

#include "lib/sparse/sparse.h"

#include "lib/ops/device_code.h"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"

enum { BLOCK = 256, WARP = 32 };

struct sparse_class {
	uint32_t kernel;
	kz_dtype dtype;
	kz_dtype index;
	int lanes;
};

static const char *const sparse_names[] = {
#define X(name) #name,
	SPARSE_KERNELS(X)
#undef X
};

/* What the kernel does with values. */
static void sparse_write_values(struct str *source, kz_dtype dtype)
{
	generate_prelude(source, dtype_bit(dtype), false);
	str_add(source, "typedef ");
	generate_storage(source, dtype);
	str_addf(source, " kz_element;\ntypedef %s kz_value;\n", generate_value(dtype));
	str_addf(source, "#define KZ_LOAD(x) %s(x)\n#define KZ_STORE(x) %s(x)\n",
		dtype_is_half(dtype) ? "kz_float" : "",
		dtype == KZ_F16 ? "kz_half" : dtype == KZ_BF16 ? "kz_bhalf" : "");
	str_add(source, dtype_is_complex(dtype)
		? "#define KZ_IS_COMPLEX\n#define KZ_ZERO kz_value{0, 0}\n"
		"#define KZ_MADD(c, a, b) kz_madd(c, a, b)\n"
		"static __device__ inline kz_value kz_madd(kz_value c, kz_value a, kz_value b)\n{\n"
		"\treturn kz_value{fma(a.re, b.re, fma(-a.im, b.im, c.re)),\n"
		"\t\tfma(a.re, b.im, fma(a.im, b.re, c.im))};\n}\n"
		: "#define KZ_ZERO 0\n#define KZ_MADD(c, a, b) fma(a, b, c)\n");
}

static void sparse_write_source(struct str *source, const void *context)
{
	const struct sparse_class *class = context;
	if (class->dtype) {
		sparse_write_values(source, class->dtype);
	}
	str_addf(source, "#define KZ_%s\n#define KZ_LANES %d\ntypedef %s kz_index;\n",
		sparse_names[class->kernel], class->lanes, kz_dtype_ctype(class->index));
	str_add(source, device_sparse);
}

static const struct kernel_family sparse_family = {
	"sparse", sparse_write_source,
	{[SCHEDULE_MANY] = {BLOCK, SPARSE_CHUNK}, [SCHEDULE_ONE] = {1, SPARSE_CHUNK}},
};

/* SPARSE_PLACE, whose blocks are warps. */
static const struct kernel_family sparse_places = {
	"sparse", sparse_write_source,
	{[SCHEDULE_MANY] = {WARP, SPARSE_CHUNK}, [SCHEDULE_ONE] = {1, SPARSE_CHUNK}},
};

bool sparse_walks(const struct kz_device *dev)
{
	return kernels_walk(&sparse_family, dev);
}

kz_status sparse_run(const struct sparse_job *job, struct kz_stream *stream, kz_error *err)
{
	const struct sparse_class class = {job->kernel, job->dtype, job->index, job->lanes};
	CUdeviceptr addresses[SPARSE_ARRAYS];
	void *params[SPARSE_ARRAYS + SPARSE_NUMBERS];
	struct kernels_run run = {
		.want = {job->kernel == SPARSE_PLACE ? &sparse_places : &sparse_family, &class,
			sizeof(class), .what = sparse_names[job->kernel]},
		.stream = stream, .params = params,
		.arrays = job->arrays, .array_count = job->array_count,
	};
	if (job->count == 0) {
		return KZ_OK;
	}
	if (!sparse_walks(stream->device)) {
		run.block = job->block;
	}
	run.grid = kz_dim(divide_up(job->count, job->per), job->grid_y ? job->grid_y : 1, 1);
	for (int i = 0; i < job->array_count; i++) {
		addresses[i] = job->arrays[i] ? array_address(job->arrays[i]) : 0;
		params[i] = &addresses[i];
	}
	for (int i = 0; i < job->number_count; i++) {
		params[job->array_count + i] = (void *)&job->numbers[i];
	}
	return kernels_run(&run, err);
}

kz_status sparse_find(uint64_t *place, const struct sparse_job *job, struct kz_stream *stream,
	kz_error *err)
{
	struct sparse_job search = *job;
	const uint64_t none = UINT64_MAX;
	*place = none;
	kz_status st = kz_array_full_on(&search.arrays[0], stream->device, KZ_U64, KZ_SHAPE(),
		&none, sizeof(none), stream, err);
	if (!st && !(st = sparse_run(&search, stream, err))) {
		st = kz_array_get(search.arrays[0], place, sizeof(*place), err);
	}
	kz_array_release(search.arrays[0]);
	return st;
}
