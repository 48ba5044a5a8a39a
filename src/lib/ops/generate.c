/* SPDX-License-Identifier: MIT */
/*
 * Expressions as CUDA C.
 *
 * Every node becomes one constant, n0, n1, ..., with the text of ops.def in which a, b, c are
 * replaced by the constants of its operands.  Around them is a loop over the elements: flat, or
 * over rows and the elements of a row, so that only rows cost divisions.  Types in memory and
 * types of values differ: bool is a byte, and a half is computed as a float and rounded after
 * each operation.
 */
#include "base/common.h"

#include "lib/ops/device_code.h"
#include "lib/ops/generate.h"

#include <stdio.h>
#include <string.h>

/* Types */

int64_t generate_alignment(kz_dtype dtype)
{
	int64_t size = dtype_size(dtype);
	if (!dtype_is_struct(dtype)) {
		return size;
	}
	return size % 16 == 0 ? 16 : size & -size;
}

void generate_storage(struct str *source, kz_dtype dtype)
{
	static const char *const builtin[DTYPE_BUILTIN] = {
		[KZ_BOOL] = "unsigned char", [KZ_F16] = "kz_f16", [KZ_BF16] = "kz_bf16",
		[KZ_C64] = "kz_complex<float>", [KZ_C128] = "kz_complex<double>",
		[KZ_F8_E4M3] = "kz_e4m3", [KZ_F8_E5M2] = "kz_e5m2",
	};
	if (dtype_is_struct(dtype)) {
		str_addf(source, "kz_blob<%lld, %lld>", (long long)kz_dtype_size(dtype),
			(long long)generate_alignment(dtype));
	} else {
		str_add(source, builtin[dtype] ? builtin[dtype] : kz_dtype_ctype(dtype));
	}
}

const char *generate_value(kz_dtype dtype)
{
	switch (dtype) {
	case KZ_BOOL:
		return "bool";
	case KZ_F16:
	case KZ_BF16:
		return "float";
	case KZ_C64:
		return "kz_complex<float>";
	case KZ_C128:
		return "kz_complex<double>";
	case KZ_F8_E4M3:
		return "kz_e4m3";
	case KZ_F8_E5M2:
		return "kz_e5m2";
	default:
		return dtype_is_struct(dtype) ? "auto" : kz_dtype_ctype(dtype);
	}
}

void generate_load(struct str *source, kz_dtype dtype, const char *place)
{
	bool is_half = dtype_is_half(dtype);
	str_addf(source, is_half ? "kz_float(%s)" : dtype == KZ_BOOL ? "%s != 0" : "%s", place);
}

void generate_store(struct str *source, kz_dtype dtype, const char *place, const char *value)
{
	str_addf(source, dtype == KZ_F16 ? "%s = kz_half(%s);\n"
		: dtype == KZ_BF16 ? "%s = kz_bhalf(%s);\n" : "%s = %s;\n", place, value);
}

void generate_prelude(struct str *source, uint32_t dtypes, bool with_integers)
{
	str_add(source, device_real);
	str_add(source, device_elementary);
	if (with_integers) {
		str_add(source, device_integer);
	}
	const uint32_t bytes = dtype_bit(KZ_F8_E4M3) | dtype_bit(KZ_F8_E5M2);
	if (dtypes & (dtype_bit(KZ_F16) | dtype_bit(KZ_BF16) | bytes)) {
		str_add(source, device_half);
	}
	if (dtypes & bytes) {
		str_add(source, device_float8);
	}
	if (dtypes & (dtype_bit(KZ_C64) | dtype_bit(KZ_C128))) {
		str_add(source, device_complex);
	}
	if (dtypes & UINT32_C(1) << DTYPE_STRUCT_BIT) {
		str_add(source, "template <int size, int unit> struct __align__(unit) kz_blob {\n"
			"\tunsigned char bytes[size];\n};\n");
	}
}

void generate_element(struct str *source, kz_dtype dtype)
{
	generate_prelude(source, dtype_bit(dtype), dtype_is_exact(dtype));
	str_add(source, "typedef ");
	generate_storage(source, dtype);
	str_addf(source, " kz_stored;\ntypedef %s kz_value;\n"
		"static __device__ inline kz_value kz_load(kz_stored a) { return ",
		generate_value(dtype));
	generate_load(source, dtype, "a");
	str_add(source, "; }\nstatic __device__ inline kz_stored kz_save(kz_value "
		"a)\n{\n\tkz_stored b;\n\t");
	generate_store(source, dtype, "b", "a");
	str_add(source, "\treturn b;\n}\n");
}

