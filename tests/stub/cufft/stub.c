/* SPDX-License-Identifier: MIT */
/* The exported functions, and the jobs.  See stub.h. */
#include "stub/cufft/stub.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

/* Each of the functions must have the type that Kudzu calls it with. */
#define F(library, name, symbol, parameters) int symbol parameters;
#include "lib/linalg/cufft.def"
#undef F

enum { MOST_PLANS = 256 };

struct plan {
	bool is_there, is_made, is_automatic, has_work;
	struct cufft_layout layout;
	CUstream stream;
	void *work;
	atomic_int *running; /* launches that are under way */
};

struct job {
	struct cufft_layout layout;
	void *in, *out;
	double complex *work;
	int direction;
	atomic_int *running;
};

struct cufft_stub cufft_stub;
static struct plan plans[MOST_PLANS];

static int stub_failure(const char *function)
{
	const char *wanted = getenv("CUFFT_STUB_FAIL");
	size_t length = strlen(function);
	return wanted && strncmp(wanted, function, length) == 0 && wanted[length] == ':'
		? atoi(wanted + length + 1) : 0;
}

static struct plan *stub_plan(cufftHandle handle)
{
	return handle >= 0 && handle < MOST_PLANS && plans[handle].is_there ? &plans[handle] : NULL;
}

/* Jobs */

static bool stub_is_double(long long type)
{
	return type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
}

static bool stub_is_to_real(long long type)
{
	return type == CUFFT_C2R || type == CUFFT_Z2D;
}

static bool stub_is_from_real(long long type)
{
	return type == CUFFT_R2C || type == CUFFT_D2Z;
}

static double complex stub_read(const void *from, long long at, bool is_real, bool is_double)
{
	const double *d = from;
	const float *f = from;
	return is_real ? (is_double ? d[at] : f[at])
		: is_double ? d[2 * at] + d[2 * at + 1] * I : f[2 * at] + f[2 * at + 1] * I;
}

static void stub_write(void *to, long long at, double complex x, bool is_real, bool is_double)
{
	double *d = to;
	float *f = to;
	long long first = is_real ? at : 2 * at;
	for (int part = 0; part < (is_real ? 1 : 2); part++) {
		double value = part ? cimag(x) : creal(x);
		if (is_double) {
			d[first + part] = value;
		} else {
			f[first + part] = (float)value;
		}
	}
}

/* The extents, as three axes. */
static void stub_extents(long long n[3], const struct cufft_layout *layout)
{
	for (int i = 0; i < 3; i++) {
		n[i] = i < 3 - layout->rank ? 1 : layout->n[i - (3 - layout->rank)];
	}
}

/* Where element `at` of a transform is; `at` is row-major in n. */
static long long stub_place(const struct cufft_layout *layout, const struct cufft_side *side,
	const long long n[3], long long at)
{
	long long index[3] = {at / n[2] / n[1], at / n[2] % n[1], at % n[2]}, place = 0;
	for (int i = 0; i < layout->rank; i++) {
		place = place * (i ? side->embed[i] : 1) + index[3 - layout->rank + i];
	}
	return place * side->stride;
}

/* All elements; of half a spectrum the others are conjugates of those at the negative places. */
static void stub_load(double complex *x, const struct job *job, const long long n[3],
	long long base)
{
	const struct cufft_layout *layout = &job->layout;
	bool is_double = stub_is_double(layout->type), is_half = stub_is_to_real(layout->type);
	for (long long at = 0; at < n[0] * n[1] * n[2]; at++) {
		long long k = at % n[2], row = at / n[2], i = row / n[1], j = row % n[1];
		bool is_mirror = is_half && 2 * k > n[2];
		long long from = is_mirror
			? ((n[0] - i) % n[0] * n[1] + (n[1] - j) % n[1]) * n[2] + n[2] - k : at;
		x[at] = stub_read(job->in, base + stub_place(layout, &layout->in, n, from),
			stub_is_from_real(layout->type), is_double);
		if (is_half && layout->rank == 1 && (k == 0 || 2 * k == n[2])
		    && cimag(x[at]) != 0) {
			x[at] = NAN;
		}
		x[at] = is_mirror ? conj(x[at]) : x[at];
	}
}

