/* SPDX-License-Identifier: MIT */
/*
 * The kernels of passes (kernels/fft.cuh): their text, made for the length and the layout, and
 * their launches.
 *
 * A pass has many transforms of the same length: along q, p, and the axes that are not transformed.
 * One of these directions becomes the columns, along which threads lie side by side: the one with
 * the shortest steps that is long enough.
 * The same rule says where threads lie in kernels that have a thread for each element
 * (kernels/points.cuh).
 */
#include "base/common.h"

#include "lib/fft/fft_plan.h"

#include "lib/core/device.h"
#include "kernels/fft.cuh"
#include "lib/ops/device_code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FFT_LANES = 32, /* the most columns of a tile */
	FFT_TILE = 16384, FFT_THREADS = 256 }; /* bytes of half a tile of a GPU */

struct fft_class {
	kz_dtype dtype;
	int32_t points;
	int32_t chirp;             /* Bluestein: the length; else 0 */
	uint8_t radices[FFT_STAGES];
	uint8_t stage_count;
	uint8_t is_inverse;
	uint8_t has_twiddles, has_scale;
	uint8_t is_partial, is_serial;
	uint8_t in_by_columns, out_by_columns; /* steps along a column are the shorter ones */
	uint8_t in, out;           /* enum fft_form */
	int32_t in_column, out_column; /* steps in points that the kernel is made for; 0: any */
	int32_t twiddle_column;    /* the step in the table of twiddles */
	int32_t columns, threads;  /* of a block: side by side, and of each column */
};

/* The text */

/* The sum of what `of` numbers from 1 on, each times a cosine, and of `first`; or times a sine. */
static void fft_write_sum(struct str *source, const char *of, int j, int radix, const char *first)
{
	static const long double turn = 6.283185307179586476925286766559005768L;
	int half = radix / 2, sums = first ? half : half - 1;
	for (int k = 1; k <= half; k++) {
		long double angle = turn * (long double)(j * k % radix) / (long double)radix;
		str_addf(source, "%s(kz_real)%.21Lg%s%s%d%s", k <= sums ? "fma(" : "",
			first ? cosl(angle) : sinl(angle), k <= sums ? ", " : " * ", of, k,
			k <= sums ? ", " : "");
	}
	str_add(source, first ? first : "");
	for (int k = 0; k < sums; k++) {
		str_addc(source, ')');
	}
}

/* A butterfly of an odd prime: sums and differences of opposite points, by cosines and sines. */
static void fft_write_butterfly(struct str *source, int radix)
{
	int half = radix / 2;
	str_addf(source, "template <> struct kz_butterfly<%d> {\n"
		"static __device__ __forceinline__ void run(kz_real (&re)[%d], kz_real (&im)[%d])\n"
		"{\n",
		radix, radix, radix);
	for (int k = 1; k <= half; k++) {
		str_addf(source, "const kz_real ar%d = re[%d] + re[%d], ai%d = im[%d] + im[%d];\n"
			"const kz_real br%d = re[%d] - re[%d], bi%d = im[%d] - im[%d];\n",
			k, k, radix - k, k, k, radix - k, k, k, radix - k, k, k, radix - k);
	}
	for (int j = 1; j <= half; j++) {
		static const char *const names[4] = {"ar", "ai", "br", "bi"};
		for (int i = 0; i < 4; i++) {
			str_addf(source, "const kz_real %c%c%d = ", i < 2 ? 'c' : 's', names[i][1],
				j);
			fft_write_sum(source, names[i], j, radix,
				i == 0 ? "re[0]" : i == 1 ? "im[0]" : NULL);
			str_add(source, ";\n");
		}
	}
	str_add(source, "re[0] += ar1");
	for (int i = 0; i < 2; i++) {
		for (int k = i ? 1 : 2; k <= half; k++) {
			str_addf(source, "%s%s%d", k == 1 ? "im[0] += " : " + ", i ? "ai" : "ar",
				k);
		}
		str_add(source, ";\n");
	}
	for (int j = 1; j <= half; j++) {
		str_addf(source, "re[%d] = cr%d + si%d, im[%d] = ci%d - sr%d;\n"
			"re[%d] = cr%d - si%d, im[%d] = ci%d + sr%d;\n", j, j, j, j, j, j,
			radix - j, j, j, radix - j, j, j);
	}
	str_add(source, "}\n};\n");
}