static void generate_add_prelude(struct str *source, const struct expr *expr, kz_dtype target)
{
	uint32_t dtypes = dtype_bit(target);
	bool with_integers = false, with_special = false;
	for (int i = 0; i < expr->node_count; i++) {
		const struct expr_node *node = &expr->nodes[i];
		dtypes |= dtype_bit(node->dtype);
		with_integers |= expr_is_operation(node)
			&& dtype_is_exact(expr->nodes[node->args[0]].dtype);
		with_special |= expr_is_operation(node) && expr_op(node->op)->cost == OP_SPECIAL;
	}
	generate_prelude(source, dtypes, with_integers);
	if (with_special) {
		str_add(source, device_special);
	}
}

/* The kernel's parameters */

/* The type by which the nodes read an array. */
static kz_dtype generate_array_dtype(const struct expr *expr, int which)
{
	for (int i = 0; i < expr->node_count; i++) {
		if (expr->nodes[i].op == EXPR_ARRAY && expr->nodes[i].args[0] == which) {
			return expr->nodes[i].dtype;
		}
	}
	return expr->arrays[which]->dtype;
}

void generate_number_params(struct str *source, const struct expr *expr)
{
	for (int i = 0; i < expr->node_count; i++) {
		const struct expr_node *node = &expr->nodes[i];
		if (node->op == EXPR_SCALAR) {
			str_addf(source, ", %s number%d", dtype_is_complex(node->dtype)
				? "kz_complex<double>" : dtype_is_float(node->dtype) ? "double"
				: node->dtype == KZ_U64 ? "unsigned long long" : "long long",
				node->args[0]);
		}
	}
}

static void generate_add_params(struct str *source, const struct generate *generate)
{
	const struct expr *expr = generate->expr;
	const struct layout *layout = &generate->layout;
	if (layout->pack > 1) {
		str_addf(source, "template <class T> struct __align__(%d * sizeof(T)) kz_pack {\n"
			"\tT at[%d];\n};\n", layout->pack, layout->pack);
	}
	if (layout->ndim) {
		str_addf(source, "struct kz_extents {\n\tkz_index inner, rows, dims[%d];\n"
			"\tlong long strides[%d][%d];\n};\n", layout->ndim, 1 + expr->array_count,
			layout->ndim);
	}
	str_add(source, "extern \"C\" __global__ void ");
	if (layout->walk) {
		str_addf(source, "__launch_bounds__(%d) ", layout->walk);
	}
	str_add(source, "kz_kernel(");
	generate_storage(source, generate->dtype);
	str_add(source, " *target");
	for (int i = 0; i < expr->array_count; i++) {
		str_add(source, ", const ");
		generate_storage(source, generate_array_dtype(expr, i));
		str_addf(source, " *array%d", i);
	}
	str_add(source, layout->ndim ? ", const __grid_constant__ kz_extents extents"
		: ", kz_index count");
	generate_number_params(source, expr);
	str_add(source, ")\n{\n");
}

/* Nodes */

/* Begin a value of a type: halves are rounded, h0, h1, ..., and are floats again. */
static void generate_open_value(struct str *source, int node, kz_dtype dtype)
{
	if (dtype_is_half(dtype)) {
		str_addf(source, dtype == KZ_F16 ? "\tconst kz_f16 h%d = kz_to_f16("
			: "\tconst kz_bf16 h%d = kz_to_bf16(", node);
	} else {
		str_addf(source, "\tconst %s n%d = (", generate_value(dtype), node);
	}
}

static void generate_close_value(struct str *source, int node, kz_dtype dtype)
{
	str_add(source, ");\n");
	if (dtype_is_half(dtype)) {
		str_addf(source, "\tconst float n%d = kz_float(h%d);\n", node, node);
	}
}

