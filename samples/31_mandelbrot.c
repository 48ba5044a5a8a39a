/* SPDX-License-Identifier: MIT */
/*
 * A zoom into the Mandelbrot set, as PNG files.  It teaches a kernel over the pixels of a picture,
 * work that differs from thread to thread, and two streams: while the program compresses a picture,
 * the device computes the next one, and the host waits for a picture by an event.
 *
 * usage: 31_mandelbrot [FOLDER [FRAMES [WIDTH HEIGHT]]]
 *
 * Each frame, FOLDER/frame-000.png and so on, shows half of what the one before it did.  Without a
 * folder the whole set is drawn in the terminal.  The first frame is computed on the host, too: the
 * kernel is compiled without fused multiply-adds, so all pixels are the same.
 */
#include "image.h"

#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { LIMIT = 500, SLOTS = 2 };

/* What a frame shows: the centre, and how far two pixels are apart. */
struct view {
	double x, y, step;
};

static const char source[] =
	"struct view { double x, y, step; };\n"
	"__device__ int escape(double cx, double cy, int limit)\n"
	"{\n"
	"	double x = 0, y = 0;\n"
	"	int n = 0;\n"
	"	for (; n < limit && x * x + y * y <= 4; n++) {\n"
	"		const double t = x * x - y * y + cx;\n"
	"		y = 2 * x * y + cy;\n"
	"		x = t;\n"
	"	}\n"
	"	return n;\n"
	"}\n"
	"__global__ void draw(uchar3 *pixels, view v, int limit, int width, int height)\n"
	"{\n"
	"	const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	const int j = blockIdx.y * blockDim.y + threadIdx.y;\n"
	"	if (i < width && j < height) {\n"
	"		const int n = escape(v.x + (i - width / 2) * v.step,\n"
	"			v.y + (j - height / 2) * v.step, limit);\n"
	"		pixels[j * width + i] = n == limit ? make_uchar3(0, 0, 0)\n"
	"			: make_uchar3(n * 5 & 255, n * 3 & 255, 255 - (n * 2 & 127));\n"
	"	}\n"
	"}\n";

/* Where a frame is made: a stream, device memory, and pinned memory to copy to. */
struct slot {
	kz_stream *stream;
	kz_buffer *pixels;
	kz_pinned *host;
};

static struct view view_of(int frame, int width)
{
	/* A place between the two largest parts of the set. */
	struct view v = {-0.743643887037151, 0.131825904205330, 3.0 / width};
	if (frame == 0) {
		v.x = -0.6;
		v.y = 0;
	}
	for (int i = 0; i < frame; i++) {
		v.step /= 2;
	}
	return v;
}

/* Start a frame and its copy; both run while the program goes on. */
static void start(struct slot *slot, kz_kernel *draw, struct view v, int width, int height)
{
	CHECK(kz_launch_2d(draw, width, height, KZ_WITH(kz_launch_options, .stream = slot->stream),
		&err, KZ_ARGS(slot->pixels, KZ_VALUE(v), (int)LIMIT, width, height)));
	CHECK(kz_copy_dtoh_async(kz_pinned_pointer(slot->host), kz_pinned_size(slot->host),
		slot->pixels, 0, slot->stream, &err));
}

/* The pixels of the first frame that are not those of the host. */
static int compare(const unsigned char *pixels, int width, int height)
{
	const struct view v = view_of(0, width);
	int wrong = 0;
	for (int p = 0; p < width * height; p++) {
		const double cx = v.x + (p % width - width / 2) * v.step;
		const double cy = v.y + (p / width - height / 2) * v.step;
		double x = 0, y = 0;
		int n = 0;
		for (; n < LIMIT && x * x + y * y <= 4; n++) {
			const double t = x * x - y * y + cx;
			y = 2 * x * y + cy;
			x = t;
		}
		const int red = n == LIMIT ? 0 : n * 5 & 255;
		wrong += pixels[3 * p] != red;
	}
	return wrong;
}

/* Every other row: letters are twice as high as they are wide. */
static void print_set(const unsigned char *pixels, int width, int height)
{
	for (int j = 0; j < height; j += 2) {
		for (int i = 0; i < width; i++) {
			putchar(pixels[3 * (j * width + i) + 2] == 0 ? '#' : '.');
		}
		putchar('\n');
	}
}

/* Take a frame when its stream has passed the copy. */
static void take(struct slot *slot, int frame, const char *folder, int width, int height)
{
	char path[1024];
	const unsigned char *pixels = kz_pinned_pointer(slot->host);
	CHECK(kz_stream_synchronize(slot->stream, &err));
	if (frame == 0) {
		printf("%d pixels of the first frame are not those of the host\n",
			compare(pixels, width, height));
	}
	if (!folder) {
		print_set(pixels, width, height);
		return;
	}
	snprintf(path, sizeof(path), "%s/frame-%03d.png", folder, frame);
	if (image_write(path, pixels, width, height)) {
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : NULL;
	const int frames = argc > 2 ? atoi(argv[2]) : folder ? 30 : 1;
	const int width = argc > 4 ? atoi(argv[3]) : folder ? 640 : 72;
	const int height = argc > 4 ? atoi(argv[4]) : folder ? 480 : 60;
	struct slot slots[SLOTS] = {{0}};
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *draw = NULL;
	if (frames < 1 || width < 1 || height < 1 || width > 20000 || height > 20000) {
		fprintf(stderr, "usage: 31_mandelbrot [FOLDER [FRAMES [WIDTH HEIGHT]]]\n");
		return 2;
	}
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_module_compile(&mod, dev, source,
		KZ_WITH(kz_compile_options, .name = "mandelbrot.cu",
			.nvrtc_options = (const char *const[]){"--fmad=false", NULL}), &err));
	CHECK(kz_module_kernel(&draw, mod, "draw", &err));
	for (int i = 0; i < SLOTS; i++) {
		CHECK(kz_stream_create(&slots[i].stream, dev, 0, &err));
		CHECK(kz_buffer_create(&slots[i].pixels, dev, 3 * (int64_t)width * height, &err));
		CHECK(kz_pinned_create(&slots[i].host, dev, 3 * (int64_t)width * height, &err));
	}
	for (int frame = 0; frame < frames + 1; frame++) {
		if (frame < frames) {
			start(&slots[frame % SLOTS], draw, view_of(frame, width), width, height);
		}
		if (frame > 0) {
			take(&slots[(frame - 1) % SLOTS], frame - 1, folder, width, height);
		}
	}
	for (int i = 0; i < SLOTS; i++) {
		kz_release_all(slots[i].host, slots[i].pixels, slots[i].stream);
	}
	kz_release_all(mod, dev);
	return 0;
}
