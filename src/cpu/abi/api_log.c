/* SPDX-License-Identifier: MIT */
/*
 * The driver's log, as programs read it: object/log.c keeps it.  These calls leave no reason when
 * they fail, as that would be a line of what they read.
 */
#include "base/common.h"

#include "cpu/abi/api.h"

API(cuLogsCurrent, CUlogIterator *out, unsigned int flags)
{
	if (!out || flags != 0) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	*out = log_next();
	return CUDA_SUCCESS;
}

API(cuLogsDumpToMemory, CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
	return buffer && size && *size > 0 && flags == 0
		&& log_dump(iterator, buffer, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API(cuLogsDumpToFile, CUlogIterator *iterator, const char *path, unsigned int flags)
{
	return path && flags == 0 && log_dump_to_file(iterator, path) ? CUDA_SUCCESS
		: CUDA_ERROR_INVALID_VALUE;
}

API(cuLogsRegisterCallback, CUlogsCallback function, void *data, CUlogsCallbackHandle *out)
{
	return function ? log_add_callback(function, data, out)
		: CUDA_ERROR_INVALID_VALUE;
}

API(cuLogsUnregisterCallback, CUlogsCallbackHandle handle)
{
	return log_remove_callback(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
