/* SPDX-License-Identifier: MIT */
/* See diff.h. */
#include "diff.h"

#include "base/alloc.h"
#include "base/cuda_abi.h"
#include "cpu/support/driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define X(name, symbol, since, need, parameters) CUresult symbol parameters;
#include "lib/cuda/cuda.def"
#undef X

/* How a program runs. */
struct mode {
	unsigned width;
	unsigned workers;
};

const char *volatile diff_doing = "nothing";

/* All that NVIDIA's driver keeps. */
enum { LOG_SIZE = 25600 };

/* The last program was none for ptxas, which takes less than our parser. */
static bool is_refused;
static bool is_lost;

static bool fail(struct str *why, const char *call, CUresult result)
{
	const char *name = "";
	static char log[LOG_SIZE + 1];
	size_t size = LOG_SIZE;
	cuGetErrorName(result, &name);
	cuLogsDumpToMemory(NULL, log, &size, 0);
	size = size < LOG_SIZE ? size : LOG_SIZE; /* another driver may say how many there are */
	log[size > 0 ? size - 1 : 0] = '\0';
	const char *last = strrchr(log, '\n');
	str_addf(why, "%s: %s: %s\n", call, name, last ? last + 1 : log);
	return false;
}

static bool launch(const struct gen_program *program, const char *text, uint8_t *output,
	size_t size, struct str *why)
{
	CUmodule module = NULL;
	CUfunction kernel;
	CUdeviceptr out;
	CUdeviceptr in;
	uint32_t param = program->param;
	void *params[] = {&out, &in, &param};
	CUresult result;
	diff_doing = "loading";
	result = driver_try(&module, text);
	diff_doing = "running";
	is_refused = result == CUDA_ERROR_INVALID_PTX && driver_lacks("ptxas is stricter");
	if (is_refused) {
		return true;
	}
	if (result) {
		return fail(why, "load", result);
	}
	if ((result = cuModuleGetFunction(&kernel, module, "k"))
	    || (result = cuMemAlloc_v2(&out, size))
	    || (result = cuMemAlloc_v2(&in, sizeof(program->input)))
	    || (result = cuMemcpyHtoD_v2(out, output, size))
	    || (result = cuMemcpyHtoD_v2(in, program->input, sizeof(program->input)))) {
		return fail(why, "prepare", result);
	}
	if ((result = cuLaunchKernel(kernel, program->grid[0], program->grid[1], 1,
		program->block[0], program->block[1], program->block[2], 0, NULL, params, NULL))
	    || (result = cuMemcpyDtoH_v2(output, out, size))) {
		is_lost = !driver_is_ours;
		return fail(why, "run", result);
	}
	cuMemFree_v2(out);
	cuMemFree_v2(in);
	cuModuleUnload(module);
	return true;
}

/* A context of its own: the number of workers belongs to the device, which lives as long. */
static bool open_context(const struct mode *mode, struct str *why)
{
	char number[16];
	CUcontext context;
	CUresult result;
	snprintf(number, sizeof(number), "%u", mode->width);
	setenv("KUDZU_CPU_WIDTH", number, 1);
	snprintf(number, sizeof(number), "%u", mode->workers);
	setenv("KUDZU_CPU_THREADS", number, 1);
	if ((result = cuInit(0)) || (result = cuDevicePrimaryCtxRetain(&context, 0))
	    || (result = cuCtxSetCurrent(context))) {
		return fail(why, "open the device", result);
	}
	return true;
}

static bool run(const struct gen_program *program, const char *text, const struct mode *mode,
	uint8_t *output, size_t size, struct str *why)
{
	if (!open_context(mode, why)) {
		return false;
	}
	bool ok = launch(program, text, output, size, why);
	if (driver_is_ours) {
		cuDevicePrimaryCtxRelease_v2(0);
	}
	return ok;
}

/* Which thread's what is at this offset. */
static void add_place(struct str *why, const struct gen_program *program, size_t at)
{
	struct gen_layout l;
	gen_layout(&l, program);
	if (at < l.striped) {
		str_addf(why, "thread %zu, word %zu", at / GEN_OWN_BYTES, at % GEN_OWN_BYTES / 8);
	} else if (at < l.registers) {
		size_t word = (at - l.striped) / 8;
		str_addf(why, "thread %zu, striped word %zu", word % l.threads, word / l.threads);
	} else if (at < l.cells) {
		size_t word = (at - l.registers) / 8;
		str_addf(why, "thread %zu, hash of registers %%%c", word / GEN_BANKS,
			"phrdfg"[word % GEN_BANKS]);
	} else if (at < l.lock) {
		str_addf(why, "global cell %zu", (at - l.cells) / 8);
	} else if (at < l.shared_cells) {
		str_add(why, "the lock");
	} else {
		size_t word = (at - l.shared_cells) / 8;
		str_addf(why, "block %zu, shared cell %zu", word / GEN_CELLS, word % GEN_CELLS);
	}
}

