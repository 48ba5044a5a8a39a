/* SPDX-License-Identifier: MIT */
/*
 * CUDA C text -> image.
 *
 * A compile is one call of NVRTC (job.c) with three additions to what the caller asks for: the
 * prelude, a line after the source, and name expressions for the kernels that source_scan.c found.
 * In an unusual source each of them may be at fault: the source ends inside something, a kernel is
 * in an #if that is not taken, a variable is called NAN.  Then NVRTC is called again without the
 * addition at fault.  So we take every source that NVRTC takes, and the normal case is one call.  A
 * source that fails either way gets the diagnostics of the first call.
 */
#include "base/common.h"

#include "lib/rtc/compile.h"

#include "base/exit_gate.h"
#include "base/alloc.h"
#include "base/str.h"
#include "lib/cuda/codes.h"
#include "lib/rtc/cuda_headers.h"
#include "lib/rtc/diag.h"
#include "lib/rtc/headers.h"
#include "lib/rtc/rtc_image.h"
#include "lib/rtc/job.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* For an NVRTC that does not tell its architectures: CUDA 11.0 and older. */
#define ARCH_OLDEST 52

static const char hint_builtins[] =
	"libnvrtc-builtins of the same version must lie beside libnvrtc; 'kudzu doctor' shows "
	"where NVRTC was found";

static const char hint_ambiguous[] =
	"choose an overload by its type: static_cast<void (*)(float *)>(k<float>)";

static bool compile_texts_given(const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!texts || !texts[i]) {
			return false;
		}
	}
	return true;
}

/* N, N=4, N(x)=x.  The message of the compiler would name a line that the user does not see. */
static bool compile_is_define(const char *text)
{
	const char *c = text;
	while (str_is_word(*c)) {
		c++;
	}
	return c > text && !isdigit((unsigned char)*text) && (!*c || *c == '=' || *c == '(');
}

kz_status rtc_request_check(const struct rtc_request *request, kz_error *err)
{
	/* Each list has what it says it has. */
	const struct {
		const char *what;
		const char *const *texts;
		size_t count;
	} lists[] = {
		{"include folders", request->include_dirs, request->include_count},
		{"names of headers", request->header_names, request->header_count},
		{"texts of headers", request->header_texts, request->header_count},
		{"defines", request->defines, request->define_count},
		{"template instances", request->instances, request->instance_count},
		{"compiler options", request->options, request->option_count},
	};
	if (!request->source) {
		return error_set(err, KZ_INVALID, "expected source text, got NULL");
	}
	for (size_t i = 0; i < countof(lists); i++) {
		if (!compile_texts_given(lists[i].texts, lists[i].count)) {
			return error_set(err, KZ_INVALID, "expected %zu %s, got a NULL among them",
				lists[i].count, lists[i].what);
		}
	}
	for (size_t i = 0; i < request->define_count; i++) {
		if (!compile_is_define(request->defines[i])) {
			return error_set(err, KZ_INVALID, "invalid define '%s'",
				request->defines[i]);
		}
	}
	for (size_t i = 0; i < request->include_count; i++) {
		if (!request->include_dirs[i][0]) {
			return error_set(err, KZ_INVALID, "include_dirs[%zu] is empty", i);
		}
	}
	for (size_t i = 0; i < request->option_count; i++) {
		const char *option = request->options[i];
		if (strncmp(option, "-arch", 5) == 0
		    || strncmp(option, "--gpu-architecture", 18) == 0) {
			return error_set(err, KZ_INVALID,
				"expected the architecture by its own name, got the option '%s'",
				option);
		}
	}
	if (request->fast_compile < 0 || request->fast_compile > 3) {
		return error_set(err, KZ_INVALID, "expected fast_compile to be from 0 to 3, got %d",
			request->fast_compile);
	}
	if (request->max_registers < 0) {
		return error_set(err, KZ_INVALID, "expected max_registers of 0 or more, got %d",
			request->max_registers);
	}
	return KZ_OK;
}

