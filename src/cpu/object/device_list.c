/* SPDX-License-Identifier: MIT */
/*
 * Which devices a program sees.  Its first call of cuInit settles that: KUDZU_CPU_DEVICES says how
 * many there are, and only where that is set CUDA_VISIBLE_DEVICES chooses among them, since
 * programs set it to hide their GPUs.
 */
#include "base/common.h"

#include "cpu/object/device_list.h"

#include "base/env.h"
#include "cpu/config/settings.h"
#include "cpu/exec/worker_pool.h"
#include "cpu/mem/capacity.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	pthread_once_t once;
	int count;                                 /* of those that are seen */
	unsigned all;
	unsigned numbers[SETTINGS_MAX_DEVICES];    /* of those that are seen, of `all` */
} devices = {.once = PTHREAD_ONCE_INIT};

CUuuid device_uuid(unsigned number)
{
	CUuuid id;
	memcpy(id.bytes, CU_DEVICE_UUID_KUDZU, sizeof(id.bytes));
	id.bytes[CU_DEVICE_UUID_KUDZU_SAME] += (char)number;
	return id;
}

/* "GPU-6b75647a-752d-...", or the beginning of that, if no other device has the same one. */
static bool device_has_name(unsigned number, const char *text, size_t len)
{
	const CUuuid id = device_uuid(number);
	char name[64] = "GPU-";
	for (size_t i = 0, at = 4; i < sizeof(id.bytes); i++) {
		at += (size_t)snprintf(name + at, sizeof(name) - at, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)id.bytes[i]);
	}
	return len > 4 && len <= strlen(name) && strncmp(name, text, len) == 0;
}

/* The device that an entry of CUDA_VISIBLE_DEVICES names, by number or UUID; -1: none. */
static int device_read_name(const char *text, size_t len)
{
	char *end;
	long number = strtol(text, &end, 10);
	if (len > 0 && end == text + len) {
		return number >= 0 && number < (long)devices.all ? (int)number : -1;
	}
	int found = -1;
	for (unsigned i = 0; i < devices.all; i++) {
		if (device_has_name(i, text, len)) {
			if (found >= 0) {
				return -1;
			}
			found = (int)i;
		}
	}
	return found;
}

/* The list ends at the first entry that names no device (CUDA C++ Programming Guide, "CUDA
 * Environment Variables").  NVIDIA's driver shows no device where one is named twice. */
static void device_read_visible(const char *text)
{
	unsigned seen = 0;
	for (;; text++) {
		text += strspn(text, " ");
		size_t len = strcspn(text, ","), size = len;
		while (size > 0 && text[size - 1] == ' ') {
			size--;
		}
		int number = device_read_name(text, size);
		if (number < 0) {
			return;
		}
		if (seen & 1u << number) {
			devices.count = 0;
			return;
		}
		seen |= 1u << number;
		devices.numbers[devices.count++] = (unsigned)number;
		text += len;
		if (*text == '\0') {
			return;
		}
	}
}

unsigned device_count_all(void)
{
	return (unsigned)settings_get(SETTING_DEVICES, 1);
}

static void device_find_once(void)
{
	const char *visible = env_get("CUDA_VISIBLE_DEVICES");
	devices.all = (unsigned)settings_get(SETTING_DEVICES, 0);
	if (devices.all > 0 && visible) {
		device_read_visible(visible);
		return;
	}
	devices.all = devices.all > 0 ? devices.all : 1;
	for (unsigned i = 0; i < devices.all; i++) {
		devices.numbers[devices.count++] = i;
	}
}

int device_find(void)
{
	pthread_once(&devices.once, device_find_once);
	return devices.count;
}

int device_count(void)
{
	return devices.count;
}

unsigned device_number(CUdevice device)
{
	return devices.numbers[device];
}

unsigned device_cores(void)
{
	const unsigned cores = pool_cores() / devices.all;
	return cores > 0 ? cores : 1;
}

size_t device_bytes(void)
{
	return capacity_bytes() / devices.all;
}
