/* SPDX-License-Identifier: MIT */
/*
 * Random numbers in kernels: #include <kudzu/random.cuh>.  The library's kz_random_* calls draw
 * with this file, too, so a kernel gets the same numbers as an array.
 *
 * Philox4x32-10 turns a counter of 128 bits and a key of 64 bits into 128 random bits in ten rounds
 * (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC11).  The seed
 * is the key.  The counter is the offset (64 bits), the stream (32) and the attempt (32): numbers
 * that are drawn by rejection go on with further attempts at the same offset.
 *
 *	kz_rng rng(seed, stream, offset);
 *	float x = rng.uniform(), y = rng.normal();
 *
 * Threads must not share numbers: give each a stream of its own, or an offset that leaves room for
 * the numbers of those before it.  An offset has four words: four floats, or two doubles.
 */
#ifndef KUDZU_RANDOM
#define KUDZU_RANDOM 1

typedef long long kz_i64;
typedef unsigned long long kz_u64;
#define KZ_RNG static __device__ __forceinline__

struct kz_bits {
	unsigned at[4];
};

KZ_RNG kz_bits kz_philox(kz_bits c, unsigned low, unsigned high)
{
#pragma unroll
	for (int round = 0; round < 10; round++) {
		const kz_u64 a = 0xD2511F53ull * c.at[0], b = 0xCD9E8D57ull * c.at[2];
		c = kz_bits{{(unsigned)(b >> 32) ^ c.at[1] ^ low, (unsigned)b,
			(unsigned)(a >> 32) ^ c.at[3] ^ high, (unsigned)a}};
		low += 0x9E3779B9u;
		high += 0xBB67AE85u;
	}
	return c;
}

/* The words at one offset. */
struct kz_place {
	kz_u64 seed;
	kz_u64 offset;
	unsigned stream;

	__device__ __forceinline__ kz_bits bits(unsigned attempt) const
	{
		const kz_bits counter{{(unsigned)offset, (unsigned)(offset >> 32), stream,
			attempt}};
		return kz_philox(counter, (unsigned)seed, (unsigned)(seed >> 32));
	}
};

/* --- Numbers of words --- */

/* The first word is the upper one. */
KZ_RNG kz_u64 kz_join(const kz_bits &bits, int i)
{
	return (kz_u64)bits.at[2 * i] << 32 | bits.at[2 * i + 1];
}

/* [0, 1): the upper DIGITS bits of a word, or the upper 53 of two. */
template <int DIGITS> KZ_RNG void kz_unit(float *out, const kz_bits &bits, int i)
{
	*out = (float)(bits.at[i] >> (32 - DIGITS)) * (1.0f / (1 << DIGITS));
}

template <int DIGITS> KZ_RNG void kz_unit(double *out, const kz_bits &bits, int i)
{
	*out = (double)(kz_i64)(kz_join(bits, i) >> 11) * 0x1p-53;
}

/* (0, 1], for logarithms. */
KZ_RNG void kz_upper_unit(float *out, const kz_bits &bits, int i)
{
	*out = ((float)bits.at[i] + 1) * 0x1p-32f;
}

KZ_RNG void kz_upper_unit(double *out, const kz_bits &bits, int i)
{
	*out = (double)(kz_i64)((kz_join(bits, i) >> 11) + 1) * 0x1p-53;
}

/* Two normal numbers (Box and Muller, 1958): the radius is that of a number of (0, 1], the angle a
 * fraction of a turn.  Of numbers i and i + 1. */
KZ_RNG void kz_normal_pair(float *out, const kz_bits &bits, int i)
{
	float unit, sine, cosine;
	kz_upper_unit(&unit, bits, i);
	const float radius = sqrtf(-2 * logf(unit));
	sincospif((float)bits.at[i + 1] * 0x1p-31f, &sine, &cosine);
	out[0] = radius * cosine;
	out[1] = radius * sine;
}

KZ_RNG void kz_normal_pair(double *out, const kz_bits &bits, int i)
{
	double unit, sine, cosine;
	kz_upper_unit(&unit, bits, i);
	const double radius = sqrt(-2 * log(unit));
	sincospi((double)(kz_i64)(kz_join(bits, i + 1) >> 11) * 0x1p-52, &sine, &cosine);
	out[0] = radius * cosine;
	out[1] = radius * sine;
}

/* One of 0 to range - 1, all of which are equally likely; of 64 bits if range is 0 (Lemire, "Fast
 * Random Integer Generation in an Interval", 2019).  Made of the pair of words i of this place. */