static kz_status compile_choose_arch(struct job *job, kz_error *err)
{
	const struct rtc_request *request = job->request;
	const struct nvrtc *nvrtc = job->nvrtc;
	const char *arch = request->arch;
	if (!arch && request->device_cc == 0) {
		/* No device: what all of them load. */
		snprintf(job->arch, sizeof(job->arch), "compute_%d",
			nvrtc->arch_count ? nvrtc->archs[0] : ARCH_OLDEST);
		return KZ_OK;
	}
	if (!arch) {
		return rtc_choose_arch(job->arch, nvrtc->archs, nvrtc->arch_count,
			request->device_cc, request->ptx_only, err);
	}
	static const char *const kinds[] = {"sm_", "compute_", "lto_"};
	size_t kind = 0;
	while (kind < countof(kinds) && strncmp(arch, kinds[kind], strlen(kinds[kind])) != 0) {
		kind++;
	}
	const char *number = arch + (kind < countof(kinds) ? strlen(kinds[kind]) : 0);
	if (kind == countof(kinds) || !isdigit((unsigned char)*number) || strlen(arch) >= 20) {
		return error_set(err, KZ_INVALID, "expected an architecture such as sm_90, "
			"compute_75 or lto_90, got '%.64s'", arch);
	}
	job->is_lto = kind == 2;
	kind += kind == 0 && request->ptx_only;
	snprintf(job->arch, sizeof(job->arch), "%s%.12s", kinds[kind], number);
	return KZ_OK;
}

static kz_status compile_set_native(const struct job *job, kz_status st, const char *message,
	kz_error *err)
{
	bool mine = error_is_clean(err);
	const struct native_code *code = codes_find(KZ_DOMAIN_NVRTC, job->code);
	const struct foreign_code foreign = {KZ_DOMAIN_NVRTC, job->code,
		code ? code->name : NULL, .call = job->call};
	error_foreign(err, st, &foreign, "%s", message);
	if (mine && code) {
		error_add_hint(err, code->hint);
	}
	return st;
}

/* NVRTC does not know an option; the architecture is one of ours. */
static kz_status compile_fail_option(const struct job *job, struct diag *diag, kz_error *err)
{
	bool mine = error_is_clean(err);
	bool arch = job->log && strstr(job->log, "--gpu-architecture");
	bool fast = job->log && job->request->fast_compile > 0
		    && strstr(job->log, JOB_FAST_COMPILE);
	kz_status st = arch || fast ? KZ_VERSION : KZ_INVALID;
	struct str text = STR_INIT;
	if (arch) {
		str_addf(&text, "NVRTC %d.%d does not know '%s'; it knows", job->nvrtc->major,
			job->nvrtc->minor,
			job->request->arch ? job->request->arch : job->arch);
		for (int i = 0; i < job->nvrtc->arch_count; i++) {
			str_addf(&text, "%s %d", i > 0 ? "," : "", job->nvrtc->archs[i]);
		}
	} else if (fast) {
		str_addf(&text, "NVRTC %d.%d does not know fast_compile", job->nvrtc->major,
			job->nvrtc->minor);
	} else {
		str_add(&text, diag->message ? diag->message : "invalid compiler option");
	}
	if (text.failed) {
		st = error_no_memory(err);
	} else {
		compile_set_native(job, st, text.data, err);
	}
	if (mine && st != KZ_NO_MEMORY) {
		error_take_log(err, diag->text);
		diag->text = NULL;
	}
	str_free(&text);
	return st;
}

/* NVRTC finds no template instance of that name, or more than one. */
static kz_status compile_fail_instance(const struct job *job, const struct job_name *name,
	kz_error *err)
{
	struct str text = STR_INIT;
	bool mine = error_is_clean(err);
	bool ambiguous = diag_name_is_ambiguous(job->log, name->expression);
	str_addf(&text, ambiguous
		? "template instance '%s' is ambiguous; kernels in this source:"
		: "no kernel template instance '%s'; kernels in this source:", name->kernel);
	for (size_t i = 0; i < job->facts->kernel_count; i++) {
		const struct source_kernel *kernel = &job->facts->kernels[i];
		str_addf(&text, "%s %s%s", i > 0 ? "," : "", kernel->name,
			kernel->is_template ? "<...>" : "");
	}
	str_add(&text, job->facts->kernel_count ? "" : " none");
	size_t len = 0;
	const char *reason = ambiguous ? NULL : diag_name_reason(&len, job->log, name->expression);
	if (reason) {
		str_addf(&text, "; the compiler says: %.*s", (int)len, reason);
	}
	kz_status st = text.failed ? error_no_memory(err)
				       : compile_set_native(job, KZ_NOT_FOUND, text.data, err);
	if (mine && ambiguous && st != KZ_NO_MEMORY) {
		error_add_hint(err, hint_ambiguous);
	}
	str_free(&text);
	return st;
}

