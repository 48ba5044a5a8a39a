/* SPDX-License-Identifier: MIT */
/* Devices: their number, the one that a thread uses, and their properties. */
#include "base/common.h"

#include "cudart/state.h"


#include <string.h>

API(cudaGetDeviceCount, int *count)
{
	cudaError_t code = !count ? cudaErrorInvalidValue : state_begin();
	if (!code) {
		code = driver_error(driver.cuDeviceGetCount(count));
	}
	if (!code && *count == 0) {
		code = cudaErrorNoDevice;
	}
	if (code && count) {
		*count = 0;
	}
	return state_leave(code);
}

API(cudaGetDevice, int *device)
{
	return state_leave(!device ? cudaErrorInvalidValue : state_device(device));
}

API(cudaSetDevice, int device)
{
	return state_leave(state_choose(device));
}

API(cudaInitDevice, int device, unsigned int device_flags, unsigned int flags)
{
	int before;
	cudaError_t code = state_device(&before);
	if (!code && flags == 1) { /* cudaInitDeviceFlagsAreValid */
		code = driver_error(driver.cuDevicePrimaryCtxSetFlags_v2(device, device_flags));
	}
	return state_leave(code ? code : state_prepare(device));
}

API(cudaSetValidDevices, int *devices, int count)
{
	return state_leave(count < 0 || (count > 0 && !devices) ? cudaErrorInvalidValue
		: count == 0 ? cudaSuccess : state_choose(devices[0]));
}

API(cudaDeviceReset, void)
{
	return state_leave(state_reset());
}

#if KZ_CUDART == 12
API(cudaThreadExit, void)
{
	return state_leave(state_reset());
}

/* Only devices of compute capability 1.2 and less had no doubles. */
API(cudaSetDoubleForDevice, double *value)
{
	(void)value;
	return cudaSuccess;
}

API(cudaSetDoubleForHost, double *value)
{
	(void)value;
	return cudaSuccess;
}
#endif

API(cudaSetDeviceFlags, unsigned int flags)
{
	int device;
	cudaError_t code = state_device(&device);
	if (!code) {
		code = driver_error(driver.cuDevicePrimaryCtxSetFlags_v2(device,
			flags & ~(unsigned)CU_CTX_MAP_HOST));
	}
	return state_leave(code);
}

API(cudaGetDeviceFlags, unsigned int *flags)
{
	int device, is_active;
	cudaError_t code = !flags ? cudaErrorInvalidValue : state_device(&device);
	if (!code) {
		code = driver_error(driver.cuDevicePrimaryCtxGetState(device, flags, &is_active));
	}
	if (!code) {
		*flags |= CU_CTX_MAP_HOST;
	}
	return state_leave(code);
}

API(cudaDeviceSynchronize, void)
{
	cudaError_t code = state_enter();
	return state_leave(code ? code : driver_error(driver.cuCtxSynchronize()));
}

API(cudaDriverGetVersion, int *version)
{
	cudaError_t code = !version ? cudaErrorInvalidValue : state_begin();
	if (code == cudaErrorInsufficientDriver) { /* no driver is not an error here */
		*version = 0;
		return cudaSuccess;
	}
	return state_leave(code ? code : driver_error(driver.cuDriverGetVersion(version)));
}

API(cudaRuntimeGetVersion, int *version)
{
	if (!version) {
		return state_leave(cudaErrorInvalidValue);
	}
	*version = CUDART_VERSION;
	return cudaSuccess;
}

static cudaError_t device_copy_attributes(cudaStream_t to, cudaStream_t from)
{
	const cudaError_t code = state_enter();
	return state_leave(code ? code : driver_error(driver.cuStreamCopyAttributes(to, from)));
}

API(cudaStreamCopyAttributes, cudaStream_t to, cudaStream_t from)
{
	return device_copy_attributes(to, from);
}

API(cudaStreamCopyAttributes_ptsz, cudaStream_t to, cudaStream_t from)
{
	return device_copy_attributes(state_per_thread(to), state_per_thread(from));
}

/* --- Properties --- */

enum property_kind { PROPERTY_INT, PROPERTY_SIZE };

static const struct property {
	size_t offset;
	CUdevice_attribute attribute;
	enum property_kind kind;
} device_properties[] = {
#define X(member, place, attribute)                                                                \
	{offsetof(struct cudaDeviceProp, member) + (place) * sizeof(int),                          \
		CU_DEVICE_ATTRIBUTE_##attribute,                                                   \
		_Generic(((struct cudaDeviceProp *)0)->member, size_t: PROPERTY_SIZE,              \
			default: PROPERTY_INT)},
#include "cudart/properties.def"
#undef X
};

