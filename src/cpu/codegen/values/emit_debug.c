/* SPDX-License-Identifier: MIT */
/*
 * What debuggers are told of a kernel, as metadata of LLVM, which makes DWARF of it.
 *
 * A kernel is one function of the processor, with the functions that it calls in it (flatten.c).
 * So they are described as inlined ones: a debugger shows them as frames of their own, steps into
 * them and over them, and finishes them.  So is the kernel itself, in a function without lines
 * whose code begins a thread or goes on with it: a breakpoint at the kernel is where it begins.
 *
 * Variables are in the debug area of debug_scope.c, at the start of the frame of the thread; in
 * .local memory, whose address is in that area; or in memory that struct rt_warp leads to.  The
 * pointers to the frame and the warp lie on the stack, where DWARF's expressions begin.
 */
#include "base/common.h"

#include "cpu/codegen/values/emit_debug.h"

#include "base/alloc.h"
#include "base/map.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_debug_type.h"
#include "cpu/codegen/values/emit_inst.h"
#include "cpu/codegen/values/emit_value.h"
#include "cpu/ir/debug_scope.h"

#include <llvm/Config/llvm-config.h>
#include <string.h>

#if LLVM_VERSION_MAJOR >= 19
#define debug_insert_declare LLVMDIBuilderInsertDeclareRecordBefore
#else
#define debug_insert_declare LLVMDIBuilderInsertDeclareBefore
#endif

/* Of DWARF's expressions. */
enum { OP_DEREF = 0x06, OP_PLUS_UCONST = 0x23 };

/* Where LLVM has a scope of ours. */
struct debug_place {
	const struct ptx_scope *scope;
	LLVMMetadataRef di;         /* the function or the block */
	LLVMMetadataRef inlined_at; /* NULL: it is the kernel's own */
};

struct emit_debug {
	LLVMDIBuilderRef builder;
	LLVMMetadataRef unit;
	LLVMMetadataRef *files;     /* by number, NULL: not asked for yet; the last is unknown */
	struct map functions;       /* symbol -> LLVMMetadataRef */
	struct debug_place *places;
	size_t place_count, place_cap;
	const struct ptx_loc *loc;  /* of the last instruction, */
	const struct ptx_scope *scope;
	struct debug_types types;
	LLVMValueRef frame, warp;   /* rooms for these pointers */
	LLVMMetadataRef launch_function, launch; /* where the kernel is called, in no line */
};

/* --- Files and functions --- */

static LLVMMetadataRef debug_make_file(LLVMDIBuilderRef builder, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	return LLVMDIBuilderCreateFile(builder, name, strlen(name), path,
		slash ? (size_t)(slash - path) : 0);
}

static LLVMMetadataRef debug_file(struct emit *e, const struct ptx_loc *loc)
{
	const struct ptx_module *module = e->module;
	const size_t count = module->file_count;
	size_t index = loc && loc->file > 0 && (size_t)loc->file < count
		&& module->files[loc->file] ? (size_t)loc->file : count;
	LLVMMetadataRef *file = &e->debug->files[index];
	if (!*file) {
		*file = debug_make_file(e->debug->builder,
			index < count ? module->files[index] : "unknown");
	}
	return *file;
}

/* `place` is in it. */
static LLVMMetadataRef debug_function(struct emit *e, const struct ptx_scope *scope,
	const struct ptx_loc *place)
{
	struct emit_debug *d = e->debug;
	const char *symbol = scope->symbol;
	LLVMMetadataRef known = map_get(&d->functions, symbol);
	if (known) {
		return known;
	}
	char name[256];
	ptx_write_name(name, sizeof(name), symbol);
	const struct dwarf_die *die = scope->die ? dwarf_origin(scope->die) : NULL;
	const struct ptx_loc own = {.file = die ? (int)die->file : 0,
		.line = die ? (int)die->line : 0};
	const struct ptx_loc *loc = own.line > 0 ? &own : place;
	LLVMMetadataRef file = debug_file(e, loc);
	LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(d->builder, file, NULL, 0,
		LLVMDIFlagZero);
	unsigned line = loc ? (unsigned)loc->line : 0;
	LLVMMetadataRef made = LLVMDIBuilderCreateFunction(d->builder, file, name, strlen(name),
		symbol, strlen(symbol), file, line, type, false, true, line, LLVMDIFlagZero, false);
	e->failed |= !map_put(&d->functions, symbol, made) && !ptx_no_memory(e->diag);
	return made;
}