static kz_status compile_fail(const struct job *job, struct diag *diag, kz_error *err)
{
	bool mine = error_is_clean(err);
	if (job->code == JOB_INVALID_OPTION) {
		return compile_fail_option(job, diag, err);
	}
	for (size_t i = 0; i < job->name_count && diag->errors == 0; i++) {
		if (job->names[i].purpose == NAME_INSTANCE && job->log
		    && diag_rejects_name(job->log, job->names[i].expression)) {
			return compile_fail_instance(job, &job->names[i], err);
		}
	}
	kz_status st = KZ_COMPILE;
	if (job->code == JOB_COMPILATION) {
		compile_set_native(job, st, diag->message ? diag->message
			: "the source does not compile", err);
	} else {
		st = codes_fail(KZ_DOMAIN_NVRTC, job->code, job->call, NULL, err);
	}
	if (!mine) {
		return st;
	}
	if (job->code == JOB_BUILTINS) {
		error_add_hint(err, hint_builtins);
	} else if (job->code == JOB_COMPILATION) {
		error_add_place(err, diag->file, diag->line, diag->column);
		if (diag->message) { /* which says more than the advice for all sources does */
			error_add_hint(err, diag->hint);
		}
	}
	error_take_log(err, diag->text);
	diag->text = NULL;
	return st;
}

/* Drop the names that NVRTC does not know; true if there were any of ours. */
static bool compile_drop_rejected(struct job *job)
{
	bool dropped = false;
	for (size_t i = job->name_count; i-- > 0;) {
		if (!diag_rejects_name(job->log, job->names[i].expression)) {
			continue;
		}
		if (job->names[i].purpose == NAME_INSTANCE) {
			return false;
		}
		job_drop_name(job, i);
		dropped = true;
	}
	return dropped;
}

static bool compile_is_probe(const struct job_name *name)
{
	return name->purpose == NAME_PROBE || name->purpose == NAME_VARIABLE;
}

static void compile_drop_probes(struct job *job)
{
	job->tail = false;
	for (size_t i = job->name_count; i-- > 0;) {
		if (compile_is_probe(&job->names[i])) {
			job_drop_name(job, i);
		}
	}
}

/* Whether the first error is about a type of the prelude, or is where the source has a macro of
 * that name. */
static bool compile_prelude_at_fault(const struct diag *diag)
{
	if (diag->names_prelude) {
		return true;
	}
	for (const char *at = diag->excerpt; at && *at;) {
		size_t len = 0;
		while (str_is_word(at[len])) {
			len++;
		}
		if (len > 0 && headers_has_macro(at, len)) {
			return true;
		}
		at += len > 0 ? len : 1;
	}
	return false;
}

/* After a failure: take out what we added and what is at fault, or ask for the line of source of an
 * error of the assembler.  True if another try may help. */
static bool compile_simplify(struct job *job, const struct diag *diag)
{
	if (job->code != JOB_COMPILATION || !job->log) {
		return false;
	}
	bool has_lines = job->locate || job->request->line_info || job->request->debug;
	if (!has_lines && strstr(job->log, "ptxas application ptx input, line ")) {
		job->locate = true;
		return true;
	}
	if (job->tail && strstr(job->log, JOB_TAIL_FILE "(")) {
		compile_drop_probes(job);
		return true;
	}
	if (diag->errors == 0) {
		return compile_drop_rejected(job);
	}
	if (job->prelude && compile_prelude_at_fault(diag)) {
		job->prelude = false;
		return true;
	}
	return false;
}

static bool compile_read_log(struct diag *out, const struct job *job)
{
	const struct rtc_request *request = job->request;
	size_t own = request->include_count;
	size_t count = own + job->nvrtc->include_count + request->bundle_count;
	const char **folders = mem_zalloc(count + 1, sizeof(*folders));
	if (!folders) {
		return false;
	}
	for (size_t i = 0; i < own; i++) {
		folders[i] = request->include_dirs[i];
	}
	for (size_t i = own; i < count - request->bundle_count; i++) {
		folders[i] = job->nvrtc->include_dirs[i - own];
	}
	for (size_t i = 0; i < request->bundle_count; i++) {
		folders[count - request->bundle_count + i] = request->bundle_dirs[i];
	}
	struct diag_context context = {
		.name = job_source_name(job),
		.source = request->source,
		.include_dirs = folders,
		.include_count = count,
		.ptx = job->ptx,
		.cuda_note = request->bundle_note,
	};
	bool ok = (job->code == 0 || cuda_parts_find_all(&context.cuda_parts, folders + own,
			count - own))
		&& diag_read(out, job->log ? job->log : "", &context);
	mem_free(folders);
	return ok;
}