static bool compare(const struct gen_program *program, const struct mode *mode, const uint8_t *got,
	const uint8_t *want, size_t size, struct str *why)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t a, b;
		memcpy(&a, got + i, 8);
		memcpy(&b, want + i, 8);
		if (a != b) {
			str_addf(why, "W=%u, %u workers: ", mode->width, mode->workers);
			add_place(why, program, i);
			str_addf(why, " is %#" PRIx64 ", not %#" PRIx64 "\n", a, b);
			return false;
		}
	}
	return true;
}

bool diff_ptx(struct str *ptx, const struct gen_program *program, struct str *why)
{
	(void)why;
	gen_print_ptx(ptx, program);
	return true;
}

/* Leave the program where it can be found if it is the last one. */
static void leave_text(const struct diff *diff, const struct str *text)
{
	if (diff->text_fd >= 0 && ftruncate(diff->text_fd, 0) == 0
	    && pwrite(diff->text_fd, text->data, text->len, 0) < 0) {
		perror("fuzz_diff: the text of a program");
	}
}

/* The program does in this mode what it should.  *sound is false if it is wrong itself. */
static bool check(const struct diff *diff, const struct gen_program *program,
	const struct mode *modes, size_t count, bool *sound, struct str *why)
{
	struct gen_layout layout;
	struct str text = STR_INIT;
	gen_layout(&layout, program);
	uint8_t *want = mem_alloc(layout.size);
	uint8_t *got = mem_alloc(layout.size);
	diff_doing = "printing";
	leave_text(diff, &text); /* not the one before */
	bool ok = want && got && diff->print(&text, program, why) && !text.failed;
	leave_text(diff, &text);
	diff_doing = "interpreting";
	gen_init_output(program, want);
	const char *wrong = gen_run(program, want, false);
	*sound = !wrong;
	if (wrong) {
		str_addf(why, "the program is wrong: %s\n", wrong);
	}
	for (size_t i = 0; ok && !wrong && i < count; i++) {
		gen_init_output(program, got);
		ok = run(program, text.data, &modes[i], got, layout.size, why)
			&& (is_refused || compare(program, &modes[i], got, want, layout.size, why));
	}
	mem_free(want);
	mem_free(got);
	str_free(&text);
	return ok && !wrong;
}

/* Leave out instructions as long as what remains still fails. */
static void shrink_part(const struct diff *diff, struct gen_program *program,
	const struct mode *modes, size_t count, size_t from, size_t to)
{
	struct gen_func *func = &program->funcs[0];
	struct str why = STR_INIT;
	size_t size = (to - from) * sizeof(*func->insts);
	struct gen_inst *saved = mem_alloc(size);
	bool sound = true;
	if (saved) {
		memcpy(saved, func->insts + from, size);
		memset(func->insts + from, 0, size);
		if (check(diff, program, modes, count, &sound, &why) || !sound) {
			memcpy(func->insts + from, saved, size);
		}
	}
	mem_free(saved);
	str_free(&why);
}

static void shrink(const struct diff *diff, struct gen_program *program, const struct mode *modes,
	size_t count)
{
	struct gen_func *func = &program->funcs[0];
	for (size_t i = program->span_count; i-- > 0;) {
		shrink_part(diff, program, modes, count, program->spans[i].from,
			program->spans[i].to);
	}
	for (size_t i = 0; i < func->count; i++) {
		if (!func->insts[i].keep && func->insts[i].kind != GEN_NOP) {
			shrink_part(diff, program, modes, count, i, i + 1);
		}
	}
}

bool diff_try(struct diff *diff, uint64_t seed)
{
	struct gen_program program;
	struct str why = STR_INIT;
	bool sound;
	const struct mode modes[] = {{1, seed % 2 ? 1 : 3}, {32, seed % 2 ? 3 : 1}};
	size_t count = driver_is_ours ? countof(modes) : 1;
	driver_go_past_cache(seed / 2 % 2 == 0);
	diff_doing = "making";
	if (!gen_create(&program, seed, &diff->options)) {
		return false;
	}
	bool ok = check(diff, &program, modes, count, &sound, &why);
	diff->refused += is_refused;
	if (!ok) {
		str_addf(&diff->report, "seed %" PRIu64 ": %s", seed, why.data ? why.data : "");
		diff->lost = is_lost;
		if (sound && !is_lost && !getenv("KUDZU_FUZZ_WHOLE")) {
			shrink(diff, &program, modes, count);
			str_clear(&why);
			check(diff, &program, modes, count, &sound, &why);
			str_addf(&diff->report, "and, smaller: %s", why.data ? why.data : "");
		}
		if (diff->options.features & GEN_HAS_CUDA) {
			gen_print_cuda(&diff->report, &program);
		} else {
			gen_print_ptx(&diff->report, &program);
		}
	}
	str_free(&why);
	gen_free(&program);
	return ok;
}