template <class P> KZ_RNG kz_u64 kz_below(const P &place, kz_u64 word, int i, kz_u64 range)
{
	if (word * range < range) {
		const kz_u64 rejected = (0 - range) % range;
		for (unsigned attempt = 1 + i; word * range < rejected; attempt += 2) {
			word = kz_join(place.bits(attempt), 0);
		}
	}
	return range ? __umul64hi(word, range) : word;
}

/* --- Numbers by rejection.  Each takes a whole place. --- */

/* An attempt of Hoermann's methods: a number of [-0.5, 0.5) and one of (0, 1].  Returns how far the
 * first is from the nearer end. */
template <class P> KZ_RNG double kz_attempt(double *u, double *v, const P &place, unsigned attempt)
{
	const kz_bits bits = place.bits(attempt);
	kz_unit<53>(u, bits, 0);
	kz_upper_unit(v, bits, 1);
	*u -= 0.5;
	return 0.5 - fabs(*u);
}

/* log of a gamma number of scale 1 (Marsaglia and Tsang, "A Simple Method for Generating Gamma
 * Variables", 2000).  The logarithm, because numbers of a small shape are below all doubles. */
template <class P> KZ_RNG double kz_log_gamma(const P &place, double shape, unsigned first)
{
	const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
	double unit, result;
	for (unsigned attempt = first;; attempt += 4) {
		double normal[2];
		const kz_bits more = place.bits(attempt + 1);
		kz_normal_pair(normal, place.bits(attempt), 0);
		kz_upper_unit(&unit, more, 0);
		const double x = normal[0], cube = 1 + c * x, v = cube * cube * cube;
		if (cube > 0 && log(unit) < 0.5 * x * x + d * (1 - v + log(v))) {
			kz_upper_unit(&unit, more, 1);
			result = log(d * v);
			break;
		}
	}
	return shape < 1 ? result + log(unit) / shape : result;
}

/* A number of [a, b) from one of [0, 1). */
KZ_RNG double kz_between(double a, double b, double x)
{
	const double range = b - a;
	return fabs(range) <= 1.7976931348623157e308 ? a + range * x : a * (1 - x) + b * x;
}

/* a + b x; only the sum overflows. */
KZ_RNG double kz_moved(double a, double b, double x)
{
	const double distance = b * x;
	return fabs(distance) <= 1.7976931348623157e308 ? a + distance : fma(b, x, a);
}

template <class P> KZ_RNG double kz_gamma(const P &place, double shape)
{
	return shape > 0 ? exp(kz_log_gamma(place, shape, 0)) : 0;
}

/* x / (x + y) of two gamma numbers. */
template <class P> KZ_RNG double kz_beta(const P &place, double a, double b)
{
	return 1 / (1 + exp(kz_log_gamma(place, b, 2) - kz_log_gamma(place, a, 0)));
}

/* Small means by the sums of the probabilities, others by PTRS (Hoermann, "The transformed
 * rejection method for generating Poisson random variables", 1993). */
template <class P> KZ_RNG double kz_poisson(const P &place, double mean)
{
	double u, v;
	if (mean < 10) {
		double k = 0, p = exp(-mean);
		kz_unit<53>(&u, place.bits(0), 0);
		while (u >= p && k < 200) {
			u -= p;
			k++;
			p *= mean / k;
		}
		return k;
	}
	const double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
	const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), log_mean = log(mean);
	for (unsigned attempt = 0;; attempt++) {
		const double us = kz_attempt(&u, &v, place, attempt);
		const double k = floor((2 * a / us + b) * u + mean + 0.43);
		if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) {
			return k;
		}
		if (k >= 0 && (us >= 0.013 || v <= us) && log(v) + log(inverse_alpha)
			- log(a / (us * us) + b) <= k * log_mean - mean - lgamma(k + 1)) {
			return k;
		}
	}
}

/* Few successes by the sums of the probabilities, others by BTRS (Hoermann, "The generation of
 * binomial random variates", 1993). */
