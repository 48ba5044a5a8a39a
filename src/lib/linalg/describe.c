/* SPDX-License-Identifier: MIT */
/*
 * Describe for kz_diagnose the libraries for linear algebra and Fourier transforms.
 *
 * The CPU device's libraries are opened as a program would.  NVIDIA's are large: without a GPU,
 * where nothing uses them, only their files are looked for.  No library is needed for kernels, so
 * one that is missing is a note.
 */
#include "base/common.h"

#include "lib/linalg/describe.h"

#include "base/alloc.h"
#include "base/env.h"
#include "lib/linalg/cuda_library.h"
#include "lib/linalg/host_library.h"

#include <strings.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* By hand: __builtin_cpu_supports would run code whenever the library is loaded. */
static bool describe_has_avx512(void)
{
	const unsigned needed = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
	unsigned a, b, c, d;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & needed) == needed;
}
#else
static bool describe_has_avx512(void)
{
	return false;
}
#endif

const char *describe_slow_core(const char *core, bool has_avx512)
{
	static const char *const wide[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
	bool is_wide = !has_avx512;
	for (size_t i = 0; i < countof(wide); i++) {
		is_wide |= strcasecmp(core, wide[i]) == 0;
	}
	return is_wide ? NULL : "this processor has AVX-512, which these kernels do not use; try "
		"OPENBLAS_CORETYPE=SKYLAKEX";
}

/* A library that somebody named cannot be used. */
static void describe_misnamed(kz_diagnosis *diagnosis, const char *topic, const char *variable,
	const char *log)
{
	struct str text = STR_INIT;
	str_addf(&text, "no usable library in %s='%s'", variable, env_get(variable));
	diagnose_add(diagnosis, KZ_VERDICT_PROBLEM, topic, text.failed ? NULL : text.data,
		"correct the environment variable, or unset it", log);
	str_free(&text);
}

static void describe_host(kz_diagnosis *diagnosis, const struct host_library *library,
	enum host_part part)
{
	const char *topic = part == HOST_BLAS ? "blas" : "lapack";
	const char *variable = host_library_misnamed(library, part);
	if (variable) {
		describe_misnamed(diagnosis, topic, variable, host_library_log());
		return;
	}
	if (!library->parts[part].object) {
		diagnose_add(diagnosis, KZ_VERDICT_NOTE, topic, part == HOST_BLAS
			? "none: the CPU device multiplies matrices with its own kernels, which "
			"are slower"
			: "none: the CPU device cannot compute singular values and eigenvalues, "
			"and factors matrices with its own kernels",
			"install OpenBLAS (Debian: apt-get install libopenblas0), or name a "
			"library in KUDZU_BLAS and KUDZU_LAPACK", host_library_log());
		return;
	}
	struct str text = STR_INIT;
	const char *core = host_library_core(library, part);
	host_library_describe(&text, library, part);
	diagnose_add(diagnosis, KZ_VERDICT_OK, topic, text.failed ? NULL : text.data,
		core && part == HOST_BLAS ? describe_slow_core(core, describe_has_avx512()) : NULL,
		NULL);
	str_free(&text);
}

static void describe_cpu(kz_diagnosis *diagnosis)
{
	kz_device *dev;
	if (kz_device_open(&dev, "cpu", NULL)) {
		return; /* what is wrong with it is another finding */
	}
	const struct host_library *library = host_library_get(dev->info.multiprocessors);
	describe_host(diagnosis, library, HOST_BLAS);
	describe_host(diagnosis, library, HOST_LAPACK);
	kz_device_close(dev);
}

static const struct {
	const char *topic, *text, *fix;
} describe_parts[CUDA_PARTS] = {
	{"cublas", "none: GPUs multiply matrices with our own kernels, which are slower",
		"install the CUDA toolkit or NVIDIA's nvidia-cublas wheel, or set KUDZU_CUBLAS to "
		"the library or its folder"},
	{"cusolver", "none: GPUs cannot compute singular values and eigenvalues, and factor "
		"matrices with our own kernels",
		"install the CUDA toolkit or NVIDIA's nvidia-cusolver wheel, or set "
		"KUDZU_CUSOLVER to the library or its folder"},
	{"cufft", "none: GPUs transform with our own kernels",
		"install the CUDA toolkit or NVIDIA's "
		"nvidia-cufft wheel, or set KUDZU_CUFFT to the library or its folder"},
};

static void describe_cuda(kz_diagnosis *diagnosis, enum cuda_part part, bool has_gpu)
{
	const struct cuda_library *library = has_gpu ? cuda_library_get(part) : NULL;
	const char *topic = describe_parts[part].topic;
	char *file = has_gpu ? NULL : cuda_library_look(part);
	struct str text = STR_INIT;
	if (has_gpu && !library) {
		diagnose_add(diagnosis, KZ_VERDICT_NOTE, topic, NULL, NULL, NULL); // no memory
	} else if (has_gpu && library->parts[part].path) {
		const struct cuda_object *of = &library->parts[part];
		str_addf(&text, "%d.%d.%d, %s", of->version[0], of->version[1], of->version[2],
			of->path);
		diagnose_add(diagnosis, KZ_VERDICT_OK, topic, text.data, NULL, NULL);
	} else if (has_gpu && cuda_library_misnamed(library, part)) {
		describe_misnamed(diagnosis, topic, cuda_library_misnamed(library, part),
			cuda_library_log(part));
	} else if (has_gpu) {
		diagnose_add(diagnosis, KZ_VERDICT_NOTE, topic, describe_parts[part].text,
			describe_parts[part].fix, cuda_library_log(part));
	} else {
		str_addf(&text, "%s%s: there is no GPU that needs it", file ? file : "none",
			file ? ", not loaded" : "");
		diagnose_add(diagnosis, KZ_VERDICT_NOTE, topic, text.data, NULL, NULL);
	}
	str_free(&text);
	mem_free(file);
}

void describe_libraries(kz_diagnosis *diagnosis, bool has_cpu, bool has_gpu)
{
	if (has_cpu) {
		describe_cpu(diagnosis);
	}
	for (int part = 0; part < CUDA_PARTS; part++) {
		describe_cuda(diagnosis, (enum cuda_part)part, has_gpu);
	}
}
