/* SPDX-License-Identifier: MIT */
/* DLPack in and out: what is shared, what is refused, and that each deleter is called once. */
#include "base/common.h"

#include "lib/core/dtype.h"
#include "base/alloc.h"
#include "support/support.h"
#include "support/suite.h"

#include <kudzu/dlpack.h>

#include <string.h>

/* As dlpack.h has them, written down a second time. */

typedef struct {
	int32_t device_type;
	int32_t device_id;
} DLDevice;

typedef struct {
	uint8_t code;
	uint8_t bits;
	uint16_t lanes;
} DLDataType;

typedef struct {
	void *data;
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape;
	int64_t *strides;
	uint64_t byte_offset;
} DLTensor;

struct DLManagedTensor {
	DLTensor dl_tensor;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
	struct {
		uint32_t major;
		uint32_t minor;
	} version;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	DLTensor dl_tensor;
};

enum { CPU = 1, CUDA = 2 };

static kz_error err;
static kz_device *dev;
static bool on_cpu;
static int deleted;

static void setup(int index)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open_any(index);
	on_cpu = strcmp(kz_device_name(dev), "cpu") == 0;
	deleted = 0;
}

static void teardown(void)
{
	support_close(dev);
}

static void count_plain(struct DLManagedTensor *self)
{
	ck_assert_ptr_eq(self->manager_ctx, &deleted);
	deleted++;
}

static void count_versioned(struct DLManagedTensorVersioned *self)
{
	ck_assert_ptr_eq(self->manager_ctx, &deleted);
	deleted++;
}

