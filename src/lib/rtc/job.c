/* SPDX-License-Identifier: MIT */
/*
 * One call of NVRTC.
 *
 * It runs on a thread of its own.  NVRTC needs more stack than a caller's thread may have, and
 * would otherwise raise the stack limit of the whole process while it works.
 *
 * The parameter types of an extern "C" kernel are in no symbol.  One more line after the source,
 *
 *	template<class F> __device__ char kudzu_probe;
 *
 * and the name expression &kudzu_probe<decltype(k)> make NVRTC mangle them for us.  The types of
 * variables are found in the same way.
 */
#include "base/common.h"

#include "lib/rtc/job.h"

#include "base/alloc.h"
#include "base/str.h"
#include "lib/rtc/diag.h"
#include "lib/rtc/headers.h"
#include "lib/rtc/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE "kudzu_probe"

/* Of precompiled headers. */
#define HEAP_MAX ((size_t)1 << 30)
#define CREATE_HEAP_EXHAUSTED 14

/* A blank line ends a comment that a backslash carries over the end of the source. */
static const char tail[] =
	"\n\n#line 1 \"" JOB_TAIL_FILE "\"\n"
	"template<class F> __device__ char " PROBE ";\n";

/* Options that older versions of NVRTC do not know.  The first keeps RLIMIT_STACK as it is.  The
 * last is for callers who want the log of ptxas: with NVIDIA's driver, NVRTC has a cache of its
 * own, and what comes from there has no log. */
static const struct {
	const char *text;
	bool for_ptxas;
} extras[] = {{"-modify-stack-limit=false", false}, {"-device-int128", false},
	{"--no-cache", true}};
static_assert(countof(extras) <= 32, "a set of them has 32 bits");
static atomic_uint extras_unknown; /* as bits; learnt once per process */

struct options {
	char **items;
	size_t count;
	size_t cap;
	bool no_memory;
};

static void job_options_add(struct options *options, const char *prefix, const char *text)
{
	struct str option = STR_INIT;
	char **items = mem_grow(options->items, options->count, &options->cap, sizeof(*items));
	if (!items) {
		options->no_memory = true;
		return;
	}
	options->items = items;
	str_add(&option, prefix);
	str_add(&option, text);
	char *taken = str_take(&option);
	if (taken) {
		options->items[options->count++] = taken;
	} else {
		options->no_memory = true;
	}
}

static void job_options_add_all(struct options *options, const char *prefix,
	const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		job_options_add(options, prefix, texts[i]);
	}
}

static void job_options_free(struct options *options)
{
	for (size_t i = 0; i < options->count; i++) {
		mem_free(options->items[i]);
	}
	mem_free(options->items);
}

static const char *const fast_compile_levels[] = {NULL, "min", "mid", "max"};

static bool job_has_options_of_ptxas(const struct rtc_request *request)
{
	static const char *const names[] = {"-Xptxas", "--ptxas-options"};
	for (size_t i = 0; i < request->option_count; i++) {
		for (size_t k = 0; k < countof(names); k++) {
			if (strncmp(request->options[i], names[k], strlen(names[k])) == 0) {
				return true;
			}
		}
	}
	return false;
}

/* The caller's options come last; its include folders come before CUDA's. */
static bool job_options_build(struct options *options, struct job *job)
{
	const struct rtc_request *request = job->request;
	char number[16];
	if (job->is_lto) {
		job_options_add(options, "-arch=compute_", job->arch + strlen("lto_"));
		job_options_add(options, "-dlto", "");
	} else {
		job_options_add(options, "-arch=", job->arch);
	}
	bool for_ptxas = job_has_options_of_ptxas(request);
	job->extras = ~atomic_load(&extras_unknown);
	for (size_t i = 0; i < countof(extras); i++) {
		if ((job->extras >> i & 1) && (for_ptxas || !extras[i].for_ptxas)) {
			job_options_add(options, extras[i].text, "");
		}
	}
	if (job->prelude) {
		job_options_add(options, "-include=", HEADERS_PRELUDE);
	}
	job_options_add_all(options, "-D", request->defines, request->define_count);
	job_options_add_all(options, "-I", request->include_dirs, request->include_count);
	job_options_add_all(options, "-I", (const char *const *)job->nvrtc->include_dirs,
		job->nvrtc->include_count);
	job_options_add_all(options, "-I", request->bundle_dirs, request->bundle_count);
	if (request->debug) {
		job_options_add(options, "-G", "");
	} else if (request->line_info) {
		job_options_add(options, "-lineinfo", "");
	}
	if (request->fast_math) {
		job_options_add(options, "-use_fast_math", "");
	}
	if (request->relocatable) {
		job_options_add(options, "-rdc=true", "");
	}
	if (request->fast_compile > 0) {
		job_options_add(options, JOB_FAST_COMPILE "=",
			fast_compile_levels[request->fast_compile]);
	}
	if (request->max_registers > 0) {
		snprintf(number, sizeof(number), "%d", request->max_registers);
		job_options_add(options, "-maxrregcount=", number);
	}
	if (request->std) {
		job_options_add(options, "-std=", request->std);
	}
	if (job->locate) {
		job_options_add(options, "-lineinfo", "");
	}
	if (job->pch) {
		job_options_add(options, "--pch", "");
		job_options_add(options, "--pch-dir=", job->pch);
		job_options_add(options, "--pch-messages=false", "");
		job_options_add(options, "--pch-verbose=false", "");
	}
	job_options_add_all(options, "", request->options, request->option_count);
	return !options->no_memory;
}

