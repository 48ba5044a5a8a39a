// SPDX-License-Identifier: MIT
// Double every element of a 4x4 array, in place; one block of 4x4 threads.
__global__ void doublify(float *a)
{
	int i = threadIdx.x + threadIdx.y * 4;
	a[i] *= 2;
}
