/* SPDX-License-Identifier: MIT */
/* List every device of this machine and its properties. */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

static const char *yes_no(int flag)
{
	return flag ? "yes" : "no";
}

static void print_limits(const kz_device_info *info)
{
	printf("  compute capability  %d.%d\n", info->compute_capability / 10,
		info->compute_capability % 10);
	printf("  driver              %d.%d\n", info->driver_version / 1000,
		info->driver_version % 1000 / 10);
	printf("  multiprocessors     %d, %d MHz\n", info->multiprocessors, info->clock_khz / 1000);
	printf("  warp                %d threads\n", info->warp_size);
	printf("  block               %lld threads, at most %lld x %lld x %lld\n",
		(long long)info->max_threads_per_block, (long long)info->max_block[0],
		(long long)info->max_block[1], (long long)info->max_block[2]);
	printf("  grid                at most %lld x %lld x %lld blocks\n",
		(long long)info->max_grid[0], (long long)info->max_grid[1],
		(long long)info->max_grid[2]);
	printf("  shared per block    %lld KiB, %lld KiB when asked for\n",
		(long long)info->shared_per_block / 1024,
		(long long)info->shared_per_block_optin / 1024);
	printf("  constant memory     %lld KiB\n", (long long)info->constant_memory / 1024);
	printf("  concurrent kernels  %s\n", yes_no(info->concurrent_kernels));
	printf("  cooperative launch  %s\n", yes_no(info->cooperative_launch));
	printf("  managed memory      %s\n", yes_no(info->managed_memory));
	printf("  memory pools        %s\n", yes_no(info->memory_pools));
}

/* Returns 1 if the device works. */
static int print_device(const char *name)
{
	kz_device *dev = NULL;
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	int64_t free_size = 0, total_size = 0;

	if (kz_device_open(&dev, name, &err)) {
		printf("%s: %s\n", name, kz_error_message(&err));
		kz_error_clear(&err);
		return 0;
	}
	CHECK(kz_device_describe(dev, &info, &err));
	CHECK(kz_device_memory(dev, &free_size, &total_size, &err));
	printf("%s: %s\n", kz_device_name(dev), kz_device_model(dev));
	print_limits(&info);
	printf("  memory              %lld MiB, %lld MiB of them free\n",
		(long long)total_size >> 20, (long long)free_size >> 20);
	kz_device_close(dev);
	return 1;
}

int main(void)
{
	int gpus = kz_cuda_device_count();
	int working = 0;

	for (int i = 0; i < gpus; i++) {
		char name[32];
		snprintf(name, sizeof(name), "cuda:%d", i);
		working += print_device(name);
	}
	working += print_device("cpu");
	return working == 0;
}
