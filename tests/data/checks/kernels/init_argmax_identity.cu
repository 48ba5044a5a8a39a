// SPDX-License-Identifier: MIT
// run: --grid 1 --block 64 f32[20]=random i32[1] i32:20
struct best {
	float value;
	int index;
};

__device__ best better(best a, best b)
{
	if (b.value > a.value || (b.value == a.value && b.index < a.index)) {
		return b;
	}
	return a;
}

/* The index of the largest element, and of the first one if there are several. */
__global__ void argmax(const float *x, int *out, int n)
{
	__shared__ best s[64];
	int t = threadIdx.x;
	s[t].value = -1e30f;
#ifdef FIXED
	s[t].index = 0x7fffffff;
#endif
	for (int i = t; i < n; i += blockDim.x) {
		if (x[i] > s[t].value) {
			s[t].value = x[i];
			s[t].index = i;
		}
	}
	__syncthreads();
	for (int d = 32; d > 0; d >>= 1) {
		if (t < d) {
			s[t] = better(s[t], s[t + d]); // BUG
		}
		__syncthreads();
	}
	if (t == 0) {
		*out = s[0].index;
	}
}
