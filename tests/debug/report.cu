// --check=init --grid 1 --block 4 'i32[4]' 'i32[4]=empty'
extern "C" __global__ void report(int *out, const int *in)
{
	int t = threadIdx.x;
	out[t] = in[t] + 1; // init
}
