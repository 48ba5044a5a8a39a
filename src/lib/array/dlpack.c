/* SPDX-License-Identifier: MIT */
/*
 * DLPack: tensors that libraries hand each other within a process.
 *
 * A tensor comes with its deleter, the function to call when it is no longer needed.  An import
 * makes a wrapped buffer whose release calls the deleter.  An export has a deleter that releases
 * the array. There are two forms, with and without a version, and both hold the same description;
 * so import and export are one function each, with a thin end for either form.
 */
#include "base/common.h"

#include "lib/array/array.h"
#include "base/alloc.h"
#include "lib/array/shape.h"

#include <kudzu/dlpack.h>

#include <string.h>

/* The ABI, as dlpack.h 1.x has it. */

enum {
	DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13,
	DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6,
	DL_FLOAT8_E4M3FN = 10, DL_FLOAT8_E5M2 = 12,
	DL_MAJOR = 1, DL_READ_ONLY = 1
};

struct dl_tensor {
	void *data;
	int32_t device_type;
	int32_t device_id;
	int32_t ndim;
	uint8_t code;
	uint8_t bits;
	uint16_t lanes;
	int64_t *shape;
	int64_t *strides; /* in elements; NULL for row-major */
	uint64_t byte_offset;
};

struct DLManagedTensor {
	struct dl_tensor tensor;
	void *context;
	void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
	uint32_t major;
	uint32_t minor;
	void *context;
	void (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	struct dl_tensor tensor;
};

static const struct {
	uint8_t code;
	uint8_t bits;
	kz_dtype dtype;
} types[] = {
	{DL_BOOL, 8, KZ_BOOL}, {DL_INT, 8, KZ_I8}, {DL_INT, 16, KZ_I16}, {DL_INT, 32, KZ_I32},
	{DL_INT, 64, KZ_I64}, {DL_UINT, 8, KZ_U8}, {DL_UINT, 16, KZ_U16}, {DL_UINT, 32, KZ_U32},
	{DL_UINT, 64, KZ_U64}, {DL_FLOAT, 16, KZ_F16}, {DL_BFLOAT, 16, KZ_BF16},
	{DL_FLOAT, 32, KZ_F32}, {DL_FLOAT, 64, KZ_F64}, {DL_COMPLEX, 64, KZ_C64},
	{DL_COMPLEX, 128, KZ_C128}, {DL_FLOAT8_E4M3FN, 8, KZ_F8_E4M3},
	{DL_FLOAT8_E5M2, 8, KZ_F8_E5M2},
};

/* Import */

/* A foreign tensor of either form. */
struct foreign {
	const struct dl_tensor *tensor;
	struct DLManagedTensor *plain;               /* one of these two is NULL */
	struct DLManagedTensorVersioned *versioned;
	bool taken;
};

static void dlpack_delete_foreign(struct foreign *foreign)
{
	if (foreign->plain && foreign->plain->deleter) {
		foreign->plain->deleter(foreign->plain);
	} else if (foreign->versioned && foreign->versioned->deleter) {
		foreign->versioned->deleter(foreign->versioned);
	}
}

/* The last view of a wrapped buffer is gone. */
static void dlpack_on_release(void *user)
{
	struct foreign *foreign = user;
	if (foreign->taken) {
		dlpack_delete_foreign(foreign);
	}
	mem_free(foreign);
}

/* What a tensor's numbers mean here. */
struct layout {
	kz_dtype dtype;
	kz_shape shape;
	int64_t strides[KZ_MAX_DIMS];
	int64_t count;
	int64_t low; /* the bytes that the elements cover, from the first one's address */
	int64_t high;
	uint64_t address; /* of the first one */
};

static kz_status dlpack_read_dtype(kz_dtype *out, const struct dl_tensor *tensor, kz_error *err)
{
	for (size_t i = 0; i < countof(types); i++) {
		if (types[i].code == tensor->code && types[i].bits == tensor->bits
		    && tensor->lanes == 1) {
			*out = types[i].dtype;
			return KZ_OK;
		}
	}
	return error_set(err, KZ_UNSUPPORTED, "expected a DLPack type that has a dtype, got code "
		"%d with %d bits and %d lanes", tensor->code, tensor->bits, tensor->lanes);
}

static kz_status dlpack_read_shape(kz_shape *out, const struct dl_tensor *tensor, kz_error *err)
{
	if (tensor->ndim > KZ_MAX_DIMS) {
		return error_set(err, KZ_UNSUPPORTED,
			"expected a DLPack tensor of at most %d extents, got %d", KZ_MAX_DIMS,
			(int)tensor->ndim);
	}
	if (tensor->ndim < 0 || (tensor->ndim > 0 && !tensor->shape)) {
		return error_set(err, KZ_INVALID, tensor->ndim < 0
			? "expected a DLPack tensor of 0 or more extents, got %d"
			: "expected a DLPack tensor with a list of its %d extents, got NULL",
			(int)tensor->ndim);
	}
	*out = kz_shape_from(tensor->shape, tensor->ndim);
	return shape_check(out, err);
}

static kz_status dlpack_read_strides(struct layout *layout, const struct dl_tensor *tensor,
	kz_error *err)
{
	int64_t size = kz_dtype_size(layout->dtype);
	strided_row_major(layout->strides, &layout->shape, size);
	for (int64_t i = 0; tensor->strides && i < layout->shape.ndim; i++) {
		if (__builtin_mul_overflow(tensor->strides[i], size, &layout->strides[i])
		    && layout->shape.dims[i] > 1) {
			return error_set(err, KZ_RANGE,
				"stride %lld of the DLPack tensor, %lld elements, overflows",
				(long long)i, (long long)tensor->strides[i]);
		}
	}
	const struct strided elements = {layout->shape, layout->strides, size};
	int64_t bytes;
	if (!strided_span(&layout->low, &layout->high, &elements)
	    || __builtin_sub_overflow(layout->high, layout->low, &bytes)) {
		return error_set(err, KZ_RANGE,
			"the strides of the DLPack tensor of shape %s overflow",
			shape_text(&layout->shape).text);
	}
	return KZ_OK;
}

/* The memory that the elements cover must not pass either end of all memory. */
static kz_status dlpack_read_address(struct layout *layout, const struct dl_tensor *tensor,
	kz_error *err)
{
	uint64_t address = (uint64_t)(uintptr_t)tensor->data, low, high;
	if (layout->count > 0 && !tensor->data) {
		return error_set(err, KZ_INVALID, "expected a DLPack tensor with data, got NULL");
	}
	if (__builtin_add_overflow(address, tensor->byte_offset, &layout->address)
	    || __builtin_add_overflow(layout->address, layout->low, &low)
	    || __builtin_add_overflow(layout->address, layout->high, &high)) {
		return error_set(err, KZ_RANGE,
			"the DLPack tensor's data extends past the last address");
	}
	return KZ_OK;
}

static kz_status dlpack_read_layout(struct layout *layout, const struct dl_tensor *tensor,
	kz_error *err)
{
	kz_status st;
	memset(layout, 0, sizeof(*layout));
	if ((st = dlpack_read_dtype(&layout->dtype, tensor, err))
	    || (st = dlpack_read_shape(&layout->shape, tensor, err))
	    || (st = shape_count(&layout->count, &layout->shape, kz_dtype_size(layout->dtype),
		    kz_dtype_name(layout->dtype), err))
	    || (st = dlpack_read_strides(layout, tensor, err))) {
		return st;
	}
	return dlpack_read_address(layout, tensor, err);
}

static bool dlpack_is_host(const struct dl_tensor *tensor)
{
	return tensor->device_type == DL_CPU || tensor->device_type == DL_CUDA_HOST;
}

static kz_status dlpack_check_device(const struct kz_device *dev, const struct dl_tensor *tensor,
	kz_error *err)
{
	bool cuda = tensor->device_type == DL_CUDA || tensor->device_type == DL_CUDA_MANAGED;
	if (dlpack_is_host(tensor)
	    || (cuda && !dev->on_host && dev->ordinal == tensor->device_id)) {
		return KZ_OK;
	}
	return cuda ? error_set(err, KZ_INVALID,
		"expected a DLPack tensor of %s or the host, got one of cuda:%d", dev->name,
		(int)tensor->device_id)
		: error_set(err, KZ_INVALID,
		"expected a DLPack tensor of %s or the host, got one of device type %d", dev->name,
		(int)tensor->device_type);
}

/* Share the tensor's memory. */
static kz_status dlpack_import_shared(kz_array **out, struct kz_device *dev,
	const struct foreign *from, const struct layout *layout, kz_error *err)
{
	struct kz_buffer *buffer = NULL;
	struct foreign *foreign = mem_alloc(sizeof(*foreign));
	if (!foreign) {
		return error_no_memory(err);
	}
	*foreign = *from;
	kz_status st = kz_buffer_wrap(&buffer, dev, layout->address + (uint64_t)layout->low,
		layout->high - layout->low, dlpack_on_release, foreign, err);
	if (st) {
		mem_free(foreign);
		return st;
	}
	st = kz_array_wrap(out, buffer, layout->dtype, layout->shape, layout->strides,
		-layout->low, err);
	foreign->taken = !st;
	kz_buffer_release(buffer);
	return st;
}

/* Copy host memory, and be done with it. */
static kz_status dlpack_import_copy(kz_array **out, struct kz_device *dev, struct foreign *foreign,
	const struct layout *layout, kz_error *err)
{
	const char *first = (const char *)foreign->tensor->data + foreign->tensor->byte_offset;
	kz_status st = kz_array_from_strided(out, dev, layout->dtype, layout->shape,
		layout->count ? first + layout->low : NULL, layout->high - layout->low,
		layout->strides, -layout->low, err);
	if (!st) {
		dlpack_delete_foreign(foreign);
	}
	return st;
}

/* A tensor on the host belongs to the CPU device if its driver knows the memory. */
static bool dlpack_is_own_memory(struct kz_device *dev, const struct layout *layout)
{
	struct device_scope scope;
	int ordinal;
	if (!dev->on_host || device_enter(dev, &scope, NULL)) {
		return false;
	}
	CUresult code = dev->drv->PointerGetAttribute(&ordinal,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, layout->address + (uint64_t)layout->low);
	device_leave(dev, &scope);
	return code == CUDA_SUCCESS;
}

static kz_status dlpack_import(kz_array **out, struct kz_device *dev, struct foreign *foreign,
	bool read_only, kz_error *err)
{
	struct layout layout;
	kz_status st;
	const bool mine = error_is_clean(err);
	assert(foreign->tensor);
	if ((st = dlpack_check_device(dev, foreign->tensor, err))
	    || (st = dlpack_read_layout(&layout, foreign->tensor, err))) {
		if (mine) {
			error_add_argument(err, foreign->versioned
				? "kz_dlpack_import_versioned_take"
				: "kz_dlpack_import_take", "tensor");
		}
		return st;
	}
	if (layout.count == 0
	    || (dlpack_is_host(foreign->tensor) && (read_only || !dlpack_is_own_memory(dev,
		&layout)))) {
		return dlpack_import_copy(out, dev, foreign, &layout, err);
	}
	if (read_only) {
		return error_set(err, KZ_UNSUPPORTED,
			"kz_dlpack_import_versioned_take: argument 'tensor': expected a DLPack "
			"tensor that may be written, got a read-only one");
	}
	return dlpack_import_shared(out, dev, foreign, &layout, err);
}

kz_status kz_dlpack_import_take(kz_array **out, kz_device *dev, struct DLManagedTensor *tensor,
	kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(tensor, "a DLPack tensor", err))) {
		return st;
	}
	struct foreign foreign = {&tensor->tensor, tensor, NULL, false};
	return dlpack_import(out, dev, &foreign, false, err);
}