/* All stages, of Bluestein's algorithm twice, from tile to tile. */
static void fft_write_calls(struct str *source, const struct fft_class *class)
{
	int span = 1, rest = class->points, roots = 0;
	int count = class->stage_count, all = class->chirp ? 2 * count : count;
	str_addf(source, "static __device__ __forceinline__ void kz_stages(const kz_source &from, "
		"const kz_target &to,\nconst kz_tile &a, const kz_tile &b, const kz_point *w, int "
		"part)\n{\n%s", class->is_serial ? "kz_fill(b, from, part);\n" : "");
	for (int i = 0; i < all; i++) {
		int radix = class->radices[i % count];
		const char *in = i % 2 ? "a" : "b", *out = i % 2 ? "b" : "a";
		if (i % count == 0) {
			span = 1;
			rest = class->points;
			roots = 0;
		}
		rest /= radix;
		str_addf(source, "kz_stage<%d, %d, %d>(%s, ", radix, span, rest,
			i == 0 && !class->is_serial ? "from" : in);
		if (i == all - 1) {
			str_add(source, class->is_serial ? out : "to");
		} else if (i == count - 1) {
			str_addf(source, "kz_filtered{%s, to.twiddles + KZ_CHIRP}", out);
		} else {
			str_add(source, out);
		}
		str_addf(source, ", w + %d, %s);\n%s", roots, class->is_serial ? "0" : "part",
			i == all - 1 ? "" : "KZ_SYNC();\n");
		roots += (radix - 1) * rest;
		span *= radix;
	}
	if (class->is_serial) {
		str_addf(source, "kz_empty(%s, to, part);\n", all % 2 ? "a" : "b");
	}
	str_add(source, "}\n");
}

static void fft_write_column(struct str *source, const char *macro, const char *name, int step)
{
	str_addf(source, "#define KZ_%s_COLUMN ", macro);
	if (step) {
		str_addf(source, "%d * (kz_i64)sizeof(kz_point)\n", step);
	} else {
		str_addf(source, "pass.%s_column\n", name);
	}
}

static void fft_write_source(struct str *source, const void *context)
{
	const struct fft_class *class = context;
	bool is_written[FFT_MOST_RADIX + 1] = {false};
	str_addf(source, "typedef %s kz_real;\n#define KZ_N %d\n#define KZ_C %d\n#define KZ_T %d\n"
		"#define KZ_DIMS %d\n", class->dtype == KZ_C64 ? "float" : "double",
		class->points, class->columns, class->threads, FFT_DIMS);
	fft_write_column(source, "IN", "in", class->in_column);
	fft_write_column(source, "OUT", "out", class->out_column);
	str_addf(source, "%s%s%s%s",
		class->is_partial ? "#define KZ_PARTIAL\n" : "",
		class->is_inverse ? "#define KZ_INVERSE\n" : "",
		class->has_twiddles ? "#define KZ_TWIDDLE\n" : "",
		class->has_scale ? "#define KZ_SCALE\n" : "");
	if (class->chirp) {
		str_addf(source, "#define KZ_CHIRP %d\n", class->chirp);
	}
	str_addf(source, "#define KZ_IN_FORM %d\n#define KZ_OUT_FORM %d\n"
		"#define KZ_IN_BY_COLUMNS %d\n#define KZ_OUT_BY_COLUMNS %d\n"
		"#define KZ_TWIDDLE_COLUMN %d\n", class->in, class->out, class->in_by_columns,
		class->out_by_columns, class->twiddle_column);
	str_add(source, device_points);
	str_add(source, device_fft);
	for (int i = 0; i < class->stage_count; i++) {
		int radix = class->radices[i];
		if (radix % 2 && radix > 1 && !is_written[radix]) {
			fft_write_butterfly(source, radix);
			is_written[radix] = true;
		}
	}
	fft_write_calls(source, class);
}

/* Launches */

/* A direction in which a pass has transforms side by side; strides in bytes, or in points. */
struct fft_direction {
	int64_t extent, in, out, twiddle;
};

static int fft_pass_directions(struct fft_direction *out, const struct fft_job *job,
	const struct fft_pass *pass)
{
	int64_t in = job->in.step, to = job->out.step;
	const struct fft_direction own[2] = {
		{pass->rest, in * pass->span, to * pass->span * pass->points,
			pass->span == 1 ? 1 : pass->points},
		{pass->span, in, to, 0},
	};
	int count = 0;
	for (int i = 0; i < job->ndim + 2; i++) {
		struct fft_direction next = i < job->ndim ? (struct fft_direction){job->dims[i],
			job->in.strides[i], job->out.strides[i], 0} : own[i - job->ndim];
		struct fft_direction *last = count ? &out[count - 1] : NULL;
		if (next.extent == 1) {
			continue;
		}
		if (last && last->in == next.in * next.extent && last->out == next.out * next.extent
		    && last->twiddle == next.twiddle * next.extent) {
			next.extent *= last->extent;
			*last = next;
		} else {
			out[count++] = next;
		}
	}
	return count;
}

