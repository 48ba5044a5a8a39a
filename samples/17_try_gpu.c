/* SPDX-License-Identifier: MIT */
/*
 * Devices, tensors on them and a layer of a network, after the chapter on GPUs of "Dive into Deep
 * Learning", printed as PyTorch prints them there.  X is on the first GPU and Y on the second, or
 * on the CPU where there is none; `KUDZU_CPU_DEVICES=3 KUDZU_CPU_AS_GPU=1` makes two GPUs of the
 * CPU.  The random numbers are the same on every device.  23_trainer has the end of the chapter.
 */
#include <kudzu/kudzu.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A device is a name until it is opened: no name fails. */
struct name {
	char text[24];
};

static struct name cpu(void)
{
	return (struct name){"cpu"};
}

static struct name gpu(int i)
{
	struct name name;
	snprintf(name.text, sizeof(name.text), "cuda:%d", i);
	return name;
}

static void print_name(const char *name, const char *end)
{
	const char *colon = strchr(name, ':');
	if (colon) {
		printf("device(type='%.*s', index=%s)%s", (int)(colon - name), name, colon + 1,
			end);
	} else {
		printf("device(type='%s')%s", name, end);
	}
}

/* The three of (cpu(), gpu(), gpu(1)), num_gpus(), and (try_gpu(), try_gpu(10), try_all_gpus()). */
static kz_status print_devices(kz_device *first, kz_error *err)
{
	kz_device *tenth = NULL, *all[8];
	int count = 0;
	printf("(");
	print_name(cpu().text, ",\n ");
	print_name(gpu(0).text, ",\n ");
	print_name(gpu(1).text, ")\n");
	printf("%d\n", kz_cuda_device_count());
	kz_status st = kz_try_gpu(&tenth, 10, err);
	st = st ? st : kz_try_all_gpus(all, 8, &count, err);
	printf("(");
	print_name(kz_device_name(first), ",\n ");
	print_name(kz_device_name(tenth), ",\n [");
	for (int i = 0; i < count; i++) {
		print_name(kz_device_name(all[i]), i + 1 < count ? ", " : "])\n");
		kz_device_close(all[i]);
	}
	kz_device_close(tenth);
	return st;
}

/* A matrix with four digits, or without any where all elements are whole. */
static kz_status show(kz_array *matrix, kz_error *err)
{
	float host[16];
	const int64_t columns = kz_array_shape(matrix).dims[1], count = kz_array_count(matrix);
	int digits = 0, width = 0;
	kz_status st = kz_array_get(matrix, host, kz_array_size(matrix), err);
	for (int64_t i = 0; !st && i < count; i++) {
		digits = host[i] != rintf(host[i]) ? 4 : digits;
	}
	for (int64_t i = 0; !st && i < count; i++) {
		int length = snprintf(NULL, 0, "%#.*f", digits, host[i]);
		width = length > width ? length : width;
	}
	for (int64_t i = 0; !st && i < count; i++) {
		printf("%s%#*.*f", i % columns ? ", " : i ? "],\n        [" : "tensor([[", width,
			digits, host[i]);
	}
	kz_device *dev = kz_array_device(matrix);
	if (kz_device_is_cuda(dev)) {
		printf("]], device='%s')\n", kz_device_name(dev));
	} else {
		printf("]])\n");
	}
	return st;
}

/* X + Y is an error if they are on two devices; its own message says on which, too. */
static void add_across(kz_array *x, kz_array *y)
{
	kz_error err = KZ_ERROR_INIT;
	kz_array *sum = NULL;
	if (kz_add(&sum, x, y, &err)) {
		printf("Tensor in %s cannot add with tensor in %s\n",
			kz_device_name(kz_array_device(x)), kz_device_name(kz_array_device(y)));
		kz_error_print(&err, stderr);
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

/* net = nn.Sequential(nn.LazyLinear(1)) */
static void print_net(const struct linear *net)
{
	const int lazy = !net->weight;
	printf("Sequential(\n  (0): %s(in_features=%lld, out_features=1, bias=True)\n)\n",
		lazy ? "LazyLinear" : "Linear",
		lazy ? 0 : (long long)kz_array_shape(net->weight).dims[0]);
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

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *first = NULL, *second = NULL;
	kz_array *x = NULL, *y = NULL, *z = NULL, *same = NULL, *sum = NULL;
	kz_array *result = NULL;
	kz_random *rng = NULL;
	struct linear net = {NULL, NULL, NULL};

	if (kz_try_gpu(&first, 0, &err) || kz_try_gpu(&second, 1, &err)
	    || print_devices(first, &err)
	    || kz_array_ones(&x, first, KZ_F32, KZ_SHAPE(2, 3), &err) || show(x, &err)
	    || kz_random_create(&rng, second, 7, 0, &err)
	    || kz_random_uniform(&y, rng, KZ_F32, KZ_SHAPE(2, 3), 0, 1, &err) || show(y, &err)) {
		goto out;
	}
	add_across(x, y);
	if (kz_array_to(&z, x, second, &err) || show(x, &err) || show(z, &err)
	    || kz_add(&sum, y, z, &err) || show(sum, &err)
	    || kz_array_to(&same, z, second, &err)) {
		goto out;
	}
	printf("%s\n", same == z ? "True" : "False"); /* Z.cuda(1) is Z */

	net.device = first;
	print_net(&net);
	if (linear_run(&result, &net, x, &err) || show(result, &err)) {
		goto out;
	}
	print_net(&net);
	print_name(kz_device_name(kz_array_device(net.weight)), "\n");
out:
	kz_error_print(&err, stderr);
	kz_random_release(rng);
	kz_array *const arrays[] = {x, y, z, same, sum, result, net.weight, net.bias};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		kz_array_release(arrays[i]);
	}
	kz_device_close(first);
	kz_device_close(second);
	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	return failed;
}
