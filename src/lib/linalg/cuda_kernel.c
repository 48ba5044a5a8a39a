/* SPDX-License-Identifier: MIT */
/* Making and launching the kernels of kernels/solver.cuh.  They walk all elements of an n by n
 * matrix, whatever their grid. */
#include "base/common.h"

#include "lib/linalg/cuda_kernel.h"

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
	bool is_complex = class->type == LINALG_C || class->type == LINALG_Z;
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
	const struct kernels_want want = {.family = &cuda_family, .key = &class, .size = sizeof(class)};
	return kernels_get(out, dev, &want, err);
}

static kz_status cuda_kernel_launch(struct kz_kernel *kernel, struct kz_stream *stream,
	void **params, int n, kz_error *err)
{
	const struct kernels_run run = {
		.want = {.family = &cuda_family}, .kernel = kernel, .stream = stream, .params = params,
		.grid = kz_dim(min64(divide_up((int64_t)n * n, CUDA_THREADS), CUDA_MOST_BLOCKS), 1, 1),
	};
	return kernels_run(&run, err);
}

kz_status cuda_kernel_check(struct kz_kernel *kernel, struct kz_stream *stream,
	const struct linalg_task *task, const struct linalg_range *range, CUdeviceptr marks, bool is_done,
	kz_error *err)
{
	CUdeviceptr a, info, marked;
	int64_t lda = task->a.ld, next = task->a.next;
	int m = (int)task->m, n = (int)task->n, refused = LINALG_INFO_REFUSED;
	struct linalg_range pivots = *range;
	void *params[] = {&a, &lda, &next, &m, &n, &marked, &info, &refused, &pivots};
	int64_t elements = is_done ? min64(m, n) : (int64_t)m * n;
	struct kernels_run run = {
		.want = {.family = &cuda_family}, .kernel = kernel, .stream = stream, .params = params,
		.grid = kz_dim(min64(divide_up(elements, CUDA_THREADS), CUDA_MOST_BLOCKS), 1, 1),
	};
	kz_status st = KZ_OK;
	for (int64_t first = 0; !st && first < task->count; first += CUDA_MOST_Z) {
		a = linalg_address(task, 'a', &task->a, first);
		marked = marks + (CUdeviceptr)first * sizeof(int32_t);
		info = is_done ? task->info.address + (CUdeviceptr)first * sizeof(int32_t) : 0;
		run.grid.z = min64(task->count - first, CUDA_MOST_Z);
		st = kernels_run(&run, err);
	}
	return st;
}

kz_status cuda_kernel_identity(struct kz_kernel *kernel, struct kz_stream *stream, CUdeviceptr c,
	int64_t ldc, CUdeviceptr a, int64_t lda, CUdeviceptr info, int n, kz_error *err)
{
	void *params[] = {&c, &ldc, &a, &lda, &info, &n};
	return cuda_kernel_launch(kernel, stream, params, n, err);
}

kz_status cuda_kernel_unpack(struct kz_kernel *kernel, struct kz_stream *stream, CUdeviceptr c,
	int64_t ldc, CUdeviceptr w, CUdeviceptr vectors, int n, kz_error *err)
{
	void *params[] = {&c, &ldc, &w, &vectors, &n};
	return cuda_kernel_launch(kernel, stream, params, n, err);
}
