/* SPDX-License-Identifier: MIT */
/*
 * One program for every machine, after PyTorch's cells about devices.  It prints the list of
 * devices to stderr, because that differs between machines; the numbers are the same everywhere.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>

static void print_devices(kz_device *first)
{
	fprintf(stderr, "GPU available: %s, GPUs: %d, this program runs on %s (%s)\n",
		kz_cuda_available() ? "yes" : "no", kz_cuda_device_count(), kz_device_name(first),
		kz_device_model(first));
}

/* The operands must be on one device; what happens if they are not. */
static void add_across(kz_array *x, kz_array *y)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *sum = NULL;
	if (kz_add(&sum, x, y, &err)) {
		fprintf(stderr, "%s\n", kz_error_message(&err));
	}
	kz_array_release(sum);
	kz_error_clear(&err);
}

/* The memory of a GPU is not the program's; the error says what to do. */
static void look_inside(kz_array *x)
{
	kz_error err = KZ_ERROR_INIT;
	void *memory = NULL;
	if (kz_array_host(&memory, x, &err)) {
		kz_error_print(&err, stderr);
	} else {
		fprintf(stderr, "on the CPU: x[0] is %g\n", *(float *)memory);
	}
	kz_error_clear(&err);
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL, *other = NULL, *cpu = NULL;
	kz_array *t = NULL, *moved = NULL, *back = NULL;
	kz_array *x = NULL, *y = NULL, *z = NULL, *same = NULL, *sum = NULL;
	const int64_t numbers[] = {1, 2, 3};
	int64_t got[3] = {0};

	/* A GPU if there is one, else the CPU; the second GPU if there are two. */
	if (kz_try_gpu(&dev, 0, &err) || kz_try_gpu(&other, 1, &err)
	    || kz_device_open(&cpu, "cpu", &err)) {
		goto out;
	}
	print_devices(dev);

	/* tensor([1, 2, 3]).to(device), and back */
	if (kz_array_from(&t, cpu, KZ_FROM(numbers), &err)
	    || kz_array_to(&moved, t, dev, &err) || kz_array_to(&back, moved, cpu, &err)
	    || kz_array_get(back, got, sizeof(got), &err)) {
		goto out;
	}
	printf("%lld %lld %lld\n", (long long)got[0], (long long)got[1], (long long)got[2]);

	/* X on one device, Y on another: X is copied, then they can be added. */
	if (kz_array_ones(&x, dev, KZ_F32, KZ_SHAPE(2, 3), &err)
	    || kz_array_ones(&y, other, KZ_F32, KZ_SHAPE(2, 3), &err)) {
		goto out;
	}
	add_across(x, y);
	look_inside(x);
	if (kz_array_to(&z, x, other, &err) || kz_array_to(&same, z, other, &err)
	    || kz_add(&sum, y, z, &err) || kz_array_print(sum, stdout, &err)) {
		goto out;
	}
	printf("z.to(its own device) is z: %s\n", same == z ? "yes" : "no");
out:
	if (kz_error_status(&err)) {
		kz_error_print(&err, stderr);
	}
	kz_array *const arrays[] = {t, moved, back, x, y, z, same, sum};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		kz_array_release(arrays[i]);
	}
	kz_device_close(dev);
	kz_device_close(other);
	kz_device_close(cpu);
	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	return failed;
}
