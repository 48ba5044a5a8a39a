/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_DLPACK_H
#define KUDZU_DLPACK_H

/*
 * Arrays from and to other libraries by DLPack, without copying: numpy, PyTorch, CuPy, JAX.
 *
 *	struct DLManagedTensor *tensor = NULL;
 *	if (kz_dlpack_export(&tensor, a, &err) == KZ_OK) {
 *		consume(tensor);        // and call tensor->deleter(tensor) when done
 *	}
 *
 * The structs are those of dlpack.h.  This header does not need it; a program includes its own.
 * GPUs are kDLCUDA, and the device `cpu` is kDLCPU.  DLPack knows nothing of the library's
 * streams.  So an export waits until work on the array is done.  Before an import, work of the
 * other library on the tensor must be done, or the array's streams must wait for it.
 */
#include <kudzu/array.h>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a DLPack tensor of an array.  The tensor shares the memory and keeps it alive.
 *
 * @return KZ_OK; KZ_UNSUPPORTED for a struct dtype and for strides that are not a multiple of the
 *         element's size; KZ_NO_MEMORY.
 * Ownership: the holder of the tensor calls its deleter once, from any thread.
 * Async: waits until earlier work on the array is done.
 */
KZ_API KZ_NODISCARD kz_status kz_dlpack_export(struct DLManagedTensor **out, kz_array *array,
	kz_error *err);

/** Make a tensor of DLPack 1.0; as kz_dlpack_export. */
KZ_API KZ_NODISCARD kz_status kz_dlpack_export_versioned(struct DLManagedTensorVersioned **out,
	kz_array *array, kz_error *err);

/**
 * Make an array of a DLPack tensor.
 *
 * The array shares memory of the device, with any strides.  Host memory that does not belong to
 * the device is copied, so every device accepts a tensor of kDLCPU.
 *
 * @param tensor taken on success.  Its deleter is called after the last view of the memory is
 *        released and its work is done, or at once if the tensor was copied.  On failure the
 *        caller keeps it.
 * @return KZ_OK; KZ_INVALID for a tensor of another device, or one that contradicts itself;
 *         KZ_UNSUPPORTED for element types without a dtype and for more than KZ_MAX_DIMS extents;
 *         KZ_RANGE for sizes and strides that overflow; KZ_DEVICE_MEMORY; KZ_NO_MEMORY.
 * Ownership: release the array with kz_array_release.
 */
KZ_API KZ_NODISCARD kz_status kz_dlpack_import_take(kz_array **out, kz_device *dev,
	struct DLManagedTensor *tensor, kz_error *err);

/**
 * Make an array of a tensor of DLPack 1.x; as kz_dlpack_import_take.
 *
 * @return as kz_dlpack_import_take; also KZ_VERSION for another major version; KZ_UNSUPPORTED for
 *         read-only memory of the device, which the library could not protect from writes.
 */
KZ_API KZ_NODISCARD kz_status kz_dlpack_import_versioned_take(kz_array **out, kz_device *dev,
	struct DLManagedTensorVersioned *tensor, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