/* --- Scopes --- */

static LLVMMetadataRef debug_location(struct emit *e, const struct ptx_loc *loc,
	const struct debug_place *place)
{
	return LLVMDIBuilderCreateDebugLocation(e->context, loc ? (unsigned)loc->line : 0,
		loc ? (unsigned)loc->column : 0, place->di, place->inlined_at);
}

/* `loc` is a place in it. */
static struct debug_place debug_place(struct emit *e, const struct ptx_scope *scope,
	const struct ptx_loc *loc)
{
	struct emit_debug *d = e->debug;
	for (size_t i = d->place_count; i-- > 0;) {
		if (d->places[i].scope == scope) {
			return d->places[i];
		}
	}
	struct debug_place place = {.scope = scope};
	if (!scope->symbol) {
		struct debug_place outer = debug_place(e, scope->outer, loc);
		place.di = LLVMDIBuilderCreateLexicalBlock(d->builder, outer.di,
			debug_file(e, loc), loc ? (unsigned)loc->line : 0,
			(unsigned)d->place_count); // so that no two are the same
		place.inlined_at = outer.inlined_at;
	} else {
		place.di = debug_function(e, scope, loc);
	}
	if (!scope->outer) {
		place.inlined_at = d->launch;
	} else if (scope->symbol) {
		struct debug_place outer = debug_place(e, scope->outer, scope->call);
		place.inlined_at = debug_location(e, scope->call, &outer);
	}
	struct debug_place *places = mem_grow(d->places, d->place_count, &d->place_cap,
		sizeof(*places));
	if (!places) {
		e->failed = true;
		ptx_no_memory(e->diag);
		return place;
	}
	d->places = places;
	d->places[d->place_count++] = place;
	return place;
}

/* --- For the generator --- */

/* Headers may be in another file than the function that includes them. */
static LLVMMetadataRef debug_in_file(struct emit *e, LLVMMetadataRef di, const struct ptx_loc *loc)
{
	LLVMMetadataRef file = debug_file(e, loc);
	return LLVMDIScopeGetFile(di) == file ? di
		: LLVMDIBuilderCreateLexicalBlockFile(e->debug->builder, di, file, 0);
}

void emit_debug_at(struct emit *e, const struct ptx_inst *inst)
{
	struct emit_debug *d = e->debug;
	if (!d || !inst->scope || inst->op == PTX_OP_NOTE
	    || (d->loc == inst->loc && d->scope == inst->scope)) {
		return;
	}
	d->loc = inst->loc;
	d->scope = inst->scope;
	if (!inst->scope->outer && inst->loc && inst->loc->column == 0) {
		/* it takes the parameters: see flat_set_place */
		e->here = d->launch;
		LLVMSetCurrentDebugLocation2(e->builder, e->here);
		return;
	}
	struct debug_place place = debug_place(e, inst->scope, inst->loc);
	place.di = debug_in_file(e, place.di, inst->loc);
	e->here = debug_location(e, inst->loc, &place);
	LLVMSetCurrentDebugLocation2(e->builder, e->here);
}

static void debug_set_flags(struct emit *e)
{
	static const struct {
		const char *name;
		unsigned value;
	} flags[] = {{"Debug Info Version", 3}, {"Dwarf Version", 4}};
	for (size_t i = 0; i < countof(flags); i++) {
		LLVMAddModuleFlag(e->ir, LLVMModuleFlagBehaviorWarning, flags[i].name,
			strlen(flags[i].name),
			LLVMValueAsMetadata(emit_scalar(e, 32, flags[i].value)));
	}
}

