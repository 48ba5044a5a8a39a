// SPDX-License-Identifier: MIT
// run: --grid 1 --block 32 f32[131]=arange f32[128] i32:3 i32:32
/* Copies 'quads' float4 that begin at the element 'skip' of a packed buffer. */
__global__ void unpack(const float *packed, float *out, int skip, int quads)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= quads) {
		return;
	}
	const float *from = packed + skip;
#ifdef FIXED
	float4 v = make_float4(from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]);
#else
	float4 v = reinterpret_cast<const float4 *>(from)[i]; // BUG
#endif
	v.x *= 0.5f;
	v.y *= 0.5f;
	v.z *= 0.5f;
	v.w *= 0.5f;
	reinterpret_cast<float4 *>(out)[i] = v;
}