/* The work for each element if `lanes` lie along a direction: lanes that have none, and lines of
 * memory. */
static double fft_column_cost(const struct fft_direction *at, int64_t lanes)
{
	enum { LINE = 64 };
	double lines = (double)(min64(llabs(at->in), LINE) + min64(llabs(at->out), LINE)) / LINE;
	return (double)lanes / (double)min64(at->extent, lanes) * (0.5 + lines);
}

/* Short steps are better, but only if lanes are used. */
static int fft_choose_column(const struct fft_direction *directions, int count, int64_t lanes)
{
	int best = 0;
	for (int i = 1; i < count; i++) {
		if (fft_column_cost(&directions[i], lanes) < fft_column_cost(&directions[best],
			lanes)) {
			best = i;
		}
	}
	return best;
}

static void fft_pass_fill(struct kz_pass *out, struct fft_class *class, const struct fft_job *job,
	const struct fft_pass *pass)
{
	struct fft_direction directions[FFT_DIMS];
	int count = fft_pass_directions(directions, job, pass);
	int column = count ? fft_choose_column(directions, count, class->columns) : -1;
	struct fft_direction at = count ? directions[column]
		: (struct fft_direction){1, dtype_size(job->dtype), dtype_size(job->dtype), 0};
	*out = (struct kz_pass){
		.columns = at.extent, .in_column = at.in, .out_column = at.out,
		.in_part = job->in.part, .out_part = job->out.part,
		.in_row = job->in.step * pass->span * pass->rest,
		.out_row = job->out.step * pass->span,
		.twiddle_row = pass->span == 1 ? pass->rest : 1,
		.scale = job->scale,
	};
	for (int i = 0; i < count; i++) {
		if (i != column) {
			out->dims[out->ndim] = directions[i].extent;
			out->in_strides[out->ndim] = directions[i].in;
			out->out_strides[out->ndim] = directions[i].out;
			out->twiddle_strides[out->ndim++] = directions[i].twiddle;
		}
	}
	class->twiddle_column = (int32_t)at.twiddle;
	if (class->is_serial) {
		class->in_by_columns = llabs(out->in_row) < llabs(at.in);
		class->out_by_columns = llabs(out->out_row) < llabs(at.out);
		while (class->columns / 2 >= at.extent) {
			class->columns /= 2;
		}
	}
}

/* The columns of a tile and the threads of a column. */
static void fft_choose_block(struct fft_class *class, int64_t size, const struct schedule *schedule)
{
	class->is_serial = schedule->threads == 1;
	if (class->is_serial) {
		class->columns = FFT_LANES;
		class->threads = 1;
		return;
	}
	int64_t columns = FFT_TILE / (class->points * size), most = 1;
	for (class->columns = 1; 2 * class->columns <= min64(columns, FFT_LANES);) {
		class->columns *= 2;
	}
	for (int i = 0; i < class->stage_count; i++) {
		most = class->points / class->radices[i] > most ? class->points / class->radices[i]
			: most;
	}
	class->threads = (int)min64(most, FFT_THREADS / class->columns);
}

/* Columns side by side, or one after the other: compilers make more of these steps if they know
 * them. */
static int32_t fft_known_step(int64_t step, const struct fft_pass *pass, int64_t size)
{
	return step == size ? 1 : step == size * pass->points ? (int32_t)pass->points : 0;
}

/* A grid of blocks along x. */
static kz_status fft_grid(kz_dim3 *out, int64_t blocks, kz_error *err)
{
	if (blocks > INT32_MAX) {
		return error_set(err, KZ_UNSUPPORTED, "fft: %lld blocks are too many",
			(long long)blocks);
	}
	*out = kz_dim(blocks, 1, 1);
	return KZ_OK;
}

/* Directions of blocks go from long steps to short ones.  The axis is the last one if threads lie
 * along it. */
