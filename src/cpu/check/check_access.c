/* SPDX-License-Identifier: MIT */
/*
 * Answers the question of codegen/memory/emit_check.c: may these lanes access these addresses?
 *
 * An address is right if it lies in the variable that it was made from.  Where no variable is
 * known, all of the access has to be in one allocation, in the block's shared memory, in the
 * thread's local memory, or among the parameters.  The answer is kept as a range (rt_warp.ranges),
 * so that the next accesses of the same line need not ask.
 */
#include "base/common.h"

#include "cpu/check/report.h"

#include "cpu/mem/unwritten.h"
#include "cpu/runtime/heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An access of one lane. */
struct access {
	struct rt_warp *warp;
	const struct check_kernel *kernel;
	unsigned lane;
	uint64_t at;
	uint32_t size;
	uint32_t align;             /* of the address */
	bool is_shared;             /* by an instruction for shared memory */
	enum rt_access kind;
};

static bool access_is_in(const struct access *access, struct rt_range range)
{
	return range.size >= access->size && access->at - range.begin <= range.size - access->size;
}

/* The block's own shared memory, and what is reserved in it. */
static struct rt_range access_shared_range(const struct access *access)
{
	const struct rt_warp *warp = access->warp;
	return (struct rt_range){(uintptr_t)warp->shared,
		warp->launch->aggr_shared - RT_RESERVED_SHARED};
}

static struct rt_range access_reserved_range(const struct access *access)
{
	const struct rt_launch *launch = access->warp->launch;
	return (struct rt_range){(uintptr_t)access->warp->shared + launch->reserved_start,
		access->kernel->func->uses_reserved_shared
			? launch->reserved_cap - launch->reserved_start : 0};
}

static struct rt_range access_local_range(const struct access *access)
{
	const struct rt_warp *warp = access->warp;
	return (struct rt_range){(uintptr_t)warp->local + access->lane * warp->local_stride,
		access->kernel->func->local_size + warp->launch->stack_size};
}

/* The parameters, and what grid.sync() works with. */
static struct rt_range access_params_range(const struct access *access)
{
	return (struct rt_range){(uintptr_t)access->warp->launch->params,
		access->kernel->func->param_size};
}

static struct rt_range access_grid_range(const struct access *access)
{
	const uint32_t *at = access->warp->launch->grid_sync;
	return (struct rt_range){at[0] | (uint64_t)at[1] << 32, at[0] || at[1] ? 16 : 0};
}

static bool access_is_shared(const struct access *access)
{
	return access->is_shared
		|| access->at - (uintptr_t)access->warp->shared < RT_SHARED_WINDOW;
}

/* The heap of kernels, if the access is to it. */
static struct heap *access_heap(const struct access *access)
{
	struct heap *heap = access->warp->launch->host->heap;
	return heap && heap_covers(heap, access->at) ? heap : NULL;
}

/* A range that has all of the access, and that other lanes may access likewise; false: it is
 * wrong. */
static bool access_find_range(const struct access *access, struct rt_range *out)
{
	struct memory_range range;
	*out = (struct rt_range){0};
	if (access_is_shared(access)) {
		*out = access_shared_range(access);
		return access_is_in(access, *out)
			|| access_is_in(access, *out = access_reserved_range(access));
	}
	if (access_is_in(access, access_local_range(access))
	    || access_is_in(access, access_params_range(access))
	    || access_is_in(access, access_grid_range(access))) {
		return true;
	}
	if (!memory_holds(access->kernel->memory, access->at, access->size,
			access->kind != RT_READS, &range)) {
		return false;
	}
	struct heap *heap = access_heap(access);
	if (heap) {
		return heap_holds(heap, access->at, access->size);
	}
	if (range.kind != MEMORY_MAPPED) { // of which parts may be read only
		*out = (struct rt_range){range.address, range.size};
	}
	return true;
}

/* The variable with that number (rt_pack_access), and where it is. */
static const struct ptx_var *access_find_var(const struct access *access, uint32_t number,
	struct rt_range *out)
{
	const struct rt_launch *launch = access->warp->launch;
	const struct check_kernel *kernel = access->kernel;
	const struct ptx_var *var;
	if (number & RT_MODULE_VAR) {
		number &= ~RT_MODULE_VAR;
		var = kernel->module->vars[number];
		*out = (struct rt_range){(uintptr_t)launch->globals[number], var->size};
		return var;
	}
	if (number & RT_PARAM_VAR) {
		var = kernel->func->params[number & ~RT_PARAM_VAR];
		*out = (struct rt_range){(uintptr_t)launch->params + var->offset, var->size};
		return var;
	}
	var = number < kernel->func->var_count ? kernel->func->vars[number] : NULL;
	*out = !var || var->space == PTX_LOCAL ? access_local_range(access)
		: (struct rt_range){(uintptr_t)access->warp->shared + var->offset,
			ptx_is_dynamic(var) ? launch->dynamic_shared : var->size};
	return var;
}

