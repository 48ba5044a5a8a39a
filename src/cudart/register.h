/* SPDX-License-Identifier: MIT */
#ifndef CUDART_REGISTER_H
#define CUDART_REGISTER_H

/* The kernels and variables of a program, by their addresses on the host.  The thread has a
 * context (state_enter). */
#include "cudart/state.h"

/* Between the two no kernel or variable is unloaded: a program may end, and with it its
 * registration, while another thread launches. */
void register_hold(void);
void register_let(void);
/* The kernel of a host function, between these two.  What is registered nowhere is taken for a
 * kernel or a function of the driver, which knows its own. */
cudaError_t register_kernel(CUkernel *out, const void *host);
/* The host function of a kernel or a function of the driver; the handle itself if none was
 * registered for it. */
void *register_host(const void *handle);
/* Where a variable is on the current device; out and size may be NULL. */
cudaError_t register_variable(CUdeviceptr *out, size_t *size, const void *host);
/* Why the last kernel was not found, for stubs that go on without one. */
cudaError_t register_failure(void);

#endif
