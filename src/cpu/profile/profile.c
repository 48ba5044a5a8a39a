/* SPDX-License-Identifier: MIT */
/*
 * The kernels that are profiled, and the file that they are written to.
 *
 * A lock guards the list and all sums.  It is taken when code is loaded or unloaded and when a
 * launch has ended, and never by a signal handler: samples are counted in arrays of the code.
 */
#include "base/common.h"

#include "cpu/profile/profile_kernel.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "cpu/config/settings.h"
#include "cpu/ir/counters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	struct profile_kernel *kernels;
	int file;       /* -1: there is none, */
	bool is_regular; /* else it is written at the end only, */
	_Atomic(pid_t) process; /* or it is this process's: its children do not write it */
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

/* --- The file --- */

static bool profile_write_file(const struct str *text)
{
	return profile.is_regular ? ftruncate(profile.file, 0) == 0
		&& file_write(profile.file, text->data, text->len, 0)
		: file_write(profile.file, text->data, text->len, -1);
}

static bool profile_write_now(bool is_end)
{
	struct str text = STR_INIT;
	bool ok = true;
	/* In a child the lock may stay taken, by a thread that is not there. */
	if (atomic_load(&profile.process) != getpid()) {
		return true;
	}
	pthread_mutex_lock(&profile.lock);
	if (is_end || profile.is_regular) {
		profile_write_all(&text, profile.kernels);
		errno = text.failed ? ENOMEM : errno;
		ok = !text.failed && profile_write_file(&text);
	}
	pthread_mutex_unlock(&profile.lock);
	str_free(&text);
	return ok;
}

bool profile_write(void)
{
	return profile_write_now(false);
}

static void profile_at_exit(void)
{
	(void)profile_write_now(true);
}

bool profile_begin(char *why, size_t size)
{
	const char *path = settings_profile_file(), *folder = settings_jitdump_folder();
	bool ok = true;
	pthread_mutex_lock(&profile.lock);
	if (folder && !profile_jitdump_begin(folder)) {
		ok = false;
		snprintf(why, size, "KUDZU_CPU_JITDUMP: cannot write to '%s': %s", folder,
			strerror(errno));
	}
	if (ok && path && profile.file < 0 && profile.process == 0) {
		profile.file = file_open_asked(path);
		ok = profile.file >= 0;
		if (ok) {
			struct stat info;
			profile.is_regular = fstat(profile.file, &info) == 0
				&& S_ISREG(info.st_mode);
			profile.process = getpid();
			atexit(profile_at_exit);
		} else {
			snprintf(why, size, "KUDZU_PROFILE: cannot write '%s': %s", path,
				strerror(errno));
		}
	}
	pthread_mutex_unlock(&profile.lock);
	return ok;
}

/* --- Kernels --- */

static void profile_kernel_free(struct profile_kernel *kernel)
{
	for (size_t i = 0; kernel && i < kernel->place_count; i++) {
		mem_free(kernel->places[i].file);
		mem_free(kernel->places[i].function);
	}
	if (kernel) {
		mem_free(kernel->places);
		mem_free(kernel->samples);
		mem_free(kernel->insts);
		mem_free(kernel->counters);
		mem_free(kernel->symbol);
		mem_free(kernel);
	}
}

static bool profile_is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The places of a kernel, and what they are found with. */
struct profile_finder {
	struct profile_kernel *kernel;
	const struct ptx_module *module;
	size_t cap;            /* room for places */
	const struct ptx_loc *last; /* of the last instruction that had one with a line */
};

static size_t profile_add_place(struct profile_finder *f, const struct profile_place *wish)
{
	struct profile_kernel *kernel = f->kernel;
	void *grown = mem_grow(kernel->places, kernel->place_count, &f->cap,
		sizeof(*kernel->places));
	if (!grown) {
		return SIZE_MAX;
	}
	kernel->places = grown;
	struct profile_place *place = &kernel->places[kernel->place_count];
	*place = *wish;
	place->file = wish->file ? mem_strdup(wish->file) : NULL;
	place->function = wish->function ? mem_strdup(wish->function) : NULL;
	kernel->place_count++;
	return (wish->file && !place->file) || (wish->function && !place->function) ? SIZE_MAX
		: kernel->place_count - 1;
}

