/* SPDX-License-Identifier: MIT */
/*
 * Linking: several sources and libraries become one module that runs, whatever each was compiled
 * to; and what is missing, or there twice, is named.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "support/support.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static kz_error err;

/* Three sources: a kernel that needs the other two. */
static const char main_source[] =
	"extern __device__ float twice(float x);\n"
	"namespace ns { extern __device__ float half_of(float x, const int *n); }\n"
	"extern __device__ int calls;\n"
	"extern __constant__ float offset[2];\n"
	"extern \"C\" __global__ void apply(float *out, const float *in, int n)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		out[i] = twice(in[i]) + ns::half_of(in[i], &n) + offset[i % 2];\n"
	"		atomicAdd(&calls, 1);\n"
	"	}\n"
	"}\n";
static const char twice_source[] =
	"__device__ int calls = 7;\n"
	"__device__ float twice(float x) { return 2 * x; }\n";
static const char half_source[] =
	"__constant__ float offset[2] = {100, 200};\n"
	"namespace ns { __device__ float half_of(float x, const int *n) { return x / 2 + *n; } }\n";

/* How a source becomes an input: the compiler makes PTX, a cubin or LTO-IR of it. */
static kz_image *compile(const char *source, const char *arch)
{
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	kz_image *image = NULL;
	options.arch = arch;
	options.relocatable = 1;
	ok(kz_compile(&image, source, &options, &err));
	return image;
}

/* What it computes is checked on the host, and that the variables are shared. */
static void check_module(kz_device *dev, kz_module *mod)
{
	enum { COUNT = 77 };
	float in[COUNT];
	float out[COUNT];
	kz_array *a = NULL;
	kz_array *b = NULL;
	kz_kernel *apply = NULL;
	int calls = 0;
	int bad = 0;
	for (int i = 0; i < COUNT; i++) {
		in[i] = (float)i;
	}
	ok(kz_module_kernel(&apply, mod, "apply", &err));
	ok(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(COUNT), in, sizeof(in), &err));
	ok(kz_array_create(&b, dev, KZ_F32, KZ_SHAPE(COUNT), &err));
	ok(kz_launch(apply, kz_dim(3, 1, 1), kz_dim(32, 1, 1), NULL, &err,
		KZ_ARGS(b, a, (int)COUNT)));
	ok(kz_array_get(b, out, sizeof(out), &err));
	for (int i = 0; i < COUNT; i++) {
		bad += (double)out[i] != 2.0 * i + i / 2.0 + COUNT + (i % 2 ? 200 : 100);
	}
	ck_assert_int_eq(bad, 0);
	ok(kz_module_get_global(mod, "calls", &calls, sizeof(calls), &err));
	ck_assert_int_eq(calls, 7 + COUNT);
	release_arrays(a, b);
}

/* How each of the three is compiled. */
static const char *const ways[][3] = {
	{"compute_75", "compute_75", "compute_80"},
	{"lto_75", "lto_75", "lto_75"},
	{"lto_75", "compute_75", "compute_75"},
	{"lto_75", "lto_75", "compute_75"},
};

START_TEST(several_sources_become_one_module)
{
	for (int d = 0; d < support_device_count(); d++) {
		kz_device *dev = support_open(d);
		kz_link_input inputs[] = {{.name = "main"}, {.name = "twice"}, {.name = "half"}};
		kz_image *linked = NULL;
		kz_module *mod = NULL;
		inputs[0].image = compile(main_source, ways[_i][0]);
		inputs[1].image = compile(twice_source, ways[_i][1]);
		inputs[2].image = compile(half_source, ways[_i][2]);
		ok(kz_link(&linked, dev, inputs, 3, NULL, &err));
		ck_assert_str_ne(kz_image_linker(linked), "");
		for (int i = 0; i < 3; i++) {
			kz_image_release((kz_image *)inputs[i].image);
		}
		ok(kz_module_load_image(&mod, dev, linked, &err));
		check_module(dev, mod);
		kz_image_release(linked);
		kz_module_release(mod);
		support_close(dev);
	}
}
END_TEST

