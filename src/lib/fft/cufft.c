/* SPDX-License-Identifier: MIT */
/*
 * Calling cuFFT; cufft.h says when.
 *
 * A transform of up to three axes is one plan.  To real numbers it is two: cuFFT expects a spectrum
 * of real numbers and overwrites it, so the other axes are transformed into a temporary spectrum,
 * the imaginary parts that have to be 0 become 0 there, and the last axis goes from it to the
 * result.  cuFFT does not scale: a kernel of ours does, in place.
 */
#include "base/common.h"

#include "lib/fft/cufft.h"

#include "lib/array/array.h"
#include "base/alloc.h"
#include "lib/cuda/codes.h"
#include "lib/linalg/provider.h"
#include "lib/ops/elementwise.h"

#include <kudzu/linalg.h>
#include <kudzu/view.h>

#include <stdio.h>
#include <string.h>

enum { CUFFT_NO_PLAN = -1 };

/* A plan between two arrays. */
struct cufft_step {
	struct cufft_layout layout;
	struct cufft_plan *plan; /* in use by this thread, or NULL */
	struct kz_array *in, *out;
};

/* Layouts */

/* The stride of an axis in elements; 0 if cuFFT cannot have it. */
static long long cufft_stride(const struct kz_array *array, int64_t axis)
{
	int64_t size = dtype_size(array->dtype), stride = array->strides[axis];
	return stride > 0 && stride % size == 0 ? stride / size : 0;
}

static bool cufft_side_fit(struct cufft_side *side, const struct kz_array *array,
	const int64_t *axes, int rank)
{
	int64_t size = dtype_size(array->dtype);
	long long inner = side->stride = cufft_stride(array, axes[rank - 1]);
	for (int i = rank - 1; i > 0 && inner; i--) {
		long long outer = cufft_stride(array, axes[i - 1]);
		side->embed[i] = outer / inner;
		inner = outer % inner == 0 && side->embed[i] >= array->shape.dims[axes[i]] ? outer
			: 0;
	}
	side->embed[0] = array->shape.dims[axes[0]];
	side->dist = inner * side->embed[0]; // of a batch of one, where it has no meaning
	uint64_t alignment = (uint64_t)(dtype_is_complex(array->dtype) ? size : 2 * size);
	return inner && array_address(array) % alignment == 0;
}

/* All other axes as one batch. */
static bool cufft_batch_fit(struct cufft_layout *layout, const struct kz_array *in,
	const struct kz_array *out, const int64_t *axes, int rank)
{
	layout->batch = 1;
	for (int64_t i = out->shape.ndim; i-- > 0;) {
		bool is_batch = out->shape.dims[i] > 1;
		for (int k = 0; k < rank; k++) {
			is_batch = is_batch && axes[k] != i;
		}
		if (!is_batch) {
			continue;
		}
		long long from = cufft_stride(in, i), to = cufft_stride(out, i);
		if (layout->batch == 1) {
			layout->in.dist = from;
			layout->out.dist = to;
		}
		if (!from || from != layout->in.dist * layout->batch
		    || !to || to != layout->out.dist * layout->batch) {
			return false;
		}
		layout->batch *= out->shape.dims[i];
	}
	return true;
}

bool cufft_fit(struct cufft_layout *layout, const struct kz_array *in, const struct kz_array *out,
	const int64_t *axes, int rank)
{
	bool is_to_real = layout->type == CUFFT_C2R || layout->type == CUFFT_Z2D;
	if (rank < 1 || rank > CUFFT_RANK) {
		return false;
	}
	layout->rank = rank;
	for (int i = 0; i < rank; i++) {
		layout->n[i] = (is_to_real ? out : in)->shape.dims[axes[i]];
	}
	return cufft_side_fit(&layout->in, in, axes, rank)
		&& cufft_side_fit(&layout->out, out, axes, rank)
		&& cufft_batch_fit(layout, in, out, axes, rank);
}

/* Plans */

static kz_status cufft_ok(int code, const char *function, const struct cufft_layout *layout,
	kz_error *err)
{
	char what[160];
	int at = 0;
	if (!code) {
		return KZ_OK;
	}
	for (int i = 0; i < layout->rank; i++) {
		at += snprintf(what + at, sizeof(what) - (size_t)at, "%s%lld",
			i ? " x " : "transform of ", layout->n[i]);
	}
	snprintf(what + at, sizeof(what) - (size_t)at, ", batch of %lld", layout->batch);
	return codes_fail(KZ_DOMAIN_CUFFT, code, function, what, err);
}

