/* SPDX-License-Identifier: MIT */
/*
 * Memory, plain copies and fills.  The driver finds out by the addresses between which kinds of
 * memory a copy goes, so the kind that a program gives is only checked.
 */
#include "base/common.h"

#include "cudart/register.h"

#include <string.h>

static CUdeviceptr memory_address(const void *memory)
{
	return (CUdeviceptr)(uintptr_t)memory;
}

/* --- Allocation --- */

API(cudaMalloc, void **out, size_t size)
{
	CUdeviceptr address = 0;
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	if (!code && size > 0) {
		code = driver_error(driver.cuMemAlloc_v2(&address, size));
	}
	if (!code) {
		*out = (void *)(uintptr_t)address;
	}
	return state_leave(code);
}

API(cudaMallocPitch, void **out, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr address = 0;
	cudaError_t code = !out || !pitch ? cudaErrorInvalidValue : state_enter();
	if (!code && (width == 0 || height == 0)) {
		*pitch = 0;
	} else if (!code) {
		code = driver_error(driver.cuMemAllocPitch_v2(&address, pitch, width, height, 4));
	}
	if (!code) {
		*out = (void *)(uintptr_t)address;
	}
	return state_leave(code);
}

API(cudaMallocManaged, void **out, size_t size, unsigned int flags)
{
	CUdeviceptr address = 0;
	cudaError_t code = !out || size == 0 ? cudaErrorInvalidValue : state_enter();
	if (!code) {
		code = driver_error(driver.cuMemAllocManaged(&address, size, flags));
	}
	if (!code) {
		*out = (void *)(uintptr_t)address;
	}
	return state_leave(code);
}

API(cudaFree, void *memory)
{
	cudaError_t code = state_enter();
	if (!code && memory) {
		code = driver_error(driver.cuMemFree_v2(memory_address(memory)));
	}
	return state_leave(code);
}

API(cudaMallocHost, void **out, size_t size)
{
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	if (!code && size == 0) {
		*out = NULL;
	} else if (!code) {
		code = driver_error(driver.cuMemHostAlloc(out, size, 0));
	}
	return state_leave(code);
}

API(cudaHostAlloc, void **out, size_t size, unsigned int flags)
{
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	if (!code && size == 0) {
		*out = NULL;
	} else if (!code) {
		code = driver_error(driver.cuMemHostAlloc(out, size, flags));
	}
	return state_leave(code);
}

API(cudaFreeHost, void *memory)
{
	cudaError_t code = state_enter();
	if (!code && memory) {
		code = driver_error(driver.cuMemFreeHost(memory));
	}
	return state_leave(code);
}

API(cudaPointerGetAttributes, struct cudaPointerAttributes *out, const void *memory)
{
	unsigned type = 0, is_managed = 0;
	int device = cudaInvalidDeviceId;
	CUdeviceptr on_device = 0;
	void *on_host = NULL;
	CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
	void *values[] = {&type, &is_managed, &device, &on_device, &on_host};
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	if (!code) {
		code = driver_error(driver.cuPointerGetAttributes(countof(attributes), attributes,
			values, memory_address(memory)));
	}
	if (!code) {
		memset(out, 0, sizeof(*out));
		out->type = is_managed ? cudaMemoryTypeManaged
			: type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
			: type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
			: cudaMemoryTypeUnregistered;
		const bool is_known = out->type != cudaMemoryTypeUnregistered;
		out->device = is_known ? device : cudaInvalidDeviceId;
		out->devicePointer = is_known ? (void *)(uintptr_t)on_device : NULL;
		out->hostPointer = is_known ? on_host : (void *)(uintptr_t)memory;
	}
	return state_leave(code);
}

/* --- Copies --- */

static cudaError_t memory_check_kind(int kind)
{
	return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault ? cudaSuccess
		: cudaErrorInvalidMemcpyDirection;
}

static cudaError_t memory_copy(void *to, const void *from, size_t size, int kind,
	bool is_per_thread)
{
	cudaError_t code = memory_check_kind(kind);
	code = code ? code : state_enter();
	if (!code && size > 0) {
		code = driver_error((is_per_thread ? driver.cuMemcpy_ptds : driver.cuMemcpy)(
			memory_address(to), memory_address(from), size));
	}
	return state_leave(code);
}

API(cudaMemcpy, void *to, const void *from, size_t size, int kind)
{
	return memory_copy(to, from, size, kind, false);
}

API(cudaMemcpy_ptds, void *to, const void *from, size_t size, int kind)
{
	return memory_copy(to, from, size, kind, true);
}

static cudaError_t memory_copy_async(void *to, const void *from, size_t size, int kind,
	cudaStream_t stream)
{
	cudaError_t code = memory_check_kind(kind);
	code = code ? code : state_enter();
	if (!code && size > 0) {
		code = driver_error(driver.cuMemcpyAsync(memory_address(to), memory_address(from),
			size, stream));
	}
	return state_leave(code);
}

API(cudaMemcpyAsync, void *to, const void *from, size_t size, int kind, cudaStream_t stream)
{
	return memory_copy_async(to, from, size, kind, stream);
}

API(cudaMemcpyAsync_ptsz, void *to, const void *from, size_t size, int kind, cudaStream_t stream)
{
	return memory_copy_async(to, from, size, kind, state_per_thread(stream));
}