/* The argument of the thread. */
struct call {
	struct job *job;
	const char *source;
	const struct headers *headers;
	const struct options *options;
};

/* Note the first call that fails; true if this one did not. */
static bool job_check(struct job *job, nvrtcResult code, const char *name)
{
	if (code != 0 && job->code == 0) {
		job->code = code;
		job->call = name;
	}
	return code == 0;
}

/* A text or binary that NVRTC gives the size of first, and the names of the two calls. */
struct fetch {
	nvrtcResult (*get_size)(nvrtcProgram, size_t *);
	nvrtcResult (*get)(nvrtcProgram, char *);
	const char *size_name;
	const char *name;
};

/* NULL where it is empty. */
static char *job_fetch(struct job *job, nvrtcProgram program, struct fetch fetch, size_t *size)
{
	*size = 0;
	if (!fetch.get_size || !fetch.get
	    || !job_check(job, fetch.get_size(program, size), fetch.size_name) || *size == 0) {
		return NULL;
	}
	char *data = mem_alloc(*size + 1);
	if (!data) {
		job->no_memory = true;
		return NULL;
	}
	if (!job_check(job, fetch.get(program, data), fetch.name)) {
		mem_free(data);
		return NULL;
	}
	data[*size] = '\0';
	return data;
}

static void job_fetch_ptx(struct job *job, nvrtcProgram program)
{
	size_t size;
	struct fetch ptx = {job->nvrtc->GetPTXSize, job->nvrtc->GetPTX, "nvrtcGetPTXSize",
		"nvrtcGetPTX"};
	job->ptx = job_fetch(job, program, ptx, &size);
}

static void job_fetch_results(struct job *job, nvrtcProgram program)
{
	const struct nvrtc *nvrtc = job->nvrtc;
	struct fetch cubin = {nvrtc->GetCUBINSize, nvrtc->GetCUBIN, "nvrtcGetCUBINSize",
		"nvrtcGetCUBIN"};
	struct fetch lto = {nvrtc->GetLTOIRSize, nvrtc->GetLTOIR, "nvrtcGetLTOIRSize",
		"nvrtcGetLTOIR"};
	job_fetch_ptx(job, program);
	if (job->is_lto) {
		job->lto = job_fetch(job, program, lto, &job->lto_size);
	} else if (strncmp(job->arch, "sm_", 3) == 0) {
		job->cubin = job_fetch(job, program, cubin, &job->cubin_size);
	}
	for (size_t i = 0; i < job->name_count; i++) {
		const char *lowered = NULL;
		struct job_name *name = &job->names[i];
		if (job_check(job, nvrtc->GetLoweredName(program, name->expression, &lowered),
			    "nvrtcGetLoweredName")) {
			name->lowered = mem_strdup(lowered);
			job->no_memory |= !name->lowered;
		}
	}
}

/* NVRTC keeps precompiled headers in one heap of the process.  Compiles read it, and growing it
 * frees all of it. */
static pthread_rwlock_t heap_lock = PTHREAD_RWLOCK_INITIALIZER;

static void job_heap_grow(const struct nvrtc *nvrtc, size_t required)
{
	size_t size = 0;
	pthread_rwlock_wrlock(&heap_lock);
	if (nvrtc->GetPCHHeapSize(&size) == 0 && size < HEAP_MAX && required <= HEAP_MAX) {
		size_t wanted = size + required;
		wanted = wanted < 2 * size ? 2 * size : wanted;
		(void)nvrtc->SetPCHHeapSize(wanted < HEAP_MAX ? wanted : HEAP_MAX);
	}
	pthread_rwlock_unlock(&heap_lock);
}

void job_reserve_heap(const struct nvrtc *nvrtc)
{
	size_t size = 0;
	pthread_rwlock_wrlock(&heap_lock);
	if (nvrtc->GetPCHHeapSize(&size) == 0 && size < HEAP_MAX) {
		(void)nvrtc->SetPCHHeapSize(HEAP_MAX);
	}
	pthread_rwlock_unlock(&heap_lock);
}

