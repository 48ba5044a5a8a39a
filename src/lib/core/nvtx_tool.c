/* SPDX-License-Identifier: MIT */
/*
 * What the library does, as NVTX ranges of a tool.
 *
 * NVTX in a program is headers, which load the tool that NVTX_INJECTION64_PATH names and give it
 * tables of pointers to fill.  This file does the same for the library, with the two functions that
 * it needs.
 */
#include "base/common.h"

#include "lib/core/nvtx.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { CORE_COUNT = 16 };

static nvtx_function *nvtx_slots[CORE_COUNT];
static atomic_bool nvtx_listens;

static int nvtx_get_table(int module, nvtx_function ****table, unsigned *count)
{
	static nvtx_function **places[CORE_COUNT];
	if (module != NVTX_MODULE_CORE || !table) {
		return 0;
	}
	for (int i = 1; i < CORE_COUNT; i++) {
		places[i] = &nvtx_slots[i];
	}
	*table = places;
	if (count) {
		*count = CORE_COUNT;
	}
	return 1;
}

static void nvtx_take_version(uint32_t version)
{
	(void)version; /* of the tool: what we call is in all */
}

static const void *nvtx_get_exports(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = {sizeof(callbacks), nvtx_get_table};
	static const struct {
		size_t size;
		uint32_t version;
		uint32_t reserved;
		void (*take_version)(uint32_t version);
	} version = {sizeof(version), 3, 0, nvtx_take_version};
	return id == NVTX_ETID_CALLBACKS ? (const void *)&callbacks
		: id == NVTX_ETID_VERSION ? &version : NULL;
}

/* This library is a tool, too: for the ranges of the program. */
static bool nvtx_is_ours(const void *address)
{
	char *theirs = dl_path(address), *ours = dl_path(nvtx_slots);
	bool same = theirs && ours && strcmp(theirs, ours) == 0;
	mem_free(theirs);
	mem_free(ours);
	return same;
}

static void nvtx_tool_load(void)
{
	char why[256];
	nvtx_initialize *start;
	const char *path = env_get("NVTX_INJECTION64_PATH");
	void *tool = path && *path ? dl_open(path, why, sizeof(why)) : NULL;
	void *symbol = tool ? dl_symbol(tool, NVTX_ENTRY) : NULL;
	memcpy(&start, &symbol, sizeof(start));
	if (!start || nvtx_is_ours(symbol)) {
		if (tool) {
			dl_close(tool);
		}
		return;
	}
	if (start(nvtx_get_exports) && nvtx_slots[CORE_PUSH_A] && nvtx_slots[CORE_POP]) {
		atomic_store(&nvtx_listens, true);
	}
}

bool nvtx_tool_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, nvtx_tool_load);
	return nvtx_tool_listens();
}

bool nvtx_tool_listens(void)
{
	return atomic_load(&nvtx_listens);
}

void nvtx_tool_push(const char *name)
{
	(void)((int (*)(const char *))nvtx_slots[CORE_PUSH_A])(name);
}

void nvtx_tool_pop(void)
{
	(void)((int (*)(void))nvtx_slots[CORE_POP])();
}
