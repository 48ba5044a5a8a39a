/* SPDX-License-Identifier: MIT */
#ifndef CUDART_DRIVER_H
#define CUDART_DRIVER_H

/* The CUDA driver that the process has, libcuda.so.1: its functions as a table. */
#include "cudart/api.h"

struct driver {
#define X(name, parameters) CUresult (*name) parameters;
#include "cudart/driver.def"
#undef X
};

extern struct driver driver;

/* Load the driver and initialize it, once.  Until that has succeeded no function may be called. */
cudaError_t driver_load(void);

/* The runtime's code for one of the driver's; the numbers are the same. */
cudaError_t driver_error(CUresult result);

#endif