/* A compile that may use it has ended: make room if there was too little. */
static void job_heap_end(const struct nvrtc *nvrtc, nvrtcProgram program)
{
	size_t required = 0;
	bool exhausted = nvrtc->GetPCHCreateStatus(program) == CREATE_HEAP_EXHAUSTED
			 && nvrtc->GetPCHHeapSizeRequired(program, &required) == 0;
	pthread_rwlock_unlock(&heap_lock);
	if (exhausted) {
		job_heap_grow(nvrtc, required);
	}
}

static int job_compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name expressions, sorted, each once; *count is how many. */
static const char **job_sort_names(const struct job *job, size_t *count)
{
	const char **names = mem_zalloc(job->name_count, sizeof(*names));
	*count = 0;
	if (!names) {
		return NULL;
	}
	for (size_t i = 0; i < job->name_count; i++) {
		names[i] = job->names[i].expression;
	}
	qsort(names, job->name_count, sizeof(*names), job_compare_text);
	for (size_t i = 0; i < job->name_count; i++) {
		if (*count == 0 || strcmp(names[i], names[*count - 1]) != 0) {
			names[(*count)++] = names[i];
		}
	}
	return names;
}

/* NVRTC up to CUDA 12.0 does not quote the name expression that an error is about.  Put it after
 * the error, as newer ones do. */
static void job_quote_names(struct job *job)
{
	static const char file[] = DIAG_NAME_FILE "(";
	if (!job->log || !strstr(job->log, file) || strstr(job->log, DIAG_NAME_LINE)) {
		return;
	}
	size_t count;
	const char **names = job_sort_names(job, &count);
	struct str log = STR_INIT;
	for (const char *at = job->log; names && *at;) {
		const size_t len = strcspn(at, "\n");
		const long line = strncmp(at, file, sizeof(file) - 1) == 0
			? strtol(at + sizeof(file) - 1, NULL, 10) : 0;
		str_addn(&log, at, len);
		str_addc(&log, '\n');
		if (line >= 2 && (size_t)line - 2 < count) {
			str_addf(&log, "  " DIAG_NAME_LINE "%s\n  ^\n", names[line - 2]);
		}
		at += len + (at[len] == '\n');
	}
	mem_free(names);
	char *text = names ? str_take(&log) : NULL;
	if (text) {
		mem_free(job->log);
		job->log = text;
	}
	job->no_memory |= !text;
}

static void *job_thread_main(void *data)
{
	const struct call *call = data;
	struct job *job = call->job;
	const struct nvrtc *nvrtc = job->nvrtc;
	nvrtcProgram program;
	size_t size;
	struct fetch log = {nvrtc->GetProgramLogSize, nvrtc->GetProgramLog,
		"nvrtcGetProgramLogSize", "nvrtcGetProgramLog"};
	if (!job_check(job, nvrtc->CreateProgram(&program, call->source, job_source_name(job),
			    call->headers->count, call->headers->texts, call->headers->names),
		    "nvrtcCreateProgram")) {
		return NULL;
	}
	bool ok = true;
	for (size_t i = 0; i < job->name_count && ok; i++) {
		ok = job_check(job, nvrtc->AddNameExpression(program, job->names[i].expression),
			"nvrtcAddNameExpression");
	}
	if (ok) {
		if (job->pch) {
			pthread_rwlock_rdlock(&heap_lock);
		}
		nvrtcResult code = nvrtc->CompileProgram(program, (int)call->options->count,
			(const char *const *)call->options->items);
		if (job->pch) {
			job_heap_end(nvrtc, program);
		}
		ok = job_check(job, code, "nvrtcCompileProgram");
		job->log = job_fetch(job, program, log, &size);
		job_quote_names(job);
		if (ok) {
			job_fetch_results(job, program);
		} else {
			job_fetch_ptx(job, program);
		}
	}
	nvrtc->DestroyProgram(&program);
	return NULL;
}

/* If NVRTC did not know an option that we added: do without it from now on. */
static bool job_unlearn_extra(const struct job *job)
{
	if (job->code != JOB_INVALID_OPTION || !job->log || !strstr(job->log, "unrecognized")) {
		return false;
	}
	for (size_t i = 0; i < countof(extras); i++) {
		if ((job->extras >> i & 1) && strstr(job->log, extras[i].text)) {
			atomic_fetch_or(&extras_unknown, 1u << i);
			return true;
		}
	}
	return false;
}