/* Call NVRTC until it succeeds or nothing is left to try; *log gets the warnings. */
static kz_status compile_run(struct job *job, char **log, kz_error *err)
{
	struct diag first = {0}; /* of a failure with the prelude */
	struct diag diag = {0};
	kz_status st;
	bool again;
	do {
		bool with_prelude = job->prelude;
		diag_free(&diag);
		again = false;
		st = job_run(job, err);
		if (!st && !compile_read_log(&diag, job)) {
			st = error_no_memory(err);
		}
		if (!st && job->code != 0) {
			again = compile_simplify(job, &diag);
		}
		if (with_prelude && again && !job->prelude) {
			first = diag;
			diag = (struct diag){0};
		}
	} while (again);
	if (!st && job->code != 0) {
		st = compile_fail(job, first.text ? &first : &diag, err);
	} else if (!st && diag.text[0]) {
		*log = diag.text;
		diag.text = NULL;
	}
	diag_free(&first);
	diag_free(&diag);
	return st;
}

/* The probes have done their work: take their variables out of the PTX, unless something else
 * there, such as debug information, refers to them. */
static void compile_strip_probes(char *ptx, const struct job *job)
{
	for (size_t i = 0; i < job->name_count; i++) {
		const char *lowered = job->names[i].lowered;
		bool probe = compile_is_probe(&job->names[i]) && lowered;
		char *at = probe ? strstr(ptx, lowered) : NULL;
		if (!at || strstr(at + 1, lowered)) {
			continue;
		}
		char *line = at;
		while (line > ptx && line[-1] != '\n') {
			line--;
		}
		char *end = at + strcspn(at, "\n");
		size_t weak = strncmp(line, ".weak ", 6) == 0 ? 6 : 0; /* with -rdc=true */
		if (strncmp(line + weak, ".global .align 1 .u8 ", 21) == 0 && *end) {
			memmove(line, end + 1, strlen(end + 1) + 1);
		}
	}
}

/* The kernel that a name is about. */
static struct rtc_kernel *compile_named_kernel(const struct rtc_image *image, const struct job *job,
	const struct job_name *name)
{
	for (size_t i = 0; i < job->name_count; i++) {
		const struct job_name *other = &job->names[i];
		if (other->purpose == NAME_INSTANCE && other->lowered
		    && strcmp(other->kernel, name->kernel) == 0) {
			return image_by_symbol(image, other->lowered);
		}
	}
	/* extern "C": the symbol is the name without its namespaces. */
	const char *symbol = strrchr(name->kernel, ':');
	return image_by_symbol(image, symbol ? symbol + 1 : name->kernel);
}

/* Whether the instance of a name was asked for before, by another name. */
static bool compile_asks_again(const struct job *job, size_t index)
{
	const struct job_name *name = &job->names[index];
	for (size_t i = 0; i < index; i++) {
		const struct job_name *other = &job->names[i];
		if (other->purpose == NAME_INSTANCE && other->lowered
		    && strcmp(other->lowered, name->lowered) == 0) {
			return true;
		}
	}
	return false;
}

/* Take what the name expressions tell: the names by which a caller asks for instances, and the
 * types from probes. */
static bool compile_apply_names(struct rtc_image *image, const struct job *job)
{
	struct str aliases = STR_INIT;
	bool ok = true;
	for (size_t i = 0; i < job->name_count && ok; i++) {
		const struct job_name *name = &job->names[i];
		if (name->purpose == NAME_VARIABLE) {
			ok = !name->lowered || image_type_variable(image, name->kernel,
				name->lowered);
			continue;
		}
		struct rtc_kernel *kernel = compile_named_kernel(image, job, name);
		if (!kernel || !name->lowered || name->purpose == NAME_KERNEL) {
			continue;
		}
		if (name->purpose == NAME_INSTANCE && compile_asks_again(job, i)) {
			str_addf(&aliases, "%s\n%s\n", name->kernel, name->lowered);
			continue;
		}
		if (name->purpose == NAME_INSTANCE) {
			char *copy = mem_strdup(name->kernel);
			ok = copy;
			if (copy) {
				mem_free(kernel->name);
				kernel->name = copy;
			}
			continue;
		}
		struct signature signature;
		ok = signature_read(&signature, name->lowered, true);
		if (ok) {
			image_merge(kernel, &signature, true);
			signature_free(&signature);
		}
	}
	ok = ok && !aliases.failed;
	image->aliases = ok && aliases.len ? str_take(&aliases) : NULL;
	str_free(&aliases);
	return ok;
}

