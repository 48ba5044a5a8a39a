// --grid 1 --block 4 --shared 16 'i32[4]' 'i32[4]=arange'
__shared__ int tile[4];
extern __shared__ int extra[];
__device__ int counter;
__constant__ float table[2] = {0.5f, 1.5f};

extern "C" __global__ void turn(int *out, const int *in)
{
	int t = threadIdx.x;
	tile[t] = 10 * in[t]; // tile
	extra[t] = t;
	int before = t + 100;
	__syncthreads(); // barrier
	int other = tile[3 - t]; // after
	atomicAdd(&counter, 1);
	out[t] = other + extra[t ^ 1] + before + (int)table[1]; // end
}