/* Whether precompiled headers may be at fault: the folder is gone, an option is not known, or the
 * compile ended early, as it does when the disk is full or there is no memory for the heap, but
 * also at #error.  Then do without them. */
static bool job_drop_pch(struct job *job)
{
	const char *log = job->pch && job->code != 0 && job->log ? job->log : "";
	bool is_option = job->code == JOB_INVALID_OPTION;
	bool at_fault = is_option && strstr(log, "--pch");
	at_fault |= !is_option && (strstr(log, "PCH directory") || strstr(log, "atastrophic"));
	job->pch = at_fault ? NULL : job->pch;
	return at_fault;
}

kz_status job_run(struct job *job, kz_error *err)
{
	kz_status st;
	bool has_pch = job->pch;
	do {
		struct options options = {0};
		struct headers headers = {0};
		struct str source = STR_INIT;
		job_reset(job);
		str_add(&source, job->request->source);
		str_add(&source, job->tail ? tail : "");
		st = headers_collect(&headers, job->request, job->prelude, err);
		if (!st && (!job_options_build(&options, job) || source.failed)) {
			st = error_no_memory(err);
		}
		if (!st) {
			struct call call = {job, source.data, &headers, &options};
			st = thread_run(job_thread_main, &call, err);
		}
		str_free(&source);
		headers_free(&headers);
		job_options_free(&options);
	} while (!st && (job_unlearn_extra(job) || job_drop_pch(job)));
	if (has_pch && !job->pch && !st && job->code == 0 && job->request->pch_failed) {
		*job->request->pch_failed = true; /* it was not the source */
	}
	return st || !job->no_memory ? st : error_no_memory(err);
}

/* Takes the expression. */
static bool job_add_name(struct job *job, enum name_purpose purpose, char *expression,
	const char *kernel)
{
	struct job_name *grown = NULL;
	if (expression) {
		grown = mem_realloc(job->names, (job->name_count + 1) * sizeof(*grown));
	}
	if (!grown) {
		mem_free(expression);
		return false;
	}
	job->names = grown;
	grown[job->name_count++] = (struct job_name){
		.purpose = purpose,
		.expression = expression,
		.kernel = kernel,
	};
	return true;
}

static bool job_add_probe(struct job *job, enum name_purpose purpose, const char *name)
{
	struct str text = STR_INIT;
	/* A variable in parentheses gives a reference; without them a managed one is an error. */
	str_addf(&text, purpose == NAME_VARIABLE ? "&" PROBE "<decltype((%s))>"
		: "&" PROBE "<decltype(%s)>", name);
	return job_add_name(job, purpose, str_take(&text), name);
}

kz_status job_prepare(struct job *job, kz_error *err)
{
	const struct rtc_request *request = job->request;
	bool ok = true;
	for (size_t i = 0; i < request->instance_count && ok; i++) {
		const char *instance = request->instances[i];
		ok = job_add_name(job, NAME_INSTANCE, mem_strdup(instance), instance)
		     && (!job->tail || job_add_probe(job, NAME_PROBE, instance));
	}
	for (size_t i = 0; i < job->facts->kernel_count && ok; i++) {
		const struct source_kernel *kernel = &job->facts->kernels[i];
		if (kernel->extern_c && job->tail) {
			ok = job_add_probe(job, NAME_PROBE, kernel->name);
		}
		/* LTO-IR does not say itself which kernels it has. */
		if ((kernel->internal || job->is_lto) && !kernel->is_template && ok) {
			ok = job_add_name(job, NAME_KERNEL, mem_strdup(kernel->name), kernel->name);
		}
	}
	for (size_t i = 0; i < job->facts->variable_count && ok && job->tail; i++) {
		ok = job_add_probe(job, NAME_VARIABLE, job->facts->variables[i]);
	}
	return ok ? KZ_OK : error_no_memory(err);
}

void job_drop_name(struct job *job, size_t index)
{
	mem_free(job->names[index].expression);
	mem_free(job->names[index].lowered);
	job->name_count--;
	memmove(&job->names[index], &job->names[index + 1],
		(job->name_count - index) * sizeof(*job->names));
}

void job_reset(struct job *job)
{
	for (size_t i = 0; i < job->name_count; i++) {
		mem_free(job->names[i].lowered);
		job->names[i].lowered = NULL;
	}
	mem_free(job->log);
	mem_free(job->ptx);
	mem_free(job->cubin);
	mem_free(job->lto);
	job->log = job->ptx = job->cubin = job->lto = NULL;
	job->code = 0;
	job->call = NULL;
	job->no_memory = false;
}

void job_finish(struct job *job)
{
	job_reset(job);
	while (job->name_count > 0) {
		job_drop_name(job, job->name_count - 1);
	}
	mem_free(job->names);
	job->names = NULL;
}
