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
 * The structs are those of dlpack.h, which is not needed here: a program includes its own.  GPUs are
 * kDLCUDA, the device `cpu` is kDLCPU.  DLPack knows nothing of the library's streams: what is
 * exported is at rest, and work that the other side still has in flight on what it gives must be
 * done, or the array's streams put behind it.
 */
#include <kudzu/array.h>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a DLPack tensor of an array; it shares the memory and keeps it alive.
 *
 * Waits until earlier work on the array is done.
 *
 * @return KZ_OK; KZ_UNSUPPORTED for a struct dtype and for strides that are no multiple of the
 *         element's size; KZ_NO_MEMORY.
 * Ownership: whoever has the tensor calls its deleter once, from any thread.
 */
KZ_API KZ_NODISCARD kz_status kz_dlpack_export(struct DLManagedTensor **out, kz_array *array,
	kz_error *err);

/** Make a tensor of DLPack 1.0; as kz_dlpack_export. */
KZ_API KZ_NODISCARD kz_status kz_dlpack_export_versioned(struct DLManagedTensorVersioned **out,
	kz_array *array, kz_error *err);

/**
 * Make an array of a DLPack tensor.
 *
 * Memory of the device is shared, with whatever strides it has.  Host memory that is not the device's
 * own is copied; so a tensor of kDLCPU fits every device.
 *
 * @param tensor taken on success: its deleter is called when the last view of the memory is released
 *        and its work has passed, or at once if it was copied.  On failure it stays the caller's.
 * @return KZ_OK; KZ_INVALID for a tensor of another device, or one that contradicts itself;
 *         KZ_UNSUPPORTED for element types that no dtype has and for more than KZ_MAX_DIMS extents;
 *         KZ_RANGE for sizes and strides that overflow; KZ_DEVICE_MEMORY; KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_dlpack_import_take(kz_array **out, kz_device *dev,
	struct DLManagedTensor *tensor, kz_error *err);

/**
 * Make an array of a tensor of DLPack 1.x; as kz_dlpack_import_take.
 *
 * @return also KZ_VERSION for another major version; KZ_UNSUPPORTED for read-only memory of the
 *         device, which could not be kept from being written.
 */
KZ_API KZ_NODISCARD kz_status kz_dlpack_import_versioned_take(kz_array **out, kz_device *dev,
	struct DLManagedTensorVersioned *tensor, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
