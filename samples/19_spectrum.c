/* SPDX-License-Identifier: MIT */
/*
 * Two tones in noise.  A second of sound is transformed; its spectrum shows the tones, which the
 * samples do not.  All that is weak is taken out of the spectrum, and what is transformed back is
 * the sound without the noise.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>

enum { RATE = 48000 };

static kz_status make_sound(kz_array **clean, kz_array **sound, kz_device *dev, kz_error *err)
{
	kz_random *rng = NULL;
	kz_array *t = NULL, *noise = NULL;
	kz_status st;
	if (!(st = kz_array_arange(&t, dev, KZ_F64, KZ_ARG(0), KZ_ARG(RATE), KZ_ARG(1), err))
	    && !(st = kz_eval(clean, "sin(2*pi*440*t/48000) + 0.5*sin(2*pi*1320*t/48000)", NULL,
		err, KZ_VARS(t, KZ_VAR("pi", 3.14159265358979324))))
	    && !(st = kz_random_create(&rng, dev, 19, 0, err))
	    && !(st = kz_random_normal(&noise, rng, KZ_F64, KZ_SHAPE(RATE), 0, 1, err))) {
		st = kz_add(sound, *clean, noise, err);
	}
	kz_array_release(noise);
	kz_array_release(t);
	kz_random_release(rng);
	return st;
}

/* Each element of the spectrum is one hertz, as the sound lasts a second. */
static kz_status show_tones(kz_array *spectrum, kz_error *err)
{
	static double size[RATE / 2 + 1];
	kz_array *sizes = NULL;
	kz_status st;
	if (!(st = kz_absolute(&sizes, spectrum, err))
	    && !(st = kz_array_get(sizes, size, sizeof(size), err))) {
		for (int hertz = 0; hertz <= RATE / 2; hertz++) {
			if (size[hertz] > RATE / 8) {
				printf("%d Hz: amplitude %.1f\n", hertz, 2 * size[hertz] / RATE);
			}
		}
	}
	kz_array_release(sizes);
	return st;
}

/* The root of the mean square of what is not the sound. */
static kz_status show_noise(const char *name, kz_array *sound, kz_array *clean, kz_error *err)
{
	kz_array *rest = NULL;
	double deviation = 0;
	kz_status st;
	if (!(st = kz_subtract(&rest, sound, clean, err))
	    && !(st = kz_reduce_get(&deviation, sizeof(deviation), KZ_REDUCE_STD, rest, NULL,
		err))) {
		printf("noise %s: %.2f\n", name, deviation);
	}
	kz_array_release(rest);
	return st;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_array *clean = NULL, *sound = NULL, *spectrum = NULL, *strong = NULL, *filtered = NULL;

	if (kz_device_open(&dev, NULL, &err)
	    || make_sound(&clean, &sound, dev, &err)
	    || kz_rfft(&spectrum, sound, KZ_AXES(-1), NULL, &err)
	    || show_tones(spectrum, &err)
	    || kz_eval(&strong, "where(abs(s) > 6000, s, 0)", NULL, &err,
		KZ_VARS(KZ_VAR("s", spectrum)))
	    || kz_irfft(&filtered, strong, KZ_AXES(-1), NULL, &err)
	    || show_noise("before", sound, clean, &err)
	    || show_noise("after", filtered, clean, &err)) {
		kz_error_print(&err, stderr);
	}

	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_array_release(filtered);
	kz_array_release(strong);
	kz_array_release(spectrum);
	kz_array_release(sound);
	kz_array_release(clean);
	kz_device_close(dev);
	return failed;
}
