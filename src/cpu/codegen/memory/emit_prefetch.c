/* SPDX-License-Identifier: MIT */
/*
 * Loads of rows of lanes in kernels that read little (W = 32).
 *
 * Loads have 32 bytes, although registers may have 64: some processors read memory faster that way,
 * and the cache as fast.
 *
 * A warp in a loop over `i += stride` reads 128 bytes here and the next 128 far away.  The next
 * warp reads what lies after them.  The prefetcher of the processor sees no stream in that.  So
 * each load in such a loop prefetches the bytes after it into the second-level cache.  A prefetch
 * never faults.
 *
 * A kernel that reads more has more to compute, and reads the same lines again, so it does without.
 */
#include "base/common.h"

#include "cpu/codegen/memory/emit_memory.h"
#include "cpu/codegen/values/emit_access.h"
#include "cpu/codegen/values/emit_slots.h"
#include "cpu/codegen/values/emit_value.h"

enum { LINE = 64, PART = 32, MOST_PARTS = 16, MOST_READS = 4 };

static bool prefetch_suits(const struct emit *e, unsigned size)
{
	return emit_does(e, PASS_PREFETCH) && size >= LINE && !e->member
		&& ptx_reads_memory(e->inst)
		&& ptx_reads_few(e->func, MOST_READS);
}

/* Volatile, because LLVM would join adjacent parts again. */
static LLVMValueRef prefetch_load_part(struct emit *e, LLVMTypeRef type, LLVMValueRef base,
	unsigned offset)
{
	LLVMValueRef place = emit_at(e, base, emit_scalar(e, 64, offset), type);
	LLVMValueRef part = LLVMBuildLoad2(e->builder, type, place, "");
	LLVMSetAlignment(part, 1);
	LLVMSetVolatile(part, true);
	return part;
}

LLVMValueRef emit_load_row(struct emit *e, LLVMTypeRef type, LLVMValueRef place, unsigned size)
{
	if (!prefetch_suits(e, size)) {
		LLVMValueRef row = LLVMBuildLoad2(e->builder, type, place, "");
		LLVMSetAlignment(row, 1);
		return row;
	}

	LLVMValueRef base = ir_bitcast(e, place, e->ptr), parts[MOST_PARTS] = {NULL};
	unsigned count = size / PART;
	bool has_parts = count * PART == size && count <= MOST_PARTS && (count & (count - 1)) == 0;
	if (has_parts) {
		LLVMTypeRef part = LLVMVectorType(LLVMGetElementType(type),
			LLVMGetVectorSize(type) / count);
		for (unsigned i = 0; i < count; i++) {
			parts[i] = prefetch_load_part(e, part, base, i * PART);
		}
		for (; count > 1; count /= 2) {
			for (unsigned i = 0; i < count / 2; i++) {
				parts[i] = emit_join(e, parts[2 * i], parts[2 * i + 1]);
			}
		}
	} else {
		parts[0] = LLVMBuildLoad2(e->builder, type, place, "");
		LLVMSetAlignment(parts[0], 1);
	}

	/* the next row of a loop: to read, into the second cache, data */
	for (unsigned i = 0; i < size && emit_is_in_loop(e); i += LINE) {
		LLVMTypeRef types[] = {e->ptr};
		LLVMValueRef args[] = {emit_at(e, base, emit_scalar(e, 64, size + i), e->s.i8),
			emit_u32(e, 0), emit_u32(e, 2), emit_u32(e, 1)};
		ir_intrinsic(e, "llvm.prefetch", types, countof(types), args, countof(args));
	}
	return parts[0];
}