static kz_status fft_places_fill(struct kz_places *out, kz_dim3 *grid, const struct fft_job *job,
	int64_t length, kz_error *err)
{
	struct fft_direction directions[FFT_DIMS];
	int axis = fft_pass_directions(directions, job,
		&(struct fft_pass){.points = 1, .span = 1, .rest = 1});
	int order[FFT_DIMS];
	int64_t blocks = 1;
	directions[axis] = (struct fft_direction){length, job->in.step, job->out.step, 0};
	int lane = fft_choose_column(directions, axis + 1, FFT_PLACES);
	struct fft_direction *along = &directions[lane];
	int last = lane == axis ? axis : axis + 1;
	*out = (struct kz_places){
		.in_step = job->in.step, .out_step = job->out.step, .in_lane = along->in,
		.out_lane = along->out, .lanes = along->extent, .ndim = axis + 1,
	};
	*along = (struct fft_direction){divide_up(along->extent, FFT_PLACES),
		along->in * FFT_PLACES, along->out * FFT_PLACES, 0};
	for (int i = 0; i <= axis; i++) {
		int at = i;
		for (; at > 0 && i < last
			&& llabs(directions[order[at - 1]].out) < llabs(directions[i].out); at--) {
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
	for (int d = 0; d <= axis; d++) {
		const struct fft_direction *next = &directions[order[d]];
		blocks *= next->extent;
		out->dims[d] = next->extent;
		out->in_strides[d] = order[d] == axis ? 0 : next->in;
		out->out_strides[d] = order[d] == axis ? 0 : next->out;
		out->lane = order[d] == lane ? d : out->lane;
		out->axis = order[d] == axis ? d : out->axis;
	}
	return fft_grid(grid, blocks, err);
}

/* `each`: the most points of a pass. */
static const struct kernel_family fft_family = {
	"fft", fft_write_source, {
		[SCHEDULE_MANY] = {.threads = FFT_THREADS, .each = 256},
		[SCHEDULE_ONE] = {.threads = 1, .each = 1024},
	},
};

const struct schedule *fft_schedule(const struct kz_device *dev)
{
	return schedule_of(fft_family.schedules, dev);
}

kz_status fft_places_launch(struct kernels_run *run, struct kz_places *places, int32_t *is_along,
	const struct fft_job *job, int64_t length, kz_error *err)
{
	struct memory *used[] = {job->out.memory, job->in.memory};
	run->stream = job->stream;
	run->used = used;
	run->used_count = countof(used);
	kz_status st = fft_places_fill(places, &run->grid, job, length, err);
	*is_along = places->lane == places->axis;
	return st ? st : kernels_run(run, err);
}

kz_status fft_pass_launch(const struct fft_job *job, const struct fft_plan *plan,
	const struct fft_pass *pass, kz_error *err)
{
	int64_t size = dtype_size(job->dtype), tiles;
	struct kz_pass shape;
	struct fft_class class = {
		.dtype = job->dtype, .points = (int32_t)pass->points,
		.chirp = plan->padded ? (int32_t)plan->key.length : 0,
		.stage_count = (uint8_t)pass->stage_count, .is_inverse = job->is_inverse,
		.has_twiddles = pass->rest > 1,
		.has_scale = job->scale != 1, .in = (uint8_t)job->in.form,
		.out = (uint8_t)job->out.form,
	};
	CUdeviceptr address[4] = {job->out.address, job->in.address,
		plan->tables + (CUdeviceptr)(pass->roots * size),
		plan->tables + (CUdeviceptr)((plan->padded ? plan->chirp : pass->twiddles) * size)};
	struct memory *used[] = {job->out.memory, job->in.memory};
	void *params[] = {&address[0], &address[1], &address[2], &address[3], &shape};
	struct kernels_run run = {
		.want = {&fft_family, &class, sizeof(class)},
		.stream = job->stream, .params = params, .used = used, .used_count = 2,
	};
	memcpy(class.radices, pass->radices, sizeof(pass->radices));
	fft_choose_block(&class, size, fft_schedule(job->device));
	fft_pass_fill(&shape, &class, job, pass);
	shape.chunks = divide_up(shape.columns, class.columns);
	class.is_partial = !class.is_serial && shape.columns % class.columns != 0;
	class.in_column = fft_known_step(shape.in_column, pass, size);
	class.out_column = fft_known_step(shape.out_column, pass, size);
	tiles = shape.chunks;
	for (int64_t i = 0; i < shape.ndim; i++) {
		tiles *= shape.dims[i];
	}
	run.block = kz_dim(class.is_serial ? 1 : (int64_t)class.columns * class.threads, 1, 1);
	kz_status st = fft_grid(&run.grid, tiles, err);
	return st ? st : kernels_run(&run, err);
}
