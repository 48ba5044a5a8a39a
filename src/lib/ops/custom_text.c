/* SPDX-License-Identifier: MIT */
/*
 * Users' strings -> CUDA C.
 *
 * The strings go in as they are, each after a #line that names it, so that the compiler's places
 * are places in what the user wrote.  The argument list is that of the kernel, with our parameters
 * after it.  Where arrays are not plain pointers, objects of the same names hide them.
 *
 * A reduction takes chunks of a fixed number of elements.  Lane l of a chunk combines its elements
 * l, l + 256, ... in this order; then the lanes are combined in halves.  A lane is a thread, or, in
 * a kernel of one thread, a place in an array, which LLVM vectorizes.  The values of the chunks are
 * reduced in the same way until there is one.
 */
#include "base/common.h"

#include "lib/ops/custom.h"
#include "lib/ops/device_code.h"
#include "lib/ops/user_text.h"

#include <string.h>

/* Characters of an operation, from which on several of it would be much code. */
enum { LONG_OPERATION = 400 };

static bool custom_text_mentions(const struct custom *custom, const char *word)
{
	const char *const texts[] = {
		custom->preamble, custom->loop_prep, custom->operation, custom->after_loop,
		custom->neutral, custom->reduce, custom->map, custom->args.list,
	};
	for (size_t i = 0; i < countof(texts); i++) {
		if (texts[i] && strstr(texts[i], word)) {
			return true;
		}
	}
	return false;
}

/* Make the letters of the list types: those of numbers, which the preamble sees, or the structs,
 * which it declares. */
static void custom_add_typedefs(struct str *source, const struct custom *custom, bool structs)
{
	for (int k = 0; k < DECLARE_LETTERS; k++) {
		kz_dtype dtype = custom->types[k];
		if (dtype && dtype_is_struct(dtype) == structs) {
			str_addf(source, "typedef %s %c;\n", declare_spelling(dtype), 'A' + k);
		}
	}
}

static void custom_text_add_prelude(struct str *source, const struct custom *custom,
	const struct custom_class *class)
{
	uint32_t dtypes = custom->args.dtypes;
	dtypes |= dtype_bit(custom->dtype);
	if (dtypes & dtype_bit(KZ_F16)) {
		str_add(source, "#include <cuda_fp16.h>\n");
	}
	if (dtypes & dtype_bit(KZ_BF16)) {
		str_add(source, "#include <cuda_bf16.h>\n");
	}
	if (dtypes & (dtype_bit(KZ_F8_E4M3) | dtype_bit(KZ_F8_E5M2))) {
		str_add(source, "#include <cuda_fp8.h>\n");
	}
	if (dtypes & (dtype_bit(KZ_C64) | dtype_bit(KZ_C128))
	    || custom_text_mentions(custom, "kz_complex")) {
		str_add(source, device_real);
		str_add(source, device_elementary);
		str_add(source, device_custom_complex);
		str_add(source, device_complex);
	}
	if (class->ndim) {
		str_add(source, device_custom);
	}
	custom_add_typedefs(source, custom, false);
	if (custom->preamble[0]) {
		user_text_add(source, custom->name, "preamble", custom->preamble, "");
	}
	custom_add_typedefs(source, custom, true);
}

/* A struct must be as large as the arrays' elements. */
static void custom_add_size_check(struct str *source, const char *type, int64_t size)
{
	str_addf(source, "static_assert(sizeof(%s) == %lld,"
		" \"%s was registered with %lld bytes\");\n", type, (long long)size, type,
		(long long)size);
}

static void custom_add_size_checks(struct str *source, const struct custom *custom)
{
	for (size_t i = 0; i < custom->args.count; i++) {
		const struct declaration *arg = &custom->args.items[i];
		if (arg->dtype) {
			custom_add_size_check(source, arg->type, arg->size);
		}
	}
	if (dtype_is_struct(custom->dtype)) {
		custom_add_size_check(source, declare_spelling(custom->dtype),
			kz_dtype_size(custom->dtype));
	}
}

