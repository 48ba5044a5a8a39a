/* SPDX-License-Identifier: MIT */
/*
 * The time of kz_module_compile over bare nvrtcCompileProgram with the same options.
 *
 *	bench_compile [DEVICE]     on the stub driver, where loading the image takes no time
 *
 * Both compile the same text for the same architecture, taking turns in one process, in either
 * order.  The bare compile creates the program, compiles, fetches the image and destroys the
 * program.  A number in a comment makes each text new, so that no cache has it.
 */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>

enum { ROUNDS = 101, WARM_UP = 2 };

static const struct text {
	const char *name;
	const char *source;
} texts[] = {
	{"saxpy",
		"__global__ void saxpy(float a, const float *x, float *y, int n)\n"
		"{\n"
		"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
		"	if (i < n) {\n"
		"		y[i] += a * x[i];\n"
		"	}\n"
		"}\n"},
	{"fp16",
		"#include <cuda_fp16.h>\n"
		"__global__ void scale(__half *x, float a, int n)\n"
		"{\n"
		"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
		"	if (i < n) {\n"
		"		x[i] = __float2half(a * __half2float(x[i]));\n"
		"	}\n"
		"}\n"},
};

typedef struct _nvrtcProgram *nvrtcProgram;

/* NVRTC, as far as a compile needs it, and the options that kz_module_compile gives it. */
struct nvrtc {
	int (*create)(nvrtcProgram *out, const char *source, const char *name, int header_count,
		const char *const *headers, const char *const *names);
	int (*compile)(nvrtcProgram program, int count, const char *const *options);
	int (*size)(nvrtcProgram program, size_t *size);
	int (*image)(nvrtcProgram program, char *image);
	int (*destroy)(nvrtcProgram *program);
	char arch[64];
	char include[4096];
	char cccl[4096];
};

struct bench {
	kz_device *dev;
	struct nvrtc nvrtc;
	kz_error err;
};

/* The library has loaded it already; its headers lie beside it. */
static int find_nvrtc(struct nvrtc *nvrtc, const char *arch)
{
	int cubin = strncmp(arch, "sm_", 3) == 0;
	void *object = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD);
	object = object ? object : dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_NOLOAD);
	if (!object) {
		return -1;
	}
	/* ISO C has no cast from an object to a function pointer. */
	*(void **)&nvrtc->create = dlsym(object, "nvrtcCreateProgram");
	*(void **)&nvrtc->compile = dlsym(object, "nvrtcCompileProgram");
	*(void **)&nvrtc->size = dlsym(object, cubin ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize");
	*(void **)&nvrtc->image = dlsym(object, cubin ? "nvrtcGetCUBIN" : "nvrtcGetPTX");
	*(void **)&nvrtc->destroy = dlsym(object, "nvrtcDestroyProgram");
	Dl_info info;
	if (!dladdr(*(void **)&nvrtc->create, &info)) {
		return -1;
	}
	int folder = (int)(strrchr(info.dli_fname, '/') - info.dli_fname);
	snprintf(nvrtc->arch, sizeof(nvrtc->arch), "--gpu-architecture=%s", arch);
	snprintf(nvrtc->include, sizeof(nvrtc->include), "-I%.*s/../include", folder,
		info.dli_fname);
	snprintf(nvrtc->cccl, sizeof(nvrtc->cccl), "-I%.*s/../include/cccl", folder,
		info.dli_fname);
	return 0;
}

static int compile_bare(struct bench *b, const char *source)
{
	const struct nvrtc *nvrtc = &b->nvrtc;
	const char *options[] = {"-modify-stack-limit=false", "-device-int128", nvrtc->arch,
		nvrtc->include, nvrtc->cccl};
	nvrtcProgram program = NULL;
	size_t size = 0;
	char *image = NULL;
	int failed = nvrtc->create(&program, source, "kernel.cu", 0, NULL, NULL)
		|| nvrtc->compile(program, sizeof(options) / sizeof(*options), options)
		|| nvrtc->size(program, &size)
		|| !(image = malloc(size))
		|| nvrtc->image(program, image);
	free(image);
	nvrtc->destroy(&program);
	return failed;
}

static int compile_kudzu(struct bench *b, const char *source)
{
	kz_module *mod = NULL;
	int failed = kz_module_compile(&mod, b->dev, source, NULL, &b->err) != KZ_OK;
	kz_module_release(mod);
	return failed;
}

/* One compile of a text that was never seen before; its times in ms. */
static int run_once(struct bench *b, const struct text *text, int bare, double *wall, double *cpu)
{
	static int serial;
	char source[2048];
	snprintf(source, sizeof(source), "// %d\n%s", serial++, text->source);
	double start = bench_now(), cpu_start = bench_cpu();
	int failed = bare ? compile_bare(b, source) : compile_kudzu(b, source);
	*cpu = (bench_cpu() - cpu_start) * 1e3;
	*wall = (bench_now() - start) * 1e3;
	return failed;
}

static int run_text(struct bench *b, const struct text *text)
{
	double wall[2][ROUNDS], cpu[2][ROUNDS], wall_ratio[ROUNDS], cpu_ratio[ROUNDS];
	char name[32];
	for (int round = -WARM_UP; round < ROUNDS; round++) {
		int slot = round < 0 ? 0 : round;
		for (int turn = 0; turn < 2; turn++) {
			int bare = turn ^ (round & 1);
			if (run_once(b, text, bare, &wall[bare][slot], &cpu[bare][slot])) {
				return -1;
			}
		}
		wall_ratio[slot] = wall[0][slot] / wall[1][slot];
		cpu_ratio[slot] = cpu[0][slot] / cpu[1][slot];
	}
	snprintf(name, sizeof(name), "compile %s", text->name);
	bench_report(name, "kudzu", "ms", wall[0], ROUNDS);
	bench_report(name, "bare", "ms", wall[1], ROUNDS);
	bench_report(name, "kudzu/bare", "ratio", wall_ratio, ROUNDS);
	bench_report(name, "kudzu/bare, processor time", "ratio", cpu_ratio, ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench b = {.err = KZ_ERROR_INIT};
	kz_module *mod = NULL;
	if (kz_device_open(&b.dev, argc > 1 ? argv[1] : "cuda", &b.err)
	    || kz_module_compile(&mod, b.dev, texts[0].source, NULL, &b.err)) {
		return bench_fail(&b.err);
	}
	int failed = find_nvrtc(&b.nvrtc, kz_module_arch(mod));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !failed; i++) {
		failed = run_text(&b, &texts[i]);
	}
	if (failed) {
		fprintf(stderr, "bench_compile: NVRTC refused\n");
		kz_error_print(&b.err, stderr);
	}
	kz_error_clear(&b.err);
	kz_module_release(mod);
	kz_device_close(b.dev);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
