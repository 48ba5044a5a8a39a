/* SPDX-License-Identifier: MIT */
/*
 * A picture is rotated by a texture: for each pixel of the result the kernel asks for the place
 * that it comes from, and the texture filters between the pixels there.  What is outside is white.
 * The program prints the result as characters; `21_texture FILE.pgm` also writes it as a picture.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { SIZE = 128 };

static const char source[] =
	"__global__ void rotate(cudaTextureObject_t picture, unsigned char *out,\n"
	"	int size, float angle)\n"
	"{\n"
	"	int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
	"	if (x >= size || y >= size) {\n"
	"		return;\n"
	"	}\n"
	"	float u = (x + 0.5f) / size - 0.5f, v = (y + 0.5f) / size - 0.5f;\n"
	"	float s = sinf(angle), c = cosf(angle);\n"
	"	float grey = tex2D<float>(picture, c * u + s * v + 0.5f, c * v - s * u + 0.5f);\n"
	"	out[y * size + x] = (unsigned char)(255 * grey + 0.5f);\n"
	"}\n";

/* A chessboard of grey fields with a black bar. */
static void draw(unsigned char *grey)
{
	for (int y = 0; y < SIZE; y++) {
		for (int x = 0; x < SIZE; x++) {
			int field = (x / 32 + y / 32) % 2;
			int bar = y >= 56 && y < 72 && x >= 16;
			grey[y * SIZE + x] = bar ? 0 : field ? 200 : 120;
		}
	}
}

static void show(const unsigned char *grey, const char *path)
{
	FILE *file = path ? fopen(path, "wb") : NULL;
	for (int y = 0; y < SIZE; y += 4) {
		for (int x = 0; x < SIZE; x += 2) {
			putchar("@%#*+=-:. "[grey[y * SIZE + x] * 10 / 256]);
		}
		putchar('\n');
	}
	if (file) {
		fprintf(file, "P5\n%d %d\n255\n", SIZE, SIZE);
		fwrite(grey, 1, SIZE * SIZE, file);
		fclose(file);
	}
}

int main(int argc, char **argv)
{
	static unsigned char grey[SIZE][SIZE];
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *rotate = NULL;
	kz_array *picture = NULL, *result = NULL;
	kz_cuda_array *texels = NULL;
	kz_texture *texture = NULL;

	kz_texture_options how = KZ_TEXTURE_OPTIONS_INIT;
	how.filter = KZ_TEXTURE_LINEAR;
	how.as_float = 1;   /* 0 to 255 become 0 to 1 */
	how.normalized = 1; /* and so do coordinates */
	how.address[0] = how.address[1] = KZ_TEXTURE_BORDER;
	how.border[0] = 1;

	draw(grey[0]);
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_module_compile(&mod, dev, source, NULL, &err));
	CHECK(kz_module_kernel(&rotate, mod, "rotate", &err));
	CHECK(kz_array_from(&picture, dev, KZ_FROM(grey), &err));
	CHECK(kz_cuda_array_from(&texels, picture, NULL, &err));
	CHECK(kz_texture_create(&texture, texels, &how, &err));
	CHECK(kz_array_create(&result, dev, KZ_U8, KZ_SHAPE(SIZE, SIZE), &err));
	CHECK(kz_launch_2d(rotate, SIZE, SIZE, NULL, &err, KZ_ARGS(texture, result, SIZE, 0.5f)));
	CHECK(kz_array_get(result, grey, sizeof(grey), &err));
	show(grey[0], argc > 1 ? argv[1] : NULL);
	kz_release_all(texture, texels, result, picture, mod, dev);
	return 0;
}