static void custom_open_kernel(struct str *source, const struct custom *custom, const char *suffix)
{
	str_addf(source, "extern \"C\" __global__ void __launch_bounds__(%d) %s%s(",
		custom->threads, custom->symbol, suffix);
}

/* Tell the compiler which arrays do not overlap, so that it reads ahead.  The user's text stays as
 * it is, as errors show it. */
static void custom_add_arguments(struct str *source, const struct custom *custom,
	const struct custom_class *class)
{
	for (size_t i = 0; class->apart && i < custom->args.count; i++) {
		const struct declaration *arg = &custom->args.items[i];
		if (arg->is_pointer) {
			str_addf(source, "\n#define %s __restrict__ %s", arg->name, arg->name);
		}
	}
	user_text_add(source, custom->name, "arguments", custom->args.list, "");
	for (size_t i = 0; class->apart && i < custom->args.count; i++) {
		if (custom->args.items[i].is_pointer) {
			str_addf(source, "#undef %s\n", custom->args.items[i].name);
		}
	}
}

static void custom_text_add_head(struct str *source, const struct custom *custom,
	const struct custom_class *class)
{
	custom_open_kernel(source, custom, "");
	custom_add_arguments(source, custom, class);
	str_add(source, ", const long long n");
	if (class->ranged) {
		str_add(source, ", const long long kz_start, const long long kz_step,"
			" const long long kz_steps");
	}
	if (custom->dtype) {
		str_add(source, ", kz_type *kz_out");
	}
	if (class->ndim) {
		str_addf(source, ", const __grid_constant__ kz_layout<%d, %d> kz_extents",
			custom->array_count, class->ndim);
	}
	str_add(source, ")\n{\n"
		"const unsigned int tid = threadIdx.x, total_threads = gridDim.x * blockDim.x;\n"
		"(void)tid, (void)total_threads;\n");
}

/* Hide the pointers to arrays that are no plain pointers; opens a block. */
static void custom_add_arrays(struct str *source, const struct custom *custom,
	const struct custom_class *class)
{
	int k = 0;
	if (!class->ndim) {
		str_add(source, "{\n");
		return;
	}
	str_addf(source, "kz_cursor<%d, %d> kz_at_i(kz_extents);\n", custom->array_count,
		class->ndim);
	for (size_t i = 0; i < custom->args.count; i++) {
		const struct declaration *arg = &custom->args.items[i];
		if (arg->is_pointer && !arg->is_raw) {
			str_addf(source, "const auto kz_array%d = kz_at<%d>(%s, kz_at_i);\n", k, k,
				arg->name);
			k++;
		}
	}
	str_add(source, "{\n");
	k = 0;
	for (size_t i = 0; i < custom->args.count; i++) {
		const struct declaration *arg = &custom->args.items[i];
		if (arg->is_pointer && !arg->is_raw) {
			str_addf(source, "const auto &%s = kz_array%d;\n", arg->name, k++);
		}
	}
}

/* Elementwise */

int custom_turns(const struct custom *custom, const struct custom_class *class)
{
	int64_t widest = 1;
	if (custom->threads == 1 || custom->dtype || class->ndim || custom->loop_prep[0]
	    || custom->after_loop[0] || strlen(custom->operation) > LONG_OPERATION) {
		return 0;
	}
	for (size_t i = 0; i < custom->args.count; i++) {
		const struct declaration *arg = &custom->args.items[i];
		widest = arg->is_pointer && arg->size > widest ? arg->size : widest;
	}
	return widest >= 4 ? 4 : 16 / (int)widest;
}

/* The turns of a thread of a GPU.  The compiler unrolls them: it reads for all, then writes. */
static void custom_text_open_turns(struct str *source, const char *count, int turns)
{
	int each = CUSTOM_BLOCK * turns;
	str_addf(source, "const long long kz_first = blockIdx.x * %dll, kz_left = %s - kz_first;\n"
		"const int kz_end = kz_left < %d ? (int)kz_left : %d;\n"
		"#pragma unroll %d\n"
		"for (int kz_at = threadIdx.x; kz_at < kz_end; kz_at += %d) {\n"
		"const long long kz_k = kz_first + kz_at;\n", each, count, each, each, turns,
		CUSTOM_BLOCK);
}

