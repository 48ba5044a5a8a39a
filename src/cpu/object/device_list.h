/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_DEVICE_LIST_H
#define CPU_OBJECT_DEVICE_LIST_H

/* Which devices a program sees, what names them, and their equal shares of the computer. */
#include "base/common.h"
#include "base/cuda_abi.h"
#include "base/kudzu_abi.h"

/* Find the devices, once.  How many; there may be none. */
int device_find(void);
int device_count(void);
/* How many there are, seen or not; they need not have been found. */
unsigned device_count_all(void);
/* Of a device that is there: its number among all devices, seen or not. */
unsigned device_number(CUdevice device);
CUuuid device_uuid(unsigned number);
/* The workers and the bytes of memory that each device has. */
unsigned device_cores(void);
size_t device_bytes(void);

#endif
