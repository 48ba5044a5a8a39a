/* SPDX-License-Identifier: MIT */
/*
 * Two tones in noise.  A second of sound is transformed; its spectrum shows the tones, which the
 * samples do not.  All that is weak is taken out of the spectrum, and what is transformed back is
 * the sound without the noise.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { RATE = 48000 };

static void make_sound(kz_array **clean, kz_array **sound, kz_device *dev)
{
	kz_random *rng = NULL;
	kz_array *t = NULL, *noise = NULL;
	CHECK(kz_arange(&t, dev, KZ_F64, 0, RATE, 1, &err));
	CHECK(kz_eval(clean, "sin(2*pi*440*t/48000) + 0.5*sin(2*pi*1320*t/48000)", NULL, &err,
		KZ_VARS(t, KZ_VAR("pi", 3.14159265358979324))));
	CHECK(kz_random_create(&rng, dev, 19, 0, &err));
	CHECK(kz_random_normal(&noise, rng, KZ_F64, KZ_SHAPE(RATE), 0, 1, &err));
	CHECK(kz_add(sound, *clean, noise, &err));
	kz_release_all(noise, t, rng);
}

/* Each element of the spectrum is one hertz, as the sound lasts a second. */
static void show_tones(kz_array *spectrum)
{
	static double size[RATE / 2 + 1];
	kz_array *sizes = NULL;
	CHECK(kz_absolute(&sizes, spectrum, &err));
	CHECK(kz_array_get(sizes, size, sizeof(size), &err));
	for (int hertz = 0; hertz <= RATE / 2; hertz++) {
		if (size[hertz] > RATE / 8) {
			printf("%d Hz: amplitude %.1f\n", hertz, 2 * size[hertz] / RATE);
		}
	}
	kz_array_release(sizes);
}

/* The root of the mean square of what is not the sound. */
static void show_noise(const char *name, kz_array *sound, kz_array *clean)
{
	kz_array *rest = NULL;
	double deviation = 0;
	CHECK(kz_subtract(&rest, sound, clean, &err));
	CHECK(kz_std_get(&deviation, rest, &err));
	printf("noise %s: %.2f\n", name, deviation);
	kz_array_release(rest);
}

int main(void)
{
	kz_device *dev = NULL;
	kz_array *clean = NULL, *sound = NULL, *spectrum = NULL, *strong = NULL, *filtered = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	make_sound(&clean, &sound, dev);
	CHECK(kz_rfft(&spectrum, sound, KZ_AXES(-1), NULL, &err));
	show_tones(spectrum);
	CHECK(kz_eval(&strong, "where(abs(s) > 6000, s, 0)", NULL, &err,
		KZ_VARS(KZ_VAR("s", spectrum))));
	CHECK(kz_irfft(&filtered, strong, KZ_AXES(-1), NULL, &err));
	show_noise("before", sound, clean);
	show_noise("after", filtered, clean);
	kz_release_all(filtered, strong, spectrum, sound, clean, dev);
	return 0;
}