/* The shared variable that has an offset; NULL: none. */
static const struct ptx_var *access_var_at(const struct access *access, uint64_t offset)
{
	const struct ptx_func *func = access->kernel->func;
	const uint64_t dynamic = access->warp->launch->dynamic_shared;
	for (size_t i = 0; i < func->var_count; i++) {
		const struct ptx_var *var = func->vars[i];
		if (var->space == PTX_SHARED
		    && offset - var->offset < (ptx_is_dynamic(var) ? dynamic : var->size)) {
			return var;
		}
	}
	return NULL;
}

/* --- What is wrong --- */

/* "read of 4 bytes". */
static const char *access_name(const struct access *access, char *text, size_t size)
{
	snprintf(text, size, "%s %u byte%s", access->kind == RT_CHANGES ? "atomic operation on"
		: access->kind == RT_WRITES ? "write of" : "read of", access->size,
		access->size == 1 ? "" : "s");
	return text;
}

static void access_deny_offset(const struct access *access, struct rt_range range,
	const char *what)
{
	char text[240], name[48];
	const int64_t offset = (int64_t)(access->at - range.begin);
	snprintf(text, sizeof(text), "%s at offset %" PRId64 " of %s, which has %" PRIu64
		" bytes", access_name(access, name, sizeof(name)), offset, what, range.size);
	rt_deny(access->warp, access->lane, 0, CUDA_ERROR_ILLEGAL_ADDRESS, text);
}

static void access_deny_var(const struct access *access, const struct ptx_var *var,
	struct rt_range range)
{
	char what[96], name[128];
	if (!var || var->space == PTX_LOCAL) {
		access_deny_offset(access, range, "the thread's local memory");
		return;
	}
	ptx_write_name(name, sizeof(name), var->name);
	snprintf(what, sizeof(what), "the %s '%.60s'", ptx_is_dynamic(var) ? "dynamic shared memory"
		: var->space == PTX_SHARED ? "shared variable"
		: var->space == PTX_CONST ? "constant variable"
		: var->space == PTX_PARAM ? "parameter" : "variable", name);
	access_deny_offset(access, range, what);
}

static void access_deny_heap(const struct access *access)
{
	struct heap *heap = access_heap(access);
	uint64_t bad = access->at;
	char text[224], where[112], name[48];
	while (bad < access->at + access->size - 1 && heap_holds(heap, bad, 1)) {
		bad++;
	}
	heap_describe(heap, bad, where, sizeof(where));
	snprintf(text, sizeof(text), "%s at address 0x%" PRIx64 ", which is %s",
		access_name(access, name, sizeof(name)), bad, where);
	rt_deny(access->warp, access->lane, 0, CUDA_ERROR_ILLEGAL_ADDRESS, text);
}

static void access_deny_address(const struct access *access)
{
	char text[112], name[48];
	if (access_is_shared(access)) {
		access_deny_offset(access, access_shared_range(access),
			"the block's shared memory");
		return;
	}
	if (access_heap(access)) {
		access_deny_heap(access);
		return;
	}
	// The first byte that must not be accessed is what memory_describe is asked about.
	uint64_t bad = access->at;
	while (bad < access->at + access->size - 1
	       && memory_holds(access->kernel->memory, bad, 1, false, NULL)) {
		bad++;
	}
	snprintf(text, sizeof(text), "%s at address 0x%" PRIx64 "%s",
		access_name(access, name, sizeof(name)), bad, bad == 0
		? ", which is in no allocation" : "");
	rt_deny(access->warp, access->lane, bad, CUDA_ERROR_ILLEGAL_ADDRESS, text);
}

static void access_deny_alignment(const struct access *access)
{
	char text[144], name[48];
	snprintf(text, sizeof(text), "%s at address 0x%" PRIx64 ", which is not a multiple of %u",
		access_name(access, name, sizeof(name)), access->at, access->align);
	rt_deny(access->warp, access->lane, 0, CUDA_ERROR_MISALIGNED_ADDRESS, text);
}

/* Where memory is that can be accessed: "address 0x10, which is inside ...". */
static void access_describe(const struct access *access, uint64_t address, char *text, size_t size)
{
	const struct rt_range local = access_local_range(access);
	const uint64_t shared = address - (uintptr_t)access->warp->shared;
	char where[184];
	if (access_is_shared(access)) {
		const struct ptx_var *var = access_var_at(access, shared);
		ptx_write_name(where, sizeof(where), var ? var->name : "");
		snprintf(text, size, "offset %" PRIu64 " of %s%.60s%s",
			var ? shared - var->offset : shared, var ? "the shared variable '"
			: "the block's shared memory", where, var ? "'" : "");
	} else if (address - local.begin < local.size) {
		snprintf(text, size, "offset %" PRIu64 " of the thread's local memory",
			address - local.begin);
	} else {
		struct heap *heap = access_heap(access);
		struct memory_range range;
		if (heap) {
			heap_describe(heap, address, where, sizeof(where));
		} else if (memory_find(access->kernel->memory, address, &range)
			   && range.kind == MEMORY_MAPPED) {
			snprintf(where, sizeof(where), "inside the %zu bytes that are mapped at "
				"0x%" PRIx64, range.size, range.address);
		} else {
			memory_describe(access->kernel->memory, address, where, sizeof(where));
		}
		snprintf(text, size, "address 0x%" PRIx64 ", which is %s", address, where);
	}
}

