/* SPDX-License-Identifier: MIT */
/*
 * One call of nvJitLink, on a thread with a big stack, as compilers need it.
 *
 * nvJitLink goes on after an input that it could not take, and may end with success and errors in
 * its log.  So the code of every call is checked, and the log too.
 */
#include "base/common.h"

#include "lib/rtc/rtc_link.h"

#include "base/alloc.h"
#include "base/exit_gate.h"
#include "base/str.h"
#include "lib/rtc/link_log.h"
#include "lib/rtc/nvjitlink.h"
#include "lib/rtc/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define OPTION_MAX 64

struct link_work {
	const struct nvjitlink *linker;
	const struct rtc_link_request *request;
	const char *options[OPTION_MAX];
	uint32_t option_count;
	char registers[32];
	char arch[40];

	/* Results. */
	int code;
	const char *call; /* that returned it */
	char *error_log;
	struct rtc_linked linked;
	bool no_memory;
};

/* nvJitLink 13.0 keeps a lock where it calls a cubin "bad input" (of sm_100 for sm_103): every
 * later link of the process would hang. */
static atomic_bool is_stuck;

bool part_is_lto(const struct part *part)
{
	return part->kind == RTC_LTO || part->kind == RTC_FATBIN;
}

static bool rtc_link_wants(const struct rtc_link_request *request, const struct part *part)
{
	return part->is_taken && (part_is_lto(part) || !request->lto_to_ptx);
}

static bool rtc_link_has_lto(const struct rtc_link_request *request)
{
	const struct part *part = request->parts->first;
	while (part && !(part->is_taken && part_is_lto(part))) {
		part = part->next;
	}
	return part;
}

static void rtc_link_add_option(struct link_work *work, bool wanted, const char *option)
{
	if (wanted && work->option_count < OPTION_MAX) {
		work->options[work->option_count++] = option;
	}
}

static kz_status rtc_link_build_options(struct link_work *work, kz_error *err)
{
	const struct rtc_link_request *request = work->request;
	snprintf(work->arch, sizeof(work->arch), "-arch=%s", request->arch);
	snprintf(work->registers, sizeof(work->registers), "-maxrregcount=%d",
		request->max_registers);
	if (request->option_count > OPTION_MAX / 2) {
		return error_set(err, KZ_INVALID, "%zu options for the linker, expected at most %d",
			request->option_count, OPTION_MAX / 2);
	}
	rtc_link_add_option(work, true, work->arch);
	rtc_link_add_option(work, rtc_link_has_lto(request), "-lto");
	rtc_link_add_option(work, request->lto_to_ptx, "-ptx");
	rtc_link_add_option(work, request->max_registers > 0, work->registers);
	rtc_link_add_option(work, request->line_info, "-lineinfo");
	rtc_link_add_option(work, request->debug, "-g");
	rtc_link_add_option(work, request->no_optimization, "-O0");
	for (size_t i = 0; i < request->option_count; i++) {
		rtc_link_add_option(work, true, request->options[i]);
	}
	return KZ_OK;
}

/* Note the first failure; whether there was none. */
static bool rtc_link_check(struct link_work *work, int code, const char *call)
{
	if (code != 0 && work->code == 0) {
		work->code = code;
		work->call = call;
	}
	return work->code == 0;
}

/* A text or image of nvJitLink's, zero-terminated beyond its size. */
static char *rtc_link_fetch(struct link_work *work, nvJitLinkHandle handle, size_t *size,
	nvJitLinkResult (*get_size)(nvJitLinkHandle, size_t *),
	nvJitLinkResult (*get)(nvJitLinkHandle, char *))
{
	*size = 0;
	if (get_size(handle, size) != 0 || *size == 0) {
		return NULL;
	}
	char *data = *size < SIZE_MAX ? mem_alloc(*size + 1) : NULL;
	if (!data) {
		work->no_memory = true;
		return NULL;
	}
	if (get(handle, data) != 0) {
		mem_free(data);
		return NULL;
	}
	data[*size] = '\0';
	return data;
}

