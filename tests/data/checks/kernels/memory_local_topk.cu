// SPDX-License-Identifier: MIT
// run: --grid 1 --block 3 i64[60]=random:5 i64[24] i32:20 i32:8
#define KMAX 8

/* Each thread keeps the k largest of its n values in descending order. */
__global__ void topk(const long long *in, long long *out, int n, int k)
{
	long long best[KMAX];
	int used = 0;
	const long long *mine = in + threadIdx.x * n;
	for (int i = 0; i < n; i++) {
		long long v = mine[i];
		int at = used;
		while (at > 0 && best[at - 1] < v) {
			at--;
		}
		if (at >= k) {
			continue;
		}
#ifdef FIXED
		int last = used < k ? used : k - 1;
#else
		int last = used; /* when the list is full, its last element must fall out */
#endif
		for (int j = last; j > at; j--) {
			best[j] = best[j - 1]; // BUG
		}
		best[at] = v;
		used = used < k ? used + 1 : k;
	}
	for (int j = 0; j < used; j++) {
		out[threadIdx.x * k + j] = best[j];
	}
}