/* The loop up to the user's operation: over kz_k, of which i follows. */
static void custom_open_loop(struct str *source, const struct custom *custom,
	const struct custom_class *class)
{
	bool walks = class->ndim && custom->threads == 1 && !class->ranged;
	const char *count = class->ranged ? "kz_steps" : "n";
	int turns = custom_turns(custom, class);
	if (turns) {
		custom_text_open_turns(source, count, turns);
	} else if (custom->threads == 1) {
		str_addf(source, "const long long kz_share = (%s + gridDim.x - 1) / gridDim.x;\n"
			"const long long kz_first = kz_share * blockIdx.x;\n"
			"const long long kz_end = kz_share < %s - kz_first"
			" ? kz_first + kz_share : %s;\n"
			"%s#pragma unroll 1\n"
			"for (long long kz_k = kz_first; kz_k < kz_end; kz_k++%s) {\n", count,
			count, count, walks ? "kz_at_i.seek(kz_first);\n" : "",
			walks ? ", kz_at_i.next()" : "");
	} else {
		str_addf(source, "for (long long kz_k = blockIdx.x * (long long)blockDim.x"
			" + threadIdx.x; kz_k < %s; kz_k += (long long)gridDim.x * blockDim.x) {\n",
			count);
	}
	str_addf(source, "const long long i = %s;\n", class->ranged ? "kz_start + kz_k * kz_step"
		: walks ? "kz_at_i.index" : "kz_k");
	if (class->ndim && !walks) {
		str_add(source, "kz_at_i.seek(i);\n");
	}
	if (custom->has_index) {
		str_addf(source, "const kz_index<%d> _ind(kz_extents.extents, n, i);\n",
			class->ndim);
	}
}

static void custom_add_elementwise(struct str *source, const struct custom *custom,
	const struct custom_class *class)
{
	custom_text_add_head(source, custom, class);
	custom_add_arrays(source, custom, class);
	if (custom->loop_prep[0]) {
		user_text_add(source, custom->name, "loop_prep", custom->loop_prep, ";");
	}
	custom_open_loop(source, custom, class);
	user_text_add(source, custom->name, "operation", custom->operation, ";");
	str_add(source, "}\n");
	if (custom->after_loop[0]) {
		user_text_add(source, custom->name, "after_loop", custom->after_loop, ";");
	}
	str_add(source, "}\n}\n");
}

/* Reductions */

static void custom_add_functions(struct str *source, const struct custom *custom)
{
	str_addf(source, "typedef %s kz_type;\n"
		"__device__ __forceinline__ kz_type kz_neutral()\n{\nreturn (",
		declare_spelling(custom->dtype));
	user_text_add(source, custom->name, "neutral", custom->neutral, ");");
	str_add(source, "}\n__device__ __forceinline__ kz_type kz_reduce(kz_type a, kz_type b)\n"
		"{\nreturn (");
	user_text_add(source, custom->name, "reduce", custom->reduce, ");");
	str_addf(source, "}\n"
		"/* The lanes that so many elements take: a power of two. */\n"
		"__device__ __forceinline__ int kz_lanes(long long count)\n{\n"
		"int lanes = 1;\n"
		"while (lanes < %d && lanes < count) {\nlanes *= 2;\n}\nreturn lanes;\n}\n",
		CUSTOM_BLOCK);
}

