/* SPDX-License-Identifier: MIT */
/*
 * Tasks by our own kernels, on any device: what no library does of products, triangular solvers,
 * LU, Cholesky and QR factorizations.
 *
 * A factorization splits the columns in two halves: it factors the left one, updates the right one,
 * and factors that (Toledo 1997; Gustavson 1997).  So nearly all work is products of large parts,
 * by kernels/matmul.cuh.  Parts of at most KZ_PANEL columns are kernels of kernels/lapack.cuh, one
 * block for each matrix.  QR goes through panels from left to right instead, and applies the
 * reflectors of each as I - V T V^H (Schreiber & Van Loan 1989).
 *
 * A view has any strides.  So there is one direction only: an upper triangle is the lower one of
 * the transposed view, and b op(a)^-1 a solver for the transposed b.
 */
#include "base/common.h"

#include "lib/linalg/matmul.h"
#include "lib/linalg/provider.h"

#include "kernels/lapack.cuh"
#include "lib/ops/device_code.h"
#include "lib/ops/generate.h"
#include "lib/ops/kernels.h"

#include <string.h>

enum { THREADS = 256, MOST_Z = 65535 };

/* The kernels of lapack.cuh. */
enum own_part { OWN_LU, OWN_SWAP, OWN_SOLVE, OWN_CHOLESKY, OWN_QR, OWN_T, OWN_COPY, OWN_PARTS };

static const struct {
	const char *macro, *what;
	bool has_columns; /* a block has KZ_COLUMNS columns of the matrix */
	bool is_each;
} own_parts[OWN_PARTS] = {
	[OWN_LU] = {"LU", "lu", false, false},
	[OWN_SWAP] = {"SWAP", "lu_swap", true, false},
	[OWN_SOLVE] = {"SOLVE", "solve_triangular", true, false},
	[OWN_CHOLESKY] = {"CHOLESKY", "cholesky", false, false},
	[OWN_QR] = {"QR", "qr", false, false},
	[OWN_T] = {"T", "qr_triangle", false, false},
	[OWN_COPY] = {"COPY", "qr_copy", false, true},
};

/* A task on its way into a stream.  The first failure stays, and nothing follows it. */
struct own_run {
	struct kz_device *device;
	struct kz_stream *stream;
	kz_dtype dtype;
	int64_t size, count;
	CUdeviceptr pivots, info; /* or the factors of reflectors */
	int64_t pivots_next;
	kz_status st;
	kz_error *err;
};

struct own_class {
	int part;
	kz_dtype dtype;
};

/* Kernels */

static void own_write(struct str *source, const void *context)
{
	const struct own_class *class = context;
	bool is_complex = dtype_is_complex(class->dtype);
	generate_prelude(source, dtype_bit(class->dtype), false);
	str_addf(source, "typedef %s kz_element;\n#define KZ_SIZE %s\n"
		"#define KZ_PART_%s\n",
		generate_value(class->dtype),
		class->dtype == KZ_F32 || class->dtype == KZ_C64 ? "float" : "double",
		own_parts[class->part].macro);
	str_add(source, is_complex ? "#define KZ_IS_COMPLEX\n#define KZ_ZERO kz_element{0, 0}\n"
		"#define KZ_REAL(x) (x).re\n#define KZ_IS_REAL(x) ((x).im == 0)\n"
		"#define KZ_MAKE(x) kz_element{(KZ_SIZE)(x), 0}\n"
		"#define KZ_FACTOR(f) kz_element{(KZ_SIZE)(f)[0], (KZ_SIZE)(f)[1]}\n"
		: "#define KZ_ZERO 0\n#define KZ_REAL(x) (x)\n#define KZ_IS_REAL(x) true\n"
		"#define KZ_MAKE(x) ((kz_element)(x))\n"
		"#define KZ_FACTOR(f) ((kz_element)(f)[0])\n");
	str_add(source, device_lapack);
}

