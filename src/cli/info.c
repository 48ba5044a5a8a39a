/* SPDX-License-Identifier: MIT */
/*
 * kudzu info: what there is to know of each device, or of the one that is named: its identity, its
 * memory, its peers, and each attribute with its number and name.
 */
#include "cli/cli.h"
#include "cli/report.h"

#include <kudzu/kudzu.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

static void info_print_uuid(const uint8_t *uuid)
{
	printf("  uuid                ");
	for (int i = 0; i < 16; i++) {
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	}
	putchar('\n');
}

/* Open the device of an index: the GPUs, then the CPU devices.  KZ_NO_DEVICE: there are no more. */
static kz_status info_open(kz_device **out, int index, kz_error *err)
{
	char name[24];
	const int gpus = kz_cuda_device_count();
	snprintf(name, sizeof(name), index < gpus ? "cuda:%d" : "cpu:%d",
		index < gpus ? index : index - gpus);
	return kz_device_open(out, name, err);
}

/* The names of the other devices whose memory this one reaches. */
static kz_status info_print_peers(kz_device *dev, kz_error *err)
{
	kz_status st = KZ_OK;
	int count = 0;
	printf("  peers              ");
	for (int i = 0; !st; i++) {
		kz_device *peer = NULL;
		kz_error why = KZ_ERROR_INIT;
		int can = 0;
		if (info_open(&peer, i, &why)) {
			kz_error_clear(&why);
			if (i < kz_cuda_device_count()) {
				continue; /* a GPU that does not work, as its own lines say */
			}
			break;
		}
		/* A CPU device that stands for a GPU has been there before. */
		bool is_new = i < kz_cuda_device_count()
			|| strncmp(kz_device_name(peer), "cpu", 3) == 0;
		st = is_new ? kz_device_can_access_peer(&can, dev, peer, err) : KZ_OK;
		if (can) {
			printf(" %s", kz_device_name(peer));
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
	kz_status st;
	if ((st = kz_device_open(&dev, name, err)) || (st = kz_device_describe(dev, &info, err))) {
		goto out;
	}
	printf("%s: %s\n", kz_device_name(dev), kz_device_model(dev));
	printf("  compute capability  %d.%d\n", info.compute_capability / 10,
		info.compute_capability % 10);
	printf("  driver              CUDA %d.%d\n", info.driver_version / 1000,
		info.driver_version % 1000 / 10);
	printf("  memory              %" PRId64 " bytes\n", info.total_memory);
	printf("  pci bus id          %s\n", *info.pci_bus_id ? info.pci_bus_id : "none");
	info_print_uuid(info.uuid);
	printf("  compute mode        %s\n", info_mode_name(info.compute_mode));
	if ((st = info_print_peers(dev, err)) || (st = info_print_attributes(dev, err))) {
		goto out;
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

/* Further CPU devices, but for those that stand for GPUs. */
static int info_run_more(void)
{
	int status = CLI_OK;
	for (int i = 1;; i++) {
		char name[24];
		kz_device *dev = NULL;
		kz_error err = KZ_ERROR_INIT;
		snprintf(name, sizeof(name), "cpu:%d", i);
		if (kz_device_open(&dev, name, &err)) {
			kz_error_clear(&err);
			return status;
		}
		if (strcmp(kz_device_name(dev), name) == 0) {
			int one = info_run(name);
			status = one ? one : status;
		}
		kz_device_close(dev);
	}
}

int info_main(int argc, char **argv)
{
	char name[24];
	if (argc == 2) {
		return info_run(argv[1]);
	}
	int status = CLI_OK, count = kz_cuda_device_count();
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "cuda:%d", i);
		int one = info_run(name);
		status = one ? one : status;
	}
	int cpu = info_run("cpu"), more = info_run_more();
	return cpu ? cpu : more ? more : status;
}