/* --- Questions --- */

static bool access_check_memory(const struct access *access, uint32_t number,
	struct rt_range *range)
{
	if (number != RT_NO_VAR) {
		const struct ptx_var *var = access_find_var(access, number, range);
		if (!access_is_in(access, *range)) {
			access_deny_var(access, var, *range);
			return false;
		}
	} else if (!access_find_range(access, range)) {
		access_deny_address(access);
		return false;
	}
	if (access->at % access->align != 0) {
		access_deny_alignment(access);
		return false;
	}
	return true;
}

/* Report the first lane that uses what nothing has written, of so many. */
static void access_report_unwritten(const struct access *access, uint64_t bad, unsigned count)
{
	const struct rt_warp *warp = access->warp;
	struct report report = {.check = CHECK_INIT, .kernel = access->kernel, .count = count,
		.side_count = 1};
	struct report_side *side = &report.sides[0];
	char where[240];
	access_describe(access, bad, where, sizeof(where));
	snprintf(side->what, sizeof(side->what), "use of %u byte%s at %s, before anything was "
		"written there", access->size, access->size == 1 ? "" : "s", where);
	report_set_side(side, warp->launch, warp->ctaid, warp->first + access->lane, warp->line);
	report_add(&report);
}

/* The kernel goes on. */
static void access_check_init(const struct access *access, uint32_t lanes)
{
	struct access first = *access;
	uint64_t first_bad = 0;
	unsigned count = 0;
	for (; lanes != 0; lanes &= lanes - 1) {
		const unsigned lane = (unsigned)__builtin_ctz(lanes);
		const uint64_t at = access->warp->at[lane];
		const uint64_t bad = unwritten_find(at, access->size);
		if (bad != 0 && count++ == 0) {
			first.lane = lane;
			first.at = at;
			first_bad = bad;
		}
	}
	if (count > 0) {
		access_report_unwritten(&first, first_bad, count);
	}
}

/* Whether it is not the memory of another device, to which this one has no access. */
static bool access_check_device(const struct access *access, struct rt_range *range)
{
	const struct rt_host *host = access->warp->launch->host;
	if (host->may_access(host, access->at, access->size, range)) {
		return true;
	}
	char text[128];
	snprintf(text, sizeof(text), "access to address 0x%" PRIx64 " in the memory of another "
		"device, to which access is not enabled", access->at);
	rt_deny(access->warp, access->lane, 0, CUDA_ERROR_ILLEGAL_ADDRESS, text);
	return false;
}

/* Those of the lanes whose access is not in a range: most warps access one allocation. */
static uint32_t access_find_outside(const struct access *access, uint32_t lanes,
	struct rt_range range)
{
	const uint64_t room = range.size < access->size ? 0 : range.size - access->size + 1;
	uint32_t outside = 0;
	for (unsigned lane = 0; lane < RT_MAX_WIDTH; lane++) {
		outside |= (uint32_t)(access->warp->at[lane] - range.begin >= room) << lane;
	}
	return outside & lanes;
}

uint32_t access_check(struct rt_warp *warp, uint32_t access, uint32_t var)
{
	const struct check_kernel *kernel = warp->launch->check;
	struct access one = {.warp = warp, .kernel = kernel, .size = warp->access,
		.align = rt_align_of(access), .is_shared = access >> 8 & 1,
		.kind = (enum rt_access)(access & 0xff)};
	struct rt_range range = {0}, *kept = &warp->ranges[access >> 16];
	const bool is_exact = kernel->checks & check_bit(CHECK_MEMORY);
	const bool has_peers = warp->launch->host->may_access;
	const bool asks = one.kind != RT_USES && (is_exact || has_peers);
	for (uint32_t left = asks ? warp->gathers : 0; left != 0;) {
		one.lane = (unsigned)__builtin_ctz(left);
		one.at = warp->at[one.lane];
		if ((has_peers && !access_check_device(&one, &range))
		    || (is_exact && !access_check_memory(&one, var, &range))) {
			return 1u << one.lane;
		}
		left &= left - 1;
		left = is_exact ? left : access_find_outside(&one, left, range);
	}
	if (kernel->checks & check_bit(CHECK_INIT) && one.kind == RT_USES) {
		access_check_init(&one, warp->gathers);
	}
	if (is_exact) {
		warp->access = 0;
	} else if (!has_peers) {
		range = (struct rt_range){0, UINT64_MAX};
	}
	*kept = range.size > 0 ? range : *kept;
	return 0;
}
