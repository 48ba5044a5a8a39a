/* SPDX-License-Identifier: MIT */
/*
 * Devices, tensors on them and a layer of a network, after the chapter on GPUs of "Dive into Deep
 * Learning".  X is on the first GPU and Y on the second, or on the CPU where there is none.  The
 * random numbers are the same on every device.  What differs between machines goes to stderr.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>

/* A device is a name until it is opened: no name fails. */
struct name {
	char text[16];
};

static struct name gpu(int i)
{
	struct name name;
	snprintf(name.text, sizeof(name.text), "cuda:%d", i);
	return name;
}

static kz_status print_devices(kz_error *err)
{
	kz_device *tenth = NULL, *all[8];
	int count = 0;
	printf("cpu(), gpu(), gpu(1): cpu %s %s\n", gpu(0).text, gpu(1).text);
	kz_status st = kz_try_gpu(&tenth, 10, err);
	st = st ? st : kz_try_all_gpus(all, 8, &count, err);
	fprintf(stderr, "num_gpus(): %d\ntry_gpu(10): %s\ntry_all_gpus():",
		kz_cuda_device_count(), kz_device_name(tenth));
	for (int i = 0; i < count; i++) {
		fprintf(stderr, " %s", kz_device_name(all[i]));
		kz_device_close(all[i]);
	}
	fprintf(stderr, "\n");
	kz_device_close(tenth);
	return st;
}

/* A matrix with four digits, as PyTorch prints it. */
static kz_status show(const char *name, kz_array *matrix, kz_error *err)
{
	float host[16];
	const int64_t columns = kz_array_shape(matrix).dims[1];
	kz_status st = kz_array_get(matrix, host, kz_array_size(matrix), err);
	for (int64_t i = 0; !st && i < kz_array_count(matrix); i++) {
		printf("%s%s%.4f", i ? "" : name, i % columns ? ", " : i ? "]\n\t[" : ":\t[",
			host[i]);
	}
	printf("]\n");
	fprintf(stderr, "%s is on %s\n", name, kz_device_name(kz_array_device(matrix)));
	return st;
}

/* X + Y is an error if they are on two devices; its message says on which. */
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

/* nn.LazyLinear(1): the first input says how many weights there are. */
struct linear {
	kz_device *device;
	kz_array *weight, *bias;
};

static kz_status linear_init(struct linear *net, int64_t inputs, kz_error *err)
{
	kz_random *rng = NULL;
	kz_array *unit = NULL;
	kz_status st;
	if (!(st = kz_random_create(&rng, net->device, 3, 0, err))
	    && !(st = kz_random_uniform(&unit, rng, KZ_F32, KZ_SHAPE(inputs, 1), -1, 1, err))
	    && !(st = kz_eval(&net->weight, "unit / inputs**0.5", NULL, err,
		KZ_VARS(unit, inputs)))) {
		st = kz_array_zeros(&net->bias, net->device, KZ_F32, KZ_SHAPE(1), err);
	}
	kz_array_release(unit);
	kz_random_release(rng);
	return st;
}

static kz_status linear_run(kz_array **out, struct linear *net, kz_array *x, kz_error *err)
{
	kz_array *product = NULL;
	kz_status st = net->bias ? KZ_OK : linear_init(net, kz_array_shape(x).dims[1], err);
	if (!st && !(st = kz_matmul(&product, x, net->weight, NULL, err))) {
		st = kz_add(out, product, net->bias, err);
	}
	kz_array_release(product);
	return st;
}

/* d2l.Trainer(num_gpus=1): the batch goes to the first GPU if there is one, else it stays. */
static kz_status prepare_batch(kz_array **out, kz_array *batch, int num_gpus, kz_error *err)
{
	kz_device *first = NULL;
	int gpus = num_gpus < kz_cuda_device_count() ? num_gpus : kz_cuda_device_count();
	if (gpus == 0) {
		*out = kz_array_retain(batch);
		return KZ_OK;
	}
	kz_status st = kz_device_open(&first, gpu(0).text, err);
	st = st ? st : kz_array_to(out, batch, first, err);
	kz_device_close(first);
	return st;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *first = NULL, *second = NULL;
	kz_array *x = NULL, *y = NULL, *z = NULL, *same = NULL, *sum = NULL, *batch = NULL;
	kz_array *result = NULL;
	kz_random *rng = NULL;
	struct linear net = {NULL, NULL, NULL};

	if (print_devices(&err) || kz_try_gpu(&first, 0, &err) || kz_try_gpu(&second, 1, &err)
	    || kz_array_ones(&x, first, KZ_F32, KZ_SHAPE(2, 3), &err) || show("X", x, &err)
	    || kz_random_create(&rng, second, 7, 0, &err)
	    || kz_random_uniform(&y, rng, KZ_F32, KZ_SHAPE(2, 3), 0, 1, &err)
	    || show("Y", y, &err)) {
		goto out;
	}
	add_across(x, y);
	if (kz_array_to(&z, x, second, &err) || show("Z", z, &err) || kz_add(&sum, y, z, &err)
	    || show("Y + Z", sum, &err) || kz_array_to(&same, z, second, &err)) {
		goto out;
	}
	printf("Z.cuda(1) is Z: %s\n", same == z ? "True" : "False");

	net.device = first;
	if (prepare_batch(&batch, x, 1, &err) || linear_run(&result, &net, batch, &err)
	    || show("net(X)", result, &err) || show("net[0].weight", net.weight, &err)) {
		goto out;
	}
out:
	kz_error_print(&err, stderr);
	kz_random_release(rng);
	kz_array *const arrays[] = {x, y, z, same, sum, batch, result, net.weight, net.bias};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		kz_array_release(arrays[i]);
	}
	kz_device_close(first);
	kz_device_close(second);
	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	return failed;
}