/* Parts of a whole matrix, and those whose blocks have a thread for each of some columns. */
static const struct kernel_family own_families[] = {
	{"lapack", own_write, {[SCHEDULE_MANY] = {THREADS}, [SCHEDULE_ONE] = {1}}},
	{"lapack", own_write, {[SCHEDULE_MANY] = {KZ_COLUMNS}, [SCHEDULE_ONE] = {1}}},
};

/* Launch a part for each matrix; `more` are the addresses after a, and how far each moves in
 * bytes. */
static void own_launch(struct own_run *run, enum own_part which, struct kz_part *part,
	const CUdeviceptr from[3], const int64_t next[3])
{
	const struct own_class class = {(int)which, run->dtype};
	CUdeviceptr address[3];
	void *params[4];
	int count = 0;
	struct kernels_run launch = {
		.want = {&own_families[own_parts[which].has_columns], &class, sizeof(class),
			.what = own_parts[which].what},
		.stream = run->stream, .params = params,
		.grid = kz_dim(own_parts[which].has_columns ? divide_up(part->n, KZ_COLUMNS)
			: own_parts[which].is_each ? part->n : 1, 1, 1),
	};
	run->st = run->st ? run->st
		: kernels_get(&launch.kernel, run->device, &launch.want, run->err);
	for (; count < 3 && from[count]; count++) {
		params[count] = &address[count];
	}
	params[count] = part;
	for (int64_t first = 0; !run->st && first < run->count; first += MOST_Z) {
		for (int i = 0; i < count; i++) {
			address[i] = from[i] + (CUdeviceptr)(first * next[i]);
		}
		launch.grid.z = min64(run->count - first, MOST_Z);
		run->st = kernels_run(&launch, run->err);
	}
}

/* Views */

static struct kz_view own_strides(const struct matmul_view *view)
{
	return (struct kz_view){view->row, view->column, view->next};
}

static struct matmul_view own_view(const struct linalg_matrix *matrix)
{
	return (struct matmul_view){matrix->address, 1, matrix->ld, matrix->next, false};
}

/* The part from row i and column j on. */
static struct matmul_view own_at(const struct own_run *run, struct matmul_view view, int64_t i,
	int64_t j)
{
	view.address += (CUdeviceptr)((i * view.row + j * view.column) * run->size);
	return view;
}

static struct matmul_view own_turn(struct matmul_view view)
{
	int64_t row = view.row;
	view.row = view.column;
	view.column = row;
	return view;
}

static struct matmul_view own_adjoint(struct matmul_view view)
{
	view = own_turn(view);
	view.is_conjugate = !view.is_conjugate;
	return view;
}

static struct matmul_view own_op(struct matmul_view view, char op)
{
	return op == 'N' ? view : op == 'T' ? own_turn(view) : own_adjoint(view);
}

/* Products and solvers */

static const double own_one[2] = {1, 0};

/* A product of matrices of the task; what is the task's is not set in the job. */
static void own_multiply(struct own_run *run, struct matmul_job job)
{
	job.device = run->device;
	job.stream = run->stream;
	job.dtype = run->dtype;
	job.count = run->count;
	if (!run->st && job.m && job.n) {
		run->st = matmul_kernel_launch(&job, run->err);
	}
}

struct own_triangle {
	struct matmul_view view;
	bool is_upper, is_unit;
};

/* Half of an extent that is too large for a panel, in whole panels. */
static int64_t own_half(int64_t n)
{
	return divide_up(divide_up(n, KZ_PANEL), 2) * KZ_PANEL;
}

