/* SPDX-License-Identifier: MIT */
/*
 * Sorts by a comparison that the caller writes in CUDA C: a merge sort of rows
 * (kernels/sort_merge.cuh).
 *
 * Threads make short runs, and then each pass merges runs two by two, to and fro between two
 * buffers.  How many passes there are depends on the length of a row only, so the last one fills
 * buffer 0.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "lib/array/shape.h"
#include "lib/core/object.h"
#include "lib/order/sort.h"
#include "lib/ops/device_code.h"
#include "kernels/sort_merge.cuh"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"
#include "lib/ops/user_text.h"

#include <string.h>

enum { RUN = 32 }; /* elements of the first runs */

struct merge {
	const char *call;
	struct kz_device *device;
	struct sort_axis along;
	kz_dtype dtype;
	const char *less;
	const char *preamble;
	int with_indexes;
	struct kz_array *from;            /* rows */
	struct kz_array *elements[2], *indexes[2];
};

struct merge_kernel {
	const struct merge *merge;
	bool runs;
};

static void sort_merge_write_source(struct str *source, const void *context)
{
	const struct merge_kernel *kernel = context;
	const struct merge *merge = kernel->merge;
	const kz_dtype dtype = merge->dtype;
	const char *type = dtype_is_complex(dtype) ? generate_value(dtype) : kz_dtype_ctype(dtype);
	if (dtype_is_half(dtype)) {
		str_addf(source, "#include <cuda_%s16.h>\n", dtype == KZ_F16 ? "fp" : "bf");
	}
	if (dtype_is_storage(dtype)) {
		str_add(source, "#include <cuda_fp8.h>\n");
	}
	if (dtype_is_complex(dtype)) {
		str_add(source, device_real);
		str_add(source, device_custom_complex);
		str_add(source, device_complex);
	}
	if (merge->preamble) {
		user_text_add(source, "sort", "preamble", merge->preamble, "");
	}
	str_addf(source, "typedef %s kz_element;\n"
		"static_assert(sizeof(kz_element) == %lld, "
		"\"the dtype was registered with %lld bytes\");\n"
		"static __device__ inline bool kz_less(const kz_element &%s, "
		"const kz_element &%s)\n"
		"{\nreturn", type, (long long)kz_dtype_size(dtype), (long long)kz_dtype_size(dtype),
		merge->along.descending ? "b" : "a", merge->along.descending ? "a" : "b");
	user_text_add(source, "sort", "comparison", merge->less, ";");
	str_addf(source, "}\n#define KZ_%s\n#define KZ_INDEXES %d\n"
		"#line 1 \"sort_merge.cuh\"\n", kernel->runs ? "RUNS" : "MERGE",
		merge->with_indexes);
	str_add(source, device_sort_merge);
}

static const struct kernel_family merge_family = {
	"sort", sort_merge_write_source, { /* `each`: the most elements that a thread merges */
		[SCHEDULE_MANY] = {.threads = 128, .each = 32},
		[SCHEDULE_ONE] = {.threads = 1, .each = 4096},
	},
};

static kz_status sort_merge_launch(const struct merge *merge, bool runs, int64_t size,
	void **params, kz_error *err)
{
	const int64_t threads = merge->from->shape.dims[0] * divide_up(merge->from->shape.dims[1],
		size);
	const int block = schedule_of(merge_family.schedules, merge->device)->threads;
	struct merge_kernel kernel = {merge, runs};
	struct str key = STR_INIT;
	struct kz_array *const arrays[] = {merge->from, merge->elements[0], merge->elements[1],
		merge->indexes[0], merge->indexes[1]};
	kz_status st;
	str_addf(&key, "%u %d%d%d%zu\n%s\n%s", merge->dtype, runs, merge->with_indexes,
		merge->along.descending, strlen(merge->less), merge->less,
		merge->preamble ? merge->preamble : "");
	if (key.failed) {
		st = error_no_memory(err);
	} else {
		const struct kernels_run run = {
			.want = {&merge_family, key.data, key.len, &kernel},
				.stream = merge->along.stream,
			.grid = kz_dim(divide_up(threads, block), 1, 1), .params = params,
			.arrays = arrays, .array_count = countof(arrays),
		};
		st = kernels_run(&run, err);
	}
	str_free(&key);
	return st;
}