kz_status kz_dlpack_import_versioned_take(kz_array **out, kz_device *dev,
	struct DLManagedTensorVersioned *tensor, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(tensor, "a DLPack tensor", err))) {
		return st;
	}
	if (tensor->major != DL_MAJOR) {
		return error_set(err, KZ_VERSION, "%s: argument 'tensor': "
			"expected a tensor of DLPack version 1, got version %u.%u", __func__,
			(unsigned)tensor->major, (unsigned)tensor->minor);
	}
	struct foreign foreign = {&tensor->tensor, NULL, tensor, false};
	return dlpack_import(out, dev, &foreign, (tensor->flags & DL_READ_ONLY) != 0, err);
}

/* Export */

/* A tensor that was exported, with what it points to. */
struct exported {
	struct DLManagedTensor plain;
	struct DLManagedTensorVersioned versioned;
	struct kz_array *array;
	int64_t shape[KZ_MAX_DIMS];
	int64_t strides[KZ_MAX_DIMS];
};

static void dlpack_delete_exported(struct exported *exported)
{
	kz_array_release(exported->array);
	mem_free(exported);
}

static void dlpack_delete_plain(struct DLManagedTensor *tensor)
{
	dlpack_delete_exported(tensor->context);
}

static void dlpack_delete_versioned(struct DLManagedTensorVersioned *tensor)
{
	dlpack_delete_exported(tensor->context);
}

