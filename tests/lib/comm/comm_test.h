/* SPDX-License-Identifier: MIT */
#ifndef COMM_TEST_H
#define COMM_TEST_H

/*
 * What the suites of lib/comm share: members, an array for each, and who does the work.  The
 * members are four CPU devices, or with KUDZU_TEST_COMM=cuda up to four GPUs, where NCCL itself
 * takes the place of its stub.
 */
#include "base/common.h"

#include "base/dl.h"
#include "lib/core/device.h"
#include "stub/nccl/stub.h"
#include "support/device_test.h"

#include <kudzu/comm.h>

#include <stdlib.h>

/* Who does the work: our kernels, or NCCL. */
enum comm_engine { ENGINE_OWN, ENGINE_NCCL, ENGINES };

enum { MEMBERS = 4 };

static int members;
static kz_device *devices[MEMBERS];
static kz_comm *comm;
static struct nccl_stub *nccl;

static CUresult comm_test_synchronize(CUstream stream)
{
	struct device_scope scope;
	ck_assert_int_eq(device_enter(devices[0], &scope, NULL), KZ_OK);
	CUresult code = devices[0]->drv->StreamSynchronize(stream);
	device_leave(devices[0], &scope);
	return code;
}

static inline bool comm_test_is_cuda(void)
{
	const char *wanted = getenv("KUDZU_TEST_COMM");
	return wanted && strcmp(wanted, "cuda") == 0;
}

/* False where there are not two: the library was built without the CPU device, or there are fewer
 * GPUs. */
static bool comm_test_open_devices(void)
{
	err = (kz_error)KZ_ERROR_INIT;
	setenv("KUDZU_CPU_DEVICES", "4", 1);
	for (members = 0; members < MEMBERS; members++) {
		char name[16];
		snprintf(name, sizeof(name), comm_test_is_cuda() ? "cuda:%d" : "cpu:%d", members);
		if (kz_device_open(&devices[members], name, &err)) {
			ck_assert_msg(err.status == KZ_NO_DRIVER || comm_test_is_cuda(), "%s",
				err.message);
			kz_error_clear(&err);
			break;
		}
	}
	if (members == 1) {
		kz_device_close(devices[0]);
	}
	return members > 1;
}

/* A communicator of the first `count` devices. */
static kz_comm *comm_test_create(enum comm_engine engine, int count)
{
	static const char stub_path[] = KZ_TEST_BUILD "/libnccl-stub.so";
	kz_comm_options options = KZ_COMM_OPTIONS_INIT;
	kz_comm *made = NULL;
	options.engine = engine == ENGINE_NCCL ? KZ_COMM_NCCL : KZ_COMM_OWN;
	if (engine == ENGINE_NCCL && !comm_test_is_cuda()) {
		char why[256];
		void *object = dl_open(stub_path, why, sizeof(why));
		ck_assert_msg(object != NULL, "%s", why);
		nccl = dl_symbol(object, "nccl_stub");
		nccl->synchronize = comm_test_synchronize;
		setenv("KUDZU_NCCL", stub_path, 1);
	}
	ok(kz_comm_create(&made, devices, count, &options, &err));
	ck_assert_int_eq(kz_comm_uses_nccl(made), engine == ENGINE_NCCL);
	return made;
}

static void comm_test_close(void)
{
	kz_comm_release(comm);
	comm = NULL;
	if (nccl) {
		ck_assert_int_eq(nccl->comms, 0);
	}
	for (int i = 0; i < members; i++) {
		support_close(devices[i]);
	}
	kz_error_clear(&err);
}

/* A test with `comm`, of all members; its index is the engine. */
#define COMM_TEST(name)                                                                            \
	static void name##_body(int _i CK_ATTRIBUTE_UNUSED);                                       \
	START_TEST(name)                                                                           \
	{                                                                                          \
		if (comm_test_open_devices()) {                                                    \
			comm = comm_test_create((enum comm_engine)(_i % ENGINES), members);        \
			name##_body(_i);                                                           \
			comm_test_close();                                                         \
		}                                                                                  \
	}                                                                                          \
	END_TEST                                                                                   \
	static void name##_body(int _i CK_ATTRIBUTE_UNUSED)

/* An array of each member, filled by a rule. */
typedef double comm_test_rule(int member, int64_t i);

static void comm_test_make(kz_array *out[MEMBERS], kz_dtype dtype, int64_t count,
	comm_test_rule *rule)
{
	double *values = malloc((size_t)(count + 1) * sizeof(*values));
	for (int m = 0; m < members; m++) {
		for (int64_t i = 0; i < count; i++) {
			values[i] = rule(m, i);
		}
		kz_array *doubles = NULL;
		ok(kz_array_from(&doubles, devices[m], KZ_F64, KZ_SHAPE(count), values,
			8 * count, &err));
		ok(kz_array_astype(&out[m], doubles, dtype, &err));
		kz_array_release(doubles);
	}
	free(values);
}

static void comm_test_release(kz_array *arrays[MEMBERS])
{
	support_release_arrays(arrays, (size_t)members);
}

/* The elements of an array as doubles are those of a rule. */
static void comm_test_expect(kz_array *array, int member, comm_test_rule *rule)
{
	const int64_t count = kz_array_count(array);
	double *found = support_read(array, KZ_F64);
	for (int64_t i = 0; i < count; i++) {
		const double wanted = rule(member, i);
		ck_assert_msg(found[i] == wanted, "member %d, element %lld: %g, not %g", member,
			(long long)i, found[i], wanted);
	}
	free(found);
}

static void comm_test_expect_all(kz_array *const arrays[MEMBERS], comm_test_rule *rule)
{
	for (int m = 0; m < members; m++) {
		comm_test_expect(arrays[m], m, rule);
	}
}

#endif
