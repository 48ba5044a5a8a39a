// SPDX-License-Identifier: MIT
// run: --grid 2 --block 50 f32[100]=arange f32[100] i32:100 i32:4
__constant__ float weights[5] = {0.4f, 0.2f, 0.08f, 0.015f, 0.005f};
__constant__ float gain[4] = {1.0f, 2.0f, 4.0f, 8.0f};

/* A symmetric filter: weights[d] belongs to both elements at the distance d. */
__global__ void smooth(const float *in, float *out, int n, int radius)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) {
		return;
	}
	float sum = in[i] * weights[0];
#ifdef FIXED
	for (int d = 1; d <= radius; d++) {
#else
	for (int d = 1; d <= radius + 1; d++) {
#endif
		float left = i - d >= 0 ? in[i - d] : in[0];
		float right = i + d < n ? in[i + d] : in[n - 1];
		sum += weights[d] * (left + right); // BUG
	}
	out[i] = sum * gain[i & 3];
}
