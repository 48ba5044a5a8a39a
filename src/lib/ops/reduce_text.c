/* SPDX-License-Identifier: MIT */
/*
 * The CUDA C of reductions: kernels/reduce.cuh, then reduce_serial.cuh or, for GPUs,
 * reduce_threads.cuh.
 *
 * Three things are filled in.  How two values are combined is the text of an operation of ops.def.
 * What an element is are the nodes of an expression, or what an earlier pass left.  The third is
 * what is stored at the end.
 */
#include "base/common.h"

#include "lib/ops/device_code.h"
#include "lib/ops/generate.h"
#include "lib/ops/reduce.h"

int64_t reduce_partial_size(const struct reduce_class *class)
{
	return class->position ? class->narrow ? 8 : 16 : kz_dtype_size(dtype_wide(class->dtype));
}

/* Better values have larger ranks; equal ones, as zeros of both signs, and NaN have the same. */
static void reduce_add_rank(struct str *source, const struct reduce_class *class)
{
	const char *whole = class->narrow ? "0x7fffffff" : "0x7fffffffffffffffll";
	const char *way = class->combine == KZ_OP_MAXIMUM ? "" : "~";
	str_addf(source, "#define KZ_LAST %s\n__device__ inline kz_place kz_rank(kz_value a)\n{\n",
		whole);
	if (dtype_is_float(class->dtype)) {
		str_addf(source, "const kz_place bits = %s(a + 0), below = bits >> %d;\n"
			"return a != a ? KZ_LAST : %s(bits ^ (below & KZ_LAST));\n}\n",
			class->narrow ? "__float_as_int" : "__double_as_longlong",
			class->narrow ? 31 : 63, way);
	} else {
		str_addf(source, "return %s(kz_place)(a%s);\n}\n", way,
			dtype_is_signed(class->dtype) ? "" : " ^ ~(kz_value)KZ_LAST");
	}
}

/* Values and their indexes: NaN goes before all others, the smaller index before the larger.
 * Values are as wide as indexes, since LLVM makes vectors of pairs of one size only; and vectors
 * have twice as many of the narrow ones. */
static void reduce_add_position(struct str *source, const struct reduce_class *class)
{
	static const char *const types[2][3] = { /* narrow, and what kind of number */
		{"long long", "unsigned long long", "double"}, {"int", "unsigned", "float"},
	};
	bool is_real = dtype_is_float(class->dtype);
	int kind = is_real ? 2 : !dtype_is_signed(class->dtype);
	str_addf(source, "#define KZ_POSITION\n%stypedef %s kz_place;\ntypedef %s kz_value;\n"
		"struct kz_acc {\n\tkz_value value;\n\tkz_place index;\n};\n"
		"__device__ inline kz_acc kz_combine(kz_acc a, kz_acc b)\n{\n",
		class->rising ? "#define KZ_RISING\n" : "",
		types[class->narrow][0], types[class->narrow][kind]);
	str_add(source, is_real
		? "const bool no_a = a.value != a.value, no_b = b.value != b.value;\n"
		"const bool same = a.value == b.value || (no_a && no_b);\n"
		: "const bool no_a = false, no_b = false, same = a.value == b.value;\n");
	str_addf(source, "const bool better = no_b || (!no_a && b.value %s a.value);\n"
		"return (same ? b.index < a.index : better) ? b : a;\n}\n",
		class->combine == KZ_OP_MAXIMUM ? ">" : "<");
	reduce_add_rank(source, class);
	/* of two values of which the first one has the smaller index */
	str_addf(source, "__device__ inline bool kz_stays(kz_value a, kz_value b)\n{\n"
		"return (a %s b)%s;\n}\n", class->combine == KZ_OP_MAXIMUM ? ">=" : "<=",
		is_real ? " | (a != a)" : "");
}

/* PTX has no registers of 8 bits, so an accumulator of 8 bits would be cut after each element.
 * That step would keep LLVM from vectorizing the loop.  Cutting once at the end gives the same. */
static void reduce_add_combine(struct str *source, const struct reduce_class *class)
{
	const char *text = expr_op_text(expr_op(class->combine), class->dtype);
	const bool is_byte = class->dtype == KZ_I8 || class->dtype == KZ_U8;
	str_addf(source, "typedef %s kz_acc;\ntypedef %s kz_wide;\n"
		"__device__ inline kz_acc kz_combine(kz_acc a, kz_acc b) { return %s; }\n",
		generate_value(class->dtype), is_byte ? "short" : "kz_acc", text);
	if (is_byte) {
		str_addf(source, "__device__ inline short kz_combine(short a, short b) { return "
			"%s; }\n", text);
	}
}