static void rtc_link_fetch_results(struct link_work *work, nvJitLinkHandle handle)
{
	const struct nvjitlink *linker = work->linker;
	struct rtc_linked *linked = &work->linked;
	size_t size;
	work->error_log =
		rtc_link_fetch(work, handle, &size, linker->GetErrorLogSize, linker->GetErrorLog);
	linked->log =
		rtc_link_fetch(work, handle, &size, linker->GetInfoLogSize, linker->GetInfoLog);
	if (work->code != 0) {
		return;
	}
	if (work->request->lto_to_ptx) {
		linked->data = rtc_link_fetch(work, handle, &linked->size, linker->GetLinkedPtxSize,
			linker->GetLinkedPtx);
		linked->size = linked->data ? strlen(linked->data) : 0;
	} else {
		linked->data = rtc_link_fetch(work, handle, &linked->size,
			linker->GetLinkedCubinSize, linker->GetLinkedCubin);
	}
}

static void *rtc_link_thread_main(void *arg)
{
	static const int types[] = {
		[RTC_PTX] = NVJITLINK_PTX,
		[RTC_CUBIN] = NVJITLINK_CUBIN,
		[RTC_LTO] = NVJITLINK_LTO,
		[RTC_FATBIN] = NVJITLINK_FATBIN,
	};
	struct link_work *work = arg;
	const struct nvjitlink *linker = work->linker;
	nvJitLinkHandle handle = NULL;
	bool ok = rtc_link_check(work, linker->Create(&handle, work->option_count, work->options),
		"nvJitLinkCreate");
	for (const struct part *part = work->request->parts->first; ok && part; part = part->next) {
		/* The zero after PTX counts. */
		size_t size = part->size + (part->kind == RTC_PTX);
		ok = !rtc_link_wants(work->request, part)
			|| rtc_link_check(work, linker->AddData(handle, types[part->kind],
				part->data, size, part->name), "nvJitLinkAddData");
	}
	if (ok) {
		rtc_link_check(work, linker->Complete(handle), "nvJitLinkComplete");
	}
	if (handle) {
		rtc_link_fetch_results(work, handle);
		linker->Destroy(&handle);
	}
	return NULL;
}

void rtc_linked_free(struct rtc_linked *linked)
{
	mem_free(linked->data);
	mem_free(linked->log);
	*linked = (struct rtc_linked){.data = NULL};
}

kz_status rtc_link(struct rtc_linked *out, const struct rtc_link_request *request, kz_error *err)
{
	struct link_work work = {.request = request};
	kz_status st;
	*out = (struct rtc_linked){.data = NULL};
	if (atomic_load(&is_stuck)) {
		return error_set(err, KZ_NO_COMPILER, "nvJitLink cannot be used any more in this "
			"process: it hangs after it has rejected a cubin");
	}
	if ((st = rtc_link_build_options(&work, err)) || (st = nvjitlink_open(&work.linker, err))
	    || (st = exit_gate_pass(err))) {
		return st;
	}
	st = thread_run(rtc_link_thread_main, &work, err);
	exit_gate_leave();
	if (st) {
		return st;
	}
	const char *log = work.error_log ? work.error_log : "";
	const struct link_failure failure = {KZ_DOMAIN_NVJITLINK, work.code, work.call};
	if (work.no_memory) {
		st = error_no_memory(err);
	} else if (work.code != 0 || link_log_is_bad(log)) {
		st = link_log_fail(log, work.code ? &failure : NULL, err);
	} else if (!work.linked.data) {
		st = error_set(err, KZ_LINK, "nvJitLink produced no output");
	}
	if (!work.no_memory && strstr(log, "bad input")) {
		atomic_store(&is_stuck, true);
	}
	mem_free(work.error_log);
	if (st) {
		rtc_linked_free(&work.linked);
		return st;
	}
	*out = work.linked;
	return KZ_OK;
}
