/* SPDX-License-Identifier: MIT */
/*
 * Kernels that are read late.  A text that was found good once has its kernels in known places:
 * reading it again leaves them out, and each is read when it is asked for, so that what a big module
 * costs is what is used of it.
 *
 * The one idea: a kernel depends on what stands before it in the module, and nothing depends on a
 * kernel.  Where that is not so (a kernel that is declared first, or named by another, or has
 * variables of the module in its body) the module is not separable, and is always read whole.  What
 * stands behind the kernel is there, too, when it is read late, and looked at by nobody
 * (symbol_find).
 *
 * So a text of many kernels can be checked without holding them: it is skimmed for where they are
 * (parse_skim), and each is read and forgotten again (survey.c).
 */
#include "base/common.h"

#include "cpu/ptx/parser.h"

#include "base/alloc.h"

static bool outline_fail_other(struct ptx_diag *diag)
{
	return ptx_fail(diag, 1, 1, "the text is not the one that was checked");
}

bool parse_outline(struct ptx_module *out, const char *text, const struct kudzu_text *known,
	const struct ptx_part *parts, size_t count, struct ptx_diag *diag)
{
	struct parser *p = mem_zalloc(1, sizeof(*p));
	*out = (struct ptx_module){.arena = ARENA_INIT, .text_size = known->size,
		.text_hash = {known->hash_high, known->hash_low}, .is_separable = true, .parser = p};
	if (!p) {
		return ptx_no_memory(diag);
	}
	p->known = *known;
	p->gap = parts;
	p->gap_end = parts + count;
	part_fetch_gap(p, 0);
	parse_begin(p, out, text, known->size, diag);
	parse_top(p);
	parse_end(p);
	bool ok = !p->failed && (p->gap == p->gap_end || outline_fail_other(diag));
	if (!ok) {
		parse_free(out);
	}
	return ok;
}

/* Nothing may be left of a part that failed. */
static void outline_forget(struct parser *p)
{
	struct list *lists[] = {&p->params, &p->relocs, &p->regs, &p->func_vars, &p->insts,
		&p->labels, &p->fixups};
	for (size_t i = 0; i < countof(lists); i++) {
		lists[i]->count = 0;
	}
	p->scope = p->global;
	part_free_scopes(p, p->global);
	p->failed = false;
	p->part = NULL;
}

struct ptx_func *parse_part(struct ptx_module *module, const struct ptx_part *part,
	struct ptx_diag *diag)
{
	struct parser *p = module->parser;
	if (part->offset > module->text_size || part->size > module->text_size - part->offset
	    || part->index >= module->func_count) {
		outline_fail_other(diag);
		return NULL;
	}
	p->part = part;
	p->diag = diag;
	p->read = NULL;
	size_t there = part_line_from(p, part->offset), end = (size_t)part->offset + part->size;
	if (p->known.read) {
		p->known.read(p->known.arg, there, end);
	}
	p->lexer.end = p->text + end;
	part_seek(p, there, part->offset, part->line);
	if (!p->failed && !parse_definition_or_variable(p)) {
		fail_expected(p, "a kernel");
	}
	struct ptx_func *func = p->failed || !at_end(p) ? NULL : p->read;
	outline_forget(p);
	if (func) {
		func->index = part->index;
		module->funcs[part->index] = func;
	} else if (!diag->message[0]) {
		outline_fail_other(diag); /* no kernel, but something else that may stand there */
	}
	return func;
}

void parse_forget(struct ptx_module *module, const struct ptx_part *part,
	const struct arena_mark *mark)
{
	if (part->index < module->func_count) {
		module->funcs[part->index] = &part_no_kernel;
	}
	arena_reset(&module->arena, mark);
}