/* From what all were combined to, `a`, to the result. */
static void reduce_add_finish(struct str *source, const struct reduce_class *class)
{
	static const char *const real[] = {
		[REDUCE_AS_IS] = "a",
		[REDUCE_QUOTIENT] = "(kz_acc)(a / extents.number)",
		[REDUCE_PRODUCT] = "a * extents.number",
		[REDUCE_ROOT] = "sqrt(a)",
		[REDUCE_ROOT_QUOTIENT] = "(kz_acc)sqrt(a / extents.number)",
	};
	const char *part = class->result == KZ_C64 ? "float" : "double";
	const char by = class->finish == REDUCE_PRODUCT ? '*' : '/';
	const bool parts = class->finish == REDUCE_QUOTIENT || class->finish == REDUCE_PRODUCT;
	str_add(source, "if (extents.final) {\nconst auto result = ");
	if (class->position) {
		str_add(source, "a.index");
	} else if (dtype_is_complex(class->dtype) && parts) {
		str_addf(source, "kz_make((%s)(a.re %c extents.number), (%s)(a.im %c "
			"extents.number))", part, by, part, by);
	} else {
		str_add(source, real[class->finish]);
	}
	str_add(source, ";\nauto &place = *(");
	generate_storage(source, class->result);
	str_add(source, " *)((char *)target + at);\n");
	generate_store(source, class->result, "place", "result");
	str_add(source, "} else {\n*(kz_acc *)((char *)target + at) = a;\n}\n");
}

/* What an array is in memory. */
static void reduce_add_type(struct str *source, const struct reduce_text *text, int array)
{
	if (text->class.partial) {
		str_add(source, "kz_acc");
	} else {
		generate_storage(source, text->expr->arrays[array]->dtype);
	}
}

static int reduce_array_count(const struct reduce_text *text)
{
	return text->class.partial ? 1 : text->expr->array_count;
}

/* Short rows need many threads at once: make the compiler save registers where few suffice.
 * Otherwise it may take what it can use (", 1"), and read as much ahead. */
static bool reduce_wants_blocks(const struct reduce_text *text)
{
	const struct reduce_class *class = &text->class;
	return !class->alone && !class->columns && !class->position && reduce_array_count(text) == 1
		&& class->pack * reduce_partial_size(class) <= 16;
}

static void reduce_text_add_params(struct str *source, const struct reduce_text *text)
{
	const struct reduce_class *class = &text->class;
	str_addf(source,
		"extern \"C\" __global__ void __launch_bounds__(%s) kz_kernel(void *target",
		class->alone ? "1" : reduce_wants_blocks(text) ? "KZ_THREADS, 4" : "KZ_THREADS, 1");
	for (int k = 0; k < reduce_array_count(text); k++) {
		str_add(source, ", const ");
		reduce_add_type(source, text, k);
		str_addf(source, " *array%d", k);
	}
	str_add(source, ", const __grid_constant__ kz_extents extents");
	if (!class->partial) {
		generate_number_params(source, text->expr);
	}
	str_add(source, ")\n{\n");
}

/* Where the row of each array begins. */
static void reduce_text_add_rows(struct str *source, const struct reduce_text *text)
{
	for (int k = 1; k <= reduce_array_count(text); k++) {
		str_addf(source, "const auto row%d = (decltype(array%d))((const char *)base%d"
			" + row * next%d);\n", k, k - 1, k, k);
	}
}

/* The value of lane `lane`, a text, into `to`. */
static void reduce_add_value(struct str *source, const struct reduce_text *text,
	const struct generate *generate, const char *to, const char *lane)
{
	int index = reduce_array_count(text) + 1;
	if (text->class.partial) {
		str_addf(source, generate->in_pack ? "%s pack1[turn].at[j];\n"
			: text->class.unit ? "%s row1[i];\n"
			: "%s *(const kz_acc *)((const char *)row1 + i * step1);\n", to);
		return;
	}
	generate_nodes(source, generate);
	int last = text->expr->node_count - 1;
	if (text->class.position) {
		str_addf(source,
			"%s kz_acc{n%d, (kz_place)(index + row * next%d + %s * step%d)};\n",
			to, last, index, lane, index);
	} else {
		str_addf(source, "%s n%d;\n", to, last);
	}
}

/* One element: of a row and a lane. */
static void reduce_add_one(struct str *source, const struct reduce_text *text,
	const struct generate *generate)
{
	str_add(source, "[=](long long row, long long i) -> kz_acc {\n");
	reduce_text_add_rows(source, text);
	reduce_add_value(source, text, generate, "return", "i");
	str_add(source, "}");
}

