/* SPDX-License-Identifier: MIT */
/*
 * Linking: choose the linker, and make an image of its output.
 *
 * src/lib/rtc takes the inputs apart, decides which of them are needed, and calls nvJitLink.  The
 * driver's linker needs a device, so it is called here.  The CPU device takes PTX: only for it
 * nvJitLink and the driver's linker work one after the other.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/module/module.h"
#include "lib/rtc/rtc_link.h"
#include "lib/rtc/link_log.h"
#include "lib/rtc/nvjitlink.h"

#include <kudzu/link.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for the driver's own words. */
#define LOG_SIZE 16384

struct linking {
	struct kz_device *dev;             /* or NULL */
	const kz_link_options *options;
	const kz_link_input *inputs;
	size_t count;
	struct rtc_target target;
	char arch[24];                     /* "sm_89" */
	struct parts parts;
	struct rtc_linked linked;
	char linker[sizeof(((struct kz_image *)0)->linker)];
};

/* "sm_90a", "compute_75": 90, 75.  0 if it is neither. */
static int link_arch_number(const char *arch)
{
	const char *digits = strncmp(arch, "sm_", 3) == 0 ? arch + 3
		: strncmp(arch, "compute_", 8) == 0 ? arch + 8 : "";
	char *end;
	long number = strtol(digits, &end, 10);
	bool good = end > digits && number > 0 && number <= 9999
		&& (*end == '\0' || (strchr("af", *end) && end[1] == '\0'));
	return good ? (int)number : 0;
}

static kz_status link_choose_target(struct linking *linking, kz_error *err)
{
	const char *arch = linking->options->arch;
	if (!arch && !linking->dev) {
		return error_set(err, KZ_INVALID,
			"expected a device, or an architecture in the options, got neither");
	}
	if (arch && link_arch_number(arch) == 0) {
		return error_set(err, KZ_INVALID, "expected an architecture such as \"sm_90\", "
			"got \"%s\"", arch);
	}
	linking->target.cc = arch ? link_arch_number(arch)
		: linking->dev->info.compute_capability;
	linking->target.ptx_only = linking->dev && linking->dev->ptx_only;
	const char *digits = arch ? strchr(arch, '_') + 1 : "";
	const char *suffix = digits + strspn(digits, "0123456789");
	snprintf(linking->arch, sizeof(linking->arch), "sm_%d%s", linking->target.cc, suffix);
	return KZ_OK;
}

/* Take in one input. */
static kz_status link_add_input(struct linking *linking, size_t index, kz_error *err)
{
	const kz_link_input *input = &linking->inputs[index];
	char number[40];
	const char *name = input->name;
	if (input->image && input->data) {
		return error_set(err, KZ_INVALID, "input %zu has an image and data, expected one",
			index + 1);
	}
	if (!name) {
		snprintf(number, sizeof(number), "input %zu", index + 1);
		name = number;
	}
	if (input->image) {
		return parts_add(&linking->parts, name, input->image->rtc.data,
			input->image->rtc.size, err);
	}
	if (input->data) {
		return input->size > 0
			? parts_add(&linking->parts, name, input->data, (size_t)input->size, err)
			: error_set(err, KZ_INVALID, "'%s' has a size of %lld, expected more than "
				"0 bytes", name, (long long)input->size);
	}
	if (!input->name) {
		return error_set(err, KZ_INVALID,
			"input %zu: expected an image, data or the path of a file, found nothing",
			index + 1);
	}
	char *data = NULL;
	size_t size;
	kz_status st = file_read(&data, &size, name, err);
	st = st ? st : parts_add(&linking->parts, name, data, size, err);
	mem_free(data);
	return st;
}

static const struct part *link_find_part(const struct parts *parts, bool lto)
{
	const struct part *part = parts->first;
	while (part && !(part->is_taken && part_is_lto(part) == lto)) {
		part = part->next;
	}
	return part;
}

static kz_status link_by_nvjitlink(struct linking *linking, bool lto_to_ptx, kz_error *err)
{
	const kz_link_options *options = linking->options;
	const struct nvjitlink *library;
	struct rtc_link_request request = {
		.parts = &linking->parts,
		.lto_to_ptx = lto_to_ptx,
		.arch = linking->arch,
		.max_registers = options->max_registers,
		.line_info = options->line_info != 0,
		.debug = options->debug != 0,
		.no_optimization = options->no_optimization != 0,
		.options = options->nvjitlink_options,
	};
	while (request.options && request.options[request.option_count]) {
		request.option_count++;
	}
	kz_status st = rtc_link(&linking->linked, &request, err);
	if (!st && nvjitlink_open(&library, NULL) == KZ_OK) {
		snprintf(linking->linker, sizeof(linking->linker), "nvJitLink %u.%u",
			library->major, library->minor);
	}
	return st;
}

