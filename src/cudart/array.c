/* SPDX-License-Identifier: MIT */
/*
 * Arrays and mipmapped arrays.  The runtime describes an element by the bits of its four channels
 * and one kind; the driver by a format and a number of channels.
 */
#include "base/common.h"

#include "cudart/array.h"

#include <string.h>

/* One row for each format; formats with a fixed number of channels say it. */
static const struct array_row {
	int kind;
	int bits;
	unsigned channel_count; /* 0: any of 1, 2, 4 */
	CUarray_format format;
} array_rows[] = {
	{cudaChannelFormatKindUnsigned, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8},
	{cudaChannelFormatKindUnsigned, 16, 0, CU_AD_FORMAT_UNSIGNED_INT16},
	{cudaChannelFormatKindUnsigned, 32, 0, CU_AD_FORMAT_UNSIGNED_INT32},
	{cudaChannelFormatKindSigned, 8, 0, CU_AD_FORMAT_SIGNED_INT8},
	{cudaChannelFormatKindSigned, 16, 0, CU_AD_FORMAT_SIGNED_INT16},
	{cudaChannelFormatKindSigned, 32, 0, CU_AD_FORMAT_SIGNED_INT32},
	{cudaChannelFormatKindFloat, 16, 0, CU_AD_FORMAT_HALF},
	{cudaChannelFormatKindFloat, 32, 0, CU_AD_FORMAT_FLOAT},
	{cudaChannelFormatKindUnsignedNormalized8X1, 8, 1, CU_AD_FORMAT_UNORM_INT8X1},
	{cudaChannelFormatKindUnsignedNormalized8X2, 8, 2, CU_AD_FORMAT_UNORM_INT8X2},
	{cudaChannelFormatKindUnsignedNormalized8X4, 8, 4, CU_AD_FORMAT_UNORM_INT8X4},
	{cudaChannelFormatKindUnsignedNormalized16X1, 16, 1, CU_AD_FORMAT_UNORM_INT16X1},
	{cudaChannelFormatKindUnsignedNormalized16X2, 16, 2, CU_AD_FORMAT_UNORM_INT16X2},
	{cudaChannelFormatKindUnsignedNormalized16X4, 16, 4, CU_AD_FORMAT_UNORM_INT16X4},
	{cudaChannelFormatKindSignedNormalized8X1, 8, 1, CU_AD_FORMAT_SNORM_INT8X1},
	{cudaChannelFormatKindSignedNormalized8X2, 8, 2, CU_AD_FORMAT_SNORM_INT8X2},
	{cudaChannelFormatKindSignedNormalized8X4, 8, 4, CU_AD_FORMAT_SNORM_INT8X4},
	{cudaChannelFormatKindSignedNormalized16X1, 16, 1, CU_AD_FORMAT_SNORM_INT16X1},
	{cudaChannelFormatKindSignedNormalized16X2, 16, 2, CU_AD_FORMAT_SNORM_INT16X2},
	{cudaChannelFormatKindSignedNormalized16X4, 16, 4, CU_AD_FORMAT_SNORM_INT16X4},
};

cudaError_t array_format(CUarray_format *format, unsigned *channel_count,
	const struct cudaChannelFormatDesc *desc)
{
	const int bits[] = {desc->x, desc->y, desc->z, desc->w};
	unsigned count = 0;
	while (count < countof(bits) && bits[count] != 0) {
		if (bits[count] != bits[0]) {
			return cudaErrorInvalidChannelDescriptor;
		}
		count++;
	}
	for (unsigned i = count; i < countof(bits); i++) {
		if (bits[i] != 0) {
			return cudaErrorInvalidChannelDescriptor;
		}
	}
	if (count != 1 && count != 2 && count != 4) {
		return cudaErrorInvalidChannelDescriptor;
	}
	for (size_t i = 0; i < countof(array_rows); i++) {
		const struct array_row *row = &array_rows[i];
		if (row->kind == desc->f && row->bits == bits[0]
		    && (row->channel_count == 0 || row->channel_count == count)) {
			*format = row->format;
			*channel_count = count;
			return cudaSuccess;
		}
	}
	return cudaErrorInvalidChannelDescriptor;
}

struct cudaChannelFormatDesc array_describe(CUarray_format format, unsigned channel_count)
{
	struct cudaChannelFormatDesc desc = {0, 0, 0, 0, cudaChannelFormatKindNone};
	for (size_t i = 0; i < countof(array_rows); i++) {
		const struct array_row *row = &array_rows[i];
		if (row->format == format) {
			desc.x = row->bits;
			desc.y = channel_count > 1 ? row->bits : 0;
			desc.z = channel_count > 2 ? row->bits : 0;
			desc.w = channel_count > 3 ? row->bits : 0;
			desc.f = row->kind;
		}
	}
	return desc;
}