static cudaError_t device_fill(struct cudaDeviceProp *out, int device)
{
	memset(out, 0, sizeof(*out));
	CUresult result = driver.cuDeviceGetName(out->name, sizeof(out->name), device);
	if (result == CUDA_SUCCESS) {
		result = driver.cuDeviceTotalMem_v2(&out->totalGlobalMem, device);
	}
	if (result == CUDA_SUCCESS) {
		result = driver.cuDeviceGetUuid_v2(&out->uuid, device);
	}
	for (size_t i = 0; i < countof(device_properties) && result == CUDA_SUCCESS; i++) {
		const struct property *property = &device_properties[i];
		int value = 0;
		/* An older driver does not know all. */
		if (driver.cuDeviceGetAttribute(&value, property->attribute, device)
			!= CUDA_SUCCESS) {
			continue;
		}
		void *member = (char *)out + property->offset;
		if (property->kind == PROPERTY_SIZE) {
			*(size_t *)member = (size_t)value;
		} else {
			*(int *)member = value;
		}
	}
	return driver_error(result);
}

static cudaError_t device_get_properties(struct cudaDeviceProp *out, int device)
{
	cudaError_t code = !out ? cudaErrorInvalidValue : state_begin();
	return state_leave(code ? code : device_fill(out, device));
}

#if KZ_CUDART == 12
API(cudaGetDeviceProperties_v2, struct cudaDeviceProp *out, int device)
{
	return device_get_properties(out, device);
}

/* That of CUDA 11, whose struct ends where the next members were added. */
#define DEVICE_PROPERTIES_11 offsetof(struct cudaDeviceProp, hostRegisterSupported)

API(cudaGetDeviceProperties, void *out, int device)
{
	struct cudaDeviceProp whole;
	cudaError_t code = !out ? cudaErrorInvalidValue : device_get_properties(&whole, device);
	if (!code) {
		memcpy(out, &whole, DEVICE_PROPERTIES_11);
	}
	return code;
}
#else
API(cudaGetDeviceProperties, struct cudaDeviceProp *out, int device)
{
	return device_get_properties(out, device);
}
#endif

/* --- Choosing one --- */

/* A property that identifies a device must be equal; for others a larger value will do. */
static bool device_is_identity(CUdevice_attribute attribute)
{
	return attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID
		|| attribute == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID
		|| attribute == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID;
}

static bool device_has_property(const struct cudaDeviceProp *has,
	const struct cudaDeviceProp *wanted, const struct property *property)
{
	const void *a = (const char *)has + property->offset;
	const void *b = (const char *)wanted + property->offset;
	if (property->kind == PROPERTY_SIZE) {
		return *(const size_t *)a >= *(const size_t *)b;
	}
	return device_is_identity(property->attribute) ? *(const int *)a == *(const int *)b
		: *(const int *)a >= *(const int *)b;
}

/* How many of the wanted properties a device has.  The values 0 and -1 ask for nothing: they count
 * the same for every device. */
static int device_count_properties(const struct cudaDeviceProp *has,
	const struct cudaDeviceProp *wanted)
{
	static const CUuuid none;
	int count = wanted->totalGlobalMem <= has->totalGlobalMem;
	count += wanted->name[0] && strcmp(wanted->name, has->name) == 0;
	count += memcmp(&wanted->uuid, &none, sizeof(none)) != 0
		&& memcmp(&wanted->uuid, &has->uuid, sizeof(none)) == 0;
	for (size_t i = 0; i < countof(device_properties); i++) {
		count += device_has_property(has, wanted, &device_properties[i]);
	}
	return count;
}

/* The device with the most of the wanted properties, and the first of several. */
API(cudaChooseDevice, int *device, const struct cudaDeviceProp *wanted)
{
	int count = 0, best = -1;
	cudaError_t code = !device || !wanted ? cudaErrorInvalidValue : state_begin();
	if (!code) {
		code = driver_error(driver.cuDeviceGetCount(&count));
	}
	for (int i = 0; i < count && !code; i++) {
		struct cudaDeviceProp has;
		code = device_fill(&has, i);
		const int matches = code ? -1 : device_count_properties(&has, wanted);
		if (matches > best) {
			best = matches;
			*device = i;
		}
	}
	return state_leave(code);
}
