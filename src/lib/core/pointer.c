/* SPDX-License-Identifier: MIT */
/* What the driver knows about an address, also where the library did not allocate the memory. */
#include "base/common.h"

#include "lib/core/memory.h"

#include <string.h>

/* Which driver puts what where; of an address that it does not know it leaves some alone. */
struct pointer_answers {
	unsigned type;
	uint64_t is_managed;       /* some write 4 bytes, some 8 */
	int ordinal;
	CUdeviceptr start;
	size_t size;
	void *host;
};

static kz_status pointer_ask(struct pointer_answers *out, struct kz_device *dev,
	uint64_t address, kz_error *err)
{
	CUpointer_attribute attributes[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_HOST_POINTER,
	};
	void *answers[] = {&out->type, &out->is_managed, &out->ordinal, &out->start, &out->size,
		&out->host};
	struct device_scope scope;
	kz_status st = device_enter(dev, &scope, err);
	if (!st) {
		st = device_ok(dev, dev->drv->PointerGetAttributes(countof(attributes), attributes,
			answers, address), "cuPointerGetAttributes", err);
		device_leave(dev, &scope);
	}
	return st;
}

kz_status kz_pointer_describe(kz_device *dev, uint64_t address, kz_pointer_info *info,
	kz_error *err)
{
	error_scope(err);
	struct pointer_answers answers = {.ordinal = -1};
	kz_status st;
	if ((st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(info, "a kz_pointer_info", err))) {
		return st;
	}
	if (info->size != sizeof(*info)) {
		return struct_refuse("kz_pointer_info", info->size, sizeof(*info), err);
	}
	*info = (kz_pointer_info){.size = sizeof(*info)};
	if ((st = pointer_ask(&answers, dev, address, err)) || answers.type == 0) {
		return st;
	}
	info->kind = answers.is_managed ? KZ_MEMORY_MANAGED
		: answers.type == CU_MEMORYTYPE_HOST ? KZ_MEMORY_HOST : KZ_MEMORY_DEVICE;
	if (answers.ordinal >= 0) {
		device_write_name(info->device, dev->drv, answers.ordinal);
	}
	info->start = answers.start;
	info->bytes = (int64_t)answers.size;
	info->host = answers.host;
	return KZ_OK;
}
