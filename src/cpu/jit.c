/* SPDX-License-Identifier: MIT */

/*
 * LLVM IR to machine code, for the processor that we run on.
 *
 * Every kernel is a module of its own: emit.c fills it, a short list of passes cleans it, the
 * target machine makes an object file in memory, and code.c loads that; LLVM's own linker does where
 * that cannot (jit_link.c).  The short list makes code as fast as -O2 in half the time, because the
 * IR is low-level already: registers become values (sroa), what address arithmetic repeats goes
 * away (early-cse), and with a loop in the kernel invariants leave it (licm).
 *
 * The width is a property of each kernel: huge ones run one lane per call, whatever others do, and
 * LLVM is in a hurry with them, too.  Kernels for blocks of one thread run one lane per call as
 * well; there are no lanes to make vectors of, so LLVM makes them of iterations of their loops.
 * Those for blocks of one warp run all of it per call, if the user has not said otherwise.
 *
 * LLVM's own way to report a failure is to print and to exit; a diagnostic handler on our context
 * and error values everywhere else keep it from doing so.
 */
#include "../base/common.h"

#include "../base/alloc.h"
#include "../base/dl.h"
#include "cfg.h"
#include "code.h"
#include "emit.h"
#include "jit.h"
#include "jit_dump.h"
#include "jit_link.h"
#include "kept.h"
#include "lower.h"
#include "settings.h"
#include "spin.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* From LLVM 18 on a plain "instcombine" ends the process when one round was not enough. */
#if LLVM_VERSION_MAJOR >= 18
#define INSTCOMBINE "instcombine<no-verify-fixpoint>"
#else
#define INSTCOMBINE "instcombine"
#endif

static const char straight_passes[] = "function(sroa,early-cse," INSTCOMBINE ",simplifycfg)";
static const char loop_passes[] = "function(sroa,early-cse," INSTCOMBINE ",simplifycfg,"
	"loop-mssa(licm),early-cse,simplifycfg)";
/* Branches are tidied first: instcombine moves code into those that only lead back. */
static const char lone_passes[] = "function(sroa,early-cse,simplifycfg," INSTCOMBINE ",simplifycfg,"
	"loop-mssa(licm),early-cse,simplifycfg)";
static const char vector_passes[] = "function(early-cse,loop-vectorize,slp-vectorizer," INSTCOMBINE
	",simplifycfg)";
static const char tangle_passes[] = "function(sroa)";

/* Instructions: of PTX, and of LLVM after its passes, of which a lane loop or a vector of 64-bit
 * values makes many from one. */
enum { HUGE_KERNEL = 10000, HUGE_IR = 60000 };
/* Edges of its graph, from which on passes that look at each for each take more than a second. */
enum { MANY_EDGES = 4000 };

/* Bytes of the stack that compiled code may take: it runs on threads of the program, too. */
#define MOST_STACK "1000000"

/* Of what a kernel is called in its object file. */
#define SYMBOL_SIZE 48

/* The code of one kernel. */
struct loaded {
	struct code code;
	struct loaded *next;
};

struct jit {
	struct ptx_module *module;
	LLVMContextRef context;     /* NULL until there is something to compile, as what follows */
	LLVMTargetRef target;
	LLVMTargetMachineRef machine;
	LLVMTargetMachineRef quick; /* for huge kernels; NULL until there is one */
	LLVMTargetDataRef layout;
	char *triple;
	struct loaded *loaded;
	struct jit_linker *linker;      /* of what code.c has refused; NULL until there is some */
	bool is_deep;               /* LLVM has said so: the code needs more than MOST_STACK */
	bool is_huge;               /* too much IR for the width that was tried */
	uint32_t width;             /* of kernels that are not huge; 0: nobody has said */
	const struct str *key;      /* of the call that is running: where to keep the code */
	struct ptx_diag *diag;
};

static const char *faked_features;
static atomic_ulong made_count;

void jit_fake_features(const char *features)
{
	faked_features = features;
}

unsigned long jit_made_count(void)
{
	return made_count;
}

const char *jit_llvm_version(void)
{
	return LLVM_VERSION_STRING;
}

