/* SPDX-License-Identifier: MIT */
/*
 * The kernel of src/lib/comm/comm_own.c: element i of KZ_INPUTS arrays, combined in their order,
 * into element i of KZ_OUTPUTS arrays, which lie on several devices.  A thread reads all operands
 * of an element before it writes, so the results may lie in their place.
 *
 * Before this text come kz_stored, an element in memory; kz_value, what is combined; kz_load,
 * kz_save, kz_op(kz_value, kz_value) and kz_finish(kz_value).
 */
struct kz_ends {
	kz_stored *at[KZ_INPUTS + KZ_OUTPUTS];
};

extern "C" __global__ void KZ_BOUNDS kz_kernel(const __grid_constant__ kz_ends ends, kz_i64 count)
{
	const kz_i64 begin = (kz_i64)blockIdx.x * KZ_TILE_SIZE;
	const kz_i64 end = kz_min(begin + KZ_TILE_SIZE, count);
	for (kz_i64 i = begin + threadIdx.x; i < end; i += KZ_THREADS) {
		kz_value value = kz_load(ends.at[0][i]);
		_Pragma("unroll") for (int k = 1; k < KZ_INPUTS; k++) {
			value = kz_op(value, kz_load(ends.at[k][i]));
		}
		const kz_stored result = kz_save(kz_finish(value));
		_Pragma("unroll") for (int k = 0; k < KZ_OUTPUTS; k++) {
			ends.at[KZ_INPUTS + k][i] = result;
		}
	}
}