/* The number of a place, which is added if it is new; SIZE_MAX: no memory. */
static size_t profile_put_place(struct profile_finder *f, const struct profile_place *wish)
{
	for (size_t i = f->kernel->place_count; i-- > 0;) {
		const struct profile_place *place = &f->kernel->places[i];
		if (place->line == wish->line && place->caller == wish->caller
		    && profile_is_same(place->file, wish->file)
		    && profile_is_same(place->function, wish->function)) {
			return i;
		}
	}
	return profile_add_place(f, wish);
}

/* The place in the source, with those of the calls around it; SIZE_MAX: no memory. */
static size_t profile_place_of_loc(struct profile_finder *f, const struct ptx_loc *loc)
{
	const size_t file = (size_t)loc->file;
	char name[256];
	struct profile_place wish = {.line = (uint32_t)loc->line,
		.file = (char *)(file < f->module->file_count ? f->module->files[file] : NULL)};
	if (loc->at) {
		const size_t caller = profile_place_of_loc(f, loc->at);
		if (caller == SIZE_MAX) {
			return SIZE_MAX;
		}
		const char *symbol = ptx_loc_function(f->module, loc);
		ptx_write_name(name, sizeof(name), symbol ? symbol : "");
		wish.caller = caller + 1;
		wish.function = symbol ? name : NULL;
	}
	return profile_put_place(f, &wish);
}

static bool profile_has_line(const struct ptx_inst *inst)
{
	return inst->loc && inst->loc->line > 0;
}

/* Code that belongs to no line of the source, `.loc 1 0 0`, counts for the line before it, and the
 * loads of parameters, before the first .loc, count for the first line.  Without line information
 * it is the line of PTX. */
static size_t profile_place_of(struct profile_finder *f, const struct ptx_inst *inst)
{
	f->last = profile_has_line(inst) ? inst->loc : f->last;
	return f->last ? profile_place_of_loc(f, f->last)
		: profile_put_place(f, &(struct profile_place){.line = (uint32_t)inst->line});
}

static void profile_describe_inst(struct profile_inst *out, const struct ptx_inst *inst,
	uint32_t access)
{
	struct counters_access what;
	out->ptx_line = (uint32_t)inst->line;
	out->is_barrier = ptx_is_barrier(inst->op);
	if (access != 0 && counters_find_access(&what, inst)) {
		out->access = access;
		out->bytes = what.size;
		out->space = (uint8_t)what.space;
		out->is_atomic = what.is_atomic;
	}
}

static bool profile_describe(struct profile_kernel *kernel, const struct ptx_module *module,
	const struct ptx_func *func, const struct counters *plan)
{
	struct profile_finder finder = {kernel, module, 0, NULL};
	for (size_t i = 0; i < func->inst_count && !finder.last; i++) {
		finder.last = profile_has_line(&func->insts[i]) ? func->insts[i].loc : NULL;
	}
	for (size_t b = 0; b < func->block_count; b++) {
		const struct ptx_block *block = &func->blocks[b];
		for (size_t i = block->first; i < block->end; i++) {
			struct profile_inst *out = &kernel->insts[kernel->inst_count++];
			const size_t place = profile_place_of(&finder, &func->insts[i]);
			if (place == SIZE_MAX) {
				return false;
			}
			profile_describe_inst(out, &func->insts[i], plan->accesses[i]);
			out->place = (uint32_t)place;
			out->block = (uint32_t)b;
			out->is_unreached = block->rpo == SIZE_MAX;
		}
	}
	return true;
}

static struct profile_kernel *profile_kernel_create(const struct ptx_module *module,
	const struct ptx_func *func)
{
	struct counters plan = {.count = 0};
	struct profile_kernel *kernel = mem_zalloc(1, sizeof(*kernel));
	bool ok = kernel && counters_plan(&plan, func,
		settings_checks() & CHECK_OF_COSTS);
	if (ok) {
		kernel->text_hash = module->text_hash;
		kernel->text_size = module->text_size;
		kernel->index = func->index;
		kernel->symbol = mem_strdup(func->name);
		kernel->insts = mem_zalloc(func->inst_count + 1, sizeof(*kernel->insts));
		kernel->counters = mem_zalloc(plan.count + 1, sizeof(*kernel->counters));
		kernel->counter_count = plan.count;
		kernel->is_counted = settings_profile() & PROFILE_COUNTS;
		ok = kernel->symbol && kernel->insts && kernel->counters
			&& profile_describe(kernel, module, func, &plan)
			&& (kernel->samples = mem_zalloc(kernel->place_count + 1,
				sizeof(*kernel->samples)));
	}
	counters_free(&plan);
	if (!ok) {
		profile_kernel_free(kernel);
		return NULL;
	}
	kernel->next = profile.kernels;
	profile.kernels = kernel;
	return kernel;
}

