/* SPDX-License-Identifier: MIT */
/*
 * Attributes of devices, by number and by name.
 *
 * The names are those of attributes.def, without the prefix that all have.  The driver is asked
 * each time: it needs no context for that, so the questions work on a lost device, too.
 */
#include "base/common.h"

#include "lib/core/device.h"

#include <string.h>

#define PREFIX "CU_DEVICE_ATTRIBUTE_"

static const struct {
	const char *name;
	int32_t number;
} attributes[] = {
#define X(name, number) {#name, number},
#include "base/attributes.def"
#undef X
};

int64_t kz_device_attribute_count(void)
{
	return countof(attributes);
}

const char *kz_device_attribute_name(int64_t index, int32_t *number)
{
	bool is_there = index >= 0 && index < kz_device_attribute_count();
	if (number) {
		*number = is_there ? attributes[index].number : 0;
	}
	return is_there ? attributes[index].name + strlen(PREFIX) : NULL;
}

/* The name of an attribute, "number 7" for one that has none here. */
static void attribute_describe(char *text, size_t size, int32_t number)
{
	snprintf(text, size, "number %d", number);
	for (size_t i = 0; i < countof(attributes); i++) {
		if (attributes[i].number == number) {
			snprintf(text, size, "%s", attributes[i].name);
		}
	}
}

kz_status kz_device_attribute(int32_t *out, kz_device *dev, int32_t number, kz_error *err)
{
	error_scope(err);
	int value = 0;
	char name[96];
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))) {
		return st;
	}
	CUresult code = dev->drv->DeviceGetAttribute(&value, (CUdevice_attribute)number,
		dev->handle);
	if (code == CUDA_ERROR_INVALID_VALUE) {
		attribute_describe(name, sizeof(name), number);
		return error_set(err, KZ_UNSUPPORTED, "the driver of %s does not know attribute %s",
			dev->name, name);
	}
	st = device_ok(dev, code, "cuDeviceGetAttribute", err);
	*out = st ? 0 : value;
	return st;
}

kz_status kz_device_attribute_by_name(int32_t *out, kz_device *dev, const char *name,
	kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = object_check(dev, OBJECT_DEVICE, err))
	    || (st = pointer_check(name, "the name of an attribute", err))) {
		return st;
	}
	const char *bare = strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? name + strlen(PREFIX)
		: name;
	for (size_t i = 0; i < countof(attributes); i++) {
		if (strcmp(attributes[i].name + strlen(PREFIX), bare) == 0) {
			return kz_device_attribute(out, dev, attributes[i].number, err);
		}
	}
	return error_set(err, KZ_NOT_FOUND, "unknown device attribute '%s'", name);
}
