// SPDX-License-Identifier: MIT
// The kernels of the programs here, compiled once, so that nothing of CUDA is needed to run them:
//   nvcc -ptx -rdc=true -arch=compute_75 kernels.cu      (and the comments on top taken away)
//   nvcc -fatbin -gencode arch=compute_75,code=compute_75 kernels.cu

extern "C" __global__ void add(const float *a, const float *b, float *sum, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		sum[i] = a[i] + b[i];
}

#define TILE 16

extern "C" __global__ void multiply(const float *a, const float *b, float *product, int n)
{
	__shared__ float left[TILE][TILE], top[TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y;
	int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
	float sum = 0;
	for (int k = 0; k < n; k += TILE) {
		left[y][x] = a[row * n + k + x];
		top[y][x] = b[(k + y) * n + column];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += left[y][i] * top[i][x];
		__syncthreads();
	}
	product[row * n + column] = sum;
}

__constant__ int bias;

extern "C" __global__ void count(const unsigned char *text, int size, unsigned *bins)
{
	extern __shared__ unsigned mine[];
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		mine[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
		atomicAdd(&mine[(text[i] + bias) & 255], 1);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&bins[i], mine[i]);
}