static void init_llvm(void)
{
	LLVMInitializeNativeTarget();
	LLVMInitializeNativeAsmPrinter();
	LLVMInitializeNativeAsmParser();
}

/* Takes the message. */
static bool fail_message(struct ptx_diag *diag, int line, const char *what, char *message)
{
	ptx_fail(diag, line, 0, "LLVM cannot %s: %s", what, message ? message : "no reason given");
	LLVMDisposeMessage(message);
	return false;
}

static void note_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
	struct jit *jit = data;
	/* The only warning there is: it was asked for by constrain_code. */
	jit->is_deep = jit->is_deep || LLVMGetDiagInfoSeverity(info) == LLVMDSWarning;
	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || !jit->diag || jit->diag->message[0]) {
		return;
	}

	char *message = LLVMGetDiagInfoDescription(info);
	ptx_fail(jit->diag, 0, 0, "LLVM: %s", message);
	LLVMDisposeMessage(message);
}

static char *host_features;

static void find_features(void)
{
	host_features = LLVMGetHostCPUFeatures();
}

/* They come from CPUID.  The processor's name would say less: an LLVM older than the processor
 * calls it generic. */
static const char *features(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_features);
	return faked_features ? faked_features : host_features;
}

static bool create_machine(LLVMTargetMachineRef *out, struct jit *jit, LLVMCodeGenOptLevel level,
	struct ptx_diag *diag)
{
	*out = LLVMCreateTargetMachine(jit->target, jit->triple, "generic", features(), level,
		LLVMRelocPIC, LLVMCodeModelJITDefault);
	return *out || ptx_fail(diag, 0, 0, "LLVM has no code generator for %s", jit->triple);
}

static bool find_target(struct jit *jit, struct ptx_diag *diag)
{
	char *message = NULL;
	jit->triple = LLVMGetDefaultTargetTriple();
	if (LLVMGetTargetFromTriple(jit->triple, &jit->target, &message)) {
		return fail_message(diag, 0, "find a target", message);
	}
	if (!create_machine(&jit->machine, jit, LLVMCodeGenLevelDefault, diag)) {
		return false;
	}
	jit->layout = LLVMCreateTargetDataLayout(jit->machine);
	return true;
}

static void stop_llvm(struct jit *jit)
{
	if (jit->layout) {
		LLVMDisposeTargetData(jit->layout);
	}
	if (jit->machine) {
		LLVMDisposeTargetMachine(jit->machine);
	}
	if (jit->quick) {
		LLVMDisposeTargetMachine(jit->quick);
	}
	if (jit->triple) {
		LLVMDisposeMessage(jit->triple);
	}
	if (jit->context) {
		LLVMContextDispose(jit->context);
	}
	jit->layout = NULL;
	jit->machine = NULL;
	jit->quick = NULL;
	jit->triple = NULL;
	jit->context = NULL;
}

/* When the first kernel is compiled: a module whose kernels were kept needs none of it. */
static bool start_llvm(struct jit *jit, struct ptx_diag *diag)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (jit->context) {
		return true;
	}
	pthread_once(&once, init_llvm);
	jit->context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(jit->context, note_diagnostic, jit);
	if (!find_target(jit, diag)) {
		stop_llvm(jit);
		return false;
	}
	return true;
}

bool jit_create(struct jit **out, struct ptx_module *module, struct ptx_diag *diag)
{
	*out = mem_zalloc(1, sizeof(**out));
	if (!*out) {
		return ptx_no_memory(diag);
	}
	(*out)->module = module;
	(*out)->width = (uint32_t)settings_get(SETTING_WIDTH, 0);
	return true;
}

void jit_release(struct jit *jit)
{
	if (!jit) {
		return;
	}

	while (jit->loaded) {
		struct loaded *next = jit->loaded->next;
		code_unload(&jit->loaded->code);
		mem_free(jit->loaded);
		jit->loaded = next;
	}
	jit_linker_release(jit->linker);
	stop_llvm(jit);
	mem_free(jit);
}

