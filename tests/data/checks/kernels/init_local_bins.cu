// SPDX-License-Identifier: MIT
// run: --grid 1 --block 5 i32[100]=random i32[40] i32:20
/* Each thread counts its values by their last digit; the most frequent digit wins. */
__global__ void digits(const int *in, int *out, int n)
{
	int bins[8];
#ifdef FIXED
	for (int j = 0; j < 8; j++) {
#else
	for (int j = 1; j < 8; j++) {
#endif
		bins[j] = 0;
	}
	for (int i = 0; i < n; i++) {
		int v = in[threadIdx.x * n + i];
		bins[v & 7] += 1; // BUG
	}
	int best = 0;
	for (int j = 1; j < 8; j++) {
		if (bins[j] > bins[best]) {
			best = j;
		}
	}
	for (int j = 0; j < 8; j++) {
		out[threadIdx.x * 8 + j] = bins[(best + j) & 7];
	}
}
