/* SPDX-License-Identifier: MIT */
/*
 * NVTX ranges of the program in the trace.
 *
 * NVTX is headers in the program alone.  At its first range they load the library that
 * NVTX_INJECTION64_PATH names and call InitializeInjectionNvtx2 of it, which puts functions into
 * the program's tables.  This library has that function, so NVTX_INJECTION64_PATH=.../libkudzu.so
 * makes the ranges events of the trace.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/core/nvtx.h"
#include "lib/core/trace.h"

#include <stdio.h>

enum { MESSAGE_ASCII = 1, MESSAGE_REGISTERED = 3 };
/* nvtxEventAttributes_v2 */
struct nvtx_event {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	const char *message;     /* ASCII, or what nvtx_register gave */
};

/* Strings that a program has registered live as long as the process, and are in this list. */
struct nvtx_string {
	struct nvtx_string *next;
	char *text;
};

static struct nvtx_string *_Atomic nvtx_strings;
static _Atomic uint64_t nvtx_range_count;
static _Thread_local int nvtx_depth;

static const char *nvtx_message(const struct nvtx_event *event)
{
	if (!event || event->size < sizeof(*event) || !event->message) {
		return "range";
	}
	switch (event->message_type) {
	case MESSAGE_ASCII:
		return event->message;
	case MESSAGE_REGISTERED:
		return ((const struct nvtx_string *)(const void *)event->message)->text;
	default:
		return "range";
	}
}

static void nvtx_mark_a(const char *message)
{
	trace_point('i', 0, "nvtx", message ? message : "mark");
}

static int nvtx_push_a(const char *message)
{
	trace_point('B', 0, "nvtx", message ? message : "range");
	return nvtx_depth++;
}

/* The level that ends; negative: there is none. */
static int nvtx_pop(void)
{
	if (nvtx_depth == 0) {
		return -1;
	}
	trace_point('E', 0, "nvtx", "");
	return --nvtx_depth;
}

/* Ranges that threads share, each with a number. */
static uint64_t nvtx_start_a(const char *message)
{
	uint64_t id = atomic_fetch_add(&nvtx_range_count, 1) + 1;
	trace_point('b', id, "nvtx", message ? message : "range");
	return id;
}

static void nvtx_end(uint64_t id)
{
	trace_point('e', id, "nvtx", "range");
}

static void nvtx_mark_ex(const struct nvtx_event *event)
{
	nvtx_mark_a(nvtx_message(event));
}

static int nvtx_push_ex(const struct nvtx_event *event)
{
	return nvtx_push_a(nvtx_message(event));
}

static uint64_t nvtx_start_ex(const struct nvtx_event *event)
{
	return nvtx_start_a(nvtx_message(event));
}

/* The same of a domain, which the trace does not show. */

static void nvtx_domain_mark(void *domain, const struct nvtx_event *event)
{
	(void)domain;
	nvtx_mark_ex(event);
}

static int nvtx_domain_push(void *domain, const struct nvtx_event *event)
{
	(void)domain;
	return nvtx_push_ex(event);
}

static int nvtx_domain_pop(void *domain)
{
	(void)domain;
	return nvtx_pop();
}

static uint64_t nvtx_domain_start(void *domain, const struct nvtx_event *event)
{
	(void)domain;
	return nvtx_start_ex(event);
}

static void nvtx_domain_end(void *domain, uint64_t id)
{
	(void)domain;
	nvtx_end(id);
}

static void *nvtx_register(void *domain, const char *text)
{
	(void)domain;
	struct nvtx_string *string = text ? mem_zalloc(1, sizeof(*string)) : NULL;
	if (!string || !(string->text = mem_strdup(text))) {
		mem_free(string);
		return NULL;
	}
	string->next = atomic_load(&nvtx_strings);
	while (!atomic_compare_exchange_weak(&nvtx_strings, &string->next, string)) {
	}
	return string;
}

static const struct {
	int module;
	unsigned id;
	nvtx_function *function;
} nvtx_functions[] = {
	{NVTX_MODULE_CORE, CORE_MARK_EX, (nvtx_function *)nvtx_mark_ex},
	{NVTX_MODULE_CORE, CORE_MARK_A, (nvtx_function *)nvtx_mark_a},
	{NVTX_MODULE_CORE, CORE_START_EX, (nvtx_function *)nvtx_start_ex},
	{NVTX_MODULE_CORE, CORE_START_A, (nvtx_function *)nvtx_start_a},
	{NVTX_MODULE_CORE, CORE_END, (nvtx_function *)nvtx_end},
	{NVTX_MODULE_CORE, CORE_PUSH_EX, (nvtx_function *)nvtx_push_ex},
	{NVTX_MODULE_CORE, CORE_PUSH_A, (nvtx_function *)nvtx_push_a},
	{NVTX_MODULE_CORE, CORE_POP, (nvtx_function *)nvtx_pop},
	{NVTX_MODULE_CORE2, CORE2_MARK_EX, (nvtx_function *)nvtx_domain_mark},
	{NVTX_MODULE_CORE2, CORE2_START_EX, (nvtx_function *)nvtx_domain_start},
	{NVTX_MODULE_CORE2, CORE2_END, (nvtx_function *)nvtx_domain_end},
	{NVTX_MODULE_CORE2, CORE2_PUSH_EX, (nvtx_function *)nvtx_domain_push},
	{NVTX_MODULE_CORE2, CORE2_POP, (nvtx_function *)nvtx_domain_pop},
	{NVTX_MODULE_CORE2, CORE2_REGISTER_A, (nvtx_function *)nvtx_register},
};

/* What NVTX calls.  1: this library takes the program's ranges. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
	nvtx_get_export_table *get_export_table)
{
	const struct nvtx_callbacks *callbacks = get_export_table
		? get_export_table(NVTX_ETID_CALLBACKS) : NULL;
	if (!callbacks || callbacks->size < sizeof(*callbacks)) {
		return 0;
	}
	for (size_t i = 0; i < countof(nvtx_functions); i++) {
		nvtx_function ***table = NULL;
		unsigned count = 0;
		if (callbacks->get_table(nvtx_functions[i].module, &table, &count)
		    && nvtx_functions[i].id < count && table[nvtx_functions[i].id]) {
			*table[nvtx_functions[i].id] = nvtx_functions[i].function;
		}
	}
	return 1;
}
