/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_NVTX_H
#define LIB_CORE_NVTX_H

/*
 * NVTX, in both directions: nvtx.c puts ranges of the program into the trace; nvtx_tool.c tells a
 * tool, such as Nsight Systems, of what the library does.  The declarations are those of NVTX 3,
 * nvtxDetail/nvtxTypes.h.
 */
#include "base/common.h"

enum { NVTX_ETID_CALLBACKS = 1, NVTX_ETID_VERSION = 3, NVTX_MODULE_CORE = 1,
	NVTX_MODULE_CORE2 = 5 };
enum {
	CORE_MARK_EX = 1, CORE_MARK_A = 2, CORE_START_EX = 4, CORE_START_A = 5, CORE_END = 7,
	CORE_PUSH_EX = 8, CORE_PUSH_A = 9, CORE_POP = 11,
	CORE2_MARK_EX = 1, CORE2_START_EX = 2, CORE2_END = 3, CORE2_PUSH_EX = 4, CORE2_POP = 5,
	CORE2_REGISTER_A = 10,
};

typedef void nvtx_function(void);

struct nvtx_callbacks {
	size_t size;
	int (*get_table)(int module, nvtx_function ****table, unsigned *count);
};

typedef const void *nvtx_get_export_table(uint32_t id);

/* What a tool exports as NVTX_ENTRY; not 0: it listens. */
#define NVTX_ENTRY "InitializeInjectionNvtx2"
typedef int nvtx_initialize(nvtx_get_export_table *get_export_table);
int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table);

/* Load the tool that NVTX_INJECTION64_PATH names, once in a process; whether one listens. */
bool nvtx_tool_open(void);
bool nvtx_tool_listens(void);
/* A range of the calling thread, for a tool that listens. */
void nvtx_tool_push(const char *name);
void nvtx_tool_pop(void);

#endif