static void generate_add_cast(struct str *source, kz_dtype to, kz_dtype from, const char *value)
{
	char single[40];
	if (dtype_is_storage(from) && to != from) {
		snprintf(single, sizeof(single), "kz_float(%s)", value);
		value = single;
		from = KZ_F32;
	}
	const char *part = to == KZ_C64 ? "float" : "double";
	if (to == KZ_BOOL) {
		str_addf(source, dtype_is_complex(from) ? "%s.re != 0 || %s.im != 0" : "%s != 0",
			value, value);
	} else if (dtype_is_complex(to)) {
		str_addf(source, dtype_is_complex(from) ? "kz_make((%s)%s.re, (%s)%s.im)"
			: "kz_make((%s)%s, (%s)0)", part, value, part, value);
	} else if (dtype_is_storage(to) && to != from) {
		str_addf(source, to == KZ_F8_E4M3 ? "kz_to_e4m3(%s%s)" : "kz_to_e5m2(%s%s)", value,
			dtype_is_complex(from) ? ".re" : "");
	} else {
		str_addf(source, to == KZ_F16 || to == KZ_BF16 ? "%s%s%s" : "(%s)%s%s",
			to == KZ_F16 || to == KZ_BF16 ? "" : generate_value(to), value,
			dtype_is_complex(from) ? ".re" : "");
	}
}

/* The text of an operation, its letters a, b, c replaced by the operands.  A thread that walks has
 * so many elements that the inverse of a divisor, d0, d1, ..., pays. */
static void generate_add_operation(struct str *source, const struct generate *generate,
	const struct expr_node *node)
{
	const struct expr *expr = generate->expr;
	const bool has_inverse = generate->layout.walk && expr_divides_by_number(expr, node);
	kz_dtype first = expr->nodes[node->args[0]].dtype;
	const char *text = expr_op_text(expr_op(node->op), first);
	char before = ' ';
	for (; *text; before = *text++) {
		bool alone = !str_is_word(before) && before != '.' && !str_is_word(text[1]);
		if (alone && *text >= 'a' && *text <= 'c') {
			str_addf(source, has_inverse && *text == 'b' ? "d%d" : "n%d",
				node->args[*text - 'a']);
		} else {
			str_addc(source, *text);
		}
	}
}

static void generate_add_number(struct str *source, const struct expr *expr, int index)
{
	const struct expr_node *node = &expr->nodes[index];
	char number[24];
	snprintf(number, sizeof(number), "number%d", node->args[0]);
	generate_open_value(source, index, node->dtype);
	generate_add_cast(source, node->dtype, dtype_is_complex(node->dtype) ? KZ_C128 : KZ_F64,
		number);
	generate_close_value(source, index, node->dtype);
}

/* Those that are divisors also with their inverses; nodes come after their operands. */
void generate_numbers(struct str *source, const struct expr *expr)
{
	bool has_inverse[EXPR_NODES] = {false};
	for (int i = 0; i < expr->node_count; i++) {
		const struct expr_node *node = &expr->nodes[i];
		if (node->op == EXPR_SCALAR) {
			generate_add_number(source, expr, i);
		} else if (expr_divides_by_number(expr, node) && !has_inverse[node->args[1]]) {
			has_inverse[node->args[1]] = true;
			str_addf(source, "\tconst kz_divisor<%s> d%d(n%d);\n",
				generate_value(node->dtype), node->args[1], node->args[1]);
		}
	}
}

/* The place of the element of an array, or of the target (which = -1). */
static void generate_write_place(char *place, size_t size, const struct generate *generate,
	int which)
{
	const struct layout *layout = &generate->layout;
	bool is_target = which < 0 || layout->target >> which & 1;
	bool is_constant = which >= 0 && layout->constant >> which & 1;
	char name[24];
	snprintf(name, sizeof(name), is_target ? "target" : "array%d", which);
	if (layout->ndim) {
		snprintf(name, sizeof(name), "row%d", is_target ? 0 : which + 1);
	}
	if (generate->in_pack && !is_constant && (!is_target || layout->pack > 1)) {
		snprintf(place, size, is_target ? "pack0.at[j]" : layout->pack > 1
			? "pack%d[turn].at[j]" : "pack%d[turn]", which + 1);
	} else if (!layout->ndim || layout->unit || is_constant) {
		bool is_backward = which >= 0 && layout->backward >> which & 1;
		snprintf(place, size, is_constant ? "%s[0]" : is_backward ? "%s[-(long long)i]"
			: "%s[i]", name);
	} else {
		snprintf(place, size, "*(decltype(%s))((%schar *)%s + i * step%d)", name,
			is_target ? "" : "const ", name, is_target ? 0 : which + 1);
	}
}

