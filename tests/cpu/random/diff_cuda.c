/* SPDX-License-Identifier: MIT */
/* Generated programs by way of CUDA C and NVRTC, with IEEE arithmetic.  See diff.h. */
#include "diff.h"

#include "base/alloc.h"
#include "lib/rtc/nvrtc.h"

static bool compile(struct str *ptx, const char *source, const char *arch, struct str *why)
{
	const char *options[] = {arch, "--fmad=false", "--disable-warnings"};
	const struct nvrtc *nvrtc;
	nvrtcProgram program = NULL;
	size_t size = 0;
	if (nvrtc_open(&nvrtc, NULL)) {
		str_add(why, "NVRTC is not there\n");
		return false;
	}
	int result = nvrtc->CreateProgram(&program, source, "random.cu", 0, NULL, NULL);
	result = result ? result : nvrtc->CompileProgram(program, countof(options), options);
	char *log = NULL;
	if (program && result && !nvrtc->GetProgramLogSize(program, &size)
	    && (log = mem_zalloc(1, size + 1)) && !nvrtc->GetProgramLog(program, log)) {
		str_addf(why, "NVRTC: %s\n", log);
	}
	mem_free(log);
	char *text = NULL;
	if (!result && !nvrtc->GetPTXSize(program, &size) && (text = mem_zalloc(1, size + 1))
	    && !nvrtc->GetPTX(program, text)) {
		str_add(ptx, text);
	}
	mem_free(text);
	if (program) {
		nvrtc->DestroyProgram(&program);
	}
	return !result && ptx->len > 0;
}

static bool by_cuda(struct str *ptx, const struct gen_program *program, const char *arch,
	struct str *why)
{
	struct str source = STR_INIT;
	gen_print_cuda(&source, program);
	bool ok = !source.failed && compile(ptx, source.data, arch, why);
	str_free(&source);
	return ok;
}

bool diff_cuda_75(struct str *ptx, const struct gen_program *program, struct str *why)
{
	return by_cuda(ptx, program, "--gpu-architecture=compute_75", why);
}

bool diff_cuda_100(struct str *ptx, const struct gen_program *program, struct str *why)
{
	return by_cuda(ptx, program, "--gpu-architecture=compute_100", why);
}
