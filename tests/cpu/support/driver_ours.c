/* SPDX-License-Identifier: MIT */
/* check_cpu's part of driver.h. */
#include "driver.h"

#include "api.h"

#include "base/str.h"
#include "cpu/exec/nontemporal.h"
#include "cpu/jit/jit.h"

const bool driver_is_ours = true;

CUmodule driver_load(const char *text)
{
	struct str all = STR_INIT;
	CUmodule module = NULL;
	str_addf(&all, ".version 9.0\n.target sm_100a\n.address_size 64\n%s", text);
	ck_assert_ptr_nonnull(all.data);
	CUresult result = cuModuleLoadData(&module, all.data);
	ck_assert_msg(result == CUDA_SUCCESS, "%s", result ? api_last_log() : "");
	str_free(&all);
	return module;
}

bool driver_runs(int cc)
{
	(void)cc;
	return true;
}

unsigned long driver_compiled(void)
{
	return jit_made_count();
}

void driver_keep(void)
{
}

void driver_go_past_cache(bool always)
{
	atomic_store(&nontemporal_fake_room, always ? 0 : UINT64_MAX);
}

void driver_share(void *memory, size_t size)
{
	(void)memory;
	(void)size;
}

bool driver_ends_with_a_fault(void)
{
	return false;
}

CUresult driver_try(CUmodule *out, const char *text)
{
	return cuModuleLoadData(out, text);
}
