/* SPDX-License-Identifier: MIT */
/*
 * Failures of launches.  A block that faults, traps or waits forever ends the launch.  What the
 * worker and the warp have noted says which block and thread it was: compiled code notes which
 * lanes access what, and the hardware tells the address.  The first failure counts.
 */
#include "base/common.h"

#include "cpu/check/sync.h"
#include "cpu/exec/launch_job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The first and the last of some lanes. */
static void launch_describe_lanes(const struct launch_job *job, const struct slot *slot,
	uint32_t lanes, char *text, size_t size)
{
	const struct rt_launch *launch = &job->launch;
	uint32_t first = slot->warp.first + (uint32_t)__builtin_ctz(lanes);
	uint32_t last = slot->warp.first + 31 - (uint32_t)__builtin_clz(lanes);
	int len = snprintf(text, size, "thread%s (%u,%u,%u)", last > first ? "s" : "",
		launch->tid[0][first], launch->tid[1][first], launch->tid[2][first]);
	if (last > first && len > 0 && (size_t)len < size) {
		snprintf(text + len, size - (size_t)len, " to (%u,%u,%u)", launch->tid[0][last],
			launch->tid[1][last], launch->tid[2][last]);
	}
}

/* The first failure of a launch is the one that counts; the others stop quietly.  0 lanes: all. */
static bool launch_claim_failure(struct launch_job *job, CUresult code, const struct slot *slot,
	uint32_t lanes)
{
	unsigned none = CUDA_SUCCESS;
	if (!atomic_compare_exchange_strong(&job->failure, &none, (unsigned)code)) {
		return false;
	}
	char thread[64];
	const uint32_t *block = slot->warp.ctaid;
	lanes &= slot->warp.alive;
	lanes = lanes != 0 ? lanes : slot->warp.alive;
	launch_describe_lanes(job, slot, lanes, thread, sizeof(thread));
	memset(job->out, 0, sizeof(*job->out));
	for (int axis = 0; axis < 3; axis++) {
		job->out->block[axis] = block[axis];
		job->out->thread[axis] =
			job->launch.tid[axis][slot->warp.first + (uint32_t)__builtin_ctz(lanes)];
	}
	snprintf(job->out->where, sizeof(job->out->where), "block (%u,%u,%u), %s", block[0],
		block[1], block[2], thread);
	return true;
}

static bool launch_is_gather(const struct rt_warp *warp)
{
	return warp->lane == RT_GATHERS || warp->lane == RT_NEAR_GATHERS;
}

static uint64_t launch_gathered_address(const struct rt_warp *warp, unsigned lane)
{
	if (warp->lane == RT_GATHERS) {
		return warp->at[lane];
	}
	int32_t index;
	memcpy(&index, (const uint8_t *)warp->at + lane * sizeof(index), sizeof(index));
	return warp->base + (uint64_t)(int64_t)index * warp->step;
}

/* Of lanes that access memory together, the one whose element begins at the address, or next below
 * it: of those with the same element the first.  Of addresses that no processor has the kernel does
 * not tell which it was: the first lane. */
static uint32_t launch_gathering_lane(const struct worker *w, const struct rt_warp *warp)
{
	uint32_t found = warp->gathers & -warp->gathers;
	uint64_t least = 2 * sizeof(uint64_t); /* as long as an element can be */
	for (uint32_t left = w->fault.has_address ? warp->gathers : 0; left != 0;
	     left &= left - 1) {
		uint64_t at = launch_gathered_address(warp, (unsigned)__builtin_ctz(left));
		if (w->fault.address - at < least) {
			least = w->fault.address - at;
			found = left & -left;
		}
	}
	return found;
}

static bool launch_can_exist(uint64_t address)
{
	return (uint64_t)((int64_t)(address << 16) >> 16) == address; // as x86 has it
}

/* Of lanes that have told what they access (emit_check.c) the first that may not; 0: none of them.
 * The hardware tells of a vector only where its bytes on the faulty page begin. */
