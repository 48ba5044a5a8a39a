/* SPDX-License-Identifier: MIT */
#ifndef LIB_CORE_DEVICE_FIND_H
#define LIB_CORE_DEVICE_FIND_H

/* Devices by UUID or place on the PCI bus; see device_find.c. */
#include "lib/cuda/drv.h"

struct device_id {
	const char *text;           /* borrowed */
	bool is_uuid;
	char digits[33];            /* of a UUID, or its first ones */
	unsigned pci[4];            /* domain, bus, device, function */
};

/* False for a text that is neither a UUID nor a place on the bus. */
bool device_id_parse(struct device_id *out, const char *text);
/* KZ_NO_DEVICE, with what there is, if no device has that name, or several begin with it. */
kz_status device_find_id(struct drv **drv, int *ordinal, const struct device_id *id, kz_error *err);

#endif
