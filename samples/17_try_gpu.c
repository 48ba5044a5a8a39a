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
#include <stdlib.h>
#include <string.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

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
static void print_devices(kz_device *first)
{
	kz_device *tenth = NULL, *all[8];
	int count = 0;
	printf("(");
	print_name(cpu().text, ",\n ");
	print_name(gpu(0).text, ",\n ");
	print_name(gpu(1).text, ")\n");
	printf("%d\n", kz_cuda_device_count());
	CHECK(kz_try_gpu(&tenth, 10, &err));
	CHECK(kz_try_all_gpus(all, 8, &count, &err));
	printf("(");
	print_name(kz_device_name(first), ",\n ");
	print_name(kz_device_name(tenth), ",\n [");
	for (int i = 0; i < count; i++) {
		print_name(kz_device_name(all[i]), i + 1 < count ? ", " : "])\n");
		kz_device_close(all[i]);
	}
	kz_device_close(tenth);
}

/* A matrix with four digits, or without any where all elements are whole. */
static void show(kz_array *matrix)
{
	float host[16];
	const int64_t columns = kz_array_shape(matrix).dims[1], count = kz_array_count(matrix);
	int digits = 0, width = 0;
	CHECK(kz_array_get(matrix, host, kz_array_size(matrix), &err));
	for (int64_t i = 0; i < count; i++) {
		digits = host[i] != rintf(host[i]) ? 4 : digits;
	}
	for (int64_t i = 0; i < count; i++) {
		int length = snprintf(NULL, 0, "%#.*f", digits, host[i]);
		width = length > width ? length : width;
	}
	for (int64_t i = 0; i < count; i++) {
		printf("%s%#*.*f", i % columns ? ", " : i ? "],\n        [" : "tensor([[", width,
			digits, host[i]);
	}
	kz_device *dev = kz_array_device(matrix);
	if (kz_device_is_cuda(dev)) {
		printf("]], device='%s')\n", kz_device_name(dev));
	} else {
		printf("]])\n");
	}
}

/* X + Y is an error if they are on two devices; its own message says on which, too. */
static void add_across(kz_array *x, kz_array *y)
{
	kz_array *sum = NULL;
	if (kz_add(&sum, x, y, &err)) {
		printf("Tensor in %s cannot add with tensor in %s\n",
			kz_device_name(kz_array_device(x)), kz_device_name(kz_array_device(y)));
		kz_error_print(&err, stderr);
		kz_error_clear(&err);
	}
	kz_array_release(sum);
}

/* nn.LazyLinear(1): the first input says how many weights there are. */
struct linear {
	kz_device *device;
	kz_array *weight, *bias;
};

static void linear_init(struct linear *net, int64_t inputs)
{
	kz_random *rng = NULL;
	kz_array *unit = NULL;
	CHECK(kz_random_create(&rng, net->device, 3, 0, &err));
	CHECK(kz_random_uniform(&unit, rng, KZ_F32, KZ_SHAPE(inputs, 1), -1, 1, &err));
	CHECK(kz_eval(&net->weight, "unit / inputs**0.5", NULL, &err, KZ_VARS(unit, inputs)));
	CHECK(kz_array_zeros(&net->bias, net->device, KZ_F32, KZ_SHAPE(1), &err));
	kz_release_all(unit, rng);
}

/* net = nn.Sequential(nn.LazyLinear(1)) */
static void print_net(const struct linear *net)
{
	const int lazy = !net->weight;
	printf("Sequential(\n  (0): %s(in_features=%lld, out_features=1, bias=True)\n)\n",
		lazy ? "LazyLinear" : "Linear",
		lazy ? 0 : (long long)kz_array_shape(net->weight).dims[0]);
}

static void linear_run(kz_array **out, struct linear *net, kz_array *x)
{
	kz_array *product = NULL;
	if (!net->bias) {
		linear_init(net, kz_array_shape(x).dims[1]);
	}
	CHECK(kz_matmul(&product, x, net->weight, NULL, &err));
	CHECK(kz_add(out, product, net->bias, &err));
	kz_array_release(product);
}

int main(void)
{
	kz_device *first = NULL, *second = NULL;
	kz_array *x = NULL, *y = NULL, *z = NULL, *same = NULL, *sum = NULL;
	kz_array *result = NULL;
	kz_random *rng = NULL;
	struct linear net = {NULL, NULL, NULL};

	CHECK(kz_try_gpu(&first, 0, &err));
	CHECK(kz_try_gpu(&second, 1, &err));
	print_devices(first);
	CHECK(kz_array_ones(&x, first, KZ_F32, KZ_SHAPE(2, 3), &err));
	show(x);
	CHECK(kz_random_create(&rng, second, 7, 0, &err));
	CHECK(kz_random_uniform(&y, rng, KZ_F32, KZ_SHAPE(2, 3), 0, 1, &err));
	show(y);
	add_across(x, y);
	CHECK(kz_array_to(&z, x, second, &err));
	show(x);
	show(z);
	CHECK(kz_add(&sum, y, z, &err));
	show(sum);
	CHECK(kz_array_to(&same, z, second, &err));
	printf("%s\n", same == z ? "True" : "False"); /* Z.cuda(1) is Z */

	net.device = first;
	print_net(&net);
	linear_run(&result, &net, x);
	show(result);
	print_net(&net);
	print_name(kz_device_name(kz_array_device(net.weight)), "\n");
	kz_release_all(rng, x, y, z, same, sum, result, net.weight, net.bias, first, second);
	return 0;
}
