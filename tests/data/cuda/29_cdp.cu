__global__ void child(int *x)
{
	x[threadIdx.x]++;
}

extern "C" __global__ void parent(int *x)
{
	if (threadIdx.x == 0) {
		child<<<1, 32>>>(x);
	}
}