/* A library as ar makes it: a header of 60 characters before each member. */
static void add_member(struct str *library, const char *name, const void *data, size_t size)
{
	str_add(library, library->len ? "" : "!<arch>\n");
	str_addf(library, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", name, 0, 0, 0, 100644, size);
	str_addn(library, data, size);
	str_add(library, size % 2 ? "\n" : "");
}

static char *read_object(size_t *size)
{
	char *data = NULL;
	ok(file_read(&data, size, KZ_TEST_DIR "/data/fatbin/add_two.obj", &err));
	return data;
}

static const char user_source[] =
	"extern __device__ int base_value;\n"
	"extern __device__ int add_two(int x);\n"
	"extern __device__ int from_ptx(int x);\n"
	"extern \"C\" __global__ void run(int *out) { *out = from_ptx(add_two(base_value)); }\n";

/* The member "clash.ptx" defines what is there already: nobody needs it, nobody takes it. */
static void make_library(struct str *library)
{
	static const char names[] = "a_very_long_name_of_a_member.ptx/\n";
	kz_image *needed = compile("__device__ int from_ptx(int x) { return 100 * x; }\n",
		"compute_75");
	kz_image *clash = compile("__device__ int base_value = 1;\n"
		"__device__ int nobody_needs_this(int x) { return x; }\n", "compute_75");
	size_t size;
	char *object = read_object(&size);
	add_member(library, "/", "\0\0\0\0", 4);
	add_member(library, "//", names, sizeof(names) - 1);
	add_member(library, "clash.ptx/", kz_image_data(clash, NULL), (size_t)kz_image_size(clash));
	add_member(library, "words.txt/", "no code", 7);
	add_member(library, "/0", kz_image_data(needed, NULL), (size_t)kz_image_size(needed));
	kz_image_release(needed);
	kz_image_release(clash);
	mem_free(object);
}

START_TEST(objects_and_libraries_give_what_is_needed_of_them)
{
	struct str library = STR_INIT;
	size_t size;
	char *object = read_object(&size);
	kz_image *user = compile(user_source, _i ? "lto_75" : "compute_75");
	make_library(&library);
	for (int d = 0; d < support_device_count(); d++) {
		kz_device *dev = support_open(d);
		const kz_link_input inputs[] = {
			{.name = "libfast.a", .data = library.data, .size = (int64_t)library.len},
			{.name = "user", .image = user},
			{.name = KZ_TEST_DIR "/data/fatbin/add_two.obj"},
		};
		kz_image *linked = NULL;
		kz_module *mod = NULL;
		kz_kernel *run = NULL;
		int out = 0;
		ok(kz_link(&linked, dev, inputs, 3, NULL, &err));
		ok(kz_module_load_image(&mod, dev, linked, &err));
		ok(kz_module_kernel(&run, mod, "run", &err));
		ok(kz_launch(run, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
			KZ_ARGS(KZ_OUT(&out, sizeof(out)))));
		ck_assert_int_eq(out, 4200);
		kz_module_release(mod);
		kz_image_release(linked);
		support_close(dev);
	}
	kz_image_release(user);
	mem_free(object);
	str_free(&library);
}
END_TEST

/* Linked for a device, or, d < 0, for sm_80 without one. */
static kz_status link_two(kz_image **out, int d, const char *a, const char *a_arch, const char *b,
	const char *b_arch)
{
	kz_device *dev = d < 0 ? NULL : support_open(d);
	kz_link_options options = KZ_LINK_OPTIONS_INIT;
	kz_image *first = compile(a, a_arch);
	kz_image *second = compile(b, b_arch);
	const kz_link_input inputs[] = {
		{.name = "a.cu", .image = first}, {.name = "b.cu", .image = second},
	};
	options.arch = d < 0 ? "sm_80" : NULL;
	kz_status st = kz_link(out, dev, inputs, 2, &options, &err);
	kz_image_release(first);
	kz_image_release(second);
	kz_device_close(dev);
	return st;
}

static const struct {
	const char *a;
	const char *b;
	const char *message;
	const char *log;     /* a line of it */
} broken[] = {
	{"namespace m { extern __device__ float f(const int *p, float x); }\n"
	 "__global__ void k(float *x) { *x = m::f(0, *x); }\n",
	 "__device__ float f(float x) { return x; }\n",
	 "undefined symbol 'm::f(const int *, float)'", "(_ZN1m1fEPKif)"},
	{"__device__ float f(float x) { return x; }\n__global__ void k(float *x) { *x = f(*x); }\n",
	 "__device__ float f(float x) { return -x; }\n"
	 "__global__ void l(float *x) { *x = f(*x); }\n",
	 "symbol 'f(float)' is defined", "(_Z1ff)"},
	{"__device__ int count = 1;\n__global__ void k(int *x) { *x = count; }\n",
	 "__device__ int count = 2;\n__global__ void l(int *x) { *x = count; }\n",
	 "symbol 'count' is defined", "(count)"},
	{"extern \"C\" __global__ void k(int *x) { *x = 1; }\n",
	 "extern \"C\" __global__ void k(int *x) { *x = 2; }\n",
	 "symbol 'k' is defined", "(k)"},
};

/* For each of the above, what the two are compiled to. */
static const char *const broken_ways[][2] = {
	{"compute_75", "compute_75"}, {"lto_75", "lto_75"}, {"lto_75", "compute_75"},
	{"sm_80", "sm_80"},
};

START_TEST(symbols_at_fault_are_named)
{
	size_t index = (size_t)_i / countof(broken_ways);
	const char *const *way = broken_ways[(size_t)_i % countof(broken_ways)];
	bool is_cubin = strcmp(way[0], "sm_80") == 0;
	for (int d = is_cubin ? -1 : support_device_count() - 1; d >= -1; d--) {
		kz_image *linked = NULL;
		if (index == 1 && strcmp(way[0], way[1]) != 0) {
			continue; /* of the LTO-IR nothing is left that is called f */
		}
		kz_status st = link_two(&linked, d, broken[index].a, way[0], broken[index].b,
			way[1]);
		ck_assert_msg(st == KZ_LINK, "device %d, %s: %d %s", d, way[0], st, err.message);
		ck_assert_msg(strstr(err.message, broken[index].message) != NULL, "%s",
			err.message);
		ck_assert_msg(err.log && strstr(err.log, broken[index].log), "%s", err.log);
		ck_assert_ptr_null(linked);
		kz_error_clear(&err);
	}
}
END_TEST

START_TEST(a_gpu_gets_a_cubin_without_being_there)
{
	static const char *const archs[][3] = {
		{"sm_80", "sm_80", "sm_80"}, {"compute_75", "sm_80", "lto_80"},
		{"lto_75", "lto_75", "lto_75"}, {"sm_80", "compute_80", "compute_75"},
	};
	kz_link_options options = KZ_LINK_OPTIONS_INIT;
	kz_link_input inputs[] = {{.name = "main"}, {.name = "twice"}, {.name = "half"}};
	kz_image *linked = NULL;
	inputs[0].image = compile(main_source, archs[_i][0]);
	inputs[1].image = compile(twice_source, archs[_i][1]);
	inputs[2].image = compile(half_source, archs[_i][2]);
	options.arch = "sm_86";
	options.line_info = _i % 2;
	options.max_registers = 32;
	ok(kz_link(&linked, NULL, inputs, 3, &options, &err));
	ck_assert_int_eq(kz_image_get_kind(linked), KZ_IMAGE_CUBIN);
	ck_assert_str_eq(kz_image_arch(linked), "sm_86");
	ck_assert_int_eq(kz_image_kernel_count(linked), 1);
	ck_assert_str_eq(kz_image_kernel_name(linked, 0), "apply");
	ck_assert_msg(strncmp(kz_image_linker(linked), "nvJitLink ", 10) == 0, "%s",
		kz_image_linker(linked));
	for (int i = 0; i < 3; i++) {
		kz_image_release((kz_image *)inputs[i].image);
	}
	kz_image_release(linked);
}
END_TEST

/* nvJitLink keeps a lock when it calls a cubin "bad input", as some versions do that of sm_100. */
START_TEST(no_link_hangs_after_a_cubin_that_nvjitlink_refused)
{
	kz_compile_options how = KZ_COMPILE_OPTIONS_INIT;
	kz_link_options options = KZ_LINK_OPTIONS_INIT;
	kz_link_input input = {.name = "main"};
	kz_image *image = NULL, *linked = NULL;
	how.arch = "sm_100";
	how.relocatable = 1;
	if (kz_compile(&image, half_source, &how, NULL) == KZ_VERSION) {
		return; /* an older NVRTC */
	}
	input.image = image;
	options.arch = "sm_103";
	kz_status st = kz_link(&linked, NULL, &input, 1, &options, &err);
	bool refused = st && err.log && strstr(err.log, "bad input");
	kz_error_clear(&err);
	kz_image_release(linked);
	options.arch = "sm_100";
	st = kz_link(&linked, NULL, &input, 1, &options, &err);
	ck_assert_int_eq(st, refused ? KZ_NO_COMPILER : KZ_OK);
	kz_error_clear(&err);
	kz_image_release(linked);
	kz_image_release(image);
}
END_TEST

START_TEST(without_nvjitlink_the_driver_links_or_the_error_says_what_to_install)
{
	kz_link_options options = KZ_LINK_OPTIONS_INIT;
	kz_device *dev = support_open_stub("cc=80");
	kz_image *image = compile(twice_source, "compute_75");
	kz_image *lto = compile(twice_source, "lto_75");
	kz_link_input input = {.name = "twice", .image = image};
	kz_image *linked = NULL;
	setenv("KUDZU_NVJITLINK", "/nowhere", 1);
	ok(kz_link(&linked, dev, &input, 1, NULL, &err));
	ck_assert_str_eq(kz_image_linker(linked), "the driver's linker");
	kz_image_release(linked);
	options.arch = "sm_80";
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_NO_COMPILER, "/nowhere");
	options.linker = KZ_LINKER_NVJITLINK;
	ck_assert_int_eq(kz_link(&linked, dev, &input, 1, &options, &err), KZ_NO_COMPILER);
	ck_assert_msg(strstr(err.hint, "nvidia-nvjitlink") != NULL, "%s", err.hint);
	ck_assert_msg(strstr(err.log, "/nowhere") != NULL, "%s", err.log);
	kz_error_clear(&err);
	input.image = lto;
	fails(kz_link(&linked, dev, &input, 1, NULL, &err), KZ_NO_COMPILER, "nvJitLink");
	options.linker = KZ_LINKER_DRIVER;
	fails(kz_link(&linked, dev, &input, 1, &options, &err), KZ_UNSUPPORTED, "LTO-IR");
	kz_image_release(image);
	kz_image_release(lto);
	support_close_stub(dev);
}
END_TEST

