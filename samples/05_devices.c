/* SPDX-License-Identifier: MIT */
/*
 * One program for every machine, after PyTorch's cells about devices.  It prints the list of
 * devices to stderr, because that differs between machines; the numbers are the same everywhere.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

static void print_devices(kz_device *first)
{
	fprintf(stderr, "GPU available: %s, GPUs: %d, this program runs on %s (%s)\n",
		kz_cuda_available() ? "yes" : "no", kz_cuda_device_count(), kz_device_name(first),
		kz_device_model(first));
}

/* The operands must be on one device; what happens if they are not. */
static void add_across(kz_array *x, kz_array *y)
{
	kz_array *sum = NULL;
	if (kz_add(&sum, x, y, &err)) {
		fprintf(stderr, "%s\n", kz_error_message(&err));
		kz_error_clear(&err);
	}
	kz_array_release(sum);
}

/* The memory of a GPU is not the program's; the error says what to do. */
static void look_inside(kz_array *x)
{
	void *memory = NULL;
	if (kz_array_host(&memory, x, &err)) {
		kz_error_print(&err, stderr);
		kz_error_clear(&err);
	} else {
		fprintf(stderr, "on the CPU: x[0] is %g\n", *(float *)memory);
	}
}

int main(void)
{
	kz_device *dev = NULL, *other = NULL, *cpu = NULL;
	kz_array *t = NULL, *moved = NULL, *back = NULL;
	kz_array *x = NULL, *y = NULL, *z = NULL, *same = NULL, *sum = NULL;
	const int64_t numbers[] = {1, 2, 3};
	int64_t got[3] = {0};

	/* A GPU if there is one, else the CPU; the second GPU if there are two. */
	CHECK(kz_try_gpu(&dev, 0, &err));
	CHECK(kz_try_gpu(&other, 1, &err));
	CHECK(kz_device_open(&cpu, "cpu", &err));
	print_devices(dev);

	/* tensor([1, 2, 3]).to(device), and back */
	CHECK(kz_array_from(&t, cpu, KZ_FROM(numbers), &err));
	CHECK(kz_array_to(&moved, t, dev, &err));
	CHECK(kz_array_to(&back, moved, cpu, &err));
	CHECK(kz_array_get(back, got, sizeof(got), &err));
	printf("%lld %lld %lld\n", (long long)got[0], (long long)got[1], (long long)got[2]);

	/* X on one device, Y on another: X is copied, then they can be added. */
	CHECK(kz_array_ones(&x, dev, KZ_F32, KZ_SHAPE(2, 3), &err));
	CHECK(kz_array_ones(&y, other, KZ_F32, KZ_SHAPE(2, 3), &err));
	add_across(x, y);
	look_inside(x);
	CHECK(kz_array_to(&z, x, other, &err));
	CHECK(kz_array_to(&same, z, other, &err));
	CHECK(kz_add(&sum, y, z, &err));
	CHECK(kz_array_print(sum, stdout, &err));
	printf("z.to(its own device) is z: %s\n", same == z ? "yes" : "no");
	kz_release_all(t, moved, back, x, y, z, same, sum, dev, other, cpu);
	return 0;
}