static struct kz_items sort_merge_items(const struct merge *merge, int buffer)
{
	return (struct kz_items){array_address(merge->elements[buffer]),
		merge->with_indexes ? array_address(merge->indexes[buffer]) : 0};
}

static kz_status sort_merge_run(const struct merge *merge, kz_error *err)
{
	const int64_t most = schedule_of(merge_family.schedules, merge->device)->each;
	int64_t rows = merge->from->shape.dims[0], n = merge->from->shape.dims[1];
	int64_t size = RUN, parts = divide_up(n, size);
	int at = 0;
	for (int64_t run = RUN; run < n; run *= 2) {
		at ^= 1;
	}
	CUdeviceptr first = array_address(merge->from);
	struct kz_items from, to = sort_merge_items(merge, at);
	void *run_params[] = {&first, &to, &n, &rows, &parts, &size};
	kz_status st = sort_merge_launch(merge, true, size, run_params, err);
	for (int64_t run = RUN; run < n && !st; run *= 2) {
		size = min64(2 * run, most);
		parts = divide_up(n, size);
		from = sort_merge_items(merge, at);
		to = sort_merge_items(merge, at ^= 1);
		void *params[] = {&from, &to, &n, &rows, &parts, &size, &run};
		st = sort_merge_launch(merge, false, size, params, err);
	}
	return st;
}

static kz_status sort_merge_axis(kz_array **out, struct merge *merge, struct kz_array *array,
	kz_error *err)
{
	kz_status st = sort_take_rows(&merge->from, &merge->along, array, err);
	for (int i = 0; i < 2 && !st; i++) {
		st = array_create_on(&merge->elements[i], merge->device, merge->dtype,
			&merge->from->shape, merge->along.stream, err);
		if (!st && merge->with_indexes) {
			st = array_create_on(&merge->indexes[i], merge->device, KZ_I64,
				&merge->from->shape, merge->along.stream, err);
		}
	}
	if (!st && merge->from->count) {
		st = sort_merge_run(merge, err);
	}
	st = st ? st : sort_give_rows(out, &merge->along,
		merge->with_indexes ? merge->indexes[0] : merge->elements[0], err);
	kz_array_release(merge->from);
	for (int i = 0; i < 2; i++) {
		kz_array_release(merge->elements[i]);
		kz_array_release(merge->indexes[i]);
	}
	return st;
}

static kz_status merge_sort(kz_array **out, struct merge *merge, kz_array *array,
	const kz_sort_options *options, kz_error *err)
{
	kz_status st;
	if ((st = out_check(out, sizeof(*out), merge->call, err))
	    || (st = sort_axis_read(&merge->along, array, options, err))
	    || (st = pointer_check_as(merge->less, "a comparison", "less", err))) {
		return st;
	}
	merge->device = array_device(array);
	merge->dtype = array->dtype;
	merge->preamble = options ? options->preamble : NULL;
	return sort_merge_axis(out, merge, array, err);
}

kz_status kz_sort_compare(kz_array **out, kz_array *array, const char *less, int64_t axis,
	const kz_sort_options *options, kz_error *err)
{
	error_scope(err);
	struct merge merge = {.call = __func__, .along.axis = axis, .less = less};
	return merge_sort(out, &merge, array, options, err);
}

kz_status kz_argsort_compare(kz_array **out, kz_array *array, const char *less, int64_t axis,
	const kz_sort_options *options, kz_error *err)
{
	error_scope(err);
	struct merge merge = {.call = __func__, .along.axis = axis, .less = less,
		.with_indexes = 1};
	return merge_sort(out, &merge, array, options, err);
}
