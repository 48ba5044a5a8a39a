/* SPDX-License-Identifier: MIT */
/*
 * Plans of Fourier transforms: the factors of a length, and tables of roots of unity.
 *
 * Tables are computed on the host in long double and rounded once.  A device keeps all plans that
 * it has ever made, in a list that only grows, so readers take no lock.
 */
#include "base/common.h"

#include "lib/fft/fft_plan.h"

#include "base/alloc.h"
#include "lib/core/device.h"

#include <math.h>
#include <string.h>

enum { FFT_LONE_POINTS = 64, FFT_FIRST = 32,
	FFT_TWOS = 4, FFT_SERIAL_TWOS = 3, /* of a butterfly: 8 complex numbers fill 16 registers */
	FFT_TILE_BYTES = 16384, /* of a lane's column, where it is a row */
	FFT_MOST_PADDED = 7 }; /* the largest prime of a convolution, whose length is free */

static const int fft_primes[] = {31, 29, 23, 19, 17, 13, 11, 7, 5, 3, 2};

struct fft_table {
	struct device_table base;
	struct kz_device *device;
	pthread_mutex_t lock;
	_Atomic(struct fft_plan *) plans;
};

/* Whether a number has no primes above `most`. */
static bool fft_is_smooth(int64_t length, int most)
{
	for (size_t i = 0; i < countof(fft_primes); i++) {
		while (fft_primes[i] <= most && length % fft_primes[i] == 0) {
			length /= fft_primes[i];
		}
	}
	return length == 1;
}

/* Factors */

/* Split a smooth length into `count` passes of about the same size, of which the first has at most
 * FFT_FIRST points if there are others. */
static bool fft_split(struct fft_plan *plan, int count, int64_t most)
{
	int64_t left = plan->key.length;
	for (int i = 0; i < count; i++) {
		plan->passes[i].points = 1;
	}
	for (size_t i = 0; i < countof(fft_primes); i++) {
		for (; left % fft_primes[i] == 0; left /= fft_primes[i]) {
			bool first_is_full = count > 1
				&& plan->passes->points * fft_primes[i] > FFT_FIRST;
			struct fft_pass *least = &plan->passes[first_is_full];
			for (int k = first_is_full + 1; k < count; k++) {
				least = plan->passes[k].points < least->points ? &plan->passes[k]
					: least;
			}
			least->points *= fft_primes[i];
			if (least->points > most) {
				return false;
			}
		}
	}
	plan->pass_count = count;
	return true;
}

/* What lanes do for each of `extent` elements side by side. */
static double fft_lane_work(int64_t extent)
{
	enum { LANES = 32 };
	int64_t all = divide_up(extent, LANES) * LANES;
	return (double)all / (double)extent * (extent < LANES ? 2 : 1);
}

/* Split rows in two passes whose tiles are full, where a block has one thread: the first pass has
 * as many columns as the second one has points, and the other way round.  One pass, whose columns
 * are rows, has full tiles, but long steps, and its tile has to be in the cache. */
static bool fft_split_row(struct fft_plan *plan, int64_t most)
{
	const double one_pass_work = 2.3;
	int64_t length = plan->key.length, best = length;
	double least = length * dtype_size(plan->key.dtype) <= FFT_TILE_BYTES ? one_pass_work
		: INFINITY;
	for (int64_t first = 2; first <= most && first < length; first++) {
		double work = fft_lane_work(length / first) + fft_lane_work(first);
		if (length % first == 0 && length / first <= most && work < least) {
			least = work;
			best = first;
		}
	}
	plan->passes[0].points = best;
	plan->passes[1].points = length / best;
	plan->pass_count = best < length ? 2 : 1;
	return isfinite(least);
}

/* The radices of a pass: twos in groups of up to `most`, then the odd primes. */
static void fft_pass_factor(struct fft_pass *pass, int most)
{
	int64_t left = pass->points;
	int twos = __builtin_ctzll((unsigned long long)left);
	left >>= twos;
	while (twos > 0) {
		int bits = twos <= most ? twos : twos == most + 1 ? most - 1 : most;
		pass->radices[pass->stage_count++] = (uint8_t)(1 << bits);
		twos -= bits;
	}
	for (size_t i = 0; i < countof(fft_primes) - 1; i++) {
		for (; left % fft_primes[i] == 0; left /= fft_primes[i]) {
			pass->radices[pass->stage_count++] = (uint8_t)fft_primes[i];
		}
	}
	if (pass->stage_count == 0) {
		pass->radices[pass->stage_count++] = 1;
	}
}

