/* SPDX-License-Identifier: MIT */
/*
 * New big texts.  A kernel is good if it can be read late: so each is read as it will be when somebody
 * asks for it (read_late in function.c), and forgotten.  That takes the memory of one kernel, where a
 * kernel that is kept takes 15 times that of its text, and new memory takes longer than reading does.
 *
 * Kernels do not depend on each other, so of a text that takes milliseconds some threads read a few
 * each, in modules of their own.  What is wrong is found out here, but not said: whoever asks reads
 * the text as a whole then, and that tells it.
 */
#include "base/common.h"

#include "cpu/object/survey.h"

#include "base/cores.h"
#include "cpu/config/settings.h"
#include "cpu/exec/pool.h"
#include "cpu/ir/flatten.h"
#include "cpu/object/module.h"
#include "cpu/ptx/check.h"
#include "cpu/ptx/parse.h"

enum {
	MOST_HELPERS = 3,
	SIZE_OF_HELPER = 128 << 10, /* 1 ms of reading; a thread is there, and has read the rest, in 0.1 */
	AT_ONCE = 8
};

struct survey {
	const char *text;
	const struct outline *outline;
	atomic_size_t next; /* the first part that nobody has taken */
	atomic_bool bad;
};

struct outline *survey_find(const char *text, size_t size, struct hash hash)
{
	struct ptx_module module;
	struct ptx_diag diag = {0};
	struct outline *outline = NULL;
	if (parse_skim(&module, text, size, hash, &diag)) {
		outline = outline_create(&module, text);
		parse_free(&module);
	}
	return outline;
}

/* Pointers to functions are numbered over all kernels, so they must be read together. */
static bool takes_address(const struct ptx_func *kernel)
{
	for (size_t i = 0; i < kernel->inst_count; i++) {
		const struct ptx_inst *inst = &kernel->insts[i];
		if (inst->op == PTX_OP_MOV && inst->operands[1].kind == PTX_FUNC) {
			return true;
		}
	}
	return false;
}

static bool has_addresses(const struct ptx_module *module)
{
	bool has = false;
	for (size_t i = 0; i < module->func_count; i++) {
		has |= module->funcs[i]->address != 0;
	}
	return has;
}

static bool is_good(struct ptx_module *module, const struct ptx_part *part)
{
	struct ptx_diag diag = {0};
	struct arena_mark mark = arena_mark(&module->arena);
	struct ptx_func *kernel = parse_part(module, part, &diag);
	bool good = kernel != NULL && module->is_separable && kernel_fits(kernel, &diag)
		&& check_function(module, kernel, &diag) && !takes_address(kernel)
		&& flatten_function(module, kernel, &diag);
	parse_forget(module, part, &mark);
	return good;
}

static void check_some(struct survey *survey, struct ptx_module *module)
{
	size_t count = survey->outline->count, next = 0;
	while (!atomic_load(&survey->bad)
	       && (next = atomic_fetch_add(&survey->next, AT_ONCE)) < count) {
		for (size_t i = next; i < next + AT_ONCE && i < count; i++) {
			if (!is_good(module, &survey->outline->parts[i])) {
				atomic_store(&survey->bad, true);
			}
		}
	}
}

/* A helper; one that cannot begin leaves all to the others. */
static void *help(void *arg)
{
	struct survey *survey = arg;
	const struct outline *outline = survey->outline;
	struct ptx_module module;
	struct ptx_diag diag = {0};
	const struct kudzu_text known = {outline->size, outline->hash.high, outline->hash.low,
		NULL, NULL};
	if (parse_outline(&module, survey->text, &known, outline->parts, outline->count, &diag)) {
		if (check_module(&module, &diag) && flatten_module(&module, &diag)) {
			check_some(survey, &module);
		}
		parse_free(&module);
	}
	return NULL;
}

static size_t helper_count(size_t size)
{
	uint64_t threads = settings_get(SETTING_THREADS, cores_available());
	size_t pays = size / SIZE_OF_HELPER;
	pays = pays < threads ? pays : (size_t)threads;
	return pays == 0 ? 0 : pays - 1 < MOST_HELPERS ? pays - 1 : MOST_HELPERS;
}

bool survey_check(struct ptx_module *module, const char *text, const struct outline *outline)
{
	struct survey survey = {.text = text, .outline = outline};
	pthread_t helpers[MOST_HELPERS];
	size_t count = 0, wanted = helper_count(outline->size);
	if (has_addresses(module)) {
		return false;
	}
	while (count < wanted && pool_start_thread(&helpers[count], help, &survey)) {
		count++;
	}
	check_some(&survey, module);
	while (count > 0) {
		pthread_join(helpers[--count], NULL);
	}
	return !atomic_load(&survey.bad);
}