START_TEST(failures_of_the_drivers_linker_are_errors)
{
	static const char *const scripts[] = {
		"cc=80;fail=cuLinkCreate:2", "cc=80;fail=cuLinkAddData:218",
		"cc=80;fail=cuLinkComplete:300", "cc=80;missing=cuLinkCreate_v2",
	};
	static const kz_status want[] = {
		KZ_DEVICE_MEMORY, KZ_BAD_IMAGE, KZ_COMPILE, KZ_UNSUPPORTED,
	};
	kz_link_options options = KZ_LINK_OPTIONS_INIT;
	kz_device *dev = support_open_stub(scripts[_i]);
	kz_image *image = compile(twice_source, "compute_75");
	const kz_link_input input = {.name = "twice", .image = image};
	kz_image *linked = NULL;
	options.linker = KZ_LINKER_DRIVER;
	kz_status st = kz_link(&linked, dev, &input, 1, &options, &err);
	ck_assert_msg(st == want[_i], "%d %s", st, err.message);
	ck_assert_ptr_null(linked);
	kz_error_clear(&err);
	kz_image_release(image);
	support_close_stub(dev);
}
END_TEST

START_TEST(what_cannot_be_linked_is_refused)
{
	static const char future[] = ".version 9.9\n.target sm_80\n.address_size 64\n";
	kz_link_options options = KZ_LINK_OPTIONS_INIT;
	kz_image *image = compile(twice_source, "compute_75");
	kz_image *newer = compile(twice_source, "sm_90");
	kz_link_input input = {.image = image};
	kz_image *linked = NULL;
	fails(kz_link(&linked, NULL, &input, 1, NULL, &err), KZ_INVALID, "expected a device");
	options.arch = "native";
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_INVALID, "\"native\"");
	options.arch = "sm_52";
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_VERSION, "");
	options.arch = "sm_80";
	fails(kz_link(&linked, NULL, NULL, 1, &options, &err), KZ_INVALID, "inputs");
	fails(kz_link(&linked, NULL, &input, 0, &options, &err), KZ_INVALID, "got 0");
	options.linker = KZ_LINKER_DRIVER;
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_INVALID, "needs a device");
	options.linker = 7;
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_INVALID, "");
	options.linker = KZ_LINKER_ANY;
	input = (kz_link_input){.name = NULL};
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_INVALID,
		"input 1: expected an image");
	input = (kz_link_input){.name = "/nowhere/at/all"};
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_NOT_FOUND, "/nowhere");
	input = (kz_link_input){.image = image, .data = "x", .size = 1};
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_INVALID, "expected one");
	input = (kz_link_input){.name = "words", .data = "words", .size = 5};
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_BAD_IMAGE,
		"'words' is not PTX");
	input = (kz_link_input){.name = "f", .data = future, .size = sizeof(future)};
	fails(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_VERSION,
		"the PTX is of version 9.9, the linker knows versions up to 9");
	static const char *const bad[] = {"-no-such-option", NULL};
	options.nvjitlink_options = bad;
	input = (kz_link_input){.image = image};
	ck_assert_int_eq(kz_link(&linked, NULL, &input, 1, &options, &err), KZ_INVALID);
	ck_assert_msg(strstr(err.log, "-no-such-option") != NULL, "%s", err.log);
	kz_error_clear(&err);
	kz_image_release(image);
	kz_image_release(newer);
}
END_TEST