static bool has_loop(const struct ptx_func *func)
{
	for (size_t i = 0; i < func->block_count; i++) {
		const struct ptx_block *block = &func->blocks[i];
		for (size_t k = 0; k < block->succ_count && block->rpo != SIZE_MAX; k++) {
			if (func->blocks[block->succ[k]].rpo <= block->rpo) {
				return true;
			}
		}
	}
	return false;
}

/* Whether a kernel ends by itself after so many instructions as it has. */
static bool is_straight(const struct ptx_module *module, const struct ptx_func *func)
{
	for (size_t i = 0; i < func->block_count; i++) {
		const struct ptx_block *block = &func->blocks[i];
		for (size_t s = 0; s < block->succ_count; s++) {
			if (func->blocks[block->succ[s]].rpo <= block->rpo) {
				return false;
			}
		}
	}
	for (size_t i = 0; i < module->func_count; i++) {
		if (!module->funcs[i]->is_entry) {
			return false;
		}
	}
	return true;
}

/* Release builds trust emit.c. */
#ifdef NDEBUG
static const bool verifies = false;
#else
static const bool verifies = true;
#endif

static bool verify(LLVMModuleRef ir, const struct ptx_func *func, struct ptx_diag *diag)
{
	char *message = NULL;
	if (verifies && LLVMVerifyModule(ir, LLVMReturnStatusAction, &message)) {
		return fail_message(diag, func->line, "verify our code", message);
	}
	LLVMDisposeMessage(message);
	return true;
}

/* Those of brx.idx count twice. */
static bool has_many_edges(const struct ptx_func *func)
{
	size_t edges = 0;
	for (size_t i = 0; i < func->block_count; i++) {
		size_t count = func->blocks[i].succ_count;
		edges += count > 2 ? 2 * count : count;
	}
	return edges >= MANY_EDGES;
}

/* A kernel that is compiled as quickly as can be, for one lane at a time. */
static bool is_huge(const struct ptx_func *func)
{
	return func->inst_count >= HUGE_KERNEL || has_many_edges(func);
}

/* Whether a kernel is for blocks of so many threads along x, as it says itself. */
static bool is_for(const struct ptx_func *func, uint32_t threads)
{
	const uint32_t block[] = {threads, 1, 1};
	return memcmp(func->max_ntid, block, sizeof(block)) == 0
		|| memcmp(func->req_ntid, block, sizeof(block)) == 0;
}

static uint32_t width_for(const struct jit *jit, const struct ptx_func *func)
{
	if (is_huge(func) || is_for(func, 1)) {
		return 1;
	}
	return jit->width > 0 ? jit->width : is_for(func, RT_MAX_WIDTH) ? RT_MAX_WIDTH : 1;
}

static bool run_passes(struct jit *jit, LLVMModuleRef ir, const char *symbol,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	bool loops = has_loop(func);
	bool vectors = loops && is_for(func, 1) && !is_huge(func);
	const char *passes = has_many_edges(func) ? tangle_passes
		: vectors ? lone_passes : loops ? loop_passes : straight_passes;
	LLVMErrorRef error = LLVMRunPasses(ir, passes, jit->machine, options);
	if (vectors && !error) {
		emit_base_addresses(LLVMGetNamedFunction(ir, symbol));
		error = LLVMRunPasses(ir, vector_passes, jit->machine, options);
	}
	LLVMDisposePassBuilderOptions(options);
	return !error || jit_linker_fail(diag, func->line, "optimise", error);
}

/* Instructions of all functions, or HUGE_IR if that is fewer. */
static size_t ir_size(LLVMModuleRef ir)
{
	size_t count = 0;
	for (LLVMValueRef fn = LLVMGetFirstFunction(ir); fn; fn = LLVMGetNextFunction(fn)) {
		LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn);
		for (; block && count < HUGE_IR; block = LLVMGetNextBasicBlock(block)) {
			LLVMValueRef inst = LLVMGetFirstInstruction(block);
			for (; inst; inst = LLVMGetNextInstruction(inst)) {
				count++;
			}
		}
	}
	return count < HUGE_IR ? count : HUGE_IR;
}

/* Scheduling and allocating registers take more than linear time, which few huge kernels are
 * worth. */
