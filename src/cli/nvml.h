/* SPDX-License-Identifier: MIT */
#ifndef CLI_NVML_H
#define CLI_NVML_H

/* Print what NVIDIA's management library says about the GPU of this UUID ("6b75647a-752d-..."), a
 * line for each thing that it knows; nothing without the library, or if the device is not a GPU. */
void nvml_print(const char *uuid);

#endif
