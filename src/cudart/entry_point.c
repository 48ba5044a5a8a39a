/* SPDX-License-Identifier: MIT */
/* Ways from the runtime to the driver. */
#include "base/common.h"

#include "cudart/state.h"


static cudaError_t entry_point_get(const char *symbol, void **out, unsigned version,
	unsigned long long flags, int *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cudaError_t code = !symbol || !out ? cudaErrorInvalidValue : state_begin();
	if (!code) {
		*out = NULL;
		code = driver_error(driver.cuGetProcAddress_v2(symbol, out, (int)version, flags,
			&found));
		/* If the caller wants a status, that says so; else the error does. */
		code = code == cudaErrorSymbolNotFound && status ? cudaSuccess : code;
	}
	if (status) {
		*status = (int)found;
	}
	return state_leave(code);
}

/* By default the functions for the kind of default stream that the program's calls use. */
static unsigned long long entry_point_per_thread(unsigned long long flags)
{
	return flags == CU_GET_PROC_ADDRESS_DEFAULT
		? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : flags;
}

API(cudaGetDriverEntryPoint, const char *symbol, void **out, unsigned long long flags, int *status)
{
	return entry_point_get(symbol, out, CUDART_VERSION, flags, status);
}

API(cudaGetDriverEntryPoint_ptsz, const char *symbol, void **out, unsigned long long flags,
	int *status)
{
	return entry_point_get(symbol, out, CUDART_VERSION, entry_point_per_thread(flags), status);
}

API(cudaGetDriverEntryPointByVersion, const char *symbol, void **out, unsigned int version,
	unsigned long long flags, int *status)
{
	return entry_point_get(symbol, out, version, flags, status);
}

API(cudaGetDriverEntryPointByVersion_ptsz, const char *symbol, void **out, unsigned int version,
	unsigned long long flags, int *status)
{
	return entry_point_get(symbol, out, version, entry_point_per_thread(flags), status);
}

/* The tables are not documented; the driver knows whether it has this one. */
API(cudaGetExportTable, const void **out, const CUuuid *id)
{
	cudaError_t code = !out || !id ? cudaErrorInvalidValue : state_begin();
	if (!code) {
		code = driver_error(driver.cuGetExportTable(out, id));
	}
	return state_leave(code);
}