/* The loop over the elements of a chunk, up to where the value of element i is wanted. */
static void custom_open_chunk(struct str *source, bool alone, bool strided)
{
	str_addf(source, "%schar kz_bytes[%d * sizeof(kz_type)];\n"
		"kz_type *const kz_sums = (kz_type *)kz_bytes;\n"
		"const long long kz_chunks = n > 0 ? (n - 1) / %d + 1 : 1;\n"
		"for (long long kz_chunk = blockIdx.x; kz_chunk < kz_chunks;"
		" kz_chunk += gridDim.x) {\n"
		"const long long kz_first = kz_chunk * %d;\n"
		"const long long kz_end = n - kz_first < %d ? n : kz_first + %d;\n"
		"const int kz_used = kz_lanes(kz_end - kz_first);\n",
		alone ? "__align__(16) " : "__shared__ __align__(16) ", CUSTOM_BLOCK, CUSTOM_CHUNK,
		CUSTOM_CHUNK, CUSTOM_CHUNK, CUSTOM_CHUNK);
	if (!alone) {
		str_addf(source, "kz_type kz_sum = kz_neutral();\n"
			"for (long long i = kz_first + threadIdx.x; i < kz_end; i += %d) {\n%s",
			CUSTOM_BLOCK, strided ? "kz_at_i.seek(i);\n" : "");
		return;
	}
	str_addf(source, "for (int kz_lane = 0; kz_lane < kz_used; kz_lane++) {\n"
		"kz_sums[kz_lane] = kz_neutral();\n}\n"
		"%sfor (long long kz_row = kz_first; kz_row < kz_end; kz_row += %d) {\n"
		"const int kz_count = kz_end - kz_row < %d ? (int)(kz_end - kz_row) : %d;\n"
		"#pragma unroll 1\n"
		"for (int kz_lane = 0; kz_lane < kz_count; kz_lane++%s) {\n"
		"const long long i = %s;\n",
		strided ? "kz_at_i.seek(kz_first);\n" : "", CUSTOM_BLOCK, CUSTOM_BLOCK,
		CUSTOM_BLOCK, strided ? ", kz_at_i.next()" : "",
		strided ? "kz_at_i.index" : "kz_row + kz_lane");
}

/* With the value in kz_value: combine, and write what the chunk gives. */
static void custom_close_chunk(struct str *source, bool alone)
{
	str_add(source, alone
		? "kz_sums[kz_lane] = kz_reduce(kz_sums[kz_lane], kz_value);\n}\n}\n"
		"for (int kz_half = kz_used / 2; kz_half; kz_half /= 2) {\n"
		"#pragma unroll 1\n"
		"for (int kz_lane = 0; kz_lane < kz_half; kz_lane++) {\n"
		"kz_sums[kz_lane] = kz_reduce(kz_sums[kz_lane],"
		" kz_sums[kz_lane + kz_half]);\n}\n}\n"
		"kz_out[kz_chunk] = kz_sums[0];\n}\n"
		: "kz_sum = kz_reduce(kz_sum, kz_value);\n}\n"
		"kz_sums[threadIdx.x] = kz_sum;\n"
		"__syncthreads();\n"
		"for (int kz_half = kz_used / 2; kz_half; kz_half /= 2) {\n"
		"if (threadIdx.x < kz_half) {\n"
		"kz_sums[threadIdx.x] = kz_reduce(kz_sums[threadIdx.x],"
		" kz_sums[threadIdx.x + kz_half]);\n}\n"
		"__syncthreads();\n}\n"
		"if (threadIdx.x == 0) {\nkz_out[kz_chunk] = kz_sums[0];\n}\n"
		"__syncthreads();\n}\n");
}

static void custom_add_reduction(struct str *source, const struct custom *custom,
	const struct custom_class *class)
{
	custom_add_functions(source, custom);
	custom_text_add_head(source, custom, class);
	custom_add_arrays(source, custom, class);
	custom_open_chunk(source, custom->threads == 1, class->ndim != 0);
	str_add(source, "const kz_type kz_value = (");
	user_text_add(source, custom->name, "map", custom->map, ");");
	custom_close_chunk(source, custom->threads == 1);
	str_add(source, "}\n}\n");
	if (!class->ndim) {
		custom_open_kernel(source, custom, "_next");
		str_add(source, "const kz_type *kz_in, const long long n, kz_type *kz_out)\n{\n");
		custom_open_chunk(source, custom->threads == 1, false);
		str_add(source, "const kz_type kz_value = kz_in[i];\n");
		custom_close_chunk(source, custom->threads == 1);
		str_add(source, "}\n");
	}
}

void custom_write(struct str *source, const struct custom *custom,
	const struct custom_class *class)
{
	custom_text_add_prelude(source, custom, class);
	custom_add_size_checks(source, custom);
	if (custom->dtype) {
		custom_add_reduction(source, custom, class);
	} else {
		custom_add_elementwise(source, custom, class);
	}
}
