/* SPDX-License-Identifier: MIT */
/*
 * Gives functions addresses.  Functions that can be called in the same way get consecutive numbers,
 * so that a call through a register is a look-up in a short table.  An address is a small multiple
 * of 16: no data lies there, it is not NULL, and the low bits are free for what C++ keeps in them.
 * Kernels that a variable names have addresses, too, but nothing calls them.
 */
#include "base/common.h"

#include "base/str.h"
#include "cpu/ir/flat.h"

char *flat_key(struct ptx_module *module, const struct ptx_func *func)
{
	struct str key = STR_INIT;
	str_add(&key, func->is_entry ? "kernel" : "");
	for (size_t i = 0; i < func->return_count; i++) {
		str_addf(&key, "%zu,", func->returns[i]->size);
	}
	str_addc(&key, '(');
	for (size_t i = 0; i < func->param_count; i++) {
		str_addf(&key, "%zu,", func->params[i]->size);
	}
	char *copy = key.failed ? NULL : arena_strndup(&module->arena, key.data, key.len);
	str_free(&key);
	return copy;
}

/* Mark the functions whose address is taken by an address that is not valid yet. */
static void flat_kind_mark_taken(struct ptx_module *module)
{
	for (size_t i = 0; i < module->var_count; i++) {
		const struct ptx_var *var = module->vars[i];
		for (size_t j = 0; j < var->reloc_count; j++) {
			struct ptx_func *func = var->relocs[j].func;
			if (func) {
				func->address = 1;
			}
		}
	}
	for (size_t i = 0; i < module->func_count; i++) {
		const struct ptx_func *func = module->funcs[i];
		for (size_t j = 0; j < func->inst_count; j++) {
			const struct ptx_inst *inst = &func->insts[j];
			if (inst->op == PTX_OP_MOV && inst->operands[1].kind == PTX_FUNC) {
				inst->operands[1].func->address = 1;
			}
		}
	}
}

/* Count the functions of each kind, and chain the kinds. */
static bool flat_kind_count(struct ptx_module *module, struct map *kinds, struct flat_kind **first)
{
	struct flat_kind **link = first;
	for (size_t i = 0; i < module->func_count; i++) {
		const struct ptx_func *func = module->funcs[i];
		char *key = func->address ? flat_key(module, func) : NULL;
		struct flat_kind *kind = key ? map_get(kinds, key) : NULL;
		if (key && !kind) {
			kind = arena_alloc(&module->arena, 1, sizeof(*kind));
			if (!kind || !map_put(kinds, key, kind)) {
				return false;
			}
			*link = kind;
			link = &kind->next;
		}
		if (kind) {
			kind->count++;
		} else if (func->address) {
			return false;
		}
	}
	return true;
}

bool flat_find_kinds(struct ptx_module *module, struct map *kinds, struct ptx_diag *diag)
{
	struct flat_kind *first = NULL;
	flat_kind_mark_taken(module);
	if (!flat_kind_count(module, kinds, &first)) {
		return ptx_no_memory(diag);
	}
	uint64_t next = FLAT_STEP;
	for (struct flat_kind *kind = first; kind; kind = kind->next) {
		kind->funcs = arena_alloc(&module->arena, kind->count, sizeof(*kind->funcs));
		if (!kind->funcs) {
			return ptx_no_memory(diag);
		}
		kind->first = next;
		next += kind->count * FLAT_STEP;
		kind->count = 0;
	}
	for (size_t i = 0; i < module->func_count; i++) {
		struct ptx_func *func = module->funcs[i];
		char *key = func->address ? flat_key(module, func) : NULL;
		struct flat_kind *kind = key ? map_get(kinds, key) : NULL;
		if (func->address && !kind) {
			return ptx_no_memory(diag);
		}
		if (kind) {
			func->address = kind->first + kind->count * FLAT_STEP;
			kind->funcs[kind->count++] = func;
		}
	}
	return true;
}
