/* SPDX-License-Identifier: MIT */
/*
 * kudzu info: what there is to know of each device, or of the one that is named: its identity, its
 * memory, its peers, what NVIDIA's management library says of it, and each attribute with its
 * number and name.
 */
#include "cli/cli.h"
#include "cli/nvml.h"
#include "cli/report.h"

#include <kudzu/kudzu.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *info_mode_name(int32_t mode)
{
	switch (mode) {
	case KZ_COMPUTE_DEFAULT:
		return "default";
	case KZ_COMPUTE_PROHIBITED:
		return "prohibited";
	case KZ_COMPUTE_EXCLUSIVE_PROCESS:
		return "exclusive process";
	default:
		return "unknown";
	}
}

/* "6b75647a-752d-..." */
static void info_write_uuid(char text[37], const uint8_t uuid[16])
{
	int length = 0;
	for (int i = 0; i < 16; i++) {
		length += snprintf(text + length, 37 - (size_t)length, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	}
}

/* The name of the next device: the GPUs, then the CPU devices, but for those that stand for GPUs.
 * *index is how many were looked at, 0 at first.  False: there are no more. */
static bool info_next(char *name, size_t size, int *index)
{
	const int gpus = kz_cuda_device_count();
	while (true) {
		kz_device *dev = NULL;
		const int i = (*index)++;
		if (i <= gpus) { /* those that do not open say why when they are printed */
			snprintf(name, size, i < gpus ? "cuda:%d" : "cpu", i);
			return true;
		}
		snprintf(name, size, "cpu:%d", i - gpus);
		if (kz_device_open(&dev, name, NULL)) {
			return false;
		}
		const bool is_own = strcmp(kz_device_name(dev), name) == 0;
		kz_device_close(dev);
		if (is_own) {
			return true;
		}
	}
}

/* The names of the other devices whose memory this one reaches. */
static kz_status info_print_peers(kz_device *dev, kz_error *err)
{
	kz_status st = KZ_OK;
	char name[24];
	int count = 0, index = 0;
	printf("  peers              ");
	while (!st && info_next(name, sizeof(name), &index)) {
		kz_device *peer = NULL;
		int can = 0;
		if (kz_device_open(&peer, name, NULL)) {
			continue;
		}
		st = kz_device_can_access_peer(&can, dev, peer, err);
		if (can) {
			printf(" %s", name);
			count++;
		}
		kz_device_close(peer);
	}
	puts(count || st ? "" : " none");
	return st;
}

static kz_status info_print_attributes(kz_device *dev, kz_error *err)
{
	printf("  attributes\n");
	for (int64_t i = 0; i < kz_device_attribute_count(); i++) {
		int32_t number, value;
		const char *name = kz_device_attribute_name(i, &number);
		kz_error why = KZ_ERROR_INIT;
		kz_status st = kz_device_attribute(&value, dev, number, &why);
		if (st && st != KZ_UNSUPPORTED) {
			*err = why;
			return st;
		}
		kz_error_clear(&why);
		if (st) {
			printf("    %3" PRId32 "  %-58s -\n", number, name);
		} else {
			printf("    %3" PRId32 "  %-58s %" PRId32 "\n", number, name, value);
		}
	}
	return KZ_OK;
}

static kz_status info_print_device(const char *name, kz_error *err)
{
	kz_device *dev = NULL;
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	char uuid[37];
	int64_t unused = 0, total = 0;
	kz_status st;
	if ((st = kz_device_open(&dev, name, err)) || (st = kz_device_describe(dev, &info, err))
	    || (st = kz_device_memory(dev, &unused, &total, err))) {
		goto out;
	}
	printf("%s: %s\n", kz_device_name(dev), kz_device_model(dev));
	printf("  compute capability  %d.%d\n", info.compute_capability / 10,
		info.compute_capability % 10);
	printf("  driver              CUDA %d.%d\n", info.driver_version / 1000,
		info.driver_version % 1000 / 10);
	printf("  memory              %" PRId64 " bytes\n", info.total_memory);
	printf("  memory in use       %" PRId64 " bytes\n", total - unused);
	printf("  pci bus id          %s\n", *info.pci_bus_id ? info.pci_bus_id : "none");
	info_write_uuid(uuid, info.uuid);
	printf("  uuid                %s\n", uuid);
	printf("  compute mode        %s\n", info_mode_name(info.compute_mode));
	if (!(st = info_print_peers(dev, err))) {
		nvml_print(uuid);
		st = info_print_attributes(dev, err);
	}
out:
	kz_device_close(dev);
	return st;
}

static int info_run(const char *name)
{
	kz_error err = KZ_ERROR_INIT;
	kz_status st = info_print_device(name, &err);
	if (st) {
		fflush(stdout);
		report_error(&err);
	}
	kz_error_clear(&err);
	return st == KZ_OK ? CLI_OK : st == KZ_INVALID ? CLI_USAGE : CLI_FAILED;
}

int info_main(int argc, char **argv)
{
	char name[24];
	int status = CLI_OK, index = 0;
	if (argc == 2) {
		return info_run(argv[1]);
	}
	while (info_next(name, sizeof(name), &index)) {
		int one = info_run(name);
		status = one ? one : status;
	}
	return status;
}
