/* SPDX-License-Identifier: MIT */
/*
 * Every function of the driver with NULL and with meaningless numbers and handles, in every state
 * that a thread can be in: before cuInit, without a context, with a context, and with a destroyed
 * one.  A function returns a valid CUresult, does not crash, and has set its results if it reports
 * success.
 */
#include "cpu/support/api.h"

#include "cpu/abi/api.h"
#include "cpu/abi/exports.h"
#include "support/suite.h"

#define MAX_PARAMETERS 16
#define SCRATCH 4096
#define UNSET 0xa5

typedef CUresult (*any_function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
	uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
	uintptr_t, uintptr_t);

/* A function by all its names: with a suffix it has the same parameters. */
static const struct row {
	const char *name;
	const char *kinds;
} rows[] = {
#define X(name, kinds) {#name, kinds},
#include "cpu/support/api_kinds.def"
#undef X
};

static _Alignas(64) uint8_t scratch[MAX_PARAMETERS][SCRATCH];

/* What has no need of cuInit. */
static const char *const always[] = {"cuInit", "cuDriverGetVersion", "cuGetErrorName",
	"cuGetErrorString", "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable",
	"cuLogsCurrent", "cuLogsDumpToFile", "cuLogsDumpToMemory", "cuLogsRegisterCallback",
	"cuLogsUnregisterCallback"};

/* Written parameters that are read, or that need not be written. */
static const char *const reads[] = {"cuCtxCreate_v3", "cuCtxCreate_v4", "cuLaunchHostFunc",
	"cuLaunchHostFunc_v2", "cuLinkCreate", "cuLinkCreate_v2", "cuMemHostRegister_v2",
	"cuMemcpyDtoHAsync_v2", "cuMemcpyDtoH_v2", "cuStreamAddCallback", "cuStreamBatchMemOp",
	"cuStreamBatchMemOp_v2", "cuUserObjectCreate"};

static bool is_listed(const char *const *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i], name) == 0) {
			return true;
		}
	}
	return false;
}

static void do_nothing(void *data)
{
	(void)data;
}

/* How to fill in the parameters. */
struct filling {
	uint32_t pointers; /* a bit for each parameter that is no NULL if it is a pointer */
	uintptr_t handle;
	uintptr_t number;
};

static CUresult call(any_function function, const char *kinds, const struct filling *filling)
{
	uintptr_t a[MAX_PARAMETERS] = {0};
	for (size_t i = 0; kinds[i] != '\0'; i++) {
		bool is_set = filling->pointers >> i & 1;
		uintptr_t place = is_set ? (uintptr_t)scratch[i] : 0;
		memset(scratch[i], kinds[i] == 'o' ? UNSET : 0, SCRATCH);
		memset(scratch[i] + SCRATCH - 64, 0, 64);
		a[i] = kinds[i] == 'f' ? (is_set ? (uintptr_t)do_nothing : 0)
			: kinds[i] == 'n' ? filling->number
			: kinds[i] == 'h' || kinds[i] == 'd' ? filling->handle : place;
	}
	return function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
		a[12], a[13], a[14], a[15]);
}

static bool was_written(const uint8_t *bytes)
{
	return bytes[0] != UNSET || bytes[1] != UNSET || bytes[2] != UNSET || bytes[3] != UNSET;
}

enum state { BEFORE_INIT, NO_CONTEXT, PRIMARY, DESTROYED, STATES };

static void enter(enum state state)
{
	CUcontext old;
	if (state == BEFORE_INIT) {
		return;
	}
	init();
	OK(cuCtxSetCurrent(NULL));
	while (cuCtxPopCurrent_v2(&old) == CUDA_SUCCESS) {
	}
	if (state == PRIMARY) {
		setup();
	} else if (state == DESTROYED) {
		OK(cuCtxCreate_v2(&old, 0, 0));
		OK(cuCtxPushCurrent_v2(old));
		OK(cuCtxDestroy_v2(old));
	}
}

static void check_call(const struct row *row, any_function function, enum state state,
	const struct filling *filling)
{
	const char *text = NULL;
	enter(state);
	CUresult result = call(function, row->kinds, filling);
	bool needs_init = !is_listed(always, countof(always), row->name);
	ck_assert_msg(state != BEFORE_INIT || !needs_init || result == CUDA_ERROR_NOT_INITIALIZED
		|| result == CUDA_ERROR_NOT_SUPPORTED, "%s before cuInit is %d", row->name, result);
	ck_assert_msg(cuGetErrorName(result, &text) == CUDA_SUCCESS, "%s returns %d", row->name,
		result);
	bool must_write = result == CUDA_SUCCESS && !is_listed(reads, countof(reads), row->name);
	for (size_t i = 0; must_write && row->kinds[i] != '\0'; i++) {
		ck_assert_msg(row->kinds[i] != 'o' || !(filling->pointers >> i & 1)
			|| was_written(scratch[i]), "%s in state %d with %zu, %#zx, %#x has not set"
			" parameter %zu", row->name, state, (size_t)filling->number,
			(size_t)filling->handle, filling->pointers, i);
	}
}

static any_function find(const char *name)
{
	for (size_t i = 0; i < api_export_count; i++) {
		if (strcmp(api_exports[i].name, name) == 0) {
			return (any_function)api_exports[i].address;
		}
	}
	return NULL;
}

START_TEST(function_answers_to_anything)
{
	static const uintptr_t numbers[] = {0, 1, (uintptr_t)-1};
	static const uintptr_t handles[] = {0, 0x4242, (uintptr_t)-1};
	const struct row *row = &rows[_i];
	const uint32_t all = (1u << strlen(row->kinds)) - 1;
	any_function function = find(row->name);
	ck_assert_msg(function != NULL, "%s is not exported", row->name);
	for (int state = 0; state < STATES; state++) {
		for (size_t i = 0; i < countof(numbers) * countof(handles); i++) {
			struct filling filling = {all, handles[i / 3], numbers[i % 3]};
			check_call(row, function, state, &filling);
			filling.pointers = 0;
			check_call(row, function, state, &filling);
			for (size_t k = 0; row->kinds[k] != '\0'; k++) {
				filling.pointers = all & ~(1u << k);
				check_call(row, function, state, &filling);
			}
		}
	}
}
END_TEST

SUITE(api_garbage)
{
	Suite *suite = suite_create("api_garbage");
	TCase *tc = suite_add_case(suite, "garbage");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, function_answers_to_anything, 0, countof(rows));
	return suite;
}