/* b(m, n) = alpha a^-1 b; the half of b that does not depend on the other comes first. */
static void own_solve(struct own_run *run, const struct own_triangle *a, struct matmul_view b,
	int64_t m, int64_t n, const double alpha[2])
{
	if (m > KZ_PANEL) {
		int64_t half = own_half(m), rest = m - half;
		struct own_triangle first = *a, second = *a;
		struct matmul_view upper = b, lower = own_at(run, b, half, 0);
		second.view = own_at(run, a->view, half, half);
		if (a->is_upper) {
			own_solve(run, &second, lower, rest, n, alpha);
			own_multiply(run, (struct matmul_job){
				.c = upper, .a = own_at(run, a->view, 0, half), .b = lower,
					.m = half, .n = n,
				.k = rest, .alpha = {-1}, .beta = {alpha[0], alpha[1]},
			});
			own_solve(run, &first, upper, half, n, own_one);
		} else {
			own_solve(run, &first, upper, half, n, alpha);
			own_multiply(run, (struct matmul_job){
				.c = lower, .a = own_at(run, a->view, half, 0), .b = upper,
					.m = rest, .n = n,
				.k = half, .alpha = {-1}, .beta = {alpha[0], alpha[1]},
			});
			own_solve(run, &second, lower, rest, n, own_one);
		}
		return;
	}
	struct kz_part part = {
		.m = m, .n = n, .a = own_strides(&a->view), .b = own_strides(&b),
		.alpha = {alpha[0], alpha[1]}, .is_upper = a->is_upper, .is_unit = a->is_unit,
		.is_conjugate = a->view.is_conjugate, .mode = alpha[0] != 1 || alpha[1] != 0,
	};
	own_launch(run, OWN_SOLVE, &part, (CUdeviceptr[3]){b.address, a->view.address},
		(int64_t[3]){b.next * run->size, a->view.next * run->size});
}

static void own_gemm(struct own_run *run, const struct linalg_task *t)
{
	own_multiply(run, (struct matmul_job){
		.c = own_view(&t->c), .a = own_op(own_view(&t->a), t->op_a),
		.b = own_op(own_view(&t->b), t->op_b), .m = t->m, .n = t->n, .k = t->k,
		.alpha = {t->alpha[0], t->alpha[1]}, .beta = {t->beta[0], t->beta[1]},
	});
}

static void own_trsm(struct own_run *run, const struct linalg_task *t)
{
	struct own_triangle a = {own_op(own_view(&t->a), t->op_a),
		(t->uplo == 'U') == (t->op_a == 'N'), t->diag == 'U'};
	if (t->side == 'L') {
		own_solve(run, &a, own_view(&t->b), t->m, t->n, t->alpha);
	} else {
		a.view = own_turn(a.view);
		a.is_upper = !a.is_upper;
		own_solve(run, &a, own_turn(own_view(&t->b)), t->n, t->m, t->alpha);
	}
}

/* LU */

/* Exchange rows first to last - 1 of n columns with those of their pivots. */
static void own_swap(struct own_run *run, struct matmul_view a, int64_t n, int64_t first,
	int64_t last, bool is_backwards)
{
	struct kz_part part = {.m = last, .n = n, .first = first, .a = own_strides(&a),
		.c_next = run->pivots_next, .mode = is_backwards};
	if (n > 0 && last > first) {
		own_launch(run, OWN_SWAP, &part, (CUdeviceptr[3]){a.address, run->pivots},
			(int64_t[3]){a.next * run->size, run->pivots_next * 4});
	}
}

/* P L U of columns first to first + n - 1 of a, from row `first` on. */
static void own_lu(struct own_run *run, struct matmul_view a, int64_t m, int64_t first, int64_t n)
{
	int64_t rows = m - first;
	if (n > KZ_PANEL && rows > 0) {
		int64_t half = own_half(n < rows ? n : rows);
		int64_t middle = first + half, end = min64(middle, m);
		own_lu(run, a, m, first, half);
		own_swap(run, own_at(run, a, 0, middle), n - half, first, end, false);
		struct own_triangle lower = {own_at(run, a, first, first), false, true};
		own_solve(run, &lower, own_at(run, a, first, middle), end - first, n - half,
			own_one);
		if (middle < m) {
			own_multiply(run, (struct matmul_job){
				.c = own_at(run, a, middle, middle), .a = own_at(run, a, middle,
					first),
				.b = own_at(run, a, first, middle), .m = m - middle, .n = n - half,
				.k = half, .alpha = {-1}, .beta = {1},
			});
			own_lu(run, a, m, middle, n - half);
			own_swap(run, own_at(run, a, 0, first), half, middle,
				min64(m, first + n), false);
		}
		return;
	}
	struct matmul_view panel = own_at(run, a, first, first);
	struct kz_part part = {.m = rows, .n = n, .first = first, .a = own_strides(&panel),
		.c_next = run->pivots_next};
	own_launch(run, OWN_LU, &part,
		(CUdeviceptr[3]){panel.address, run->pivots, run->info},
		(int64_t[3]){panel.next * run->size, run->pivots_next * 4, 4});
}