/* Whether cuFFT says, when it is asked for a plan, that it has no such transform. */
static bool cufft_declines(int code)
{
	return code == CUFFT_INVALID_SIZE || code == CUFFT_NOT_IMPLEMENTED
		|| code == CUFFT_NOT_SUPPORTED;
}

/* Have cuFFT make the plan's handle, which allocates, in no stream. */
static kz_status cufft_plan_ask(struct cufft_plan *plan, const struct cuda_library *library,
	kz_error *err)
{
	struct cufft_layout asked = plan->layout; // cuFFT may write to it, says its header
	cufftHandle handle = CUFFT_NO_PLAN;
	bool mine = error_is_clean(err);
	kz_status st = cufft_ok(library->fft_create(&handle), "cufftCreate", &asked, err);
	if (st && mine) {
		error_add_hint(err, "the driver may be older than the library: kudzu doctor shows "
			"both; KUDZU_CUFFT names another library, or none");
	}
	if (st || (st = cufft_ok(library->fft_set_auto(handle, 0), "cufftSetAutoAllocation", &asked,
			err))) {
		goto fail;
	}
	int code = library->fft_make(handle, (int)asked.rank, asked.n, asked.in.embed,
		asked.in.stride, asked.in.dist, asked.out.embed, asked.out.stride, asked.out.dist,
		(cufftType)asked.type, asked.batch, &plan->work_size);
	if (!code) {
		plan->handle = handle;
		return KZ_OK;
	}
	st = cufft_declines(code) ? KZ_OK
		: cufft_ok(code, "cufftMakePlanMany64", &plan->layout, err);
fail:
	if (handle != CUFFT_NO_PLAN) {
		(void)library->fft_destroy(handle);
	}
	return st;
}

static void cufft_plan_free(struct cufft_plan *plan, const struct cuda_library *library)
{
	if (plan->handle != CUFFT_NO_PLAN) {
		(void)library->fft_destroy(plan->handle);
	}
	mem_free(plan);
}

/* End the plan that was used longest ago, of those that no thread is about to use.  Work that uses
 * it may still run: wait for all. */
static kz_status cufft_plan_drop(struct cufft_table *table, kz_error *err)
{
	struct cufft_plan **oldest = NULL;
	for (struct cufft_plan **link = &table->plans; *link; link = &(*link)->next) {
		oldest = (*link)->users ? oldest : link;
	}
	if (!oldest) {
		return KZ_OK;
	}
	kz_status st = device_ok(table->device, table->device->drv->CtxSynchronize(),
		"cuCtxSynchronize", err);
	if (!st) {
		struct cufft_plan *plan = *oldest;
		*oldest = plan->next;
		table->count--;
		cufft_plan_free(plan, table->library);
	}
	return st;
}

/* Make a plan, first of the list; *out stays NULL where that cannot be now. */
static kz_status cufft_plan_make(struct cufft_plan **out, struct cufft_table *table,
	const struct cufft_layout *layout, kz_error *err)
{
	struct cufft_plan *plan = NULL;
	bool captures = device_hold_captures(table->device);
	kz_status st = !captures && table->count == CUFFT_PLANS ? cufft_plan_drop(table, err)
		: KZ_OK;
	if (!st && !captures && table->count < CUFFT_PLANS) {
		plan = mem_zalloc(1, sizeof(*plan));
		st = plan ? KZ_OK : error_no_memory(err);
	}
	if (plan) {
		plan->layout = *layout;
		plan->handle = CUFFT_NO_PLAN;
		CUstreamCaptureMode mode = device_relax(table->device); // others may capture, too
		st = cufft_plan_ask(plan, table->library, err);
		device_restore(table->device, mode);
	}
	device_let_captures(table->device);
	if (st || !plan) {
		mem_free(plan);
		return st;
	}
	plan->next = table->plans;
	table->plans = plan;
	table->count++;
	*out = plan;
	return KZ_OK;
}

