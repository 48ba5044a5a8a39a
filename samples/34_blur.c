/* SPDX-License-Identifier: MIT */
/*
 * A Gaussian blur of an image, from one PNG file to another.  It teaches constant memory, which the
 * program fills before the launch, and a filter in two passes: along the rows, then along the
 * columns, which is 2 (2 r + 1) products for a pixel in place of (2 r + 1) squared.
 *
 * usage: 34_blur IN.png OUT.png [RADIUS]
 *
 * Without files it blurs a picture of its own and compares the result with that of the host.
 */
#include "image.h"

#include <kudzu/kudzu.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { MAX_RADIUS = 64 };

static const char source[] =
	"__constant__ float weights[129];   // of the neighbours from -radius to radius\n"
	"\n"
	"// Along rows for dx = 1, along columns for dy = 1; outside are the pixels of the edge.\n"
	"__device__ float3 blurred(const uchar3 *in, int x, int y, int dx, int dy, int radius,\n"
	"	int width, int height)\n"
	"{\n"
	"	float3 sum = make_float3(0.5f, 0.5f, 0.5f);   // to round\n"
	"	for (int k = -radius; k <= radius; k++) {\n"
	"		const int i = min(max(x + k * dx, 0), width - 1);\n"
	"		const int j = min(max(y + k * dy, 0), height - 1);\n"
	"		const uchar3 p = in[j * width + i];\n"
	"		const float w = weights[k + radius];\n"
	"		sum.x += w * p.x;\n"
	"		sum.y += w * p.y;\n"
	"		sum.z += w * p.z;\n"
	"	}\n"
	"	return sum;\n"
	"}\n"
	"__global__ void blur(const uchar3 *in, uchar3 *out, int dx, int dy, int radius,\n"
	"	int width, int height)\n"
	"{\n"
	"	const int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	const int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
	"	if (x < width && y < height) {\n"
	"		const float3 sum = blurred(in, x, y, dx, dy, radius, width, height);\n"
	"		out[y * width + x] = make_uchar3(sum.x, sum.y, sum.z);\n"
	"	}\n"
	"}\n";

/* Weights with the sum 1; the standard deviation is half the radius. */
static void make_weights(float *weights, int radius)
{
	double sum = 0;
	for (int k = -radius; k <= radius; k++) {
		sum += exp(-2.0 * k * k / fmax(radius * radius, 1));
	}
	for (int k = -radius; k <= radius; k++) {
		weights[k + radius] = (float)(exp(-2.0 * k * k / fmax(radius * radius, 1)) / sum);
	}
}

static void blur(unsigned char *pixels, kz_device *dev, int width, int height, int radius)
{
	const int64_t size = 3 * (int64_t)width * height;
	float weights[2 * MAX_RADIUS + 1] = {0};
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_buffer *a = NULL, *b = NULL;
	make_weights(weights, radius);
	CHECK(kz_module_compile(&mod, dev, source, KZ_WITH(kz_compile_options, .name = "blur.cu"),
		&err));
	CHECK(kz_module_kernel(&kernel, mod, "blur", &err));
	CHECK(kz_module_set_global(mod, "weights", weights, sizeof(weights), &err));
	CHECK(kz_buffer_create(&a, dev, size, &err));
	CHECK(kz_buffer_create(&b, dev, size, &err));
	CHECK(kz_copy_htod(a, 0, pixels, size, &err));
	CHECK(kz_launch_2d(kernel, width, height, NULL, &err,
		KZ_ARGS(a, b, 1, 0, radius, width, height)));
	CHECK(kz_launch_2d(kernel, width, height, NULL, &err,
		KZ_ARGS(b, a, 0, 1, radius, width, height)));
	CHECK(kz_copy_dtoh(pixels, size, a, 0, &err));
	kz_release_all(b, a, mod);
}

/* One pass on the host, in double precision. */
static void blur_on_host(const unsigned char *in, unsigned char *out, int dx, int dy, int width,
	int height, int radius)
{
	float weights[2 * MAX_RADIUS + 1];
	make_weights(weights, radius);
	for (int p = 0; p < 3 * width * height; p++) {
		double sum = 0.5;
		for (int k = -radius; k <= radius; k++) {
			int x = p / 3 % width + k * dx, y = p / 3 / width + k * dy;
			x = x < 0 ? 0 : x < width ? x : width - 1;
			y = y < 0 ? 0 : y < height ? y : height - 1;
			sum += weights[k + radius] * (double)in[3 * (y * width + x) + p % 3];
		}
		out[p] = (unsigned char)sum;
	}
}

/* Squares of a chessboard, and a disc in their middle. */
static int blur_own_picture(kz_device *dev)
{
	enum { WIDTH = 200, HEIGHT = 120, RADIUS = 9 };
	static unsigned char pixels[3 * WIDTH * HEIGHT], once[sizeof(pixels)];
	static unsigned char expected[sizeof(pixels)];
	int worst = 0;
	for (int p = 0; p < WIDTH * HEIGHT; p++) {
		const int x = p % WIDTH, y = p / WIDTH;
		const int disc = hypot(x - WIDTH / 2, y - HEIGHT / 2) < 40;
		pixels[3 * p] = (x / 20 + y / 20) % 2 ? 255 : 0;
		pixels[3 * p + 1] = disc ? 200 : pixels[3 * p];
		pixels[3 * p + 2] = disc ? 40 : pixels[3 * p];
	}
	blur_on_host(pixels, once, 1, 0, WIDTH, HEIGHT, RADIUS);
	blur_on_host(once, expected, 0, 1, WIDTH, HEIGHT, RADIUS);
	blur(pixels, dev, WIDTH, HEIGHT, RADIUS);
	for (size_t i = 0; i < sizeof(pixels); i++) {
		const int away = abs(pixels[i] - expected[i]);
		worst = away > worst ? away : worst;
	}
	printf("the blurred picture is %s\n", worst <= 1 ? "that of the host" : "wrong");
	return worst > 1;
}

int main(int argc, char **argv)
{
	const int radius = argc > 3 ? atoi(argv[3]) : 8;
	unsigned char *pixels = NULL;
	int width = 0, height = 0;
	kz_device *dev = NULL;
	if (argc == 2 || argc > 4 || radius < 0 || radius > MAX_RADIUS) {
		fprintf(stderr, "usage: 34_blur IN.png OUT.png [RADIUS], a radius of 0 to %d\n",
			MAX_RADIUS);
		return 2;
	}
	if (argc > 2 && image_read(argv[1], &pixels, &width, &height)) {
		return 1;
	}
	CHECK(kz_device_open(&dev, NULL, &err));
	int failed;
	if (pixels) {
		blur(pixels, dev, width, height, radius);
		failed = image_write(argv[2], pixels, width, height);
	} else {
		failed = blur_own_picture(dev);
	}
	free(pixels);
	kz_device_close(dev);
	return failed;
}