static void own_getrf(struct own_run *run, const struct linalg_task *t)
{
	own_lu(run, own_view(&t->a), t->m, 0, t->n);
}

static void own_lu_solve(struct own_run *run, const struct linalg_task *t, int64_t columns)
{
	struct matmul_view a = own_op(own_view(&t->a), t->op_a), b = own_view(&t->c);
	bool is_plain = t->op_a == 'N';
	struct own_triangle lower = {a, !is_plain, true}, upper = {a, is_plain, false};
	if (is_plain) {
		own_swap(run, b, columns, 0, t->n, false);
	}
	own_solve(run, is_plain ? &lower : &upper, b, t->n, columns, own_one);
	own_solve(run, is_plain ? &upper : &lower, b, t->n, columns, own_one);
	if (!is_plain) {
		own_swap(run, b, columns, 0, t->n, true);
	}
}

static void own_getrs(struct own_run *run, const struct linalg_task *t)
{
	own_lu_solve(run, t, t->k);
}

/* How own_copy fills a matrix. */
enum own_copy { OWN_ALL, OWN_REFLECTORS, OWN_IDENTITY };

static void own_copy(struct own_run *run, struct matmul_view a, struct matmul_view b, int64_t m,
	int64_t n, enum own_copy how)
{
	struct kz_part part = {.m = m, .n = n, .a = own_strides(&a), .b = own_strides(&b),
		.mode = (int)how};
	own_launch(run, OWN_COPY, &part, (CUdeviceptr[3]){a.address, b.address},
		(int64_t[3]){a.next * run->size, b.next * run->size});
}

static void own_getri(struct own_run *run, const struct linalg_task *t)
{
	struct linalg_task solve = *t;
	struct matmul_view c = own_view(&t->c);
	solve.op_a = 'N';
	own_copy(run, c, c, t->n, t->n, OWN_IDENTITY);
	own_lu_solve(run, &solve, t->n);
}

/* Cholesky */

/* L L^H of the lower triangle of rows first to first + n - 1. */
static void own_cholesky(struct own_run *run, struct matmul_view a, int64_t first, int64_t n)
{
	struct matmul_view part_a = own_at(run, a, first, first);
	if (n > KZ_PANEL) {
		int64_t half = own_half(n), rest = n - half;
		struct matmul_view below = own_at(run, part_a, half, 0);
		/* below = below L^-H: the transposed of below is solved for */
		struct own_triangle lower = {part_a, false, false};
		lower.view.is_conjugate = true;
		own_cholesky(run, a, first, half);
		own_solve(run, &lower, own_turn(below), half, rest, own_one);
		own_multiply(run, (struct matmul_job){
			.c = own_at(run, part_a, half, half), .a = below, .b = own_adjoint(below),
			.m = rest, .n = rest, .k = half, .alpha = {-1}, .beta = {1},
			.triangle = MATMUL_LOWER,
		});
		own_cholesky(run, a, first + half, rest);
		return;
	}
	struct kz_part part = {.n = n, .first = first, .a = own_strides(&part_a)};
	own_launch(run, OWN_CHOLESKY, &part, (CUdeviceptr[3]){part_a.address, run->info},
		(int64_t[3]){part_a.next * run->size, 4});
}

static void own_potrf(struct own_run *run, const struct linalg_task *t)
{
	struct matmul_view a = own_view(&t->a);
	own_cholesky(run, t->uplo == 'U' ? own_turn(a) : a, 0, t->n);
}

/* QR */

/* What blocks of reflectors need: V, V^H V, T, and two products with n columns. */
struct own_work {
	struct matmul_view v, square, t, w, tw;
	struct matmul_view q; /* ORGQR only */
	struct kz_buffer *buffer;
};