static void stub_transform(double complex *x, const long long n[3], int axis, int direction)
{
	long long step = axis == 2 ? 1 : axis == 1 ? n[2] : n[1] * n[2], length = n[axis];
	double complex *row = malloc((size_t)length * sizeof(*row));
	for (long long first = 0; first < n[0] * n[1] * n[2]; first++) {
		if (first / step % length != 0) {
			continue;
		}
		for (long long k = 0; k < length; k++) {
			row[k] = 0;
			for (long long j = 0; j < length; j++) {
				double angle = direction * 6.283185307179586477
					* (double)(j * k % length)
					/ (double)length;
				row[k] += x[first + j * step] * (cos(angle) + sin(angle) * I);
			}
		}
		for (long long k = 0; k < length; k++) {
			x[first + k * step] = row[k];
		}
	}
	free(row);
}

static void stub_store(const double complex *x, const struct job *job, const long long n[3],
	long long base)
{
	const struct cufft_layout *layout = &job->layout;
	for (long long at = 0; at < n[0] * n[1] * n[2]; at++) {
		if (!stub_is_from_real(layout->type) || 2 * (at % n[2]) <= n[2]) {
			stub_write(job->out, base + stub_place(layout, &layout->out, n, at), x[at],
				stub_is_to_real(layout->type), stub_is_double(layout->type));
		}
	}
}

static void stub_spoil(const struct job *job, const long long n[3], long long base)
{
	for (long long at = 0; at < n[0] * n[1] * n[2]; at++) {
		if (2 * (at % n[2]) <= n[2]) {
			stub_write(job->in, base + stub_place(&job->layout, &job->layout.in, n, at),
				NAN, false, stub_is_double(job->layout.type));
		}
	}
}

static void stub_run(void *data)
{
	struct job *job = data;
	const struct cufft_layout *layout = &job->layout;
	long long n[3];
	stub_extents(n, layout);
	long long count = n[0] * n[1] * n[2];
	for (long long b = 0; b < layout->batch; b++) {
		stub_load(job->work + b * count, job, n, b * layout->in.dist);
	}
	for (long long b = 0; b < layout->batch; b++) {
		for (int axis = 0; axis < 3; axis++) {
			stub_transform(job->work + b * count, n, axis, job->direction);
		}
	}
	for (long long b = 0; b < layout->batch; b++) {
		stub_store(job->work + b * count, job, n, b * layout->out.dist);
		if (stub_is_to_real(layout->type)) {
			stub_spoil(job, n, b * layout->in.dist);
		}
	}
	atomic_fetch_sub(job->running, 1);
	free(job);
}

static int stub_exec(const char *function, cufftType type, cufftHandle handle, void *in, void *out,
	int direction)
{
	struct plan *plan = stub_plan(handle);
	uintptr_t alignment = stub_is_double(type) ? 16 : 8;
	int code = stub_failure(function);
	if (code || !plan || !plan->is_made) {
		return code ? code : 1;
	}
	if (!plan->has_work || !plan->work) {
		return 13;
	}
	if (type != plan->layout.type || ((uintptr_t)in | (uintptr_t)out) % alignment
	    || (direction != -1 && direction != 1)) {
		return 4;
	}
	struct job *job = malloc(sizeof(*job));
	*job = (struct job){plan->layout, in, out, plan->work, direction, plan->running};
	atomic_fetch_add(job->running, 1);
	cufft_stub.launches++;
	cufft_stub.stream = plan->stream;
	cufft_stub.in = in;
	cufft_stub.out = out;
	cufft_stub.direction = direction;
	return cufft_stub.launch(plan->stream, stub_run, job) ? 6 : 0;
}

/* The functions */

int cufftGetProperty(libraryPropertyType what, int *value)
{
	*value = 12 + what;
	return 0;
}