static void generate_add_load(struct str *source, const struct generate *generate, int index)
{
	const struct expr_node *node = &generate->expr->nodes[index];
	char place[128];
	generate_write_place(place, sizeof(place), generate, node->args[0]);
	str_addf(source, "\tconst %s n%d = ", generate_value(node->dtype), index);
	generate_load(source, node->dtype, place);
	str_add(source, ";\n");
}

void generate_constants(struct str *source, const struct generate *generate)
{
	for (int i = 0; i < generate->expr->node_count; i++) {
		const struct expr_node *node = &generate->expr->nodes[i];
		if (node->op == EXPR_ARRAY && generate->layout.constant >> node->args[0] & 1) {
			generate_add_load(source, generate, i);
		}
	}
}

static void generate_add_node(struct str *source, const struct generate *generate, int index)
{
	const struct expr *expr = generate->expr;
	const struct expr_node *node = &expr->nodes[index];
	char text[24];
	if (node->op == EXPR_SCALAR) {
		return; /* before all loops */
	}
	if (node->op == EXPR_ARRAY) {
		if (!(generate->layout.constant >> node->args[0] & 1)) {
			generate_add_load(source, generate, index);
		}
		return;
	}
	generate_open_value(source, index, node->dtype);
	if (node->op == EXPR_INDEX) {
		str_add(source, !generate->layout.ndim ? "i" : generate->layout.walk ? "at + i"
			: "row * extents.inner + i");
	} else if (node->op == EXPR_CAST) {
		snprintf(text, sizeof(text), "n%d", node->args[0]);
		generate_add_cast(source, node->dtype, expr->nodes[node->args[0]].dtype, text);
	} else {
		generate_add_operation(source, generate, node);
	}
	generate_close_value(source, index, node->dtype);
}

void generate_nodes(struct str *source, const struct generate *generate)
{
	for (int i = 0; i < generate->expr->node_count; i++) {
		generate_add_node(source, generate, i);
	}
}

/* All nodes, and the last one into the target: the body of the loop over `i`. */
static void generate_add_nodes(struct str *source, const struct generate *generate)
{
	const struct expr *expr = generate->expr;
	char place[128], value[24];
	const int last = expr->node_count - 1;
	generate_nodes(source, generate);
	generate_write_place(place, sizeof(place), generate, -1);
	snprintf(value, sizeof(value), "n%d", last);
	if (generate->dtype == expr_dtype(expr) && dtype_is_half(generate->dtype)
	    && expr->nodes[last].op != EXPR_ARRAY) {
		str_addf(source, "\t%s = h%d;\n", place, last); /* it is rounded already */
		return;
	}
	if (generate->dtype != expr_dtype(expr)) {
		str_addf(source, "\tconst %s result = ", generate_value(generate->dtype));
		generate_add_cast(source, generate->dtype, expr_dtype(expr), value);
		str_add(source, ";\n");
		snprintf(value, sizeof(value), "result");
	}
	str_add(source, "\t");
	generate_store(source, generate->dtype, place, value);
}

/* Loops */

/* The loop of a block that walks over `i`, from `first` to before `end`. */
static void generate_add_walk_loop(struct str *source, const struct generate *generate,
	const char *first, const char *end)
{
	str_addf(source, generate->layout.walk == 1
		? "#pragma unroll 1\nfor (kz_index i = %s; i < %s; i++) {\n"
		: "#pragma unroll 1\nfor (kz_index i = %s + threadIdx.x; i < %s; i += 32) {\n",
		first, end);
}

/* The type that a thread reads or writes at once: a pack, or an element. */
static void generate_add_pack_type(struct str *source, const struct generate *generate, int which)
{
	const bool pack = generate->layout.pack > 1;
	str_add(source, pack ? "kz_pack<" : "");
	generate_storage(source, which ? generate_array_dtype(generate->expr, which - 1)
		: generate->dtype);
	str_add(source, pack ? ">" : "");
}

/* Begin a loop over the turns of a thread of a GPU, which takes pack `p` of what has `end`. */
static void generate_open_turns(struct str *source, const struct generate *generate,
	const char *end)
{
	str_addf(source, "#pragma unroll\nfor (int turn = 0; turn < %d; turn++) {\n"
		"const kz_index p = first + turn * blockDim.x;\nif (p < %s) {\n",
		generate->layout.turns, end);
	str_add(source, generate->layout.pack > 1 ? "" : "const kz_index i = p;\n");
}