static struct matmul_view own_work_view(CUdeviceptr *at, const struct own_run *run, int64_t rows,
	int64_t columns)
{
	struct matmul_view view = {*at, 1, rows, rows * columns, false};
	*at += (CUdeviceptr)(rows * columns * run->count * run->size);
	return view;
}

static void own_work_create(struct own_run *run, struct own_work *work, int64_t m, int64_t n,
	bool has_q)
{
	const struct memory_wish wish = {.stream = run->stream};
	int64_t one, columns, total;
	bool fits = size64_mul(&one, m, has_q ? n + KZ_PANEL : KZ_PANEL)
		&& size64_mul(&columns, n, 2 * KZ_PANEL) && size64_add(&one, one, columns)
		&& size64_add(&one, one, 2 * KZ_PANEL * KZ_PANEL)
		&& size64_mul(&total, one, run->count)
		&& size64_mul(&total, total, run->size);
	work->buffer = NULL;
	if (run->st) {
		return;
	}
	run->st = fits ? buffer_create(&work->buffer, run->device, total, &wish, run->err)
		: error_no_memory(run->err);
	run->st = run->st ? run->st : memory_use(work->buffer->memory, run->stream, run->err);
	if (run->st) {
		return;
	}
	CUdeviceptr at = buffer_address(work->buffer);
	work->v = own_work_view(&at, run, m, KZ_PANEL);
	work->square = own_work_view(&at, run, KZ_PANEL, KZ_PANEL);
	work->t = own_work_view(&at, run, KZ_PANEL, KZ_PANEL);
	work->w = own_work_view(&at, run, KZ_PANEL, n);
	work->tw = own_work_view(&at, run, KZ_PANEL, n);
	work->q = own_work_view(&at, run, m, has_q ? n : 0);
}

static void own_work_release(struct own_run *run, struct own_work *work)
{
	if (!run->st) {
		run->st = memory_used(work->buffer->memory, run->stream, run->err);
	}
	buffer_release(work->buffer);
}

/* Reflectors of a factorization: V is in the columns of a, whose first row is their first one. */
struct own_reflectors {
	struct matmul_view a;
	int64_t first, count; /* of all reflectors */
	bool is_adjoint;      /* they are applied as (I - V T V^H)^H */
};

/* c(m, n) = (I - V T V^H) c */
static void own_reflect(struct own_run *run, struct own_work *work, const struct own_reflectors *v,
	struct matmul_view c, int64_t m, int64_t n)
{
	const int64_t k = v->count;
	struct kz_part part = {.n = k, .first = v->first, .a = own_strides(&work->t),
		.b = own_strides(&work->square), .c_next = run->pivots_next};
	own_copy(run, work->v, v->a, m, k, OWN_REFLECTORS);
	own_multiply(run, (struct matmul_job){
		.c = work->square, .a = own_adjoint(work->v), .b = work->v, .m = k, .n = k, .k = m,
		.alpha = {1},
	});
	own_launch(run, OWN_T, &part,
		(CUdeviceptr[3]){work->t.address, work->square.address, run->pivots},
		(int64_t[3]){work->t.next * run->size, work->square.next * run->size,
			run->pivots_next * run->size});
	own_multiply(run, (struct matmul_job){
		.c = work->w, .a = own_adjoint(work->v), .b = c, .m = k, .n = n, .k = m,
			.alpha = {1},
	});
	own_multiply(run, (struct matmul_job){
		.c = work->tw, .a = v->is_adjoint ? own_adjoint(work->t) : work->t, .b = work->w,
		.m = k, .n = n, .k = k, .alpha = {1},
	});
	own_multiply(run, (struct matmul_job){
		.c = c, .a = work->v, .b = work->tw, .m = m, .n = n, .k = k, .alpha = {-1},
			.beta = {1},
	});
}