/* --- Variables --- */

/* Where `size` bytes of a variable begin, after `offset`. */
static cudaError_t memory_of_symbol(void **out, const void *symbol, size_t size, size_t offset)
{
	CUdeviceptr address;
	size_t whole;
	cudaError_t code = state_enter();
	if (!code) {
		code = register_variable(&address, &whole, symbol);
	}
	if (!code && (offset > whole || size > whole - offset)) {
		code = cudaErrorInvalidValue;
	}
	*out = code ? NULL : (void *)(uintptr_t)(address + offset);
	return code;
}

/* How a copy is made: in a stream, or synchronously in the legacy stream or the thread's. */
struct memory_order {
	int kind;
	bool is_async;
	bool is_per_thread;
	cudaStream_t stream;
};

/* Of `to` and `from` one is NULL: that end of the copy is the variable. */
static cudaError_t memory_copy_symbol(const void *symbol, size_t offset, void *to,
	const void *from, size_t size, const struct memory_order *order)
{
	void *variable;
	cudaError_t code = order->kind == cudaMemcpyHostToHost ? cudaErrorInvalidMemcpyDirection
		: memory_of_symbol(&variable, symbol, size, offset);
	if (code) {
		return state_leave(code);
	}
	to = to ? to : variable;
	from = from ? from : variable;
	return order->is_async ? memory_copy_async(to, from, size, order->kind, order->stream)
		: memory_copy(to, from, size, order->kind, order->is_per_thread);
}

API(cudaMemcpyToSymbol, const void *symbol, const void *from, size_t size, size_t offset,
	int kind)
{
	return memory_copy_symbol(symbol, offset, NULL, from, size,
		&(struct memory_order){kind, false, false, NULL});
}

API(cudaMemcpyToSymbol_ptds, const void *symbol, const void *from, size_t size, size_t offset,
	int kind)
{
	return memory_copy_symbol(symbol, offset, NULL, from, size,
		&(struct memory_order){kind, false, true, NULL});
}

API(cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t size, size_t offset,
	int kind, cudaStream_t stream)
{
	return memory_copy_symbol(symbol, offset, NULL, from, size,
		&(struct memory_order){kind, true, false, stream});
}

API(cudaMemcpyToSymbolAsync_ptsz, const void *symbol, const void *from, size_t size,
	size_t offset, int kind, cudaStream_t stream)
{
	return memory_copy_symbol(symbol, offset, NULL, from, size,
		&(struct memory_order){kind, true, false, state_per_thread(stream)});
}

API(cudaMemcpyFromSymbol, void *to, const void *symbol, size_t size, size_t offset, int kind)
{
	return memory_copy_symbol(symbol, offset, to, NULL, size,
		&(struct memory_order){kind, false, false, NULL});
}

API(cudaMemcpyFromSymbol_ptds, void *to, const void *symbol, size_t size, size_t offset, int kind)
{
	return memory_copy_symbol(symbol, offset, to, NULL, size,
		&(struct memory_order){kind, false, true, NULL});
}

API(cudaMemcpyFromSymbolAsync, void *to, const void *symbol, size_t size, size_t offset,
	int kind, cudaStream_t stream)
{
	return memory_copy_symbol(symbol, offset, to, NULL, size,
		&(struct memory_order){kind, true, false, stream});
}

API(cudaMemcpyFromSymbolAsync_ptsz, void *to, const void *symbol, size_t size, size_t offset,
	int kind, cudaStream_t stream)
{
	return memory_copy_symbol(symbol, offset, to, NULL, size,
		&(struct memory_order){kind, true, false, state_per_thread(stream)});
}

API(cudaGetSymbolAddress, void **out, const void *symbol)
{
	return state_leave(!out ? cudaErrorInvalidValue : memory_of_symbol(out, symbol, 0, 0));
}

API(cudaGetSymbolSize, size_t *out, const void *symbol)
{
	cudaError_t code = !out ? cudaErrorInvalidValue : state_enter();
	return state_leave(code ? code : register_variable(NULL, out, symbol));
}

/* --- Fills --- */

static cudaError_t memory_fill(void *memory, int value, size_t size, bool is_per_thread)
{
	cudaError_t code = state_enter();
	if (!code && size > 0) {
		code = driver_error((is_per_thread ? driver.cuMemsetD8_v2_ptds
			: driver.cuMemsetD8_v2)(memory_address(memory), (unsigned char)value,
			size));
	}
	return state_leave(code);
}

API(cudaMemset, void *memory, int value, size_t size)
{
	return memory_fill(memory, value, size, false);
}

API(cudaMemset_ptds, void *memory, int value, size_t size)
{
	return memory_fill(memory, value, size, true);
}

static cudaError_t memory_fill_async(void *memory, int value, size_t size, cudaStream_t stream)
{
	cudaError_t code = state_enter();
	if (!code && size > 0) {
		code = driver_error(driver.cuMemsetD8Async(memory_address(memory),
			(unsigned char)value, size, stream));
	}
	return state_leave(code);
}

API(cudaMemsetAsync, void *memory, int value, size_t size, cudaStream_t stream)
{
	return memory_fill_async(memory, value, size, stream);
}

API(cudaMemsetAsync_ptsz, void *memory, int value, size_t size, cudaStream_t stream)
{
	return memory_fill_async(memory, value, size, state_per_thread(stream));
}