bool emit_debug_init(struct emit *e)
{
	static const char producer[] = "Kudzu", name[] = "kudzu_launch";
	const struct ptx_inst *first = e->func->inst_count > 0 ? &e->func->insts[0] : NULL;
	if (!first || !first->scope || e->width > 1) {
		return true;
	}
	struct emit_debug *d = mem_zalloc(1, sizeof(*d));
	e->debug = d;
	if (!d || !(d->files = mem_zalloc(e->module->file_count + 1, sizeof(LLVMMetadataRef)))) {
		return ptx_no_memory(e->diag);
	}
	d->builder = LLVMCreateDIBuilder(e->ir);
	d->unit = LLVMDIBuilderCreateCompileUnit(d->builder, LLVMDWARFSourceLanguageC_plus_plus,
		debug_file(e, first->loc), producer, strlen(producer), false, "", 0, 0, "", 0,
		LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
	d->types = (struct debug_types){.builder = d->builder, .unit = d->unit,
		.file = debug_file(e, first->loc)};
	e->frame_size = emit_debug_size(e);
	debug_set_flags(e);
	LLVMMetadataRef launch = LLVMDIBuilderCreateFunction(d->builder, d->types.file, name,
		strlen(name), "", 0, d->types.file, 0,
		LLVMDIBuilderCreateSubroutineType(d->builder, d->types.file, NULL, 0,
			LLVMDIFlagZero), true, true, 0, LLVMDIFlagArtificial, false);
	LLVMSetSubprogram(e->fn, launch);
	d->launch_function = launch;
	d->launch = LLVMDIBuilderCreateDebugLocation(e->context, 0, 0, launch, NULL);
	e->here = d->launch;
	LLVMSetCurrentDebugLocation2(e->builder, e->here);
	return true;
}

/* --- Threads --- */

static LLVMValueRef debug_room(struct emit *e, LLVMValueRef pointer, const char *name)
{
	LLVMValueRef room = LLVMBuildAlloca(e->builder, e->ptr, name);
	LLVMSetVolatile(LLVMBuildStore(e->builder, pointer, room), true);
	return room;
}

void emit_debug_enter(struct emit *e)
{
	if (e->debug) {
		e->debug->frame = debug_room(e, e->frame, "frame");
		e->debug->warp = debug_room(e, e->warp, "warp");
	}
}

static const enum ptx_sreg debug_indexes[4][3] = {
	{PTX_SREG_TID_X, PTX_SREG_TID_Y, PTX_SREG_TID_Z},
	{PTX_SREG_CTAID_X, PTX_SREG_CTAID_Y, PTX_SREG_CTAID_Z},
	{PTX_SREG_NTID_X, PTX_SREG_NTID_Y, PTX_SREG_NTID_Z},
	{PTX_SREG_NCTAID_X, PTX_SREG_NCTAID_Y, PTX_SREG_NCTAID_Z}};

void emit_debug_start(struct emit *e)
{
	const size_t first = offsetof(struct ptx_debug_head, indexes);
	for (size_t i = 0; e->debug && i < 12; i++) {
		emit_set_field(e, e->frame, first + 4 * i,
			emit_sreg(e, debug_indexes[i / 3][i % 3]));
	}
	if (e->debug) {
		emit_set_field(e, e->frame, offsetof(struct ptx_debug_head, grid),
			ir_trunc(e, emit_sreg(e, PTX_SREG_GRIDID), e->s.i32));
	}
}

void emit_debug_wait(struct emit *e)
{
	if (e->debug) {
		emit_set_field(e, e->frame, offsetof(struct ptx_debug_head, line),
			emit_u32(e, e->inst->loc ? (uint64_t)e->inst->loc->line : 0));
	}
}

/* --- Variables --- */

/* Where a variable's place in the debug area is, in the frame. */
static size_t debug_offset(const struct ptx_scope *scope, size_t offset)
{
	return sizeof(struct ptx_debug_head) + scope->place + offset;
}

void emit_note(struct emit *e, const struct ptx_inst *inst)
{
	const struct ptx_debug_var *var = &inst->scope->vars[inst->operands[1].value];
	if (!e->debug) {
		return;
	}
	LLVMValueRef value = emit_bits(e, emit_use(e, &inst->operands[0], inst->types[0]));
	const unsigned bits = 8 * var->size;
	if (inst->types[0] == PTX_PRED) {
		value = ir_zext(e, value, e->s.i8);
	} else if (bits < ptx_type_bits(inst->types[0])) {
		value = ir_trunc(e, value, LLVMIntTypeInContext(e->context, bits));
	}
	LLVMValueRef store = emit_set_field(e, e->frame, debug_offset(inst->scope, var->offset),
		value);
	LLVMSetAlignment(store, 1);
}

static const struct ptx_var *debug_find_var(const struct emit *e, const char *symbol)
{
	const struct {
		struct ptx_var **vars;
		size_t count;
	} lists[] = {{e->module->vars, e->module->var_count}, {e->func->vars, e->func->var_count}};
	for (size_t k = 0; k < countof(lists); k++) {
		for (size_t i = 0; i < lists[k].count; i++) {
			const struct ptx_var *var = lists[k].vars[i];
			if (var->space != PTX_LOCAL && strcmp(var->name, symbol) == 0) {
				return var;
			}
		}
	}
	return NULL;
}

/* How to get from the room of a pointer to a variable. */
struct debug_way {
	LLVMValueRef room;
	uint64_t ops[12];
	size_t count;
};

static void debug_go(struct debug_way *way, uint64_t offset)
{
	way->ops[way->count++] = OP_DEREF;
	way->ops[way->count++] = OP_PLUS_UCONST;
	way->ops[way->count++] = offset;
}

/* False: the kernel does not have the variable. */
static bool debug_find_way(struct emit *e, struct debug_way *way, const struct ptx_scope *scope,
	const struct ptx_debug_var *var)
{
	const struct ptx_var *of_module = NULL;
	*way = (struct debug_way){.room = e->debug->frame};
	switch (var->kind) {
	case PTX_DEBUG_KEPT:
		debug_go(way, debug_offset(scope, var->offset));
		return true;
	case PTX_DEBUG_AT_BASE:
		while (!scope->symbol || (scope->die && scope->die->tag != DWARF_SUBPROGRAM)) {
			scope = scope->outer;
		}
		debug_go(way, debug_offset(scope, var->offset));
		debug_go(way, var->addend);
		return true;
	case PTX_DEBUG_LOST:
		return true;
	case PTX_DEBUG_OF_MODULE:
		of_module = debug_find_var(e, var->symbol);
		break;
	}
	way->room = e->debug->warp;
	if (of_module && of_module->space == PTX_SHARED) {
		debug_go(way, offsetof(struct rt_warp, shared));
		debug_go(way, of_module->offset + var->addend);
	} else if (of_module) {
		debug_go(way, offsetof(struct rt_warp, launch));
		debug_go(way, offsetof(struct rt_launch, globals));
		debug_go(way, of_module->index * sizeof(uint8_t *));
		debug_go(way, var->addend);
	}
	return of_module;
}

static void debug_declare(struct emit *e, const struct debug_place *place, LLVMMetadataRef var,
	struct debug_way *way)
{
	LLVMDIBuilderRef b = e->debug->builder;
	const struct ptx_loc none = {.line = 0};
	if (way->count == 0) {
		return; // the debugger says that it was optimized out
	}
	debug_insert_declare(b, way->room, var,
		LLVMDIBuilderCreateExpression(b, way->ops, way->count),
		debug_location(e, &none, place), e->call_end);
}

static void debug_declare_vars(struct emit *e, const struct debug_place *place)
{
	struct emit_debug *d = e->debug;
	unsigned parameter = 0;
	for (size_t i = 0; i < place->scope->var_count; i++) {
		const struct ptx_debug_var *var = &place->scope->vars[i];
		const struct dwarf_die *die = var->die ? dwarf_origin(var->die) : NULL;
		struct debug_way way;
		if (!die || !die->name || !debug_find_way(e, &way, place->scope, var)) {
			continue;
		}
		const bool is_parameter = die->tag == DWARF_FORMAL_PARAMETER;
		const size_t len = strlen(die->name);
		LLVMMetadataRef type = debug_type_of(&d->types, die->type);
		debug_declare(e, place, is_parameter
			? LLVMDIBuilderCreateParameterVariable(d->builder, place->di, die->name,
				len, ++parameter, d->types.file, (unsigned)die->line, type, true,
				LLVMDIFlagZero)
			: LLVMDIBuilderCreateAutoVariable(d->builder, place->di, die->name, len,
				d->types.file, (unsigned)die->line, type, true, LLVMDIFlagZero, 0),
			&way);
	}
}

static LLVMMetadataRef debug_variable(struct emit *e, LLVMMetadataRef scope, const char *name,
	LLVMMetadataRef type)
{
	return LLVMDIBuilderCreateAutoVariable(e->debug->builder, scope, name, strlen(name),
		e->debug->types.file, 0, type, true, LLVMDIFlagArtificial, 0);
}

static const struct {
	const char *name, *type;
} debug_index_names[4] = {{"threadIdx", "uint3"}, {"blockIdx", "uint3"}, {"blockDim", "dim3"},
	{"gridDim", "dim3"}};

/* threadIdx and the like are variables of each function. */
static void debug_declare_indexes(struct emit *e, const struct debug_place *place)
{
	struct emit_debug *d = e->debug;
	for (size_t i = 0; i < countof(debug_index_names); i++) {
		struct debug_way way = {.room = d->frame};
		debug_go(&way, offsetof(struct ptx_debug_head, indexes) + 12 * i);
		LLVMMetadataRef type = debug_type_index(&d->types, debug_index_names[i].type);
		debug_declare(e, place,
			debug_variable(e, place->di, debug_index_names[i].name, type), &way);
	}
}

/* What debug.py reads: the slot of the thread, in the array of the slots of its block, and the head
 * of its debug area. */
static void debug_declare_slot(struct emit *e)
{
	struct emit_debug *d = e->debug;
	LLVMMetadataRef number = debug_type_number(&d->types);
	struct debug_field head[6];
	for (size_t i = 0; i < 4; i++) {
		head[i] = (struct debug_field){debug_index_names[i].name, 12 * i, 12,
			debug_type_index(&d->types, debug_index_names[i].type)};
	}
	head[4] = (struct debug_field){"line", offsetof(struct ptx_debug_head, line), 4, number};
	head[5] = (struct debug_field){"grid", offsetof(struct ptx_debug_head, grid), 4, number};
	LLVMMetadataRef to_head = debug_type_pointer(&d->types, debug_type_struct(&d->types,
		"kudzu_head", sizeof(struct ptx_debug_head), head, countof(head)));
	const struct debug_field slot[] = {
		{"first", offsetof(struct slot, warp.first), 4, number},
		{"yield", offsetof(struct slot, warp.yield), 4, number},
		{"resume", offsetof(struct slot, resume), 4, number},
		{"head", offsetof(struct slot, frame), 8, to_head},
		{"local", offsetof(struct slot, warp.local), 8, to_head},
		{"local_size", offsetof(struct slot, warp.local_stride), 4, number},
	};
	const struct debug_place place = {.di = d->launch_function};
	struct debug_way way = {.room = d->warp, .ops = {OP_PLUS_UCONST, 0}, .count = 2};
	debug_declare(e, &place, debug_variable(e, place.di, "kudzu_slot",
		debug_type_pointer(&d->types, debug_type_struct(&d->types, "kudzu_slot",
			sizeof(struct slot), slot, countof(slot)))), &way);
}

void emit_debug_end(struct emit *e)
{
	struct emit_debug *d = e->debug;
	for (size_t i = 0; d && !e->failed && i < d->place_count; i++) {
		debug_declare_vars(e, &d->places[i]);
		if (d->places[i].scope->symbol) {
			debug_declare_indexes(e, &d->places[i]);
		}
	}
	if (d && !e->failed) {
		debug_declare_slot(e);
	}
	if (d && d->types.failed && !e->failed) {
		e->failed = true;
		ptx_no_memory(e->diag);
	}
	if (d) {
		LLVMDIBuilderFinalize(d->builder);
	}
}

void emit_debug_finish(struct emit *e)
{
	struct emit_debug *d = e->debug;
	if (d) {
		if (d->builder) {
			LLVMDisposeDIBuilder(d->builder);
		}
		map_free(&d->functions);
		mem_free(d->files);
		mem_free(d->places);
		mem_free(d->types.made);
		mem_free(d);
	}
}
