/* SPDX-License-Identifier: MIT */
#ifndef BASE_CUDA_ABI_H
#define BASE_CUDA_ABI_H

/*
 * The types and constants of the CUDA Driver API that Kudzu uses, so that neither building it nor
 * running it needs CUDA's headers.  Names, numbers and layouts are those of CUDA 13.5, whose
 * binary interface every provider exports; earlier drivers have the same ones, or fewer.
 * tests/lib/cuda/test_abi.c compares all of them with cuda.h on machines that have it.  The
 * functions are in cuda.def.  What our own driver adds is in kudzu_abi.h.
 */
#include "base/cuda_abi_device.h"
#include "base/cuda_abi_launch.h"
#include "base/cuda_abi_memory.h"

#endif