static LLVMTargetMachineRef machine_for(struct jit *jit, LLVMModuleRef ir,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	if (!is_huge(func) && ir_size(ir) < HUGE_IR) {
		return jit->machine;
	}
	if (!jit->quick) {
		create_machine(&jit->quick, jit, LLVMCodeGenLevelNone, diag);
	}
	return jit->quick;
}

/* Have LLVM tell note_diagnostic when a function needs more stack than it may; and have the function
 * touch every page of what it takes, so that on a small thread it meets the guard, not memory of
 * somebody else.  No tables to jump by: LLVM 14's hold 32-bit distances from data to code, and the
 * two may be mapped further apart. */
static void constrain_code(struct jit *jit, LLVMModuleRef ir)
{
	static const char *const attributes[][2] = {
		{"warn-stack-size", MOST_STACK},
		{"probe-stack", "inline-asm"},
		{"no-jump-tables", "true"},
	};
	LLVMValueRef fn = LLVMGetFirstFunction(ir);
	for (; fn; fn = LLVMGetNextFunction(fn)) {
		for (size_t i = 0; i < countof(attributes); i++) {
			const char *name = attributes[i][0], *value = attributes[i][1];
			LLVMAddAttributeAtIndex(fn,
				(LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(jit->context, name,
					(unsigned)strlen(name), value, (unsigned)strlen(value)));
		}
	}
	jit->is_deep = false;
}

/* Machine code.  False, without a word in diag, where it would need too much stack. */
static bool make_object(LLVMMemoryBufferRef *out, struct jit *jit, LLVMModuleRef ir,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	char *message = NULL;
	LLVMTargetMachineRef machine = machine_for(jit, ir, func, diag);
	if (!machine) {
		return false;
	}
	constrain_code(jit, ir);
	if (jit_dump_is_on() && !jit_dump(machine, ir, func, diag)) {
		return false;
	}
	jit->is_deep = false;
	if (LLVMTargetMachineEmitToMemoryBuffer(machine, ir, LLVMObjectFile, &message, out)) {
		return fail_message(diag, func->line, "generate code", message);
	}
	made_count++;
	if (jit->is_deep) {
		LLVMDisposeMemoryBuffer(*out);
	}
	return !jit->is_deep;
}

/* A prefix of ours: a kernel called `memcpy` must not become everybody's memcpy. */
static void write_symbol(char symbol[SYMBOL_SIZE], const struct ptx_func *func)
{
	snprintf(symbol, SYMBOL_SIZE, "kudzu_kernel_%zu", func->index);
}

static bool load_object(struct jit_kernel *out, struct jit *jit, const void *object, size_t size,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	uintptr_t address;
	char symbol[SYMBOL_SIZE];
	write_symbol(symbol, func);
	struct loaded *loaded = mem_zalloc(1, sizeof(*loaded));
	if (!loaded) {
		return ptx_no_memory(diag);
	}
	bool ok = code_load(&loaded->code, object, size, symbol);
	if (ok) {
		address = loaded->code.entry;
		out->code_size = loaded->code.text_size;
		loaded->next = jit->loaded;
		jit->loaded = loaded;
	} else {
		mem_free(loaded);
		ok = jit_linker_add(&address, &jit->linker, object, size, symbol, diag);
	}
	out->run = ok ? (rt_kernel *)address : NULL;
	return ok;
}

static double now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 1e3 * (double)ts.tv_sec + 1e-6 * (double)ts.tv_nsec;
}

/* Load the object that LLVM has made, and keep it.  Takes it. */
static bool take_object(struct jit_kernel *out, struct jit *jit, LLVMMemoryBufferRef object,
	const struct ptx_func *func, struct ptx_diag *diag)
{
	struct kept kept = {.width = out->width, .is_straight = out->is_straight,
		.in_order = out->in_order, .frame_size = out->frame_size, .object = LLVMGetBufferStart(object),
		.size = LLVMGetBufferSize(object)};
	bool ok = load_object(out, jit, kept.object, kept.size, func, diag);
	if (ok) {
		kept_put(jit->key, &kept);
	}
	LLVMDisposeMemoryBuffer(object);
	return ok;
}

