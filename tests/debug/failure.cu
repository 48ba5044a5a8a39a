// --grid 1 --block 4 'i32[4]'
extern "C" __global__ void failure(int *out)
{
	int t = threadIdx.x;
	assert(t < 3); // assert
	out[t] = t;
}