static struct profile_kernel *profile_kernel_find(const struct ptx_module *module,
	const struct ptx_func *func)
{
	struct profile_kernel *kernel = profile.kernels;
	while (kernel && (kernel->index != func->index || kernel->text_size != module->text_size
		|| memcmp(&kernel->text_hash, &module->text_hash, sizeof(kernel->text_hash)) != 0
		|| strcmp(kernel->symbol, func->name) != 0)) {
		kernel = kernel->next;
	}
	return kernel ? kernel : profile_kernel_create(module, func);
}

/* --- Code --- */

static void profile_code_free(struct profile_code *code)
{
	if (code) {
		mem_free(code->samples);
		mem_free(code->rows);
		mem_free(code);
	}
}

/* Room for samples, and the lines of the object.  False: no memory. */
static bool profile_code_init(struct profile_code *code, const struct profile_object *object)
{
	const unsigned what = settings_profile();
	code->begin = object->entry;
	if (object->text_size > 0 && (what & PROFILE_TIME)) {
		profile_sample_begin();
		code->size = object->text_size;
		code->samples = mem_zalloc(code->size, sizeof(*code->samples));
	}
	return (code->size == 0 || code->samples) && (!(what & (PROFILE_TIME | PROFILE_JITDUMP))
		|| profile_lines_read(&code->rows, &code->row_count, object->object, object->size));
}

struct profile_code *profile_code_create(const struct profile_object *object)
{
	struct profile_code *code = mem_zalloc(1, sizeof(*code));
	bool ok = code && profile_code_init(code, object);
	pthread_mutex_lock(&profile.lock);
	if (ok && (code->kernel = profile_kernel_find(object->module, object->func))) {
		code->next = code->kernel->codes;
		code->kernel->codes = code;
		code->kernel->width = object->width;
		profile_jitdump_add(code, object->text_size);
	} else {
		profile_code_free(code);
		code = NULL;
	}
	pthread_mutex_unlock(&profile.lock);
	return code;
}

void profile_code_release(struct profile_code *code)
{
	if (!code) {
		return;
	}
	pthread_mutex_lock(&profile.lock);
	struct profile_kernel *kernel = code->kernel;
	struct profile_code **link = &kernel->codes;
	while (*link != code) {
		link = &(*link)->next;
	}
	*link = code->next;
	code->next = NULL;
	profile_keep_samples(code);
	pthread_mutex_unlock(&profile.lock);
	profile_code_free(code);
}

size_t profile_count(const struct profile_code *code)
{
	return code && code->kernel->is_counted ? code->kernel->counter_count : 0;
}

bool profile_next_access(const struct profile_code *code, size_t *next, struct profile_access *out)
{
	const struct profile_kernel *kernel = code->kernel;
	while (*next < kernel->inst_count && kernel->insts[*next].access == 0) {
		++*next;
	}
	if (*next == kernel->inst_count) {
		return false;
	}
	const struct profile_inst *inst = &kernel->insts[(*next)++];
	*out = (struct profile_access){inst->ptx_line, inst->place, inst->access};
	return true;
}

void profile_add_launch(struct profile_code *code, const struct profile_launch *launch)
{
	struct profile_kernel *kernel = code->kernel;
	pthread_mutex_lock(&profile.lock);
	snprintf(kernel->name, sizeof(kernel->name), "%s", launch->name);
	kernel->launches++;
	kernel->blocks += launch->blocks;
	kernel->threads += launch->blocks * launch->threads;
	kernel->wall_ns += launch->wall_ns;
	kernel->busy_ns += launch->busy_ns;
	pthread_mutex_unlock(&profile.lock);
}

void profile_add_counters(struct profile_code *code, const uint64_t *counters)
{
	struct profile_kernel *kernel = code->kernel;
	pthread_mutex_lock(&profile.lock);
	for (size_t i = 0; i < kernel->counter_count; i++) {
		kernel->counters[i] += counters[i];
	}
	pthread_mutex_unlock(&profile.lock);
}