/* Some at once: of a row, from a lane on. */
static void reduce_add_pack(struct str *source, const struct reduce_text *text,
	const struct generate *generate)
{
	struct generate inner = *generate;
	inner.in_pack = text->class.pack > 1;
	inner.layout.pack = text->class.pack;
	str_add(source, "[=](kz_values &to, long long row, long long i) {\n");
	str_add(source, inner.in_pack ? "const int turn = 0;\n" : "");
	reduce_text_add_rows(source, text);
	for (int k = 1; inner.in_pack && k <= reduce_array_count(text); k++) {
		if (!(text->class.constant >> (k - 1) & 1)) {
			str_add(source, "const kz_pack<");
			reduce_add_type(source, text, k - 1);
			str_addf(source, "> pack%d[] = {*(const kz_pack<", k);
			reduce_add_type(source, text, k - 1);
			str_addf(source, "> *)(row%d + i)};\n", k);
		}
	}
	str_add(source, "_Pragma(\"unroll\") for (int j = 0; j < KZ_PACK; j++) {\n");
	reduce_add_value(source, text, &inner, "to.at[j] =", "(i + j)");
	str_add(source, "}\n}");
}

/* The map of a task, from a row and a lane to an element. */
static void reduce_add_map(struct str *source, const struct reduce_text *text,
	const struct generate *generate)
{
	const struct reduce_class *class = &text->class;
	bool with_index = class->position && !class->partial;
	int count = reduce_array_count(text);
	for (int k = 1; k <= count + with_index; k++) {
		str_addf(source, "const long long next%d = extents.operands[%d].row;\n"
			"const long long step%d = extents.operands[%d].lane;\n", k, k, k, k);
	}
	str_add(source, class->alone ? "return " : "return kz_maps(");
	reduce_add_one(source, text, generate);
	if (!class->alone) {
		str_add(source, ", ");
		reduce_add_pack(source, text, generate);
	}
	str_add(source, class->alone ? ";\n" : ");\n");
}

static void reduce_add_body(struct str *source, const struct reduce_text *text)
{
	const struct reduce_class *class = &text->class;
	struct generate generate = {text->expr, class->result, {.ndim = 1, .wide = 1,
		.walk = class->alone, .unit = class->unit, .constant = class->constant}, false};
	int count = reduce_array_count(text);
	str_add(source, "kz_reduce(extents, [&](const kz_task &task) {\n");
	for (int k = 1; k <= count; k++) {
		str_addf(source, "const char *base%d = (const char *)array%d + task.offset[%d];\n"
			"const auto row%d = (decltype(array%d))base%d;\n", k, k - 1, k, k, k - 1,
			k);
	}
	if (class->position && !class->partial) {
		str_addf(source, "const long long index = extents.first_index + task.offset[%d];\n",
			count + 1);
	}
	if (!class->partial) {
		generate_constants(source, &generate);
	}
	reduce_add_map(source, text, &generate);
	str_add(source, "}, [&](long long at, kz_acc a) {\n");
	reduce_add_finish(source, class);
	str_add(source, "});\n}\n");
}

void reduce_write(struct str *source, const void *context)
{
	const struct reduce_text *text = context;
	const struct reduce_class *class = &text->class;
	int operands = 1 + reduce_array_count(text) + (class->position && !class->partial);
	uint32_t dtypes = dtype_bit(class->dtype) | dtype_bit(class->result);
	for (int i = 0; !class->partial && i < text->expr->node_count; i++) {
		dtypes |= dtype_bit(text->expr->nodes[i].dtype);
	}
	generate_prelude(source, dtypes, true);
	if (class->position) {
		reduce_add_position(source, class);
	} else {
		reduce_add_combine(source, class);
	}
	str_addf(source, "#define KZ_OPERANDS %d\n#define KZ_DIMS %d\n#define KZ_RESULT %d\n"
		"#define KZ_WIDTH %d\n%s%s", operands, class->dims,
		(int)kz_dtype_size(class->result),
		class->rising ? REDUCE_SERIAL_PLACES : reduce_width(class->alone, class->columns),
		class->columns ? "#define KZ_COLUMNS\n" : "",
		class->linear ? "#define KZ_LINEAR\n" : "");
	str_add(source, device_reduce);
	if (class->alone) {
		str_add(source, device_reduce_serial);
	} else {
		str_addf(source, "#define KZ_PACK %d\n%s", class->pack, device_reduce_threads);
	}
	reduce_text_add_params(source, text);
	if (!class->partial) {
		generate_numbers(source, text->expr);
	}
	reduce_add_body(source, text);
}

const struct kernel_family reduce_family = {
	"reduce", reduce_write, {[SCHEDULE_MANY] = {REDUCE_BLOCK}, [SCHEDULE_ONE] = {1}},
	.is_brief = true,
};