/* Find or make the plan of a step, to be given back; the step has none if cuFFT does not do it. */
static kz_status cufft_plan_take(struct cufft_step *step, struct cufft_table *table, kz_error *err)
{
	kz_status st = KZ_OK;
	pthread_mutex_lock(&table->lock);
	struct cufft_plan **link = &table->plans;
	while (*link && memcmp(&(*link)->layout, &step->layout, sizeof(step->layout)) != 0) {
		link = &(*link)->next;
	}
	struct cufft_plan *plan = *link;
	if (plan) {
		*link = plan->next;
		plan->next = table->plans;
		table->plans = plan;
	} else {
		st = cufft_plan_make(&plan, table, &step->layout, err);
	}
	if (plan && plan->handle != CUFFT_NO_PLAN) {
		plan->users++;
		step->plan = plan;
	}
	pthread_mutex_unlock(&table->lock);
	return st;
}

static void cufft_plan_give(struct cufft_step *step, struct cufft_table *table)
{
	if (step->plan) {
		pthread_mutex_lock(&table->lock);
		step->plan->users--;
		pthread_mutex_unlock(&table->lock);
	}
}

/* Launching */

static int cufft_exec(const char **function, const struct cuda_library *library,
	const struct cufft_plan *plan, void *in, void *out, int direction)
{
	cufftHandle handle = plan->handle;
	switch (plan->layout.type) {
	case CUFFT_C2C:
		*function = "cufftExecC2C";
		return library->fft_c2c(handle, in, out, direction);
	case CUFFT_R2C:
		*function = "cufftExecR2C";
		return library->fft_r2c(handle, in, out);
	case CUFFT_C2R:
		*function = "cufftExecC2R";
		return library->fft_c2r(handle, in, out);
	case CUFFT_Z2Z:
		*function = "cufftExecZ2Z";
		return library->fft_z2z(handle, in, out, direction);
	case CUFFT_D2Z:
		*function = "cufftExecD2Z";
		return library->fft_d2z(handle, in, out);
	default:
		*function = "cufftExecZ2D";
		return library->fft_z2d(handle, in, out);
	}
}

static kz_status cufft_call(struct cufft_table *table, const struct cufft_step *step,
	struct kz_stream *stream, CUdeviceptr work, int direction, kz_error *err)
{
	const struct cuda_library *library = table->library;
	const struct cufft_plan *plan = step->plan;
	const char *function = NULL;
	kz_status st;
	pthread_mutex_lock(&table->lock);
	if (!(st = cufft_ok(library->fft_set_stream(plan->handle, stream->handle), "cufftSetStream",
			&plan->layout, err))
	    && !(st = cufft_ok(library->fft_set_work(plan->handle, (void *)(uintptr_t)work),
			"cufftSetWorkArea", &plan->layout, err))) {
		int code = cufft_exec(&function, library, plan,
			(void *)(uintptr_t)array_address(step->in),
			(void *)(uintptr_t)array_address(step->out), direction);
		st = cufft_ok(code, function, &plan->layout, err);
	}
	pthread_mutex_unlock(&table->lock);
	return st;
}

/* Launch a step, with work space from the pool, which orders its next use after this stream. */
static kz_status cufft_launch(struct cufft_table *table, const struct cufft_step *step,
	struct kz_stream *stream, bool is_inverse, kz_error *err)
{
	struct memory *used[3] = {step->out->buffer->memory, step->in->buffer->memory};
	const struct memory_wish wish = {.stream = stream};
	struct kz_buffer *work = NULL;
	CUdeviceptr address = 0;
	int count = 2;
	kz_status st = KZ_OK;
	if (step->plan->work_size) {
		st = buffer_create(&work, table->device, (int64_t)step->plan->work_size, &wish,
			err);
		if (st) {
			return st;
		}
		address = buffer_address(work);
		used[count++] = work->memory;
	}
	for (int i = 0; !st && i < count; i++) {
		st = memory_use(used[i], stream, err);
	}
	if (!st) {
		st = cufft_call(table, step, stream, address,
			is_inverse ? CUFFT_INVERSE : CUFFT_FORWARD, err);
		for (int i = 0; i < count; i++) {
			kz_status after = memory_used(used[i], stream, st ? NULL : err);
			st = st ? st : after;
		}
	}
	buffer_release(work);
	return st;
}