static kz_status dlpack_export_type(struct dl_tensor *tensor, kz_dtype dtype, kz_error *err)
{
	for (size_t i = 0; i < countof(types); i++) {
		if (types[i].dtype == dtype) {
			tensor->code = types[i].code;
			tensor->bits = types[i].bits;
			tensor->lanes = 1;
			return KZ_OK;
		}
	}
	return error_set(err, KZ_UNSUPPORTED, "DLPack has no type for elements of %s",
		kz_dtype_name(dtype));
}

static kz_status dlpack_export_layout(struct exported *exported, const struct kz_array *array,
	kz_error *err)
{
	int64_t size = kz_dtype_size(array->dtype);
	for (int64_t i = 0; i < array->shape.ndim; i++) {
		exported->shape[i] = array->shape.dims[i];
		exported->strides[i] = array->strides[i] / size;
		if (array->strides[i] % size && array->shape.dims[i] > 1) {
			return error_set(err, KZ_UNSUPPORTED, "DLPack has strides in elements: "
				"stride %lld, %lld bytes, is not a multiple of %lld", (long long)i,
				(long long)array->strides[i], (long long)size);
		}
	}
	return KZ_OK;
}

static kz_status dlpack_export_tensor(struct exported **out, struct dl_tensor *tensor,
	struct kz_array *array, kz_error *err)
{
	kz_status st = object_check(array, OBJECT_ARRAY, err);
	if (st || (st = array_check_capture(array, err))) {
		return st;
	}
	const struct kz_device *dev = kz_array_device(array);
	struct exported *exported = mem_zalloc(1, sizeof(*exported));
	if (!exported) {
		return error_no_memory(err);
	}
	if ((st = dlpack_export_type(tensor, array->dtype, err))
	    || (st = dlpack_export_layout(exported, array, err)) || (st = array_wait(array, err))) {
		mem_free(exported);
		return st;
	}
	exported->array = kz_array_retain(array);
	tensor->data = (void *)(uintptr_t)kz_array_address(array); /* NOLINT: an address it is */
	tensor->device_type = dev->on_host ? DL_CPU : DL_CUDA;
	tensor->device_id = dev->on_host ? 0 : dev->ordinal;
	tensor->ndim = (int32_t)array->shape.ndim;
	tensor->shape = exported->shape;
	tensor->strides = exported->strides;
	*out = exported;
	return KZ_OK;
}

kz_status kz_dlpack_export(struct DLManagedTensor **out, kz_array *array, kz_error *err)
{
	error_scope(err);
	struct exported *exported;
	struct dl_tensor tensor = {.byte_offset = 0};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = dlpack_export_tensor(&exported, &tensor, array, err))) {
		return st;
	}
	exported->plain = (struct DLManagedTensor){tensor, exported, dlpack_delete_plain};
	*out = &exported->plain;
	return KZ_OK;
}

kz_status kz_dlpack_export_versioned(struct DLManagedTensorVersioned **out, kz_array *array,
	kz_error *err)
{
	error_scope(err);
	struct exported *exported;
	struct dl_tensor tensor = {.byte_offset = 0};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = dlpack_export_tensor(&exported, &tensor, array, err))) {
		return st;
	}
	exported->versioned = (struct DLManagedTensorVersioned){
		DL_MAJOR, 0, exported, dlpack_delete_versioned, 0, tensor};
	*out = &exported->versioned;
	return KZ_OK;
}