/* The kernels of LTO-IR are those of the source that NVRTC found. */
static bool compile_add_named_kernels(struct rtc_image *image, const struct job *job)
{
	bool ok = true;
	for (size_t i = 0; i < job->name_count && ok; i++) {
		const struct job_name *name = &job->names[i];
		if (!compile_is_probe(name) && name->lowered) {
			ok = image_add_kernel(image, name->lowered, strlen(name->lowered), NULL, 0,
				false);
		}
	}
	return ok && image_finish(image);
}

static bool compile_add_templates(struct rtc_image *image, const struct source_facts *facts)
{
	struct str names = STR_INIT;
	for (size_t i = 0; i < facts->kernel_count; i++) {
		if (facts->kernels[i].is_template) {
			str_addf(&names, "%s\n", facts->kernels[i].name);
		}
	}
	bool ok = !names.failed;
	image->templates = names.len ? str_take(&names) : NULL;
	str_free(&names);
	return ok;
}

/* Take the bytes over. */
static void compile_take_data(struct rtc_image *out, struct job *job, char **data, size_t size)
{
	out->data = *data;
	out->size = size;
	*data = NULL;
	out->is_ptx = data == &job->ptx;
	out->is_lto = data == &job->lto;
}

/* Take the results over into an image.  PTX tells more of its kernels than a cubin. */
static kz_status compile_assemble(struct rtc_image *out, struct job *job, kz_error *err)
{
	bool is_cubin = strncmp(job->arch, "sm_", 3) == 0;
	const char *what = is_cubin ? "cubin" : job->is_lto ? "LTO-IR" : "PTX";
	kz_status st = KZ_OK;
	memcpy(out->arch, job->arch, sizeof(out->arch));
	if (is_cubin ? !job->cubin : job->is_lto ? !job->lto : !job->ptx || !job->ptx[0]) {
		return error_set(err, KZ_UNSUPPORTED, "the compiler made no %s with these options",
			what);
	}
	if (job->ptx) {
		compile_strip_probes(job->ptx, job);
		out->is_ptx = true;
		st = image_read_ptx(out, job->ptx, err);
	}
	bool told = job->ptx;
	if (is_cubin) {
		compile_take_data(out, job, &job->cubin, job->cubin_size);
	} else if (job->is_lto) {
		compile_take_data(out, job, &job->lto, job->lto_size);
	} else {
		compile_take_data(out, job, &job->ptx, strlen(job->ptx));
	}
	if (!st && is_cubin && !told) {
		st = image_read_cubin(out, err);
	}
	bool named = st || !job->is_lto || compile_add_named_kernels(out, job);
	return st || (named && compile_apply_names(out, job) && compile_add_templates(out,
		job->facts)) ? st : error_no_memory(err);
}

/* With NVRTC. */
static kz_status compile_with(struct rtc_image *out, const struct rtc_request *request,
	const struct source_facts *facts, kz_error *err)
{
	struct job job = {.request = request, .facts = facts};
	kz_status st;

	*out = (struct rtc_image){0};
	if ((st = nvrtc_open(&job.nvrtc, err)) || (st = compile_choose_arch(&job, err))) {
		return st;
	}
	job.prelude = headers_want_prelude(request, facts->has_prelude_word);
	job.tail = facts->is_complete;
	job.pch = request->pch_folder;
	if (!(st = job_prepare(&job, err)) && !(st = compile_run(&job, &out->log, err))) {
		st = compile_assemble(out, &job, err);
	}
	if (st) {
		rtc_image_free(out);
	}
	job_finish(&job);
	return st;
}

kz_status rtc_compile(struct rtc_image *out, const struct rtc_request *request,
	const struct source_facts *facts, kz_error *err)
{
	kz_status st = exit_gate_pass(err);
	*out = (struct rtc_image){0};
	if (!st) {
		st = compile_with(out, request, facts, err);
		exit_gate_leave();
	}
	return st;
}