/* All reads of a thread, before its writes, so that the device can overlap them. */
static void generate_add_reads(struct str *source, const struct generate *generate, const char *end)
{
	const struct layout *layout = &generate->layout;
	char place[128];
	for (int k = 1; k <= generate->expr->array_count; k++) {
		if (!(layout->constant >> (k - 1) & 1)) {
			generate_add_pack_type(source, generate, k);
			str_addf(source, " pack%d[%d];\n", k, layout->turns);
		}
	}
	generate_open_turns(source, generate, end);
	for (int k = 1; k <= generate->expr->array_count; k++) {
		if (layout->constant >> (k - 1) & 1) {
			continue;
		}
		str_addf(source, "pack%d[turn] = ", k);
		if (layout->pack > 1) {
			str_add(source, "((const ");
			generate_add_pack_type(source, generate, k);
			str_addf(source, " *)(array%d + head))[p];\n", k - 1);
		} else {
			generate_write_place(place, sizeof(place), generate, k - 1);
			str_addf(source, "%s;\n", place);
		}
	}
	str_add(source, "}\n}\n");
}

/* The work of a thread of a GPU in a row, or in all elements, which have `end` packs. */
static void generate_add_turns(struct str *source, const struct generate *generate, const char *end)
{
	struct generate inner = *generate;
	const int pack = generate->layout.pack;
	inner.in_pack = true;
	str_addf(source, "const kz_index first = blockIdx.x * (kz_index)(blockDim.x * %d)"
		" + threadIdx.x;\n", generate->layout.turns);
	generate_add_reads(source, generate, end);
	generate_open_turns(source, generate, end);
	if (pack > 1) {
		generate_add_pack_type(source, generate, 0);
		str_addf(source, " pack0;\n#pragma unroll\nfor (int j = 0; j < %d; j++) {\n"
			"const kz_index i = head + p * %d + j;\n", pack, pack);
	}
	generate_add_nodes(source, &inner);
	if (pack > 1) {
		str_add(source, "}\n((");
		generate_add_pack_type(source, generate, 0);
		str_add(source, " *)(target + head))[p] = pack0;\n");
	}
	str_add(source, "}\n}\n");
}

static void generate_add_flat_loop(struct str *source, const struct generate *generate)
{
	const int pack = generate->layout.pack;
	generate_constants(source, generate);
	if (generate->layout.walk) {
		/* from multiples of 64 on, so that lines of the cache are one block's */
		str_add(source, "const kz_index share = (count + gridDim.x - 1) / gridDim.x + 63 & "
			"~63ull;\n"
			"const kz_index first = share * blockIdx.x;\n"
			"const kz_index end = first + share < count ? first + share : count;\n");
		generate_add_walk_loop(source, generate, "first", "end");
		generate_add_nodes(source, generate);
		str_add(source, "}\n");
		return;
	}
	if (pack == 1) {
		generate_add_turns(source, generate, "count");
		return;
	}
	/* What is before the first pack, and after the last one, is block 0's. */
	str_addf(source, "const kz_index before = (0 - (unsigned long long)target / "
		"sizeof(*target)) %% %d, head = before < count ? before : count;\n"
		"const kz_index packs = (count - head) / %d;\n", pack, pack);
	generate_add_turns(source, generate, "packs");
	str_addf(source, "const kz_index i = threadIdx.x + (threadIdx.x < head ? 0 : packs * %d);\n"
		"if (blockIdx.x == 0 && i < count) {\n", pack);
	generate_add_nodes(source, generate);
	str_add(source, "}\n");
}

/* The pointers to a row of every array, from `offset0`, `offset1`, ... */
static void generate_add_row_pointers(struct str *source, const struct generate *generate)
{
	str_add(source, "const auto row0 = (decltype(target))((char *)target + offset0);\n");
	for (int k = 1; k <= generate->expr->array_count; k++) {
		str_addf(source, "const auto row%d = (decltype(array%d))((const char *)array%d"
			" + offset%d);\n", k, k - 1, k - 1, k);
	}
}

