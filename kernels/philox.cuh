/* SPDX-License-Identifier: MIT */
/*
 * Random numbers by Philox4x32-10: ten rounds turn a counter of 128 bits and a key of 64 bits into
 * 128 random bits (Salmon, Moraes, Dror and Shaw, SC11).  The seed is the key.
 *
 * A counter gives KZ_PER numbers of kz_element.  Those of counter c have the positions c * KZ_PER and
 * on; the array begins at a position that may be inside of one.  KZ_UNIFORM, KZ_NORMAL or KZ_INTEGERS
 * says which rule makes numbers of bits.  Blocks have CHUNK counters.  KZ_SERIAL: one thread per
 * block; else blocks of 256.
 */
typedef long long kz_i64;
typedef unsigned long long kz_u64;

struct kz_bits {
	unsigned at[4];
};

static __device__ __forceinline__ kz_bits kz_philox(kz_bits c, unsigned low, unsigned high)
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

#ifdef KZ_PER
#define CHUNK 1024
struct __align__(16) kz_numbers {
	kz_element at[KZ_PER];
};

/* The first word is the upper one. */
static __device__ __forceinline__ kz_u64 kz_join(const kz_bits &bits, int i)
{
	return (kz_u64)bits.at[2 * i] << 32 | bits.at[2 * i + 1];
}

#ifdef KZ_UNIFORM
static __device__ __forceinline__ float kz_unit(const kz_bits &bits, int i, float)
{
	return (float)(bits.at[i] >> 8) * 0x1p-24f;
}

static __device__ __forceinline__ double kz_unit(const kz_bits &bits, int i, double)
{
	return (double)(kz_i64)(kz_join(bits, i) >> 11) * 0x1p-53;
}

static __device__ __forceinline__ kz_numbers kz_draw(const kz_bits &bits, kz_i64, kz_u64)
{
	kz_numbers out;
#pragma unroll
	for (int i = 0; i < KZ_PER; i++) {
		out.at[i] = kz_unit(bits, i, (kz_element)0);
	}
	return out;
}
#endif

#ifdef KZ_NORMAL
/* The radius is that of a number of (0, 1]; the angle is a fraction of a turn. */
static __device__ __forceinline__ void kz_pair(float *out, const kz_bits &bits, int i)
{
	const float radius = sqrtf(-2 * logf(((float)bits.at[i] + 1) * 0x1p-32f));
	float sine, cosine;
	sincospif((float)bits.at[i + 1] * 0x1p-31f, &sine, &cosine);
	out[0] = radius * cosine;
	out[1] = radius * sine;
}

static __device__ __forceinline__ void kz_pair(double *out, const kz_bits &bits, int)
{
	const double radius = sqrt(-2 * log((double)(kz_i64)((kz_join(bits, 0) >> 11) + 1) * 0x1p-53));
	double sine, cosine;
	sincospi((double)(kz_i64)(kz_join(bits, 1) >> 11) * 0x1p-52, &sine, &cosine);
	out[0] = radius * cosine;
	out[1] = radius * sine;
}

static __device__ __forceinline__ kz_numbers kz_draw(const kz_bits &bits, kz_i64, kz_u64)
{
	kz_numbers out;
#pragma unroll
	for (int i = 0; i < KZ_PER; i += 2) {
		kz_pair(out.at + i, bits, i);
	}
	return out;
}
#endif

#ifdef KZ_INTEGERS
static __device__ __forceinline__ kz_numbers kz_draw(const kz_bits &bits, kz_i64 low, kz_u64 range)
{
	kz_numbers out;
#pragma unroll
	for (int i = 0; i < KZ_PER; i++) {
		out.at[i] = (kz_i64)((kz_u64)low + __umul64hi(kz_join(bits, i), range));
	}
	return out;
}
#endif

#ifdef KZ_SERIAL
#define KZ_BOUNDS __launch_bounds__(1)
#define KZ_FOR(i, first, end) for (kz_i64 i = first; i < end; i++)
#else
#define KZ_BOUNDS __launch_bounds__(256)
#define KZ_FOR(i, first, end) for (kz_i64 i = first + threadIdx.x; i < end; i += blockDim.x)
#endif

/* `skip` numbers of the first counter lie before the array. */
extern "C" __global__ void KZ_BOUNDS kz_kernel(kz_element *to, kz_i64 count, kz_u64 seed,
	kz_u64 counter, int skip, kz_i64 low, kz_u64 range)
{
	const kz_i64 counters = (count + skip + KZ_PER - 1) / KZ_PER;
	const kz_i64 begin = (kz_i64)blockIdx.x * CHUNK;
	const kz_i64 end = begin + CHUNK < counters ? begin + CHUNK : counters;
	to -= skip;
	count += skip;
	if ((kz_u64)(to + begin * KZ_PER) % sizeof(kz_numbers) == 0 && (begin || !skip)
	    && end * KZ_PER <= count) {
		KZ_FOR(i, begin, end) {
			const kz_u64 c = counter + i;
			((kz_numbers *)to)[i] = kz_draw(kz_philox(kz_bits{{(unsigned)c,
				(unsigned)(c >> 32), 0, 0}}, (unsigned)seed, (unsigned)(seed >> 32)), low,
				range);
		}
		return;
	}
	KZ_FOR(i, begin, end) {
		const kz_u64 c = counter + i;
		const kz_numbers numbers = kz_draw(kz_philox(kz_bits{{(unsigned)c, (unsigned)(c >> 32), 0,
			0}}, (unsigned)seed, (unsigned)(seed >> 32)), low, range);
		for (int k = 0; k < KZ_PER; k++) {
			const kz_i64 at = i * KZ_PER + k;
			if (at >= skip && at < count) {
				to[at] = numbers.at[k];
			}
		}
	}
}
#endif
