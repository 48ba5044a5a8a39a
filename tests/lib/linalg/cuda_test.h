/* SPDX-License-Identifier: MIT */
#ifndef CUDA_TEST_H
#define CUDA_TEST_H

/*
 * For tests of the provider of GPUs: on a GPU with the libraries there are, and put into the table
 * of the CPU device, with a stub of both that computes on its memory (tests/stub/cublas).
 */
#include "base/dl.h"
#include "lib/core/memory.h"
#include "lib/linalg/cuda_library.h"
#include "lib/linalg/host_library.h"
#include "support/suite.h"
#include "support/support.h"

#include <complex.h>
#include <math.h>

#define CUBLAS_STUB KZ_TEST_BUILD "/libcublas-stub.so"

typedef double complex number;
enum { MOST = 600 };

static kz_error err;
static kz_device *dev;
static struct linalg_device *math;
static int *handles;
static uint32_t state;

static inline void *stub_symbol(const char *name)
{
	char why[256];
	void *object = dl_open(CUBLAS_STUB, why, sizeof(why));
	ck_assert_msg(object, "%s", why);
	void *found = dl_symbol(object, name);
	ck_assert_ptr_nonnull(found);
	return found;
}

static inline void use_stub(void)
{
	memcpy(stub_symbol("stub_launch"), &dev->drv->LaunchHostFunc, sizeof(void *));
	handles = stub_symbol("stub_handles");
	memset(math->enqueue, 0, sizeof(math->enqueue));
	math->host = NULL;
	math->least_gemm = 0;
	math->inverts_in_place = false;
	ok(cuda_ops_fill(math, &err));
}

/* Without a BLAS the stub cannot compute, and there is nothing to test: then dev is NULL. */
static inline void setup(int device)
{
	bool is_cpu = strcmp(support_device_name(device), "cpu") == 0;
	err = (kz_error)KZ_ERROR_INIT;
	dev = NULL;
	handles = NULL;
	state = 1;
	if (is_cpu && host_library_get(1)->parts[HOST_LAPACK].object) {
		setenv("KUDZU_CUBLAS", CUBLAS_STUB, 0);
		setenv("KUDZU_CUSOLVER", CUBLAS_STUB, 0);
		dev = support_open(device);
		ok(linalg_device_get(&math, dev, &err));
		use_stub();
	} else if (!is_cpu) {
		dev = support_open(device);
		ok(linalg_device_get(&math, dev, &err));
	}
}

static inline void teardown(void)
{
	support_close(dev);
	ck_assert(!handles || *handles == 0);
}

/* On every device; `which` counts as _i does. */
#define CUDA_TEST(name)                                                                            \
	static void name##_on(int which);                                                          \
	START_TEST(name)                                                                           \
	{                                                                                          \
		setup(_i % support_device_count());                                                \
		if (dev) {                                                                         \
			name##_on(_i / support_device_count());                                    \
			teardown();                                                                \
		}                                                                                  \
	}                                                                                          \
	END_TEST                                                                                   \
	static void name##_on(int which CK_ATTRIBUTE_UNUSED)
/* That needs the stub. */
#define CUBLAS_STUB_TEST(name)                                                                     \
	static void name##_stub(int which);                                                        \
	CUDA_TEST(name)                                                                            \
	{                                                                                          \
		if (handles) {                                                                     \
			name##_stub(which);                                                        \
		}                                                                                  \
	}                                                                                          \
	static void name##_stub(int which CK_ATTRIBUTE_UNUSED)

/* Numbers on their way to the device and back */

static inline number draw(enum linalg_type type)
{
	double part[2];
	for (int i = 0; i < 2; i++) {
		state = state * 1664525u + 1013904223u;
		part[i] = (int32_t)((state >> 8) % 2001) / 1000.0 - 1;
	}
	return part[0] + (linalg_is_complex(type) ? part[1] * I : 0);
}

static inline void draw_all(number *out, int count, enum linalg_type type)
{
	for (int i = 0; i < count; i++) {
		out[i] = draw(type);
	}
}