static void own_geqrf(struct own_run *run, const struct linalg_task *t)
{
	struct matmul_view a = own_view(&t->a);
	struct own_work work = {.buffer = NULL};
	int64_t least = min64(t->m, t->n);
	if (t->n > KZ_PANEL) {
		own_work_create(run, &work, t->m, t->n, false);
	}
	for (int64_t j = 0; j < least; j += KZ_PANEL) {
		int64_t width = min64(KZ_PANEL, t->n - j), rest = t->n - j - width;
		struct matmul_view panel = own_at(run, a, j, j);
		struct kz_part part = {.m = t->m - j, .n = width, .first = j,
			.a = own_strides(&panel),
			.c_next = run->pivots_next};
		own_launch(run, OWN_QR, &part, (CUdeviceptr[3]){panel.address, run->pivots},
			(int64_t[3]){panel.next * run->size, run->pivots_next * run->size});
		if (rest > 0) {
			const struct own_reflectors v = {panel, j, min64(width, least - j), true};
			own_reflect(run, &work, &v, own_at(run, a, j, j + width), t->m - j, rest);
		}
	}
	if (work.buffer) {
		own_work_release(run, &work);
	}
}

/* Q is I, with the last block of reflectors applied first. */
static void own_orgqr(struct own_run *run, const struct linalg_task *t)
{
	struct matmul_view a = own_view(&t->a);
	struct own_work work;
	own_work_create(run, &work, t->m, t->n, true);
	if (!run->st) {
		own_copy(run, work.q, work.q, t->m, t->n, OWN_IDENTITY);
		int64_t last = divide_up(t->k, KZ_PANEL) * KZ_PANEL;
		for (int64_t j = last - KZ_PANEL; j >= 0; j -= KZ_PANEL) {
			const struct own_reflectors v = {own_at(run, a, j, j), j,
				min64(KZ_PANEL, t->k - j), false};
			own_reflect(run, &work, &v, own_at(run, work.q, j, j), t->m - j, t->n - j);
		}
		own_copy(run, a, work.q, t->m, t->n, OWN_ALL);
	}
	if (work.buffer) {
		own_work_release(run, &work);
	}
}

/* The provider */

static void (*const own_calls[LINALG_OPS])(struct own_run *run, const struct linalg_task *task) = {
	[LINALG_GEMM] = own_gemm, [LINALG_TRSM] = own_trsm, [LINALG_GETRF] = own_getrf,
	[LINALG_GETRS] = own_getrs, [LINALG_GETRI] = own_getri, [LINALG_POTRF] = own_potrf,
	[LINALG_GEQRF] = own_geqrf, [LINALG_ORGQR] = own_orgqr,
};

/* Operations that cannot fail say so. */
static void own_clear_info(struct own_run *run, const struct linalg_task *t)
{
	if (t->info.address && t->op != LINALG_GETRF && t->op != LINALG_POTRF && !run->st) {
		CUresult code = run->device->drv->MemsetD8Async(t->info.address, 0,
			(size_t)t->count * 4, run->stream->handle);
		run->st = device_ok(run->device, code, "cuMemsetD8Async", run->err);
	}
}

bool own_ops_has(const struct linalg_task *task)
{
	return task->type < LINALG_TYPES && own_calls[task->op];
}

kz_status own_ops_enqueue(struct linalg_device *math, const struct linalg_task *task,
	struct kz_stream *stream, kz_error *err)
{
	static const kz_dtype dtypes[LINALG_TYPES] = {KZ_F32, KZ_F64, KZ_C64, KZ_C128};
	struct own_run run = {
		.device = math->device, .stream = stream, .dtype = dtypes[task->type],
		.size = dtype_size(dtypes[task->type]), .count = task->count,
		.pivots = task->b.address, .pivots_next = task->b.next, .info = task->info.address,
		.err = err,
	};
	own_calls[task->op](&run, task);
	own_clear_info(&run, task);
	return run.st;
}

void own_ops_fill(struct linalg_device *math)
{
	for (int type = 0; type < LINALG_TYPES; type++) {
		if (!math->enqueue[LINALG_GEMM][type]) {
			math->least_gemm = INT64_MAX; // without the detour through a task
		}
		for (int op = 0; op < LINALG_OPS; op++) {
			if (!math->enqueue[op][type] && own_calls[op]) {
				math->enqueue[op][type] = own_ops_enqueue;
			}
		}
	}
}