static bool compile_width(struct jit_kernel *out, struct jit *jit, struct ptx_func *func,
	uint32_t width, struct ptx_diag *diag)
{
	double start = now_ms();
	char symbol[SYMBOL_SIZE];
	write_symbol(symbol, func);
	LLVMMemoryBufferRef object;
	LLVMModuleRef ir = LLVMModuleCreateWithNameInContext(func->name, jit->context);
	LLVMSetTarget(ir, jit->triple);
	LLVMSetModuleDataLayout(ir, jit->layout);

	*out = (struct jit_kernel){.width = width, .is_straight = is_straight(jit->module, func),
		.in_order = spin_is_possible(func)};
	bool ok = emit_kernel(&out->frame_size, ir, symbol, out->width, jit->module, func, diag)
		&& verify(ir, func, diag)
		&& run_passes(jit, ir, symbol, func, diag);
	jit->is_huge = ok && width > 1 && ir_size(ir) >= HUGE_IR;
	ok = ok && !jit->is_huge;
	double emitted = now_ms();
	ok = ok && make_object(&object, jit, ir, func, diag)
		&& take_object(out, jit, object, func, diag);

	out->emit_ms = emitted - start;
	out->compile_ms = now_ms() - emitted;
	LLVMDisposeModule(ir);
	return ok;
}

static bool compile(struct jit_kernel *out, struct jit *jit, struct ptx_func *func,
	struct ptx_diag *diag)
{
	jit->is_deep = false;
	if (!start_llvm(jit, diag) || (!func->blocks && (!lower_func(jit->module, func, diag)
		|| !cfg_build(jit->module, func, diag)))) {
		return false;
	}
	uint32_t width = width_for(jit, func);
	bool ok = compile_width(out, jit, func, width, diag);
	if (!ok && (jit->is_huge || (jit->is_deep && width > 1))) {
		/* The registers of 32 lanes are 32 times as large. */
		jit->is_deep = false;
		ok = compile_width(out, jit, func, 1, diag);
	}
	if (!ok && jit->is_deep) {
		ptx_fail(diag, func->line, 0, "the code of '%s' needs more than " MOST_STACK
			" bytes of stack", func->name);
	}
	return ok;
}

/* What of the code generator decides on the code.  Our own part of it is in every key. */
static void describe_generator(struct str *out)
{
	uint8_t id[DL_BUILD_ID_SIZE];
	size_t size = dl_build_id(id, (const void *)(uintptr_t)LLVMContextCreate);
	str_addf(out, "LLVM %s %s ", jit_llvm_version(), features());
	str_addn(out, (const char *)id, size);
}

static bool find_kept(struct jit_kernel *out, struct jit *jit, const struct ptx_func *func)
{
	struct kept kept;
	struct ptx_diag diag = {.line = 0}; /* a miss is no failure */
	double start = now_ms();
	if (jit_dump_is_on() || !kept_find(&kept, jit->key)) {
		return false;
	}
	*out = (struct jit_kernel){.width = kept.width, .is_straight = kept.is_straight,
		.in_order = kept.in_order, .frame_size = kept.frame_size, .is_kept = true};
	bool ok = load_object(out, jit, kept.object, kept.size, func, &diag);
	out->load_ms = now_ms() - start;
	mem_free(kept.memory);
	return ok;
}

bool jit_compile(struct jit_kernel *out, struct jit *jit, struct ptx_func *func,
	struct ptx_diag *diag)
{
	struct str key = STR_INIT, generator = STR_INIT;
	if (kept_is_on()) {
		describe_generator(&generator);
		kept_key(&key, jit->module, func, jit->width, &generator);
	}
	jit->key = &key;
	jit->diag = diag;
	bool ok = find_kept(out, jit, func);
	if (!ok) {
		struct store_lock *lock = kept_lock(&key);
		ok = (lock && find_kept(out, jit, func)) || compile(out, jit, func, diag);
		kept_unlock(lock);
	}
	jit->key = NULL;
	jit->diag = NULL;
	str_free(&generator);
	str_free(&key);
	return ok;
}