START_TEST(every_failing_allocation_becomes_an_error)
{
	const char *arch = _i ? "lto_75" : "compute_75";
	kz_link_input inputs[] = {{.name = "main"}, {.name = "twice"}, {.name = "half"}};
	kz_device *dev = support_open(0);
	bool failed = true;
	long n;
	inputs[0].image = compile(main_source, arch);
	inputs[1].image = compile(twice_source, arch);
	inputs[2].image = compile(half_source, arch);
	for (n = 0; failed && n < 10000; n++) {
		kz_image *linked = NULL;
		mem_fail_after(n);
		kz_status st = kz_link(&linked, dev, inputs, 3, NULL, &err);
		failed = mem_has_failed();
		mem_fail_after(-1);
		ck_assert_msg(st == err.status, "%d but %s", (int)st, err.message);
		ck_assert_msg(st == KZ_OK || (failed && st == KZ_NO_MEMORY), "%s", err.message);
		kz_image_release(linked);
		kz_error_clear(&err);
	}
	ck_assert_int_gt(n, 10);
	for (int i = 0; i < 3; i++) {
		kz_image_release((kz_image *)inputs[i].image);
	}
	support_close(dev);
}
END_TEST

/* Functions that call each other, spread over sources at random. */
enum { FUNCTIONS = 8, SOURCES = 4, THREADS = 32 };

