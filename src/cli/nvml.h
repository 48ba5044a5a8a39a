/* SPDX-License-Identifier: MIT */
#ifndef CLI_NVML_H
#define CLI_NVML_H

/* Print what NVIDIA's management library says about the GPU of this UUID, without its "GPU-": a line for each thing
 * that it knows; nothing where there is no such library, or where the device is not a GPU. */
void nvml_print(const char *uuid);

#endif