/* The driver's linker at work, and its logs. */
struct driver_link {
	const struct drv *drv;
	CUlinkState state;
	CUjit_option options[8];
	void *values[8];
	unsigned option_count;
	char *error_log;
	char *info_log;
};

static void link_add_option(struct driver_link *link, CUjit_option option, uintptr_t value)
{
	link->options[link->option_count] = option;
	link->values[link->option_count++] = (void *)value;
}

static void link_set_options(struct driver_link *link, const kz_link_options *options)
{
	link_add_option(link, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)link->error_log);
	link_add_option(link, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, LOG_SIZE - 1);
	link_add_option(link, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)link->info_log);
	link_add_option(link, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, LOG_SIZE - 1);
	if (options->max_registers > 0) {
		link_add_option(link, CU_JIT_MAX_REGISTERS, (unsigned)options->max_registers);
	}
	if (options->line_info) {
		link_add_option(link, CU_JIT_GENERATE_LINE_INFO, 1);
	}
	if (options->debug) {
		link_add_option(link, CU_JIT_GENERATE_DEBUG_INFO, 1);
	}
	if (options->no_optimization) {
		link_add_option(link, CU_JIT_OPTIMIZATION_LEVEL, 0);
	}
}

/* A failure of the driver's linker: its log names the symbol. */
static kz_status link_driver_ok(struct linking *linking, struct driver_link *link, CUresult code,
	const char *call, kz_error *err)
{
	if (code == CUDA_SUCCESS) {
		return KZ_OK;
	}
	struct link_failure failure = {KZ_DOMAIN_DRIVER, (int)code, call};
	return link->error_log[0] ? link_log_fail(link->error_log, &failure, err)
		: device_ok(linking->dev, code, call, err);
}

/* Have the parts linked, and copy what the driver made, and its warnings.  The context is current.
 * */
static kz_status link_run_driver(struct linking *linking, struct driver_link *link, kz_error *err)
{
	struct rtc_linked *out = &linking->linked;
	void *data = NULL;
	size_t size = 0;
	kz_status st = link_driver_ok(linking, link, link->drv->LinkCreate(link->option_count,
		link->options, link->values, &link->state), "cuLinkCreate", err);
	for (struct part *part = linking->parts.first; part && !st; part = part->next) {
		if (part->is_taken && !part_is_lto(part)) {
			bool is_ptx = part->kind == RTC_PTX;
			CUresult code = link->drv->LinkAddData(link->state,
				is_ptx ? CU_JIT_INPUT_PTX : CU_JIT_INPUT_CUBIN, (void *)part->data,
				part->size + is_ptx, part->name, 0, NULL, NULL);
			st = link_driver_ok(linking, link, code, "cuLinkAddData", err);
		}
	}
	if (st || (st = link_driver_ok(linking, link, link->drv->LinkComplete(link->state, &data,
			&size), "cuLinkComplete", err))) {
		return st;
	}
	if (!data || size == 0) {
		return error_set(err, KZ_LINK, "the driver's linker produced no output");
	}
	out->data = mem_alloc(size + 1);
	out->log = link->info_log[0] ? mem_strdup(link->info_log) : NULL;
	if (!out->data || (link->info_log[0] && !out->log)) {
		return error_no_memory(err);
	}
	memcpy(out->data, data, size);
	out->data[size] = '\0';
	out->size = size;
	return KZ_OK;
}

static kz_status link_by_driver(struct linking *linking, kz_error *err)
{
	struct device_scope scope;
	struct driver_link link = {.drv = linking->dev->drv};
	kz_status st = device_enter(linking->dev, &scope, err);
	if (st) {
		return st;
	}
	link.error_log = mem_zalloc(1, LOG_SIZE);
	link.info_log = mem_zalloc(1, LOG_SIZE);
	if (link.error_log && link.info_log) {
		link_set_options(&link, linking->options);
		st = link_run_driver(linking, &link, err);
	} else {
		st = error_no_memory(err);
	}
	if (link.state) {
		(void)link.drv->LinkDestroy(link.state);
	}
	mem_free(link.error_log);
	mem_free(link.info_log);
	device_leave(linking->dev, &scope);
	bool had_lto = linking->target.ptx_only && link_find_part(&linking->parts, true);
	snprintf(linking->linker, sizeof(linking->linker), "%sthe driver's linker",
		had_lto ? "nvJitLink and " : "");
	return st;
}