/* Whether a module with these instructions loads. */
static bool runs(struct gen_inst *insts, size_t count)
{
	struct gen_program program = {.block = {1, 1, 1}, .grid = {1, 1}, .func_count = 2};
	struct str text = STR_INIT;
	CUmodule module;
	for (size_t i = 0; i < 2; i++) {
		for (unsigned bank = 0; bank < GEN_BANKS; bank++) {
			program.funcs[i].used[bank] = gen_visible[bank] + GEN_SPECIALS;
		}
	}
	program.func_count = insts->kind == GEN_CALL ? 2 : 1;
	program.funcs[0].insts = insts;
	program.funcs[0].count = count;
	gen_print_ptx(&text, &program);
	bool ok = driver_try(&module, text.data) == CUDA_SUCCESS;
	if (ok) {
		cuModuleUnload(module);
	}
	str_free(&text);
	return ok;
}

static unsigned find_features(void)
{
	static const struct {
		enum gen_feature feature;
		uint8_t kind;
		uint16_t op;
		uint8_t bank; /* of the value */
	} needs[] = {{GEN_HAS_VOTE, GEN_WARP, GEN_BALLOT, GEN_P},
		{GEN_HAS_SHFL, GEN_WARP, GEN_SHFL_UP, GEN_R},
		{GEN_HAS_MATCH, GEN_WARP, GEN_MATCH_ALL, GEN_R},
		{GEN_HAS_REDUX, GEN_WARP, GEN_REDUX_ADD, GEN_R},
		{GEN_HAS_REDUX_F32, GEN_WARP, GEN_REDUX_FMIN, GEN_F},
		{GEN_HAS_CALL, GEN_CALL, 1, GEN_D}};
	unsigned features = 0;
	struct gen_arg r = {.kind = GEN_REG, .bank = GEN_R};
	for (size_t i = 0; i < countof(needs); i++) {
		struct gen_inst inst = {.kind = needs[i].kind, .op = needs[i].op, .label = 1,
			.dst = {r},
			.src = {r, r, r, {.kind = GEN_IMM}}};
		inst.src[1].bank = needs[i].bank;
		inst.dst[0].bank = needs[i].bank == GEN_F ? GEN_F : GEN_R;
		features |= runs(&inst, 1) ? needs[i].feature : 0;
	}
	return features;
}

static struct gen_inst example_of(unsigned op)
{
	struct gen_inst inst = {.kind = GEN_OP, .op = (uint16_t)op};
	const char *banks = gen_ops[op].banks;
	inst.dst[0] = (struct gen_arg){.kind = GEN_REG, .bank = (uint8_t)gen_bank_of(banks[0])};
	for (size_t i = 0; banks[1 + i]; i++) {
		inst.src[i] = (struct gen_arg){.kind = GEN_IMM, .bank = GEN_R};
		if (banks[1 + i] != 'i') {
			inst.src[i].kind = GEN_REG;
			inst.src[i].bank = (uint8_t)gen_bank_of(banks[1 + i]);
		}
	}
	return inst;
}

/* Mark those of some operations that the device has: all at once, or each half of them. */
static void find_ops(bool *ops, struct gen_inst *examples, size_t count)
{
	if (runs(examples, count)) {
		memset(ops, true, count * sizeof(*ops));
	} else if (count > 1) {
		find_ops(ops, examples, count / 2);
		find_ops(ops + count / 2, examples + count / 2, count - count / 2);
	}
}

bool diff_init(struct diff *diff, diff_print *print, unsigned features)
{
	static const struct mode mode = {1, 1};
	struct gen_inst examples[countof(diff->ops)];
	memset(diff, 0, sizeof(*diff));
	diff->print = print;
	diff->text_fd = -1;
	diff_doing = "asking the device about";
	if (gen_op_count > countof(diff->ops) || !open_context(&mode, &diff->report)) {
		return false;
	}
	diff->options.ops = diff->ops;
	diff->options.features = features & (find_features() | GEN_HAS_CUDA | GEN_HAS_TRAPS);
	if (driver_lacks("ptxas gets them wrong")) {
		diff->options.features &= ~(unsigned)GEN_HAS_TRAPS;
	}
	for (unsigned i = 0; i < gen_op_count; i++) {
		examples[i] = example_of(i);
	}
	find_ops(diff->ops, examples, gen_op_count);
	cuDevicePrimaryCtxRelease_v2(0);
	return true;
}

void diff_free(struct diff *diff)
{
	str_free(&diff->report);
}