static cudaError_t array_get(CUDA_ARRAY3D_DESCRIPTOR *out, cudaArray_t array)
{
	return driver_error(driver.cuArray3DGetDescriptor_v2(out, array));
}

cudaError_t array_element_size(size_t *size, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR is;
	const cudaError_t code = array_get(&is, array);
	if (!code) {
		*size = (size_t)array_describe(is.Format, 1).x / 8 * is.NumChannels;
	}
	return !code && *size == 0 ? cudaErrorNotSupported : code;
}

/* --- Channels --- */

__attribute__((visibility("default"))) struct cudaChannelFormatDesc cudaCreateChannelDesc(
	int x, int y, int z, int w, int f);

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

API(cudaGetChannelDesc, struct cudaChannelFormatDesc *out, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR is;
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	code = code ? code : array_get(&is, array);
	if (!code) {
		*out = array_describe(is.Format, is.NumChannels);
	}
	return state_leave(code);
}

API(cudaDeviceGetTexture1DLinearMaxWidth, size_t *out, const struct cudaChannelFormatDesc *desc,
	int device)
{
	CUarray_format format;
	unsigned count;
	cudaError_t code = !out || !desc ? cudaErrorInvalidValue : state_begin();
	code = code ? code : array_format(&format, &count, desc);
	return state_leave(code ? code : driver_error(driver.cuDeviceGetTexture1DLinearMaxWidth(
		out, format, count, device)));
}

/* --- Arrays --- */

static cudaError_t array_set(CUDA_ARRAY3D_DESCRIPTOR *out, const struct cudaChannelFormatDesc *desc,
	struct cudaExtent extent, unsigned flags)
{
	memset(out, 0, sizeof(*out));
	out->Width = extent.width;
	out->Height = extent.height;
	out->Depth = extent.depth;
	out->Flags = flags;
	return array_format(&out->Format, &out->NumChannels, desc);
}

API(cudaMalloc3DArray, cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
	struct cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR wanted;
	cudaError_t code = !out || !desc ? cudaErrorInvalidValue : state_enter();
	code = code ? code : array_set(&wanted, desc, extent, flags);
	return state_leave(code ? code : driver_error(driver.cuArray3DCreate_v2(out, &wanted)));
}

API(cudaMallocArray, cudaArray_t *out, const struct cudaChannelFormatDesc *desc, size_t width,
	size_t height, unsigned int flags)
{
	return cudaMalloc3DArray(out, desc, (struct cudaExtent){width, height, 0}, flags);
}

API(cudaFreeArray, cudaArray_t array)
{
	cudaError_t code = state_enter();
	if (!code && array) {
		code = driver_error(driver.cuArrayDestroy(array));
	}
	return state_leave(code);
}

API(cudaArrayGetInfo, struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
	unsigned int *flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR is;
	cudaError_t code = state_enter();
	code = code ? code : array_get(&is, array);
	if (!code && desc) {
		*desc = array_describe(is.Format, is.NumChannels);
	}
	if (!code && extent) {
		*extent = (struct cudaExtent){is.Width, is.Height, is.Depth};
	}
	if (!code && flags) {
		*flags = is.Flags;
	}
	return state_leave(code);
}

API(cudaMallocMipmappedArray, cudaMipmappedArray_t *out, const struct cudaChannelFormatDesc *desc,
	struct cudaExtent extent, unsigned int level_count, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR wanted;
	cudaError_t code = !out || !desc ? cudaErrorInvalidValue : state_enter();
	code = code ? code : array_set(&wanted, desc, extent, flags);
	return state_leave(code ? code
		: driver_error(driver.cuMipmappedArrayCreate(out, &wanted, level_count)));
}

API(cudaFreeMipmappedArray, cudaMipmappedArray_t array)
{
	cudaError_t code = state_enter();
	if (!code && array) {
		code = driver_error(driver.cuMipmappedArrayDestroy(array));
	}
	return state_leave(code);
}

/* --- Pitched memory --- */

API(cudaMalloc3D, struct cudaPitchedPtr *out, struct cudaExtent extent)
{
	CUdeviceptr address = 0;
	size_t pitch = 0, rows;
	cudaError_t code = !out || __builtin_mul_overflow(extent.height, extent.depth, &rows)
		? cudaErrorInvalidValue : state_enter();
	if (!code && extent.width > 0 && rows > 0) {
		code = driver_error(driver.cuMemAllocPitch_v2(&address, &pitch, extent.width, rows,
			4));
	}
	if (!code) {
		*out = (struct cudaPitchedPtr){(void *)(uintptr_t)address, pitch, extent.width,
			extent.height};
	}
	return state_leave(code);
}
