/* SPDX-License-Identifier: MIT */
/*
 * The heat equation on a plate, by finite differences.  Views take the place of indexes, and each
 * step is one expression.  The program prints the plate as characters; `08_heat FILE.pgm` also
 * writes it as a picture.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { SIZE = 64, STEPS = 200 };

/* A cold plate with a hot edge, and a hot bar inside that is not kept hot. */
static void make_plate(kz_array **out, kz_device *dev)
{
	kz_array *edge = NULL, *bar = NULL;
	CHECK(kz_array_zeros(out, dev, KZ_F32, KZ_SHAPE(SIZE, SIZE), &err));
	CHECK(kz_array_slice(&edge, *out, KZ_AT(0), &err));
	CHECK(kz_array_slice(&bar, *out, KZ_AT(KZ_SLICE(40, 48), KZ_SLICE(8, 56)), &err));
	CHECK(kz_array_fill(edge, KZ_ARG(1), &err));
	CHECK(kz_array_fill(bar, KZ_ARG(1), &err));
	kz_release_all(edge, bar);
}

/* The inner points, and the same moved by one in each direction: five views of one memory. */
static void run(kz_array *plate)
{
	kz_array *u = NULL, *n = NULL, *s = NULL, *w = NULL, *e = NULL;
	kz_slice inner = KZ_SLICE(1, -1), before = KZ_SLICE(0, -2), behind = KZ_SLICE(2, KZ_OMIT);
	CHECK(kz_array_slice(&u, plate, KZ_AT(inner, inner), &err));
	CHECK(kz_array_slice(&n, plate, KZ_AT(before, inner), &err));
	CHECK(kz_array_slice(&s, plate, KZ_AT(behind, inner), &err));
	CHECK(kz_array_slice(&w, plate, KZ_AT(inner, before), &err));
	CHECK(kz_array_slice(&e, plate, KZ_AT(inner, behind), &err));
	for (int step = 0; step < STEPS; step++) {
		/* u overlaps all others: as if they had been read before */
		CHECK(kz_eval_into(u, "u + 0.2 * (n + s + w + e - 4*u)", &err,
			KZ_VARS(u, n, s, w, e)));
	}
	kz_release_all(u, n, s, w, e);
}

static void show(const unsigned char *grey, const char *path)
{
	FILE *file = path ? fopen(path, "wb") : NULL;
	for (int y = 0; y < SIZE; y += 4) {
		for (int x = 0; x < SIZE; x += 2) {
			putchar(" .:-=+*#%@"[grey[y * SIZE + x] * 10 / 256]);
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
	static unsigned char grey[SIZE * SIZE];
	kz_device *dev = NULL;
	kz_array *plate = NULL, *picture = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	make_plate(&plate, dev);
	run(plate);
	CHECK(kz_eval(&picture, "uint8(255 * plate)", NULL, &err, KZ_VARS(plate)));
	CHECK(kz_array_get(picture, grey, sizeof(grey), &err));
	show(grey, argc > 1 ? argv[1] : NULL);
	kz_release_all(picture, plate, dev);
	return 0;
}