struct program {
	uint32_t seed;
	uint32_t factor[FUNCTIONS];
	bool calls[FUNCTIONS][FUNCTIONS]; /* only functions before it */
	int home[FUNCTIONS];              /* its source; the kernel is in source 0 */
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 12;
}

static void make_program(struct program *p)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		p->factor[i] = next_random(&p->seed) % 1000;
		p->home[i] = (int)(next_random(&p->seed) % (SOURCES - 1)) + 1;
		for (int j = 0; j < i; j++) {
			p->calls[i][j] = next_random(&p->seed) % 3 == 0;
		}
	}
}

/* What function `i` gives, on the host. */
static uint32_t reference(const struct program *p, int i, uint32_t x)
{
	uint32_t sum = x * p->factor[i] + x * 3;
	for (int j = 0; j < i; j++) {
		sum += p->calls[i][j] ? reference(p, j, x + (uint32_t)i) : 0;
	}
	return sum;
}

/* A template makes the same weak function in several of them. */
static void write_source(struct str *out, const struct program *p, int home)
{
	str_add(out, "template <int N> __device__ __noinline__ unsigned times(unsigned x)"
		" { return x * N; }\n");
	for (int i = 0; i < FUNCTIONS; i++) {
		str_addf(out, "extern __device__ unsigned f%d(unsigned x);\n", i);
	}
	for (int i = 0; i < FUNCTIONS; i++) {
		if (p->home[i] != home) {
			continue;
		}
		str_addf(out, "__device__ unsigned f%d(unsigned x)\n{\n"
			"\treturn x * %u + times<3>(x)", i, p->factor[i]);
		for (int j = 0; j < i; j++) {
			str_addf(out, p->calls[i][j] ? " + f%d(x + %d)" : "", j, i);
		}
		str_add(out, ";\n}\n");
	}
	if (home == 0) {
		str_addf(out, "extern \"C\" __global__ void run(unsigned *out)"
			" { out[threadIdx.x] = f%d(threadIdx.x); }\n", FUNCTIONS - 1);
	}
}