static inline struct linalg_matrix put_bytes(const void *from, size_t size, int ld, int next)
{
	struct kz_buffer *buffer;
	ok(kz_buffer_create(&buffer, dev, (int64_t)size, &err));
	ok(kz_copy_htod(buffer, 0, from, (int64_t)size, &err));
	struct linalg_matrix out = {memory_retain(buffer->memory), buffer_address(buffer), ld,
		next};
	kz_buffer_release(buffer);
	return out;
}

/* A buffer as an operand; its elements are of `type`. */
static inline struct linalg_matrix put(enum linalg_type type, const number *from, int count, int ld,
	int next)
{
	char bytes[16 * MOST];
	size_t size = linalg_size(type);
	ck_assert_int_le(count, MOST);
	for (int i = 0; i < count; i++) {
		float f[2] = {(float)creal(from[i]), (float)cimag(from[i])};
		double d[2] = {creal(from[i]), cimag(from[i])};
		bool is_double = type == LINALG_D || type == LINALG_Z;
		memcpy(bytes + (size_t)i * size, is_double ? (void *)d : (void *)f, size);
	}
	return put_bytes(bytes, (size_t)count * size, ld, next);
}

static inline struct linalg_matrix put_nothing(enum linalg_type type, int count, int ld, int next)
{
	static const number zeros[MOST];
	return put(type, zeros, count, ld, next);
}

static inline void get_bytes(void *out, const struct linalg_matrix *of, size_t size)
{
	struct kz_buffer *buffer;
	ok(buffer_take(&buffer, memory_retain(of->memory), 0, (int64_t)size, &err));
	ok(kz_copy_dtoh(out, (int64_t)size, buffer, 0, &err));
	buffer_release(buffer);
}

static inline void get(number *out, enum linalg_type type, const struct linalg_matrix *of,
	int count)
{
	char bytes[16 * MOST];
	size_t size = linalg_size(type);
	get_bytes(bytes, of, (size_t)count * size);
	for (int i = 0; i < count; i++) {
		const float *f = (const float *)(void *)(bytes + (size_t)i * size);
		const double *d = (const double *)(void *)(bytes + (size_t)i * size);
		out[i] = type == LINALG_S ? f[0] : type == LINALG_D ? d[0] : type == LINALG_C
			? f[0] + f[1] * I : d[0] + d[1] * I;
	}
}

static inline void run(const struct linalg_task *task)
{
	ok(linalg_run(dev, task, kz_device_stream(dev), "test", &err));
}

static inline void end(const struct linalg_task *task)
{
	memory_release(task->a.memory);
	memory_release(task->b.memory);
	memory_release(task->c.memory);
	memory_release(task->d.memory);
	memory_release(task->info.memory);
}

static inline enum linalg_type real_of(enum linalg_type type)
{
	return type == LINALG_C ? LINALG_S : type == LINALG_Z ? LINALG_D : type;
}

static inline enum linalg_type complex_of(enum linalg_type type)
{
	return type == LINALG_S ? LINALG_C : type == LINALG_D ? LINALG_Z : type;
}

/* Matrices on the host, column-major */

static inline number at(const number *a, int ld, char op, int i, int j)
{
	return op == 'N' ? a[j * ld + i] : op == 'T' ? a[i * ld + j] : conj(a[i * ld + j]);
}

static inline void is_near(number got, number want, enum linalg_type type)
{
	double bound = real_of(type) == LINALG_S ? 2e-4 : 1e-11;
	ck_assert_msg(cabs(got - want) <= bound, "%g%+gi, expected %g%+gi", creal(got), cimag(got),
		creal(want), cimag(want));
}

/* (m, n) = op_a(a) op_b(b), k products each, is what `want` has. */
static inline void check_product(enum linalg_type type, int m, int n, int k, const number *a,
	int lda, char op_a, const number *b, int ldb, char op_b, const number *want, int ld)
{
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < m; i++) {
			number sum = 0;
			for (int l = 0; l < k; l++) {
				sum += at(a, lda, op_a, i, l) * at(b, ldb, op_b, l, j);
			}
			is_near(sum, want[j * ld + i], type);
		}
	}
}

static inline void make_identity(number *out, int n, int ld)
{
	for (int i = 0; i < n * ld; i++) {
		out[i] = i % ld == i / ld;
	}
}

#endif