/* Multiply an array without gaps, by its real numbers: infinity times a complex 1 has a NaN. */
static kz_status cufft_scale(struct kz_array *array, const struct cufft_job *job, kz_error *err)
{
	struct kz_array *parts = NULL;
	if (job->scale == 1) {
		return KZ_OK;
	}
	kz_status st = kz_array_view_as(&parts, array, dtype_part(job->dtype), err);
	st = st ? st : kz_array_scale_on(parts, KZ_ARG(job->scale), job->stream, err);
	kz_array_release(parts);
	return st;
}

/* The imaginary parts at a place of an axis become 0. */
static kz_status cufft_make_real(struct kz_array *spectrum, int64_t axis, int64_t index,
	struct kz_stream *stream, kz_error *err)
{
	struct kz_array *part = NULL, *imaginary = NULL;
	kz_slice items[KZ_MAX_DIMS];
	kz_status st;
	for (int64_t i = 0; i < spectrum->shape.ndim; i++) {
		items[i] = i == axis ? kz_slice_range(index, index + 1, 1)
			: kz_slice_range(0, spectrum->shape.dims[i], 1);
	}
	if (!(st = kz_array_slice(&part, spectrum, (kz_slices){items, spectrum->shape.ndim}, err))
	    && !(st = kz_array_imag_on(&imaginary, part, stream, err))) {
		st = kz_array_fill_on(imaginary, KZ_ARG(0.0), stream, err);
	}
	kz_array_release(part);
	kz_array_release(imaginary);
	return st;
}

/* Transforms */

/* Of the first axes of a job's list those longer than 1, in the order of the array, which is that
 * of the result's memory.  Returns how many. */
static int cufft_sort_axes(int64_t *out, const struct cufft_job *job, int64_t count)
{
	int rank = 0;
	for (int64_t axis = 0; axis < job->in->shape.ndim; axis++) {
		for (int64_t i = 0; i < count && job->in->shape.dims[axis] > 1; i++) {
			if (job->axes.items[i] == axis) {
				out[rank++] = axis;
			}
		}
	}
	return rank;
}

static long long cufft_type(enum fft_domain domain, kz_dtype dtype)
{
	static const uint8_t types[][2] = {
		[FFT_FULL] = {CUFFT_C2C, CUFFT_Z2Z}, [FFT_TO_HALF] = {CUFFT_R2C, CUFFT_D2Z},
		[FFT_FROM_HALF] = {CUFFT_C2R, CUFFT_Z2D},
	};
	return types[domain][dtype == KZ_C128];
}

/* To a full spectrum, or to half of one. */
static kz_status cufft_to_spectrum(bool *done, struct cufft_table *table,
	const struct cufft_job *job, kz_error *err)
{
	struct cufft_step step = {.layout = {.type = cufft_type(job->domain, job->dtype)},
		.in = job->in, .out = job->out};
	int64_t axes[KZ_MAX_DIMS], last = job->axes.items[job->axes.count - 1];
	bool is_full = job->domain == FFT_FULL;
	int rank = cufft_sort_axes(axes, job, job->axes.count - !is_full);
	bool fits = is_full ? dtype_is_complex(job->in->dtype) : job->in->shape.dims[last] > 1;
	if (!is_full) {
		axes[rank++] = last;
	}
	fits = fits && cufft_fit(&step.layout, step.in, step.out, axes, rank);
	kz_status st = fits ? cufft_plan_take(&step, table, err) : KZ_OK;
	if (!st && step.plan) {
		*done = true;
		st = cufft_launch(table, &step, job->stream, job->is_inverse, err);
		st = st ? st : cufft_scale(job->out, job, err);
	}
	cufft_plan_give(&step, table);
	return st;
}

/* From a spectrum, all of whose axes but the last are transformed, to real numbers. */
static kz_status cufft_finish_real(struct cufft_table *table, const struct cufft_step *step,
	const struct cufft_job *job, kz_error *err)
{
	int64_t last = job->axes.items[job->axes.count - 1], length = job->out->shape.dims[last];
	kz_status st = cufft_make_real(step->in, last, 0, job->stream, err);
	if (!st && length % 2 == 0) {
		st = cufft_make_real(step->in, last, length / 2, job->stream, err);
	}
	st = st ? st : cufft_launch(table, step, job->stream, true, err);
	return st ? st : cufft_scale(job->out, job, err);
}

