/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices by our own kernel (kernels/matmul.cuh), for every type: integers and bool,
 * and floats where there is no library.
 */
#include "base/common.h"

#include "math/matmul.h"

#include "ops/device_code.h"
#include "ops/generate.h"
#include "ops/kernels.h"

enum { ROWS = 16, COLUMNS = 1024, TILE = 64, MOST_Z = 65535 }; /* as in matmul.cuh */

/* As kernels/matmul.cuh has it. */
struct kz_matrices {
	int64_t m, n, k;
	int64_t a_row, a_column, a_next;
	int64_t b_row, b_next, c_next;
};

struct matmul_class {
	kz_dtype dtype;
	int serial;
};

static void matmul_kernel_write(struct str *source, const void *context)
{
	const struct matmul_class *class = context;
	bool is_integer = class->dtype < KZ_F16;
	generate_prelude(source, 1u << class->dtype, is_integer);
	str_addf(source, "typedef %s kz_element;\n%s", generate_value(class->dtype),
		class->serial ? "#define KZ_SERIAL\n" : "");
	str_add(source, class->dtype >= KZ_C64 ? "#define KZ_ZERO kz_element{0, 0}\n"
		: "#define KZ_ZERO 0\n");
	str_add(source, is_integer
		? "#define KZ_ADD(c, a, b) kz_add((kz_element)(c), kz_multiply(a, b))\n"
		: "#define KZ_ADD(c, a, b) ((c) + (a) * (b))\n");
	str_add(source, device_matmul);
}

kz_status matmul_kernel_find(struct product *p, kz_error *err)
{
	struct {
		char family[8];
		struct matmul_class class;
	} key = {"matmul", {p->dtype, p->device->serial}};
	struct kernels_want want = {&key, sizeof(key), matmul_kernel_write, &key.class, "matmul"};
	return kernels_get(&p->kernel, p->device, &want, err);
}

kz_status matmul_kernel_launch(const struct product *p, int64_t count, const int64_t offset[3],
	kz_error *err)
{
	const struct matmul_operand *operands[3] = {&p->c, &p->a, &p->b};
	int64_t last = p->batch.ndim - 1, next[3];
	for (int i = 0; i < 3; i++) {
		next[i] = last >= 0 ? operands[i]->batches[last] : 0;
	}
	struct kz_matrices matrices = {
		.m = p->c.rows, .n = p->c.columns, .k = p->a.columns, .a_row = p->a.row,
		.a_column = p->a.column, .a_next = next[1] / p->size, .b_row = p->b.row,
		.b_next = next[2] / p->size, .c_next = next[0] / p->size,
	};
	bool serial = p->device->serial;
	CUdeviceptr address[3];
	struct memory *used[3];
	void *params[] = {&address[0], &address[1], &address[2], &matrices};
	struct kernels_call call = {
		.kernel = p->kernel, .stream = p->stream, .params = params, .used = used,
		.used_count = 3, .block = kz_dim(serial ? 1 : 256, 1, 1),
		.grid = kz_dim(divide_up(matrices.m, serial ? ROWS : TILE),
			divide_up(matrices.n, serial ? COLUMNS : TILE), 1),
	};
	kz_status st = KZ_OK;
	for (int64_t first = 0; !st && first < count; first += MOST_Z) {
		for (int i = 0; i < 3; i++) {
			used[i] = operands[i]->array->buffer->memory;
			address[i] = array_address(operands[i]->array)
				+ (CUdeviceptr)(offset[i] + first * next[i]);
		}
		call.grid.z = min64(count - first, MOST_Z);
		st = kernels_launch(&call, err);
	}
	return st;
}