static kz_array *numbers(kz_shape shape)
{
	static const int32_t host[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	kz_array *array;
	int64_t count = support_count(&shape);
	ok(kz_array_from(&array, dev, KZ_I32, shape, host, 4 * count, &err));
	return array;
}

static const DLDataType i32 = {0, 32, 1};

/* A tensor over an array's memory, whose deleter counts. */
static struct DLManagedTensor tensor_of(kz_array *array, int64_t *shape, int64_t *strides, int ndim)
{
	return (struct DLManagedTensor){
		{(void *)(uintptr_t)kz_array_address(array), {on_cpu ? CPU : CUDA, 0}, ndim, i32,
			shape, strides, 0},
		&deleted, count_plain};
}

static void has(kz_array *array, const int32_t *want, int count)
{
	int32_t got[12];
	ck_assert_int_eq(kz_array_count(array), count);
	ok(kz_array_get(array, got, 4 * count, &err));
	ck_assert_mem_eq(got, want, (size_t)(4 * count));
}

/* Out */

DEVICE_TEST(an_exported_view_is_described_and_kept_alive)
{
	static const int64_t strides[] = {-4, 16};
	struct DLManagedTensor *tensor;
	kz_array *view;
	kz_array *array = numbers(KZ_SHAPE(3, 4));
	ok(kz_array_view(&view, array, KZ_SHAPE(4, 3), strides, 12, &err));
	ok(kz_dlpack_export(&tensor, view, &err));
	const DLTensor *t = &tensor->dl_tensor;
	ck_assert_uint_eq((uint64_t)(uintptr_t)t->data, kz_array_address(array) + 12);
	ck_assert_int_eq(t->device.device_type, on_cpu ? CPU : CUDA);
	ck_assert_int_eq(t->device.device_id, 0);
	ck_assert(t->dtype.code == 0 && t->dtype.bits == 32 && t->dtype.lanes == 1);
	ck_assert(t->ndim == 2 && t->shape[0] == 4 && t->shape[1] == 3);
	ck_assert(t->strides[0] == -1 && t->strides[1] == 4 && t->byte_offset == 0);
	release_arrays(view, array);
	tensor->deleter(tensor);
}

DEVICE_TEST(an_exported_tensor_has_a_version)
{
	struct DLManagedTensorVersioned *tensor;
	kz_array *array = numbers(KZ_SHAPE(12));
	ok(kz_dlpack_export_versioned(&tensor, array, &err));
	ck_assert(tensor->version.major == 1 && tensor->flags == 0);
	ck_assert(tensor->dl_tensor.ndim == 1 && tensor->dl_tensor.shape[0] == 12);
	kz_array_release(array);
	tensor->deleter(tensor);
}

DEVICE_TEST(every_type_goes_out_and_comes_back)
{
	static const DLDataType want[] = {{6, 8, 1}, {0, 8, 1}, {0, 16, 1}, {0, 32, 1}, {0, 64, 1},
		{1, 8, 1}, {1, 16, 1}, {1, 32, 1}, {1, 64, 1}, {2, 16, 1}, {4, 16, 1}, {2, 32, 1},
		{2, 64, 1}, {5, 64, 1}, {5, 128, 1}, {10, 8, 1}, {12, 8, 1}};
	for (kz_dtype dtype = 0; (dtype = dtype_next(dtype, DTYPE_NUMBER | DTYPE_STORAGE));) {
		struct DLManagedTensor *tensor;
		kz_array *array, *back;
		ok(kz_array_ones(&array, dev, dtype, KZ_SHAPE(2), &err));
		ok(kz_dlpack_export(&tensor, array, &err));
		ck_assert_mem_eq(&tensor->dl_tensor.dtype, &want[dtype - 1], sizeof(want[0]));
		ok(kz_dlpack_import_take(&back, dev, tensor, &err));
		ck_assert_uint_eq(kz_array_dtype(back), dtype);
		ck_assert_uint_eq(kz_array_address(back), kz_array_address(array));
		release_arrays(array, back);
	}
}

DEVICE_TEST(what_dlpack_cannot_say_is_not_exported)
{
	static const int64_t odd = 6;
	struct DLManagedTensor *tensor = (struct DLManagedTensor *)&err;
	kz_dtype point;
	kz_array *array, *view;
	ok(kz_dtype_register(&point, "struct point", 8, &err));
	ok(kz_array_zeros(&array, dev, point, KZ_SHAPE(2), &err));
	fails(kz_dlpack_export(&tensor, array, &err), KZ_UNSUPPORTED,
		"DLPack has no type for elements of struct point");
	ck_assert_ptr_null(tensor);
	kz_array_release(array);
	array = numbers(KZ_SHAPE(12));
	ok(kz_array_view(&view, array, KZ_SHAPE(2), &odd, 0, &err));
	fails(kz_dlpack_export(&tensor, view, &err), KZ_UNSUPPORTED,
		"stride 0, 6 bytes, is not a multiple of 4");
	fails(kz_dlpack_export(&tensor, NULL, &err), KZ_INVALID, "expected an array, got NULL");
	fails(kz_dlpack_export(NULL, array, &err), KZ_INVALID, "kz_dlpack_export: out is NULL");
	release_arrays(view, array);
}

/* In */

DEVICE_TEST(memory_of_the_device_is_shared_until_the_last_view_is_gone)
{
	int64_t shape[] = {4, 3}, strides[] = {-1, 4};
	kz_array *array, *view;
	kz_array *owner = numbers(KZ_SHAPE(12));
	struct DLManagedTensor tensor = tensor_of(owner, shape, strides, 2);
	tensor.dl_tensor.byte_offset = 12;
	ok(kz_dlpack_import_take(&array, dev, &tensor, &err));
	ck_assert_uint_eq(kz_array_address(array), kz_array_address(owner) + 12);
	has(array, ((int32_t[]){3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8}), 12);
	ok(kz_array_view(&view, array, KZ_SHAPE(1), NULL, 0, &err));
	kz_array_release(array);
	ck_assert_int_eq(deleted, 0);
	kz_array_release(view);
	ck_assert_int_eq(deleted, 1);
	kz_array_release(owner);
}

DEVICE_TEST(strides_may_be_missing_zero_or_meaningless)
{
	int64_t shape[] = {2, 3}, zero[] = {0, 1}, one[] = {1, 3}, far[] = {INT64_MAX, 1};
	kz_array *array;
	kz_array *owner = numbers(KZ_SHAPE(12));
	struct DLManagedTensor tensor = tensor_of(owner, shape, NULL, 2);
	ok(kz_dlpack_import_take(&array, dev, &tensor, &err));
	has(array, ((int32_t[]){0, 1, 2, 3, 4, 5}), 6);
	kz_array_release(array);
	tensor.dl_tensor.strides = zero;
	ok(kz_dlpack_import_take(&array, dev, &tensor, &err));
	has(array, ((int32_t[]){0, 1, 2, 0, 1, 2}), 6);
	kz_array_release(array);
	tensor.dl_tensor.strides = far;
	tensor.dl_tensor.shape = one;
	ok(kz_dlpack_import_take(&array, dev, &tensor, &err));
	has(array, ((int32_t[]){0, 1, 2}), 3);
	kz_array_release(array);
	tensor.dl_tensor.ndim = 0;
	tensor.dl_tensor.shape = tensor.dl_tensor.strides = NULL;
	ok(kz_dlpack_import_take(&array, dev, &tensor, &err));
	has(array, ((int32_t[]){0}), 1);
	kz_array_release(array);
	ck_assert_int_eq(deleted, 4);
	kz_array_release(owner);
}

DEVICE_TEST(host_memory_is_copied_and_given_back_at_once)
{
	int32_t host[] = {1, 2, 3, 4, 5, 6};
	int64_t shape[] = {3, 2}, strides[] = {-2, 1};
	kz_array *array;
	struct DLManagedTensor tensor = {
		{host, {CPU, 0}, 2, i32, shape, strides, 16}, &deleted, count_plain};
	ok(kz_dlpack_import_take(&array, dev, &tensor, &err));
	ck_assert_int_eq(deleted, 1);
	memset(host, 0, sizeof(host));
	has(array, ((int32_t[]){5, 6, 3, 4, 1, 2}), 6);
	ck_assert_int_eq(kz_array_is_contiguous(array), 1);
	kz_array_release(array);
	shape[0] = 0;
	tensor.dl_tensor.data = NULL;
	tensor.deleter = NULL;
	ok(kz_dlpack_import_take(&array, dev, &tensor, &err));
	ck_assert_int_eq(kz_array_count(array), 0);
	kz_array_release(array);
	ck_assert_int_eq(deleted, 1);
}

DEVICE_TEST(read_only_memory_is_copied_or_refused)
{
	int64_t shape[] = {2};
	int32_t host[] = {1, 2};
	kz_array *array;
	kz_array *owner = numbers(KZ_SHAPE(2));
	struct DLManagedTensorVersioned tensor = {{1, 0}, &deleted, count_versioned, 1,
		{(void *)(uintptr_t)kz_array_address(owner), {on_cpu ? CPU : CUDA, 0}, 1, i32,
			shape, NULL, 0}};
	if (on_cpu) {
		ok(kz_dlpack_import_versioned_take(&array, dev, &tensor, &err));
		ck_assert_uint_ne(kz_array_address(array), kz_array_address(owner));
		kz_array_release(array);
	} else {
		fails(kz_dlpack_import_versioned_take(&array, dev, &tensor, &err), KZ_UNSUPPORTED,
			"expected a DLPack tensor that may be written, got a read-only one");
	}
	ck_assert_int_eq(deleted, on_cpu);
	tensor.flags = 0;
	ok(kz_dlpack_import_versioned_take(&array, dev, &tensor, &err));
	ck_assert_uint_eq(kz_array_address(array), kz_array_address(owner));
	kz_array_release(array);
	ck_assert_int_eq(deleted, on_cpu + 1);
	tensor.dl_tensor.data = host;
	tensor.dl_tensor.device.device_type = CPU;
	tensor.version.major = 2;
	fails(kz_dlpack_import_versioned_take(&array, dev, &tensor, &err), KZ_VERSION,
		"expected a tensor of DLPack version 1, got version 2.0");
	ck_assert_int_eq(deleted, on_cpu + 1);
	kz_array_release(owner);
}

/* Tensors that contradict themselves, made from a good one of shape (2, 3). */
static const struct {
	int32_t device;
	int32_t ndim;
	DLDataType dtype;
	int64_t shape[2];
	int64_t strides[2];
	uint64_t offset;
	kz_status status;
	const char *text;
} bad[] = {
	{4, 2, {0, 32, 1}, {2, 3}, {3, 1}, 0, KZ_INVALID, "or the host, got one of device type 4"},
	{0, -1, {0, 32, 1}, {2, 3}, {3, 1}, 0, KZ_INVALID, "of 0 or more extents, got -1"},
	{0, 17, {0, 32, 1}, {2, 3}, {3, 1}, 0, KZ_UNSUPPORTED, "at most 16 extents, got 17"},
	{0, 2, {0, 32, 4}, {2, 3}, {3, 1}, 0, KZ_UNSUPPORTED, "code 0 with 32 bits and 4 lanes"},
	{0, 2, {0, 4, 1}, {2, 3}, {3, 1}, 0, KZ_UNSUPPORTED, "code 0 with 4 bits"},
	{0, 2, {3, 64, 1}, {2, 3}, {3, 1}, 0, KZ_UNSUPPORTED, "code 3 with 64 bits"},
	{0, 2, {0, 32, 1}, {2, -3}, {3, 1}, 0, KZ_INVALID, "extent 1 of the shape is -3"},
	{0, 2, {0, 32, 1}, {INT64_MAX, 3}, {0, 1}, 0, KZ_RANGE, "overflows"},
	{0, 2, {0, 32, 1}, {2, 3}, {INT64_MAX, 1}, 0, KZ_RANGE, "stride 0 of the DLPack tensor"},
	{0, 2, {0, 32, 1}, {2, 3}, {INT64_MAX / 4, INT64_MAX / 8}, 0, KZ_RANGE,
		"the strides of the DLPack tensor of shape (2, 3) overflow"},
	{0, 2, {0, 32, 1}, {2, 3}, {INT64_MAX / 8, -(INT64_MAX / 8)}, 0, KZ_RANGE, "overflow"},
	{0, 2, {0, 32, 1}, {2, 3}, {-(INT64_MAX / 8), 1}, 0, KZ_RANGE, "past the last address"},
	{0, 2, {0, 32, 1}, {2, 3}, {3, 1}, UINT64_MAX, KZ_RANGE, "past the last address"},
};

DEVICE_TEST(a_tensor_that_contradicts_itself_is_refused_and_stays)
{
	kz_array *array = (kz_array *)&err;
	kz_array *owner = numbers(KZ_SHAPE(12));
	for (size_t k = 0; k < countof(bad); k++) {
		int64_t shape[2], strides[2];
		memcpy(shape, bad[k].shape, sizeof(shape));
		memcpy(strides, bad[k].strides, sizeof(strides));
		struct DLManagedTensor tensor = tensor_of(owner, shape, strides, bad[k].ndim);
		tensor.dl_tensor.dtype = bad[k].dtype;
		tensor.dl_tensor.byte_offset = bad[k].offset;
		if (bad[k].device) {
			tensor.dl_tensor.device.device_type = bad[k].device;
		}
		fails(kz_dlpack_import_take(&array, dev, &tensor, &err), bad[k].status,
			bad[k].text);
		ck_assert_ptr_null(array);
	}
	ck_assert_int_eq(deleted, 0);
	kz_array_release(owner);
}

DEVICE_TEST(a_tensor_without_data_or_of_another_device_is_refused)
{
	int64_t shape[] = {2};
	kz_array *array;
	kz_array *owner = numbers(KZ_SHAPE(2));
	struct DLManagedTensor tensor = tensor_of(owner, shape, NULL, 1);
	tensor.dl_tensor.data = NULL;
	fails(kz_dlpack_import_take(&array, dev, &tensor, &err), KZ_INVALID, "with data, got NULL");
	tensor = tensor_of(owner, NULL, NULL, 1);
	fails(kz_dlpack_import_take(&array, dev, &tensor, &err), KZ_INVALID,
		"a list of its 1 extents, got NULL");
	tensor = tensor_of(owner, shape, NULL, 1);
	tensor.dl_tensor.device = (DLDevice){CUDA, 7};
	fails(kz_dlpack_import_take(&array, dev, &tensor, &err), KZ_INVALID, "got one of cuda:7");
	fails(kz_dlpack_import_take(&array, NULL, &tensor, &err), KZ_INVALID, "expected a device");
	fails(kz_dlpack_import_take(&array, dev, NULL, &err), KZ_INVALID,
		"expected a DLPack tensor, got NULL");
	ck_assert_int_eq(deleted, 0);
	kz_array_release(owner);
}

DEVICE_TEST(tensors_without_memory_leave_nothing)
{
	kz_status st = KZ_NO_MEMORY;
	long n;
	kz_array *owner = numbers(KZ_SHAPE(2));
	for (n = 0; st == KZ_NO_MEMORY && n < 30; n++) {
		struct DLManagedTensor *tensor = NULL;
		kz_array *array = NULL;
		mem_fail_after(n);
		if (!(st = kz_dlpack_export(&tensor, owner, &err))
		    && (st = kz_dlpack_import_take(&array, dev, tensor, &err))) {
			tensor->deleter(tensor);
		}
		mem_fail_after(-1);
		ck_assert_int_eq(st, err.status);
		kz_error_clear(&err);
		kz_array_release(array);
	}
	ck_assert_int_eq(st, KZ_OK);
	ck_assert_int_gt(n, 4);
	kz_array_release(owner);
}

SUITE(dlpack)
{
	Suite *s = suite_create("dlpack");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count() + 1,
		an_exported_view_is_described_and_kept_alive, an_exported_tensor_has_a_version,
		every_type_goes_out_and_comes_back, what_dlpack_cannot_say_is_not_exported,
		memory_of_the_device_is_shared_until_the_last_view_is_gone,
		strides_may_be_missing_zero_or_meaningless,
		host_memory_is_copied_and_given_back_at_once, read_only_memory_is_copied_or_refused,
		a_tensor_that_contradicts_itself_is_refused_and_stays,
		a_tensor_without_data_or_of_another_device_is_refused,
		tensors_without_memory_leave_nothing);
	return s;
}
