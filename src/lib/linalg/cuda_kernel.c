/* SPDX-License-Identifier: MIT */
/* Making and launching the kernels of kernels/solver.cuh.  They walk all elements of an n by n
 * matrix, whatever their grid. */
#include "base/common.h"

#include "lib/linalg/cuda_kernel.h"

#include "kernels/solver.cuh"
#include "lib/ops/device_code.h"
#include "lib/ops/kernels.h"

enum { CUDA_THREADS = 256, CUDA_MOST_BLOCKS = 4096, CUDA_MOST_Z = 65535 };

struct cuda_kernel_class {
	enum linalg_op op;
	enum linalg_type type;
};

static void cuda_kernel_write(struct str *source, const void *context)
{
	const struct cuda_kernel_class *class = context;
	bool is_complex = linalg_is_complex(class->type);
	bool is_double = class->type == LINALG_D || class->type == LINALG_Z;
	str_addf(source, "typedef %s kz_real;\n#define KZ_PARTS %d\n%s",
		is_double ? "double" : "float", is_complex ? 2 : 1,
		class->op == LINALG_GETRI ? "#define KZ_IDENTITY\n"
		: class->op == LINALG_GETRF ? "#define KZ_CHECK\n" : "");
	str_add(source, device_solver);
}

static const struct kernel_family cuda_family = {
	"solver", cuda_kernel_write,
	{[SCHEDULE_MANY] = {CUDA_THREADS}, [SCHEDULE_ONE] = {CUDA_THREADS}},
};

kz_status cuda_kernel_find(struct kz_kernel **out, struct kz_device *dev, enum linalg_op op,
	enum linalg_type type, kz_error *err)
{
	const struct cuda_kernel_class class = {op, type};
	const struct kernels_want want = {.family = &cuda_family, .key = &class,
		.size = sizeof(class)};
	return kernels_get(out, dev, &want, err);
}

/* Launch the call's kernel over one matrix. */
static kz_status cuda_kernel_launch(const struct cuda_call *call, void **params)
{
	const int64_t n = call->task->n;
	const struct kernels_run run = {
		.want = {.family = &cuda_family}, .kernel = call->kernel, .stream = call->stream,
		.params = params,
		.grid = kz_dim(min64(divide_up(n * n, CUDA_THREADS), CUDA_MOST_BLOCKS), 1, 1),
	};
	return kernels_run(&run, call->err);
}

kz_status cuda_kernel_check(const struct cuda_call *call, CUdeviceptr marks, bool is_done)
{
	const struct linalg_task *task = call->task;
	CUdeviceptr a, info, marked;
	int64_t lda = task->a.ld, next = task->a.next;
	int m = (int)task->m, n = (int)task->n, refused = LINALG_INFO_REFUSED;
	const struct linalg_range *range = &call->range[task->type];
	struct kz_range pivots = {range->least, range->most};
	void *params[] = {&a, &lda, &next, &m, &n, &marked, &info, &refused, &pivots};
	int64_t elements = is_done ? min64(m, n) : (int64_t)m * n;
	struct kernels_run run = {
		.want = {.family = &cuda_family}, .kernel = call->kernel, .stream = call->stream,
		.params = params,
		.grid = kz_dim(min64(divide_up(elements, CUDA_THREADS), CUDA_MOST_BLOCKS), 1, 1),
	};
	kz_status st = KZ_OK;
	for (int64_t first = 0; !st && first < task->count; first += CUDA_MOST_Z) {
		a = linalg_address(task, 'a', &task->a, first);
		marked = marks + (CUdeviceptr)first * sizeof(int32_t);
		info = is_done ? task->info.address + (CUdeviceptr)first * sizeof(int32_t) : 0;
		run.grid.z = min64(task->count - first, CUDA_MOST_Z);
		st = kernels_run(&run, call->err);
	}
	return st;
}

kz_status cuda_kernel_identity(const struct cuda_call *call)
{
	const struct linalg_task *task = call->task;
	CUdeviceptr c = cuda_address(call->c), a = cuda_address(call->a);
	CUdeviceptr info = cuda_address(call->info);
	int64_t ldc = task->c.ld, lda = task->a.ld;
	int n = (int)task->n;
	void *params[] = {&c, &ldc, &a, &lda, &info, &n};
	return cuda_kernel_launch(call, params);
}

kz_status cuda_kernel_unpack(const struct cuda_call *call, CUdeviceptr vectors)
{
	CUdeviceptr c = cuda_address(call->c), w = cuda_address(call->b);
	int64_t ldc = call->task->c.ld;
	int n = (int)call->task->n;
	void *params[] = {&c, &ldc, &w, &vectors, &n};
	return cuda_kernel_launch(call, params);
}
