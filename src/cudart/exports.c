/* SPDX-License-Identifier: MIT */
/* The functions of exports.def that are a call of the driver, or not there. */
#include "base/common.h"

#include "cudart/exports.h"

#include "base/log_line.h"
#include "cudart/state.h"

#define ADDRESS(memory) ((CUdeviceptr)(uintptr_t)(memory))

#define EXPORT_AS(name, enter, first, cu, parameters, arguments)                                   \
	__attribute__((visibility("default"))) cudaError_t name parameters;                        \
	cudaError_t name parameters                                                                \
	{                                                                                          \
		const cudaError_t code = enter();                                                  \
		first;                                                                             \
		return state_leave(code ? code : driver_error(driver.cu arguments));               \
	}

#define CALL(name, in, cu, parameters, arguments)                                                  \
	IN_##in(EXPORT_AS(name, state_enter, (void)0, cu, parameters, arguments))
#define BARE(name, in, cu, parameters, arguments)                                                  \
	IN_##in(EXPORT_AS(name, state_begin, (void)0, cu, parameters, arguments))
#define STREAM(name, in, cu, parameters, arguments)                                                \
	IN_##in(EXPORT_AS(name, state_enter, (void)0, cu, parameters, arguments)                   \
		EXPORT_AS(name##_ptsz, state_enter, stream = state_per_thread(stream), cu,         \
			parameters, arguments))
#define OWN(name, in)
#define NONE(name, in)                                                                             \
	IN_##in(__attribute__((visibility("default"))) cudaError_t name(void);                     \
		cudaError_t name(void)                                                             \
		{                                                                                  \
			log_line("cudart", #name " is not supported");                             \
			return state_leave(cudaErrorNotSupported);                                 \
		})
#include "cudart/exports.def"
