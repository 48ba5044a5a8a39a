// --grid 1 --block 8 'f32[8]'
__device__ void put(float *where, int i)
{
	where[i] = i; // put
}

extern "C" __global__ void fault(float *out)
{
	int t = threadIdx.x;
	float *nothing = nullptr;
	put(t == 5 ? nothing : out, t); // call
}