/* Tables */

struct fft_number {
	long double re, im;
};

/* exp(-2 pi i k / n), by the first octant. */
static struct fft_number fft_root_of(int64_t k, int64_t n)
{
	const long double turn = 6.283185307179586476925286766559005768L;
	k %= n;
	int64_t octant = (int64_t)((__int128)8 * k / n);
	/* The angle in eighths of n, from the nearest multiple of a quarter turn. */
	int64_t quarter = (octant + 1) / 2;
	long double angle = (long double)((__int128)4 * k - (__int128)quarter * n)
		/ (4 * (long double)n);
	long double c = cosl(turn * angle), s = sinl(turn * angle);
	switch (quarter % 4) {
	case 0: return (struct fft_number){c, -s};
	case 1: return (struct fft_number){-s, -c};
	case 2: return (struct fft_number){-c, s};
	default: return (struct fft_number){s, c};
	}
}

/* All roots of n, as products of few. */
struct fft_roots {
	int64_t n, low;
	struct fft_number *fine, *coarse;
};

static void fft_roots_free(struct fft_roots *roots)
{
	mem_free(roots->fine);
	mem_free(roots->coarse);
}

static bool fft_roots_init(struct fft_roots *roots, int64_t n)
{
	int64_t low = (int64_t)sqrt((double)n) + 1;
	*roots = (struct fft_roots){n, low, mem_zalloc((size_t)low, sizeof(*roots->fine)),
		mem_zalloc((size_t)(n / low + 1), sizeof(*roots->coarse))};
	if (!roots->fine || !roots->coarse) {
		fft_roots_free(roots);
		return false;
	}
	for (int64_t i = 0; i < low; i++) {
		roots->fine[i] = fft_root_of(i, n);
	}
	for (int64_t i = 0; i <= n / low; i++) {
		roots->coarse[i] = fft_root_of(i * low, n);
	}
	return true;
}

