// SPDX-License-Identifier: MIT
// C = A + B, one thread for each element of one block.
__global__ void VecAdd(const float *A, const float *B, float *C)
{
	int i = threadIdx.x;
	C[i] = A[i] + B[i];
}
