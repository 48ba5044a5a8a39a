/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices by our own kernel (kernels/matmul.cuh), for every type: integers and bool,
 * and floats where there is no library.
 *
 * The kernel wants the rows of the result without gaps.  If its columns are, then it computes the
 * transposed product of the transposed operands.
 */
#include "base/common.h"

#include "lib/linalg/matmul.h"

#include "kernels/matmul.cuh"
#include "lib/ops/device_code.h"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"

#include <string.h>

enum { TILE = 64, DOT_ROWS = 32, MOST_Z = 65535 };

struct matmul_class {
	kz_dtype dtype;
	int form;
};

/* What the kernel is compiled for. */
enum matmul_form { MATMUL_ANY, MATMUL_PLAIN, MATMUL_DOT };

static void matmul_kernel_write(struct str *source, const void *context)
{
	const struct matmul_class *class = context;
	bool is_integer = dtype_is_exact(class->dtype);
	generate_prelude(source, dtype_bit(class->dtype), is_integer);
	str_addf(source, "typedef %s kz_element;\n", generate_value(class->dtype));
	str_add(source, class->form == MATMUL_PLAIN ? "#define KZ_PLAIN\n"
		: class->form == MATMUL_DOT ? "#define KZ_DOT\n" : "");
	if (is_integer) {
		str_add(source, "#define KZ_ZERO 0\n"
			"#define KZ_MADD(c, a, b) kz_add((kz_element)(c), kz_multiply(a, b))\n");
	} else if (!dtype_is_complex(class->dtype)) {
		str_add(source, "#define KZ_ZERO 0\n#define KZ_MADD(c, a, b) fma(a, b, c)\n"
			"#define KZ_FACTOR(f) ((kz_element)(f)[0])\n");
	} else {
		str_add(source, "#define KZ_IS_COMPLEX\n#define KZ_ZERO kz_element{0, 0}\n"
			"#define KZ_MADD(c, a, b) kz_element{ \\\n"
			"\tfma(a.re, b.re, fma(-a.im, b.im, c.re)), \\\n"
			"\tfma(a.re, b.im, fma(a.im, b.re, c.im))}\n"
			"#define KZ_FACTOR(f) kz_element{(decltype(kz_element::re))(f)[0], "
			"(decltype(kz_element::re))(f)[1]}\n");
	}
	str_add(source, device_matmul);
}

/* `tile` is the rows of a block. */
static const struct kernel_family matmul_family = {
	"matmul", matmul_kernel_write,
	{[SCHEDULE_MANY] = {256, TILE}, [SCHEDULE_ONE] = {1, 16}},
};

/* MATMUL_DOT: blocks of warps. */
static const struct kernel_family matmul_dots = {
	"matmul", matmul_kernel_write,
	{[SCHEDULE_MANY] = {256, DOT_ROWS}, [SCHEDULE_ONE] = {32, DOT_ROWS}},
};

static struct matmul_view matmul_view_turn(struct matmul_view view)
{
	struct matmul_view turned = view;
	turned.row = view.column;
	turned.column = view.row;
	return turned;
}

/* The transposed product of the transposed operands. */
static struct matmul_job matmul_job_turn(const struct matmul_job *job)
{
	struct matmul_job turned = *job;
	turned.m = job->n;
	turned.n = job->m;
	turned.a = matmul_view_turn(job->b);
	turned.b = matmul_view_turn(job->a);
	turned.c = matmul_view_turn(job->c);
	turned.triangle = job->triangle == MATMUL_ALL ? MATMUL_ALL
		: job->triangle == MATMUL_LOWER ? MATMUL_UPPER : MATMUL_LOWER;
	return turned;
}

static bool matmul_is_number(const double number[2], double real)
{
	return number[0] == real && number[1] == 0;
}

/* A column of the result whose matrix has columns without gaps is a row instead; then a row of the
 * result whose matrix has columns without gaps is a column. */
static bool matmul_is_better_turned(const struct matmul_job *job)
{
	if (job->n == 1 && job->m > 1) {
		return job->a.column != 1 && job->c.row == 1;
	}
	if (job->m == 1 && job->n > 1) {
		return job->c.column != 1 || (job->b.column != 1 && job->b.row == 1);
	}
	return job->n > 1 && job->c.column != 1;
}

kz_status matmul_kernel_launch(const struct matmul_job *given, kz_error *err)
{
	struct matmul_job job = matmul_is_better_turned(given) ? matmul_job_turn(given) : *given;
	bool is_dot = job.n == 1 && job.a.column == 1 && job.k > 1 && !job.triangle;
	bool walks = kernels_walk(&matmul_family, job.device);
	int64_t size = dtype_size(job.dtype);
	struct kz_matrices matrices = {
		.m = job.m, .n = job.n, .k = job.k,
		.a_row = job.a.row, .a_column = job.a.column, .a_next = job.a.next,
		.b_row = job.b.row, .b_column = job.b.column, .b_next = job.b.next,
		.c_row = job.c.row, .c_next = job.c.next,
		.conjugate_a = job.a.is_conjugate, .conjugate_b = job.b.is_conjugate,
		.has_alpha = !matmul_is_number(job.alpha, 1),
		.has_beta = matmul_is_number(job.beta, 0) ? 0
			: matmul_is_number(job.beta, 1) ? 1 : 2,
		.triangle = job.triangle,
	};
	memcpy(matrices.alpha, job.alpha, sizeof(job.alpha));
	memcpy(matrices.beta, job.beta, sizeof(job.beta));
	bool is_plain = walks && job.b.column == 1 && !matrices.conjugate_a
		&& !matrices.conjugate_b && !matrices.has_alpha && !matrices.has_beta
		&& !matrices.triangle;
	const struct matmul_class class = {job.dtype,
		is_dot ? MATMUL_DOT : is_plain ? MATMUL_PLAIN : MATMUL_ANY};
	CUdeviceptr address[3];
	void *params[] = {&address[0], &address[1], &address[2], &matrices};
	struct kernels_run run = {
		.want = {is_dot ? &matmul_dots : &matmul_family, &class, sizeof(class)},
		.stream = job.stream, .params = params, .used = job.used,
		.used_count = job.used_count,
	};
	kz_status st = kernels_get(&run.kernel, job.device, &run.want, err);
	int64_t rows = schedule_of(run.want.family->schedules, job.device)->tile;
	run.grid.x = divide_up(job.m, rows)
		* (is_dot ? 1 : divide_up(job.n, walks ? KZ_ROW_SIZE / size : TILE));
	run.grid.y = 1;
	for (int64_t first = 0; !st && first < job.count; first += MOST_Z) {
		address[0] = job.c.address + (CUdeviceptr)(first * job.c.next * size);
		address[1] = job.a.address + (CUdeviceptr)(first * job.a.next * size);
		address[2] = job.b.address + (CUdeviceptr)(first * job.b.next * size);
		run.grid.z = min64(job.count - first, MOST_Z);
		st = kernels_run(&run, err);
	}
	return st;
}