static kz_status cufft_to_real(bool *done, struct cufft_table *table, const struct cufft_job *job,
	kz_error *err)
{
	struct cufft_step first = {.layout = {.type = cufft_type(FFT_FULL, job->dtype)},
		.in = job->in};
	struct cufft_step second = {.layout = {.type = cufft_type(FFT_FROM_HALF, job->dtype)},
		.out = job->out};
	int64_t axes[KZ_MAX_DIMS], last = job->axes.items[job->axes.count - 1];
	int rank = cufft_sort_axes(axes, job, job->axes.count - 1);
	struct kz_array *spectrum = NULL;
	if (job->out->shape.dims[last] == 1) {
		return KZ_OK;
	}
	kz_status st = array_create_on(&spectrum, table->device, job->dtype, &job->in->shape,
		job->stream, err);
	if (st) {
		return st;
	}
	first.out = second.in = spectrum;
	if (cufft_fit(&second.layout, spectrum, job->out, &last, 1)
	    && (rank == 0 || cufft_fit(&first.layout, job->in, spectrum, axes, rank))
	    && !(st = cufft_plan_take(&second, table, err)) && rank > 0) {
		st = cufft_plan_take(&first, table, err);
	}
	if (!st && second.plan && (rank == 0 || first.plan)) {
		*done = true;
		st = rank == 0 ? ops_copy(spectrum, job->in, job->stream, err)
			: cufft_launch(table, &first, job->stream, true, err);
		st = st ? st : cufft_finish_real(table, &second, job, err);
	}
	cufft_plan_give(&first, table);
	cufft_plan_give(&second, table);
	kz_array_release(spectrum);
	return st;
}

/* Tables */

static void cufft_table_end(struct device_table *base)
{
	struct cufft_table *table = (struct cufft_table *)base;
	struct device_scope scope;
	/* With a context that is lost, or gone, the plans have gone, too.  Else work may use them
	 * yet. */
	bool entered = table->plans && device_enter_quietly(table->device, &scope);
	if (entered) {
		(void)stream_wait_all(table->device);
	}
	for (struct cufft_plan *plan = table->plans, *next; plan; plan = next) {
		next = plan->next;
		if (!entered) {
			plan->handle = CUFFT_NO_PLAN;
		}
		cufft_plan_free(plan, table->library);
	}
	if (entered) {
		device_leave(table->device, &scope);
	}
	pthread_mutex_destroy(&table->lock);
	mem_free(table);
}

static kz_status cufft_find(const struct cuda_library **out, struct kz_device *dev, kz_error *err)
{
	*out = NULL;
	if (!dev->has_libraries) {
		return KZ_OK;
	}
	const struct cuda_library *library = cuda_library_get(CUDA_CUFFT);
	if (!library) {
		return error_no_memory(err);
	}
	const char *variable = cuda_library_misnamed(library, CUDA_CUFFT);
	if (variable) {
		return linalg_refuse_named(variable, cuda_library_log(CUDA_CUFFT), err);
	}
	*out = library->parts[CUDA_CUFFT].path ? library : NULL;
	return KZ_OK;
}

kz_status cufft_table_get(struct cufft_table **out, struct kz_device *dev, kz_error *err)
{
	struct device_table *found = device_table(dev, DEVICE_CUFFT);
	if (!found) {
		struct cufft_table *made = mem_zalloc(1, sizeof(*made));
		kz_status st = made ? cufft_find(&made->library, dev, err) : error_no_memory(err);
		if (st) {
			mem_free(made);
			return st;
		}
		made->base.end = cufft_table_end;
		made->device = dev;
		pthread_mutex_init(&made->lock, NULL);
		found = device_put_table(dev, DEVICE_CUFFT, &made->base);
	}
	*out = (struct cufft_table *)found;
	return KZ_OK;
}

kz_status cufft_run(bool *done, const struct cufft_job *job, kz_error *err)
{
	struct kz_device *dev = array_device(job->out);
	struct cufft_table *table;
	struct device_scope scope;
	bool is_capturing = false;
	*done = false;
	kz_status st = cufft_table_get(&table, dev, err);
	if (st || !table->library || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	st = stream_find_capturing(&is_capturing, job->stream, err);
	if (!st && !is_capturing) {
		st = (job->domain == FFT_FROM_HALF ? cufft_to_real : cufft_to_spectrum)(done, table,
			job, err);
	}
	device_leave(dev, &scope);
	return st;
}