/* LTO-IR becomes PTX, which is linked with the other PTX. */
static kz_status link_for_ptx_device(struct linking *linking, kz_error *err)
{
	const struct part *lto = link_find_part(&linking->parts, true);
	const struct part *other = link_find_part(&linking->parts, false);
	bool mine = error_is_clean(err);
	kz_status st = KZ_OK;
	for (const struct part *part = linking->parts.first; part; part = part->next) {
		if (part->is_taken && part->kind == RTC_CUBIN) {
			return error_set(err, KZ_BAD_IMAGE, "'%s' is a cubin, expected PTX or "
				"LTO-IR for device '%s'", part->name, linking->dev->name);
		}
	}
	if (lto && !(st = link_by_nvjitlink(linking, true, err))) {
		st = parts_add(&linking->parts, "LTO-IR", linking->linked.data,
			linking->linked.size, err);
		rtc_linked_free(&linking->linked);
		st = st ? st : parts_resolve(&linking->parts, err);
	}
	st = st ? st : link_by_driver(linking, err);
	if (st == KZ_LINK && lto && other && mine) {
		error_add_hint(err, "for this device nvJitLink keeps only the LTO-IR functions "
			"that LTO-IR calls: compile the functions that PTX calls to PTX, or "
			"everything to LTO-IR");
	}
	return st;
}

/* Whether nvJitLink cannot do it, and the driver might. */
static bool link_is_for_driver(const struct linking *linking, const kz_error *err)
{
	const int unknown_arch = 16;
	const int unsupported_arch = 17;
	bool unfit = err->status == KZ_NO_COMPILER || (err->domain == KZ_DOMAIN_NVJITLINK
		&& (err->code == unknown_arch || err->code == unsupported_arch));
	return unfit && linking->options->linker == KZ_LINKER_ANY && linking->dev
		&& !linking->options->arch && !link_find_part(&linking->parts, true);
}

static kz_status link_for_gpu(struct linking *linking, kz_error *err)
{
	kz_error own = KZ_ERROR_INIT;
	const struct part *lto = link_find_part(&linking->parts, true);
	if (linking->options->linker == KZ_LINKER_DRIVER) {
		return lto ? error_set(err, KZ_UNSUPPORTED,
			"'%s' is LTO-IR, which nvJitLink links, and not the driver", lto->name)
			: link_by_driver(linking, err);
	}
	kz_status st = link_by_nvjitlink(linking, false, &own);
	if (st && link_is_for_driver(linking, &own)) {
		kz_error_clear(&own);
		return link_by_driver(linking, err);
	}
	if (st) {
		st = error_copy(err, &own);
		kz_error_clear(&own);
	}
	return st;
}

static kz_status link_make_image(struct kz_image **out, struct linking *linking, kz_error *err)
{
	struct rtc_image image;
	kz_status st = rtc_image_inspect(&image, linking->linked.data, linking->linked.size, err);
	if (st) {
		return st;
	}
	for (size_t i = 0; i < linking->count && !st; i++) {
		const struct kz_image *input = linking->inputs[i].image;
		if (input && !rtc_image_adopt(&image, &input->rtc)) {
			st = error_no_memory(err);
		}
	}
	if (st) {
		rtc_image_free(&image);
		return st;
	}
	mem_free(image.log);
	image.log = linking->linked.log;
	linking->linked.log = NULL;
	st = image_take(out, &image, err);
	if (!st) {
		memcpy((*out)->linker, linking->linker, sizeof(linking->linker));
	}
	return st;
}

static kz_status link_run(struct kz_image **out, struct linking *linking, kz_error *err)
{
	kz_status st = KZ_OK;
	parts_init(&linking->parts, &linking->target);
	for (size_t i = 0; i < linking->count && !st; i++) {
		st = link_add_input(linking, i, err);
	}
	if (!st && !(st = parts_resolve(&linking->parts, err))
	    && !(st = (linking->target.ptx_only ? link_for_ptx_device : link_for_gpu)(linking,
		err))) {
		st = link_make_image(out, linking, err);
	}
	rtc_linked_free(&linking->linked);
	parts_free(&linking->parts);
	return st;
}

kz_status kz_link(kz_image **out, kz_device *dev, const kz_link_input *inputs, int64_t count,
	const kz_link_options *options, kz_error *err)
{
	error_scope(err);
	static const kz_link_options defaults = KZ_LINK_OPTIONS_INIT;
	struct linking linking = {
		.dev = dev,
		.inputs = inputs,
		.count = count > 0 ? (size_t)count : 0,
		.options = options ? options : &defaults,
	};
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = pointer_check(inputs, "a list of inputs", err))) {
		return st;
	}
	if (count <= 0) {
		return error_set(err, KZ_INVALID, "expected 1 input or more, got %lld",
			(long long)count);
	}
	if (linking.options->size != sizeof(*options)) {
		return struct_refuse("kz_link_options", linking.options->size, sizeof(*options),
			err);
	}
	if (linking.options->linker < KZ_LINKER_ANY || linking.options->linker > KZ_LINKER_DRIVER
	    || (linking.options->linker == KZ_LINKER_DRIVER && !dev)) {
		return error_set(err, KZ_INVALID, dev ? "expected a kz_linker, got %d"
			: "linker %d needs a device", linking.options->linker);
	}
	st = link_choose_target(&linking, err);
	return image_give(out, st ? st : link_run(out, &linking, err));
}

const char *kz_image_linker(const kz_image *image)
{
	return object_is(image, OBJECT_IMAGE) ? image->linker : "";
}