/* The place where row `row` of every array begins. */
static void generate_add_row(struct str *source, const struct generate *generate)
{
	int count = 1 + generate->expr->array_count;
	str_add(source, "kz_index rest = row;\n");
	for (int k = 0; k < count; k++) {
		str_addf(source, "long long offset%d = 0;\n", k);
	}
	for (int d = generate->layout.ndim - 2; d >= 0; d--) {
		str_addf(source, d ? "{\nconst long long at = rest %% extents.dims[%d];\n"
			"rest /= extents.dims[%d];\n" : "{\nconst long long at = rest;\n", d, d);
		for (int k = 0; k < count; k++) {
			str_addf(source, "offset%d += at * extents.strides[%d][%d];\n", k, k, d);
		}
		str_add(source, "}\n");
	}
	generate_add_row_pointers(source, generate);
}

static void generate_add_rows(struct str *source, const struct generate *generate)
{
	str_add(source, "for (kz_index row = blockIdx.y * (kz_index)blockDim.y + threadIdx.y;"
		" row < extents.rows; row += (kz_index)gridDim.y * blockDim.y) {\n");
	generate_add_row(source, generate);
	generate_constants(source, generate);
	generate_add_turns(source, generate, "extents.inner");
	str_add(source, "}\n");
}

/* The offset of the row at indices `at0`, `at1`, ... in every array; with `first`, that of the
 * element of the row where a block begins. */
static void generate_add_walk_offsets(struct str *source, const struct generate *generate,
	bool with_first)
{
	for (int k = 0; k <= generate->expr->array_count; k++) {
		str_addf(source, with_first ? "long long offset%d = first * step%d"
			: "offset%d = 0", k, k);
		for (int d = 0; d < generate->layout.ndim - 1; d++) {
			str_addf(source, " + at%d * extents.strides[%d][%d]", d, k, d);
		}
		str_add(source, ";\n");
	}
}

/* The rows of a block that walks.  Their indices are counted up, since for short rows
 * divisions would cost as much as the rows.  `i` counts from where the block begins in a row, so
 * that all rows differ only in their offsets. */
static void generate_add_walk_rows(struct str *source, const struct generate *generate)
{
	const int outer = generate->layout.ndim - 1;
	str_add(source, "const kz_index all = extents.rows * extents.inner;\n"
		"const kz_index share = (all + gridDim.x - 1) / gridDim.x;\n"
		"const kz_index last = share * blockIdx.x + share;\n"
		"const kz_index end = last < all ? last : all;\n"
		"kz_index at = share * blockIdx.x, rest = at / extents.inner;\n"
		"const kz_index first = at - rest * extents.inner;\n"
		"kz_index row = extents.inner - first;\n");
	for (int d = outer - 1; d >= 0; d--) {
		str_addf(source, d ? "long long at%d = rest %% extents.dims[%d];\n"
			"rest /= extents.dims[%d];\n" : "long long at%d = rest;\n", d, d, d);
	}
	generate_add_walk_offsets(source, generate, true);
	str_add(source, "while (at < end) {\n");
	generate_add_row_pointers(source, generate);
	generate_constants(source, generate);
	str_add(source, "const kz_index count = end - at < row ? end - at : row;\n");
	generate_add_walk_loop(source, generate, "0", "count");
	generate_add_nodes(source, generate);
	str_add(source, "}\nat += count;\nrow = extents.inner;\n");
	for (int d = outer - 1; d >= 0; d--) {
		str_addf(source, d ? "if (++at%d == extents.dims[%d]) {\nat%d = 0;\n" : "++at%d;\n",
			d, d, d);
	}
	for (int d = 1; d < outer; d++) {
		str_add(source, "}\n");
	}
	generate_add_walk_offsets(source, generate, false);
	str_add(source, "}\n");
}

static void generate_add_strided_loops(struct str *source, const struct generate *generate)
{
	for (int k = 0; k < 1 + generate->expr->array_count; k++) {
		str_addf(source, "const long long step%d = extents.strides[%d][%d];\n", k, k,
			generate->layout.ndim - 1);
	}
	if (generate->layout.walk) {
		generate_add_walk_rows(source, generate);
	} else {
		generate_add_rows(source, generate);
	}
}

void generate_elementwise(struct str *source, const void *context)
{
	const struct generate *generate = context;
	generate_add_prelude(source, generate->expr, generate->dtype);
	str_addf(source, "typedef unsigned %s kz_index;\n",
		generate->layout.wide ? "long long" : "int");
	generate_add_params(source, generate);
	generate_numbers(source, generate->expr);
	if (generate->layout.ndim) {
		generate_add_strided_loops(source, generate);
	} else {
		generate_add_flat_loop(source, generate);
	}
	str_add(source, "}\n");
}