int cufftCreate(cufftHandle *out)
{
	int code = stub_failure("cufftCreate");
	*out = -1;
	for (int i = 0; i < MOST_PLANS && *out < 0 && !code; i++) {
		if (!plans[i].is_there) {
			plans[i] = (struct plan){.is_there = true, .is_automatic = true,
				.running = calloc(1, sizeof(atomic_int))};
			cufft_stub.plans++;
			*out = i;
		}
	}
	return code ? code : *out < 0 ? 5 : 0;
}

int cufftDestroy(cufftHandle handle)
{
	struct plan *plan = stub_plan(handle);
	if (!plan) {
		return 1;
	}
	if (atomic_load(plan->running)) {
		cufft_stub.mistakes++; // and its job still has the counter
	} else {
		free(plan->running);
	}
	plan->is_there = false;
	cufft_stub.plans--;
	return 0;
}

int cufftSetAutoAllocation(cufftHandle handle, int is_automatic)
{
	struct plan *plan = stub_plan(handle);
	int code = stub_failure("cufftSetAutoAllocation");
	if (code || !plan) {
		return code ? code : 1;
	}
	plan->is_automatic = is_automatic;
	return 0;
}

static bool stub_side_fits(const struct cufft_side *side, int rank, const long long *n,
	bool is_half)
{
	bool fits = side->stride > 0 && side->dist > 0;
	for (int i = 1; i < rank; i++) {
		fits = fits && side->embed[i] >= (is_half && i == rank - 1 ? n[i] / 2 + 1 : n[i]);
	}
	return fits;
}

int cufftMakePlanMany64(cufftHandle handle, int rank, long long *n, long long *in_embed,
	long long in_stride, long long in_dist, long long *out_embed, long long out_stride,
	long long out_dist, cufftType type, long long batch, size_t *work_size)
{
	struct plan *plan = stub_plan(handle);
	struct cufft_layout layout = {.type = type, .rank = rank, .batch = batch,
		.in = {.stride = in_stride, .dist = in_dist},
		.out = {.stride = out_stride, .dist = out_dist}};
	int code = stub_failure("cufftMakePlanMany64");
	cufft_stub.made++;
	if (code || !plan || plan->is_made || plan->is_automatic || rank < 1 || rank > 3) {
		return code ? code : plan ? 4 : 1;
	}
	long long count = 1;
	for (int i = 0; i < rank; i++) {
		layout.n[i] = n[i];
		layout.in.embed[i] = in_embed[i];
		layout.out.embed[i] = out_embed[i];
		count *= n[i];
	}
	if (batch < 1 || !stub_side_fits(&layout.in, rank, n, stub_is_to_real(type))
	    || !stub_side_fits(&layout.out, rank, n, stub_is_from_real(type))) {
		return 4;
	}
	plan->layout = cufft_stub.last = layout;
	plan->is_made = true;
	*work_size = (size_t)(batch * count) * sizeof(double complex);
	return 0;
}

int cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
	struct plan *plan = stub_plan(handle);
	int code = stub_failure("cufftSetStream");
	if (code || !plan) {
		return code ? code : 1;
	}
	plan->stream = stream;
	return 0;
}

int cufftSetWorkArea(cufftHandle handle, void *work)
{
	struct plan *plan = stub_plan(handle);
	int code = stub_failure("cufftSetWorkArea");
	if (code || !plan) {
		return code ? code : 1;
	}
	plan->work = work;
	plan->has_work = true;
	return 0;
}

int cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction)
{
	return stub_exec("cufftExecC2C", CUFFT_C2C, plan, in, out, direction);
}

int cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out)
{
	return stub_exec("cufftExecR2C", CUFFT_R2C, plan, in, out, CUFFT_FORWARD);
}

int cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out)
{
	return stub_exec("cufftExecC2R", CUFFT_C2R, plan, in, out, CUFFT_INVERSE);
}

int cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out, int direction)
{
	return stub_exec("cufftExecZ2Z", CUFFT_Z2Z, plan, in, out, direction);
}

int cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out)
{
	return stub_exec("cufftExecD2Z", CUFFT_D2Z, plan, in, out, CUFFT_FORWARD);
}

int cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out)
{
	return stub_exec("cufftExecZ2D", CUFFT_Z2D, plan, in, out, CUFFT_INVERSE);
}