static uint32_t launch_traced_lane(struct device_memory *memory, const struct fault_catch *fault,
	const struct rt_warp *warp)
{
	uint32_t size = memory ? warp->access : 0;
	uint32_t left = size > 0 ? warp->gathers & warp->alive : 0;
	for (; left != 0; left &= left - 1) {
		uint64_t at = warp->at[__builtin_ctz(left)];
		if (memory_covers(memory, at) ? !memory_holds(memory, at, size, false, NULL)
			: fault->has_address ? fault->address - at < size : !launch_can_exist(at)) {
			return left & -left;
		}
	}
	return 0;
}

/* The first byte that such a lane may not access. */
static uint64_t launch_traced_address(struct device_memory *memory, const struct rt_warp *warp,
	uint32_t lane)
{
	uint64_t at = warp->at[__builtin_ctz(lane)];
	uint64_t last = at + warp->access - 1;
	while (at < last && memory_holds(memory, at, 1, false, NULL)) {
		at++;
	}
	return at;
}

/* The lane whose access it was; 0 if that is not known. */
static uint32_t launch_faulty_lanes(const struct worker *w, const struct rt_warp *warp)
{
	uint64_t lane = warp->lane;
	if (launch_is_gather(warp)) {
		return launch_gathering_lane(w, warp);
	}
	if (lane >= RT_GROUP && warp->step > 0 && w->fault.has_address) {
		lane = (w->fault.address - warp->base) / warp->step;
	}
	return lane < RT_GROUP ? 1u << lane : 0;
}

/* Of a team that has told where rows of lanes begin: the warp, and its lane, with the first one
 * that it may have been. */
static const struct slot *launch_faulty_row(uint32_t *lanes, const struct worker *w,
	const struct slot *first)
{
	uint32_t row = first->warp.lane - RT_ROWS, rows = RT_GROUP / row;
	for (uint32_t i = 0; i < first->warp.team * rows && w->fault.has_address; i++) {
		uint64_t lane = (w->fault.address - first->warp.at[i]) / first->warp.step;
		if (lane < row) {
			*lanes = 1u << (i % rows * row + lane);
			return &first[i / rows];
		}
	}
	*lanes = 0;
	return first;
}

/* Of a team the first warp whose last access it may have been; *lanes: of it, as faulty_lanes. */
static const struct slot *launch_faulty_slot(uint32_t *lanes, const struct worker *w)
{
	const struct slot *slot = w->frame->block.current;
	if (slot->warp.lane > RT_ROWS) {
		return launch_faulty_row(lanes, w, slot);
	}
	for (uint32_t i = 0; i < slot->warp.team; i++) {
		*lanes = launch_faulty_lanes(w, &slot[i].warp);
		if (*lanes != 0 && (!launch_is_gather(&slot[i].warp)
			|| w->fault.address - launch_gathered_address(&slot[i].warp,
				(unsigned)__builtin_ctz(*lanes)) < 2 * sizeof(uint64_t))) {
			return &slot[i];
		}
	}
	*lanes = launch_faulty_lanes(w, &slot->warp);
	return slot;
}

