// SPDX-License-Identifier: MIT
__constant__ int base = 3;

__device__ int twice(int x)
{
	return 2 * x;
}