static struct fft_number fft_number_multiply(struct fft_number a, struct fft_number b)
{
	return (struct fft_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static struct fft_number fft_roots_at(const struct fft_roots *roots, int64_t k)
{
	return fft_number_multiply(roots->fine[k % roots->low], roots->coarse[k / roots->low]);
}

/* The tables as the device will have them. */
struct fft_writer {
	void *points;
	bool is_double;
	int64_t count;
};

static void fft_write(struct fft_writer *writer, struct fft_number x)
{
	if (!writer->points) { /* only count */
	} else if (writer->is_double) {
		((double *)writer->points)[2 * writer->count] = (double)x.re;
		((double *)writer->points)[2 * writer->count + 1] = (double)x.im;
	} else {
		((float *)writer->points)[2 * writer->count] = (float)x.re;
		((float *)writer->points)[2 * writer->count + 1] = (float)x.im;
	}
	writer->count++;
}

/* Of all stages but the last: R - 1 powers for each p. */
static void fft_write_stages(struct fft_writer *writer, struct fft_pass *pass,
	const struct fft_roots *roots)
{
	int64_t n = pass->points;
	pass->roots = writer->count;
	for (int i = 0; i < pass->stage_count - 1; i++) {
		int radix = pass->radices[i];
		for (int64_t p = 0; p < n / radix; p++) {
			for (int64_t r = 1; r < radix; r++) {
				fft_write(writer, fft_roots_at(roots, p * r * (roots->n / n)));
			}
		}
		n /= radix;
	}
}

/* The first pass has its columns along p, and the others have rows of r. */
static void fft_write_twiddles(struct fft_writer *writer, struct fft_pass *pass,
	const struct fft_roots *roots)
{
	int64_t unit = roots->n / (pass->points * pass->rest);
	pass->twiddles = writer->count;
	if (pass->rest == 1) {
		return;
	}
	for (int64_t i = 0; i < pass->points * pass->rest; i++) {
		int64_t inner = pass->span == 1 ? pass->rest : pass->points;
		fft_write(writer, fft_roots_at(roots, i % inner * (i / inner) * unit));
	}
}

/* The transform of `count` numbers that are `step` apart, by its recursive definition, to out. */
static void fft_host(struct fft_number *out, const struct fft_number *in, int64_t count,
	int64_t step, const struct fft_roots *roots)
{
	int64_t radix = 1;
	struct fft_number x[FFT_MOST_RADIX];
	for (size_t i = countof(fft_primes); i-- > 0 && radix == 1 && count > 1;) {
		radix = count % fft_primes[i] == 0 ? fft_primes[i] : 1;
	}
	if (count == 1) {
		*out = *in;
		return;
	}
	int64_t part = count / radix, unit = roots->n / count;
	for (int64_t i = 0; i < radix; i++) {
		fft_host(out + i * part, in + i * step, part, step * radix, roots);
	}
	for (int64_t k = 0; k < part; k++) {
		for (int64_t i = 0; i < radix; i++) {
			x[i] = fft_number_multiply(out[i * part + k],
				fft_roots_at(roots, i * k * unit));
		}
		for (int64_t j = 0; j < radix; j++) {
			struct fft_number sum = {0, 0};
			for (int64_t i = 0; i < radix; i++) {
				struct fft_number term = fft_number_multiply(x[i],
					fft_roots_at(roots, i * j % radix * (roots->n / radix)));
				sum.re += term.re;
				sum.im += term.im;
			}
			out[j * part + k] = sum;
		}
	}
}

/* The chirp, and the transform of its conjugate, divided by its length. */
static bool fft_write_chirp(struct fft_writer *writer, struct fft_plan *plan)
{
	int64_t n = plan->key.length, m = plan->padded;
	plan->chirp = writer->count;
	plan->filter = writer->count + n;
	if (!writer->points) {
		writer->count += n + m;
		return true;
	}
	struct fft_roots roots;
	struct fft_number *wave = mem_zalloc(2 * (size_t)m, sizeof(*wave));
	if (!wave || !fft_roots_init(&roots, m)) {
		mem_free(wave);
		return false;
	}
	for (int64_t j = 0; j < n; j++) {
		struct fft_number w = fft_root_of((int64_t)((__int128)j * j % (2 * n)), 2 * n);
		fft_write(writer, w);
		w.im = -w.im;
		wave[j] = w;
		wave[j ? m - j : 0] = w;
	}
	fft_host(wave + m, wave, m, 1, &roots);
	for (int64_t j = 0; j < m; j++) {
		fft_write(writer, (struct fft_number){wave[m + j].re / (long double)m,
			wave[m + j].im / (long double)m});
	}
	fft_roots_free(&roots);
	mem_free(wave);
	return true;
}

static bool fft_write_tables(struct fft_writer *writer, struct fft_plan *plan,
	const struct fft_roots *roots)
{
	writer->count = 0;
	int64_t roots_end = plan->key.kind == FFT_ROOTS ? plan->key.length / 2
		: plan->key.kind == FFT_QUARTER ? plan->key.length / 4 : -1;
	for (int64_t k = 0; k <= roots_end; k++) {
		fft_write(writer, fft_roots_at(roots, k));
	}
	if (plan->padded && !fft_write_chirp(writer, plan)) {
		return false;
	}
	for (int i = 0; i < plan->pass_count; i++) {
		fft_write_stages(writer, &plan->passes[i], roots);
		fft_write_twiddles(writer, &plan->passes[i], roots);
	}
	return true;
}

/* Plans */

static kz_status fft_plan_upload(struct fft_plan *plan, struct kz_device *dev, const void *from,
	size_t size, kz_error *err)
{
	struct device_scope scope;
	kz_status st = device_enter(dev, &scope, err);
	if (st) {
		return st;
	}
	CUstreamCaptureMode mode = device_relax(dev);
	st = device_ok(dev, dev->drv->MemAlloc(&plan->tables, size), "cuMemAlloc", err);
	if (!st && (st = device_ok(dev, dev->drv->MemcpyHtoD(plan->tables, from, size),
		"cuMemcpyHtoD", err))) {
		device_released(dev, dev->drv->MemFree(plan->tables), "cuMemFree");
	}
	device_restore(dev, mode);
	device_leave(dev, &scope);
	return st;
}

static kz_status fft_plan_fill(struct fft_plan *plan, struct kz_device *dev, kz_error *err)
{
	struct fft_writer writer = {NULL, plan->key.dtype == KZ_C128, 0};
	struct fft_roots roots;
	kz_status st;
	if (!fft_roots_init(&roots, plan->padded ? plan->padded : plan->key.length)) {
		return error_no_memory(err);
	}
	(void)fft_write_tables(&writer, plan, &roots);
	size_t size = (size_t)(writer.count + 1) * (size_t)dtype_size(plan->key.dtype);
	writer.points = mem_zalloc(1, size);
	st = !writer.points || !fft_write_tables(&writer, plan, &roots) ? error_no_memory(err)
		: fft_plan_upload(plan, dev, writer.points, size, err);
	mem_free(writer.points);
	fft_roots_free(&roots);
	return st;
}

static kz_status fft_plan_create(struct fft_plan **out, struct kz_device *dev,
	const struct fft_key *key, kz_error *err)
{
	const struct schedule *schedule = fft_schedule(dev);
	int64_t most = schedule->each, span = 1;
	struct fft_plan *plan = mem_zalloc(1, sizeof(*plan));
	if (!plan) {
		return error_no_memory(err);
	}
	plan->key = *key;
	bool is_table = key->kind >= FFT_ROOTS;
	if (is_table) {
		plan->pass_count = 0;
	} else if (!fft_is_smooth(key->length, FFT_MOST_RADIX)) {
		plan->padded = 2 * key->length - 1;
		while (!fft_is_smooth(plan->padded, FFT_MOST_PADDED)) {
			plan->padded++;
		}
		bool is_short = plan->padded
			<= (schedule->threads == 1 ? FFT_TILE_BYTES / dtype_size(key->dtype)
			: schedule->each);
		if (key->kind != FFT_ALONE && is_short) {
			plan->pass_count = 1;
			plan->passes->points = plan->padded;
		}
	} else {
		int count = key->kind != FFT_MANY && key->length > FFT_LONE_POINTS ? 2 : 1;
		bool is_split = key->kind == FFT_ROWS && schedule->threads == 1
			&& fft_split_row(plan, most);
		while (!is_split && count < FFT_PASSES && !fft_split(plan, count, most)) {
			count++;
		}
	}
	for (int i = 0; i < plan->pass_count; i++) {
		struct fft_pass *pass = &plan->passes[i];
		pass->span = span;
		span *= pass->points;
		assert(span > 0);
		pass->rest = plan->padded ? 1 : key->length / span;
		fft_pass_factor(pass, schedule->threads == 1 ? FFT_SERIAL_TWOS : FFT_TWOS);
	}
	kz_status st = plan->padded || plan->pass_count || is_table ? fft_plan_fill(plan, dev, err)
		: error_set(err, KZ_UNSUPPORTED, "fft: length %lld is too large",
			(long long)key->length);
	if (st) {
		mem_free(plan);
		return st;
	}
	*out = plan;
	return KZ_OK;
}

static void fft_table_end(struct device_table *base)
{
	struct fft_table *table = (struct fft_table *)base;
	struct device_scope scope;
	bool entered = table->plans && device_enter_quietly(table->device, &scope);
	for (struct fft_plan *plan = table->plans, *next; plan; plan = next) {
		next = plan->next;
		if (entered) {
			device_released(table->device, table->device->drv->MemFree(plan->tables),
				"cuMemFree");
		}
		mem_free(plan);
	}
	if (entered) {
		device_leave(table->device, &scope);
	}
	pthread_mutex_destroy(&table->lock);
	mem_free(table);
}

static struct fft_table *fft_table_of(struct kz_device *dev)
{
	struct device_table *table = device_table(dev, DEVICE_FFT);
	if (table) {
		return (struct fft_table *)table;
	}
	struct fft_table *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		return NULL;
	}
	made->base.end = fft_table_end;
	made->device = dev;
	pthread_mutex_init(&made->lock, NULL);
	return (struct fft_table *)device_put_table(dev, DEVICE_FFT, &made->base);
}

static struct fft_plan *fft_plan_find(struct fft_table *table, const struct fft_key *key)
{
	struct fft_plan *plan = atomic_load_explicit(&table->plans, memory_order_acquire);
	while (plan && memcmp(&plan->key, key, sizeof(*key)) != 0) {
		plan = plan->next;
	}
	return plan;
}

kz_status fft_plan_get(const struct fft_plan **out, struct kz_device *dev,
	const struct fft_key *key, kz_error *err)
{
	struct fft_table *table = fft_table_of(dev);
	kz_status st = KZ_OK;
	if (!table) {
		return error_no_memory(err);
	}
	struct fft_plan *plan = fft_plan_find(table, key);
	if (!plan) {
		pthread_mutex_lock(&table->lock);
		plan = fft_plan_find(table, key);
		if (!plan && !(st = fft_plan_create(&plan, dev, key, err))) {
			plan->next = table->plans;
			atomic_store_explicit(&table->plans, plan, memory_order_release);
		}
		pthread_mutex_unlock(&table->lock);
	}
	*out = plan;
	return st;
}