template <class P> KZ_RNG double kz_binomial_of_small(const P &place, double n, double p)
{
	const double q = 1 - p, odds = p / q, mean = n * p;
	double u, v;
	if (mean < 10) {
		double k = 0, f = exp(n * log1p(-p));
		kz_unit<53>(&u, place.bits(0), 0);
		while (u >= f && k < n && k < 200) {
			u -= f;
			k++;
			f *= odds * ((n - k + 1) / k);
		}
		return k;
	}
	const double spread = sqrt(mean * q), b = 1.15 + 2.53 * spread;
	const double a = -0.0873 + 0.0248 * b + 0.01 * p, alpha = (2.83 + 5.1 / b) * spread;
	const double mode = floor((n + 1) * p), log_odds = log(odds);
	const double most = lgamma(mode + 1) + lgamma(n - mode + 1);
	for (unsigned attempt = 0;; attempt++) {
		const double us = kz_attempt(&u, &v, place, attempt);
		const double k = floor((2 * a / us + b) * u + mean + 0.5);
		if (us >= 0.07 && v <= 0.92 - 4.2 / b) {
			return k;
		}
		if (k >= 0 && k <= n && log(v * alpha / (a / (us * us) + b))
			<= most - lgamma(k + 1) - lgamma(n - k + 1) + (k - mode) * log_odds) {
			return k;
		}
	}
}

template <class P> KZ_RNG double kz_binomial(const P &place, double n, double p)
{
	return p > 0.5 ? n - kz_binomial_of_small(place, n, 1 - p)
		: kz_binomial_of_small(place, n, p);
}

/* --- One number after the other --- */

/* Doubles and integers begin at an even word, numbers by rejection at an offset of their own. */
class kz_rng {
public:
	__device__ kz_rng(kz_u64 seed, unsigned stream = 0, kz_u64 offset = 0)
		: place{seed, offset, stream}, bits(), used(0), left(0), has_left(0)
	{
	}

	/* 32 bits. */
	__device__ unsigned next()
	{
		if (used == 0) {
			bits = place.bits(0);
		}
		const unsigned word = bits.at[used];
		used = (used + 1) % 4;
		place.offset += used == 0;
		return word;
	}

	/* [0, 1) */
	__device__ float uniform()
	{
		float unit;
		kz_unit<24>(&unit, kz_bits{{next()}}, 0);
		return unit;
	}

	__device__ double uniform_double()
	{
		double unit;
		kz_unit<53>(&unit, next_two(), 0);
		return unit;
	}

	/* low to high - 1 */
	__device__ kz_i64 integer(kz_i64 low, kz_i64 high)
	{
		align(2);
		const kz_place here = place;
		const int i = used / 2;
		const kz_u64 range = (kz_u64)high - (kz_u64)low;
		return (kz_i64)((kz_u64)low + kz_below(here, kz_join(next_two(), 0), i, range));
	}

	/* Mean 0 and variance 1.  They come in pairs, of which the second is kept. */
	__device__ float normal()
	{
		float pair[2] = {0, (float)left};
		if (has_left != sizeof(float)) {
			kz_normal_pair(pair, next_two(), 0);
			return keep(pair);
		}
		has_left = 0;
		return pair[1];
	}

	__device__ double normal_double()
	{
		double pair[2] = {0, left};
		if (has_left != sizeof(double)) {
			kz_normal_pair(pair, whole().bits(0), 0);
			return keep(pair);
		}
		has_left = 0;
		return pair[1];
	}

	/* (0, infinity), mean 1. */
	__device__ float exponential()
	{
		float unit;
		kz_upper_unit(&unit, kz_bits{{next()}}, 0);
		return -logf(unit);
	}

	__device__ double gamma(double shape)
	{
		return kz_gamma(whole(), shape);
	}

	__device__ double beta(double a, double b)
	{
		return kz_beta(whole(), a, b);
	}

	__device__ double poisson(double mean)
	{
		return kz_poisson(whole(), mean);
	}

	__device__ double binomial(double n, double p)
	{
		return kz_binomial(whole(), n, p);
	}

private:
	kz_place place;
	kz_bits bits;
	unsigned used;    /* words of `bits` */
	double left;      /* the second of a pair */
	unsigned has_left; /* its size, or 0 */

	__device__ void align(unsigned words)
	{
		while (used % words) {
			next();
		}
	}

	/* Two words, from an even one on. */
	__device__ kz_bits next_two()
	{
		align(2);
		const unsigned first = next();
		return kz_bits{{first, next()}};
	}

	/* A place whose words no other number takes. */
	__device__ kz_place whole()
	{
		align(4);
		const kz_place mine = place;
		place.offset++;
		return mine;
	}

	template <class T> __device__ T keep(const T *pair)
	{
		left = pair[1];
		has_left = sizeof(T);
		return pair[0];
	}
};

#undef KZ_RNG
#endif
