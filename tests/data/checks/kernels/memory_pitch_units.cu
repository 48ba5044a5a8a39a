// SPDX-License-Identifier: MIT
// run: --grid 3,5 --block 16,4 f32[20x64]=random f32[20x40] i32:40 i32:20 i32:256
/* 'src' is a pitched image as cuMemAllocPitch gives it: its pitch is in bytes. */
__global__ void unpitch(const float *src, float *dst, int width, int height, int pitch)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= width || y >= height) {
		return;
	}
#ifdef FIXED
	const float *row = (const float *)((const char *)src + (size_t)y * pitch);
#else
	const float *row = src + (size_t)y * pitch;
#endif
	float v = row[x]; // BUG
	v = v < 0.0f ? 0.0f : v;
	dst[y * width + x] = v * v;
}
