/* SPDX-License-Identifier: MIT */
/*
 * Devices by what the machine calls them: a UUID, or a place on the PCI bus.
 *
 * An ordinal depends on CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; these do not.  The GPUs are
 * searched first, then the CPU devices, which have UUIDs and places of their own.
 */
#include "base/common.h"

#include "base/str.h"
#include "lib/core/device_find.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { UUID_DIGITS = 32 };

/* "3b": a number of 1 to `most` hexadecimal digits; NULL if there is none. */
static const char *device_read_hex(unsigned *out, const char *text, int most)
{
	int count = 0;
	for (*out = 0; isxdigit((unsigned char)*text); text++) {
		const int digit = tolower((unsigned char)*text);
		*out = 16 * *out + (unsigned)(isdigit(digit) ? digit - '0' : digit - 'a' + 10);
		if (++count > most) {
			return NULL;
		}
	}
	return count ? text : NULL;
}

/* "0000:3b:00.0", "00000000:3B:00.0", "0000:3b:00", "3b:00.0", as cuDeviceGetByPCIBusId. */
static bool device_read_pci(unsigned pci[4], const char *text)
{
	unsigned parts[3];
	int count = 0;
	do {
		text += count > 0;
		text = count < 3 ? device_read_hex(&parts[count++], text, 8) : NULL;
	} while (text && *text == ':');
	const bool has_function = text && *text == '.';
	pci[3] = 0;
	if (has_function) {
		text = device_read_hex(&pci[3], text + 1, 1);
	}
	if (!text || *text || (count < 3 && !(count == 2 && has_function))) {
		return false;
	}
	pci[0] = count == 3 ? parts[0] : 0;
	pci[1] = parts[count - 2];
	pci[2] = parts[count - 1];
	return true;
}

/* "GPU-6b75647a-...", or the beginning of it: the digits without the dashes. */
static bool device_read_uuid(char digits[UUID_DIGITS + 1], const char *text)
{
	size_t count = 0;
	if (strncmp(text, "GPU-", 4) != 0) {
		return false;
	}
	for (text += 4; *text; text++) {
		if (*text == '-') {
			continue;
		}
		if (!isxdigit((unsigned char)*text) || count == UUID_DIGITS) {
			return false;
		}
		digits[count++] = (char)tolower((unsigned char)*text);
	}
	digits[count] = '\0';
	return count > 0;
}

bool device_id_parse(struct device_id *out, const char *text)
{
	out->text = text;
	out->is_uuid = device_read_uuid(out->digits, text);
	return out->is_uuid || device_read_pci(out->pci, text);
}

/* What the driver calls one of its devices: "GPU-6b75647a-752d-..." or "0000:3b:00.0"; "" if it
 * cannot tell. */
static void device_ask_id(char *out, size_t size, const struct drv *drv, int ordinal, bool uuid)
{
	CUdevice device;
	CUuuid id;
	out[0] = '\0';
	if (drv->DeviceGet(&device, ordinal) != CUDA_SUCCESS) {
		return;
	}
	if (!uuid) {
		if (drv->DeviceGetPCIBusId(out, (int)size, device) != CUDA_SUCCESS) {
			out[0] = '\0';
		}
		return;
	}
	if (drv->DeviceGetUuid(&id, device) != CUDA_SUCCESS) {
		return;
	}
	size_t at = (size_t)snprintf(out, size, "GPU-");
	for (size_t i = 0; i < sizeof(id.bytes); i++) {
		at += (size_t)snprintf(out + at, size - at, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)id.bytes[i]);
	}
}

static bool device_id_fits(const struct device_id *id, const char *name)
{
	char digits[UUID_DIGITS + 1];
	unsigned pci[4];
	if (id->is_uuid) {
		return device_read_uuid(digits, name)
			&& strncmp(digits, id->digits, strlen(id->digits)) == 0;
	}
	return device_read_pci(pci, name) && memcmp(pci, id->pci, sizeof(pci)) == 0;
}

/* The search goes on to the end, to see whether the beginning of a UUID is that of two. */
struct device_search {
	const struct device_id *id;
	struct drv *drv;            /* of what was found */
	int ordinal;
	int fits;
	int count;
	struct str there;           /* all devices, by the kind of name that is asked for */
};

static void device_search_driver(struct device_search *search, struct drv *drv)
{
	for (int i = 0; i < drv->device_count; i++) {
		char name[64] = "";
		device_ask_id(name, sizeof(name), drv, i, search->id->is_uuid);
		if (device_id_fits(search->id, name)) {
			search->drv = drv;
			search->ordinal = i;
			search->fits++;
		}
		str_addf(&search->there, "%s%s", search->count++ > 0 ? ", " : "",
			*name ? name : "one without such a name");
	}
}

kz_status device_find_id(struct drv **drv, int *ordinal, const struct device_id *id, kz_error *err)
{
	struct device_search search = {.id = id, .there = STR_INIT};
	struct drv *each[2] = {NULL, NULL};
	kz_error why = KZ_ERROR_INIT;
	kz_status st = drv_open(&each[0], DRV_CUDA, &why);
	/* The CPU device need not be there to find a GPU. */
	kz_status cpu = drv_open(&each[1], DRV_CPU, NULL);
	for (int i = 0; i < 2; i++) {
		if (!(i ? cpu : st)) {
			device_search_driver(&search, each[i]);
		}
	}
	if (search.there.failed) {
		st = error_no_memory(err);
	} else if (search.fits == 1) {
		*drv = search.drv;
		*ordinal = search.ordinal;
		st = KZ_OK;
	} else if (st && cpu) {
		st = error_copy(err, &why);
	} else {
		bool mine = error_is_clean(err);
		st = error_set(err, KZ_NO_DEVICE, search.fits == 0
			? "there is no device %s; there %s %s"
			: "more than one device begins with %s; there %s %s", id->text,
			search.count == 1 ? "is" : "are", search.there.data);
		if (mine) { /* the message may be too short for all of them */
			error_take_log(err, str_take(&search.there));
		}
	}
	kz_error_clear(&why);
	str_free(&search.there);
	return st;
}