/* Compile the sources: the kernel's to LTO-IR or PTX, the others likewise or to PTX. */
static void compile_program(kz_link_input *inputs, struct program *p, struct str *library)
{
	bool lto_kernel = next_random(&p->seed) % 2;
	bool lto_all = lto_kernel && next_random(&p->seed) % 2;
	for (int home = 0; home < SOURCES; home++) {
		struct str text = STR_INIT;
		write_source(&text, p, home);
		kz_image *image = compile(text.data,
			lto_all || (lto_kernel && home == 0) ? "lto_75" : "compute_75");
		inputs[home] = (kz_link_input){.name = "source", .image = image};
		if (home > 0 && !lto_all && next_random(&p->seed) % 2) {
			add_member(library, "m.ptx/", kz_image_data(image, NULL),
				(size_t)kz_image_size(image));
			kz_image_release(image);
			inputs[home] = (kz_link_input){.name = NULL};
		}
		str_free(&text);
	}
}

/* Those that are left, and the library, in another order. */
static int shuffle(kz_link_input *inputs, struct program *p, const struct str *library)
{
	int count = 0;
	for (int i = 0; i < SOURCES; i++) {
		if (inputs[i].image) {
			inputs[count++] = inputs[i];
		}
	}
	if (library->len) {
		inputs[count++] = (kz_link_input){.name = "lib.a", .data = library->data,
			.size = (int64_t)library->len};
	}
	for (int i = count - 1; i > 0; i--) {
		int other = (int)(next_random(&p->seed) % (uint32_t)(i + 1));
		kz_link_input swapped = inputs[i];
		inputs[i] = inputs[other];
		inputs[other] = swapped;
	}
	return count;
}

static void run_program(kz_device *dev, const struct program *p, const kz_link_input *inputs,
	int count, int seed)
{
	kz_image *linked = NULL;
	kz_module *mod = NULL;
	kz_kernel *run = NULL;
	uint32_t out[THREADS] = {0};
	int bad = 0;
	ok(kz_link(&linked, dev, inputs, count, NULL, &err));
	ok(kz_module_load_image(&mod, dev, linked, &err));
	ok(kz_module_kernel(&run, mod, "run", &err));
	ok(kz_launch(run, kz_dim(1, 1, 1), kz_dim(THREADS, 1, 1), NULL, &err,
		KZ_ARGS(KZ_OUT(out, sizeof(out)))));
	for (uint32_t i = 0; i < THREADS; i++) {
		bad += out[i] != reference(p, FUNCTIONS - 1, i);
	}
	ck_assert_msg(bad == 0, "seed %d: %d of %d values are wrong", seed, bad, THREADS);
	kz_module_release(mod);
	kz_image_release(linked);
}

START_TEST(functions_in_any_order_in_any_place_find_each_other)
{
	struct program p = {.seed = (uint32_t)_i * 7919 + 1};
	kz_link_input inputs[SOURCES + 1];
	struct str library = STR_INIT;
	make_program(&p);
	compile_program(inputs, &p, &library);
	int count = shuffle(inputs, &p, &library);
	for (int d = 0; d < support_device_count(); d++) {
		kz_device *dev = support_open(d);
		run_program(dev, &p, inputs, count, _i);
		support_close(dev);
	}
	for (int i = 0; i < count; i++) {
		kz_image_release((kz_image *)inputs[i].image);
	}
	str_free(&library);
}
END_TEST

SUITE(image_link)
{
	Suite *suite = suite_create("image_link");
	TCase *tc = suite_add_case(suite, "link");
	tcase_add_loop_test(tc, several_sources_become_one_module, 0, countof(ways));
	tcase_add_loop_test(tc, objects_and_libraries_give_what_is_needed_of_them, 0, 2);
	tcase_add_loop_test(tc, functions_in_any_order_in_any_place_find_each_other, 0, 12);
	tcase_add_loop_test(tc, symbols_at_fault_are_named, 0,
		countof(broken) * countof(broken_ways));
	tcase_add_loop_test(tc, a_gpu_gets_a_cubin_without_being_there, 0, 4);
	tcase_add_tests(tc, 1, no_link_hangs_after_a_cubin_that_nvjitlink_refused,
		without_nvjitlink_the_driver_links_or_the_error_says_what_to_install);
	tcase_add_loop_test(tc, failures_of_the_drivers_linker_are_errors, 0, 4);
	tcase_add_test(tc, what_cannot_be_linked_is_refused);
	tcase_add_loop_test(tc, every_failing_allocation_becomes_an_error, 0, 2);
	return suite;
}