void launch_fail_fault(struct launch_job *job, const struct worker *w)
{
	static const struct {
		int signal;
		CUresult code;
		const char *what;
	} faults[] = {
		{SIGSEGV, CUDA_ERROR_ILLEGAL_ADDRESS, "access to an address that is not canonical"},
		{SIGBUS, CUDA_ERROR_ILLEGAL_ADDRESS,
			"access to memory that the system cannot provide"},
		{SIGFPE, CUDA_ERROR_LAUNCH_FAILED, "arithmetic fault"},
		{SIGILL, CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction"},
	};
	size_t i = 0;
	if (w->fault.signal == FAULT_INTERRUPT) {
		return; // the thread that interrupted the worker has said why
	}
	while (i + 1 < countof(faults) && faults[i].signal != w->fault.signal) {
		i++;
	}
	uint32_t lanes;
	const struct slot *slot = launch_faulty_slot(&lanes, w);
	const struct check_kernel *check = job->request->check;
	struct device_memory *memory = check ? check->memory : NULL;
	uint32_t lane = launch_traced_lane(memory, &w->fault, &slot->warp);
	if (!launch_claim_failure(job, faults[i].code, slot, lane != 0 ? lane : lanes)) {
		return;
	}
	struct launch_failure *out = job->out;
	out->line = memory ? slot->warp.line : 0;
	const uint64_t address = w->fault.address;
	const struct gap_area *shared = &w->frame->shared;
	const struct gap_area *local = &w->frame->local;
	const int named = w->fault.call ? snprintf(out->what, sizeof(out->what), "%s: ",
		w->fault.call) : 0;
	char *what = out->what + named;
	const size_t room = sizeof(out->what) - (size_t)named;
	if (!w->fault.has_address && lane == 0) {
		snprintf(what, room, "%s", faults[i].what);
	} else if (gap_covers(shared, address)) {
		snprintf(what, room,
			"access to offset %" PRId64 " of %u bytes of shared memory",
			(int64_t)(address - (uintptr_t)shared->data), job->own_shared);
	} else if (local->data && gap_covers(local, address)) {
		snprintf(what, room, "access to address 0x%" PRIx64
			", which is outside of the %zu bytes of local memory of each thread",
			address, w->frame->layout.local_size);
	} else {
		out->has_address = true;
		out->address = lane != 0 ? launch_traced_address(memory, &slot->warp, lane)
			: w->fault.address;
		snprintf(what, room, "access to address 0x%" PRIx64, out->address);
	}
}

static void launch_describe_end(struct launch_failure *out, const struct block *block,
	enum block_end end, bool has_reason)
{
	const struct slot *slot = block->current;
	const struct rt_fail *fail = slot->warp.fail;
	if (end == BLOCK_DEADLOCKED) {
		snprintf(out->what, sizeof(out->what), "deadlock: %s (PTX line %u)",
			block_waits_at(block), slot->warp.line);
	} else if (has_reason && (fail->lanes != 0 || slot->warp.launch->check)) {
		snprintf(out->what, sizeof(out->what), "%s", fail->text);
		out->has_address = fail->lanes != 0 && fail->address != 0;
		out->address = fail->address;
		out->line = slot->warp.line;
	} else {
		snprintf(out->what, sizeof(out->what), "%s (PTX line %u)", has_reason ? fail->text
			: end == BLOCK_TRAPPED ? "trap" : "barrier above 15", slot->warp.line);
	}
}

void launch_fail_block(struct launch_job *job, const struct block *block, enum block_end end)
{
	if (end == BLOCK_STOPPED) {
		return;
	}
	const struct slot *slot = block->current;
	const struct rt_fail *fail = slot->warp.fail;
	bool has_reason = end == BLOCK_TRAPPED && fail->code != CUDA_SUCCESS;
	CUresult code = has_reason ? (CUresult)fail->code : CUDA_ERROR_LAUNCH_FAILED;
	uint32_t lanes = has_reason && fail->lanes != 0 ? fail->lanes
		: end == BLOCK_TRAPPED && slot->resume == RT_SWEEP ? slot->warp.lanes
		: end == BLOCK_DEADLOCKED ? block_waiting_lanes(block) : 0;
	fault_hold(); // launch_cancel must not leave the reason half written
	if (launch_claim_failure(job, code, slot, lanes)) {
		launch_describe_end(job->out, block, end, has_reason);
	}
	if (end == BLOCK_DEADLOCKED && sync_is_on(&slot->warp)) {
		const uint32_t lane = lanes != 0 ? (uint32_t)__builtin_ctz(lanes) : 0;
		const struct sync_place place = {slot->warp.first + lane, slot->warp.line};
		sync_report(&slot->warp, place, NULL, NULL, "deadlock: %s", block_waits_at(block));
	}
	fault_release();
}
