/* SPDX-License-Identifier: MIT */
/* Conditions.  The graph that has one, and the data of the node that looks at it, refer to it. */
#include "base/common.h"

#include "cpu/stream/condition.h"

#include "base/alloc.h"
#include "cpu/object/handle.h"

struct condition *condition_create(uint32_t initial, bool is_assigned)
{
	struct condition *condition = mem_zalloc(1, sizeof(*condition));
	if (!condition || !(condition->handle = handle_create(API_CONDITION, condition))) {
		mem_free(condition);
		return NULL;
	}
	atomic_init(&condition->refs, 1);
	condition->initial = condition->value = initial;
	condition->is_assigned = is_assigned;
	return condition;
}

struct condition *condition_retain(struct condition *condition)
{
	if (condition) {
		atomic_fetch_add(&condition->refs, 1);
	}
	return condition;
}

void condition_release(struct condition *condition)
{
	if (condition && atomic_fetch_sub(&condition->refs, 1) == 1) {
		handle_release(condition->handle);
		mem_free(condition);
	}
}

struct condition *condition_find(CUgraphConditionalHandle handle)
{
	return handle_get((const void *)(uintptr_t)handle, API_CONDITION);
}

uint32_t *condition_find_value(uint64_t handle)
{
	struct condition *condition = condition_find(handle);
	return condition ? &condition->value : NULL;
}
