/* SPDX-License-Identifier: MIT */
/*
 * The kernel of src/lib/order/segmented.c: each segment of an array becomes one element.  Lane i of
 * 32 has elements i, i + 32, ... of a segment; then lane i is combined with lane i + 16, i + 8, ...
 * if that has an element.  KZ_SERIAL: one thread does this for all lanes.  Else a warp has a
 * segment.
 *
 * Before this text come kz_stored and kz_result, elements in memory; kz_acc, what is combined;
 * kz_acc kz_load(kz_stored), kz_result kz_save(kz_acc), kz_acc kz_op(kz_acc, kz_acc) and kz_acc
 * kz_neutral().
 */
typedef long long kz_i64;
#define LANES 32

#define KZ_SEGMENTS(i, first, step) \
	const kz_i64 begin = (kz_i64)blockIdx.x * KZ_TILE_SIZE; \
	const kz_i64 end = begin + KZ_TILE_SIZE < segments ? begin + KZ_TILE_SIZE : segments; \
	for (kz_i64 i = begin + (first); i < end; i += (step))

#ifdef KZ_SERIAL
extern "C" __global__ void __launch_bounds__(1) kz_kernel(kz_result *to, const kz_stored *from,
	const kz_i64 *offsets, kz_i64 segments)
{
	KZ_SEGMENTS(i, 0, 1) {
		const kz_stored *elements = from + offsets[i];
		const kz_i64 count = offsets[i + 1] - offsets[i];
		const int live = count < LANES ? (int)count : LANES;
		kz_acc lanes[LANES];
		for (int lane = 0; lane < live; lane++) {
			lanes[lane] = kz_load(elements[lane]);
		}
		kz_i64 at = LANES;
		for (; at + LANES <= count; at += LANES) {
			for (int lane = 0; lane < LANES; lane++) {
				lanes[lane] = kz_op(lanes[lane], kz_load(elements[at + lane]));
			}
		}
		for (int lane = 0; at + lane < count; lane++) {
			lanes[lane] = kz_op(lanes[lane], kz_load(elements[at + lane]));
		}
		for (int half = LANES / 2; half > 0; half /= 2) {
			for (int lane = 0; lane < half && lane + half < live; lane++) {
				lanes[lane] = kz_op(lanes[lane], lanes[lane + half]);
			}
		}
		to[i] = kz_save(live ? lanes[0] : kz_neutral());
	}
}
#else
extern "C" __global__ void __launch_bounds__(KZ_THREADS) kz_kernel(kz_result *to,
	const kz_stored *from, const kz_i64 *offsets, kz_i64 segments)
{
	__shared__ __align__(16) unsigned char bytes[8 * LANES * sizeof(kz_acc)];
	const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
	kz_acc *lanes = (kz_acc *)bytes + warp * LANES;
	KZ_SEGMENTS(i, warp, 8) {
		const kz_stored *elements = from + offsets[i];
		const kz_i64 count = offsets[i + 1] - offsets[i];
		const int live = count < LANES ? (int)count : LANES;
		kz_acc mine = lane < live ? kz_load(elements[lane]) : kz_neutral();
		for (kz_i64 at = LANES + lane; at < count; at += LANES) {
			mine = kz_op(mine, kz_load(elements[at]));
		}
		lanes[lane] = mine;
		__syncwarp();
		for (int half = LANES / 2; half > 0; half /= 2) {
			if (lane < half && lane + half < live) {
				lanes[lane] = kz_op(lanes[lane], lanes[lane + half]);
			}
			__syncwarp();
		}
		if (lane == 0) {
			to[i] = kz_save(lanes[0]);
		}
		__syncwarp();
	}
}
#endif
