/* SPDX-License-Identifier: MIT */
#ifndef CPU_OBJECT_CU_DEVICE_H
#define CPU_OBJECT_CU_DEVICE_H

/* The devices: what all contexts of one share, and its limits. */
#include "base/common.h"
#include "base/cuda_abi.h"
#include "cpu/object/device_list.h"

#include <pthread.h>
#include <stdatomic.h>

/* What all contexts of a device share; it lives as long as one of them. */
struct device {
	unsigned ordinal;           /* as the program sees it */
	unsigned uses;
	struct device_memory *memory; /* which all devices share */
	struct pool *pool;
	struct launch_slot *slots;     /* that are not in use; launch_slot.c owns these two */
	struct launch_slot *active;      /* that have a kernel */
	atomic_uint_least64_t timeout; /* of a kernel in nanoseconds, 0: none */
	atomic_bool timeout_is_set; /* by a call, and not by KUDZU_CPU_TIMEOUT */
	pthread_mutex_t lock;       /* of the watchdog */
	pthread_cond_t changed;     /* what it has to know */
	pthread_t watchdog;
	bool has_watchdog;
	bool is_closing;
};

/* The attributes that are the same on every computer. */
int device_attribute(CUdevice_attribute attribute);

/* For calls that need no context: as api_ready, and there is such a device. */
CUresult api_check_device(const char *call, CUdevice device);

#endif
