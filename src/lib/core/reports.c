/* SPDX-License-Identifier: MIT */
/*
 * Turns checks of kernels on, and passes on what they have found.  The driver of the CPU device
 * does the work (cpu/check); the library gets the reports through the driver's private table.
 */
#include "base/common.h"

#include <kudzu/check.h>

#include "base/alloc.h"
#include "base/checks.h"
#include "base/env.h"
#include "base/kudzu_abi.h"
#include "lib/core/device.h"
#include "lib/core/reports.h"

static_assert(KZ_CHECK_MEMORY == 1 << CHECK_MEMORY && KZ_CHECK_INIT == 1 << CHECK_INIT
	&& KZ_CHECK_RACE == 1 << CHECK_RACE && KZ_CHECK_SYNC == 1 << CHECK_SYNC
	&& KZ_CHECK_NAN == 1 << CHECK_NAN && KZ_CHECK_INT == 1 << CHECK_INT
	&& KZ_CHECK_COALESCE == 1 << CHECK_COALESCE && KZ_CHECK_BANK == 1 << CHECK_BANK,
	"the public sets have the bits of base/checks.h");

static atomic_bool reports_wanted; /* a program has turned a check on */

static bool reports_is_set(const char *name)
{
	const char *value = env_get(name);
	return value && *value;
}

bool reports_want_lines(void)
{
	return reports_is_set("KUDZU_CHECK") || reports_is_set("KUDZU_PROFILE")
		|| atomic_load_explicit(&reports_wanted, memory_order_relaxed);
}

kz_status reports_refuse(const struct kz_device *dev, kz_error *err)
{
	const bool mine = error_is_clean(err);
	error_set(err, KZ_UNSUPPORTED, "%s cannot check kernels: that is for the CPU device",
		dev->name);
	if (mine) {
		error_add_hint(err, "run `compute-sanitizer --tool memcheck PROGRAM` on a GPU; its "
			"other tools are initcheck, racecheck and synccheck");
	}
	return KZ_UNSUPPORTED;
}

static kz_status reports_refuse_profile(const struct kz_device *dev, kz_error *err)
{
	const bool mine = error_is_clean(err);
	error_set(err, KZ_UNSUPPORTED, "%s cannot profile kernels: KUDZU_PROFILE is for the CPU "
		"device", dev->name);
	if (mine) {
		error_add_hint(err, "run `ncu --set full --import-source yes PROGRAM` on a GPU: "
			"Nsight Compute shows each line of the kernels that have `line_info`");
	}
	return KZ_UNSUPPORTED;
}

kz_status reports_check_device(const struct kz_device *dev, kz_error *err)
{
	if (dev->exports) {
		return KZ_OK;
	}
	return reports_is_set("KUDZU_CHECK") ? reports_refuse(dev, err)
		: reports_is_set("KUDZU_PROFILE") ? reports_refuse_profile(dev, err) : KZ_OK;
}

void reports_note_option(bool is_on)
{
	atomic_store_explicit(&reports_wanted, is_on, memory_order_relaxed);
}

static kz_report_side reports_public_side(const struct kudzu_report_side *side)
{
	kz_report_side out = {.what = side->what, .file = side->file, .line = side->line,
		.column = side->column};
	for (int axis = 0; axis < 3; axis++) {
		out.block[axis] = (int32_t)side->block[axis];
		out.thread[axis] = (int32_t)side->thread[axis];
	}
	return out;
}

static void reports_tell(const struct kudzu_report *report, kz_report_fn *each, void *user)
{
	kz_report out = {.check = report->check, .kernel = report->kernel, .text = report->text,
		.count = (int64_t)report->count, .side_count = report->side_count};
	for (int i = 0; i < report->side_count; i++) {
		out.sides[i] = reports_public_side(&report->sides[i]);
	}
	each(user, &out);
}

kz_status kz_device_reports(kz_device *dev, kz_report_fn *each, void *user, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(dev, OBJECT_DEVICE, err);
	if (st || (!each && (st = error_set(err, KZ_INVALID, "expected a function, got NULL")))) {
		return st;
	}
	if (dev->checks == 0 || !dev->exports) {
		return error_set(err, KZ_STATE, "no check is on: set KUDZU_CHECK, or "
			"KZ_OPTION_CHECK");
	}
	const size_t count = dev->exports->list_reports(NULL, 0);
	struct kudzu_report *all = mem_zalloc(count + 1, sizeof(*all));
	if (!all) {
		return error_no_memory(err);
	}
	const size_t now = dev->exports->list_reports(all, count);
	for (size_t i = 0; i < count && i < now; i++) {
		reports_tell(&all[i], each, user);
	}
	mem_free(all);
	return KZ_OK;
}
